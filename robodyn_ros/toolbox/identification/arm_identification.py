# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Identifies a recorded arm: its model, and motors, springs and presliding where the recording shows them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.actuation.configuration import HardwareSettings
from robodyn_ros.actuation.joint_actuators import JointActuators
from robodyn_ros.base.errors import InputError, RecordingError
from robodyn_ros.toolbox.identification.identified_model import IdentifiedModel, identify
from robodyn_ros.toolbox.identification.implausible_efforts import impossible, large_residuals, likely_causes
from robodyn_ros.toolbox.identification.measured_motion import MeasuredMotion
from robodyn_ros.toolbox.identification.motor_constants import MotorConstants, motor_constants
from robodyn_ros.toolbox.identification.presliding_fit import PreslidingFit, fit_presliding
from robodyn_ros.toolbox.identification.recorded_arm import RecordedArm
from robodyn_ros.toolbox.identification.response_fit import ResponseFit, fit_response, motor_response
from robodyn_ros.toolbox.identification.spring_fit import SpringFit, fit_springs
from robodyn_ros.toolbox.recording.joint_table import JointTable

_POSTURES = 200  # postures for the mean inertia of the links


@dataclass(frozen=True)
class IdentificationSettings:
    """What is identified, and from what.

    Attributes:
        cutoff: Of the filter on positions [Hz].
        actuators: Known data of motors and gears; None: none.
        hold_out: Share of the recording, its end, that validates the model.
        has_offset: Whether the measured efforts have offsets.
        has_presliding: Whether the stiffness of dry friction is identified.
        has_response: Whether the springs are identified from the frequency response of the motors.
    """

    cutoff: float
    actuators: HardwareSettings | None = None
    hold_out: float = 0.0
    has_offset: bool = False
    has_presliding: bool = False
    has_response: bool = False


class UsedMotion(NamedTuple):
    """A motion whose efforts are compared with the model."""

    name: str  # of the recording
    use: str  # identification or validation
    motion: MeasuredMotion


@dataclass(frozen=True, eq=False)
class ArmIdentification:
    """An identified arm.

    Attributes:
        model: Inertias and friction.
        constants: Constants of the motors.
        motions: Identifying motion, then the validating one, if any.
        springs: Springs of elastic joints; None: not measured.
        response: Their frequency response; None: not asked for.
        presliding: Presliding; None: not asked for.
    """

    model: IdentifiedModel
    constants: MotorConstants
    motions: tuple[UsedMotion, ...]
    springs: SpringFit | None
    response: ResponseFit | None
    presliding: PreslidingFit | None


def identify_arm(recorded: RecordedArm, settings: IdentificationSettings, validation: RecordedArm | None = None
                 ) -> ArmIdentification:
    """Identify an arm; warnings go to ``recorded.warn``.

    Args:
        recorded: Its motion.
        settings: What is identified.
        validation: Another motion, whose efforts the model has to predict.

    Raises:
        RobodynError: The motion cannot be used, identifies none of what is asked for, or no robot can have the model.
    """
    robot, actuators, cutoff, begin = recorded.robot, settings.actuators, settings.cutoff, 1.0 - settings.hold_out
    motion = recorded.prepared(cutoff, actuators, end=begin)
    motions = [UsedMotion(recorded.path.name, "identification", motion)]
    if settings.hold_out:
        motions.append(UsedMotion(recorded.path.name, "validation",
                                  recorded.prepared(cutoff, actuators, begin, shortest=1.0)))
    elif validation is not None:
        motions.append(UsedMotion(validation.path.name, "validation", validation.prepared(cutoff, actuators)))
    has_rotor, constants = _motors(recorded, motion, actuators)
    table = recorded.source if isinstance(recorded.source, JointTable) else None
    described = None if actuators is None else actuators.joint_actuators(robot.model)
    coupling = table.coupling if table else None if described is None else described.motors.gear.coupling
    _check_efforts(recorded, motion)
    # First, because motion without an identifiable response hardly identifies a model.
    response = _response(recorded, described, cutoff, begin) if settings.has_response else None
    model = identify(robot, motion, has_rotor, coupling=robot.model.coupling if coupling is None else coupling,
                     has_offset=settings.has_offset or bool(table and table.from_motors))
    _check_model(recorded, model, motion)
    coupled = model.effort_model.coupled
    if len(coupled) and (described is None or not described.is_motor[coupled].all()):
        recorded.warn(f"the motor of joint '{robot.joint_names[coupled[0]]}' turns with several joints: its friction "
                      "is identified, and written if --actuators names a file that describes the motors and their "
                      "couplings")
    for j in np.flatnonzero(~motion.usable.any(axis=0)):
        recorded.warn(f"{recorded.path}: joint '{robot.joint_names[j]}' moves at "
                      f"{np.abs(motion.v[:, j]).max():.3g} at most, too slowly to identify its friction, which stays "
                      "as described; record a faster motion")
    springs = _springs(recorded, motion, cutoff, begin) if response is None else response.springs
    presliding = _presliding(recorded, model, motion, cutoff) if settings.has_presliding else None
    return ArmIdentification(model, constants, tuple(motions), springs, response, presliding)


