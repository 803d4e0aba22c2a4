# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The location of the robots (urdf/), parameters (config/) and launch files (launch/) of the package.

In a source tree these folders are next to the package. colcon installs them under ``share/robodyn_ros`` of an ament
prefix, which the environment variable AMENT_PREFIX_PATH lists. Neither needs ROS.
"""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

from robodyn_ros.base.bounded_files import expand_user, is_file
from robodyn_ros.base.errors import DescriptionRemark, DescriptionWarning, InputError
from robodyn_ros.description.robot_sources import (
    convert_mjcf_file,
    generated_urdf,
    package_robot,
    split_arguments,
)

PACKAGE = "robodyn_ros"
FOLDERS = ("urdf", "config", "launch")
_MARKER = Path("share", "ament_index", "resource_index", "packages", PACKAGE)


def share_directory() -> Path:
    """Return the directory with urdf/, config/ and launch/.

    The function searches the source tree of this module, the prefix of its installation, then the prefixes of
    AMENT_PREFIX_PATH.

    Raises:
        InputError: They were not found; the message lists the searched places.
    """
    here = Path(__file__).resolve()
    source_tree = here.parents[2]
    if all((source_tree / folder).is_dir() for folder in FOLDERS):
        return source_tree
    listed = filter(None, os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep))
    prefixes = [*here.parents[3:], *map(Path, listed), Path(sys.prefix)]
    for prefix in prefixes:
        share = prefix / "share" / PACKAGE
        if (prefix / _MARKER).is_file() and share.is_dir():
            return share
    looked = ", ".join(str(place) for place in [source_tree, *(prefix / "share" / PACKAGE for prefix in prefixes)])
    raise InputError(
        f"the files that come with {PACKAGE} (urdf/, config/, launch/) were not found; looked for them in {looked}: "
        "source the workspace's install/setup.bash, or run from the source tree"
    )


def shipped_robots() -> tuple[str, ...]:
    """Return the sorted names of the robots of the package."""
    return tuple(sorted(path.stem for path in (share_directory() / "urdf").glob("*.urdf")))


def robot_file(name_or_path: str | Path) -> Path:
    """Return the URDF file of a robot.

    Args:
        name_or_path: Name of a shipped robot (no directory, no suffix), the path of a file, or the name of a robot of
            the package ``robot_descriptions``, such as ``panda_description``. A xacro file may be followed by values of
            its arguments: ``arm.urdf.xacro gripper:=true``. An MJCF file ends in ``.xml`` or ``.mjcf``. A pipe of the
            shell works too: ``<(xacro arm.xacro)``, ``/dev/stdin``.

    Returns:
        The file's path; for a xacro or MJCF file that of the generated URDF; for a pipe, that of a file with its
        content.

    Raises:
        InputError: There is no such robot or file (the message lists the shipped robots), or a xacro file cannot be
            expanded.
        DescriptionError: A URDF cannot describe a part of an MJCF file.

    Warns:
        DescriptionWarning: The URDF leaves out a part of an MJCF file.
        DescriptionRemark: Something that an MJCF file says about the world around the robot has no effect here.
    """
    if (generated := generated_urdf(name_or_path)) is not None:
        return generated
    path = expand_user(name_or_path)
    arguments: dict[str, str] = {}
    if not is_file(path):
        first, arguments = split_arguments(str(name_or_path))
        path = expand_user(first)
    if is_file(path):
        if arguments:
            raise InputError(f"robot '{path}': arguments ({', '.join(arguments)}) need a xacro file, whose name "
                             "ends in .xacro")
        if (robot := convert_mjcf_file(path)) is not None:
            for number, note in enumerate(robot.notes):
                warnings.warn(DescriptionWarning(note, str(path), number, len(robot.notes)), stacklevel=2)
            for remark in (*robot.remarks, *robot.gravity_remarks):
                warnings.warn(DescriptionRemark(remark, str(path)), stacklevel=2)
            return robot.file
        return path
    if re.fullmatch(r"\w+_description", str(path)):
        return package_robot(str(path), arguments)
    if not path.suffix and path.parent == Path("."):
        shipped = share_directory() / "urdf" / f"{path.name}.urdf"
        if path.name and is_file(shipped) and not arguments:
            return shipped
    raise InputError(
        f"no robot '{name_or_path}': it is neither a file (looked for {path.absolute()}) nor one of the robots that "
        f"come with {PACKAGE} ({', '.join(shipped_robots())}); give one of these names or the path of a URDF file"
    )


def shipped_actuators() -> dict[str, Path]:
    """Return the files of actuators and friction in config/ by name."""
    return _shipped("joints")


def shipped_worlds() -> dict[str, Path]:
    """Return the files of surfaces in config/ by name."""
    return _shipped("surfaces")


def actuators_file(name_or_path: str | Path) -> Path:
    """Return a YAML file of actuators and friction.

    Args:
        name_or_path: Name of a file in config/ that describes joints (no directory, no suffix), or the path of a file.

    Returns:
        The file's path.

    Raises:
        InputError: There is no such file; the message lists the names.
    """
    return _named_file("actuators", name_or_path, shipped_actuators)


def world_file(name_or_path: str | Path) -> Path:
    """Return a YAML file of surfaces; arguments and errors as for :func:`actuators_file`."""
    return _named_file("world", name_or_path, shipped_worlds)


def _shipped(key: str) -> dict[str, Path]:
    """Return the files in config/ that contain a key, by name."""
    return {path.stem: path for path in sorted((share_directory() / "config").glob("*.yaml"))
            if f"{key}:" in path.read_text(encoding="utf-8").splitlines()}


def _named_file(what: str, name_or_path: str | Path, shipped: Callable[[], dict[str, Path]]) -> Path:
    path = expand_user(name_or_path)
    if is_file(path):
        return path
    if str(name_or_path) not in (known := shipped()):
        raise InputError(f"{what}: '{name_or_path}' is neither a file (looked for {path.absolute()}) nor one that "
                         f"comes with {PACKAGE} ({', '.join(known)}); give one of these names or the path of a YAML "
                         "file")
    return known[str(name_or_path)]


def config_file(name: str) -> Path:
    """Return a file of config/, such as ``robodyn.rviz``.

    Args:
        name: Name of the file.

    Returns:
        The file's path.

    Raises:
        InputError: There is no such file; the message lists the files in the folder.
    """
    return _file("config", name)


def catalogue_files(folder: str) -> dict[str, Path]:
    """Return the YAML files of a folder of config/, such as ``motors``, by sorted name."""
    return {path.stem: path for path in sorted((share_directory() / "config" / folder).glob("*.yaml"))}


def launch_file(name: str) -> Path:
    """Return a file of launch/; see ``config_file``."""
    return _file("launch", name)


def _file(directory: str, name: str) -> Path:
    folder = share_directory() / directory
    path = folder / name
    if not is_file(path):
        there = ", ".join(sorted(entry.name for entry in folder.glob("*"))) or "nothing"
        raise InputError(f"no file '{name}' in {folder}, which holds {there}: give one of these names")
    return path
