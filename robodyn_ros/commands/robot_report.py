# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The report of ``robodyn check``: tree, limits, masses, reach, Denavit-Hartenberg table, actuators, doubts."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np
from lxml import etree

from robodyn_ros.actuation.configuration import HardwareSettings
from robodyn_ros.actuation.joint_actuators import JointActuators
from robodyn_ros.base.errors import DescriptionError, first_of
from robodyn_ros.base.optional_packages import is_installed, missing_message
from robodyn_ros.base.text_tables import aligned
from robodyn_ros.description.default_tip import is_tool_frame
from robodyn_ros.description.document import Document, estimates, read_document
from robodyn_ros.description.doubts import find_doubts
from robodyn_ros.description.find_denavit_hartenberg import find_denavit_hartenberg
from robodyn_ros.description.joint_and_link_elements import read_origin
from robodyn_ros.description.model import Array, RobotModel
from robodyn_ros.description.robot_sources import mesh_folder, read_source
from robodyn_ros.dynamics.mass_matrix import mass_matrix
from robodyn_ros.kinematics.reach import reach
from robodyn_ros.robot import Robot
from robodyn_ros.simulation.elastic_joints import resolving_step
from robodyn_ros.simulation.plant_model import PlantModel

_MAX_TIPS = 12

POSTURES = 32
"""Random postures whose gravity efforts are compared."""
_LARGEST_ROTOR_RATIO = 1e4
"""Ratio of a rotor's reflected inertia to that of its links beyond which a unit or gear ratio is likely wrong."""


def report(robot: Robot, file: Path) -> tuple[list[str], list[str]]:
    """Describe a robot.

    Args:
        robot: The robot.
        file: Its URDF.

    Returns:
        The lines of the description, and the doubts.
    """
    model = robot.model
    document, messages = read_document(read_source(file))
    gravity = gravity_efforts(robot)
    moving = sum(joint.inertia.mass for joint in model.joints)
    lines = [f"{model.name}: {model.n} joints, {len(model.frames)} links, {moving:.6g} kg moving, "
             f"reach {reach(model):.4g} m",
             f"base link {model.base_link}, tip link {model.tip_link}", *other_tips(model), "",
             *tree(document), *estimated(document), "", *joint_table(model, gravity), *coupled_motors(model), "",
             *dh_table(model)]
    boxes = link_boxes(model, document, mesh_folder(file))
    unchecked = has_meshes(model) and not is_installed("yourdfpy")
    return lines, [*find_doubts(document, messages, model, boxes, gravity, reach(model)),
                   *[f"the sizes of the links are not checked: {missing_message('yourdfpy')}"] * unchecked]


def other_tips(model: RobotModel) -> Iterator[str]:
    """Yield other possible tip links: links named like a tool frame, and links at or behind the tip."""
    behind = [model.frames[model.tip_link].joint]
    for index, joint in enumerate(model.joints):
        if joint.parent in behind:
            behind.append(index)
    found = [frame.name for frame in model.frames.values() if frame.name != model.tip_link
             and (is_tool_frame(frame.name) or frame.joint in behind and frame.joint >= 0)]
    if found:
        yield f"other links for --tip-link: {first_of(found, _MAX_TIPS)}"


def coupled_motors(model: RobotModel) -> Iterator[str]:
    """Yield the couplings of motors and joints; nothing if there are none."""
    for coupling in model.couplings:
        rows = "; ".join(f"motor of {joint} " + " ".join(f"{turns:+.6g}" for turns in row)
                         for joint, row in zip(coupling.joints, coupling.matrix, strict=True))
        yield f"coupled joints {', '.join(coupling.joints)}, turns of the motors for one of each joint: {rows}"


def tree(document: Document) -> Iterator[str]:
    """Yield the links as a tree: the joint, its type, its link, and the mass of that link."""
    children = defaultdict(list)
    for joint in document.joints.values():
        children[joint.find("parent").get("link")].append(joint)

    def labelled(link: str) -> str:
        mass = document.links[link].find("inertial/mass")
        return link if mass is None else f"{link}  {float(mass.get('value')):.4g} kg"

    yield labelled(document.base)
    pending = [(joint, "", joint is children[document.base][-1]) for joint in reversed(children[document.base])]
    while pending:  # a stack: chains may be longer than Python's call stack
        joint, indent, last = pending.pop()
        link = joint.find("child").get("link")
        mimics = joint.find("mimic")
        kind = joint.get("type") if mimics is None else f"{joint.get('type')}, mimics {mimics.get('joint')}"
        yield f"{indent}{'└─' if last else '├─'} {joint.get('name')} ({kind}) → {labelled(link)}"
        inner = indent + ("   " if last else "│  ")
        pending += [(child, inner, child is children[link][-1]) for child in reversed(children[link])]


