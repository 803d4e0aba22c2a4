# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""A control law as a package for ros2_control: a controller plugin in C++ around the law in C."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any
from xml.sax.saxutils import escape

import numpy as np
import yaml

from robodyn_ros import __version__
from robodyn_ros.actuation.joint_actuators import JointActuators
from robodyn_ros.base.errors import InputError
from robodyn_ros.base.fields import Field
from robodyn_ros.compile import trace
from robodyn_ros.compile.loops_in_c import identifier
from robodyn_ros.control.contract.compiled_law import PackedParameters
from robodyn_ros.control.contract.controller import JointReference, Law
from robodyn_ros.control.contract.law_inputs import state_form
from robodyn_ros.control.laws.damping import Damping
from robodyn_ros.control.references.goal_tolerances import constraint_parameters
from robodyn_ros.control.references.joint_trajectory import MAX_POINTS
from robodyn_ros.control.references.trajectory_limits import EXCESSIVE_SPEEDS
from robodyn_ros.control.runtime import supervisor
from robodyn_ros.control.runtime.bumpless_transfer import SWAP_TIME
from robodyn_ros.control.runtime.state_prediction import DELAY_COMPENSATION
from robodyn_ros.description.model import Array
from robodyn_ros.dynamics.robot_dynamics import InlineDynamics
from robodyn_ros.kinematics.quaternions import quaternion_by_largest_element
from robodyn_ros.robot import Robot
from robodyn_ros.toolbox.export.c_delay import HISTORY, delay_source
from robodyn_ros.toolbox.export.c_function import CFunction
from robodyn_ros.toolbox.export.c_law import SettableGain, law_source, settable
from robodyn_ros.toolbox.export.c_motion import filled, motion_source, template
from robodyn_ros.toolbox.export.c_source import CSource, files_of, source_of

_OWN = ("command_interface", "gravity_compensation_by", "wrench_tip_interfaces", "trajectory_limits", "runaway_factor",
        "delay_compensation", "speed_scaling", "supervisor", "swap_time", "constraints", "gains")
"""Parameters of the controller besides those of its law."""

_DESCRIPTIONS = {"runaway_factor": "Speed at which a joint ran away and the robot is stopped, relative to its velocity "
                 "limit; 0: never"}
"""Descriptions of parameters that differ from the controller node: here no other law can replace this one."""


