# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""World files: surfaces and contact points in YAML; see docs/touch.md."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from robodyn_ros.base.bounded_files import read_yaml
from robodyn_ros.base.errors import InputError, shown, suggest, unknown
from robodyn_ros.base.fields import declare, section
from robodyn_ros.description.model import Array, RobotModel
from robodyn_ros.description.resources import world_file
from robodyn_ros.simulation.contact_world import ContactPoint, World
from robodyn_ros.simulation.surfaces import Box, Cylinder, Material, Plane, Sphere, Surface

MAX_COORDINATE = 1000.0
"""Greatest coordinate and length in a world file [m]."""

DEFAULT_RADIUS = 0.01
"""Radius of the contact point at the tip link where a file has none [m]."""


def _position(what: str) -> Any:
    return declare([0.0] * 3, length=3, unit="m", minimum=-MAX_COORDINATE, maximum=MAX_COORDINATE, description=what)


def _length(what: str) -> Any:
    return declare(unit="m", minimum=0.0, above=True, maximum=MAX_COORDINATE, description=what)


def _angles() -> Any:
    return declare([0.0] * 3, length=3, unit="rad", minimum=-100.0, maximum=100.0,
                   description="Roll, pitch and yaw of its axes in base axes")


@dataclass(frozen=True, kw_only=True)
class _AnySurface:
    shape: str = declare(kind=str, description="Kind of the surface: plane, box, sphere or cylinder")
    position: Any = _position("Position of its origin in the base frame")
    stiffness: float = declare(1e4, unit="N/m", minimum=1.0, maximum=1e7, description="Stiffness")
    damping: float = declare(1.0, unit="s/m", minimum=0.0, maximum=1000.0,
                             description="Damping per elastic force, of Hunt and Crossley")
    friction: float = declare(0.0, minimum=0.0, maximum=10.0, description="Coefficient of friction")


@dataclass(frozen=True, kw_only=True)
class _PlaneSection(_AnySurface):
    normal: Any = declare([0.0, 0.0, 1.0], length=3, minimum=-MAX_COORDINATE, maximum=MAX_COORDINATE,
                          description="Vector that points out of the surface, in base axes")


@dataclass(frozen=True, kw_only=True)
class _BoxSection(_AnySurface):
    rpy: Any = _angles()
    size: Any = declare(length=3, unit="m", minimum=0.0, above=True, maximum=MAX_COORDINATE,
                        description="Lengths of the edges")


@dataclass(frozen=True, kw_only=True)
class _SphereSection(_AnySurface):
    radius: float = _length("Radius")


@dataclass(frozen=True, kw_only=True)
class _CylinderSection(_AnySurface):
    rpy: Any = _angles()
    radius: float = _length("Radius")
    length: float = _length("Length along the z axis")


@dataclass(frozen=True)
class PointSection:
    """A contact point."""

    link: Any = declare(None, kind=object, description="Link that carries it; none: the tip link")
    position: Any = _position("Position of its centre in the frame of the link")
    radius: float = declare(DEFAULT_RADIUS, unit="m", minimum=0.0, maximum=MAX_COORDINATE, description="Radius")


def read_world(path: str | Path, model: RobotModel) -> World:
    """Read a world file.

    Args:
        path: The file, or its name in config/ without ending.
        model: The robot whose links the contact points are on.

    Raises:
        InputError: The file cannot be read, or its content is not valid for the robot.
    """
    return world_from_mapping(read_yaml(world_file(path)), model, str(path))


def world_from_mapping(content: Any, model: RobotModel, where: str = "world") -> World:
    """Make a world from the content of a YAML file.

    Args:
        content: A mapping with ``surfaces`` and, for other points than the tip link's origin, ``contact_points``.
        model: The robot.
        where: Source of the content, for messages.

    Raises:
        InputError: The content is not valid.
    """
    if not isinstance(content, Mapping) or "surfaces" not in content:
        raise InputError(f"{where}: expected the key 'surfaces' with a section for each surface, "
                         f"received {shown(content)}")
    for key in content:
        if key not in ("surfaces", "contact_points"):
            raise InputError(f"{where}: {unknown('key', key, ('surfaces', 'contact_points'))}")
    if not isinstance(content["surfaces"], Mapping) or not content["surfaces"]:
        raise InputError(f"{where}: surfaces: expected a section for each surface by its name, received "
                         f"{shown(content['surfaces'])}")
    surfaces = tuple(_surface(f"{where}: surface '{name}'", str(name), values)
                     for name, values in content["surfaces"].items())
    given = content.get("contact_points", [{}])
    if not isinstance(given, list) or not given:
        raise InputError(f"{where}: contact_points: expected a list, each with link, position and radius, received "
                         f"{shown(given)}; leave the key out for one point at the tip link")
    points = tuple(_point(f"{where}: contact point {number}", model, values) for number, values in enumerate(given, 1))
    world = World(surfaces, points, where)
    world.check(model)
    return world


def _point(where: str, model: RobotModel, values: Any) -> ContactPoint:
    found = section(PointSection, where, values)
    link = model.tip_link if found.link is None else found.link
    return ContactPoint(str(link), np.array(found.position), found.radius)


def _surface(where: str, name: str, values: Any) -> Surface:
    if not isinstance(values, Mapping) or "shape" not in values:
        raise InputError(f"{where}: expected the key 'shape' ({', '.join(SHAPES)}) and others, received "
                         f"{shown(values)}")
    shape = values["shape"]
    if not isinstance(shape, str) or shape not in SHAPES:
        raise InputError(f"{where}: shape: expected {', '.join(SHAPES)}, received {shown(shape)}, "
                         f"{suggest(str(shape), SHAPES)}")
    kind, make = SHAPES[shape]
    found = section(kind, where, values)
    material = Material(found.stiffness, found.damping, found.friction)
    return make(where, found, (name, material), np.array(found.position))


def _plane(where: str, found: Any, common: tuple[str, Material], position: Array) -> Surface:
    normal = np.array(found.normal)
    length = float(np.linalg.norm(normal))
    if length == 0.0:
        raise InputError(f"{where}: normal: expected a vector that points out of the surface, received zeros")
    return Plane(*common, _axes_with_z(normal / length), position)


def _box(where: str, found: Any, common: tuple[str, Material], position: Array) -> Surface:
    return Box(*common, _rotation(found), position, np.array(found.size))


def _sphere(where: str, found: Any, common: tuple[str, Material], position: Array) -> Surface:
    return Sphere(*common, np.eye(3), position, found.radius)


def _cylinder(where: str, found: Any, common: tuple[str, Material], position: Array) -> Surface:
    return Cylinder(*common, _rotation(found), position, found.radius, found.length)


SHAPES: dict[str, tuple[type[_AnySurface], Callable[..., Surface]]] = {
    "plane": (_PlaneSection, _plane), "box": (_BoxSection, _box), "sphere": (_SphereSection, _sphere),
    "cylinder": (_CylinderSection, _cylinder)}
"""Keys of each shape, and the function that makes its surface."""


def _rotation(found: Any) -> Array:
    from scipy.spatial.transform import Rotation  # slow to import, needed with a world only

    return np.asarray(Rotation.from_euler("xyz", found.rpy).as_matrix(), dtype=np.float64)


def _axes_with_z(z: Array) -> Array:
    """Axes with a given third axis, shape (3, 3); the identity for the z axis of the base."""
    helper = np.array([1.0, 0.0, 0.0]) if abs(z[0]) < 0.9 else np.array([0.0, 1.0, 0.0])
    x = helper - (helper @ z) * z
    x = x / np.linalg.norm(x)
    return np.column_stack([x, np.cross(z, x), z])
