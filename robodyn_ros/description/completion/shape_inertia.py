# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Inertia of the shapes of a link at density 1: closed form for primitives, volume or convex hull for meshes."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from lxml import etree
from scipy.spatial import QhullError

from robodyn_ros.description.joint_and_link_elements import read_origin
from robodyn_ros.description.mesh_files import MeshReader, find_mesh
from robodyn_ros.description.model import Array, Inertia
from robodyn_ros.description.report import Report

MAX_DISTANCE = 10.0
"""Greatest distance of a shape's farthest point from the origin of its link [m]; beyond it, lengths are millimetres."""
MIN_VOLUME = 1e-12
"""Least volume of a mesh that is a body [m^3]: a cube of a tenth of a millimetre."""

MIN_FILL = 0.5
"""Least share of its convex hull that a solid closed mesh fills; a hollow shell with walls fills less. In five arms of
robosuite, shells fill 0.28 to 0.47, solid meshes 0.57 and more."""

_PRIMITIVES = {"box": (("size", 3),), "sphere": (("radius", 1),), "cylinder": (("radius", 1), ("length", 1)),
               "capsule": (("radius", 1), ("length", 1))}
_PLURALS = {"box": "boxes", "mesh": "meshes", "convex hull of a hollow mesh": "convex hulls of hollow meshes",
            "convex hull of an open mesh": "convex hulls of open meshes"}


class ShapeInertia(NamedTuple):
    """The shapes of a link as one body of density 1."""

    body: Inertia  # inertia in the link's frame; the mass is the volume [m^3]
    source: str  # description of the shapes, for messages


def shape_inertia(link: etree._Element, report: Report, folder: Path, reader: MeshReader) -> ShapeInertia | None:
    """Return the inertia of a link's collision shapes, or else of its visuals; overlapping shapes count twice.

    Args:
        link: Element of a checked URDF.
        report: Report on the same URDF.
        folder: Folder of the URDF, to which mesh paths are relative.
        reader: Reads meshes.

    Returns:
        The shapes; None if the link has none with a volume.

    Raises:
        DescriptionError: A shape has a size that is no positive number, or reaches farther than `MAX_DISTANCE`; or a
            mesh cannot be read.
    """
    for tag in ("collision", "visual"):
        body, kinds = Inertia.zero(), Counter[str]()
        for element in link.iterchildren(tag):
            found = _geometry(element, report, folder, reader)
            if found is not None:
                body, kinds = body + found[0].transformed(_pose(element, report)), kinds + Counter([found[1]])
        if kinds:
            listed = ", ".join(kind if count == 1 else f"{count} {_PLURALS.get(kind, f'{kind}s')}"
                               for kind, count in kinds.items())
            return ShapeInertia(body, f"{tag}: {listed}")
    return None


def _pose(element: etree._Element, report: Report) -> Array:
    origin = element.find("origin")
    for attribute in ("xyz", "rpy") if origin is not None else ():
        if origin.get(attribute) is not None:
            _read_numbers(origin, attribute, 3, report)
    pose = read_origin(element)
    if np.linalg.norm(pose[:3, 3]) > MAX_DISTANCE:
        raise report.error(element, f"it is {np.linalg.norm(pose[:3, 3]):.4g} m from the frame of its link",
                           "lengths are in metres: are these millimetres?")
    return pose


def _geometry(element: etree._Element, report: Report, folder: Path, reader: MeshReader) -> tuple[Inertia, str] | None:
    """The body of one shape about its own origin, and its kind."""
    geometry = element.find("geometry")
    for shape in () if geometry is None else geometry.iterchildren(etree.Element):
        if shape.tag in _PRIMITIVES:
            sizes = [size for attribute, count in _PRIMITIVES[shape.tag]
                     for size in _read_numbers(shape, attribute, count, report)]
            if min(sizes) <= 0.0 or max(sizes) > MAX_DISTANCE:
                raise report.error(shape, f"expected sizes above 0 and up to {MAX_DISTANCE:g} m, received "
                                   f"{' '.join(f'{size:g}' for size in sizes)}", "correct it: lengths are in metres")
            return primitive(shape.tag, sizes), shape.tag
        if shape.tag == "mesh":
            return _mesh(shape, report, folder, reader)
    return None


