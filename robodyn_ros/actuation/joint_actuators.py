# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Simulated actuators of the joints: ideal sources of effort, and DC motors with limits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.actuation.actuators import Actuators
from robodyn_ros.actuation.current_loop import CurrentLoops, LoopGains
from robodyn_ros.actuation.dc_motor import DCMotor
from robodyn_ros.actuation.drive_limits import DriveLimits
from robodyn_ros.actuation.drive_loop import DriveLoops
from robodyn_ros.actuation.drive_losses import DriveLosses
from robodyn_ros.actuation.gear_train import GearTrain
from robodyn_ros.actuation.harmonics import Harmonics
from robodyn_ros.actuation.joint_values import ranges_of
from robodyn_ros.actuation.motor_circuits import MotorCircuits
from robodyn_ros.actuation.transmission import Transmission
from robodyn_ros.actuation.winding_heat import WindingHeat
from robodyn_ros.base.checks import as_joint_arrays, constants, for_all_joints
from robodyn_ros.base.errors import InputError
from robodyn_ros.base.fields import declared
from robodyn_ros.compile import maximum, sign
from robodyn_ros.description.drivetrain import JointSprings
from robodyn_ros.description.model import Array, RobotModel

PARTS: dict[str, type] = {"winding": WindingHeat, "losses": DriveLosses, "limits": DriveLimits,
                          "transmission": Transmission}
"""Parts of `JointActuators` by name; the names of all their values differ."""

_RANGES = {name: allowed for kind in PARTS.values() for name, allowed in ranges_of(kind).items()}


