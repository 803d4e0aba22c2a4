# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Reads and checks the values of single joints and links: axes, limits, friction, inertias."""

from __future__ import annotations

import math
import re

import numpy as np
from lxml import etree

from robodyn_ros.description.mjcf import UNLIMITED
from robodyn_ros.description.model import NO_INERTIA, Array, Inertia, Limits
from robodyn_ros.description.ranges import NO_LIMIT
from robodyn_ros.description.report import Report

UNIT_TOLERANCE = 1e-3
"""Axes and quaternions written with three digits, such as 0.707 0.707 0, pass as unit vectors."""

_INERTIA_TOLERANCE = 1e-6
"""Relative tolerance of principal moments, for the few digits of published values."""

_DEGREES = (8 * math.pi, 720.0)
"""Limits in this range look like degrees: more than four turns in radians, at most two turns in degrees."""

_ROUNDING = 1e-15


def snap(values: Array, scale: float) -> Array:
    """Replace rounding noise by exact zeros, so that compiled formulas omit these terms.

    Args:
        values: Any numbers.
        scale: Magnitude of the numbers that they were computed from.

    Returns:
        A copy of ``values``, with zeros for values below 1e-15 of the scale.
    """
    return np.where(np.abs(values) <= _ROUNDING * scale, 0.0, values)


def snap_pose(pose: Array, scale: float) -> Array:
    """Replace rounding noise in a pose by exact values, as ``snap``.

    Args:
        pose: Pose, shape (4, 4).
        scale: Magnitude of the lengths that the position was computed from [m].

    Returns:
        A copy with exact zeros, and exact ones in the rotation.
    """
    snapped = pose.copy()
    rotation = snap(pose[:3, :3], 1.0)
    snapped[:3, :3] = np.where(np.abs(np.abs(rotation) - 1.0) <= _ROUNDING, np.sign(rotation), rotation)
    snapped[:3, 3] = snap(pose[:3, 3], scale)
    return snapped


def compose_poses(first: Array, second: Array) -> Array:
    """Return ``first @ second`` for poses of shape (4, 4), without rounding noise where the result is exact."""
    return snap_pose(first @ second, float(max(np.max(np.abs(first[:3, 3])), np.max(np.abs(second[:3, 3])))))


def add_inertia(body: Inertia, link: Inertia, pose: Array) -> Inertia:
    """Return the inertia of a body with a link fixed to it, without rounding noise; the pose is that of the link."""
    if link.is_zero:
        return body
    both = body + link.transformed(pose)
    return Inertia(both.mass, *(snap(values, float(np.max(np.abs(values)))) for values in (both.com, both.rotational)))


_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def as_number(text: str) -> float:
    """Return the number that urdfdom reads from a text; NaN if it reads none.

    Python's ``float`` accepts more, such as 1_000 and full-width digits.
    """
    text = text.strip()
    return float(text) if _NUMBER.fullmatch(text) else math.nan


def read_numbers(element: etree._Element | None, attribute: str, absent: str = "0 0 0") -> Array:
    """Return the numbers of a checked attribute.

    Args:
        element: The element; None if it is missing.
        attribute: Name of the attribute.
        absent: Text used if there is no such element or attribute.
    """
    return np.array((absent if element is None else element.get(attribute, absent)).split(), dtype=np.float64)


def read_number(element: etree._Element | None, attribute: str) -> float | None:
    """Return the number of a checked attribute; None if there is no such element or attribute."""
    text = None if element is None else element.get(attribute)
    return None if text is None else float(text)


def read_origin(owner: etree._Element) -> Array:
    """Return the pose of the ``<origin>`` of a joint or ``<inertial>``, shape (4, 4); the identity if it has none.

    ``rpy`` are angles about the fixed x, y and z axes, in this order: R = R_z(yaw) R_y(pitch) R_x(roll).
    """
    pose, origin = np.eye(4), owner.find("origin")
    pose[:3, 3] = read_numbers(origin, "xyz")
    angles = read_numbers(origin, "rpy")
    (sx, sy, sz), (cx, cy, cz) = np.sin(angles), np.cos(angles)
    pose[:3, :3] = [
        [cy * cz, sy * (sx * cz) - cx * sz, sy * (cx * cz) + sx * sz],
        [cy * sz, sy * (sx * sz) + cx * cz, sy * (cx * sz) - sx * cz],
        [-sy, cy * sx, cy * cx],
    ]
    return snap_pose(pose, float(np.max(np.abs(pose[:3, 3]))))