def estimated(document: Document) -> Iterator[str]:
    """Yield the values estimated by ``robodyn complete``, after an empty line; nothing if there are none."""
    found = list(estimates(document))
    yield from ["", "estimated by robodyn complete:", *found] if found else ()


def joint_table(model: RobotModel, gravity: Array) -> Iterator[str]:
    """Yield limits, gravity effort, friction and rotor of the moving joints, and the mass from each to the next.

    Args:
        model: The robot.
        gravity: Result of `gravity_efforts`.
    """
    rows = [["joint", "kind", "lower", "upper", "velocity", "effort", "gravity", "mass", "damping", "friction",
             "armature"],
            ["", "", "[rad, m]", "[rad, m]", "[rad, m/s]", "[N m, N]", "[N m, N]", "[kg]", "[N m s, …]", "[N m, N]",
             "[kg m², kg]"]]
    for joint in model.joints:
        limits, leads = joint.limits, joint.name in model.joint_names
        numbers = (limits.lower, limits.upper, limits.velocity, limits.effort,
                   gravity[joint.dof] if leads else math.nan, joint.inertia.mass, joint.damping, joint.friction,
                   joint.armature)
        shown = ("none" if math.isinf(x) else "" if math.isnan(x) else f"{x:.4g}" for x in numbers)
        rows.append([joint.name, joint.kind if leads else "mimic", *shown])
    yield from aligned(rows, -10, 10, gap=" ")
    if model.has_inertia:
        yield f"gravity: the greatest effort that holds the robot in {POSTURES} random postures"
    if model.held:
        held = ", ".join(f"{name} at {position:.4g}" for name, position in model.held.items())
        yield f"held as if fixed, since no inertia moves with them: {held}"


def dh_table(model: RobotModel) -> Iterator[str]:
    """Yield the modified Denavit-Hartenberg parameters of the tip link's chain, or why there are none."""
    try:
        rows = find_denavit_hartenberg(model).rows
    except DescriptionError as error:
        yield f"no Denavit-Hartenberg table: {error}"
        return
    yield f"modified Denavit-Hartenberg parameters of the chain to {model.tip_link}"
    lines = [["joint", "a [m]", "alpha [deg]", "d [m]", "theta [deg]"]]
    for row in rows:
        numbers = np.array([row.a, math.degrees(row.alpha), row.d, math.degrees(row.theta)]).round(6) + 0.0  # no -0
        lines.append([row.name or "", *(f"{number:.6g}" for number in numbers)])
    yield from aligned(lines, 10, 12, 10, 12, gap=" ")


def gravity_efforts(robot: Robot) -> Array:
    """Return the greatest gravity effort in random postures, shape (n,) [N m or N].

    NaN for a robot without inertia.
    """
    model = robot.model
    if not model.has_inertia:
        return np.full(model.n, np.nan)
    gravity = robot.dynamics(compiled=False).gravity  # compiling takes longer than these calls
    return np.abs([gravity(q) for q in random_postures(model)]).max(axis=0).round(9)  # without rounding noise


def random_postures(model: RobotModel) -> Array:
    """Return random joint positions within the limits, or within half a turn or metre, shape (POSTURES, n)."""
    span = np.array([0.5 if joint.kind == "prismatic" else math.pi for joint in model.leaders])
    lower = np.where(np.isfinite(model.position_lower), model.position_lower, -span)
    upper = np.where(np.isfinite(model.position_upper), model.position_upper, span)
    return np.random.default_rng(0).uniform(lower, np.maximum(lower, upper), (POSTURES, model.n))


