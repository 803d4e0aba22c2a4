# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""A robot's actuators and friction from a YAML file; docs/motors-and-gears.md describes it."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

import numpy as np

from robodyn_ros.actuation.actuator_settings import (
    ActuatorSettings,
    TransmissionSettings,
    check_temperatures,
    drive_of,
    peak_current,
)
from robodyn_ros.actuation.actuators import Actuators
from robodyn_ros.actuation.coupling_settings import coupling_settings
from robodyn_ros.actuation.current_loop import PERIOD, CurrentLoops
from robodyn_ros.actuation.dc_motor import DCMotor
from robodyn_ros.actuation.drive_loop import DriveLoops, DriveLoopSettings
from robodyn_ros.actuation.friction import FrictionModel, FrictionSettings, friction_models, friction_settings
from robodyn_ros.actuation.gear_catalogue import GEARS, GearData
from robodyn_ros.actuation.gear_train import GearTrain
from robodyn_ros.actuation.harmonics import Harmonics, HarmonicSettings, harmonic_settings
from robodyn_ros.actuation.joint_actuators import PARTS, JointActuators
from robodyn_ros.actuation.motor_catalogue import MOTORS
from robodyn_ros.actuation.transmission import Transmission
from robodyn_ros.base.bounded_files import expand_user, read_yaml
from robodyn_ros.base.errors import InputError, shown
from robodyn_ros.base.fields import declared, section
from robodyn_ros.description.coupling import Coupling, output_shares
from robodyn_ros.description.model import Array, RobotModel
from robodyn_ros.description.resources import actuators_file


@dataclass(frozen=True)
class _JointSection:
    gear: Any = None
    actuator: Any = None
    friction: Any = None
    transmission: Any = None
    drive_loop: Any = None


