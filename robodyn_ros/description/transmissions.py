# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Transmissions of a description: ``<transmission>`` elements of ROS, and of ``<ros2_control>`` with its plugins."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import numpy as np
from lxml import etree

from robodyn_ros.description.coupling import Coupling
from robodyn_ros.description.joint_and_link_elements import as_number
from robodyn_ros.description.model import Array
from robodyn_ros.description.ranges import LENGTH, REDUCTION
from robodyn_ros.description.report import Report

_REDUCTIONS = ("mechanicalReduction", "mechanical_reduction")

_COUPLED = ("DifferentialTransmission", "FourBarLinkageTransmission")


@dataclass(frozen=True)
class Transmissions:
    """Transmissions of a description.

    Attributes:
        reductions: Motor turns per joint turn, by joint; of coupled joints, `Coupling.ratio`.
        zeros: Position of a joint at which its motor is at 0, by joint [rad or m].
        couplings: Joints that several motors drive together.
    """

    reductions: dict[str, float] = field(default_factory=dict)
    zeros: dict[str, float] = field(default_factory=dict)
    couplings: list[Coupling] = field(default_factory=list)


def read_transmissions(root: etree._Element, joints: Collection[str], moving: Collection[str], report: Report
                       ) -> Transmissions:
    """Return the transmissions of a description.

    Motors that drive one joint in parallel have one reduction. A reduction at the joint is a second stage and
    multiplies it, unless it repeats that of the motors. Differentials and four-bar linkages of ros2_control couple two
    joints. Unusable transmissions are ignored with a warning.

    Args:
        root: The ``<robot>``.
        joints: Names of all joints.
        moving: Names of independent joints.
        report: Collects the warnings.
    """
    found = Transmissions()
    first: dict[str, etree._Element] = {}
    for transmission in root.iter("transmission"):
        kind = _kind(transmission)
        if kind not in _COUPLED and next(transmission.iter(*_REDUCTIONS, "offset"), None) is None:
            continue
        names = [joint.get("name") for joint in transmission.findall("joint")]
        if len(names) != 1 + (kind in _COUPLED):
            remedy = ("it is ignored; name two joints and two actuators" if kind in _COUPLED else "it is ignored; name "
                      f"one joint, or make it one of {' and '.join(_COUPLED)}")
            report.warn(transmission, f"it couples {len(names)} joints", remedy)
            continue
        strange = next((name for name in names if name not in moving), None)
        if strange is not None:
            fault = "is fixed or mimics another one" if strange in joints else "does not exist"
            report.warn(transmission, f"its joint '{strange}' {fault}", "it is ignored; name a joint that moves by "
                        "itself")
            continue
        taken = next((name for name in names if name in first), None)
        if taken is not None:
            report.warn(transmission, f"the joint '{taken}' has another transmission, in line "
                        f"{first[taken].sourceline}",
                        f"that one counts, with reduction {found.reductions.get(taken, 1.0):g}; remove one")
            continue
        first.update(dict.fromkeys(names, transmission))
        if kind in _COUPLED:
            _read_coupling(transmission, kind, found, report)
        else:
            _read_simple(transmission, names[0], found, report)
    return found


def _kind(transmission: etree._Element) -> str:
    """Return the name of the transmission's class without its package; empty if there is none."""
    for tag in ("plugin", "type"):
        named = transmission.find(tag)
        if named is not None and named.text:
            return str(named.text).strip().replace("::", "/").rpartition("/")[2]
    return str(transmission.get("type", "")).strip().rpartition("/")[2]


def _read_simple(transmission: etree._Element, name: str, found: Transmissions, report: Report) -> None:
    elements = list(transmission.iter(*_REDUCTIONS))
    values = {each: as_number(each.text or "") for each in elements}
    wrong = [each for each, value in values.items() if not (REDUCTION.holds(value) and value != 0.0)]
    motors = {value for each, value in values.items() if each.getparent().tag == "actuator"}
    others = {value for each, value in values.items() if each.getparent().tag != "actuator"}
    if wrong:
        received = ", ".join(repr(each.text) for each in wrong)
        report.warn(transmission, f"its mechanical reduction {received} is not a finite number other than 0 up to "
                    f"{REDUCTION.maximum:g}", "taken as 1; correct it")
    elif len(motors) > 1 or len(others) > 1:
        listed = ", ".join(f"{value:g}" for value in values.values())
        report.warn(transmission, f"its reductions {listed} differ, for one joint",
                    "taken as 1; write the same reduction for each motor")
    elif values:
        found.reductions[name] = math.prod(motors | others)
    found.zeros.update(zip([name], _offsets(transmission.findall("joint"), report), strict=True))