def _check_efforts(recorded: RecordedArm, motion: MeasuredMotion) -> None:
    """Warn about each joint that moves with constant effort; raise if that holds for all joints."""
    moves = motion.usable.any(axis=0)
    constant = moves & (np.ptp(recorded.effort, axis=0) == 0.0)
    for j in np.flatnonzero(constant):
        text = (f"{recorded.path}: joint '{recorded.robot.joint_names[j]}' moves while its effort never varies from "
                f"{recorded.effort[0, j]:g}: ")
        if (constant == moves).all():
            raise RecordingError(f"{text}expected measured efforts; record them, or name their columns")
        recorded.warn(f"{text}unless that was measured, the parameters of this joint are wrong; record its effort, or "
                      "name its column")


def _check_model(recorded: RecordedArm, model: IdentifiedModel, motion: MeasuredMotion) -> None:
    """Warn about each effort that the model misses by far; raise if no robot can have the model."""
    if found := impossible(model, motion):
        raise RecordingError(f"{recorded.path}: {'; '.join(found)}. Nothing was written. Likely causes: "
                             f"{'; '.join(likely_causes(model, motion))}")
    if found := large_residuals(model, motion):
        recorded.warn(f"{recorded.path}: {'; '.join(found)}. Likely causes: "
                      f"{'; '.join(likely_causes(model, motion))}")


def _motors(recorded: RecordedArm, motion: MeasuredMotion, settings: HardwareSettings | None
            ) -> tuple[NDArray[np.bool_], MotorConstants]:
    """Return which joints have a motor with a rotor, and the motor constants."""
    robot, source = recorded.robot, recorded.source
    described = (np.zeros(robot.n, dtype=bool) if settings is None else settings.joint_actuators(robot.model).is_motor)
    nothing = np.full((1, robot.n), np.nan)
    if isinstance(source, JointTable):
        return described | source.has_rotor, motor_constants(nothing, nothing, nothing, nothing)
    actuators = source.actuators
    if actuators is None:
        return described, motor_constants(nothing, nothing, nothing, nothing)
    outputs = actuators.outputs
    order = [source.joint_names.index(name) for name in robot.joint_names]
    v = np.stack([np.interp(actuators.time, motion.time, column) for column in motion.v.T], axis=1)
    effort, current, voltage = (values[:, order] for values in (outputs.joint_effort, outputs.current, outputs.voltage))
    if settings is not None:  # at the gear outputs, one motor each
        gear = settings.joint_actuators(robot.model).motors.gear
        v, effort = gear.output_motion(v.T).T, gear.output_effort(effort.T).T
    constants = motor_constants(v, effort, current, voltage)
    for j in np.flatnonzero(constants.known & ~described):
        recorded.warn(f"{source.path}: joint '{robot.joint_names[j]}' has a motor: give --actuators a file that "
                      "describes it, so that its rotor is separated from the links and its constants are written")
    return described, constants


