# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""From the name of a robot's file to the text of its URDF: xacro files, MJCF files, pipes, and ``robot_descriptions``.

xacro evaluates Python expressions: only expand files that you trust. The generated URDF is written into the user's
cache folder, so that messages can name its lines.
"""

from __future__ import annotations

import contextlib
import difflib
import hashlib
import importlib
import os
import re
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from robodyn_ros.base.bounded_files import (
    MAX_URDF_BYTES,
    expand_user,
    is_file,
    is_pipe_of_shell,
    read_file,
    read_pipe,
)
from robodyn_ros.base.code_cache import make_private, user_folder
from robodyn_ros.base.errors import DescriptionError, InputError, shown
from robodyn_ros.base.optional_packages import missing_message

_ARGUMENT = re.compile(r"\s+(?=\w+:=)")
_DECLARED = re.compile(r"<xacro:arg\s[^>]*?name\s*=\s*[\"']([^\"']+)")
_SUFFIX = "_description"
_USUAL_GRAVITY = [0.0, 0.0, -9.81]
_PACKAGE = re.compile(r"package://([^/]+)")
_PACKAGE_NOT_FOUND = re.compile(r"[Pp]ackage not found: (\S+?)(?=[\s,.]|$)")
_UNDEFINED_ARGUMENT = re.compile(r"Undefined substitution argument (\S+)")
_NAME = re.compile(rb"<name>\s*([^<\s]+)\s*</name>")
_MANIFEST = "package.xml"
_MAX_DEPTH = 3
"""Greatest number of folders between a workspace and a package in it."""
_MAX_FOLDERS = 5000
_MAX_MANIFEST_BYTES = 2**20
_SOURCE, _MAX_SOURCE_BYTES = ".source", 2**16
_CACHED_URDF = re.compile(r"-[0-9a-f]{16}\.urdf$")
TEXT = "URDF string"
"""Name of a description given as text."""


class UrdfSource(NamedTuple):
    """The XML of a URDF, and where it is from."""

    data: bytes | str
    name: str = TEXT  # file named in messages, with values of its xacro arguments
    is_made: bool = False  # whether the XML was generated from that file, so that its line numbers are others


def read_source(given: str | Path) -> UrdfSource:
    """Read a URDF file that a user named.

    Args:
        given: Path of a URDF file; or of a xacro file, which is expanded, optionally followed by values.

    Raises:
        DescriptionError: There is no such file, it cannot be read or expanded, or XML is given instead of a path.
    """
    if not isinstance(given, str | Path):
        raise DescriptionError(f"a URDF file is given as a path, not as {type(given).__name__}: pass str or "
                               "pathlib.Path")
    if not str(given).strip():
        raise DescriptionError("the URDF is empty: give the path of a URDF file")
    if _is_xml(str(given)):
        raise DescriptionError("expected the path of a URDF file, received XML: Robot.from_urdf_text(xml) reads text")
    try:
        path = expand_user(given)
        path = generated_urdf(given) or path
        data, name = read_file(path, MAX_URDF_BYTES), source_of(path)
    except FileNotFoundError:
        raise DescriptionError(
            f"no URDF file at '{path}' (looked for {path.absolute()}): check the path (of a shipped robot it is "
            "robodyn_ros.description.resources.robot_file(name)); XML is read by Robot.from_urdf_text"
        ) from None
    except InputError as error:
        raise DescriptionError(f"cannot read the URDF file: {error}") from None
    except OSError as error:
        raise DescriptionError(f"cannot read the URDF file '{given}': {error}; check path and permissions") from error
    return UrdfSource(data, name, is_made=name != str(path))


def text_source(text: str) -> UrdfSource:
    """Check that a text may be a URDF; no file is opened, whatever the text contains.

    Raises:
        DescriptionError: It is no text, empty, too long, or no XML.
    """
    if not isinstance(text, str):
        raise DescriptionError(f"{TEXT}: expected XML as str, received {type(text).__name__}")
    if len(text) > MAX_URDF_BYTES:
        raise DescriptionError(f"{TEXT}: expected at most {MAX_URDF_BYTES} characters, received {len(text)}: it "
                               "describes no robot that can be computed")
    if not text.strip():
        raise DescriptionError(f"{TEXT}: it is empty: give the XML of a URDF")
    if not _is_xml(text):
        raise DescriptionError(f"{TEXT}: expected XML, which begins with '<', received {shown(text)}; the path of a "
                               "file is no URDF: Robot.from_urdf(path) reads files")
    return UrdfSource(text)


def _is_xml(text: str) -> bool:
    return text[:1000].lstrip("\ufeff \t\r\n").startswith("<")


def generated_urdf(name_or_path: str | Path) -> Path | None:
    """Return the file of the URDF that a pipe delivers, or that a xacro file is expanded to; None for other names.

    Args:
        name_or_path: As for `resources.robot_file`.

    Raises:
        InputError: The pipe delivers nothing or too much, or the xacro file cannot be expanded.
    """
    path = expand_user(name_or_path)
    arguments: dict[str, str] = {}
    if is_pipe_of_shell(path):
        return cached_urdf("robot", read_pipe(path, MAX_URDF_BYTES), "pipe")
    if not is_file(path):
        first, arguments = split_arguments(str(name_or_path))
        path = expand_user(first)
    return expand_xacro(path, arguments) if path.suffix == ".xacro" and is_file(path) else None


def split_arguments(text: str) -> tuple[str, dict[str, str]]:
    """Split ``file.xacro name:=value …`` into the file and the values by name."""
    first, *words = _ARGUMENT.split(text.strip())
    return first, {name: value for name, _, value in (word.partition(":=") for word in words)}


def expand_xacro(path: Path, arguments: Mapping[str, str], known_packages: Mapping[str, str] | None = None) -> Path:
    """Expand a xacro file, and return the file of its URDF, in which nodes can find the meshes.

    ``$(find NAME)`` and ``package://NAME`` are searched around the file (see `nearby_packages`), in ROS_PACKAGE_PATH,
    and among the ROS packages of a sourced workspace.

    Args:
        path: The xacro file.
        arguments: Values of its ``<xacro:arg>`` by name.
        known_packages: Folders of packages by name.

    Raises:
        InputError: xacrodoc is not installed, an argument is unknown, or xacro cannot expand the file.
    """
    try:
        import xacro
        import xacrodoc  # lets xacro find packages without ROS
    except ImportError as error:
        raise InputError(f"{path}: {missing_message('xacrodoc', error)}") from None
    packages = xacrodoc.packages
    packages.reset()  # it caches packages of other files
    listed = filter(None, os.environ.get("ROS_PACKAGE_PATH", "").split(os.pathsep))
    nearby = {**_packages_below(map(Path, listed)), **nearby_packages(path)}
    packages.update_package_cache({**nearby, **(known_packages or {})})
    packages.walk_up_from(path)
    before = len(xacro.all_includes)
    try:
        document = xacro.process_file(str(path), mappings=dict(arguments))
        _check_arguments(path, arguments, [path, *map(Path, xacro.all_includes[before:])])
        for mesh in document.getElementsByTagName("mesh"):
            _set_absolute(mesh, packages, path.parent, nearby)
        text = document.toprettyxml(indent="  ")
    except InputError:
        raise
    except Exception as error:  # from xacro, the XML parser, or any expression in the file
        if missed := _PACKAGE_NOT_FOUND.search(str(error)):
            raise InputError(f"{path}: it needs the package '{missed[1]}', which was not found: put its folder, with a "
                             "package.xml, beside that of this file's package, name the folder above it in the "
                             "environment variable ROS_PACKAGE_PATH, or source a workspace that has it") from error
        if needed := _UNDEFINED_ARGUMENT.search(str(error)):
            given = "".join(f" {name}:={value}" for name, value in arguments.items())
            raise InputError(f"{path}: its argument '{needed[1]}' has no value: give it after the file, in quotes: "
                             f"\"{path}{given} {needed[1]}:=VALUE\"") from error
        raise InputError(f"{path}: xacro cannot expand it: {type(error).__name__}: "
                         f"{'; '.join(str(error).splitlines())}; check the file and its "
                         f"arguments ({' '.join(f'{name}:={value}' for name, value in arguments.items()) or 'none'})"
                         ) from error
    given = "".join(f" {name}:={value}" for name, value in arguments.items())
    return cached_urdf(path.name.partition(".")[0], text.encode(), source=f"{path}{given}")


def nearby_packages(path: Path) -> dict[str, str]:
    """Return the packages around a file by name: those that contain it, their siblings, and those of its workspace.

    Args:
        path: The file. Folders with a package.xml above it are packages, and folders next to these may be. A folder
            ``src`` above it is a workspace, with packages up to three folders below.
    """
    above = path.resolve().parents
    containing = [folder for folder in above if (folder / _MANIFEST).is_file()]
    workspaces = [folder for folder in above if folder.name == "src"]
    siblings = _packages_below([folder.parent for folder in containing], deepest=1)
    return {**_packages_below(workspaces), **siblings, **_packages_below(containing, deepest=0)}


def _packages_below(folders: Iterable[Path], deepest: int = _MAX_DEPTH) -> dict[str, str]:
    """Return packages in folders by name, earlier folders first; a package contains no other package."""
    found: dict[str, str] = {}
    pending = [(folder, 0) for folder in reversed(list(folders))]
    for _ in range(_MAX_FOLDERS):
        if not pending:
            break
        folder, depth = pending.pop()
        with contextlib.suppress(OSError, InputError):  # folders that the user may not read
            if (folder / _MANIFEST).is_file():
                name = _NAME.search(read_file(folder / _MANIFEST, _MAX_MANIFEST_BYTES))
                found.setdefault(name[1].decode("utf-8", "replace") if name else folder.name, str(folder))
            elif depth < deepest:
                inner = (each for each in sorted(folder.iterdir(), reverse=True) if each.name[0] != ".")
                pending += [(each, depth + 1) for each in inner if each.is_dir()]
    return found


class MjcfRobot(NamedTuple):
    """A robot from an MJCF file, as a URDF."""

    file: Path  # the URDF
    gravity: Any  # gravitational acceleration of the MJCF file, shape (3,) [m/s^2]
    notes: tuple[str, ...]  # parts of the MJCF file that the URDF leaves out, one line each
    remarks: tuple[str, ...]  # parts of the MJCF file that act differently here, one line each

    @property
    def gravity_remarks(self) -> tuple[str, ...]:
        """A remark that a URDF has no gravity, if the file's gravity is not the usual one."""
        found = self.gravity.tolist()
        return () if found == _USUAL_GRAVITY else (
            f"{source_of(self.file)}: its gravity is {found} m/s^2; {_USUAL_GRAVITY} is used, as a URDF has "
            "none: set the parameter 'gravity' of the node hardware, or use Robot.from_mjcf",)


