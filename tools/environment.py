# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Makes the virtual environment with the pinned packages, ready to build ROS 2 interfaces."""

from __future__ import annotations

import importlib.util
import json
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import places
from steps import Step, call, fingerprint

REQUIREMENTS = places.ROOT / "requirements"
ALWAYS = ("run", "build")
"""Files of requirements/ that are always installed; one named after a release of ROS 2 replaces an installation."""
PURPOSES = {"test": ("mujoco", "cluster", "learn", "test"), "bench": ("mujoco", "cluster", "learn", "bench"),
            "docs": ("learn", "docs"), "mujoco": ("mujoco",), "cluster": ("cluster",), "learn": ("learn",)}
"""Further files by what they are for, which ``tools/set_up.py`` takes as arguments."""
PIP_FOR_VENV = "pip==25.3"
"""Installed by the outer pip where Python comes without ensurepip, as Debian's does without python3-venv."""

LOCAL_SETUP = """\
# Made by tools/environment.py; install/setup.* sources it.
_robodyn_prepend() {{
  eval "_robodyn_old=\\${{$1:-}}"
  case ":$_robodyn_old:" in
    *":$2:"*) ;;
    *) export "$1=$2${{_robodyn_old:+:$_robodyn_old}}" ;;
  esac
  unset _robodyn_old
}}
export VIRTUAL_ENV='{venv}'
export ROBODYN_DISTRO='{distro}'
"""

NO_NETWORK = "If the network was the reason, run the same command again: it goes on from here."


def steps(purposes: Iterable[str] = ()) -> list[Step]:
    """Return the steps that make the environment and install its packages.

    Args:
        purposes: Keys of `PURPOSES`.
    """
    base = ALWAYS if places.DISTRO else (*ALWAYS, places.CHOSEN)
    files = dict.fromkeys(name for purpose in purposes for name in PURPOSES[purpose])
    return [
        Step(f"virtual environment {places.VENV.relative_to(places.ROOT)} (Python {platform.python_version()})",
             places.VENV / "made.stamp", origin(), make_environment),
        packages_step(f"pinned packages, {'beside' if places.DISTRO else 'with'} ROS 2 {places.CHOSEN}", base),
        *(packages_step(f"pinned packages of requirements/{name}.txt", (name,)) for name in files),
    ]


def packages_step(title: str, names: tuple[str, ...]) -> Step:
    """Return the step that installs the packages of some files of requirements/."""
    key = fingerprint(origin(), Path(__file__), *(REQUIREMENTS / f"{name}.txt" for name in names),
                      *sorted(REQUIREMENTS.glob("lock*.txt")))
    return Step(title, places.VENV / f"packages_{names[0]}.stamp", key, lambda: install_packages(names))


def origin() -> str:
    """Return the key of the inputs of the environment: this folder, a Python, and ROS 2 if one is sourced."""
    return fingerprint(str(places.ROOT), platform.python_version(), sys.base_prefix, places.DISTRO,
                       *(map(str, places.ros_prefixes()) if places.DISTRO else ()))


def foundation() -> str:
    """Return the key of the inputs of compiled interfaces; other packages may change without a new build."""
    ros = () if places.DISTRO else (REQUIREMENTS / f"{places.CHOSEN}.txt",)
    return fingerprint(origin(), *ros, REQUIREMENTS / "build.txt")


def make_environment() -> None:
    """Replace the environment by a new, empty environment."""
    remove(places.VENV)
    command = [places.base_python(), "-m", "venv", str(places.VENV)]
    if places.DISTRO:
        command.append("--system-site-packages")
    environment = places.outer_environment()
    if importlib.util.find_spec("ensurepip"):
        call(command, "venv", environment)
    else:
        call([*command, "--without-pip"], "venv", environment)
        call([places.base_python(), "-m", "pip", "--python", str(places.PYTHON), "install", PIP_FOR_VENV], "venv-pip",
             environment, hint=NO_NETWORK)


