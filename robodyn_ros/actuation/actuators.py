# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Motors with gears, seen from the joints: [Yamamoto] (6.11) to (6.17)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from numpy.typing import ArrayLike, NDArray

from robodyn_ros.actuation.dc_motor import DCMotor
from robodyn_ros.actuation.gear_train import GearTrain
from robodyn_ros.base.checks import as_array
from robodyn_ros.base.errors import InputError
from robodyn_ros.description.model import Array


@dataclass(frozen=True, eq=False)
class Actuators:
    """DC motors with gear trains, one for each joint, without inductance: from voltages to joint efforts.

        tau = K v_M - Gamma^T K_M R_M^-1 K_e Gamma dq/dt - Gamma^T J_M Gamma d^2q/dt^2        (6.15)

    The matrices are diagonal, stored as their diagonals at the outputs of the gears; ``gear`` converts between outputs
    and joints, which differ only if motors drive several joints together. As in the book, gyroscopic torques of the
    rotors on moving links are neglected; the mass of a motor belongs to its link.

    Raises:
        InputError: The numbers of motors and of gear trains differ, and neither is 1.
    """

    motor: DCMotor
    gear: GearTrain

    def __post_init__(self) -> None:
        """Give motors and gears the same number."""
        n = max(self.motor.n, self.gear.n)
        if self.motor.n not in (1, n) or self.gear.n not in (1, n):
            raise InputError(f"Actuators: expected as many motors as gear trains, or one of either for all, received "
                             f"{self.motor.n} motors and {self.gear.n} gear trains")
        if self.motor.n != n:
            spread = {name: figure.repeat(n) for name, figure in vars(self.motor).items()}
            object.__setattr__(self, "motor", DCMotor(**spread))
        if self.gear.n != n:
            object.__setattr__(self, "gear", replace(self.gear, ratio=self.gear.ratio.repeat(n),
                                                     zero=self.gear.zero.repeat(n)))

    @property
    def n(self) -> int:
        """Number of actuators."""
        return self.gear.n

    @cached_property
    def reflected_inertia(self) -> Array:
        """Gamma^T J_M Gamma: inertia of the rotors at the outputs, (6.17), shape (n,) [kg m^2 or kg]."""
        return self.gear.reflected(self.motor.rotor_inertia)

    @cached_property
    def damping(self) -> Array:
        """Gamma^T K_M R_M^-1 K_e Gamma: damping by back-EMF at the outputs, (6.17), shape (n,) [N m s/rad, N s/m]."""
        motor = self.motor
        return self.gear.reflected(motor.torque_constant / motor.resistance * motor.back_emf_constant)

    @cached_property
    def voltage_gain(self) -> Array:
        """K = Gamma^T K_M R_M^-1: effort at the outputs per voltage at rest, (6.17), shape (n,) [N m/V or N/V]."""
        return self.gear.ratio * (self.motor.torque_constant / self.motor.resistance)

    def effort_gain(self, gain: ArrayLike) -> Array:
        """Convert a feedback gain in volts, of (6.18) or (6.28), to joint efforts: K times the gain.

        Args:
            gain: Diagonal of K_p, K_v or K_i, shape (n,) [V per unit of the joint's error].

        Returns:
            Shape (n,) [N m or N per unit of the joint's error].

        Raises:
            InputError: The array has another shape, or motors drive several joints together.
        """
        self.check_uncoupled("a gain of each joint")
        return self.voltage_gain * as_array(gain, (self.n,), "Actuators: gain")

    def generated_torque(self, voltage: ArrayLike, v: ArrayLike) -> NDArray[Any]:
        """tau_0 = K_M R_M^-1 (v_M - K_e Gamma dq/dt), (6.13), shape (n,) [N m].

        Args:
            voltage: v_M, shape (n,) [V].
            v: Joint velocities, shape (n,) [rad/s or m/s].

        Raises:
            InputError: An array has another shape.
        """
        return self.motor.torque(self.motor.steady_current(voltage, self.gear.motor_motion(v)))

    def joint_effort(self, voltage: ArrayLike, v: ArrayLike, a: ArrayLike) -> NDArray[Any]:
        """tau = Gamma^T (tau_0 - J_M Gamma d^2q/dt^2), the joint efforts: (6.14), (6.15).

        Args:
            voltage: v_M, shape (n,) [V].
            v: Joint velocities, shape (n,) [rad/s or m/s].
            a: Joint accelerations, shape (n,) [rad/s^2 or m/s^2].

        Returns:
            Shape (n,) [N m or N].

        Raises:
            InputError: An array has another shape.
        """
        inertial = self.motor.rotor_inertia * self.gear.motor_motion(a)
        return self.gear.joint_effort(self.generated_torque(voltage, v) - inertial)

    def voltage(self, effort: ArrayLike, v: ArrayLike, a: ArrayLike) -> NDArray[Any]:
        """Return the voltages v_M of joint efforts in a motion: (6.12) with (6.14).

        Args:
            effort: tau, shape (n,) [N m or N].
            v: Joint velocities, shape (n,) [rad/s or m/s].
            a: Joint accelerations, shape (n,) [rad/s^2 or m/s^2].

        Returns:
            Shape (n,) [V].

        Raises:
            InputError: An array has another shape.
        """
        generated = self.motor.rotor_inertia * self.gear.motor_motion(a) + self.gear.motor_torque(effort)
        return self.motor.voltage(generated / self.motor.torque_constant, self.gear.motor_motion(v))

    def check_uncoupled(self, what: str) -> None:
        """Check that each motor drives one joint.

        Args:
            what: What requires it, for the message.

        Raises:
            InputError: Motors drive several joints together.
        """
        if self.gear.coupling is not None:
            raise InputError(f"Actuators: expected motors that drive one joint each, for {what}, received the coupling "
                             f"{self.gear.coupling.tolist()}")
