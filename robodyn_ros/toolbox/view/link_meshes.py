# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Shapes of the links of a robot: meshes in link frames, from the visuals of its URDF.

Primitives become meshes too, so that other modules handle one kind of shape.
"""

from __future__ import annotations

import contextlib
import copy
import io
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from lxml import etree

from robodyn_ros.base.checks import Range, as_array, as_floats, as_joint_array, as_number
from robodyn_ros.base.errors import InputError, RobodynError
from robodyn_ros.base.optional_packages import missing_message
from robodyn_ros.description.document import read_document
from robodyn_ros.description.mesh_files import MeshReader, find_mesh
from robodyn_ros.description.model import Array, RobotModel
from robodyn_ros.description.robot_sources import text_source
from robodyn_ros.kinematics.forward import link_poses
from robodyn_ros.kinematics.reach import reach

try:
    import trimesh
    import yourdfpy
except ImportError as error:
    raise RobodynError(missing_message("yourdfpy", error)) from None

DEFAULT_COLOR = (0.62, 0.65, 0.70, 1.0)
JOINT_COLOR = (0.85, 0.55, 0.25, 1.0)
SHARP_EDGE = 0.6
"""Least angle between faces for a visible edge [rad]."""
MAX_SHAPES = 2000
"""Shapes of a robot."""
MAX_SHAPE_SIZE = 1e4
"""Greatest size and coordinate of a shape [m]."""

_SIZES = Range(0.0, MAX_SHAPE_SIZE, unit="m", above=True)
_SCALES = Range(-1e6, 1e6)


class _MissingMesh(InputError):
    """A mesh file cannot be found or read."""


@dataclass(frozen=True, eq=False)
class LinkMesh:
    """One shape of a link.

    Attributes:
        link: Name of the link.
        mesh: Triangles in the link frame [m].
        color: Red, green, blue and opacity, each from 0 to 1; None: the mesh's own colours or texture.
    """

    link: str
    mesh: trimesh.Trimesh
    color: tuple[float, float, float, float] | None


def link_meshes(model: RobotModel, folder: Path | None = None) -> tuple[list[LinkMesh], list[str]]:
    """Return the shapes of all links: visuals, else collision shapes, else rods from joint to joint.

    Args:
        model: The robot.
        folder: Folder of the URDF file, to which mesh paths are relative; None if unknown.

    Returns:
        The shapes, and a warning for each deviation from the description; rods replace missing meshes.
    """
    warnings: list[str] = []
    missing: set[str] = set()
    shapes = described_meshes(model, folder, warnings, missing)
    if not shapes:
        return _rods(model), warnings
    joints = {model.frames[link].joint for link in missing}
    moving = {model.joints[joint].link if joint >= 0 else model.base_link for joint in joints}
    return shapes + [rod for rod in _rods(model) if rod.link in moving], warnings


def described_meshes(model: RobotModel, folder: Path | None, warnings: list[str], missing: set[str]) -> list[LinkMesh]:
    """Return the visuals of all links, or else their collision shapes.

    Args:
        model: The robot.
        folder: Folder of the URDF file, to which mesh paths are relative; None if unknown.
        warnings: Receives a warning for each shape that differs from its description.
        missing: Receives the links with a missing mesh.
    """
    for tag in ("visual", "collision") if model.description else ():
        if shapes := _described(model, tag, folder, warnings, missing):
            return shapes
    return []


def frame_poses(model: RobotModel, q: Array) -> dict[str, Array]:
    """Return the pose of every link in the base frame, by name.

    Args:
        model: The robot.
        q: Joint positions, shape (n,) [rad or m].
    """
    poses = link_poses(model, q)
    return {name: frame.pose_link_frame if frame.joint < 0 else poses[frame.joint] @ frame.pose_link_frame
            for name, frame in model.frames.items()}


def _described(model: RobotModel, tag: str, folder: Path | None, warnings: list[str], missing: set[str]
               ) -> list[LinkMesh]:
    document, _ = read_document(text_source(model.description))
    materials = {material.get("name"): material for material in document.root.findall("material")}
    shapes: list[LinkMesh] = []
    with contextlib.closing(MeshReader()) as reader:
        for name, element in document.links.items():
            if element.find(tag) is None:
                continue
            try:
                link, colors = _read_with_yourdfpy(element, tag, materials)
            except Exception as error:  # yourdfpy passes on errors of its libraries
                warnings.append(f"link '{name}': its <{tag}> cannot be read ({type(error).__name__}: {error}); "
                                "not shown")
                continue
            for shape in link.visuals if tag == "visual" else link.collisions:
                if len(shapes) == MAX_SHAPES:
                    warnings.append(f"link '{name}': the robot has more than {MAX_SHAPES} shapes; no more are shown")
                    return shapes
                try:
                    shapes.append(_shape(shape, colors, name, folder, reader))
                except _MissingMesh as error:
                    missing.add(name)
                    warnings.append(f"link '{name}': {error}; rods replace it")
                except InputError as error:
                    warnings.append(f"link '{name}': its <{tag}>: {error}; not shown")
    return shapes


def _read_with_yourdfpy(link: etree._Element, tag: str, materials: Mapping[str | None, etree._Element]
                        ) -> tuple[Any, dict[str, Any]]:
    """Read a link with its shapes, and the colours of the robot's materials by name."""
    robot = etree.Element("robot", name="link")
    used = {material.get("name") for material in link.iter("material")}
    robot.extend(copy.deepcopy(materials[name]) for name in used & materials.keys())
    kept = etree.SubElement(robot, "link", name=link.get("name"))
    kept.extend(copy.deepcopy(child) for child in link.iterchildren(tag))
    with np.errstate(invalid="ignore"):  # an infinite origin is refused later, with its numbers
        read = yourdfpy.URDF.load(io.BytesIO(etree.tostring(robot)), build_scene_graph=False, load_meshes=False).robot
    return read.links[0], {material.name: material.color for material in read.materials}


