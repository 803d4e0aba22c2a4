# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Doubts about a robot description: values that can be computed, but that hardly any real robot has.

A doubt names the file, line and element, the value, and the likely mistake, mostly a unit or a placeholder.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from lxml import etree

from robodyn_ros.description.document import Document
from robodyn_ros.description.joint_and_link_elements import read_mass, read_numbers, read_rotational
from robodyn_ros.description.model import NO_INERTIA, Array, Joint, RobotModel
from robodyn_ros.description.report import Report

MAX_LENGTH = 10.0
"""Greatest length between two joints, and of a shape [m]."""
MAX_MASS = 1000.0
"""Greatest mass of a link [kg]."""
MAX_SPEED = 100.0
"""Greatest speed of a revolute joint with position limits: 955 turns per minute [rad/s]."""
MAX_COM_DISTANCE = 0.5
"""Greatest distance of a centre of mass from the box around the link's shapes, as a share of the box's diagonal."""
MAX_GYRATION, MIN_GYRATION = 1.5, 0.005
"""Range of the largest radius of gyration, as a share of the link's length."""
MAX_GYRATION_OF_REACH = 0.5
"""Largest radius of gyration of a link of unknown shape, as a share of the robot's reach."""
MIN_EFFORT_RATIO = 0.5
"""Least effort limit, as a share of the effort that holds the robot against gravity in its worst posture."""

_TURN = 2.0 * math.pi
_SLACK = 0.05  # of rounded limits: 6.3 for 2 pi


def find_doubts(document: Document, report: Report, model: RobotModel, boxes: Mapping[str, Array],
                gravity_effort: Array, reach: float) -> list[str]:
    """Return the doubts about a robot as messages.

    Args:
        document: Its URDF.
        report: Report on the same document.
        model: The robot.
        boxes: Lowest and highest coordinates of the shapes of links in their frames, shape (2, 3) [m], for the links
            with known shapes.
        gravity_effort: Greatest effort found for holding the robot against gravity, shape (n,) [N m or N].
        reach: Length of the robot's longest chain of joints [m].
    """
    earlier = len(report.warnings)
    for element in document.joints.values():
        _check_origin(element, report)
    for joint in model.joints:
        _check_limits(joint, document.joints[joint.name], report)
        if joint.name in model.joint_names:
            _check_effort(joint, document.joints[joint.name], float(gravity_effort[joint.dof]), report)
    lengths = _lengths(document)
    for name, element in document.links.items():
        _check_link(element, boxes.get(name), lengths[name], reach, report)
    return report.warnings[earlier:]


def _check_origin(element: etree._Element, report: Report) -> None:
    origin = element.find("origin")
    distance = float(np.linalg.norm(read_numbers(origin, "xyz")))
    if distance > MAX_LENGTH:
        report.warn(element, f"its origin is {distance:.4g} m from the frame of its parent",
                    f"links are shorter than {MAX_LENGTH:g} m: are these millimetres?")
    _check_angles(element, origin, report)


def _check_angles(element: etree._Element, origin: etree._Element | None, report: Report) -> None:
    angles = read_numbers(origin, "rpy")
    if np.abs(angles).max() > _TURN + _SLACK:
        shown = " ".join(f"{angle:g}" for angle in angles)
        report.warn(element, f'the rpy="{shown}" of its origin is more than a turn',
                    "angles are in radians: are these degrees?")


def _check_limits(joint: Joint, element: etree._Element, report: Report) -> None:
    limits = joint.limits
    ends = [abs(end) for end in (limits.lower, limits.upper) if math.isfinite(end)]
    largest = max(ends, default=0.0)
    where = f"the position limits {limits.lower:g} and {limits.upper:g}"
    if joint.kind == "prismatic":
        if largest > MAX_LENGTH:
            report.warn(element, f"{where} are beyond {MAX_LENGTH:g} m",
                        "lengths are in metres: are these millimetres?")
        return
    if _TURN + _SLACK < largest <= 4 * _TURN and all(end % 5.0 == 0.0 for end in ends):  # the loader warns of more
        report.warn(element, f"{where} are whole numbers beyond a turn", "limits are in radians: are these degrees?")
    if ends and MAX_SPEED < limits.velocity < math.inf:
        report.warn(element, f"the velocity limit {limits.velocity:g} rad/s is {limits.velocity * 60 / _TURN:.0f} "
                    "turns per minute",
                    "speeds are in rad/s: is this in degrees per second, of the motor, or a placeholder?")