def primitive(kind: str, sizes: list[float]) -> Inertia:
    """Return the inertia of a primitive of density 1 about its centre, with the axis along z.

    Args:
        kind: ``box``, ``sphere``, ``cylinder`` or ``capsule``.
        sizes: Edges of a box; radius; radius and length, without the half spheres of a capsule [m].
    """
    if kind == "box":
        volume = math.prod(sizes)
        x, y, z = np.square(sizes)
        return Inertia(volume, np.zeros(3), volume / 12.0 * np.diag([y + z, x + z, x + y]))
    radius, length = sizes[0], sizes[1] if len(sizes) > 1 else 0.0
    ball, rod = 4.0 / 3.0 * math.pi * radius**3, math.pi * radius**2 * length
    across, along = rod * (radius**2 / 4.0 + length**2 / 12.0), rod * radius**2 / 2.0
    if kind == "cylinder":
        return Inertia(rod, np.zeros(3), np.diag([across, across, along]))
    # Both half spheres: their centres of mass are 3/8 of the radius beyond the ends.
    across += ball * (0.4 * radius**2 + length**2 / 4.0 + 3.0 / 8.0 * radius * length)
    along += 0.4 * ball * radius**2
    return Inertia(rod + ball, np.zeros(3), np.diag([across, across, along]))


def _mesh(shape: etree._Element, report: Report, folder: Path, reader: MeshReader) -> tuple[Inertia, str] | None:
    name = shape.get("filename")
    if not name:
        raise report.error(shape, "it names no file", 'add filename="..."')
    scale = _read_numbers(shape, "scale", 3, report) if shape.get("scale") is not None else [1.0] * 3
    try:
        mesh = reader.read(find_mesh(name, folder))
        mesh.apply_transform(np.diag([*scale, 1.0]))
        if np.ptp(mesh.bounds, axis=0).max() > MAX_DISTANCE:
            raise ValueError(f"mesh '{name}' is {np.ptp(mesh.bounds, axis=0).max():.4g} m long; if these are "
                             'millimetres, give it scale="0.001 0.001 0.001"')
        return mesh_body(mesh)
    except (OSError, ValueError) as error:
        raise report.error(shape, str(error), "estimates need the mesh: correct it, or give the link an <inertial>"
                           ) from None


@np.errstate(all="ignore")
def mesh_body(mesh: Any) -> tuple[Inertia, str] | None:
    """Return the inertia at density 1 of a mesh of trimesh: of its volume if it is closed and solid, else of its hull.

    The triangles of a closed mesh, or of some of its bodies, may face inwards. Triangles that contradict each other
    within a body are turned over. None for a flat mesh, which has no volume.
    """
    try:
        hull = mesh.convex_hull
    except (ValueError, QhullError):  # points in a plane
        return None
    kind, mesh = "mesh", facing_outwards(mesh)
    if not mesh.is_volume or mesh.volume < MIN_FILL * hull.volume:
        kind, mesh = f"convex hull of {'a hollow' if mesh.is_volume else 'an open'} mesh", hull
    properties = mesh.mass_properties
    if not properties.volume > MIN_VOLUME:
        return None
    tensor = np.array(properties.inertia, dtype=np.float64)
    return Inertia(float(properties.volume), np.array(properties.center_mass), 0.5 * (tensor + tensor.T)), kind


def facing_outwards(mesh: Any) -> Any:
    """Return a closed mesh of trimesh with all triangles outwards, except those of cavities; an open one as it is."""
    if not mesh.is_watertight:
        return mesh
    import trimesh  # robots without meshes need no such library

    parts = mesh.split(only_watertight=False)
    for part in parts:
        if not part.is_winding_consistent:
            trimesh.repair.fix_winding(part)  # type: ignore[no-untyped-call]
    if sum(part.volume for part in parts) < 0.0:
        for part in parts:
            part.invert()
    for part in parts:
        if part.volume < 0.0 and not any(_is_around(other, part.vertices[0]) for other in parts if other is not part):
            part.invert()
    return trimesh.util.concatenate(parts)


def _is_around(body: Any, point: Array) -> bool:
    """Whether a point lies inside a closed body: then its triangles cover the whole sphere around the point.

    The solid angle of a triangle follows A. van Oosterom and J. Strackee, "The solid angle of a plane triangle",
    IEEE Transactions on Biomedical Engineering, 1983.
    """
    a, b, c = np.swapaxes(body.triangles - point, 0, 1)
    ra, rb, rc = (np.linalg.norm(each, axis=1) for each in (a, b, c))
    volume = np.einsum("ij,ij->i", a, np.cross(b, c))
    products = (np.einsum("ij,ij->i", *pair) * r for pair, r in (((a, b), rc), ((b, c), ra), ((c, a), rb)))
    return abs(float(np.arctan2(volume, ra * rb * rc + sum(products)).sum())) > np.pi  # half of a solid angle of 4 pi


def _read_numbers(element: etree._Element, attribute: str, count: int, report: Report) -> list[float]:
    text = element.get(attribute) or ""
    try:
        values = [float(word) for word in text.split()]
    except ValueError:
        values = []
    if len(values) != count or not np.isfinite(values).all():
        raise report.error(element, f"{attribute}={text!r}", f"expected {count} finite number{'s'[:count != 1]}")
    return values
