# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Writes an identified model as files: a URDF, and a YAML of actuators and friction for the simulation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
from lxml import etree

from robodyn_ros.actuation.configuration import HardwareSettings
from robodyn_ros.actuation.motor_catalogue import MOTORS
from robodyn_ros.base.errors import InputError
from robodyn_ros.description.model import Array, Inertia, RobotModel
from robodyn_ros.toolbox.identification.identified_model import IdentifiedModel
from robodyn_ros.toolbox.identification.motor_constants import MotorConstants
from robodyn_ros.toolbox.identification.presliding_fit import PreslidingFit
from robodyn_ros.toolbox.identification.spring_fit import SpringFit

_DIGITS = 10


def urdf_with_inertias(model: RobotModel, identified: RobotModel, viscous: Array, coulomb: Array) -> str:
    """Return the URDF of a robot with new inertias and friction, otherwise unchanged.

    Motion identifies only the total inertia of a moving link and the links fixed to it. The moving link gets it; the
    fixed links lose theirs. The friction of mimic joints is included in that of the joint that they follow.

    Args:
        model: The described robot, with its URDF.
        identified: The same robot with new inertias.
        viscous: Viscous friction of the joints, shape (n,) [N m s/rad or N s/m].
        coulomb: Coulomb friction of the joints, shape (n,) [N m or N].

    Raises:
        InputError: The robot has no URDF.
    """
    if not model.description:
        raise InputError(f"robot '{model.name}': expected a robot from a URDF, whose inertias are replaced, received "
                         "one without")
    root = etree.fromstring(model.description.lstrip("\ufeff \t\r\n").encode(),
                            etree.XMLParser(resolve_entities=False, no_network=True, recover=True))
    links = {link.get("name"): link for link in root.iterchildren("link")}
    joints = {joint.get("name"): joint for joint in root.iterchildren("joint")}
    for frame in model.frames.values():
        if frame.joint >= 0:
            for element in links[frame.name].findall("inertial"):
                links[frame.name].remove(element)
    for joint in identified.joints:
        if joint.inertia.mass > 0.0:
            links[joint.link].append(_inertial(joint.inertia))
        leads = joint.name in model.joint_names
        dynamics = joints[joint.name].find("dynamics")
        if dynamics is None:
            dynamics = etree.SubElement(joints[joint.name], "dynamics")
        dynamics.set("damping", _number(viscous[joint.dof] if leads else 0.0))
        dynamics.set("friction", _number(coulomb[joint.dof] if leads else 0.0))
        if joint.armature:
            dynamics.set("armature", _number(joint.armature))
    etree.indent(root)
    return str(etree.tostring(root, encoding="unicode", pretty_print=True))


def actuator_sections(model: IdentifiedModel, constants: MotorConstants, given: Mapping[str, Any] | None = None,
                      springs: SpringFit | None = None, presliding: PreslidingFit | None = None) -> dict[str, Any]:
    """Return the content of the YAML file of actuators and friction.

    Args:
        model: Identified inertias and friction.
        constants: Identified motors.
        given: Content of a file that describes the motors; identified values replace its own.
        springs: Identified springs of elastic joints.
        presliding: Identified presliding.
    """
    robot, friction, effort_model = model.effort_model.robot, model.friction, model.effort_model
    content = {"joints": {}} if given is None else dict(given)
    ratio = abs(HardwareSettings.from_mapping(content).joint_actuators(robot.model).motors.gear.ratio)
    sections: dict[str, Any] = {}
    for j, name in enumerate(robot.joint_names):
        section = sections.setdefault(name, {})
        before = content["joints"].get(name) or {}
        if "gear" in before:
            section["gear"] = before["gear"]
        spring = dict(before.get("transmission") or {})
        actuator = dict(before.get("actuator") or {})
        if springs is not None and springs.identified[j]:
            spring["stiffness"] = _rounded(springs.stiffness[j])
            if not actuator:
                spring["inertia"] = _rounded(max(springs.motor_inertia[j], 1e-9))
            if springs.damping is not None:
                spring["damping"] = _rounded(springs.damping[j])
            if np.isfinite(springs.backlash[j]):
                spring["backlash"] = _rounded(max(springs.backlash[j], 0.0))
        if spring:
            section["transmission"] = spring
        if actuator and (constants.known[j] or effort_model.has_rotor[j]):
            actuator |= {"motor": _motor(actuator["motor"], model, constants, j, ratio[j])}
            if "gear" in before or "gear_inertia" in actuator:
                actuator["gear_inertia"] = 0.0  # included in the rotor's inertia
        if j not in effort_model.coupled:
            actuator.pop("motor_damping", None)  # included in the viscous friction of the joint
        elif actuator:
            viscous, coulomb = (model.parameters[effort_model.slots(kind).start + j]
                                for kind in ("motor_viscous", "motor_coulomb"))
            actuator |= {"motor_damping": _rounded(viscous / ratio[j]**2),
                         "motor_friction": _rounded(coulomb / ratio[j])}
        if actuator:
            section["actuator"] = actuator
        section["friction"] = {field: _rounded(getattr(friction, field)[j])
                               for field in ("viscous", "coulomb", "static")}
        if np.isfinite(effort_model.stribeck_velocity[j]):
            section["friction"]["stribeck_velocity"] = _rounded(friction.stribeck_velocity[j])
        if presliding is not None:  # one model for all joints
            section["friction"]["model"] = "maxwell_slip"
            if presliding.identified[j]:  # samples at reversals identify the level, too
                stiffness, level = _rounded(presliding.stiffness[j]), _rounded(presliding.level[j])
                section["friction"] |= {"stiffness": stiffness, "coulomb": level, "static": level}
    return content | {"joints": sections}


def _motor(motor: Any, model: IdentifiedModel, constants: MotorConstants, j: int, ratio: float) -> dict[str, Any]:
    """Data of a motor, with identified values instead of the given ones."""
    figures = dict(motor) if isinstance(motor, Mapping) else asdict(MOTORS.load(str(motor)))
    if constants.known[j]:
        figures["torque_constant"] = _rounded(abs(constants.effort_per_current[j]) / ratio)
    if np.isfinite(constants.resistance[j]):
        figures["resistance"] = _rounded(constants.resistance[j])
        figures["back_emf_constant"] = _rounded(abs(constants.back_emf[j]) / ratio)
    figures["rotor_inertia"] = _rounded(model.rotor_inertia[j] / ratio**2)
    return {key: value for key, value in figures.items() if value is not None}


def _inertial(inertia: Inertia) -> etree._Element:
    element = etree.Element("inertial")
    etree.SubElement(element, "origin", xyz=" ".join(map(_number, inertia.com)), rpy="0 0 0")
    etree.SubElement(element, "mass", value=_number(inertia.mass))
    rotational = inertia.rotational
    etree.SubElement(element, "inertia", {
        f"i{'xyz'[row]}{'xyz'[column]}": _number(rotational[row, column]) for row, column in zip(*np.triu_indices(3),
                                                                                                 strict=True)})
    return element


def _rounded(value: float) -> float:
    return float(_number(value))


def _number(value: float) -> str:
    return f"{float(value):.{_DIGITS}g}"
