"""The topic pair under ros2_control's joint_state_topic_hardware_interface, by the blocks that docs/hardware.md shows.

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

from robodyn_ros.resources import robot_file

PAGE = (Path(__file__).parents[3] / "docs" / "hardware.md").read_text()
BLOCK = re.search(r"```xml\n(<ros2_control.*?)```", PAGE, re.DOTALL).group(1)
PARAMETERS = yaml.safe_load(re.search(r"```yaml\n(controller_manager:.*?)```", PAGE, re.DOTALL).group(1))
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


@pytest.fixture(scope="module")
def process():
    with RosProcess("hardware", {"robot_description": URDF, "time_mode": "scaled", "real_time_factor": 0.4},
                    "plant") as process:
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
    gains = controller["gains"]
    p, i, d = (np.array([gains[name][gain] for name in component.joints]) for gain in "pid")
    state = component.next_state()
    begin = last = stamp(state)
    integral = np.zeros(2)
    while last - begin < 3e9:
        error = TARGET - np.array(state.position)
        component.write(p * error + i * integral - d * np.array(state.velocity))
        state = component.next_state()
        integral += error * (stamp(state) - last) * 1e-9
        last = stamp(state)
    assert list(state.name) == component.joints
    assert list(state.position) == pytest.approx(TARGET, abs=0.05)