def read_axis(element: etree._Element, report: Report) -> Array:
    """Return the unit axis of a moving joint in its link frame, shape (3,)."""
    given = read_numbers(element.find("axis"), "xyz", "1 0 0")
    largest = float(np.max(np.abs(given)))
    if largest == 0.0:
        raise report.error(element, "the axis is zero and has no direction", 'give a unit vector, e.g. xyz="0 0 1"')
    axis = given / largest  # the squares of tiny components would underflow
    length = largest * float(np.linalg.norm(axis))
    if abs(length - 1.0) > UNIT_TOLERANCE:
        report.warn(element, f"the axis has length {length:.6g} instead of 1", "it is normalised; write a unit vector")
    return axis / np.linalg.norm(axis)


def read_limits(element: etree._Element, report: Report) -> Limits:
    """Read the limits of a moving joint; missing, zero, immense and `UNLIMITED` ones count as unlimited."""
    limit = element.find("limit")
    values = {name: read_number(limit, name) for name in ("lower", "upper", "velocity", "effort")}
    never = () if limit is None else limit.get(UNLIMITED, "").split()
    values |= dict.fromkeys(values.keys() & never)
    for name, value in values.items():
        if value is not None and NO_LIMIT < abs(value) < np.inf:
            report.warn(element, f"the {name} limit {value:g} is beyond {NO_LIMIT:g}",
                        "taken as unlimited; correct it, or leave it out")
            values[name] = float(np.copysign(np.inf, value))
    has_range = element.get("type") != "continuous"
    if not has_range:
        given = [f'{name}="{values[name]:g}"' for name in ("lower", "upper") if values[name]]
        if given:
            report.warn(element, f"a continuous joint has no position limits, received {' and '.join(given)}",
                        'they have no effect; make it type="revolute" if it has limits')
        values["lower"] = values["upper"] = None
    elif (values["lower"] is None) != (values["upper"] is None):
        (absent,) = (name for name in ("lower", "upper") if values[name] is None)
        report.warn(element, f"the {absent} limit is missing", "taken as 0, as URDF says; add it to <limit>")
        values[absent] = 0.0
    missing = [name for name, value in values.items() if value is None and has_range and name not in never]
    if missing:
        report.warn(element, f"limits missing: {', '.join(missing)}", "taken as unlimited; add them to <limit>")
    lower, upper = values["lower"], values["upper"]
    if lower is not None and upper is not None:
        if lower > upper:
            report.warn(element, f"the lower limit {lower:g} is above the upper limit {upper:g}",
                        "they are swapped; swap them in <limit>")
            values["lower"], values["upper"] = lower, upper = upper, lower
        if lower == upper:
            report.warn(
                element,
                f"the position limits are both {lower:g}, as exporters write limits that were never set",
                "taken as unlimited; set them, or make the joint fixed",
            )
            values["lower"] = values["upper"] = None
        elif element.get("type") == "revolute" and _DEGREES[0] < max(-lower, upper) <= _DEGREES[1]:
            report.warn(
                element,
                f"the position limits {lower:g} and {upper:g} look like degrees",
                "used as given, in radians; write radians",
            )
    for name in ("velocity", "effort"):
        value = values[name]
        if value is not None and value <= 0.0:
            report.warn(
                element,
                f"the {name} limit is {value:g}, as exporters write a limit that was never set",
                "taken as unlimited; set it",
            )
            values[name] = None
    unlimited = Limits()
    return Limits(**{name: getattr(unlimited, name) if value is None else value for name, value in values.items()})