def remove(path: Path) -> None:
    """Remove a folder, a file, a link, or nothing."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def install_packages(names: tuple[str, ...]) -> None:
    """Install pinned packages; then correct include folders and write the scripts that install/setup.* sources.

    Args:
        names: Files of requirements/, without ending.
    """
    remove_half_installed()
    wanted, constraints = places.NOTES / "requirements.txt", places.NOTES / "constraints.txt"
    wanted.write_text(pinned(*names))
    constraints.write_text(pinned("lock") if places.DISTRO else read("lock", f"lock_{places.CHOSEN}"))
    command = [str(places.PYTHON), "-m", "pip", "install", "--requirement", str(wanted),
               "--constraint", str(constraints),
               "--only-binary", ":all:", "--no-binary", "empy"]     # nothing is compiled; empy has no wheel
    environment = {**places.inner_environment(), "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_USER": "0"}
    call(command, f"pip_{names[0]}", environment, hint=NO_NETWORK)
    if not places.DISTRO:
        correct_include_folders()
    write_local_setup()


def remove_half_installed() -> None:
    """Remove packages whose installation was interrupted, since pip would take them for installed.

    pip writes INSTALLER after a package's own files, and moves a package that it replaces to a name with ``~``.
    """
    for site in places.VENV.glob("lib/python3.*/site-packages"):
        half = {info for info in site.glob("*.dist-info") if not (info / "INSTALLER").is_file()}
        for path in half.union(site.glob("~*")):
            remove(path)


def pinned(*names: str) -> str:
    """Return files of requirements/; with a ROS 2 installation, NumPy is the one of its messages."""
    text = read(*names)
    if not places.DISTRO:
        return text
    numpy = ask("numpy.__version__", "numpy")
    others = read("numpy1") if numpy.startswith("1.") else ""
    for project, version in re.findall(r"^([\w-]+)==(.*)$", f"numpy=={numpy}\n{others}", flags=re.MULTILINE):
        text = re.sub(rf"^{project}==.*$", f"{project}=={version}", text, flags=re.MULTILINE)
    return text


def read(*names: str) -> str:
    """Return the joined text of files of requirements/."""
    return "".join((REQUIREMENTS / f"{name}.txt").read_text() for name in names)


def ask(expression: str, *modules: str) -> Any:
    """Return the value of an expression in the Python of the environment."""
    code = f"import json, {', '.join(modules)}; print(json.dumps({expression}))"
    return json.loads(subprocess.run([str(places.PYTHON), "-c", code], env=places.inner_environment(), text=True,
                                     check=True, stdout=subprocess.PIPE).stdout)


def correct_include_folders() -> None:
    """Replace the include folders of the build machine in the wheels' CMake files by the ones of this machine."""
    python, numpy = ask("[sysconfig.get_path('include'), numpy.get_include()]", "sysconfig", "numpy")
    for path in places.VENV.glob("share/*/cmake/*rosidl_generator_pyExport.cmake"):
        text = path.read_text()
        text = re.sub(r'/[^";]*/include/python3\.\d+(?=[";])', lambda _: python, text)
        text = re.sub(r'/[^";]*/numpy/(?:_core|core)/include(?=[";])', lambda _: numpy, text)
        path.write_text(text)


def write_local_setup() -> None:
    """Write the scripts that install/setup.* sources to add this environment."""
    entries = [("PATH", places.VENV / "bin"), ("PATH", places.PROGRAMS)]
    text = LOCAL_SETUP.format(venv=places.VENV, distro=places.CHOSEN)
    if not places.DISTRO:
        entries += [("AMENT_PREFIX_PATH", places.VENV), ("CMAKE_PREFIX_PATH", places.VENV)]
        entries += [("LD_LIBRARY_PATH", folder) for folder in places.library_folders()]
        text += "# The wheels would start every Python twice to set the path of their libraries.\n"
        text += "export _ROS_WHEELS_BOOTSTRAP_COMPLETE=1\n"
    text += "".join(f"_robodyn_prepend {variable} '{folder}'\n" for variable, folder in entries)
    text += "unset -f _robodyn_prepend\n"
    for shell in ("sh", "bash", "zsh"):
        (places.VENV / f"local_setup.{shell}").write_text(text)