def convert_mjcf_file(path: Path) -> MjcfRobot | None:
    """Write the robot of an MJCF file as a URDF file.

    Args:
        path: The file, called ``.xml`` or ``.mjcf``.

    Returns:
        The robot; None for a file that is not MJCF.

    Raises:
        DescriptionError: MuJoCo cannot read it, or the robot has a part that a URDF cannot describe.
        InputError: MuJoCo is not installed.
    """
    if path.suffix not in (".xml", ".mjcf"):
        return None
    from robodyn_ros.description.mjcf.model_file import is_mjcf  # the XML library takes a fifth of a second to import
    from robodyn_ros.description.mjcf.urdf_text import convert_mjcf

    if not is_mjcf(path):
        return None
    converted = convert_mjcf(path)
    return MjcfRobot(cached_urdf(path.stem, converted.urdf.encode(), "mjcf", str(path)), converted.gravity,
                     converted.notes, converted.remarks)


def package_robot(name: str, arguments: Mapping[str, str]) -> Path:
    """Return the URDF file of a robot from the package ``robot_descriptions``, which downloads it the first time.

    Args:
        name: Such as ``panda_description``.
        arguments: Values of xacro arguments, if the robot is a xacro file.

    Raises:
        InputError: The package is not installed, has no such robot or no URDF of it, or cannot download it.
    """
    try:
        package = importlib.import_module("robot_descriptions")
    except ImportError:
        raise InputError(f"no robot '{name}' comes with robodyn_ros; if it is one of robot_descriptions: "
                         f"{missing_message('robot_descriptions')}") from None
    found = {path.stem.removesuffix(_SUFFIX) for place in package.__path__
             for path in Path(place).glob(f"[a-z]*{_SUFFIX}.py")}
    known = sorted(name for name in found if not name.endswith("_mj"))  # those with _mj are MJCF
    short = name.removesuffix(_SUFFIX)
    if short not in known:
        near = " or ".join(f"{one}{_SUFFIX}" for one in difflib.get_close_matches(short, known, n=3))
        raise InputError(f"no robot '{name}' in the package robot_descriptions: "
                         + (f"did you mean {near}?" if near else f"it has {len(known)} others"))
    try:
        with contextlib.redirect_stdout(sys.stderr):  # it reports the download
            module: Any = importlib.import_module(f"robot_descriptions.{name}")
    except Exception as error:  # from git, the network or the file system
        first = str(error).strip().splitlines()[:1]
        raise InputError(f"robot '{name}': robot_descriptions cannot download it ({type(error).__name__}: "
                         f"{''.join(first)}): check the network") from error
    if hasattr(module, "URDF_PATH"):
        if arguments:
            raise InputError(f"robot '{name}' is a URDF file and takes no arguments, received {', '.join(arguments)}")
        return Path(module.URDF_PATH)
    if hasattr(module, "XACRO_PATH"):
        return expand_xacro(Path(module.XACRO_PATH), {**getattr(module, "XACRO_ARGS", {}), **arguments},
                            getattr(module, "XACRO_PACKAGE_PATHS", {}))
    raise InputError(f"robot '{name}' of robot_descriptions has no URDF; choose another")


