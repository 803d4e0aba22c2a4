# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Simulated actuators of the joints: ideal sources of effort, and DC motors with limits.

If the velocity v' of a joint is held over a step h, the current is the exact solution of [Yamamoto] (6.1), and its mean

    i = (1 - phi) (v_M - K_e gamma v') / R_M + phi i_0,    phi = (1 - e^(-h R_M / L_M)) L_M / (h R_M)

is linear in v': a constant effort and a viscous damping gamma^2 K_M K_e / R_M (1 - phi). An integrator can take the
damping implicitly, so that no electrical time constant is too short for the step. For L_M = 0 this is (6.17).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.actuation.actuators import Actuators
from robodyn_ros.actuation.current_loop import CurrentLoopRun, CurrentLoops, CurrentLoopState
from robodyn_ros.actuation.dc_motor import DCMotor
from robodyn_ros.actuation.friction import stribeck_decay
from robodyn_ros.actuation.gear_train import GearTrain
from robodyn_ros.actuation.harmonics import Harmonics
from robodyn_ros.base.checks import NOT_NEGATIVE, POSITIVE, Range, as_joint_arrays, constants
from robodyn_ros.base.errors import InputError
from robodyn_ros.compile import clip, less, less_equal, maximum, minimum, sign, where
from robodyn_ros.description.drivetrain import JointSprings
from robodyn_ros.description.model import Array, RobotModel

AMBIENT_TEMPERATURE = 25.0
"""Temperature at which data sheets rate motors [degrees Celsius]."""


MIN_SHARE = 0.05
"""Least share of resistance and torque constant at any temperature; linear laws have no meaning below."""

_LIMIT = Range(0.0, above=True, or_infinite=True)
_RANGES = {"voltage_limit": _LIMIT, "current_limit": _LIMIT, "torque_limit": _LIMIT, "motor_damping": NOT_NEGATIVE,
           "motor_friction": NOT_NEGATIVE,
           "thermal_resistance": NOT_NEGATIVE, "thermal_time_constant": POSITIVE,
           "efficiency": Range(0.0, 1.0, above=True), "static_loss": Range(0.0, 1.0), "loss_velocity": POSITIVE,
           "resistance_coefficient": NOT_NEGATIVE,
           "torque_constant_coefficient": Range(maximum=0.0), "derating_start": Range(or_infinite=True),
           "derating_end": Range(or_infinite=True), "derating": Range(0.0, 1.0), "stiffness": _LIMIT,
           "spring_damping": NOT_NEGATIVE, "backlash": NOT_NEGATIVE, "source_inertia": NOT_NEGATIVE}


_NOT_PER_JOINT = ("motors", "cogging", "torque_ripple", "current_loops", "rated")


class EffortLine(NamedTuple):
    """Mean effort of the motors at their gears' outputs over a step, before the current limit: effort - damping p'.

    p' is the velocity of the output.

    Attributes:
        effort: Effort at velocity 0, shape (n,) [N m or N].
        damping: Decrease per velocity, shape (n,) [N m s/rad or N s/m].
    """

    effort: NDArray[Any]
    damping: NDArray[Any]


class CurrentLoopDemand(NamedTuple):
    """Demands on current loops in a step, and their state; each array has shape (m,) of `CurrentLoops`.

    Attributes:
        target: Commanded currents [A].
        is_open: 1 where the voltage is commanded instead of the current, else 0.
        voltage: Commanded voltages, within their limits [V].
        current: Currents at the beginning of the step [A].
        state: State at the beginning of the step.
    """

    target: NDArray[Any]
    is_open: NDArray[Any]
    voltage: NDArray[Any]
    current: NDArray[Any]
    state: CurrentLoopState


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
class JointActuators:
    """One actuator for each joint: a DC motor with gear, or an ideal source of effort.

    If motors drive several joints together, values of "a joint" here belong to its motor, at the output of the motor's
    gear; ``motors.gear`` converts them to the joints.

    Each value is one number for all joints, or has shape (n,); in the instance all have shape (n,). Values of motors
    are ignored for ideal sources. Infinity means no limit.

    Attributes:
        motors: n motors and gears; those of ideal sources are ignored.
        is_motor: Which joints have a motor, shape (n,).
        efficiency: Of the gear, in (0, 1]: see :meth:`gear_friction`.
        motor_damping: Viscous friction at the motor's shaft [N m s/rad].
        voltage_limit: Voltage limit of the amplifier [V].
        current_limit: Current limit of the amplifier [A].
        torque_limit: Torque limit of the motor's shaft, kept by limiting the current [N m].
        thermal_resistance: Thermal resistance from winding to ambient; 0: the winding stays at ambient temperature
            [K/W].
        thermal_time_constant: Thermal time constant of the winding [s].
        ambient_temperature: Temperature of the surroundings [degrees Celsius].
        motor_friction: Coulomb friction at the motor's shaft [N m].
        resistance_coefficient: Rise of R_M with the temperature of the winding, relative to `AMBIENT_TEMPERATURE`
            [1/K].
        torque_constant_coefficient: The same for K_M and K_e [1/K].
        derating_start: Temperature of the winding from which the limits of current and torque fall [degrees Celsius].
        derating_end: Temperature at which they are 0 [degrees Celsius].
        derating: Remaining share of these limits.
        static_loss: Rise of the gear's loss towards rest, as a share of the load.
        loss_velocity: Velocity of the gear's output at which this rise has fallen to 1/e [rad/s or m/s].
        cogging: Cogging torque at the motors' shafts, periodic in their angles [N m].
        torque_ripple: Relative change of torque and back-EMF constants with the angle; amplitudes below 1 in sum.
        current_loops: Current loops of the drives; without one, efforts are converted to voltages.
        rated: The amplifiers' model of the motors, which converts efforts to voltages; None: ``motors``.
        stiffness: Stiffness of the spring between drive and link, infinite for a rigid joint [N m/rad or N/m].
        spring_damping: Damping of this spring [N m s/rad or N s/m].
        backlash: Total width of its dead zone [rad or m].
        motor_encoder: Which joints are measured on the motor's side of this spring, at the output of the gear.
        source_inertia: Inertia on the motor's side of the spring of an ideal source, at its output [kg m^2 or kg].

    Raises:
        InputError: A value is out of its range, the lengths differ, a spring has no inertia behind it, or a coupled
            joint has a spring.
    """

    motors: Actuators
    is_motor: NDArray[np.bool_] = True  # type: ignore[assignment]  # arrays once the instance is made
    efficiency: Array = 1.0  # type: ignore[assignment]
    motor_damping: Array = 0.0  # type: ignore[assignment]
    voltage_limit: Array = np.inf  # type: ignore[assignment]
    current_limit: Array = np.inf  # type: ignore[assignment]
    torque_limit: Array = np.inf  # type: ignore[assignment]
    thermal_resistance: Array = 0.0  # type: ignore[assignment]
    thermal_time_constant: Array = 1.0  # type: ignore[assignment]
    ambient_temperature: Array = AMBIENT_TEMPERATURE  # type: ignore[assignment]
    motor_friction: Array = 0.0  # type: ignore[assignment]
    resistance_coefficient: Array = 0.0  # type: ignore[assignment]
    torque_constant_coefficient: Array = 0.0  # type: ignore[assignment]
    derating_start: Array = np.inf  # type: ignore[assignment]
    derating_end: Array = np.inf  # type: ignore[assignment]
    derating: Array = 1.0  # type: ignore[assignment]
    static_loss: Array = 0.0  # type: ignore[assignment]
    loss_velocity: Array = 0.1  # type: ignore[assignment]
    cogging: Harmonics = field(default_factory=Harmonics.none)
    torque_ripple: Harmonics = field(default_factory=Harmonics.none)
    current_loops: CurrentLoops = field(default_factory=CurrentLoops.none)
    rated: Actuators | None = None
    stiffness: Array = np.inf  # type: ignore[assignment]
    spring_damping: Array = 0.0  # type: ignore[assignment]
    backlash: Array = 0.0  # type: ignore[assignment]
    motor_encoder: NDArray[np.bool_] = False  # type: ignore[assignment]
    source_inertia: Array = 0.0  # type: ignore[assignment]

    def __post_init__(self) -> None:
        """Check the values and give all of them one shape."""
        values = {name: value for name, value in vars(self).items() if name not in _NOT_PER_JOINT}
        every_motor = np.ones(self.motors.n)  # gives all values this length
        arrays = as_joint_arrays("JointActuators", values | {"motors": every_motor}, _RANGES)
        del arrays["motors"]
        for name, array in arrays.items():
            object.__setattr__(self, name, array != 0.0 if name in ("is_motor", "motor_encoder") else array)
        if len(self.efficiency) != self.motors.n:
            raise InputError(f"JointActuators: expected figures of {self.motors.n} actuators, received "
                             f"{len(self.efficiency)}")
        if (constants(self.torque_ripple.amplitude, traced=0.0) != 0.0).any() and (self.torque_ripple.greatest
                                                                                   >= 1.0).any():
            raise InputError("JointActuators.torque_ripple: expected amplitudes below 1 in sum, received "
                             f"{self.torque_ripple.greatest.tolist()}")
        apart = 0.0 * np.eye(self.n) if (given := self.motors.gear.coupling) is None else given - np.eye(self.n)
        if apart[~self.is_motor].any() or apart[:, ~self.is_motor].any():
            raise InputError("JointActuators: expected a motor for each of the joints that motors drive together, "
                             "received ideal sources among them")
        if (wrong := np.flatnonzero(self.is_elastic & (self.is_coupled | (constants(self.reflected_inertia, traced=1.0)
                                                                          == 0.0)))).size:
            raise InputError(f"JointActuators: joint {wrong[0]}, counted from 0: expected a motor of its own with "
                             "rotor inertia behind the spring of an elastic joint")

    @classmethod
    def ideal_sources(cls, n: int) -> Self:
        """Return ideal sources of effort at n joints."""
        nothing = Actuators(DCMotor(np.ones(n), np.ones(n), np.zeros(n)), GearTrain(np.ones(n)))
        return cls(nothing, is_motor=np.zeros(n, dtype=bool))

    def with_scaled_rotors(self, factor: float) -> Self:
        """Return the actuators with the inertias of all rotors times a factor."""
        motor = replace(self.motors.motor, rotor_inertia=factor * self.motors.motor.rotor_inertia)
        return replace(self, motors=replace(self.motors, motor=motor), source_inertia=factor * self.source_inertia)

    def check(self, model: RobotModel) -> None:
        """Check that there is one actuator for each joint of a robot.

        Raises:
            InputError: The numbers differ.
        """
        if self.n != model.n:
            raise InputError(f"robot '{model.name}': expected {model.n} actuators, one for each joint, received "
                             f"{self.n}")

    def check_motors(self, joint_names: Sequence[str], where: str) -> None:
        """Raise unless every joint has a motor, so that voltages can be commanded.

        Args:
            joint_names: Names of the joints.
            where: Place of the actuators, for messages.

        Raises:
            InputError: A joint has none.
        """
        without = [repr(name) for name, motor in zip(joint_names, self.is_motor, strict=True) if not motor]
        if without:
            raise InputError(f"{where}: expected a motor for every joint, as voltages are commanded; received none for "
                             f"{', '.join(without)}")

    @property
    def n(self) -> int:
        """Number of actuators."""
        return self.motors.n

    @cached_property
    def has_inductance(self) -> NDArray[np.bool_]:
        """Whether a joint has a motor with inductance, so that its current is a state, shape (n,)."""
        return self.is_motor & (self.motors.motor.inductance > 0.0)

    @cached_property
    def has_gear_friction(self) -> NDArray[np.bool_]:
        """Whether a joint has a motor with friction or a gear with losses, shape (n,)."""
        return self.is_motor & ((constants(self.efficiency, traced=0.0) < 1.0)
                                 | (constants(self.motor_friction, traced=1.0) > 0.0)
                                 | (constants(self.static_loss, traced=1.0) > 0.0))

    @cached_property
    def is_coupled(self) -> NDArray[np.bool_]:
        """Whether the motor of a joint drives other joints, too, or instead, shape (n,)."""
        coupling = self.motors.gear.coupling
        apart = False if coupling is None else (coupling != np.eye(self.n)).any(axis=1)
        return self.is_motor & apart

    @cached_property
    def is_elastic(self) -> NDArray[np.bool_]:
        """Whether there is a spring between the drive of a joint and its link, shape (n,)."""
        return is_limit(self.stiffness)

    @property
    def springs(self) -> JointSprings | None:
        """Springs and motors of the elastic joints; None: all joints are rigid."""
        elastic = self.is_elastic
        if not elastic.any():
            return None
        return JointSprings(np.where(elastic, self.stiffness, np.inf), np.where(elastic, self.reflected_inertia, 0.0),
                            np.where(elastic, self.spring_damping, 0.0))

    @cached_property
    def has_backlash(self) -> NDArray[np.bool_]:
        """Whether this spring has a dead zone, shape (n,)."""
        return self.is_elastic & (constants(self.backlash, traced=1.0) > 0.0)

    @cached_property
    def has_heat(self) -> NDArray[np.bool_]:
        """Whether a joint has a motor with a thermal model, shape (n,)."""
        return self.is_motor & (constants(self.thermal_resistance, traced=1.0) > 0.0)

    @cached_property
    def derates(self) -> NDArray[np.bool_]:
        """Whether the limits of a motor fall with its temperature, shape (n,)."""
        return self.has_heat & is_limit(self.derating_start)

    @cached_property
    def has_loop(self) -> NDArray[np.bool_]:
        """Whether the motor of a joint has a current loop, shape (n,)."""
        return np.isin(np.arange(self.n), self.current_loops.joints)

    @cached_property
    def follows_temperature(self) -> bool:
        """Whether motor constants or limits depend on the temperature of a winding."""
        depends = ((constants(self.resistance_coefficient, traced=1.0) != 0.0)
                   | (constants(self.torque_constant_coefficient, traced=1.0) != 0.0) | self.derates)
        return bool((self.has_heat & depends).any())

    @cached_property
    def has_ripple(self) -> bool:
        """Whether torque constants change with the angle."""
        return bool((self.is_motor & (constants(self.torque_ripple.amplitude, traced=1.0) != 0.0)).any())

    def at_angle(self, q: NDArray[Any], displacement: NDArray[Any]) -> Self:
        """Return the actuators with the mean torque constants about joint positions; arguments as `cogging_effort`."""
        gear, motor = self.motors.gear, self.motors.motor
        ripple = self.torque_ripple.mean(gear.motor_position(q), gear.motor_motion(displacement))
        share = np.where(self.is_motor, 1.0 + ripple, 1.0)
        turned = replace(motor, torque_constant=motor.torque_constant * share,
                         back_emf_constant=motor.back_emf_constant * share)
        return replace(self, motors=replace(self.motors, motor=turned),
                       rated=self.motors if self.rated is None else self.rated)

    def cogging_effort(self, q: NDArray[Any], displacement: NDArray[Any] | None = None) -> NDArray[Any]:
        """Return the cogging at the gears' outputs.

        Args:
            q: Joint positions, shape (n,), may be traced [rad or m].
            displacement: Range of joint positions about q over which to take the mean; None: the value at q.

        Returns:
            Shape (n,) [N m or N].
        """
        if not self.has_cogging:
            return np.zeros(self.n)
        gear = self.motors.gear
        turned = None if displacement is None else gear.motor_motion(displacement)
        torque = self.cogging.mean(gear.motor_position(q), turned)
        return np.where(self.is_motor, gear.ratio * torque, 0.0)

    @cached_property
    def has_cogging(self) -> bool:
        """Whether a motor has cogging."""
        return bool((self.is_motor & (constants(self.cogging.amplitude, traced=1.0) != 0.0)).any())

    def cogging_energy(self, q: NDArray[Any]) -> NDArray[Any]:
        """Return the energy of magnets and slots, 0 in the mean over a turn, shape (n,) [J]."""
        energy = -self.cogging.integral(self.motors.gear.motor_position(q)) if self.has_cogging else 0.0
        return np.where(self.is_motor, energy, 0.0)

    def at(self, temperature: NDArray[Any]) -> Self:
        """Return the actuators with the resistances, torque constants and limits at a temperature.

        R_M = R_25 (1 + alpha (T - 25)), and K_M and K_e likewise, assuming that the magnets are as warm as the winding.
        The limits of current and torque fall linearly between ``derating_start`` and ``derating_end``.

        Args:
            temperature: Temperatures of the windings, may be traced, shape (n,) [degrees Celsius].
        """
        rise, motor = temperature - AMBIENT_TEMPERATURE, self.motors.motor
        resistance, constant = (
            np.where(self.has_heat & (constants(own, traced=1.0) != 0.0), 1.0 + own * rise, 1.0)
            for own in (self.resistance_coefficient, self.torque_constant_coefficient))
        start, end = np.where(self.derates, self.derating_start, 0.0), np.where(self.derates, self.derating_end, 1.0)
        warm = replace(motor, resistance=motor.resistance * maximum(resistance, MIN_SHARE),
                       torque_constant=motor.torque_constant * maximum(constant, MIN_SHARE),
                       back_emf_constant=motor.back_emf_constant * maximum(constant, MIN_SHARE))
        left = np.where(self.derates, clip((end - temperature) / (end - start), 0.0, 1.0), 1.0)
        return replace(self, motors=replace(self.motors, motor=warm), derating=left, rated=self.motors)

    @cached_property
    def reflected_inertia(self) -> Array:
        """Gamma^T J_M Gamma: inertia of the rotors at their gears' outputs, (6.17), shape (n,) [kg m^2 or kg]."""
        of_sources = np.where(self.is_elastic, self.source_inertia, 0.0)
        return np.where(self.is_motor, self.motors.reflected_inertia, of_sources)

    @cached_property
    def rigid_inertia(self) -> Array:
        """The part of `reflected_inertia` that is not behind a spring, shape (n,) [kg m^2 or kg]."""
        return np.where(self.is_elastic, 0.0, self.reflected_inertia)

    @cached_property
    def rotor_inertia(self) -> Array:
        """B^T Gamma^T J_M Gamma B: contribution of the rotors to the links' mass matrix, (6.17), shape (n, n)."""
        return self.motors.gear.joint_matrix(self.rigid_inertia)

    @cached_property
    def reflected_damping(self) -> Array:
        """Viscous friction of the motor shafts at their gears' outputs, shape (n,) [N m s/rad or N s/m]."""
        return np.where(self.is_motor, self.motors.gear.reflected(self.motor_damping), 0.0)

    @cached_property
    def effort_per_current(self) -> Array:
        """Gamma^T K_M: effort at the gears' outputs per current, shape (n,) [N m/A or N/A]."""
        return self.motors.gear.ratio * self.motors.motor.torque_constant

    @cached_property
    def greatest_current(self) -> Array:
        """Greatest current within the limits of current and torque, infinite without limits, shape (n,) [A]."""
        limited = is_limit(self.torque_limit)
        by_torque = np.where(limited, self.torque_limit, 1.0) / self.motors.motor.torque_constant
        limit = minimum(self.current_limit, np.where(limited, by_torque, np.inf))
        full = np.where(self.is_motor, limit, np.inf)
        limited = is_limit(full)
        return np.where(limited, np.where(limited, full, 0.0) * self.derating, np.inf)

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
        gear, motor = self.motors.gear, (self.motors if self.rated is None else self.rated).motor
        return motor.voltage(gear.output_effort(effort) / (gear.ratio * motor.torque_constant), gear.motor_motion(v))

    def limited_voltage(self, voltage: NDArray[Any]) -> NDArray[Any]:
        """Limit voltages by the limits of the amplifiers, shape (n,) [V]."""
        return within(voltage, self.voltage_limit)

    def commanded_voltage(self, effort: NDArray[Any], v: NDArray[Any]) -> NDArray[Any]:
        """Return `wanted_voltage` within the limits of the amplifiers, shape (n,) [V]."""
        return self.limited_voltage(self.wanted_voltage(effort, v))

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
        _, mean = motor.current_step(current, voltage, np.zeros(self.n), step)
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
        """Return the limited currents of joint efforts, for joints with current loops, shape (m,) [A].

        Args:
            effort: Joint efforts, shape (n,) [N m or N].
        """
        gear, motor = self.motors.gear, (self.motors if self.rated is None else self.rated).motor
        wanted = gear.output_effort(effort) / (gear.ratio * motor.torque_constant)
        return within(wanted, self.greatest_current)[self.current_loops.joints]

    @property
    def loop_bandwidth(self) -> Array:
        """Bandwidth k_I / (2 pi R_M) of the current loops, 0 without one, shape (n,) [Hz]."""
        return self.loop_integral / (2.0 * np.pi * self.motors.motor.resistance)

    @property
    def loop_proportional(self) -> Array:
        """k_P of the current loops, 0 without one, shape (n,) [V/A]."""
        return self._by_joint(self.current_loops.proportional)

    @property
    def loop_integral(self) -> Array:
        """k_I of the current loops, 0 without one, shape (n,) [V/(A s)]."""
        return self._by_joint(self.current_loops.integral)

    def _by_joint(self, of_loops: Array) -> Array:
        spread = np.zeros(self.n)
        spread[self.current_loops.joints] = of_loops
        return spread

    def regulated_line(self, line: EffortLine, requested: CurrentLoopDemand, v: NDArray[Any], step: float
                       ) -> EffortLine:
        """Return the line of `effort_line`, replaced for joints with active current loops.

        Args:
            line: Line without current loops.
            requested: Demands on the loops, and their state.
            v: Joint velocities at which the loops are linearised, shape (n,) [rad/s or m/s].
            step: h [s].
        """
        loops = self.current_loops
        if not len(loops.joints):
            return line
        speed = self.motors.gear.motor_motion(v)[loops.joints]
        run = self._run_loops(requested, speed, step)
        factor, ratio = self.effort_per_current[loops.joints], self.motors.gear.ratio[loops.joints]
        ours = (factor * (run.mean - run.mean_slope * speed), -factor * ratio * run.mean_slope)
        return EffortLine(*(_where_closed(loops, requested, every, own) for every, own in zip(line, ours, strict=True)))

    def regulated_step(self, without: Electrical, requested: CurrentLoopDemand, before: NDArray[Any], v: NDArray[Any],
                       saturation: NDArray[Any], step: float) -> tuple[Electrical, CurrentLoopState]:
        """Return the result of `electrical_step`, replaced for joints with active current loops, and their state.

        Args:
            without: Result without current loops.
            requested: Demands on the loops, and their state.
            before: Joint velocities of :meth:`regulated_line`, shape (n,) [rad/s or m/s].
            v: Joint velocities, held, shape (n,) [rad/s or m/s].
            saturation: 1 or -1 where the effort is at its limit of that sign, 0 elsewhere, shape (n,).
            step: h [s].
        """
        joints = self.current_loops.joints
        if not len(joints):
            return without, requested.state
        gear, motor = self.motors.gear, self.motors.motor
        first, speed = gear.motor_motion(before)[joints], gear.motor_motion(v)[joints]
        line, run = self._run_loops(requested, first, step), self._run_loops(requested, speed, step)
        mean, end, square = line.mean + line.mean_slope * (speed - first), run.current, run.mean_square
        greatest = self.greatest_current[joints]
        at_limit = saturation[joints] * sign(gear.ratio[joints]) * np.where(is_limit(greatest), greatest, 0.0)
        capped = np.where(is_limit(greatest), saturation[joints] * saturation[joints], 0.0)
        mean, end = where(capped, at_limit, mean), where(capped, at_limit, end)
        square = where(capped, at_limit * at_limit, square)
        heat = step * motor.resistance[joints] * square
        stored = 0.5 * motor.inductance[joints] * (end * end - requested.current * requested.current)
        work = heat + stored + step * motor.back_emf_constant[joints] * speed * mean
        columns = [_where_closed(self.current_loops, requested, every, own)
                   for every, own in zip(without, (end, mean, heat, work), strict=True)]
        state = CurrentLoopState(where(requested.is_open, 0.0, run.state.integral),
                                 where(requested.is_open, requested.voltage, run.state.voltage),
                                 where(requested.is_open, requested.voltage, run.state.pending))
        return Electrical(*columns), state

    def _run_loops(self, requested: CurrentLoopDemand, speed: NDArray[Any], step: float) -> CurrentLoopRun:
        joints = self.current_loops.joints
        motor = DCMotor(*(figure[joints] for figure in vars(self.motors.motor).values()))
        return self.current_loops.run(motor, requested.target, requested.current, speed, requested.state,
                                      self.voltage_limit[joints], step)

    def gear_friction(self, effort: NDArray[Any], speed: NDArray[Any]) -> NDArray[Any]:
        """Return the dry friction of gears under load, (1 - eta + s e^(-(w / w_s)^2)) |gamma tau_M|, and of shafts.

        The second part is Stribeck's rise towards rest. In the joints of robots it grows with the load, like the first
        part [Bittencourt]; s is ``static_loss``.

        A driving motor delivers eta gamma tau_M, a driven motor resists with (2 - eta) gamma tau_M, and in between the
        gear sticks.

        Args:
            effort: gamma tau_M of the motors before the gears' losses, shape (n,) [N m or N].
            speed: w of the gears' outputs, shape (n,) [rad/s or m/s].

        Returns:
            The greatest friction at the gears' outputs, shape (n,) [N m or N].
        """
        share = 1.0 - self.efficiency
        if (constants(self.static_loss, traced=1.0) > 0.0).any():
            share = share + self.static_loss * stribeck_decay(speed, self.loss_velocity)
        losses = share * abs(effort)
        if (constants(self.motor_friction, traced=1.0) > 0.0).any():
            losses = losses + abs(self.motors.gear.ratio) * self.motor_friction
        return np.where(self.has_gear_friction, losses, 0.0)

    def effort_behind_gears(self, effort: NDArray[Any], v: NDArray[Any]) -> NDArray[Any]:
        """Return recorded efforts of motors minus the losses of their gears and the friction of their shafts.

        The friction of coupled motors' shafts is not subtracted: identification can separate it from joint friction.

        Args:
            effort: Efforts on the joints before the losses, shape (K, n) [N m or N].
            v: Joint velocities, shape (K, n) [rad/s or m/s].

        Returns:
            Shape (K, n) [N m or N].
        """
        gear = self.motors.gear
        outputs, speeds = gear.output_effort(effort.T).T, gear.output_motion(v.T).T
        kept = np.where(self.is_coupled & self.has_gear_friction, abs(gear.ratio) * self.motor_friction, 0.0)
        losses = self.gear_friction(outputs, speeds) - kept
        behind: NDArray[Any] = gear.effort_of_outputs((outputs - losses * np.sign(speeds)).T).T
        return behind

    def effort_before_gears(self, effort: NDArray[Any], v: NDArray[Any]) -> NDArray[Any]:
        """Return the efforts of motors that give certain efforts after the losses of their gears and shafts.

        Args:
            effort: Efforts on the joints after the losses, shape (n,) [N m or N].
            v: Joint velocities, shape (n,) [rad/s or m/s]; a resting gear or shaft has no losses.

        Returns:
            Efforts on the joints before the losses, shape (n,) [N m or N]; infinite if a gear transmits nothing.
        """
        gear, none = self.motors.gear, np.zeros(self.n)
        speeds = gear.output_motion(v)
        direction, shafts = np.sign(speeds), self.gear_friction(none, speeds)
        share = self.gear_friction(none + 1.0, speeds) - shafts
        needed = gear.output_effort(effort) + direction * shafts
        passed = 1.0 - direction * np.sign(needed) * share
        before = np.where(passed > 0.0, needed, np.copysign(np.inf, needed)) / np.where(passed > 0.0, passed, 1.0)
        return gear.effort_of_outputs(before)

    def next_temperature(self, temperature: NDArray[Any], heat: NDArray[Any], step: float) -> NDArray[Any]:
        """Return the winding temperatures after a step: T_th dT/dt = T_ambient + R_th P - T at constant power.

        Args:
            temperature: Temperatures at the beginning, shape (n,) [degrees Celsius].
            heat: Heat in the windings during the step, shape (n,) [J].
            step: h [s].

        Returns:
            Temperatures at the end, shape (n,) [degrees Celsius]; unchanged without a thermal model.
        """
        left = np.array([np.exp(-step / constant) for constant in self.thermal_time_constant])  # some may be traced
        settled = self.ambient_temperature + self.thermal_resistance * heat / step
        return np.where(self.has_heat, settled + left * (temperature - settled), temperature)

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


def _where_closed(loops: CurrentLoops, requested: CurrentLoopDemand, values: NDArray[Any], own: NDArray[Any]
                  ) -> NDArray[Any]:
    """Replace values of joints, shape (n,), by others, shape (m,), where a current loop is closed."""
    result = values.astype(np.result_type(values, own, requested.is_open))
    result[loops.joints] = where(requested.is_open, values[loops.joints], own)
    return result


def within(value: NDArray[Any], limit: Array) -> NDArray[Any]:
    """Limit the magnitudes of values, shape (n,); infinite limits add no operations."""
    finite = is_limit(limit)
    bound = np.where(finite, limit, 0.0)
    return np.where(finite, clip(value, -bound, bound), value)


def is_limit(limit: NDArray[Any]) -> NDArray[np.bool_]:
    """Whether a limit is finite; a traced one may be, for some samples."""
    return np.isfinite(constants(limit, traced=0.0))
