# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Controllers that command voltages instead of efforts, with a robot that has motors."""

import numpy as np
import pytest
from controller_manager_msgs.srv import ListHardwareInterfaces
from controller_rig import NAMES, Rig, trajectory
from pal_statistics_msgs.msg import Statistics
from ros_process import RosProcess, RosTest

from robodyn_interfaces.msg import VoltageCommands
from robodyn_ros import InputError, Robot
from robodyn_ros.actuation.motor_catalogue import MOTORS
from robodyn_ros.control.default_gains import joint_gains
from robodyn_ros.description.resources import robot_file
from robodyn_ros.nodes.common.messages import read_stamp
from robodyn_ros.nodes.controller.voltage_output import VoltageOutput

FILE = "hardware_dc_motors"
RATIOS = np.array([51.0, 43.0])
MOTORS = [MOTORS.load(name) for name in ("maxon_re65_353297", "maxon_re40_148877")]
RESISTANCE, CONSTANT = (np.array([getattr(m, name) for m in MOTORS]) for name in ("resistance", "torque_constant"))
LIMITS = np.array([48.0, MOTORS[1].nominal_voltage])


def test_voltages_move_the_arm_as_the_law_asks():
    both = {"actuators": FILE}
    at_a_pace_to_record = {"lockstep_speed_limit": 1.0}
    with RosTest() as ros, Rig(ros, "planar_2r", "/volts", hardware=both | at_a_pace_to_record,
                               controller=both | {"output": "voltage", "state_publish_rate": 500.0}) as rig:
        known = Robot.named("planar_2r").with_actuators(FILE).with_timing(1e-9 * rig.period_ns)
        for name, value in (("pd.gains.joint1.p", joint_gains(known)[0][0]),
                            ("computed_torque.gains.joint1.friction", known.model.damping[0])):
            np.testing.assert_allclose(rig.get(name), [value])
        commands = ros.record(VoltageCommands, "/volts/voltage_commands", 5000)
        values = ros.record(Statistics, "/volts/controller_manager/introspection_data/full")
        ros.wait_for(lambda: commands, "voltages")
        rig.publisher.publish(trajectory([1.5], [[0.6, -0.5]]))
        end = rig.next("the end", lambda s: np.allclose(s.reference.positions, [0.6, -0.5], atol=1e-12)
                       and np.abs(s.feedback.velocities).max() < 1e-3)
        np.testing.assert_allclose(end.feedback.positions, [0.6, -0.5], atol=0.1)
        assert not ros.node.count_publishers("/volts/joint_commands")
        listed = ros.call(ListHardwareInterfaces, "/volts/controller_manager/list_hardware_interfaces")
        assert {each.name: each.is_claimed for each in listed.command_interfaces} == {
            f"{joint}/{kind}": kind == "voltage" for joint in NAMES for kind in ("effort", "voltage")}
        ros.wait_for(lambda: values, "the values of the interfaces")
        named = {each.name: each.value for each in values[-1].statistics}
        shown = named["command_interface.joint1/voltage"]
        ros.wait_for(lambda: any(command.voltage[0] == shown for command in commands), "the same voltage")
        ros.wait_for(lambda: read_stamp(commands[-1].header.stamp) >= read_stamp(end.header.stamp), "voltages")
        sent = {read_stamp(c.header.stamp): c for c in commands}
        moving = [s for s in rig.states if s.feedback.velocities and abs(s.feedback.velocities[0]) > 0.1]
        assert len(moving) > 20
        for state in moving:
            current = np.array(state.output) / (RATIOS * CONSTANT)
            volts = RESISTANCE * current + CONSTANT * RATIOS * np.array(state.feedback.velocities)
            np.testing.assert_allclose(state.voltage, np.clip(volts, -LIMITS, LIMITS), rtol=1e-9)
        both_seen = [s for s in moving if read_stamp(s.header.stamp) in sent]
        assert len(both_seen) > 10
        for state in both_seen:
            command = sent[read_stamp(state.header.stamp)]
            assert list(command.name) == NAMES and command.voltage == state.voltage
        for node in rig.nodes.values():
            node.stop()


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({}, "set the parameter 'actuators'"),
        ({"actuators": "no_such_file"}, "no_such_file"),
        ({"actuators": FILE, "robot": "arm6"}, "joint1"),
        ({"actuators": "one_motor"}, "expected a motor for every joint, as voltages are commanded; received none for "
                                     "'joint2'"),
    ],
)
def test_voltages_need_a_motor_at_every_joint(parameters, words, tmp_path):
    if parameters.get("actuators") == "one_motor":
        file = tmp_path / "one_motor.yaml"
        file.write_text("joints: {joint1: {actuator: {motor: maxon_re65_353297, gear_ratio: 51}}}\n")
        parameters = {"actuators": str(file)}
    robot = Robot.from_urdf(robot_file(parameters.get("robot", "planar_2r")))
    with pytest.raises(InputError, match=words):
        VoltageOutput(None, robot.with_actuators(parameters["actuators"]) if "actuators" in parameters else robot)


def test_a_controller_without_motors_to_command_does_not_start():
    with RosProcess("controller", {"robot": "planar_2r", "output": "voltage"}) as node:
        assert node.wait() == 2
        assert "set the parameter 'actuators'" in node.output() and "Traceback" not in node.output()
