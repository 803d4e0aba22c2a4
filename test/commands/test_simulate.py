# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The whole graph in one process, as `robodyn simulate` starts it."""

import os
import re
import signal
import sys
from pathlib import Path

import pytest
import yaml
from rcl_interfaces.srv import GetParameters, ListParameters
from ros_process import RosProcess, RosTest
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from shipped import few
from tf2_msgs.msg import TFMessage
from urdf_parts import joint, link, robot

from robodyn_interfaces.msg import ActuatorStates, ControllerState, VoltageCommands
from robodyn_interfaces.srv import Gravity
from robodyn_ros.base.errors import InputError
from robodyn_ros.base.fields import declared
from robodyn_ros.commands.command_line import main
from robodyn_ros.commands.simulation_setup import (
    ENGINES,
    NODES,
    TIME_MODES,
    SimulationSettings,
    has_simulated_time,
    set_up,
)
from robodyn_ros.description.resources import config_file
from robodyn_ros.nodes.common.discovery import RANGE
from robodyn_ros.nodes.hardware.parameters import TimeMode
from robodyn_ros.simulation.engine import Engine


def simulate(*options):
    return RosProcess("simulate", command=("-m", "robodyn_ros", "simulate", *options))


def stamp(message):
    return message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec


def flat(values, prefix=""):
    """Names of parameters in groups, as ROS has them: with dots."""
    for name, value in values.items():
        if isinstance(value, dict):
            yield from flat(value, f"{prefix}{name}.")
        else:
            yield prefix + name


def test_all_nodes_work_in_one_process(monkeypatch):
    options = ("--robot", "planar_2r", "--controller", "computed_torque", "--time-mode", "lockstep",
               "--speed-limit", "4")
    with monkeypatch.context() as bare:
        bare.delenv(RANGE)
        started = simulate(*options, "--namespace", "cell")
    with started as process, RosTest(namespace="cell") as ros:
        states, clock = ros.record(JointState, "joint_states"), ros.record(Clock, "/clock")
        control, transforms = ros.record(ControllerState, "controller/controller_state"), ros.record(TFMessage, "/tf")
        gravity = ros.record(JointState, "dynamics/gravity_effort")
        ros.wait_for(lambda: control and clock and transforms and gravity and stamp(states[-1]) > 1.0,
                     "a simulated second of the whole graph")
        assert control[-1].controller == "computed_torque"
        answer = ros.call(Gravity, "dynamics/gravity", position=[0.0, 0.0])
        assert answer.success, answer.message
        assert process.output().count("discovery: this machine alone (ROS_AUTOMATIC_DISCOVERY_RANGE = LOCALHOST") == 1
        process.stop()


def test_a_law_moves_servos_whose_rotors_are_most_of_the_inertia(tmp_path, capsys):
    """Without the rotors and the friction of its actuators, the law leaves the joint 0.6 rad from its goal."""
    inertial = ('<inertial><origin xyz="0 0 0.04"/><mass value="0.09"/>'
                '<inertia ixx="4e-5" iyy="4e-5" izz="4e-5" ixy="0" ixz="0" iyz="0"/></inertial>')
    limit = '<limit lower="-2.8" upper="2.8" velocity="4.6" effort="2.9"/>'
    urdf, motors = tmp_path / "wrist.urdf", tmp_path / "servos.yaml"
    urdf.write_text(robot(link("base", ""), joint("wrist_flex", "base", "wrist", axis="0 1 0", limit=limit),
                          link("wrist", inertial), joint("wrist_roll", "wrist", "gripper", limit=limit),
                          link("gripper", inertial)))
    servo = {"actuator": {"motor": "feetech_sts3215_12v"}}
    motors.write_text(yaml.safe_dump({"joints": {"wrist_flex": servo, "wrist_roll": servo}}))
    with simulate("--robot", str(urdf), "--actuators", str(motors), "--controller", "pd_gravity", "--speed-limit", "4",
                  "--namespace", "wrist") as process, RosTest(namespace="wrist") as ros:
        states = ros.record(JointState, "joint_states")
        ros.wait_for(lambda: process.check() or states, "joint states")
        assert main(["move", "--namespace", "wrist", "wrist_roll=60deg"]) == 0, capsys.readouterr().err
        reached = re.search(r"([0-9.e-]+) rad from its goal", capsys.readouterr().out)
        assert float(reached[1]) < 0.01
        process.stop()