def link_boxes(model: RobotModel, document: Document, folder: Path) -> dict[str, Array]:
    """Return the bounding box of each link with known shapes, in its frame: corners, shape (2, 3) [m].

    Args:
        model: The robot.
        document: Its URDF.
        folder: Folder of the URDF file, to which mesh paths are relative.
    """
    corners: dict[str, list[Array]] = defaultdict(list)
    missing: set[str] = set()
    if not has_meshes(model) or not is_installed("yourdfpy"):
        return primitive_boxes(document)
    from robodyn_ros.toolbox.view.link_meshes import described_meshes  # its libraries need a second to import

    for shape in described_meshes(model, folder, [], missing):
        corners[shape.link].append(np.asarray(shape.mesh.bounds))
    return {link: np.array([np.min([low for low, _ in found], axis=0), np.max([high for _, high in found], axis=0)])
            for link, found in corners.items() if link not in missing}


def has_meshes(model: RobotModel) -> bool:
    """Whether a robot has shapes from mesh files."""
    return "<mesh" in model.description


def primitive_boxes(document: Document) -> dict[str, Array]:
    """Compute `link_boxes` for a robot with only boxes, cylinders and spheres."""
    for tag in ("visual", "collision"):
        boxes: dict[str, Array] = {}
        for name, link in document.links.items():
            with suppress(AttributeError, IndexError, TypeError, ValueError):  # the doubts report odd numbers
                corners = np.vstack([_corners(shape) for shape in link.iterchildren(tag)])
                boxes[name] = np.array([corners.min(axis=0), corners.max(axis=0)])
        if boxes:
            return boxes
    return {}


def _corners(shape: etree._Element) -> Array:
    """Return the corners of a primitive's bounding box, shape (8, 3), in the frame of its link [m]."""
    primitive = shape.find("geometry")[0]
    radius = float(primitive.get("radius", "nan"))
    size = {"box": lambda: [float(number) for number in primitive.get("size").split()],
            "cylinder": lambda: [2.0 * radius, 2.0 * radius, float(primitive.get("length"))],
            "sphere": lambda: [2.0 * radius] * 3}.get(primitive.tag, lambda: [math.nan])()
    if len(size) != 3 or not all(0.0 < length < math.inf for length in size):
        raise ValueError
    pose = read_origin(shape)
    return np.array(list(itertools.product((-0.5, 0.5), repeat=3))) * size @ pose[:3, :3].T + pose[:3, 3]