@dataclass(frozen=True)
class HardwareSettings:
    """Actuators and friction by joint; joints without an actuator have an ideal source of effort.

    Attributes:
        actuators: Actuators by joint name.
        friction: Settings of the friction model, one model for all joints, by joint name.
        transmissions: Springs of elastic joints by joint name; all other joints are rigid.
        drive_loops: Drives that close a loop of position, velocity or stiffness, by joint name.
        gears: Gears by joint name; `actuators` and `transmissions` already contain their data.
        couplings: Joints that several motors drive together, in addition to those of the robot's description.
        where: Source of the settings, for messages.
    """

    actuators: Mapping[str, ActuatorSettings] = field(default_factory=dict)
    friction: Mapping[str, Any] = field(default_factory=dict)
    transmissions: Mapping[str, TransmissionSettings] = field(default_factory=dict)
    couplings: tuple[Coupling, ...] = ()
    drive_loops: Mapping[str, DriveLoopSettings] = field(default_factory=dict)
    gears: Mapping[str, GearData] = field(default_factory=dict)
    where: str = "hardware"

    @classmethod
    def from_yaml(cls, path: str | Path) -> Self:
        """Read the settings from a file.

        Args:
            path: YAML file with the key ``joints``: joint names with ``actuator``, ``friction``, ``transmission``, and
                ``gear`` for values that these omit; and optionally ``couplings``, a list of ``joints`` and ``matrix``,
                see `Coupling`.

        Raises:
            InputError: The file cannot be read, or its content is not valid.
        """
        return cls.from_mapping(read_yaml(expand_user(path)), str(path))

    @classmethod
    def named(cls, name_or_path: str | Path) -> Self:
        """Read a file by its name in config/ or by its path; empty: no motors.

        Raises:
            InputError: There is no such file; or as for `from_yaml`.
        """
        return cls.from_yaml(actuators_file(name_or_path)) if name_or_path else cls()

    @classmethod
    def from_mapping(cls, content: Any, where: str = "hardware") -> Self:
        """Read the settings from the content of a YAML file.

        Args:
            content: The mapping.
            where: Source of the mapping, for messages.

        Raises:
            InputError: The content is not valid.
        """
        if (not isinstance(content, Mapping) or not {"joints"} <= set(content) <= {"joints", "couplings"}
                or not isinstance(content["joints"], Mapping)):
            raise InputError(f"{where}: expected the key 'joints' with a section for each joint, "
                             f"received {shown(content)}")
        actuators, friction, transmissions, drives, gears = {}, {}, {}, {}, {}
        for joint, values in content["joints"].items():
            place = f"{where}: joint '{joint}'"
            found = section(_JointSection, place, values)
            if found.gear is not None:
                gears[joint] = gear = GEARS.load(found.gear, f"{place}: gear")
                spring = {} if found.transmission is None else found.transmission
                found = replace(found, transmission=_with_defaults(gear.transmission_keys, spring),
                                actuator=_with_defaults(gear.actuator_keys, found.actuator))
            if found.actuator is not None:
                actuators[joint] = section(ActuatorSettings, f"{place}: actuator", found.actuator)
            if found.friction is not None:
                friction[joint] = friction_settings(f"{place}: friction", found.friction)
            if found.transmission is not None:
                transmissions[joint] = section(TransmissionSettings, f"{place}: transmission", found.transmission)
            if found.drive_loop is not None:
                drives[joint] = section(DriveLoopSettings, f"{place}: drive_loop", found.drive_loop)
                drives[joint].check(f"{place}: drive_loop")
        couplings = coupling_settings(f"{where}: couplings", content.get("couplings"))
        return cls(actuators, friction, transmissions, couplings, drives, gears, where)

    def joint_actuators(self, model: RobotModel) -> JointActuators:
        """Return the actuators of a robot's joints.

        Args:
            model: The robot.

        Raises:
            InputError: A joint or motor is unknown, or a value is out of its range.
        """
        model = model.described
        self._check_joints(model, self.actuators)
        couplings = self._couplings(model)
        coupled = {joint: ratio for each in couplings for joint, ratio in zip(each.joints, each.ratio, strict=True)}
        rows = [self._row(model, joint, coupled.get(joint, reduction), joint in coupled)
                for joint, reduction in zip(model.joint_names, model.reduction, strict=True)]
        columns: dict[str, Any] = {name: np.array([row[name] for row in rows]) for name in _IDEAL_SOURCE}
        cogging, ripple = (self._harmonics(model, name) for name in ("cogging", "torque_ripple"))
        motor = DCMotor(*(columns.pop(name) for name in _MOTOR))
        gear = GearTrain(columns.pop("gear_ratio"), output_shares(couplings, model.joint_names), model.motor_zero)
        springs = self._springs(model, coupled, columns["is_motor"] * motor.rotor_inertia)
        parts: dict[str, Any] = {part: kind(**{name: columns[name] for name in declared(kind)})
                                 for part, kind in PARTS.items() if part != "transmission"}
        return JointActuators(Actuators(motor, gear), columns["is_motor"], transmission=springs, cogging=cogging,
                              torque_ripple=ripple, current_loops=self._current_loops(model, motor),
                              drive_loops=self._drive_loops(model), **parts)

    def continuous_current(self, model: RobotModel) -> Array:
        """Greatest permanent currents of the motors, NaN if unknown, shape (n,) [A]."""
        motors = [MOTORS.load(self.actuators[joint].motor) if joint in self.actuators else None
                  for joint in model.joint_names]
        return np.array([np.nan if motor is None or motor.continuous_current is None else motor.continuous_current
                         for motor in motors])

    def _drive_loops(self, model: RobotModel) -> DriveLoops:
        """Return the drives that close a loop of position, velocity or stiffness."""
        self._check_joints(model, self.drive_loops)
        return DriveLoops.from_settings({model.joint_index(joint): found for joint, found in self.drive_loops.items()})

    def _current_loops(self, model: RobotModel, motor: DCMotor) -> CurrentLoops:
        """Return the current loops of the drives."""
        rows = []
        for index, joint in enumerate(model.joint_names):
            given = self.actuators.get(joint)
            if given is None or given.current_loop is None:
                continue
            place = f"{self.where}: joint '{joint}': actuator: current_loop"
            found, drive = drive_of(place, given)
            period = PERIOD if drive is None else drive.period
            gains = found.gains(float(motor.resistance[index]), float(motor.inductance[index]), place)
            rows.append((index, *gains, found.period or period, found.delay))
        if not rows:
            return CurrentLoops.none()
        joints, proportional, integral, period, delay = np.array(rows).T
        return CurrentLoops(joints.astype(int), proportional, integral, period, delay.astype(int))

    def _harmonics(self, model: RobotModel, name: str) -> Harmonics:
        """Return the harmonics of the motors that one setting has, `cogging` or `torque_ripple`."""
        found: list[tuple[HarmonicSettings, ...]] = []
        for joint in model.joint_names:
            place = f"{self.where}: joint '{joint}': actuator: {name}"
            found.append(harmonic_settings(place, getattr(self.actuators.get(joint), name, None)))
            if name == "torque_ripple" and (total := sum(abs(each.amplitude) for each in found[-1])) >= 1.0:
                raise InputError(f"{place}: expected amplitudes below 1 in sum, as shares of the torque constant, "
                                 f"received {total:g}")
        return Harmonics.from_settings(found)

    def _springs(self, model: RobotModel, coupled: Container[str], rotor_inertia: Array) -> Transmission:
        """Return the springs of elastic joints."""
        self._check_joints(model, self.transmissions)
        for joint in self.gears:
            if model.leaders[model.joint_index(joint)].kind == "prismatic":
                raise InputError(f"{self.where}: joint '{joint}': gear: expected a joint that turns, received one that "
                                 "slides; give it a transmission with a stiffness in N/m")
        springs = {name: np.full(model.n, float(getattr(Transmission, name))) for name in declared(Transmission)}
        for joint, found in self.transmissions.items():
            index, place = model.joint_index(joint), f"{self.where}: joint '{joint}': transmission"
            own = model.armature[index] if found.inertia is None else found.inertia
            if joint in coupled:
                raise InputError(f"{place}: expected a motor that drives this joint alone, received one of a coupling; "
                                 "leave out the transmission, or the coupling")
            if joint in self.actuators and found.inertia is not None:
                raise InputError(f"{place}: inertia: expected none beside an actuator, whose motor has a rotor, "
                                 f"received {found.inertia:g}; leave it out")
            if joint in self.actuators and rotor_inertia[index] == 0.0:
                raise InputError(f"{place}: expected a motor with a rotor inertia behind the spring, received 0; give "
                                 "the motor its rotor_inertia, or leave out the transmission")
            if joint not in self.actuators and own == 0.0:
                raise InputError(f"{place}: expected an inertia behind the spring, received none; give it an actuator, "
                                 f'`inertia`, or <dynamics armature="..."/> in the robot\'s description')
            for name, value in (("stiffness", found.stiffness), ("spring_damping", found.damping),
                                ("backlash", found.backlash), ("motor_encoder", found.encoder == "motor"),
                                ("source_inertia", 0.0 if joint in self.actuators else own)):
                springs[name][index] = value
        return Transmission(**springs)

    def _couplings(self, model: RobotModel) -> tuple[Coupling, ...]:
        """Return the couplings of joints with motors: those of the settings, or else of the description."""
        for coupling in self.couplings:
            self._check_joints(model, dict.fromkeys(coupling.joints))
        own = [joint for coupling in self.couplings for joint in coupling.joints]
        found = (*self.couplings, *(each for each in model.couplings if not set(each.joints) & set(own)))
        if twice := next((joint for joint in own if own.count(joint) > 1), None):
            raise InputError(f"{self.where}: couplings: expected each joint in one of them, received '{twice}' in two")
        kept = []
        for coupling in found:
            without = [joint for joint in coupling.joints if joint not in self.actuators]
            if without and len(without) < len(coupling.joints):
                raise InputError(f"{self.where}: joint '{without[0]}': expected an actuator, since motors drive it "
                                 f"together with {', '.join(each for each in coupling.joints if each != without[0])}")
            if not without:
                kept.append(coupling)
        return tuple(kept)

    def joint_friction(self, model: RobotModel) -> FrictionModel:
        """Return the friction of a robot's joints, from the settings or else from the description.

        Args:
            model: The robot.

        Raises:
            InputError: A joint is unknown, joints have different models, or a number does not fit its model.
        """
        model = model.described
        self._check_joints(model, self.friction)
        by_settings = {kind.Settings: kind for kind in friction_models().values()}
        kinds = {by_settings[type(found)] for found in self.friction.values()} or {by_settings[FrictionSettings]}
        if len(kinds) > 1:
            raise InputError(f"{self.where}: friction: expected one model for all joints, received "
                             f"{' and '.join(sorted(kind.name for kind in kinds))}")
        (kind,) = kinds
        rows = [self.friction.get(joint, kind.Settings()) for joint in model.joint_names]
        return kind.from_settings(model, rows, self.where)

    def _check_joints(self, model: RobotModel, named: Mapping[str, Any]) -> None:
        for joint in named:
            if joint in model.held and joint in self.actuators:
                raise InputError(self._missing_rotor(model, joint))
            try:
                model.joint_index(joint)
            except InputError as error:
                raise InputError(f"{self.where}: {error}") from None

    def _missing_rotor(self, model: RobotModel, joint: str) -> str:
        """Return the message on a joint that moves no inertia in the description, although its motor has a rotor."""
        row = self._row(model, joint, np.nan)
        ratio = row["gear_ratio"]
        what = (f'"{row["rotor_inertia"] * ratio**2:.6g}"' if np.isfinite(ratio) else
                f'"{row["rotor_inertia"]:.6g} times the square of the gear ratio"')
        return (f"{self.where}: joint '{joint}' of robot '{model.name}' moves no inertia and is held as if fixed: "
                f"write the rotor of its motor into its description, for all programs: <dynamics armature={what}/>")

    def _row(self, model: RobotModel, joint: str, reduction: float, coupled: bool = False) -> dict[str, Any]:
        """Return the values of `JointActuators` for one joint."""
        found = self.actuators.get(joint)
        if found is None:
            return _IDEAL_SOURCE
        place = f"{self.where}: joint '{joint}': actuator"
        motor = MOTORS.load(found.motor, f"{place}: motor")
        if coupled and found.gear_ratio is not None:
            raise InputError(f"{place}: gear_ratio: expected none, since the coupling of this joint has the ratio, "
                             f"received {found.gear_ratio:g}; leave it out")
        warms = found.thermal and motor.thermal_resistance is not None and motor.thermal_time_constant is not None
        check_temperatures(place, found, motor, warms)
        effects = found.temperature_effects
        return _IDEAL_SOURCE | {
            "resistance": motor.resistance,
            "torque_constant": motor.torque_constant,
            "rotor_inertia": motor.rotor_inertia + found.gear_inertia,
            "inductance": motor.inductance if found.inductance else 0.0,
            "back_emf_constant": motor.back_emf_constant or motor.torque_constant,
            "gear_ratio": _first_given(found.gear_ratio, None if coupled else motor.gear_ratio, reduction),
            "is_motor": True,
            "efficiency": _first_given(found.gear_efficiency, motor.gear_efficiency),
            "static_loss": found.gear_static_loss,
            "loss_velocity": found.gear_loss_velocity,
            "motor_damping": found.motor_damping,
            "motor_friction": _first_given(found.motor_friction, motor.motor_friction),
            "voltage_limit": found.voltage_limit or motor.nominal_voltage,
            "current_limit": found.current_limit or peak_current(place, found) or np.inf,
            "torque_limit": found.torque_limit or np.inf,
            "thermal_resistance": motor.thermal_resistance if warms else 0.0,
            "thermal_time_constant": motor.thermal_time_constant if warms else 1.0,
            "ambient_temperature": found.ambient_temperature,
            "resistance_coefficient": motor.resistance_coefficient if effects else 0.0,
            "torque_constant_coefficient": (motor.torque_constant_coefficient or 0.0) if effects else 0.0,
            "derating_start": np.inf if found.derating_start is None else found.derating_start,
            "derating_end": np.inf if found.derating_end is None else found.derating_end,
        }


_MOTOR = {"resistance": 1.0, "torque_constant": 1.0, "rotor_inertia": 0.0, "inductance": 0.0, "back_emf_constant": 1.0}
_IDEAL_SOURCE: dict[str, Any] = {**_MOTOR, "gear_ratio": 1.0, "is_motor": False} | {
    name: getattr(kind, name) for part, kind in PARTS.items() if part != "transmission" for name in declared(kind)}
"""Values of an ideal source of effort; those of its unused motor are placeholders."""


def _first_given(*values: float | None) -> float:
    """Return the first value that is given."""
    return next(value for value in values if value is not None)


def _with_defaults(defaults: Mapping[str, Any], values: Any) -> Any:
    """Return a section with defaults for missing keys; a value that is no section is refused later."""
    return {**defaults, **values} if isinstance(values, Mapping) else values