@dataclass(frozen=True, eq=False)
class JointActuators:
    """One actuator for each joint: a DC motor with gear, or an ideal source of effort.

    If motors drive several joints together, values of "a joint" here belong to its motor, at the output of the motor's
    gear; ``motors.gear`` converts them to the joints.

    Values of motors are ignored for ideal sources. Each value of a part is one number for all joints, or has shape
    (n,); in the instance all have shape (n,).

    Attributes:
        motors: n motors and gears; those of ideal sources are ignored.
        is_motor: Which joints have a motor: one for all joints, or shape (n,).
        losses: Friction of the motors' shafts and the gears.
        limits: Limits of voltage, current and torque.
        winding: Thermal model of the windings.
        transmission: Springs of elastic joints.
        cogging: Cogging torque at the motors' shafts, periodic in their angles [N m].
        torque_ripple: Relative change of torque and back-EMF constants with the angle; amplitudes below 1 in sum.
        current_loops: Current loops of the drives; without one, efforts are converted to voltages.
        drive_loops: Drives that close a loop of position, velocity or stiffness themselves.
        rated: The amplifiers' model of the motors, which converts efforts to voltages; None: ``motors``.

    Raises:
        InputError: A value is out of its range, the lengths differ, a spring has no inertia behind it, or a coupled
            joint has a spring.
    """

    motors: Actuators
    is_motor: NDArray[np.bool_] = for_all_joints(True)
    losses: DriveLosses = field(default_factory=DriveLosses)
    limits: DriveLimits = field(default_factory=DriveLimits)
    winding: WindingHeat = field(default_factory=WindingHeat)
    transmission: Transmission = field(default_factory=Transmission)
    cogging: Harmonics = field(default_factory=Harmonics.none)
    torque_ripple: Harmonics = field(default_factory=Harmonics.none)
    current_loops: CurrentLoops = field(default_factory=CurrentLoops.none)
    drive_loops: DriveLoops = field(default_factory=DriveLoops.none)
    rated: Actuators | None = None

    def __post_init__(self) -> None:
        """Check the values, and give all of them the shape (n,)."""
        values = {name: getattr(getattr(self, part), name) for part, kind in PARTS.items() for name in declared(kind)}
        every_motor = {"is_motor": self.is_motor, "motors": np.ones(self.motors.n)}  # gives all values this length
        arrays = as_joint_arrays("JointActuators", values | every_motor, _RANGES)
        for name in ("is_motor", "motor_encoder"):
            arrays[name] = arrays[name] != 0.0
        if len(arrays["is_motor"]) != self.motors.n:
            raise InputError(f"JointActuators: expected figures of {self.motors.n} actuators, received "
                             f"{len(arrays['is_motor'])}")
        object.__setattr__(self, "is_motor", arrays["is_motor"])
        for part, kind in PARTS.items():
            object.__setattr__(self, part, kind(**{name: arrays[name] for name in declared(kind)}))
        self._check()

    def _check(self) -> None:
        """Check that the parts fit together."""
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
        springs = replace(self.transmission, source_inertia=factor * self.transmission.source_inertia)
        return replace(self, motors=replace(self.motors, motor=motor), transmission=springs)

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
    def circuits(self) -> MotorCircuits:
        """Circuits of the motors, with the limits of the amplifiers."""
        return MotorCircuits(self.motors, self.is_motor, self.limits, self.rated)

    @cached_property
    def has_gear_friction(self) -> NDArray[np.bool_]:
        """Whether a joint has a motor with friction or a gear with losses, shape (n,)."""
        return self.is_motor & self.losses.has_dry

    @cached_property
    def is_coupled(self) -> NDArray[np.bool_]:
        """Whether the motor of a joint drives other joints, too, or instead, shape (n,)."""
        coupling = self.motors.gear.coupling
        apart = False if coupling is None else (coupling != np.eye(self.n)).any(axis=1)
        return self.is_motor & apart

    @cached_property
    def is_elastic(self) -> NDArray[np.bool_]:
        """Whether there is a spring between the drive of a joint and its link, shape (n,)."""
        return self.transmission.is_elastic

    @property
    def springs(self) -> JointSprings | None:
        """Springs and motors of the elastic joints; None: all joints are rigid."""
        elastic = self.is_elastic
        if not elastic.any():
            return None
        springs = self.transmission
        return JointSprings(np.where(elastic, springs.stiffness, np.inf),
                            np.where(elastic, self.reflected_inertia, 0.0),
                            np.where(elastic, springs.spring_damping, 0.0))

    @cached_property
    def has_heat(self) -> NDArray[np.bool_]:
        """Whether a joint has a motor with a thermal model, shape (n,)."""
        return self.is_motor & self.winding.is_modelled

    @cached_property
    def derates(self) -> NDArray[np.bool_]:
        """Whether the limits of a motor fall with its temperature, shape (n,)."""
        return self.has_heat & self.winding.derates

    @cached_property
    def has_loop(self) -> NDArray[np.bool_]:
        """Whether the motor of a joint has a current loop, shape (n,)."""
        return np.isin(np.arange(self.n), self.current_loops.joints)

    @cached_property
    def follows_temperature(self) -> bool:
        """Whether motor constants or limits depend on the temperature of a winding."""
        return bool((self.has_heat & (self.winding.changes_motor | self.derates)).any())

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

        Args:
            temperature: Temperatures of the windings, may be traced, shape (n,) [degrees Celsius].
        """
        warm = self.winding.warm_motor(self.motors.motor, temperature, self.has_heat)
        left = self.winding.limit_share(temperature, self.derates)
        return replace(self, motors=replace(self.motors, motor=warm), rated=self.motors,
                       limits=replace(self.limits, derating=left))

    @cached_property
    def reflected_inertia(self) -> Array:
        """Gamma^T J_M Gamma: inertia of the rotors at their gears' outputs, (6.17), shape (n,) [kg m^2 or kg]."""
        of_sources = np.where(self.is_elastic, self.transmission.source_inertia, 0.0)
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
        return np.where(self.is_motor, self.motors.gear.reflected(self.losses.motor_damping), 0.0)

    @property
    def loop_gains(self) -> LoopGains:
        """Gains of the current loops of all joints."""
        return self.current_loops.by_joint(self.motors.motor)

    def gear_friction(self, effort: NDArray[Any], speed: NDArray[Any]) -> NDArray[Any]:
        """Return the greatest friction of gears under load and of shafts, `DriveLosses.level`, shape (n,) [N m or N].

        Args:
            effort: gamma tau_M of the motors before the gears' losses, shape (n,) [N m or N].
            speed: Velocities of the gears' outputs, shape (n,) [rad/s or m/s].
        """
        return np.where(self.has_gear_friction, self.losses.level(effort, speed, self.motors.gear.ratio), 0.0)

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
        kept = np.where(self.is_coupled & self.has_gear_friction, self.losses.of_shaft(gear.ratio), 0.0)
        losses = self.gear_friction(outputs, speeds) - kept
        behind: NDArray[Any] = gear.effort_of_outputs((outputs - losses * np.sign(speeds)).T).T
        return behind

    def effort_before_gears(self, effort: NDArray[Any], v: NDArray[Any], direction: NDArray[Any],
                            least_passed: float = 0.0) -> NDArray[Any]:
        """Return the efforts of motors that give certain efforts after the losses of their gears and shafts.

        Args:
            effort: Efforts on the joints after the losses, shape (n,), may be traced [N m or N].
            v: Joint velocities, shape (n,), may be traced [rad/s or m/s].
            direction: Direction of the gears' outputs: 1, -1, 0 for no losses, or in between for a share of them, shape
                (n,), may be traced.
            least_passed: Least share of an effort that passes a gear; 0: the result is infinite if nothing passes.

        Returns:
            Efforts on the joints before the losses, shape (n,) [N m or N].
        """
        gear, none = self.motors.gear, np.zeros(self.n)
        if not self.has_gear_friction.any():
            return effort
        speeds = gear.output_motion(v)
        shafts = self.gear_friction(none, speeds)
        share = self.gear_friction(none + 1.0, speeds) - shafts
        needed = gear.output_effort(effort) + direction * shafts
        passed = 1.0 - direction * sign(needed) * share
        if least_passed:
            return gear.effort_of_outputs(needed / maximum(passed, least_passed))
        before = np.where(passed > 0.0, needed, np.copysign(np.inf, needed)) / np.where(passed > 0.0, passed, 1.0)
        return gear.effort_of_outputs(before)
