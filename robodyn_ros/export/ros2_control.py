# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""A control law as a package of ros2_control: a plugin of controller_interface in C++ around the law in C."""

from __future__ import annotations

import json
import re
from typing import Any
from xml.sax.saxutils import escape

import numpy as np
import yaml

from robodyn_ros import __version__
from robodyn_ros.actuation.joint_actuators import JointActuators
from robodyn_ros.compile import trace
from robodyn_ros.control.compiled_law import PackedParameters
from robodyn_ros.control.controller import JointReference, Law
from robodyn_ros.control.laws.damping import Damping
from robodyn_ros.control.supervisor import SupervisorSettings
from robodyn_ros.control.trajectories.joint_trajectory import MOST_POINTS
from robodyn_ros.description.model import Array
from robodyn_ros.dynamics.robot_dynamics import InlineDynamics
from robodyn_ros.errors import InputError
from robodyn_ros.export.c_function import CFunction, identifier
from robodyn_ros.export.c_law import SettableGain, law_source, settable
from robodyn_ros.export.c_motion import filled, motion_source, template
from robodyn_ros.export.c_source import CSource, source_of
from robodyn_ros.kinematics.quaternions import quaternion_by_largest_element
from robodyn_ros.robot import Robot

_OWN = ("command_interface", "gravity_compensation", "wrench_tip_interfaces", "trajectory_limits", "runaway_factor",
        "speed_scaling", "supervisor", "constraints", "gains")
"""Parameters of the controller beside those of its law."""


def ros2_control_package(law: Law[Any, Any, Any], name: str, period: float,
                         actuators: JointActuators | None = None) -> dict[str, str]:
    """Write a law as an ament_cmake package for ros2_control.

    Args:
        law: The law, with the gains that the controller begins with.
        name: Of the law, in names of the package and of C.
        period: Control period for which its defaults hold [s].
        actuators: Motors, for the command interface ``voltage``; None: ``effort`` alone.

    Returns:
        Texts of the files by their path in the package; the first folder has the package's name.

    Raises:
        InputError: It is no `Law`, a joint has no motor, or names of joints or gains are not distinct in C.
        CompileError: The law cannot be traced.
        DescriptionError: The robot has no inertia.
    """
    source = law_source(law, name)
    robot, prefix = law.robot, identifier(law.robot.name)
    package = re.sub(r"_+", "_", identifier(f"{robot.name}_{name}_controller").lower()).strip("_")
    if not package[0].isalpha():
        package = f"robot_{package}"
    gains = list(settable(law.parameters, robot, PackedParameters(law.parameters)))
    sources = [source, motion_source(robot)]
    if source.name != f"{prefix}_damping":
        sources.append(law_source(Damping(robot), "damping"))
    if law.follows is not None and "position" in law.follows.shapes(robot.n):
        sources.append(tip_source(robot))
    if actuators is not None:
        sources.append(voltage_source(robot, actuators))
    joints = ", ".join(json.dumps(joint) for joint in robot.joint_names)
    values = {
        "version": __version__, "package": package, "PACKAGE": package.upper(), "robot": prefix,
        "ROBOT": prefix.upper(), "law": source.name, "safe": f"{prefix}_damping", "n": str(robot.n),
        "robot_name": escape(" ".join(robot.name.split())),
        "law_name": name, "law_class": f"{type(law).__module__}.{type(law).__name__}",
        "joints": joints, "references": "0" if law.follows is None else "3", "gains": str(len(gains)),
        "most_points": str(MOST_POINTS), "period": f"{period:g}", "rate": f"{round(1.0 / period)}",
        "includes": "\n".join(f'#include "{each.name}.h"' for each in sources),
        "c_files": "\n  ".join(f"src/{each.name}.c" for each in sources),
        "joint_list": ", ".join(f"`{joint}`" for joint in robot.joint_names),
        "or_voltage": " or `voltage` (parameter `command_interface`)" if actuators is not None else "",
        "example_gain": f"{gains[0].parameter.name} {gains[0].parameter.value}" if gains else "speed_scaling 0.5",
        "motion_lines": _README_OF_MOTION if law.follows is not None else "- The law follows no reference.",
        **_snippets(law, source.name, prefix, gains, actuators is not None)}
    written = {"package.xml": "package.xml", "CMakeLists.txt": "CMakeLists.txt", f"{package}.xml": "plugin.xml",
               "README.md": "README.md", "src/controller.cpp": "controller.cpp", "src/mailbox.hpp": "mailbox.hpp",
               "test/test_controller.cpp": "test_controller.cpp"}
    files = {path: filled(template(f"ros2_control/{name}.in"), values) for path, name in written.items()}
    files["src/parameters.yaml"] = _parameters(robot, package, gains, actuators is not None)
    files |= {f"src/{each.name}.{kind}": text for each in sources for kind, text in (("h", each.header),
                                                                                    ("c", each.source))}
    return {f"{package}/{path}": text for path, text in files.items()}


