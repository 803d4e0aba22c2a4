# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Finds and reads the mesh files that a URDF names."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import unquote, urlsplit

import trimesh


def find_mesh(name: str, folder: Path | None = None) -> Path:
    """Return the path of a mesh file.

    The function searches ``package://NAME/PATH`` in share/NAME of the prefixes in AMENT_PREFIX_PATH, in the folders of
    ROS_PACKAGE_PATH, and in every folder above the URDF file that is called NAME or contains a folder NAME. It does not
    use the network.

    Args:
        name: Name in the URDF: ``package://``, ``file://``, or a path relative to the folder of the URDF file.
        folder: Folder of the URDF file; None if unknown.

    Raises:
        FileNotFoundError: There is no such file; the message lists the searched places.
        ValueError: The name has another scheme.
    """
    parts = urlsplit(name)
    if parts.scheme == "package":
        places = [place / unquote(parts.path).lstrip("/") for place in _package_folders(parts.netloc, folder)]
    elif parts.scheme == "file":
        places = [Path(unquote(parts.path))]
    elif not parts.scheme:
        if folder is None and not Path(name).is_absolute():
            raise FileNotFoundError(f"mesh '{name}' is relative to a URDF file of unknown location: give --robot "
                                    "with the path of that file")
        places = [(folder or Path()) / name]
    else:
        raise ValueError(f"mesh '{name}': expected package://, file:// or a path, not {parts.scheme}://")
    for place in places:
        if place.is_file():
            return place
    looked = ", ".join(map(str, places)) or f"no package '{parts.netloc}' is known: source its workspace"
    raise FileNotFoundError(f"mesh '{name}' was not found ({looked})")


def load_mesh(path: Path) -> trimesh.Trimesh:
    """Return all triangles of a mesh file (STL, OBJ, COLLADA, glTF, PLY and others), in its own axes and units.

    Raises:
        ValueError: The file is no mesh.
    """
    try:
        mesh = trimesh.load(path, force="mesh")
    except Exception as error:  # each format's reader raises its own
        raise ValueError(f"mesh '{path}' cannot be read as {path.suffix or 'a mesh'}: {error}") from error
    if not isinstance(mesh, trimesh.Trimesh) or not len(mesh.faces):
        raise ValueError(f"mesh '{path}' has no triangles: is it a mesh?")
    return mesh


def _package_folders(package: str, folder: Path | None) -> list[Path]:
    prefixes = filter(None, os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep))
    roots = filter(None, os.environ.get("ROS_PACKAGE_PATH", "").split(os.pathsep))
    places = [Path(prefix) / "share" / package for prefix in prefixes]
    places += [Path(root) / package for root in roots]
    places += [Path(root) for root in os.environ.get("ROS_PACKAGE_PATH", "").split(os.pathsep)
               if Path(root).name == package]
    for above in () if folder is None else (folder.resolve(), *folder.resolve().parents):
        places += [above] if above.name == package else [above / package]
    return [place for place in places if place.is_dir()]
