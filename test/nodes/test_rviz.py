"""config/robodyn.rviz against the topics and frames of the nodes, without RViz."""

import pytest
import yaml
from rclpy.qos import DurabilityPolicy, ReliabilityPolicy
from ros_process import RosProcess, RosTest

from robodyn_ros.description.urdf import load_urdf
from robodyn_ros.resources import config_file, robot_file

CONFIGURATION = yaml.safe_load(config_file("robodyn.rviz").read_text())["Visualization Manager"]
DISPLAYS = {display["Class"].removeprefix("rviz_default_plugins/"): display for display in CONFIGURATION["Displays"]}

# Topics that a display subscribes to without saying so in the file, with their types.
TF = "tf2_msgs/msg/TFMessage"
IMPLIED = {"Grid": {}, "RobotModel": {}, "TF": {"/tf": TF, "/tf_static": TF}}
TYPES = {("RobotModel", "Description Topic"): "std_msgs/msg/String"}
LATCHED = {"/tf_static"}


def subscriptions():
    """Topic, type, and whether it is transient local, of all that RViz subscribes to with this configuration."""
    for kind, display in DISPLAYS.items():
        for topic, message_type in IMPLIED[kind].items():
            yield topic, message_type, topic in LATCHED
        for field, value in display.items():
            if field.endswith("Topic"):
                assert value["Reliability Policy"] == "Reliable" and value["History Policy"] == "Keep Last"
                yield value["Value"], TYPES[kind, field], value["Durability Policy"] == "Transient Local"


@pytest.fixture(scope="module")
def ros():
    with RosProcess("state_publisher", {"robot": "arm6"}), RosTest() as ros:
        yield ros


def test_the_displays_are_those_that_are_wanted_and_switched_on():
    assert set(DISPLAYS) == {"Grid", "RobotModel", "TF"}
    assert all(display["Enabled"] and display["Value"] for display in DISPLAYS.values())
    assert DISPLAYS["RobotModel"]["Description Source"] == "Topic" and DISPLAYS["RobotModel"]["TF Prefix"] == ""


@pytest.mark.parametrize("topic, message_type, latched", list(subscriptions()), ids=lambda value: str(value))
def test_a_display_gets_what_it_subscribes_to(ros, topic, message_type, latched):
    publisher, = ros.wait_for(lambda: ros.node.get_publishers_info_by_topic(topic), f"a publisher of {topic}")
    assert publisher.topic_type == message_type
    qos = publisher.qos_profile
    assert qos.reliability == ReliabilityPolicy.RELIABLE
    assert (qos.durability == DurabilityPolicy.TRANSIENT_LOCAL) == latched


def test_the_fixed_frame_is_a_link_of_the_robot_that_the_launch_file_starts_by_default():
    assert CONFIGURATION["Global Options"]["Fixed Frame"] == load_urdf(robot_file("arm6")).base_link