def ros2_control_package(law: Law[Any, Any, Any], name: str, actuators: JointActuators | None = None
                         ) -> dict[str, str]:
    """Write a law as an ament_cmake package for ros2_control.

    Args:
        law: The law, with the initial gains of the controller; the period in its robot's timing is that of the
            controller manager.
        name: Name of the law in names of the package and of C.
        actuators: Motors, for the command interface ``voltage``; None: ``effort`` only.

    Returns:
        Texts of the files by path; the first folder is the package.

    Raises:
        InputError: The law is no `Law` or reads more than joints and the wrench, a joint has no motor, or names of
            joints or gains are not distinct in C.
        CompileError: The law cannot be traced.
        DescriptionError: The robot has no inertia.
    """
    source = law_source(law, name)
    if sensed := state_form(type(law), law.robot.n).shapes:
        raise InputError(f"export: the law '{name}' reads {', '.join(sensed)}, and a controller of ros2_control has "
                         "joints and wrenches alone here; export the law as C, whose state has these")
    robot, prefix = law.robot, identifier(law.robot.name)
    package = identifier(f"{robot.name}_{name}_controller").lower()
    gains = list(settable(law.parameters, robot, PackedParameters(law.parameters)))
    sources = [source, motion_source(robot, law=name), delay_source(robot, law=name)]
    safe = source if isinstance(law, Damping) else law_source(Damping(robot), "damping")
    if safe is not source:
        sources.append(safe)
    if law.follows is not None and "position" in law.follows.shapes(robot.n):
        sources.append(tip_source(robot))
    if actuators is not None:
        sources.append(voltage_source(robot, actuators))
    joints = ", ".join(json.dumps(joint) for joint in robot.joint_names)
    values = {
        "version": __version__, "package": package, "PACKAGE": package.upper(), "robot": prefix,
        "ROBOT": prefix.upper(), "law": source.name, "safe": safe.name, "n": str(robot.n),
        "robot_name": escape(" ".join(robot.name.split())),
        "law_name": name, "law_class": f"{type(law).__module__}.{type(law).__name__}",
        "law_is_safe": "true" if safe is source else "false",
        "joints": joints, "references": "0" if law.follows is None else "3", "gains": str(len(gains)),
        "most_points": str(MAX_POINTS), "timing": str(robot.timing), "rate": f"{round(1.0 / robot.timing.period)}",
        "includes": "\n".join(f'#include "{each.name}.h"' for each in sources),
        "c_files": "\n  ".join(f"src/{each.name}.c" for each in sources),
        "joint_list": ", ".join(f"`{joint}`" for joint in robot.joint_names),
        "or_voltage": " or `voltage` (parameter `command_interface`)" if actuators is not None else "",
        "example_gain": f"{gains[0].parameter.name} {gains[0].parameter.value}" if gains else "speed_scaling 0.5",
        "header": "controller_interface" if law.follows is None else "chainable_controller_interface",
        "interface": "ControllerInterface" if law.follows is None else "ChainableControllerInterface",
        "base": _UNCHAINED if law.follows is None else _CHAINED,
        "motion_lines": _README_OF_MOTION if law.follows is not None else "- The law follows no reference.",
        **_snippets(law, source.name, prefix, gains, actuators is not None)}
    written = {"package.xml": "package.xml", "CMakeLists.txt": "CMakeLists.txt", f"{package}.xml": "plugin.xml",
               "README.md": "README.md", "src/controller.cpp": "controller.cpp", "src/mailbox.hpp": "mailbox.hpp",
               "test/test_controller.cpp": "test_controller.cpp"}
    files = {path: filled(template(f"ros2_control/{name}.in"), values) for path, name in written.items()}
    files["src/parameters.yaml"] = _parameters(robot, package, gains, actuators is not None)
    files |= {f"src/{path}": text for path, text in files_of(sources).items()}
    return {f"{package}/{path}": text for path, text in files.items()}


def tip_source(robot: Robot) -> CSource:
    """C code of the tip link's reference from a joint reference: forward kinematics and derivatives."""
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
    """C code of the motor voltages for efforts at velocities, within the limits of the amplifiers.

    Raises:
        InputError: A joint has no motor.
    """
    actuators.check_motors(robot.joint_names, "export: actuators")
    prefix = identifier(robot.name)
    function = CFunction(f"{prefix}_voltage", trace(
        actuators.circuits.commanded_voltage, {"effort": (robot.n,), "v": (robot.n,)}), (
            "Voltages of the motors for efforts at velocities [V].",), {"voltage": (robot.n,)})
    return source_of(f"{prefix}_voltage", robot, [function], "double")


