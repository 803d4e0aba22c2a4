# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Identifies a robot's parameters, with standard deviations, from measured motion and efforts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.actuation.friction import Friction
from robodyn_ros.base.errors import InputError
from robodyn_ros.description.model import Array, joint_matrix
from robodyn_ros.dynamics.regressor import inertial_parameters, with_inertial_parameters
from robodyn_ros.robot import Robot
from robodyn_ros.toolbox.identification.consistent_fit import LinearFit, Prior, consistent_solution
from robodyn_ros.toolbox.identification.effort_model import JOINT_PARAMETERS, OFFSET, EffortModel
from robodyn_ros.toolbox.identification.instrumental_fit import InstrumentalFit
from robodyn_ros.toolbox.identification.measured_motion import MeasuredMotion

IDENTIFIED = 0.5
"""A motion identifies a parameter if it reduces its standard deviation below this share of the prior one."""


@dataclass(frozen=True, eq=False)
class IdentifiedModel:
    """Identified parameters, in the order of `EffortModel.names`."""

    effort_model: EffortModel  # the columns of the parameters
    parameters: Array  # most probable parameters with positive definite pseudo-inertias, shape (p,)
    described: Array  # parameters of the description, shape (p,)
    deviations: Array  # standard deviations after the measurement, shape (p,)
    prior_deviations: Array  # standard deviations before the measurement, shape (p,)
    base_values: Array  # base parameters by instrumental variables alone, shape (b,)
    base_deviations: Array  # their standard deviations, shape (b,)
    base_bias: Array  # their estimated bias by noise of the motion, included in the deviations, shape (b,)
    base_identified: NDArray[np.bool_]  # whether the motion identifies them, shape (b,)
    noise: Array  # root mean square of measured minus predicted effort, shape (n,) [N m or N]

    @property
    def identified(self) -> NDArray[np.bool_]:
        """Whether the motion identifies each parameter, shape (p,)."""
        return self.deviations < IDENTIFIED * self.prior_deviations

    @cached_property
    def robot(self) -> Robot:
        """The robot with the identified inertias and armatures; see also `friction` and `rotor_inertia`."""
        model = self.effort_model.robot.model
        described = np.where(model.armature > 0.0, model.armature, 1.0)
        model = model.with_scaled_armature(self.rotor_inertia / described)
        return Robot(with_inertial_parameters(model, self.parameters[:self.effort_model.inertial_count]))

    @property
    def friction(self) -> Friction:
        """Friction of the joints."""
        return self.effort_model.friction(self.parameters)

    @property
    def rotor_inertia(self) -> Array:
        """Inertia of the rotors at the outputs of their gears, shape (n,) [kg m^2 or kg]."""
        model = self.effort_model
        own = self.parameters[model.slots("rotor")]
        if not len(model.coupled):
            return own
        return np.where(np.isin(np.arange(len(own)), model.coupled), self.parameters[model.slots("motor_rotor")], own)

    def predict(self, q: Array, v: Array, a: Array) -> Array:
        """Efforts of the drives for a motion, each array of shape (K, n) [N m or N]."""
        model, own = self.effort_model, len(JOINT_PARAMETERS) * self.robot.n
        # The dynamics use the rotors of the description.
        motors = joint_matrix(model.coupling, self.rotor_inertia) - self.robot.model.rotor_inertia
        efforts = drive_efforts(self.robot, self.friction, q, v, a) + a @ motors
        if len(model.joint_parameters) > len(JOINT_PARAMETERS):
            others = self.parameters.copy()
            if len(model.coupled):
                others[model.slots("motor_rotor")] = 0.0
            efforts += model.joint_columns(v, a)[:, :, own:] @ others[model.inertial_count + own:]
        return efforts


def drive_efforts(robot: Robot, friction: Friction, q: Array, v: Array, a: Array) -> Array:
    """Efforts that move a robot with friction, each array of shape (K, n) [N m or N]."""
    return (robot.dynamics().batch.inverse_dynamics(q, v, a) + friction.viscous * v
            + friction.level(v) * np.sign(v))


