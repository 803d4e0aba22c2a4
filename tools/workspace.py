# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The colcon workspace: robodyn_interfaces, interfaces of ROS 2 that the wheels lack, and robodyn_ros."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import places
from steps import Step, call, fingerprint

INTERFACES = places.ROOT / "robodyn_interfaces"
STAND_INS = ("tf2_msgs", "control_msgs", "controller_manager_msgs", "pal_statistics_msgs")
"""Packages of ROS 2 whose used interfaces are in tools/; they are built only if ROS 2 lacks them."""
DATA_FOLDERS = ("launch", "config", "urdf")


def steps(below: str) -> list[Step]:
    """Return one step for each package.

    Args:
        below: Key of the Python and ROS 2 that the packages are built with.
    """
    below = fingerprint(below, Path(__file__))
    sources = [(INTERFACES, fingerprint(below, INTERFACES))]
    stand_ins = [places.ROOT / "tools" / name for name in STAND_INS if not places.has_ros_package(name)]
    sources += [(path, fingerprint(below, path)) for path in stand_ins]
    sources.append((places.ROOT, fingerprint(below, *metadata_of_robodyn_ros())))
    return [package_step(path, "robodyn_ros" if path == places.ROOT else path.name, key) for path, key in sources]


def metadata_of_robodyn_ros() -> list[object]:
    """Return the inputs of a build of robodyn_ros. Sources and data are linked, so only the data files' names count."""
    names = [str(path.relative_to(places.ROOT)) for folder in DATA_FOLDERS if (places.ROOT / folder).is_dir()
             for path in sorted((places.ROOT / folder).rglob("*")) if path.is_file()]
    return [places.ROOT / "package.xml", places.ROOT / "setup.py", places.ROOT / "setup.cfg", places.ROOT / "resource",
            *names]


def package_step(path: Path, name: str, key: str) -> Step:
    """Return the step that builds one package."""
    return Step(f"package {name}", places.INSTALL / name / "built.stamp", key, lambda: build(path, name))


def build(path: Path, name: str) -> None:
    """Build a package from nothing, so that no file of an older or interrupted build stays."""
    for folder in (places.HOME / "build" / name, places.INSTALL / name):
        if folder.exists():
            shutil.rmtree(folder)
    # Without MAKEFLAGS, colcon lets make wait for a low load, so that a build beside other programs takes minutes.
    # colcon's own script may belong to the system's Python, which does not see the environment's packages.
    colcon = [str(places.PYTHON), "-c", "import sys; from colcon_core.command import main; sys.exit(main())"]
    call([*colcon, "--log-base", str(places.HOME / "log"), "build", "--build-base", str(places.HOME / "build"),
          "--install-base", str(places.INSTALL), "--symlink-install", "--paths", str(path),
          "--event-handlers", "console_direct+",
          "--cmake-args", "-DBUILD_TESTING=OFF", "-DCMAKE_BUILD_TYPE=Release",
          f"-DPython3_EXECUTABLE={places.PYTHON}"],
         f"build_{name}", {**places.inner_environment(), "MAKEFLAGS": f"-j{len(os.sched_getaffinity(0))}"})
