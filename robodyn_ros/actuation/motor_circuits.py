# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Circuits of the motors: currents, efforts, heat and work in a step, within the limits of the amplifiers.

If the velocity v' of a joint is held over a step h, the current is the exact solution of [Yamamoto] (6.1), and its mean

    i = (1 - phi) (v_M - K_e gamma v') / R_M + phi i_0,    phi = (1 - e^(-h R_M / L_M)) L_M / (h R_M)

is linear in v': a constant effort and a viscous damping gamma^2 K_M K_e / R_M (1 - phi). An integrator can take the
damping implicitly, so that no electrical time constant is too short for the step. For L_M = 0 this is (6.17).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.actuation.actuators import Actuators
from robodyn_ros.actuation.drive_limits import DriveLimits
from robodyn_ros.actuation.joint_values import is_limit, within
from robodyn_ros.base.checks import constants
from robodyn_ros.base.errors import InputError
from robodyn_ros.compile import less, less_equal, sign, where
from robodyn_ros.description.model import Array


class EffortLine(NamedTuple):
    """Mean effort of the motors at their gears' outputs over a step, before the current limit: effort - damping p'.

    p' is the velocity of the output.

    Attributes:
        effort: Effort at velocity 0, shape (n,) [N m or N].
        damping: Decrease per velocity, shape (n,) [N m s/rad or N s/m].
    """

    effort: NDArray[Any]
    damping: NDArray[Any]


class Electrical(NamedTuple):
    """Currents, heat and work of the windings in a step.

    Attributes:
        current: Current at the end, shape (n,) [A].
        mean_current: Mean current, shape (n,) [A].
        heat: Heat in the resistance, shape (n,) [J].
        work: Work of the supply, shape (n,) [J].
    """

    current: NDArray[Any]
    mean_current: NDArray[Any]
    heat: NDArray[Any]
    work: NDArray[Any]


@dataclass(frozen=True, eq=False)
class MotorCircuits:
    """Circuits of n motors; values of joints without a motor are 0.

    Attributes:
        motors: Motors and gears.
        is_motor: Which joints have a motor, shape (n,).
        limits: Limits of voltage, current and torque.
        rated: The amplifiers' model of the motors, which converts efforts to voltages; None: ``motors``.
    """

    motors: Actuators
    is_motor: NDArray[np.bool_]
    limits: DriveLimits
    rated: Actuators | None

    @cached_property
    def has_inductance(self) -> NDArray[np.bool_]:
        """Whether a joint has a motor with inductance, so that its current is a state, shape (n,)."""
        return self.is_motor & (self.motors.motor.inductance > 0.0)

    def check(self, step: float, stable_decay: float, joint_names: Sequence[str], where_: str) -> None:
        """Check that an explicit method is stable with the currents.

        Args:
            step: h [s].
            stable_decay: Greatest step of the method as a multiple of L/R.
            joint_names: Names of the joints.
            where_: The method, for messages.

        Raises:
            InputError: It is not.
        """
        times = constants(self.motors.motor.electrical_time_constant, traced=np.inf)
        for name, states, time in zip(joint_names, self.has_inductance, times, strict=True):
            if states and step > stable_decay * time:
                raise InputError(f"{where_}: expected steps up to {stable_decay} L/R = {stable_decay * time:.3g} s, "
                                 f"beyond which the current of the motor at '{name}' is unstable, received {step} s; "
                                 "use an implicit integrator, smaller steps, or neglect the inductance")

    @cached_property
    def effort_per_current(self) -> Array:
        """Gamma^T K_M: effort at the gears' outputs per current, shape (n,) [N m/A or N/A]."""
        return self.motors.gear.ratio * self.motors.motor.torque_constant

    @cached_property
    def greatest_current(self) -> Array:
        """Greatest current within the limits of current and torque, infinite without limits, shape (n,) [A]."""
        return self.limits.greatest_current(self.motors.motor.torque_constant, self.is_motor)

    @cached_property
    def effort_limit(self) -> Array:
        """Greatest effort within the limits of current and torque, infinite without limits, shape (n,) [N m or N]."""
        limited = is_limit(self.greatest_current)
        greatest = np.where(limited, self.greatest_current, 0.0) * np.abs(self.effort_per_current)
        return np.where(limited, greatest, np.inf)

    def limited_effort(self, effort: NDArray[Any]) -> NDArray[Any]:
        """Limit efforts by the limits of current and torque, shape (n,) [N m or N]."""
        return within(effort, self.effort_limit)

    def back_emf(self, v: NDArray[Any]) -> NDArray[Any]:
        """Back-EMF K_e Gamma B dq/dt, (6.1), (6.7), shape (n,) [V]."""
        return self.motors.motor.back_emf_constant * self.motors.gear.motor_motion(v)

    def wanted_voltage(self, effort: NDArray[Any], v: NDArray[Any]) -> NDArray[Any]:
        """Return the voltages of joint efforts: v_M = R_M Gamma^-T tau / K_M + K_e Gamma dq/dt, (6.12), (6.13).

        Inertia of the rotors and inductance are neglected.

        Args:
            effort: Joint efforts, shape (n,) [N m or N].
            v: Joint velocities, shape (n,) [rad/s or m/s].

        Returns:
            Voltages before the limits, shape (n,) [V].
        """
        gear, motor = self.motors.gear, (self.rated or self.motors).motor
        return motor.voltage(gear.output_effort(effort) / (gear.ratio * motor.torque_constant), gear.motor_motion(v))

    def commanded_voltage(self, effort: NDArray[Any], v: NDArray[Any]) -> NDArray[Any]:
        """Return `wanted_voltage` within the limits of the amplifiers, shape (n,) [V]."""
        return self.limits.on_voltage(self.wanted_voltage(effort, v))

    def voltage_per_effort(self, effort: NDArray[Any], v: NDArray[Any]) -> NDArray[Any]:
        """Return the derivative of `commanded_voltage` by efforts at the gears' outputs, shape (n,) [V/(N m) or V/N].

        Args:
            effort: Joint efforts, shape (n,) [N m or N].
            v: Joint velocities, shape (n,) [rad/s or m/s].
        """
        motor, limit = (self.rated or self.motors).motor, self.limits.voltage_limit
        share = motor.resistance / (self.motors.gear.ratio * motor.torque_constant)
        bound = np.where(is_limit(limit), limit, 0.0)
        inside = where(less(abs(self.wanted_voltage(effort, v)), bound), share, 0.0)
        return np.where(self.is_motor, np.where(is_limit(limit), inside, share), 0.0)

    def effort_per_voltage(self, step: float) -> NDArray[Any]:
        """Return the derivative of `effort_line` by the voltages, shape (n,) [N m/V or N/V]."""
        motor = self.motors.motor
        return self.effort_per_current * (1.0 - motor.current_shares(step).mean) / motor.resistance

    def effort_line(self, voltage: NDArray[Any], current: NDArray[Any], step: float) -> EffortLine:
        """Return the mean effort of the motors over a step, as a linear function of the constant velocity.

        Args:
            voltage: v_M, held, shape (n,) [V].
            current: i_0 at the beginning, shape (n,) [A].
            step: h [s].

        Returns:
            The line before the current limit; 0 for ideal sources.
        """
        motor = self.motors.motor
        _, mean = motor.current_step(current, voltage, np.zeros(self.motors.n), step)
        damping = (1.0 - motor.current_shares(step).mean) * self.motors.damping
        return EffortLine(self.output_effort_from_current(mean), np.where(self.is_motor, damping, 0.0))

    def electrical_step(self, voltage: NDArray[Any], current: NDArray[Any], v: NDArray[Any], saturation: NDArray[Any],
                        step: float) -> Electrical:
        """Return the exact solution of (6.1) for a step with constant voltage and velocity: currents, heat and work.

        If the mean current would exceed its limit, the amplifier regulates the current to the limit.

        Args:
            voltage: v_M, shape (n,) [V].
            current: At the beginning, shape (n,) [A].
            v: Joint velocities, held, shape (n,) [rad/s or m/s].
            saturation: 1 or -1 where the effort is at its limit of that sign, 0 elsewhere, shape (n,).
            step: h [s].

        Returns:
            Currents, heat and work; 0 for ideal sources.
        """
        motor, speed = self.motors.motor, self.motors.gear.motor_motion(v)
        back_emf, settled = self.back_emf(v), motor.steady_current(voltage, speed)
        end, mean = motor.current_step(current, voltage, speed, step)
        share = motor.current_shares(step).mean_square
        square = settled * (2.0 * mean - settled) + share * (current - settled) * (current - settled)
        end = within(end, self.greatest_current)
        limited = is_limit(self.greatest_current)
        at_limit = saturation * sign(self.motors.gear.ratio) * np.where(limited, self.greatest_current, 0.0)
        regulated = np.where(limited, saturation * saturation, 0.0)
        mean, end = where(regulated, at_limit, mean), where(regulated, at_limit, end)
        square = where(regulated, at_limit * at_limit, square)
        heat = step * motor.resistance * square
        stored = 0.5 * motor.inductance * (end * end - current * current)
        return Electrical(*(np.where(self.is_motor, value, 0.0)
                            for value in (end, mean, heat, heat + stored + step * back_emf * mean)))

    def wanted_current(self, effort: NDArray[Any]) -> NDArray[Any]:
        """Return the limited currents of joint efforts, shape (n,) [A].

        Args:
            effort: Joint efforts, shape (n,) [N m or N].
        """
        gear, motor = self.motors.gear, (self.rated or self.motors).motor
        wanted = gear.output_effort(effort) / (gear.ratio * motor.torque_constant)
        return within(wanted, self.greatest_current)

    def current_slope(self, wanted: NDArray[Any], slope: NDArray[Any]) -> NDArray[Any]:
        """Return the derivatives of `wanted_current` by the motors' speeds, shape (n,) [A s/rad].

        Args:
            wanted: Result of `wanted_current`, shape (n,) [A].
            slope: Derivatives of the efforts by the velocities of the gears' outputs, shape (n,) [N m s/rad or N s/m].
        """
        gear, motor = self.motors.gear, (self.rated or self.motors).motor
        limit = self.greatest_current
        own = slope / (gear.ratio * gear.ratio * motor.torque_constant)
        inside = where(less(abs(wanted), np.where(is_limit(limit), limit, 0.0)), own, 0.0)
        return np.where(is_limit(limit), inside, own)

    def output_effort_from_current(self, current: NDArray[Any]) -> NDArray[Any]:
        """Effort gamma K_M i_M at the gears' outputs, (6.3), (6.10); 0 for ideal sources, shape (n,) [N m or N]."""
        return np.where(self.is_motor, self.effort_per_current * current, 0.0)

    def effort_from_current(self, current: NDArray[Any]) -> NDArray[Any]:
        """Effort B^T Gamma K_M i_M on the joints; 0 for ideal sources, shape (n,) [N m or N]."""
        return self.motors.gear.effort_of_outputs(self.output_effort_from_current(current))

    def heating(self, current: NDArray[Any]) -> NDArray[Any]:
        """Heating power R_M i_M^2; 0 for ideal sources, shape (n,) [W]."""
        return np.where(self.is_motor, self.motors.motor.resistance * current * current, 0.0)

    def power(self, current: NDArray[Any], current_rate: NDArray[Any], v: NDArray[Any]) -> NDArray[Any]:
        """Power v_M i_M = (R_M i_M + K_e gamma v + L_M di_M/dt) i_M, (6.1); 0 for ideal sources, shape (n,) [W]."""
        voltage = self.motors.motor.voltage(current, self.motors.gear.motor_motion(v), current_rate)
        return np.where(self.is_motor, voltage * current, 0.0)

    def magnetic_energy(self, current: NDArray[Any]) -> NDArray[Any]:
        """Energy L_M i_M^2 / 2 of the inductances, shape (n,) [J]."""
        return np.where(self.has_inductance, 0.5 * self.motors.motor.inductance * current * current, 0.0)

    def instant_current(self, voltage: NDArray[Any], current: NDArray[Any], v: NDArray[Any]) -> NDArray[Any]:
        """Return i_M at an instant, within the limits: the state, or without inductance (6.2), shape (n,) [A].

        Args:
            voltage: v_M, shape (n,) [V].
            current: i_M, used where it is a state, shape (n,) [A].
            v: Joint velocities, shape (n,) [rad/s or m/s].
        """
        settled = self.motors.motor.steady_current(voltage, self.motors.gear.motor_motion(v))
        flowing = within(np.where(self.has_inductance, current, settled), self.greatest_current)
        return np.where(self.is_motor, flowing, 0.0)

    def current_rate(self, voltage: NDArray[Any], current: NDArray[Any], v: NDArray[Any]) -> NDArray[Any]:
        """Return di_M/dt of (6.1); 0 for a current that is no state, or would pass its limit, shape (n,) [A/s].

        Arguments as for :meth:`instant_current`.
        """
        motor, states = self.motors.motor, self.has_inductance
        drop = motor.voltage(current, self.motors.gear.motor_motion(v))
        rate = (voltage - drop) / np.where(states, motor.inductance, 1.0)
        limit = self.greatest_current
        outward = where(less_equal(limit, current), 1.0, where(less_equal(current, -limit), -1.0, 0.0))
        held = where(less(0.0, outward * rate), 0.0, rate)
        return np.where(states, np.where(is_limit(limit), held, rate), 0.0)