def children(pid):
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@pytest.mark.long
def test_killed_nodes_are_restarted_and_the_arm_stands_still_until_the_bound():
    options = ("--robot", "arm6", "--controller", "computed_torque", "--restarts", "1", "--namespace", "again")
    patient = ("--ros-args", "-p", "command_timeout:=2.0")  # no arm sinks because a busy computer held it up for 0.1 s
    with simulate(*options, *patient) as process, RosTest(namespace="again") as ros:
        states = ros.record(JointState, "joint_states")
        control = ros.record(ControllerState, "controller/controller_state")
        ros.wait_for(lambda: control, "control")
        rest = states[0].position
        [nodes] = children(process.pid)
        os.kill(nodes, signal.SIGKILL)
        process.wait_for_output("robodyn: error: the nodes ended by SIGKILL; restart 1 of 1 in 1 s")
        states.clear(), control.clear()
        ros.wait_for(lambda: len(states) > 100 and control, "joint states and control after the restart")
        assert control[-1].controller == "computed_torque"
        for state in states:
            assert max(map(abs, state.velocity)) < 1e-3
            assert state.position == pytest.approx(rest, abs=1e-4)
        [nodes] = children(process.pid)
        os.kill(nodes, signal.SIGKILL)
        assert process.wait() == 128 + signal.SIGKILL
        assert "the nodes ended by SIGKILL; given up after 1 restarts" in process.output()


@pytest.mark.long
def test_dc_motors_are_driven_by_voltage_as_docs_hardware_shows():
    options = ("--robot", "planar_2r", "--controller", "computed_torque", "--time-mode", "lockstep",
               "--speed-limit", "4", "--actuators", "hardware_dc_motors", "--namespace", "volts")
    with simulate(*options, "--ros-args", "-p", "output:=voltage") as process, RosTest(namespace="volts") as ros:
        states = ros.record(JointState, "joint_states")
        actuators = ros.record(ActuatorStates, "hardware/actuator_states")
        commands = ros.record(VoltageCommands, "voltage_commands", 100)
        ros.wait_for(lambda: states and stamp(states[-1]) > 1.0 and actuators, "a simulated second")
        assert ros.node.count_publishers("joint_commands") == 0
        assert max(abs(value) for value in states[-1].position) < 0.05  # held against gravity, with gears that rub

        def driven():
            commanded = {tuple(message.voltage) for message in commands}
            return next((state for state in actuators if tuple(state.voltage) in commanded), None)

        last = ros.wait_for(driven, "a commanded voltage at the motors' terminals")
        assert min(last.voltage) > 0.1
        assert min(last.temperature) > 25.0
        process.stop()


def test_every_parameter_of_the_file_is_one_that_a_node_declares_and_options_win_over_it():
    given = flat(yaml.safe_load(config_file("simulation.yaml").read_text())["/**"]["ros__parameters"])
    with simulate("--robot", "scara", "--ros-args", "-p", "update_rate:=250") as process, RosTest() as ros:
        names = {node: set(ros.call(ListParameters, f"/{node}/list_parameters").result.names) for node in NODES}
        assert set(given) <= set.union(*names.values())
        process.wait_for_output("4 joints, lockstep, 250 Hz")
        process.stop(signal.SIGTERM)


@pytest.mark.parametrize(("options", "message"), few([
    (("--ros-args", "-p", "update_rate:=1000.0"),
     "parameter 'update_rate': expected a whole number from 1 to 10000 [Hz], received 1000.0 (command line)"),
    (("--ros-args", "-p", "payload.mass:=two"),
     "parameter 'payload.mass': expected a finite number from 0 to 100000 [kg], received 'two' (command line)"),
    (("--ros-args", "-p", "hardwre:step:=0.002"),
     "'hardwre:step' is given a value on the command line, but there is no node 'hardwre' here: did you mean "),
    (("--namespace", "a", "--ros-args", "-r", "__ns:=/b"), "namespace: expected one, received '/a' and '/b'"),
], 1))
def test_a_value_that_cannot_be_taken_is_refused_by_name(options, message):
    with simulate("--robot", "planar_2r", *options) as process:
        assert process.wait() == 2
        assert process.output().strip().splitlines()[-1].startswith(f"robodyn: error: {message}")


