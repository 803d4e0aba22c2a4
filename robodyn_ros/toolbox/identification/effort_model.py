# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Efforts of the drives as a linear function of the identified parameters: inertias, friction, rotors and offsets.

    tau = Y(q, v, a) pi + D v + (F_c + (F_s - F_c) exp(-(v / v_s)^2)) sign(v) + J a + tau_0
          + C^T (D_m C v + F_m sign(C v) + J_m C a)

It is linear in pi, D, F_c, F_s - F_c, the reflected inertia J of the rotors and the offsets tau_0 of the measured
efforts; Stribeck's velocity v_s is given. The last term describes motors that turn with several joints, as in the
coupled wrists of industrial arms [GautierPoignet]: C v are their velocities, divided by the ratio to their own joint.

Efforts depend on combinations of the parameters only, the base parameters, which are found numerically [Gautier].
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.actuation.friction import Friction
from robodyn_ros.description.model import Array
from robodyn_ros.dynamics.regressor import PARAMETERS
from robodyn_ros.robot import Robot

DEPENDENT = 1e-7
"""A column depends on those before it if the remainder of a projection on them is a smaller share of its length."""

_NEGLIGIBLE = 1e-6

MOTOR_PARAMETERS = ("motor_viscous", "motor_coulomb", "motor_rotor")
"""Parameters of each motor that turns with several joints: D_m, F_m and J_m, reflected to its own joint."""

JOINT_PARAMETERS = ("viscous", "coulomb", "stribeck", "rotor")
"""Parameters of each joint: D, F_c, F_s - F_c, and the rotor's inertia reflected to the joint."""

OFFSET = "offset"
"""tau_0 of each joint."""

_RANDOM_MOTIONS = 40


@dataclass(frozen=True, eq=False)
class BaseParameters:
    """Independent columns of a regressor: Y pi = Y[:, independent] (pi[independent] + regrouping pi[dependent])."""

    independent: NDArray[np.intp]  # indices of b parameters, which name the base parameters, shape (b,)
    dependent: NDArray[np.intp]  # indices of the remaining parameters, shape (p - b,)
    regrouping: Array  # factors of the remaining parameters in the base parameters, shape (b, p - b)
    names: Sequence[str]  # names of all p parameters

    @classmethod
    def from_regressor(cls, regressor: Array, names: Sequence[str]) -> BaseParameters:
        """Find the base parameters of a regressor.

        Columns that depend on earlier columns are left out, which keeps parameters of links near the base.

        Args:
            regressor: Rows for random motions, more than parameters, shape (rows, p).
            names: Names of the parameters, length p.
        """
        lengths = np.linalg.norm(regressor, axis=0)
        reference, kept = float(lengths.max(initial=0.0)), []
        basis = np.zeros((len(regressor), 0))
        for column, length in enumerate(lengths):
            if length <= DEPENDENT * reference * _NEGLIGIBLE:
                continue
            rest = regressor[:, column] / length
            for _ in range(2):  # the second pass removes rounding errors
                rest = rest - basis @ (basis.T @ rest)
            outside = float(np.linalg.norm(rest))
            if outside > DEPENDENT:
                basis = np.column_stack([basis, rest / outside])
                kept.append(column)
        independent = np.array(kept, dtype=np.intp)
        dependent = np.setdiff1d(np.arange(regressor.shape[1]), independent)
        regrouping = np.linalg.lstsq(regressor[:, independent], regressor[:, dependent], rcond=None)[0]
        return cls(independent, dependent, np.where(np.abs(regrouping) < _NEGLIGIBLE, 0.0, regrouping), names)

    @cached_property
    def combinations(self) -> Array:
        """Linear map from all parameters to the base parameters, shape (b, p)."""
        combinations = np.zeros((len(self.independent), len(self.names)))
        combinations[np.arange(len(self.independent)), self.independent] = 1.0
        combinations[:, self.dependent] = self.regrouping
        return combinations

    def values(self, parameters: Array) -> Array:
        """Return the base parameters of a full set of parameters, shape (b,).

        Args:
            parameters: All parameters, shape (p,).
        """
        return self.combinations @ parameters

    def expressions(self) -> list[str]:
        """Each base parameter as a sum, such as ``link2.m + 0.5 link3.hx``, length b."""
        return [" ".join([self.names[index], *(
            f"{'-' if factor < 0.0 else '+'} {'' if abs(abs(factor) - 1.0) < _NEGLIGIBLE else f'{abs(factor):.3g} '}"
            f"{self.names[other]}" for factor, other in zip(row, self.dependent, strict=True) if factor)])
            for index, row in zip(self.independent, self.regrouping, strict=True)]