def tip_source(robot: Robot) -> CSource:
    """The reference of the tip link by a reference of the joints, in C: forward kinematics and their derivatives."""
    dynamics = InlineDynamics(robot.model)

    def tip_reference(q: Array, v: Array, a: Array) -> Array:
        pose, jacobian = dynamics.forward_kinematics(q), dynamics.jacobian(q)
        return np.concatenate([pose[:3, 3], quaternion_by_largest_element(pose[:3, :3]), jacobian @ v,
                               jacobian @ a + dynamics.jacobian_derivative(q, v) @ v])

    prefix = identifier(robot.name)
    function = CFunction(f"{prefix}_tip_reference", trace(tip_reference, dict.fromkeys("qva", (robot.n,))), (
        "Reference of the tip link in base axes: position [m], quaternion x, y, z, w, twist and its derivative.",),
        {"position": (3,), "quaternion": (4,), "twist": (6,), "acceleration": (6,)})
    return source_of(f"{prefix}_tip", robot, [function], "double")


def voltage_source(robot: Robot, actuators: JointActuators) -> CSource:
    """The motor voltages that give efforts at velocities, within the limits of the amplifiers, in C.

    Raises:
        InputError: A joint has no motor.
    """
    without = [name for name, motor in zip(robot.joint_names, actuators.is_motor, strict=True) if not motor]
    if without:
        raise InputError("export: expected a motor for every joint for the command interface voltage, received none "
                         f"for {', '.join(map(repr, without))}")
    prefix = identifier(robot.name)
    function = CFunction(f"{prefix}_voltage", trace(
        lambda effort, v: actuators.limited_voltage(actuators.wanted_voltage(effort, v)),
        {"effort": (robot.n,), "v": (robot.n,)}), ("Voltages of the motors for efforts at velocities [V].",),
        {"voltage": (robot.n,)})
    return source_of(f"{prefix}_voltage", robot, [function], "double")


def _snippets(law: Law[Any, Any, Any], name: str, robot: str, gains: list[SettableGain], has_voltage: bool
              ) -> dict[str, str]:
    """Lines of C++ that depend on the gains and on the reference of the law."""
    rows = "\n".join(f"    settings.gains[{i}] = params.{_member(gain.parameter.name)};"
                     for i, gain in enumerate(gains))
    n = law.robot.n
    tolerances = "\n".join(
        f"    settings.{field}[{j}] = or_any(params.constraints.{identifier(joint)}.{given});"
        for j, joint in enumerate(law.robot.joint_names) for field, given in (("path", "trajectory"), ("goal", "goal")))
    sets = (f"    for (int gain = 0; gain < {len(gains)}; ++gain) {{\n"
            f"      (void){name}_set_gain(&law_, gain, settings.gains[static_cast<std::size_t>(gain)]);\n    }}")
    lines, given = [], ""
    if law.follows is not None:
        fields, given = law.follows.shapes(n), "&reference, "
        lines.append(f"{name}_reference reference{{}};")
        if "position" in fields:
            lines.append(f"{robot}_tip_reference(reference_.q, reference_.v, reference_.a, reference.position, "
                         "reference.quaternion,\n        reference.twist, reference.acceleration);")
        lines += [f"std::copy_n(reference_.{field}, N, reference.{field});" for field in JointReference.shapes(n)]
    lines.append(f"{name}_tick(&law_, &state_, {given}effort);")
    voltage = ("    if (command_interface_ == \"voltage\") {\n      double effort[N];\n"
               "      std::copy_n(command, N, effort);\n"
               f"      {robot}_voltage(effort, state_.v, command);\n    }}") if has_voltage else ""
    return {"gain_values": rows, "tolerances": tolerances, "set_gains": sets if gains else "",
            "tick": "\n".join(f"      {line}" for line in lines), "voltage": voltage}


def _member(parameter: str) -> str:
    return ".".join(identifier(part) for part in parameter.split("."))


