# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Efforts of the drives as a linear function of all that is identified: inertias, friction, and rotors.

    tau = Y(q, v, a) pi + D v + (F_c + (F_s - F_c) exp(-(v / v_s)^2)) sign(v) + Gamma^T J_M Gamma a

It is linear in pi, D, F_c, F_s - F_c and the reflected inertia of the rotors; Stribeck's velocity v_s is given.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.actuation.friction import Friction
from robodyn_ros.description.model import Array
from robodyn_ros.dynamics.regressor import PARAMETERS
from robodyn_ros.identification.base_parameters import BaseParameters
from robodyn_ros.robot import Robot

JOINT_PARAMETERS = ("viscous", "coulomb", "stribeck", "rotor")
"""Of each joint: D, F_c, F_s - F_c, and the rotor's inertia reflected to the joint."""

_RANDOM_MOTIONS = 40


@dataclass(frozen=True, eq=False)
class EffortModel:
    """Names and columns of the parameters: ten of each link, then each of `JOINT_PARAMETERS` of all joints.

    Attributes:
        robot: The robot.
        stribeck_velocity: v_s; NaN where the friction of a joint has no such effect, shape (n,) [rad/s or m/s].
        has_rotor: Which joints have a motor whose inertia counts, shape (n,).
    """

    robot: Robot
    stribeck_velocity: Array
    has_rotor: NDArray[np.bool_]

    @property
    def inertial_count(self) -> int:
        """Number of inertial parameters."""
        return len(PARAMETERS) * len(self.robot.model.joints)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of all parameters, length p: ``<link>.<parameter>`` and ``<joint>.<parameter>``."""
        inertial = [f"{joint.link}.{parameter}" for joint in self.robot.model.joints for parameter in PARAMETERS]
        return (*inertial, *(f"{joint}.{parameter}" for parameter in JOINT_PARAMETERS
                             for joint in self.robot.joint_names))

    def slots(self, parameter: str) -> slice:
        """Places of a parameter of all joints.

        Args:
            parameter: One of `JOINT_PARAMETERS`.
        """
        first = self.inertial_count + JOINT_PARAMETERS.index(parameter) * self.robot.n
        return slice(first, first + self.robot.n)

    def columns(self, q: Array, v: Array, a: Array) -> Array:
        """The regressor of K samples, shape (K, n, p), for positions, velocities and accelerations of shape (K, n)."""
        n = self.robot.n
        regressor = np.zeros((len(q), n, len(self.names)))
        regressor[:, :, :self.inertial_count] = self.robot.dynamics().batch.regressor(q, v, a)
        joint, sign = np.arange(n), np.sign(v)
        for parameter, values in (("viscous", v), ("coulomb", sign), ("stribeck", sign * self.rise(v)),
                                  ("rotor", np.where(self.has_rotor, a, 0.0))):
            regressor[:, joint, self.slots(parameter).start + joint] = values
        return regressor

    def rise(self, v: Array) -> Array:
        """exp(-(v / v_s)^2); 0 without Stribeck's effect, shape of v."""
        n, has = self.robot.n, np.isfinite(self.stribeck_velocity)
        unit = Friction(np.zeros(n), np.zeros(n), np.ones(n), np.where(has, self.stribeck_velocity, 1.0))
        return np.where(has, unit.level(v), 0.0)

    def friction(self, parameters: Array) -> Friction:
        """The friction of the joints among the parameters, shape (p,)."""
        coulomb = parameters[self.slots("coulomb")]
        velocity = np.where(np.isfinite(self.stribeck_velocity), self.stribeck_velocity, 0.01)
        static = coulomb + parameters[self.slots("stribeck")]
        return Friction(parameters[self.slots("viscous")], coulomb, static, velocity)

    @cached_property
    def base(self) -> BaseParameters:
        """The combinations that efforts depend on, for motions of any kind."""
        q, v, a = random_motions(self.robot, 3 * len(self.names) // self.robot.n)
        # Velocities as small as those of Stribeck's effect, too, so that it is not taken for Coulomb friction.
        v[::2] *= np.where(np.isfinite(self.stribeck_velocity), self.stribeck_velocity, 1.0)
        return BaseParameters.from_regressor(self.columns(q, v, a).reshape(-1, len(self.names)), self.names)


def random_motions(robot: Robot, count: int) -> tuple[Array, Array, Array]:
    """Random positions within the limits, velocities and accelerations up to 1, each of shape (count, n)."""
    unit = np.random.default_rng(0).uniform(-1.0, 1.0, (3, max(_RANDOM_MOTIONS, count), robot.n))
    lower, upper = robot.model.position_lower, robot.model.position_upper
    bounded = np.isfinite(lower) & np.isfinite(upper)
    middle = 0.5 * (np.where(bounded, lower, 0.0) + np.where(bounded, upper, 0.0))
    reach = np.where(bounded, 0.5 * (np.where(bounded, upper, 0.0) - np.where(bounded, lower, 0.0)), np.pi)
    return middle + reach * unit[0], unit[1], unit[2]
