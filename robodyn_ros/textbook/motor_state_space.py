# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Linear state-space model of a motor with a load on its shaft, and its exact solution over a time step."""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import expm

from robodyn_ros.actuation.dc_motor import DCMotor
from robodyn_ros.base.checks import NOT_NEGATIVE, as_joint_arrays
from robodyn_ros.base.errors import InputError


class MotorStateSpace(NamedTuple):
    """Linear systems x' = A x + B u of single motors, from [Yamamoto] (6.1) to (6.4).

    The state is x = (q_M, w, i_M), or x = (q_M, w) for motors without inductance. The input is u = (v_M, tau). tau is
    the torque that the load takes from the shaft in addition to its inertia and viscous friction [N m].
    """

    A: NDArray[np.float64]  # system matrix of each motor, shape (n, s, s) with s states
    B: NDArray[np.float64]  # input matrix of each motor, shape (n, s, 2)

    @classmethod
    def from_motor(cls, motor: DCMotor, load_inertia: ArrayLike = 0.0, load_damping: ArrayLike = 0.0) -> Self:
        """Build the systems from motor parameters: [Yamamoto] (6.1) to (6.4).

        Args:
            motor: The motors, all with inductance or all without.
            load_inertia: Inertia of a rigid load at the motor's shaft, shape (n,) or a number [kg m^2]: the inertia at
                the joint divided by the square of the gear ratio.
            load_damping: Viscous friction of the load at the motor's shaft, shape (n,) or a number [N m s/rad].

        Raises:
            InputError: Some motors have an inductance and some do not; rotor and load of a motor both have no inertia;
                or a value of the load is negative, not finite or of another shape.
        """
        load = {"load_inertia": load_inertia, "load_damping": load_damping}
        values = as_joint_arrays("MotorStateSpace", {"inductance": motor.inductance} | load,
                                 dict.fromkeys(load, NOT_NEGATIVE))
        inertia = motor.rotor_inertia + values["load_inertia"]
        if not inertia.all():
            raise InputError(f"MotorStateSpace.inertia: expected inertia of the rotor or the load [kg m^2], received "
                             f"{inertia.tolist()}")
        if len(inertia) != motor.n:
            raise InputError(f"MotorStateSpace: expected {motor.n} values of the load, received {len(inertia)}")
        damping, zero, one = values["load_damping"], np.zeros(motor.n), np.ones(motor.n)
        if motor.inductance.any():
            motor.require_inductance()
            a = [[zero, one, zero],
                 [zero, -damping / inertia, motor.torque_constant / inertia],
                 [zero, -motor.back_emf_constant / motor.inductance, -motor.resistance / motor.inductance]]
            b = [[zero, zero], [zero, -one / inertia], [one / motor.inductance, zero]]
        else:
            per_voltage = motor.torque_constant / motor.resistance
            a = [[zero, one], [zero, -(damping + per_voltage * motor.back_emf_constant) / inertia]]
            b = [[zero, zero], [per_voltage / inertia, -one / inertia]]
        return cls(np.moveaxis(np.array(a), -1, 0), np.moveaxis(np.array(b), -1, 0))

    def discrete(self, step: float) -> Self:
        """Compute A and B of x(t + step) = A x(t) + B u, which is exact if u is constant over the step.

        States and constant inputs form one linear system, whose matrix exponential gives both matrices.

        Args:
            step: Duration [s].

        Raises:
            InputError: The step is not positive or not finite.
        """
        if not 0.0 < step < np.inf:
            raise InputError(f"MotorStateSpace.discrete: expected a positive step [s], received {step}")
        n, states, inputs = self.B.shape
        system = np.zeros((n, states + inputs, states + inputs))
        system[:, :states, :states], system[:, :states, states:] = self.A, self.B
        solution = expm(step * system)
        return type(self)(solution[:, :states, :states], solution[:, :states, states:])