def _read_coupling(transmission: etree._Element, kind: str, found: Transmissions, report: Report) -> None:
    joints = _by_role(transmission, "joint", report)
    actuators = _by_role(transmission, "actuator", report)
    if len(actuators) != 2:
        report.warn(transmission, f"it has {len(actuators)} actuators", "it is ignored; a transmission of this class "
                    "has two")
        return
    at_joints, at_actuators = _factors(joints), _factors(actuators)
    if at_joints is None or at_actuators is None:
        report.warn(transmission, "a mechanical reduction of it is not one finite number other than 0 up to "
                    f"{REDUCTION.maximum:g} of each joint and actuator", "it is ignored; correct it")
        return
    try:
        matrix = coupling_matrix(kind, at_actuators, at_joints)
        coupling = Coupling(tuple(joint.get("name") for joint in joints), matrix)
    except ValueError as error:
        report.warn(transmission, str(error), "it is ignored; correct it")
        return
    found.couplings.append(coupling)
    found.reductions.update(zip(coupling.joints, map(float, coupling.ratio), strict=True))
    found.zeros.update(zip(coupling.joints, _offsets(joints, report), strict=True))


def coupling_matrix(kind: str, actuators: Sequence[float], joints: Sequence[float]) -> Array:
    """Return C of a transmission of two joints, as defined by the classes of ros2_control's transmission_interface.

    Args:
        kind: ``DifferentialTransmission`` or ``FourBarLinkageTransmission``.
        actuators: Reductions at the actuators, length 2.
        joints: Reductions at the joints, length 2.

    Returns:
        Turns of each motor per turn of each joint, shape (2, 2).
    """
    first, second = joints
    rows = ([[first, second], [first, -second]] if kind == "DifferentialTransmission" else
            [[first, 0.0], [1.0, second]])
    turns: Array = np.array(actuators)[:, None] * np.array(rows)
    return turns


def _by_role(transmission: etree._Element, tag: str, report: Report) -> list[etree._Element]:
    """Return joints or actuators in the order of their roles, or else in the order of the file."""
    elements: list[etree._Element] = transmission.findall(tag)
    roles = [str(each.get("role") or each.findtext("role") or "").strip() for each in elements]
    wanted = [f"{tag}{number + 1}" for number in range(len(elements))]
    if sorted(roles) != wanted:
        if any(roles):
            report.warn(transmission, f"its {tag}s have the roles {', '.join(map(repr, roles))} instead of "
                        f"{' and '.join(wanted)}", "taken in the order of the file; correct them")
        return elements
    if roles != wanted:
        report.warn(transmission, f"its {tag}s do not stand in the order of their roles, the order that ros2_control "
                    "takes", "the roles count here; write the first one first")
    return [elements[roles.index(role)] for role in wanted]


def _factors(elements: Sequence[etree._Element]) -> list[float] | None:
    """Return the reductions at joints or actuators, 1 if there is none; None if one is unusable."""
    factors = []
    for element in elements:
        found = [as_number(each.text or "") for each in element.iter(*_REDUCTIONS)] or [1.0]
        if len(found) > 1 or not REDUCTION.holds(found[0]) or found[0] == 0.0:
            return None
        factors.append(found[0])
    return factors


def _offsets(joints: Sequence[etree._Element], report: Report) -> list[float]:
    """Return the offsets of joints in a transmission, 0 if there is none or it is unusable [rad or m]."""
    offsets = []
    for joint in joints:
        text = joint.findtext("offset")
        value = 0.0 if text is None else as_number(text)
        if not LENGTH.holds(value):
            report.warn(joint, f"its offset {text!r} is no finite number up to {LENGTH.maximum:g}",
                        "taken as 0; correct it")
            value = 0.0
        offsets.append(value)
    return offsets