def effort_scale(robot: Robot, effort: Array) -> Array:
    """Full scale of the efforts: the limit, or else the greatest measured magnitude, shape (n,)."""
    limit = robot.model.effort_limit
    return np.where(np.isfinite(limit), limit, np.maximum(np.abs(effort).max(axis=0), 1e-9))


def identify(robot: Robot, motion: MeasuredMotion, has_rotor: NDArray[np.bool_] | None = None, *,
             coupling: Array | None = None, has_offset: bool = False) -> IdentifiedModel:
    """Identify a robot's inertias, friction and rotors.

    By instrumental variables [JanotVandanjonGautier]: the efforts of each joint are weighted by their noise, which is
    estimated iteratively; the deviations include noise of the motion.

    Args:
        robot: The described robot.
        motion: Measured motion and efforts.
        has_rotor: Which joints have a rotor to identify, shape (n,); None: none.
        coupling: Coupling of motors that turn with several joints, see `EffortModel`, shape (n, n); None: none.
        has_offset: Whether the measured efforts have offsets, as those from currents have.

    Raises:
        InputError: No joint moves, or the search does not converge.
    """
    n = robot.n
    rotors = (False if has_rotor is None else has_rotor) | (robot.model.armature > 0.0)
    if not motion.usable.any():
        raise InputError("identification: no joint moves in this recording: record a motion such as robodyn excite "
                         "writes")
    model = EffortModel(robot, np.full(n, np.nan), rotors, coupling, has_offset)
    scale = effort_scale(robot, motion.effort)
    fit = InstrumentalFit(model, motion, scale)
    velocities = fit.stribeck_velocities()
    if np.isfinite(velocities).any():
        model = replace(model, stribeck_velocity=velocities)
        fit = InstrumentalFit(model, motion, scale)
    base, prior = model.base, prior_of(model, motion)
    measured = LinearFit(fit.measured.matrix @ base.combinations, fit.measured.target)
    try:
        parameters = consistent_solution(measured, prior)
    except InputError as error:
        raise InputError(f"{error}; or the efforts are those of no robot: their sign may be wrong (--torque-constants "
                         "-1), or their columns exchanged") from None
    before, after = prior.covariance(), prior.covariance(measured)
    base_before, base_after = (np.sqrt(np.einsum("bp,pq,bq->b", base.combinations, each, base.combinations))
                               for each in (before, after))
    return IdentifiedModel(model, parameters, described_parameters(model), np.sqrt(np.diagonal(after)),
                           np.sqrt(np.diagonal(before)), fit.values, fit.measured.deviations(), fit.bias,
                           base_after < IDENTIFIED * base_before, fit.residual_size(base.values(parameters)))


def described_parameters(model: EffortModel) -> Array:
    """Parameters of the description in the order of `EffortModel.names`, without Stribeck's effect."""
    described = model.robot.model
    parameters = np.zeros(len(model.names))
    parameters[:model.inertial_count] = inertial_parameters(described)
    parameters[model.slots("viscous")] = described.damping
    parameters[model.slots("coulomb")] = described.friction
    parameters[model.slots("rotor")] = described.armature
    if len(model.coupled):
        parameters[model.slots("motor_rotor")][model.coupled] = described.armature[model.coupled]
        parameters[model.slots("rotor")][model.coupled] = 0.0
    return parameters


def prior_of(model: EffortModel, motion: MeasuredMotion) -> Prior:
    """Prior knowledge: the description, with friction uncertain by as much as the efforts.

    Joints that do not move keep the friction of the description.
    """
    scale = np.where(motion.usable.any(axis=0), effort_scale(model.robot, motion.effort), 0.0)
    fastest = np.maximum(np.abs(motion.v).max(axis=0), motion.slowest + 1e-9)
    fiercest = np.maximum(np.abs(motion.a).max(axis=0), 1e-9)
    deviations = {"viscous": scale / fastest, "motor_viscous": scale / fastest, "rotor": scale / fiercest,
                  "motor_rotor": scale / fiercest}
    described, count = described_parameters(model), model.inertial_count
    return Prior(described[:count], described[count:],
                 np.concatenate([np.where(model.has[name], deviations.get(name, scale), 0.0)
                                 for name in model.joint_parameters]),
                 np.repeat([name == OFFSET for name in model.joint_parameters], model.robot.n))