def _snippets(law: Law[Any, Any, Any], name: str, robot: str, gains: list[SettableGain], has_voltage: bool
              ) -> dict[str, str]:
    """Lines of C++ that depend on the gains and the reference of the law."""
    rows = "\n".join(f"    settings.gains[{i}] = params.{_member(gain.parameter.name)};"
                     for i, gain in enumerate(gains))
    n = law.robot.n
    tolerances = "\n".join(
        f"    tolerances.{field}.q[{j}] = or_any(params.constraints.{identifier(joint)}.{given});"
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
    lines.append(f"const bool finite = {name}_tick(&law_, &seen_, {given}effort) == 0;")
    voltage = ("    if (command_interface_ == \"voltage\") {\n      double effort[N];\n"
               "      std::copy_n(command, N, effort);\n"
               f"      {robot}_voltage(effort, state_.v, command);\n    }}") if has_voltage else ""
    return {"gain_values": rows, "tolerances": tolerances, "set_gains": sets if gains else "",
            "tick": "\n".join(f"      {line}" for line in lines), "voltage": voltage}


def _member(parameter: str) -> str:
    return ".".join(identifier(part) for part in parameter.split("."))


def _parameters(robot: Robot, package: str, gains: list[SettableGain], has_voltage: bool) -> str:
    """The YAML file for generate_parameter_library."""
    commanded = ("effort", "voltage") if has_voltage else ("effort",)
    own = [
        Field("command_interface", commanded[0], "Command interface of the joints", choices=commanded, structural=True),
        Field("gravity_compensation_by", "command", "Who compensates gravity: the commanded efforts, or the driver, "
              "for which they leave it out", choices=("command", "driver"), structural=True),
        Field("wrench_tip_interfaces", [], "State interfaces of the force and torque that the environment exerts on "
              "the tip link, in base axes about its origin; none: not measured", kind=str, structural=True),
        EXCESSIVE_SPEEDS,
        replace(DELAY_COMPENSATION, maximum=min(DELAY_COMPENSATION.maximum, HISTORY * robot.timing.period)),
        *supervisor.PARAMETERS, SWAP_TIME, *constraint_parameters(robot.model)]
    tree: dict[str, Any] = {}
    for field in own:
        _put(tree, field.name, _entry(field))
    for gain in (gain.parameter for gain in gains):
        if gain.name in _OWN:
            raise InputError(f"export: gain '{gain.name}' has the name of a parameter of the controller; rename it in "
                             "the law")
        _put(tree, gain.name, _entry(gain))
    return yaml.safe_dump({package: tree}, sort_keys=False, width=110, allow_unicode=False)


def _entry(field: Field) -> dict[str, Any]:
    """A parameter in the form of generate_parameter_library."""
    kind = {str: "string", float: "double"}[field.value_type] + "_array" * field.is_list
    check = ({"one_of<>": [list(field.choices)]} if field.choices else {"fixed_size<>": [field.length]} if field.length
             else {"bounds<>": [float(field.minimum), float(field.maximum)]} if not field.is_list else {})
    default = float(field.default) if kind == "double" else field.default
    text = _DESCRIPTIONS.get(field.name) or field.text.removesuffix(".")
    return {"type": kind, "default_value": default, "description": text,
            **({"validation": check} if check else {}), **({"read_only": True} if field.structural else {})}


def _put(tree: dict[str, Any], path: str, leaf: dict[str, Any]) -> None:
    """Insert a leaf at a dotted path, whose parts become names of C++."""
    *parents, last = path.split(".")
    for part in parents:
        tree = tree.setdefault(identifier(part), {})
    if identifier(last) in tree:
        raise InputError(f"export: '{path}' and another name are the same in C++; rename one of them")
    tree[identifier(last)] = leaf


_CHAINED = """\
using Base = controller_interface::ChainableControllerInterface;

"""
_UNCHAINED = """\
/// The law follows no reference; the manager refuses chainable controllers without reference interfaces.
class Base : public controller_interface::ControllerInterface
{
public:
  return_type update(const rclcpp::Time & time, const rclcpp::Duration & period) override
  {
    return update_and_write_commands(time, period);
  }

protected:
  virtual std::vector<hardware_interface::CommandInterface> on_export_reference_interfaces() = 0;
  virtual bool on_set_chained_mode(bool chained) = 0;
  virtual return_type update_reference_from_subscribers(const rclcpp::Time & time, const rclcpp::Duration & period) = 0;
  virtual return_type update_and_write_commands(const rclcpp::Time & time, const rclcpp::Duration & period) = 0;

  std::vector<double> reference_interfaces_;
};

"""

_README_OF_MOTION = """\
- It follows `~/joint_trajectory` (trajectory_msgs/JointTrajectory) and goals of the action `~/follow_joint_trajectory`
  (control_msgs/FollowJointTrajectory) by quintics through the points, and holds the last. It follows one motion; a new
  one takes its place. `constraints.*` are tolerances as of joint_trajectory_controller, which goals may override; a
  path tolerance that is violated ends the motion.
- A controller before it may set `JOINT/position`, `JOINT/velocity` and `JOINT/acceleration` of this controller instead
  (chained mode); the topic is then refused."""
