# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Commands in the forms that drivers take: arrays for effort controllers, messages with the time of a clock."""

import numpy as np
import pytest
from controller_rig import NAMES, trajectory
from ros_process import RosProcess
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory

from robodyn_interfaces.msg import ControllerState
from robodyn_ros import InputError, Robot
from robodyn_ros.base import topic_names
from robodyn_ros.control import State
from robodyn_ros.control.runtime.tick import Tick
from robodyn_ros.description.resources import robot_file
from robodyn_ros.nodes.common.messages import read_stamp, set_stamp
from robodyn_ros.nodes.common.topics import CONTROL_QOS
from robodyn_ros.nodes.controller.command_output import JointEfforts, group_order
from robodyn_ros.simulation.plant import default_position

ROBOT = Robot.from_urdf(robot_file("planar_2r"))
REST = np.zeros(2)


def test_the_order_of_a_group_has_all_joints_each_once():
    assert group_order(NAMES, ["joint2", "joint1"]) == [1, 0] and group_order(NAMES, []) == [0, 1]
    for group, words in ((["joint2"], "received none of joint1"), (["joint1", "elbow"], "unknown joint 'elbow'"),
                         (["joint1", "joint1"], "more than once")):
        with pytest.raises(InputError, match=f"effort_group_joints'.*{words}"):
            group_order(NAMES, group)


@pytest.mark.parametrize("own_clock", [False, True])
def test_commands_have_the_stamp_of_the_state_or_of_the_clock(ros, own_clock):
    commands = ros.record(JointState, "joint_commands", CONTROL_QOS)
    output = JointEfforts(ros.node, NAMES, lambda tick: tick.effort, own_clock)
    tick = Tick(State(0.0, 0.0, REST, REST), None, np.array([1.0, 2.0]), False, None, 0.0)
    before = ros.node.get_clock().now().nanoseconds

    def received():
        output.publish(5_000_000_000, tick)
        return commands and commands[-1]

    command = ros.wait_for(received, "a command")
    stamp = read_stamp(command.header.stamp)
    assert stamp == 5_000_000_000 if not own_clock else before < stamp <= ros.node.get_clock().now().nanoseconds
    assert (list(command.name), list(command.effort)) == (NAMES, [1.0, 2.0])
    ros.node.destroy_publisher(output._publisher)


def test_efforts_for_a_driver_that_compensates_gravity_in_the_order_of_its_group(ros):
    """States as joint_state_broadcaster publishes them for an arm with a gripper and without velocities."""
    q = np.array([0.4, 0.3])
    parameters = {"robot": "planar_2r", "controller": "pd", "pd.gains.joint1.p": 100.0, "pd.gains.joint1.d": 0.0,
                  "output": "effort_group", "effort_group_joints": ["joint2", "joint1"],
                  "gravity_compensation_by": "driver"}
    with RosProcess("controller", parameters, "/driver") as node:
        commands = ros.record(Float64MultiArray, f"/driver/{topic_names.EFFORT_GROUP_COMMANDS}", CONTROL_QOS)
        states = ros.publisher(JointState, "/driver/joint_states")
        stamp = 1_000_000_000

        def answer(position):
            nonlocal stamp
            stamp += 2_000_000
            message = JointState(name=["finger", "joint2", "joint1"], position=[0.0, *position[::-1]],
                                 velocity=[np.nan] * 3, effort=[np.nan] * 3)
            set_stamp(message.header.stamp, stamp)
            states.publish(message)
            return list(commands[-1].data) if commands else None

        gravity = ROBOT.dynamics().gravity(q)
        ros.wait_for(lambda: (effort := answer(q)) and np.allclose(effort, -gravity[::-1]), "efforts without gravity")
        moved = q + [0.01, 0.0]
        expected = (np.array([-1.0, 0.0]) - ROBOT.dynamics().gravity(moved))[::-1]
        ros.wait_for(lambda: np.allclose(answer(moved), expected), "the law's efforts, too")
        node.stop()


@pytest.mark.parametrize(("parameters", "words"), [
    ({"output": "voltage", "gravity_compensation_by": "driver", "actuators": "hardware_dc_motors"},
     "'gravity_compensation_by': expected 'command'"),
    ({"effort_group_joints": ["joint1", "joint2"]}, "has an effect with output effort_group only"),
])
def test_parameters_that_contradict_each_other_are_refused(parameters, words):
    with RosProcess("controller", {"robot": "planar_2r", **parameters}) as node:
        assert node.wait() == 2
        assert words in node.output() and "Traceback" not in node.output()


def test_an_arm_behind_an_effort_controller_is_held_and_moved(ros):
    """The array goes to ~/commands of the hardware, as forward_command_controller would pass it on."""
    home = default_position(ROBOT)
    states = ros.record(ControllerState, "/group/controller/controller_state", 100)
    controller = {"robot": "planar_2r", "controller": "computed_torque", "output": "effort_group"}
    hardware = {"robot": "planar_2r", "time_mode": "lockstep", "update_rate": 200,
                "lockstep_speed_limit": 4.0}
    rule = f"{topic_names.EFFORT_GROUP_COMMANDS}:=hardware/commands"
    remapped = ("-m", "robodyn_ros", "controller", "--ros-args", "-r", rule)
    with (RosProcess("controller", controller, "/group", remapped) as one,
          RosProcess("hardware", hardware, "/group") as other):
        goals = ros.publisher(JointTrajectory, "/group/controller/joint_trajectory")
        ros.wait_for(lambda: states and states[-1].output[0] != 0.0, "commands")
        held = states[-1]
        np.testing.assert_allclose(held.feedback.positions, home, atol=1e-4)
        goals.publish(trajectory([1.0], [home + 0.5]))
        ros.wait_for(lambda: np.allclose(states[-1].reference.positions, home + 0.5, atol=1e-12), "the end")
        assert max(np.abs(state.error.positions).max() for state in states) < 0.01
        other.stop()
        one.stop()