def describe_actuators(robot: Robot, file: str, step: float) -> tuple[list[str], list[str]]:
    """Describe the actuators and the elastic joints of a robot.

    Args:
        robot: The robot as described.
        file: YAML file of its actuators, or its name in config/.
        step: Step of the simulation, which must resolve the springs [s].

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
    """Return the net efforts of slow motors at their joints for currents, shape (n,).

    Args:
        actuators: Actuators of the joints; for coupled motors, values are those at the gear outputs.
        current: Shape (n,) [A].

    Returns:
        Efforts, not negative; 0 for ideal sources [N m or N].
    """
    motor = np.abs(actuators.circuits.effort_per_current) * np.where(actuators.is_motor, current, 0.0)
    return np.maximum(0.0, motor - actuators.gear_friction(motor, np.zeros(actuators.n)))


def stall_torque(actuators: JointActuators) -> Array:
    """Return the greatest effort of motors at rest within the limits of their amplifiers, shape (n,) [N m or N]."""
    by_voltage = actuators.limits.voltage_limit / actuators.motors.motor.resistance
    return drive_torque(actuators, np.minimum(by_voltage, actuators.circuits.greatest_current))


def no_load_speed(actuators: JointActuators) -> Array:
    """Return the joint speeds at which motors at their voltage limits deliver no effort, shape (n,) [rad/s, m/s].

    Friction at the motor shafts is included, joint friction is not.
    """
    motor, gear = actuators.motors.motor, np.abs(actuators.motors.gear.ratio)
    current = actuators.losses.motor_friction / (actuators.losses.efficiency * motor.torque_constant)
    damping = actuators.losses.motor_damping / (actuators.losses.efficiency * motor.torque_constant)
    left = actuators.limits.voltage_limit - motor.resistance * current
    return np.maximum(0.0, left / (motor.back_emf_constant + motor.resistance * damping) / gear)


def links_inertia(robot: Robot) -> Array:
    """Return the greatest inertia of the links about each joint in random postures, shape (n,) [kg m^2 or kg]."""
    model = robot.ignoring("rotors").model
    return np.max([np.diag(mass_matrix(model, q)) for q in random_postures(model)], axis=0)


def motor_table(robot: Robot, plant: PlantModel, rated: Array) -> Iterator[str]:
    """Yield motor torques and speeds at the joints, rotor and link inertias, and friction.

    Args:
        robot: The robot as described.
        plant: The robot with its actuators.
        rated: Permanent torque, NaN if unknown, shape (n,) [N m or N].
    """
    actuators, known = plant.actuators, robot.with_actuators(plant.actuators, plant.friction).model
    columns = (stall_torque(actuators), rated, no_load_speed(actuators), actuators.reflected_inertia,
               links_inertia(robot), known.damping, known.friction)
    rows = [["motor of", "stall", "rated", "no load", "rotor", "links", "viscous", "dry"],
            ["", "[N m, N]", "[N m, N]", "[rad/s, m/s]", "[kg m², kg]", "[kg m², kg]", "[N m s, …]", "[N m, N]"]]
    for name, is_motor, *numbers in zip(robot.joint_names, actuators.is_motor, *columns, strict=True):
        of_motor = ("" if np.isnan(x) else f"{x:.4g}" for x in numbers[:4])
        rows.append([name, *(of_motor if is_motor else ("none", "", "", "")), *(f"{x:.4g}" for x in numbers[4:])])
    yield from aligned(rows, 12, gap=" ")
    yield ("stall, rated: at rest, less the losses of the gear; links: their greatest inertia in random postures; "
           "viscous, dry: friction of joint and motor, the latter at rest, without load")


def motor_doubts(robot: Robot, plant: PlantModel, rated: Array) -> Iterator[str]:
    """Yield doubts about motors; arguments as for `motor_table`."""
    actuators, model, gravity = plant.actuators, robot.model, gravity_efforts(robot)
    stall, fastest, rotor = stall_torque(actuators), no_load_speed(actuators), actuators.reflected_inertia
    links, dry = links_inertia(robot), robot.with_actuators(plant.actuators, plant.friction).model.friction
    for j in np.flatnonzero(actuators.is_motor & ~actuators.is_coupled):
        place, unit = f"motor of joint '{model.joint_names[j]}'", model.leaders[j].effort_unit
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
        elif rotor[j] > _LARGEST_ROTOR_RATIO * links[j]:
            yield (f"{place}: its rotor has {rotor[j]:.4g} at the joint, the links have {links[j]:.4g}: is the one in "
                   "kg m^2, and the gear ratio in motor turns per joint turn?")


def transmissions(plant: PlantModel) -> tuple[list[str], list[str]]:
    """Describe the elastic joints of a plant.

    Args:
        plant: The simulated robot, in positions 0.

    Returns:
        The lines of the description (none for a rigid robot), and the doubts.
    """
    joints = plant.elastic.joints
    if not len(joints):
        return ["elastic joints: none"], []
    names = [plant.model.joint_names[joint] for joint in joints]
    actuators, link = plant.actuators, np.diag(mass_matrix(plant.model, np.zeros(plant.n)))[joints]
    stiffness, rotor = actuators.transmission.stiffness[joints], actuators.reflected_inertia[joints]
    locked = np.sqrt(stiffness / link) / (2.0 * np.pi)
    alone = np.sqrt(stiffness * (1.0 / link + 1.0 / rotor)) / (2.0 * np.pi)
    columns = (stiffness, actuators.transmission.backlash[joints], locked, alone)
    rows = [[name, *(f"{number:.4g}" for number in numbers)] for name, *numbers in zip(names, *columns, strict=True)]
    lines = aligned([["elastic joint", "stiffness", "backlash", "motor locked", "motor free"],
                     ["", "[N m/rad, N/m]", "[rad, m]", "[Hz]", "[Hz]"], *rows], 13, gap=" ")
    rates, modes = plant.elastic.modes_at_zero()
    fastest, name = float(rates[-1]), names[int(np.argmax(np.abs(modes[:, -1])))]
    lines.append(f"fastest mode: {fastest / (2.0 * np.pi):.4g} Hz, mainly of {name}; steps of "
                 f"{resolving_step(fastest):.3g} s have it within 1 %, in positions 0, without damping and backlash")
    doubt = plant.elastic.unresolved_mode()
    return lines, [doubt] if doubt else []