def _check_arguments(path: Path, arguments: Mapping[str, str], files: list[Path]) -> None:
    """Reject arguments that no file declares, because xacro ignores them."""
    declared = {name for file in files if file.is_file()
                for name in _DECLARED.findall(file.read_text(encoding="utf-8", errors="replace"))}
    for name in arguments:
        if name not in declared:
            raise InputError(f"{path}: unknown xacro argument '{name}': known are "
                             f"{', '.join(sorted(declared)) or 'none'}")


def _set_absolute(mesh: Any, packages: Any, folder: Path, nearby: Mapping[str, str]) -> None:
    """Make the relative path of a mesh absolute.

    A path in a package stays, because RViz on another machine can resolve it, unless the package is in none of the
    folders in which `mesh_folder` and the environment let other programs search.
    """
    name = mesh.getAttribute("filename")
    if found := _PACKAGE.match(name):
        prefixes = os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep)
        if found[1] in nearby or any(Path(prefix, "share", found[1]).is_dir() for prefix in prefixes if prefix):
            return
        with contextlib.suppress(packages.PackageNotFoundError):
            mesh.setAttribute("filename", f"file://{packages.get_path(found[1])}{name[found.end():]}")
    elif "://" not in name and not Path(name).is_absolute():
        mesh.setAttribute("filename", f"file://{folder.resolve() / name}")


