# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Paths, environment variables, and the ROS 2 that the set-up uses."""

from __future__ import annotations

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

DISTRO = os.environ.get("ROS_DISTRO", "")
"""Name of the sourced ROS 2 installation; empty if ROS 2 is installed from wheels."""
WHEELS = ("jazzy", "kilted")
"""Releases of ROS 2 of which PyPI has wheels: the default, and those that ``make DISTRO=…`` chooses."""
CHOSEN = os.environ.get("ROBODYN_DISTRO") or DISTRO or WHEELS[0]
"""Release that ``make DISTRO=…`` or a sourced install/setup.* names; without one the sourced installation's."""

HOME = ROOT if DISTRO or CHOSEN == WHEELS[0] else ROOT / f".{CHOSEN}"
"""Folder of all that the set-up makes; releases other than the default have one of their own."""
VENV = HOME / ".venv"
PYTHON = VENV / "bin" / "python"
INSTALL = HOME / "install"
PROGRAMS = INSTALL / "robodyn_ros" / "lib" / "robodyn_ros"
"""Folder in which `ros2 run` finds the nodes; it is also in PATH, for use without ros2."""
NOTES = HOME / ".setup"
"""Folder of the steps' logs, and of the lock against two set-ups at once."""

PATH_VARIABLES = ("AMENT_PREFIX_PATH", "CMAKE_PREFIX_PATH", "COLCON_PREFIX_PATH", "LD_LIBRARY_PATH", "PATH",
                  "PKG_CONFIG_PATH", "PYTHONPATH")


def base_python() -> str:
    """Return the interpreter outside any virtual environment, also if this one runs inside .venv."""
    return getattr(sys, "_base_executable", None) or sys.executable


def library_folders() -> list[Path]:
    """Return the folders with the shared libraries of the ROS 2 wheels."""
    return [VENV / "lib", *sorted(VENV.glob("lib/python3.*/site-packages/ros_*.libs"))]


def outer_environment() -> dict[str, str]:
    """Return the caller's variables without the entries of an activated or sourced checkout of this project."""
    environment = {name: value for name, value in os.environ.items()
                   if name not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "VIRTUAL_ENV", "PYTHONHOME")}
    for name in PATH_VARIABLES:
        entries = [entry for entry in environment.pop(name, "").split(os.pathsep)
                   if entry and ROOT not in (Path(entry), *Path(entry).parents)]
        if entries:
            environment[name] = os.pathsep.join(entries)
    return environment


def inner_environment() -> dict[str, str]:
    """Return the variables for commands inside .venv, with the sourced ROS 2 or the wheels."""
    environment = outer_environment()
    environment["VIRTUAL_ENV"] = str(VENV)
    environment["PATH"] = os.pathsep.join([str(VENV / "bin"), environment.get("PATH", os.defpath)])
    environment["COLCON_PREFIX_PATH"] = str(VENV)   # so that install/setup.* sources .venv/local_setup.* first
    if not DISTRO:
        environment.pop("PYTHONPATH", None)
        environment["AMENT_PREFIX_PATH"] = environment["CMAKE_PREFIX_PATH"] = str(VENV)
        environment["LD_LIBRARY_PATH"] = os.pathsep.join(map(str, library_folders()))
        environment["_ROS_WHEELS_BOOTSTRAP_COMPLETE"] = "1"
    return environment


def ros_prefixes() -> list[Path]:
    """Return the prefixes of ROS 2 packages outside this checkout."""
    return [Path(entry) for entry in inner_environment().get("AMENT_PREFIX_PATH", "").split(os.pathsep) if entry]


def has_ros_package(name: str) -> bool:
    """Whether the ROS 2 that the set-up uses has a package."""
    return any((prefix / "share" / name / "package.xml").is_file() for prefix in ros_prefixes())