def _springs(recorded: RecordedArm, motion: MeasuredMotion, cutoff: float, end: float) -> SpringFit | None:
    """Return the springs of elastic joints if both sides were measured, else None; raise if a table identifies none."""
    if recorded.motor_position is None:
        return None
    motors = recorded.prepared_motors(cutoff, end)
    if not np.array_equal(motors.time, motion.time):
        raise RecordingError(f"{recorded.path}: positions of the motors jump where those of the links do not; leave "
                             "out --motor-positions, or record again")
    springs = fit_springs(recorded.robot.joint_names, motion, motors)
    if not springs.identified.any() and not isinstance(recorded.source, JointTable):
        return None  # a recording also has motors of rigid joints
    if not springs.identified.any():
        raise RecordingError(f"{recorded.path}: {springs.reasons[0]}; or leave out the positions of the motors")
    for reason in filter(None, springs.reasons):
        recorded.warn(f"{recorded.path}: {reason}")
    return springs


def _response(recorded: RecordedArm, described: JointActuators | None, cutoff: float, end: float) -> ResponseFit:
    """Identify the springs of elastic joints from the response of their motors.

    Args:
        recorded: Recording of the motors only.
        described: Known data of the actuators; None: none.
        cutoff: Cutoff of the position filter [Hz].
        end: Share of the samples to use, from the beginning.

    Raises:
        InputError: The links were measured.
        RecordingError: The response identifies no spring.
    """
    robot, table = recorded.robot, recorded.source if isinstance(recorded.source, JointTable) else None
    if recorded.motor_position is not None:
        raise InputError(f"{recorded.path}: --frequency-response: expected positions of the motors alone, received "
                         "those of the links, too, which identify the springs without it; leave it out")
    if table is not None and not table.at_motors:
        raise InputError(f"{recorded.path}: --frequency-response: expected --motor-positions, received --positions, "
                         "those of the links; the springs are identified from the response of the motors")
    posture = recorded.position[:round(end * len(recorded.position))]
    links = (robot.dynamics().batch.mass_matrix(posture[::max(1, len(posture) // _POSTURES)])
             - robot.model.rotor_inertia)
    diagonals = np.einsum("kii->ki", links)
    inertia = stiffness = np.full(robot.n, np.nan)
    if described is not None:
        inertia = np.where(described.reflected_inertia > 0.0, described.reflected_inertia, np.nan)
        if described.springs is not None:
            stiffness = np.where(np.isfinite(described.springs.stiffness), described.springs.stiffness, np.nan)
    fit = fit_response(robot.joint_names, motor_response(recorded.even_samples(cutoff, end)), links.mean(axis=0),
                       diagonals.std(axis=0) / diagonals.mean(axis=0), inertia,
                       None if table is None else table.coupling, stiffness)
    for reason in filter(None, fit.springs.reasons) if fit.springs.identified.any() else ():
        recorded.warn(f"{recorded.path}: {reason}")
    if not fit.springs.identified.any():
        raise RecordingError(f"{recorded.path}: --frequency-response: {'; '.join(fit.springs.reasons)}")
    return fit


def _presliding(recorded: RecordedArm, model: IdentifiedModel, motion: MeasuredMotion, cutoff: float) -> PreslidingFit:
    """Identify the presliding of the joints; raise if the motion identifies none."""
    friction = model.friction
    rubbed = friction.viscous * motion.v + friction.level(motion.v) * np.sign(motion.v)
    found = fit_presliding(recorded.robot.joint_names, motion, model.predict(motion.q, motion.v, motion.a) - rubbed,
                           cutoff)
    if not found.identified.any():
        raise RecordingError(f"{recorded.path}: {found.reasons[0]}; or leave out --presliding")
    for reason in filter(None, found.reasons):
        recorded.warn(f"{recorded.path}: {reason}")
    return found