def cached_urdf(name: str, text: bytes, kind: str = "xacro", source: str = "") -> Path:
    """Write a URDF into the user's cache folder, or else into a temporary one; the same text gives the same file.

    Args:
        name: Name of the file.
        text: The URDF.
        kind: Folder in the cache.
        source: The file that it was generated from, with values of arguments; see `source_of`.
    """
    digest = hashlib.sha256(text).hexdigest()[:16]
    try:
        folder = user_folder() / kind
        make_private(folder.parent)
        make_private(folder)
        handle, temporary = tempfile.mkstemp(dir=folder)
    except (OSError, RuntimeError):
        folder = Path(tempfile.mkdtemp(prefix=f"robodyn_{kind}_"))
        handle, temporary = tempfile.mkstemp(dir=folder)
    with os.fdopen(handle, "wb") as file:
        file.write(text)
    path = folder / f"{name}-{digest}.urdf"
    os.replace(temporary, path)
    if source:
        path.with_suffix(_SOURCE).write_text(source, encoding="utf-8")
    return path


def mesh_folder(path: Path) -> Path:
    """Return the folder to which relative names in a URDF file refer, and around which packages are searched.

    Args:
        path: The file; for one that `cached_urdf` generated, the folder of its source is returned.
    """
    return Path(split_arguments(source_of(path))[0]).parent


def source_of(path: Path) -> str:
    """Return the source of a URDF that `cached_urdf` generated, with values of arguments; else the file's own path."""
    noted = path.with_suffix(_SOURCE)
    with contextlib.suppress(OSError, InputError):
        if _CACHED_URDF.search(path.name) and noted.is_file():
            return read_file(noted, _MAX_SOURCE_BYTES).decode("utf-8", "replace")
    return str(path)
