# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""What ``robodyn check`` prints of actuators: torques, speeds, rotors and friction; springs of elastic joints."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from robodyn_ros.actuation.configuration import HardwareSettings
from robodyn_ros.actuation.joint_actuators import JointActuators
from robodyn_ros.commands.robot_report import gravity_efforts, random_postures
from robodyn_ros.description.model import Array
from robodyn_ros.dynamics.mass_matrix import mass_matrix
from robodyn_ros.robot import Robot
from robodyn_ros.simulation.plant_model import PlantModel, resolving_step

_MANY_TIMES = 1e4
"""Ratio of a rotor's reflected inertia and its links' beyond which a unit or a gear ratio is likely wrong."""


def describe_actuators(robot: Robot, file: str, step: float) -> tuple[list[str], list[str]]:
    """Describe the actuators and the elastic joints of a robot.

    Args:
        robot: The robot as described.
        file: YAML file of its actuators, or its name in config/.
        step: Of the simulation, which is to resolve the springs [s].

    Returns:
        The lines of the description, and the doubts.

    Raises:
        InputError: The file cannot be read, or does not fit the robot.
    """
    settings = HardwareSettings.named(file)
    robot.model.check_inertia()  # before actuators are made for no joints
    plant = PlantModel.from_robot(robot.with_actuators(file), step)
    if not plant.actuators.is_motor.any():
        lines, doubts = ["motors: none"], []
    else:
        rated = drive_torque(plant.actuators, settings.continuous_current(robot.model))
        lines = [*motor_table(robot, plant, rated)]
        doubts = [*motor_doubts(robot, plant, rated)]
    springs, doubted = transmissions(plant)
    return [*lines, "", *springs], [*doubts, *doubted]


def drive_torque(actuators: JointActuators, current: Array) -> Array:
    """Return what motors that turn slowly deliver to their joints at currents, less their losses, shape (n,).

    Args:
        actuators: Of the joints; where motors drive several together, values are those at the outputs of the gears.
        current: Shape (n,) [A].

    Returns:
        0 or more, 0 for ideal sources [N m or N].
    """
    motor = np.abs(actuators.effort_per_current) * np.where(actuators.is_motor, current, 0.0)
    return np.maximum(0.0, motor - actuators.gear_friction(motor, np.zeros(actuators.n)))


def stall_torque(actuators: JointActuators) -> Array:
    """Return the greatest effort of motors at rest within the limits of their amplifiers, shape (n,) [N m or N]."""
    by_voltage = actuators.voltage_limit / actuators.motors.motor.resistance
    return drive_torque(actuators, np.minimum(by_voltage, actuators.greatest_current))


def no_load_speed(actuators: JointActuators) -> Array:
    """Return the speed of the joints at which motors at their voltage limits deliver nothing, shape (n,) [rad/s, m/s].

    The friction at the motors' shafts counts, that of the joints does not.
    """
    motor, gear = actuators.motors.motor, np.abs(actuators.motors.gear.ratio)
    current = actuators.motor_friction / (actuators.efficiency * motor.torque_constant)
    damping = actuators.motor_damping / (actuators.efficiency * motor.torque_constant)
    left = actuators.voltage_limit - motor.resistance * current
    return np.maximum(0.0, left / (motor.back_emf_constant + motor.resistance * damping) / gear)


def links_inertia(robot: Robot) -> Array:
    """Return the greatest inertia of the links about each joint in random postures, shape (n,) [kg m^2 or kg]."""
    model = robot.ignoring("rotors").model
    return np.max([np.diag(mass_matrix(model, q)) for q in random_postures(model)], axis=0)


def motor_table(robot: Robot, plant: PlantModel, rated: Array) -> Iterator[str]:
    """Yield torques and speeds of the motors at the joints, their rotors beside the links, and friction.

    Args:
        robot: The robot as described.
        plant: The robot with its actuators.
        rated: Permanent torque, NaN where it is not known, shape (n,) [N m or N].
    """
    actuators, known = plant.actuators, robot.with_actuators(plant.actuators, plant.friction).model
    columns = (stall_torque(actuators), rated, no_load_speed(actuators), actuators.reflected_inertia,
               links_inertia(robot), known.damping, known.friction)
    width = max(len("motor of"), *map(len, robot.joint_names))
    row = ("{:<%d}" % width + " {:>12}" * 7).format  # noqa: UP031 - braces
    yield row("motor of", "stall", "rated", "no load", "rotor", "links", "viscous", "dry")
    yield row("", "[N m, N]", "[N m, N]", "[rad/s, m/s]", "[kg m², kg]", "[kg m², kg]", "[N m s, …]", "[N m, N]")
    for name, is_motor, *numbers in zip(robot.joint_names, actuators.is_motor, *columns, strict=True):
        of_motor = ("" if np.isnan(x) else f"{x:.4g}" for x in numbers[:4])
        yield row(name, *(of_motor if is_motor else ("none", "", "", "")), *(f"{x:.4g}" for x in numbers[4:]))
    yield ("stall, rated: at rest, less the losses of the gear; links: their greatest inertia in random postures; "
           "viscous, dry: friction of joint and motor, the latter at rest, without load")