def _shape(shape: Any, colors: dict[str, Any], link: str, folder: Path | None, reader: MeshReader) -> LinkMesh:
    """Return one shape of a link.

    Raises:
        _MissingMesh: Its mesh is missing.
        InputError: A size, coordinate or colour is missing, not finite, negative, too small or too large.
    """
    mesh = _mesh(shape.geometry, folder, reader)
    if shape.origin is not None:
        mesh.apply_transform(as_floats(shape.origin, (4, 4), "origin"))
    if mesh.bounds is None:  # trimesh merges corners nearer than 1e-8 m
        raise InputError("expected a shape that can be seen, received one without an extent in some direction; is "
                         "its size in metres?")
    farthest = float(np.abs(mesh.bounds).max())
    if not farthest <= MAX_SHAPE_SIZE:
        raise InputError(f"expected a shape within {MAX_SHAPE_SIZE:g} m, received one that reaches {farthest:g} m; is "
                         "its scale right?")
    return LinkMesh(link, mesh, _color(shape, colors, shape.geometry.mesh is None))


def _mesh(geometry: Any, folder: Path | None, reader: MeshReader) -> trimesh.Trimesh:
    """Return the triangles of one shape in its own frame."""
    if geometry.box is not None:
        mesh = trimesh.creation.box(as_joint_array(as_array(geometry.box.size, (3,), "size"), 3, _SIZES, "size"))
    elif geometry.cylinder is not None:
        radius = as_number(geometry.cylinder.radius, _SIZES, "radius")
        mesh = trimesh.creation.cylinder(radius, as_number(geometry.cylinder.length, _SIZES, "length"), sections=48)
    elif geometry.sphere is not None:
        mesh = trimesh.creation.icosphere(3, as_number(geometry.sphere.radius, _SIZES, "radius"))
    elif geometry.mesh is not None:
        scale = as_joint_array(1.0 if geometry.mesh.scale is None else geometry.mesh.scale, 3, _SCALES, "scale")
        try:
            mesh = reader.read(find_mesh(geometry.mesh.filename, folder))
        except (OSError, ValueError) as error:
            raise _MissingMesh(str(error)) from None
        mesh.apply_transform(np.diag([*scale, 1.0]))
        return mesh
    else:
        raise InputError("expected a box, cylinder, sphere or mesh, received none")
    return trimesh.graph.smooth_shade(mesh, angle=SHARP_EDGE)


def _color(shape: Any, colors: dict[str, Any], primitive: bool) -> tuple[float, float, float, float] | None:
    material = getattr(shape, "material", None)
    color = None if material is None else material.color or colors.get(material.name)
    if color is None:
        return DEFAULT_COLOR if primitive else None
    red, green, blue, opacity = np.clip(as_floats(color.rgba, (4,), "rgba"), 0.0, 1.0).tolist()
    return red, green, blue, opacity


def _rods(model: RobotModel) -> list[LinkMesh]:
    """Return shapes for a robot without any: rods between link origins at position zero, and the joints.

    A revolute joint is a cylinder about its axis, a prismatic joint a box along it.
    """
    radius = 0.02 * reach(model)
    shapes = []
    for joint in model.joints:
        parent_link = model.joints[joint.parent].link if joint.parent >= 0 else model.base_link
        slides = joint.kind == "prismatic"
        body = (trimesh.creation.box([2.4 * radius, 2.4 * radius, 4.0 * radius]) if slides else
                trimesh.creation.cylinder(1.5 * radius, 3.6 * radius, sections=48))
        body.apply_transform(trimesh.geometry.align_vectors([0.0, 0.0, 1.0], joint.axis))
        shapes.append(LinkMesh(joint.link, trimesh.graph.smooth_shade(body, angle=SHARP_EDGE), JOINT_COLOR))
        shapes.extend(_rod(parent_link, joint.pose_parent_link[:3, 3], radius))
    for frame in model.frames.values():
        if frame.joint >= 0:
            shapes.extend(_rod(model.joints[frame.joint].link, frame.pose_link_frame[:3, 3], radius))
    return shapes


def _rod(link: str, end: Array, radius: float) -> list[LinkMesh]:
    if np.linalg.norm(end) < radius:
        return []
    rod = trimesh.creation.cylinder(radius, segment=[np.zeros(3), end], sections=24)
    return [LinkMesh(link, trimesh.graph.smooth_shade(rod, angle=SHARP_EDGE), DEFAULT_COLOR)]
