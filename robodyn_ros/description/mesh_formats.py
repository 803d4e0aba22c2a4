# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Reads a mesh file, in this process."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
import trimesh

ZIPPED = (".3mf", ".zae")
FORMATS = (".stl", ".obj", ".dae", ".ply", ".glb", ".gltf", ".off", *ZIPPED)
"""Supported suffixes of mesh files."""
MAX_FILE_BYTES = 128 * 2**20
"""Greatest size of a mesh file, also unzipped [bytes]."""
MAX_TRIANGLES = 2_000_000
"""Greatest number of triangles of a mesh."""


def load_mesh(path: Path) -> trimesh.Trimesh:
    """Return all triangles of a mesh file in this process; arguments and errors as for `MeshReader.read`."""
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