def test_the_namespace_may_be_a_remapping_rule_and_each_node_logs_values_and_their_sources(tmp_path):
    file = tmp_path / "parameters.yaml"
    file.write_text("/**/hardware:\n  ros__parameters: {step: 0.0005, seed: 3}\n"
                    "/**/controler:\n  ros__parameters: {controller: pid}\n")
    options = ("--params-file", str(file), "--ros-args", "-r", "__ns:=/ruled", "-p", "seed:=4",
               "-p", "sensing.position_noise:=[0.1, 0.2]")
    with simulate("--robot", "planar_2r", *options) as process, RosTest(namespace="ruled") as ros:
        values = ros.call(GetParameters, "hardware/get_parameters", names=["step", "sensing.position_noise"]).values
        assert values[0].double_value == 0.0005 and list(values[1].double_array_value) == [0.1, 0.2]
        process.wait_for_output("[ruled.state_publisher]: parameters that differ from their defaults: robot = ")
        process.stop()
        output = process.output()
    line = next(line for line in output.splitlines() if "[ruled.hardware]: parameters" in line)
    assert "step = 0.0005 (" in line and f"seed = 3 ({file})" in line
    assert "sensing.position_noise = [0.1, 0.2] (command line)" in line and "update_rate" not in line
    assert f"seed = 4 of the command line does not count: {file} gives 3 to this node by its name" in output
    assert f"{file}: section '/**/controler' fits no node of this process, so that its values do not count: " in output


def test_a_controller_that_is_not_there_ends_the_process_with_the_reason():
    with simulate("--controller", "nonesuch") as process:
        assert process.wait() == 2
        assert "nonesuch" in process.output() and "Traceback" not in process.output()


def test_time_modes_on_the_command_line_are_the_hardwares():
    assert TIME_MODES == tuple(TimeMode)


def test_engines_on_the_command_line_are_the_hardwares():
    assert ENGINES == tuple(Engine)


def test_a_driver_on_the_command_line_sets_the_control_rate_too():
    found = set_up(SimulationSettings(driver="franka")).values
    assert found.items() >= {"driver": "franka", "update_rate": 1000}.items()
    assert "update_rate" not in set_up(SimulationSettings(driver="generic")).values
    with pytest.raises(InputError, match="driver: unknown driver 'panda'"):
        set_up(SimulationSettings(driver="panda"))


def test_surroundings_are_given_to_the_engine_that_they_are_for(tmp_path):
    world, scene = str(config_file("touch_wall.yaml")), tmp_path / "scene.xml"
    scene.touch()
    assert set_up(SimulationSettings(world=world)).values["world"] == world
    assert set_up(SimulationSettings(world=world, engine="robodyn")).values["engine"] == "robodyn"
    for options, words in (
        ({"world": world, "engine": "mujoco"}, "world: has an effect only with engine robodyn, received engine mujoco"),
        ({"mujoco_scene": str(scene)}, "mujoco_scene: has an effect only with engine mujoco, received no engine"),
        ({"mujoco_scene": str(scene), "engine": "robodyn"}, "mujoco_scene: has an effect only with engine mujoco"),
        ({"engine": "bullet"}, "engine: expected one of 'robodyn', 'mujoco', received 'bullet'"),
    ):
        with pytest.raises(InputError, match=words):
            set_up(SimulationSettings.from_words(dict.fromkeys(declared(SimulationSettings), "") | options))
    pytest.importorskip("mujoco")
    found = set_up(SimulationSettings(engine="mujoco", mujoco_scene=str(scene))).values
    assert found["engine"] == "mujoco" and found["mujoco_scene"] == str(scene)
    with pytest.raises(InputError, match="mujoco_scene: there is no file 'nowhere.xml'"):
        set_up(SimulationSettings(engine="mujoco", mujoco_scene="nowhere.xml"))


def test_mujoco_that_is_not_installed_is_told_before_the_nodes_start(monkeypatch):
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(InputError, match="need MuJoCo, which cannot be imported"):
        set_up(SimulationSettings(engine="mujoco"))


@pytest.mark.parametrize(("time_mode", "node", "namespace", "simulated"), [
    ("", "", "", True), ("lockstep", "", "", True), ("", "/**", "", True), ("", "/left/hardware", "left", True),
    ("real_time", "/right/hardware", "left", False), ("real_time", "", "", False), ("real_time", "/**", "", False),
    ("real_time", "hardware", "", True)])
def test_simulated_time_is_known_for_nodes_of_other_packages(tmp_path, time_mode, node, namespace, simulated):
    """A parameter file makes the time of a node, or of all, simulated; a value for a node by name wins over others."""
    file = tmp_path / "parameters.yaml"
    file.write_text(f"{node}:\n  ros__parameters: {{time_mode: scaled}}\n")
    setup = set_up(SimulationSettings("scara", time_mode=time_mode, params_file=str(file) if node else ""))
    assert has_simulated_time(setup, namespace) == simulated
