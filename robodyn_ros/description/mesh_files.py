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
import time
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from robodyn_ros.base.bounded_files import is_file
from robodyn_ros.base.bounded_process import BoundedProcess, BoundsError
from robodyn_ros.base.optional_packages import require
from robodyn_ros.description.robot_sources import nearby_packages

MAX_MEMORY = 1024 * 2**20
"""Memory that reading a mesh may take [bytes]."""
MESH_SECONDS = 5
"""Processor time for one mesh [s]."""
ROBOT_SECONDS = 30.0
"""Time for all meshes of a robot [s]."""


def find_mesh(name: str, folder: Path | None = None) -> Path:
    """Return the path of a mesh file.

    The function searches ``package://NAME/PATH`` in share/NAME of the prefixes in AMENT_PREFIX_PATH, in the folders of
    ROS_PACKAGE_PATH, in the packages near the URDF file (see `nearby_packages`), and in every folder above it that is
    called NAME or contains a folder NAME. It does not use the network.

    Args:
        name: Name in the URDF: ``package://``, ``file://``, or a path relative to the folder of the URDF file.
        folder: Folder of the URDF file; None if unknown.

    Raises:
        FileNotFoundError: The file does not exist; the message lists the searched places.
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
        if is_file(place):
            return place
    looked = ", ".join(map(str, places)) or f"no package '{parts.netloc}' is known: source its workspace"
    raise FileNotFoundError(f"mesh '{name}' was not found ({looked})")


class MeshReader:
    """Reads mesh files in a separate process with bounded memory and time.

    A file of a kilobyte can expand to gigabytes of triangles: by repeated parts, by counts, or zipped. The process
    starts with the first mesh; `close` ends it.
    """

    def __init__(self) -> None:
        self._process, self._end = BoundedProcess(), 0.0

    def close(self) -> None:
        """End the process."""
        self._process.close()

    def read(self, path: Path) -> Any:
        """Return all triangles of a mesh file as a mesh of trimesh, in its own axes and units.

        Args:
            path: STL, OBJ, COLLADA, glTF, PLY, OFF or 3MF.

        Raises:
            ValueError: The file is no mesh, is too large, or has a number that is not finite.
            RobodynError: trimesh is not installed.
        """
        require("trimesh")
        from robodyn_ros.description.mesh_formats import load_mesh

        self._end = self._end or time.monotonic() + ROBOT_SECONDS
        try:
            return self._process.call(load_mesh, path, memory=MAX_MEMORY, seconds=MESH_SECONDS, deadline=self._end)
        except BoundsError:
            late = time.monotonic() > self._end
            limit = f"{ROBOT_SECONDS:g} s for all meshes" if late else f"{MAX_MEMORY >> 20} MiB or {MESH_SECONDS} s"
            raise ValueError(f"mesh '{path}': reading it takes more than {limit}") from None


@lru_cache(maxsize=4)
def _nearby_packages(folder: Path) -> dict[str, str]:
    return nearby_packages(folder / "robot.urdf")


def _package_folders(package: str, folder: Path | None) -> list[Path]:
    prefixes = filter(None, os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep))
    roots = filter(None, os.environ.get("ROS_PACKAGE_PATH", "").split(os.pathsep))
    places = [Path(prefix) / "share" / package for prefix in prefixes]
    places += [Path(root) / package for root in roots]
    places += [Path(root) for root in os.environ.get("ROS_PACKAGE_PATH", "").split(os.pathsep)
               if Path(root).name == package]
    places += [] if folder is None else map(Path, filter(None, [_nearby_packages(folder.resolve()).get(package)]))
    for above in () if folder is None else (folder.resolve(), *folder.resolve().parents):
        places += [above] if above.name == package else [above / package]
    return [place for place in places if place.is_dir()]

