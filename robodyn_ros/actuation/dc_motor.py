# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""DC motors, [Yamamoto] 6.1, one for each joint."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robodyn_ros.base.checks import (
    NOT_NEGATIVE,
    POSITIVE,
    as_array,
    as_joint_arrays,
    as_number,
    constants,
    for_all_joints,
)
from robodyn_ros.base.errors import InputError
from robodyn_ros.compile import exp, expm1
from robodyn_ros.description.model import Array


class CurrentShares(NamedTuple):
    """Decay e^(-t / T), T = L_M / R_M, over a step h; all 0 without inductance.

    Attributes:
        end: e^(-h / T), shape (n,).
        mean: Mean of the decay, (1 - e^(-h / T)) T / h, shape (n,).
        mean_square: Mean of its square, (1 - e^(-2 h / T)) T / 2 h, shape (n,).
    """

    end: Array
    mean: Array
    mean_square: Array


_RANGES = {"resistance": POSITIVE, "torque_constant": POSITIVE, "rotor_inertia": NOT_NEGATIVE,
           "inductance": NOT_NEGATIVE, "back_emf_constant": NOT_NEGATIVE}


@dataclass(frozen=True, eq=False)
class DCMotor:
    """DC motors with voltage v_M, current i_M and speed w = dq_M/dt, [Yamamoto] (6.1) to (6.4).

        v_M = R_M i_M + K_e w + L_M di_M/dt,    tau_0 = K_M i_M = J_M dw/dt + tau_M

    Each value is one number for all motors, or has shape (n,); in the instance all have shape (n,). So do voltages,
    currents, speeds and torques, which may be traced.

    Without inductance, the current follows voltage and speed at once, (6.2); this suits motions much slower than the
    electrical time constant L_M / R_M. The model has no friction in the motor (add it to the joint, times the square of
    the gear ratio), no iron losses, and no dependence on the temperature.

    Attributes:
        resistance: Resistance R_M of the armature [ohm].
        torque_constant: K_M [N m/A]; the "kgm/A" of the book lacks a 1/s^2.
        rotor_inertia: J_M, of rotor and pinion about the motor's axis [kg m^2].
        inductance: Inductance L_M of the armature [H]; 0: neglected.
        back_emf_constant: K_e [V s/rad]; None: K_M. Both are equal in these units, since the shaft receives the power
            K_e w i_M of the circuit.

    Raises:
        InputError: A value is not finite, negative (or zero, for resistance and torque constant), or the lengths
            differ.
    """

    resistance: Array
    torque_constant: Array
    rotor_inertia: Array
    inductance: Array = for_all_joints(0.0)
    back_emf_constant: Array = for_all_joints(None)

    def __post_init__(self) -> None:
        """Check the values and give all of them one shape."""
        values = dict(vars(self))
        if self.back_emf_constant is None:
            values["back_emf_constant"] = self.torque_constant
        for name, array in as_joint_arrays("DCMotor", values, _RANGES).items():
            object.__setattr__(self, name, array)

    @property
    def n(self) -> int:
        """Number of motors."""
        return len(self.resistance)

    @property
    def electrical_time_constant(self) -> Array:
        """L_M / R_M: time constant of the current at constant speed, shape (n,) [s]."""
        return self.inductance / self.resistance

    def voltage(self, current: ArrayLike, speed: ArrayLike, current_rate: ArrayLike | None = None) -> NDArray[Any]:
        """v_M = R_M i_M + K_e w + L_M di_M/dt, (6.1); without the last, (6.2).

        Args:
            current: i_M, shape (n,) [A].
            speed: w, shape (n,) [rad/s].
            current_rate: di_M/dt, shape (n,) [A/s]; None: constant current, or no inductance.

        Returns:
            Shape (n,) [V].

        Raises:
            InputError: An array has another shape.
        """
        voltage = self.resistance * self._array(current, "current") + self.back_emf_constant * self._array(
            speed, "speed")
        return voltage if current_rate is None else voltage + self.inductance * self._array(
            current_rate, "current_rate")

    def steady_current(self, voltage: ArrayLike, speed: ArrayLike) -> NDArray[Any]:
        """i_M = (v_M - K_e w) / R_M, (6.2): the settled current, reached at once without inductance.

        Args:
            voltage: v_M, shape (n,) [V].
            speed: w, shape (n,) [rad/s].

        Returns:
            Shape (n,) [A].

        Raises:
            InputError: An array has another shape.
        """
        back_emf = self.back_emf_constant * self._array(speed, "speed")
        return (self._array(voltage, "voltage") - back_emf) / self.resistance

    def current_rate(self, current: ArrayLike, voltage: ArrayLike, speed: ArrayLike) -> NDArray[Any]:
        """di_M/dt = (v_M - R_M i_M - K_e w) / L_M, (6.1), shape (n,) [A/s].

        Args:
            current: i_M, shape (n,) [A].
            voltage: v_M, shape (n,) [V].
            speed: w, shape (n,) [rad/s].

        Raises:
            InputError: An array has a wrong shape; or a motor has no inductance, so its current is not a state.
        """
        self.require_inductance()
        drop = self.voltage(current, speed)
        return (self._array(voltage, "voltage") - drop) / self.inductance

    def torque(self, current: ArrayLike) -> NDArray[Any]:
        """tau_0 = K_M i_M, (6.3), (6.11), shape (n,) [N m].

        Args:
            current: i_M, shape (n,) [A].

        Raises:
            InputError: The array has another shape.
        """
        return self.torque_constant * self._array(current, "current")

    def output_torque(self, current: ArrayLike, acceleration: ArrayLike) -> NDArray[Any]:
        """tau_M = tau_0 - J_M dw/dt, (6.3), (6.4): torque of the shaft on the gear, shape (n,) [N m].

        Args:
            current: i_M, shape (n,) [A].
            acceleration: dw/dt, shape (n,) [rad/s^2].

        Raises:
            InputError: An array has another shape.
        """
        return self.torque(current) - self.rotor_inertia * self._array(acceleration, "acceleration")

    def current_step(
        self, current: ArrayLike, voltage: ArrayLike, speed: ArrayLike, step: float
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """The exact solution of (6.1) after a step in which voltage and speed are constant.

        With i_s = (v_M - K_e w) / R_M and T = L_M / R_M, the current is i_s + (i_M - i_s) e^(-t / T): stable for any
        step and T, and equal to (6.2) for T = 0.

        Args:
            current: i_M at the beginning, shape (n,) [A].
            voltage: v_M, shape (n,) [V].
            speed: w, shape (n,) [rad/s].
            step: Duration [s].

        Returns:
            Current at the end, and mean current, which determines the angular impulse of the step, shape (n,) each [A].

        Raises:
            InputError: An array has another shape, or the step is not positive.
        """
        settled = self.steady_current(voltage, speed)
        excess = self._array(current, "current") - settled
        shares = self.current_shares(step)
        return settled + shares.end * excess, settled + shares.mean * excess

    def current_shares(self, step: float) -> CurrentShares:
        """Return the remaining share of the distance from the settled current: at the end of a step, and on average.

        Args:
            step: Duration [s].

        Raises:
            InputError: The step is not positive.
        """
        as_number(step, POSITIVE, "DCMotor: step")
        time_constants = self.electrical_time_constant / step
        states = constants(time_constants, traced=1.0) > 0.0
        with np.errstate(over="ignore"):  # overflow to infinity is correct here
            rates = np.where(states, 1.0 / np.where(states, time_constants, 1.0), np.inf)
            return CurrentShares(exp(-rates), time_constants * -expm1(-rates),
                                 0.5 * time_constants * -expm1(-2.0 * rates))

    def require_inductance(self) -> None:
        """Check that every motor has an inductance, so that its current is a state.

        Raises:
            InputError: A motor has no inductance.
        """
        if not self.inductance.all():
            raise InputError(f"DCMotor.inductance: expected positive numbers [H], so that the current is a state, "
                             f"received {self.inductance.tolist()}")

    def _array(self, value: ArrayLike, name: str) -> NDArray[Any]:
        return as_array(value, (self.n,), f"DCMotor: {name}")