@dataclass(frozen=True, eq=False)
class EffortModel:
    """Names and columns of the parameters: ten for each link, then each of `joint_parameters` for all joints.

    Attributes:
        robot: The robot.
        stribeck_velocity: v_s; NaN for joints without Stribeck's effect, shape (n,) [rad/s or m/s].
        has_rotor: Which joints have a rotor to identify, shape (n,).
        coupling: C, motor velocities per joint velocity, divided by the ratio to the own joint, so that its diagonal is
            1, shape (n, n); None: every motor turns with its own joint only.
        has_offset: Whether the measured efforts have offsets.
    """

    robot: Robot
    stribeck_velocity: Array
    has_rotor: NDArray[np.bool_]
    coupling: Array | None = None
    has_offset: bool = False

    @cached_property
    def joint_parameters(self) -> tuple[str, ...]:
        """`JOINT_PARAMETERS`, plus `MOTOR_PARAMETERS` for coupled motors and `OFFSET` for offsets."""
        return (*JOINT_PARAMETERS, *(MOTOR_PARAMETERS if len(self.coupled) else ()),
                *([OFFSET] if self.has_offset else []))

    @cached_property
    def coupled(self) -> NDArray[np.intp]:
        """Indices of the motors that turn with several joints."""
        if self.coupling is None:
            return np.zeros(0, dtype=np.intp)
        return np.flatnonzero((self.coupling != np.eye(self.robot.n)).any(axis=1))

    @cached_property
    def has(self) -> dict[str, NDArray[np.bool_]]:
        """Which joints have each of `joint_parameters`, shape (n,) each."""
        n = self.robot.n
        there, is_coupled = np.ones(n, dtype=bool), np.isin(np.arange(n), self.coupled)
        return {"viscous": there, "coulomb": there, "stribeck": np.isfinite(self.stribeck_velocity),
                "rotor": self.has_rotor & ~is_coupled, "motor_viscous": is_coupled, "motor_coulomb": is_coupled,
                "motor_rotor": is_coupled & self.has_rotor, OFFSET: there}

    @property
    def inertial_count(self) -> int:
        """Number of inertial parameters."""
        return len(PARAMETERS) * len(self.robot.model.joints)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of all parameters, length p: ``<link>.<parameter>`` and ``<joint>.<parameter>``."""
        inertial = [f"{joint.link}.{parameter}" for joint in self.robot.model.joints for parameter in PARAMETERS]
        return (*inertial, *(f"{joint}.{parameter}" for parameter in self.joint_parameters
                             for joint in self.robot.joint_names))

    def slots(self, parameter: str) -> slice:
        """Indices of one parameter of all joints.

        Args:
            parameter: One of `joint_parameters`.
        """
        first = self.inertial_count + self.joint_parameters.index(parameter) * self.robot.n
        return slice(first, first + self.robot.n)

    def columns(self, q: Array, v: Array, a: Array, sliding: Array | None = None) -> Array:
        """The regressor of K samples, shape (K, n, p).

        Args:
            q: Positions, shape (K, n) [rad or m].
            v: Velocities, shape (K, n) [rad/s or m/s].
            a: Accelerations, shape (K, n) [rad/s^2 or m/s^2].
            sliding: Velocities that determine dry friction, shape (K, n); None: v.
        """
        regressor = np.zeros((len(q), self.robot.n, len(self.names)))
        regressor[:, :, :self.inertial_count] = self.robot.dynamics().batch.regressor(q, v, a)
        regressor[:, :, self.inertial_count:] = self.joint_columns(v, a, sliding)
        return regressor

    def joint_columns(self, v: Array, a: Array, sliding: Array | None = None) -> Array:
        """The columns of `joint_parameters`, shape (K, n, kinds n); arguments as for `columns`."""
        sliding = v if sliding is None else sliding
        n, sign = self.robot.n, np.sign(sliding)
        columns = np.zeros((len(v), n, len(self.joint_parameters) * n))
        values = {"viscous": v, "coulomb": sign, "stribeck": sign * self.rise(sliding), "rotor": a,
                  OFFSET: np.ones_like(v)}
        motor_v, motor_sliding, motor_a = ((v, sliding, a) if self.coupling is None else
                                           (each @ self.coupling.T for each in (v, sliding, a)))
        values |= dict(zip(MOTOR_PARAMETERS, (motor_v, np.sign(motor_sliding), motor_a), strict=True))
        for kind, parameter in enumerate(self.joint_parameters):
            for j in np.flatnonzero(self.has[parameter]):
                row = self.coupling[j] if self.coupling is not None and parameter in MOTOR_PARAMETERS else np.eye(n)[j]
                columns[:, :, kind * n + j] = values[parameter][:, j, None] * row
        return columns

    def rise(self, v: Array) -> Array:
        """exp(-(v / v_s)^2); 0 without Stribeck's effect; of the shape of v."""
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
        """Base parameters for general motions."""
        q, v, a = random_motions(self.robot, 3 * len(self.names) // self.robot.n)
        # Include velocities as small as Stribeck's, to distinguish the effect from Coulomb friction.
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
