# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The topic pair under ros2_control's joint_state_topic_hardware_interface, by the blocks that docs/drivers.md shows.

The component (JointStateTopicSystem) publishes, at every cycle, all its joints in the URDF's order, stamped with its
own clock, and fills a field of JointState for each kind of command interface, and only those; commands are NaN until a
controller is active. It listens with the quality of service of sensor data.
"""

import math
import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
import yaml
from hardware_peer import stamp
from rclpy.qos import QoSProfile, qos_profile_sensor_data
from ros_process import RosProcess, RosTest
from sensor_msgs.msg import JointState

from bench.followed_states import FollowedStates
from robodyn_ros import Robot
from robodyn_ros.description.resources import robot_file
from robodyn_ros.simulation.commands import Drive
from robodyn_ros.simulation.plant import Plant

PAGE = (Path(__file__).parents[3] / "docs" / "drivers.md").read_text()
BLOCK = re.search(r"```xml\n(<ros2_control.*?)```", PAGE, re.DOTALL).group(1)
PARAMETERS = yaml.safe_load(re.search(r"```yaml\n(controller_manager:.*?)```", PAGE, re.DOTALL).group(1))
COMMAND_LINE = re.search(r"^robodyn hardware --ros-args -r __ns:=/plant (.*)$", PAGE, re.MULTILINE).group(1)
SETTINGS = dict(re.findall(r"-p (\w+):=(\S+)", COMMAND_LINE))
URDF = robot_file("planar_2r").read_text().replace("</robot>", f"{BLOCK}</robot>")
TARGET = [0.4, -0.6]


class Component(RosTest):
    """Publishes and listens as the component does that the block describes."""

    def __init__(self):
        super().__init__("controller_manager")
        system = ElementTree.fromstring(BLOCK)
        self.joints = [joint.get("name") for joint in system.findall("joint")]
        self.interfaces = {joint.get("name"): [command.get("name") for command in joint.findall("command_interface")]
                           for joint in system.findall("joint")}
        topics = {parameter.get("name"): parameter.text for parameter in system.iter("param")}
        assert topics["trigger_joint_command_threshold"] == "-1"  # it would not publish at every cycle
        self.states = self.record(JointState, topics["joint_states_topic"], qos_profile_sensor_data)
        self.followed = FollowedStates(self.node, "/plant")
        self.commands = self.publisher(JointState, topics["joint_commands_topic"], QoSProfile(depth=1))

    def write(self, effort):
        message = JointState(name=self.joints)
        message.header.stamp = self.node.get_clock().now().to_msg()
        for field in ("position", "velocity", "effort"):
            setattr(message, field, [value for name, value in zip(self.joints, effort, strict=True)
                                     if field in self.interfaces[name]])
        self.commands.publish(message)

    def next_state(self):
        self.states.clear()
        return self.wait_for(lambda: self.states and self.states[-1], "a joint state")


class Pid:
    """A joint_trajectory_controller with effort interfaces and the gains of the page, that holds TARGET."""

    def __init__(self, clamped=True):
        gains = PARAMETERS["arm_controller"]["ros__parameters"]["gains"]
        names = PARAMETERS["arm_controller"]["ros__parameters"]["joints"]
        self.p, self.i, self.d, self.highest, self.lowest = (
            np.array([gains[name][gain] for name in names]) for gain in ("p", "i", "d", "i_clamp_max", "i_clamp_min"))
        if not clamped:
            self.highest, self.lowest = np.inf, -np.inf
        self.integral = np.zeros(2)

    def effort(self, q, v, period):
        error = TARGET - q
        self.integral = np.clip(self.integral + self.i * error * period, self.lowest, self.highest)
        return self.p * error + self.integral - self.d * v


@pytest.mark.parametrize("clamped", [True, False])
def test_the_page_bounds_the_integral_that_winds_up_while_the_component_is_inactive(clamped):
    robot, pid, none = Robot.from_urdf_text(URDF), Pid(clamped), np.zeros(2)
    plant, speeds = Plant(robot, step=0.002), []
    for _ in range(2500):
        pid.effort(plant.q, plant.v, 0.002)
    for _ in range(2000):
        effort = np.clip(pid.effort(plant.q, plant.v, 0.002), -robot.model.effort_limit, robot.model.effort_limit)
        plant.advance(Drive(effort, none, none))
        speeds.append(abs(plant.v[0]))
    assert (max(speeds) < 4.0) if clamped else (max(speeds) > 8.0)
    assert not clamped or plant.q == pytest.approx(TARGET, abs=0.05)


def test_the_clock_has_the_rate_of_the_manager():
    assert int(SETTINGS["clock_rate"]) == PARAMETERS["controller_manager"]["ros__parameters"]["update_rate"]


@pytest.fixture(scope="module")
def process():
    settings = {"robot_description": URDF, "time_mode": "scaled", "real_time_factor": 0.4,
                "clock_rate": int(SETTINGS["clock_rate"]),
                "unchanged_command_timeout": float(SETTINGS["unchanged_command_timeout"])}
    with RosProcess("hardware", settings, "plant") as process:
        process.wait_for_output("'planar_2r', 2 joints")
        yield process
        process.stop()


@pytest.fixture(scope="module")
def component(process):
    with Component() as component:
        yield component


def test_efforts_that_no_controller_has_set_are_rejected_and_the_arm_is_held(component, process):
    before = component.next_state()

    def rejected():
        component.write([math.nan, math.nan])
        return "expected finite numbers, received nan for joint 'joint1'" in process.output()

    component.wait_for(rejected, "the rejection")
    assert component.next_state().position == before.position


def test_a_controller_of_the_page_moves_the_arm(component):
    """The law of joint_trajectory_controller with effort interfaces: a PID on each joint."""
    controller = PARAMETERS["arm_controller"]["ros__parameters"]
    assert controller["joints"] == component.joints
    assert controller["command_interfaces"] == ["effort"]
    pid = Pid()
    state = component.next_state()
    begin = last = stamp(state)
    period = 0.0
    while last - begin < 3e9:
        component.write(pid.effort(np.array(state.position), np.array(state.velocity), period))
        state = component.next_state()
        period, last = (stamp(state) - last) * 1e-9, stamp(state)
    assert list(state.name) == component.joints
    assert list(state.position) == pytest.approx(TARGET, abs=0.05)


def test_zeros_that_follow_a_controller_let_the_arm_fall_unless_unchanged_commands_become_too_old(component, process):
    def speed():
        component.write([0.0, 0.0])
        return np.abs(component.next_state().velocity).max()

    assert component.set_parameters("/plant/hardware", {"unchanged_command_timeout": 0.0}).successful
    component.wait_for(lambda: speed() > 2.0, "the free fall")
    timeout = float(SETTINGS["unchanged_command_timeout"])
    assert component.set_parameters("/plant/hardware", {"unchanged_command_timeout": timeout}).successful
    component.wait_for(lambda: speed() < 0.3, "the safe behaviour")
    assert f"the same command to the bit during {timeout} s of motion" in process.output()
    asked = component.followed.count
    component.wait_for(lambda: component.followed.count > asked, "new starts")
    pid = Pid()

    def follows():
        state = component.next_state()
        component.write(pid.effort(np.array(state.position), np.array(state.velocity), 0.0))
        return component.followed.includes(state)

    component.wait_for(follows, "the end of the safe behaviour by another command")
