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
import zipfile
from functools import lru_cache
from pathlib import Path
from urllib.parse import unquote, urlsplit

import numpy as np
import trimesh

from robodyn_ros.base.bounded_files import is_file
from robodyn_ros.base.bounded_process import BoundedProcess, BoundsError
from robodyn_ros.description.robot_sources import nearby_packages

ZIPPED = (".3mf", ".zae")
FORMATS = (".stl", ".obj", ".dae", ".ply", ".glb", ".gltf", ".off", *ZIPPED)
"""Supported suffixes of mesh files."""
MAX_FILE_BYTES = 128 * 2**20
"""Greatest size of a mesh file, also unzipped [bytes]."""
MAX_MEMORY = 1024 * 2**20
"""Memory that reading a mesh may take [bytes]."""
MAX_TRIANGLES = 2_000_000
"""Greatest number of triangles of a mesh."""
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

    def read(self, path: Path) -> trimesh.Trimesh:
        """Return all triangles of a mesh file, in its own axes and units.

        Args:
            path: STL, OBJ, COLLADA, glTF, PLY, OFF or 3MF.

        Raises:
            ValueError: The file is no mesh, is too large, or has a number that is not finite.
        """
        self._end = self._end or time.monotonic() + ROBOT_SECONDS
        try:
            return self._process.call(load_mesh, path, memory=MAX_MEMORY, seconds=MESH_SECONDS, deadline=self._end)
        except BoundsError:
            late = time.monotonic() > self._end
            limit = f"{ROBOT_SECONDS:g} s for all meshes" if late else f"{MAX_MEMORY >> 20} MiB or {MESH_SECONDS} s"
            raise ValueError(f"mesh '{path}': reading it takes more than {limit}") from None


def load_mesh(path: Path) -> trimesh.Trimesh:
    """Return all triangles of a mesh file in this process; arguments and errors as for :meth:`MeshReader.read`."""
    if path.suffix.lower() not in FORMATS:
        raise ValueError(f"mesh '{path}': expected a file of type {', '.join(FORMATS)}")
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise ValueError(f"expected at most {MAX_FILE_BYTES >> 20} MiB, received more")
        if path.suffix.lower() in ZIPPED:
            with zipfile.ZipFile(path) as archive:  # it reads no more of an entry than the declared size
                if sum(entry.file_size for entry in archive.infolist()) > MAX_FILE_BYTES:
                    raise ValueError(f"expected at most {MAX_FILE_BYTES >> 20} MiB unzipped, received more")
        mesh = trimesh.load(path, force="mesh", process=False)  # processing would drop triangles with NaN
    except MemoryError:
        raise
    except Exception as error:  # the reader of each format raises its own exceptions
        raise ValueError(f"mesh '{path}' cannot be read as {path.suffix or 'a mesh'}: {error}") from None
    if not isinstance(mesh, trimesh.Trimesh) or not len(mesh.faces):
        raise ValueError(f"mesh '{path}' has no triangles: is it a mesh?")
    if len(mesh.faces) > MAX_TRIANGLES:
        raise ValueError(f"mesh '{path}': expected at most {MAX_TRIANGLES:,} triangles, received {len(mesh.faces):,}")
    if not np.isfinite(mesh.vertices).all():
        raise ValueError(f"mesh '{path}': expected finite coordinates, received NaN or infinity")
    return mesh.process()


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