def _parameters(robot: Robot, package: str, gains: list[SettableGain], has_voltage: bool) -> str:
    """The YAML of generate_parameter_library."""
    defaults = SupervisorSettings()

    def number(value: float, lowest: float, highest: float, text: str) -> dict[str, Any]:
        return {"type": "double", "default_value": value, "description": text,
                "validation": {"bounds<>": [float(lowest), float(highest)]}}

    def choice(words: list[str], text: str, **rest: Any) -> dict[str, Any]:
        return {"type": "string", "default_value": words[0], "description": text, "validation": {"one_of<>": [words]},
                **rest}

    tree: dict[str, Any] = {
        "command_interface": choice(["effort", *(["voltage"] if has_voltage else [])],
                                    "Command interface of the joints", read_only=True),
        "gravity_compensation": choice(["command", "driver"], "Who compensates gravity: the commanded efforts, or the "
                                       "driver, for which they leave it out", read_only=True),
        "wrench_tip_interfaces": {
            "type": "string_array", "default_value": [], "read_only": True, "description":
            "State interfaces of the force and torque that the environment exerts on the tip link, in base axes about "
            "its origin; none: not measured"},
        "trajectory_limits": choice(["warn", "scale", "refuse"], "What happens to a trajectory in which a joint "
                                    "exceeds its velocity limit"),
        "runaway_factor": number(defaults.runaway_factor, 0.0, 1000.0, "Speed at which a joint ran away and the robot "
                                 "is stopped, relative to its velocity limit; 0: never"),
        "speed_scaling": number(1.0, 0.0, 1.0, "Speed of trajectories, relative to the one asked for"),
        "supervisor": {
            "effort_rate": number(0.0, 0.0, 1e6, "Greatest change of a joint's effort per second, relative to its "
                                  "effort limit [1/s]; 0: any"),
            "position_margin": number(0.0, 0.0, 10.0, "Distance from a position limit within which the robot is "
                                      "stopped if the joint moves on towards it [rad or m]; 0: none"),
            "tip_speed": number(0.0, 0.0, 100.0, "Speed of the tip link above which the robot is stopped [m/s]; 0: "
                                "any"),
            "workspace": {"type": "double_array", "default_value": [0.0] * 6, "description":
                          "Box that the tip link's origin must not leave: lowest and highest x, y, z in base axes [m]; "
                          "six zeros: none", "validation": {"fixed_size<>": [6]}},
            "soft_start": number(0.0, 0.0, 60.0, "Time after a start in which efforts go from those against gravity to "
                                 "those of the law [s]")},
        "constraints": {
            "goal_time": number(0.0, 0.0, 3600.0, "Time after the end of a trajectory within which its goal must be "
                                "reached [s]; 0: any"),
            "stopped_velocity_tolerance": number(0.01, 0.0, 1e5, "Velocity below which a joint is at rest at its goal "
                                                 "[rad/s or m/s]; 0: any")}}
    for joint in robot.joint_names:
        _put(tree, f"constraints.{joint}", {
            "trajectory": number(0.0, 0.0, 1e6, "Greatest distance from the reference [rad or m]; 0: any"),
            "goal": number(0.0, 0.0, 1e6, "Greatest distance from the goal at which it is reached [rad or m]; 0: any")})
    for parameter in (gain.parameter for gain in gains):
        if parameter.name in _OWN:
            raise InputError(f"export: gain '{parameter.name}' has the name of a parameter of the controller; rename "
                             "it in the law")
        unit = f" [{parameter.unit}]" if parameter.unit else ""
        _put(tree, parameter.name, number(float(parameter.value), parameter.minimum, parameter.maximum,
                                          parameter.description + unit))
    return yaml.safe_dump({package: tree}, sort_keys=False, width=110, allow_unicode=False)


def _put(tree: dict[str, Any], path: str, leaf: dict[str, Any]) -> None:
    """Put a leaf at a path of names with dots, each a name of C++."""
    *parents, last = path.split(".")
    for part in parents:
        tree = tree.setdefault(identifier(part), {})
    if identifier(last) in tree:
        raise InputError(f"export: '{path}' and another name are the same in C++; rename one of them")
    tree[identifier(last)] = leaf


_README_OF_MOTION = """\
- It follows `~/joint_trajectory` (trajectory_msgs/JointTrajectory) by quintics through the points, and holds the last.
  `constraints.*` are tolerances as of joint_trajectory_controller; a path tolerance that is violated ends the motion.
- A controller before it may set `JOINT/position`, `JOINT/velocity` and `JOINT/acceleration` of this controller instead
  (chained mode); the topic is then refused."""