def _check_effort(joint: Joint, element: etree._Element, gravity_effort: float, report: Report) -> None:
    limit, unit = joint.limits.effort, joint.effort_unit
    if limit < MIN_EFFORT_RATIO * gravity_effort:
        report.warn(element, f"the effort limit is {limit:g} {unit}, and gravity alone needs up to "
                    f"{gravity_effort:.4g} {unit}",
                    "the robot cannot hold itself: check the limit, the masses, and whether the limit is "
                    "that of the motor before the gear")
    if joint.friction >= limit:
        report.warn(element, f"the friction {joint.friction:g} {unit} is not below the effort limit {limit:g} {unit}",
                    "the joint cannot move: check both")


def _check_link(element: etree._Element, box: Array | None, length: float, reach: float, report: Report) -> None:
    """Check a link by the box around its shapes; else by its farthest joint and the robot's reach [m]."""
    widest = MAX_GYRATION_OF_REACH * reach
    if box is not None:
        length = float(np.linalg.norm(box[1] - box[0]))
        widest = MAX_GYRATION * length
        if length > MAX_LENGTH:
            report.warn(element, f"its shapes are {length:.4g} m long", "check the units and the scale of its meshes")
    inertial = element.find("inertial")
    if inertial is None:
        return
    mass = read_mass(inertial)
    if mass > MAX_MASS:
        report.warn(element, f"its mass is {mass:g} kg", f"links are lighter than {MAX_MASS:g} kg: are these grams?")
    _check_angles(element, inertial.find("origin"), report)
    center = read_numbers(inertial.find("origin"), "xyz")
    if box is not None:
        outside = float(np.linalg.norm(center - np.clip(center, box[0], box[1])))
        if mass > 0.0 and outside > MAX_COM_DISTANCE * length:
            report.warn(element, f"its centre of mass ({', '.join(f'{x:.4g}' for x in center)}) is {outside:.4g} m "
                        f"outside of its shapes, which are {length:.4g} m long",
                        "check the origin of <inertial>: it is in the frame of the link, in metres")
    elif np.linalg.norm(center) > MAX_LENGTH:
        report.warn(element, f"its centre of mass is {np.linalg.norm(center):.4g} m from its frame",
                    "are these millimetres?")
    if mass > 0.0:
        _check_gyration(element, inertial, mass, length, widest, report)


def _check_gyration(element: etree._Element, inertial: etree._Element, mass: float, length: float, widest: float,
                    report: Report) -> None:
    largest = float(np.linalg.eigvalsh(read_rotational(inertial))[2])
    radius = math.sqrt(max(largest, 0.0) / mass)
    found = f"its inertia is that of {mass:g} kg at {radius:.3g} m from the centre of mass"
    if radius > widest:
        report.warn(element, f"{found}, and a link of this size has at most {widest:.3g} m",
                    "moments are in kg m^2: are these other units, about another point, or placeholders?")
    elif largest > NO_INERTIA and radius < MIN_GYRATION * length:
        report.warn(element, f"{found}, and the link is {length:.3g} m long",
                    "moments are in kg m^2: are these other units, or placeholders?")


def _lengths(document: Document) -> dict[str, float]:
    """Return the distance from each link's frame to the farthest joint that it carries; 0 if it carries none [m]."""
    lengths = dict.fromkeys(document.links, 0.0)
    for element in document.joints.values():
        parent = element.find("parent").get("link")
        lengths[parent] = max(lengths[parent], float(np.linalg.norm(read_numbers(element.find("origin"), "xyz"))))
    return lengths