def motor_doubts(robot: Robot, plant: PlantModel, rated: Array) -> Iterator[str]:
    """Yield doubts about motors; arguments as for `motor_table`."""
    actuators, model, gravity = plant.actuators, robot.model, gravity_efforts(robot)
    stall, fastest, rotor = stall_torque(actuators), no_load_speed(actuators), actuators.reflected_inertia
    links, dry = links_inertia(robot), robot.with_actuators(plant.actuators, plant.friction).model.friction
    for j in np.flatnonzero(actuators.is_motor & ~actuators.is_coupled):
        place, unit = f"motor of joint '{model.joint_names[j]}'", "N" if model.leaders[j].kind == "prismatic" else "N m"
        if dry[j] >= stall[j]:
            yield (f"{place}: it exerts {stall[j]:.4g} {unit} at most, no more than the dry friction of {dry[j]:.4g} "
                   f"{unit}: the joint cannot move; is the friction that of another joint?")
        elif gravity[j] > stall[j]:
            yield (f"{place}: it exerts {stall[j]:.4g} {unit} at most, and gravity needs up to {gravity[j]:.4g} "
                   f"{unit}: are voltage, gear ratio and torque constant those of this motor?")
        elif gravity[j] > rated[j]:
            yield (f"{place}: it exerts {rated[j]:.4g} {unit} permanently, and gravity needs up to {gravity[j]:.4g} "
                   f"{unit}: it overheats in such postures")
        if np.isfinite(model.effort_limit[j]) and model.effort_limit[j] > 1.01 * stall[j]:
            yield (f"{place}: the description's effort limit of {model.effort_limit[j]:.4g} {unit} is beyond the "
                   f"{stall[j]:.4g} {unit} that it exerts at most; laws count on the limit")
        if np.isfinite(model.velocity_limit[j]) and model.velocity_limit[j] > 1.01 * fastest[j]:
            yield (f"{place}: the description's velocity limit of {model.velocity_limit[j]:.4g} is beyond its speed "
                   f"without load, {fastest[j]:.4g} {model.leaders[j].unit}/s; motions count on the limit")
        if model.armature[j] and abs(model.armature[j] - rotor[j]) > 0.01 * rotor[j]:
            yield (f"{place}: its rotor has {rotor[j]:.4g} at the joint, the description's armature is "
                   f"{model.armature[j]:.4g}; the rotor counts")
        if rotor[j] == 0.0:
            yield f"{place}: its rotor has no inertia: data sheets have it in g cm^2, 1e-7 kg m^2 each"
        elif rotor[j] > _MANY_TIMES * links[j]:
            yield (f"{place}: its rotor has {rotor[j]:.4g} at the joint, the links have {links[j]:.4g}: is the one in "
                   "kg m^2, and the gear ratio in motor turns per joint turn?")


def transmissions(plant: PlantModel) -> tuple[list[str], list[str]]:
    """Describe the elastic joints of a plant.

    Args:
        plant: The simulated robot, in positions 0.

    Returns:
        The lines of the description, none for a rigid robot; and the doubts.
    """
    joints = plant.elastic
    if not len(joints):
        return ["elastic joints: none"], []
    names = [plant.model.joint_names[joint] for joint in joints]
    actuators, link = plant.actuators, np.diag(mass_matrix(plant.model, np.zeros(plant.n)))[joints]
    stiffness, rotor = actuators.stiffness[joints], actuators.reflected_inertia[joints]
    locked = np.sqrt(stiffness / link) / (2.0 * np.pi)
    alone = np.sqrt(stiffness * (1.0 / link + 1.0 / rotor)) / (2.0 * np.pi)
    width = max(map(len, ("elastic joint", *names)))
    row = ("{:<%d}" % width + " {:>13}" * 4).format  # noqa: UP031 - braces
    lines = [row("elastic joint", "stiffness", "backlash", "motor locked", "motor free"),
             row("", "[N m/rad, N/m]", "[rad, m]", "[Hz]", "[Hz]")]
    lines += [row(name, *(f"{number:.4g}" for number in numbers)) for name, *numbers in zip(
        names, stiffness, actuators.backlash[joints], locked, alone, strict=True)]
    rates, modes = plant.spring_modes()
    fastest, name = float(rates[-1]), names[int(np.argmax(np.abs(modes[:, -1])))]
    lines.append(f"fastest mode: {fastest / (2.0 * np.pi):.4g} Hz, mainly of {name}; steps of "
                 f"{resolving_step(fastest):.3g} s have it within 1 %, in positions 0, without damping and backlash")
    doubt = plant.unresolved_spring()
    return lines, [doubt] if doubt else []