def read_friction(element: etree._Element, report: Report) -> tuple[float, float]:
    """Return viscous and Coulomb friction of a joint [N m s/rad or N s/m, N m or N]."""
    values = []
    for name in ("damping", "friction"):
        value = read_number(element.find("dynamics"), name) or 0.0
        if value < 0.0:
            report.warn(element, f"the {name} {value:g} is negative: it would feed energy in", "make it positive")
        values.append(value)
    return values[0], values[1]


def read_armature(element: etree._Element, report: Report) -> float:
    """Return the reflected inertia of a joint's rotor, ``<dynamics armature="...">`` [kg m^2 or kg].

    The attribute is not part of the URDF specification; identification programs and simulators write it.
    """
    armature = read_number(element.find("dynamics"), "armature") or 0.0
    if armature < 0.0:
        report.warn(element, f"the armature {armature:g} is negative, as no rotor's inertia is",
                    "taken as 0; make it positive")
    return max(armature, 0.0)


def read_mass(inertial: etree._Element) -> float:
    """Return the mass of a checked ``<inertial>`` [kg]; 0 if it has none."""
    return read_number(inertial.find("mass"), "value") or 0.0


def read_rotational(inertial: etree._Element) -> Array:
    """Return the rotational inertia of a checked ``<inertial>``, shape (3, 3) [kg m^2]; zeros if it has none."""
    xx, xy, xz, yy, yz, zz = (read_number(inertial.find("inertia"), name) or 0.0
                              for name in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz"))
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def read_inertia(element: etree._Element, report: Report, *, moves: bool) -> Inertia:
    """Return the inertia of a link in its own frame.

    Args:
        element: The XML element of the link.
        report: Collects errors and warnings.
        moves: Whether a joint moves the link; the inertia of a link that is fixed to the base has no effect.

    Returns:
        The inertia.

    Raises:
        DescriptionError: The mass of a moving link is negative.
    """
    inertial = element.find("inertial")
    if inertial is None:
        return Inertia.zero()
    mass, rotational = read_mass(inertial), read_rotational(inertial)
    effect = "used as given" if moves else "without effect, as the link is fixed to the base"
    if mass < 0.0 and moves:
        raise report.error(element, f"the mass {mass:g} kg is negative", "give a mass of zero or more")
    if mass < 0.0:
        report.warn(element, f"the mass {mass:g} kg is negative", f"{effect}; correct it")
    moments = np.linalg.eigvalsh(rotational)
    listed = f"(principal moments {', '.join(f'{moment:.4g}' for moment in moments)} kg m^2)"
    rounded = moments[0] >= -max(_INERTIA_TOLERANCE * np.max(np.abs(moments)), NO_INERTIA)
    if not rounded:
        report.warn(element, f"the inertia has a negative principal moment {listed}, as no body has",
                    f"{effect}; check the signs and the off-diagonal elements, or repair it: {report.repair}")
    elif moments[0] + moments[1] < moments[2] * (1.0 - _INERTIA_TOLERANCE) - NO_INERTIA:
        report.warn(
            element,
            f"the inertia breaks the triangle inequality {listed}, as that of no body does",
            f"{effect}; check that it is about the centre of mass, and its units, or repair it: {report.repair}",
        )
    if mass > 0.0 and np.max(np.abs(moments)) <= NO_INERTIA:
        report.warn(element, f"mass {mass:g} kg without rotational inertia (a point mass)", "give <inertia>")
    if mass == 0.0 and moments[2] > NO_INERTIA:
        report.warn(element, "rotational inertia without mass", "give <mass>")
    if rounded:
        rotational = _without_negative_moments(rotational)
    pose = read_origin(inertial)
    moved = Inertia(mass, np.zeros(3), rotational).transformed(pose)
    return Inertia(mass, moved.com, snap(moved.rotational, float(np.max(np.abs(rotational)))))


def _without_negative_moments(rotational: Array) -> Array:
    """Replace principal moments that are negative only by the rounding of published digits by zero."""
    moments, axes = np.linalg.eigh(rotational)
    return rotational if moments[0] >= 0.0 else (axes * np.maximum(moments, 0.0)) @ axes.T
