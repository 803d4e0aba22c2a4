# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""What RViz subscribes to with config/robodyn.rviz, in a running graph: RViz is not needed for it."""

import numpy as np
import pytest
import yaml
from geometry_msgs.msg import PoseStamped, WrenchStamped
from nav_msgs.msg import Path
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from ros_process import RosProcess, RosTest
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint
from visualization_msgs.msg import MarkerArray

from robodyn_ros import Robot
from robodyn_ros.description.resources import config_file, robot_file
from robodyn_ros.nodes.common.poses import to_vector

CONFIGURATION = yaml.safe_load(config_file("robodyn.rviz").read_text())["Visualization Manager"]
DISPLAYS = {display["Name"]: display for display in CONFIGURATION["Displays"]}
ROBOT = Robot.from_urdf(robot_file("planar_2r"))
PREFIX = "a/"
BASE = PREFIX + ROBOT.model.base_link

# Topics that a display subscribes to without a field of its own, and the type of each display's field Topic.
TF, STRING = "tf2_msgs/msg/TFMessage", "std_msgs/msg/String"
IMPLIED = {"TF": {"/tf": TF, "/tf_static": TF}, "Effort": {"/robot_description": STRING}}
TYPES = {"RobotModel": STRING, "Path": "nav_msgs/msg/Path", "Pose": "geometry_msgs/msg/PoseStamped",
         "Effort": "sensor_msgs/msg/JointState", "Wrench": "geometry_msgs/msg/WrenchStamped",
         "MarkerArray": "visualization_msgs/msg/MarkerArray"}
LATCHED = {"/tf_static", "/robot_description"}


def subscriptions():
    """Topic, type, and whether it is transient local, of all that RViz subscribes to with this configuration."""
    for display in DISPLAYS.values():
        kind = display["Class"].removeprefix("rviz_default_plugins/")
        for topic, message_type in IMPLIED.get(kind, {}).items():
            yield topic, message_type, topic in LATCHED
        for field, value in display.items():
            if field.endswith("Topic"):
                assert value["Reliability Policy"] == "Reliable" and value["History Policy"] == "Keep Last"
                yield value["Value"], TYPES[kind], value["Durability Policy"] == "Transient Local"


@pytest.fixture(scope="module")
def ros(tmp_path_factory):
    world = tmp_path_factory.mktemp("world") / "world.yaml"  # out of reach
    world.write_text("surfaces: {wall: {shape: plane, position: [-3, 0, 0], normal: [1, 0, 0]}}")
    command = ("-m", "robodyn_ros", "simulate", "--robot", "planar_2r", "--controller", "computed_torque", "--world",
               str(world), "--time-mode", "lockstep", "--speed-limit", "1")
    with RosProcess("simulate", {"frame_prefix": PREFIX}, command=command), RosTest() as ros:
        yield ros


def test_the_displays_are_those_that_are_wanted_and_switched_on():
    assert set(DISPLAYS) == {"Grid", "RobotModel", "TF", "Tip path", "Desired path", "Target", "Effort",
                             "Applied wrench", "Surfaces", "Drawing"}
    assert all(display["Enabled"] and display["Value"] for display in DISPLAYS.values())
    assert DISPLAYS["RobotModel"]["Description Source"] == "Topic" and DISPLAYS["RobotModel"]["TF Prefix"] == ""


@pytest.mark.parametrize("topic, message_type, latched", list(subscriptions()), ids=lambda value: str(value))
def test_a_display_gets_what_it_subscribes_to(ros, topic, message_type, latched):
    publisher, = ros.wait_for(lambda: ros.node.get_publishers_info_by_topic(topic), f"a publisher of {topic}")
    assert publisher.topic_type == message_type
    qos = publisher.qos_profile
    assert qos.reliability == ReliabilityPolicy.RELIABLE
    assert qos.durability == DurabilityPolicy.TRANSIENT_LOCAL or not latched


def test_joint_states_and_efforts_name_the_frame_of_the_base_link(ros):
    states, efforts = ros.record(JointState, "joint_states"), ros.record(JointState, "controller/effort")
    ros.wait_for(lambda: efforts and states, "joint states and efforts")
    assert {state.header.frame_id for state in states} == {efforts[-1].header.frame_id} == {BASE}
    assert list(efforts[-1].name) == list(ROBOT.joint_names) and len(efforts[-1].effort) == ROBOT.n
    assert efforts[-1].header.stamp.sec == 0, "RViz looks transforms up at this time; 0 is the newest one"


def test_a_motion_is_shown_before_and_while_it_happens(ros):
    latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    desired, tips = ros.record(Path, "controller/desired_path", latched), ros.record(Path, "controller/tip_path")
    targets = ros.record(PoseStamped, "controller/target")
    ros.wait_for(lambda: targets and tips, "target and path of the tip")
    goal = np.array([0.4, -0.5])
    point = JointTrajectoryPoint(positions=goal.tolist())
    point.time_from_start.sec = 1
    ros.publisher(JointTrajectory, "controller/joint_trajectory").publish(
        JointTrajectory(joint_names=list(ROBOT.joint_names), points=[point]))
    path = ros.wait_for(lambda: next((path for path in desired if path.poses), None), "the desired path")
    end = ROBOT.dynamics().forward_kinematics(goal)[:3, 3]
    begin = to_vector(path.poses[0].pose.position)
    assert min(np.linalg.norm(to_vector(target.pose.position) - begin) for target in targets) < 1e-3
    np.testing.assert_allclose(to_vector(path.poses[-1].pose.position), end, atol=1e-6)
    ros.wait_for(lambda: np.allclose(to_vector(targets[-1].pose.position), end, atol=1e-6), "the target's arrival")
    ros.wait_for(lambda: np.allclose(to_vector(tips[-1].poses[-1].pose.position), end, atol=1e-3), "the tip's arrival")
    assert len(tips[-1].poses) > 5 and {message.header.frame_id for message in (path, tips[-1], targets[-1])} == {BASE}
    ros.wait_for(lambda: desired and not desired[-1].poses, "an empty path after the motion")


def test_who_comes_late_gets_the_surfaces_of_the_world(ros):
    arrays = ros.record(MarkerArray, "hardware/surfaces",
                        QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL))
    ros.wait_for(lambda: arrays, "surfaces")
    _, wall = arrays[-1].markers
    assert (wall.ns, wall.header.frame_id) == ("wall", BASE)
    face = wall.pose.position.x + 0.5 * wall.scale.z  # the normal of the wall is along x
    assert face == pytest.approx(-3.0)


def test_a_wrench_is_shown_while_it_acts(ros):
    shown = ros.record(WrenchStamped, "hardware/applied_wrench")
    push = WrenchStamped()
    push.header.frame_id, push.wrench.force.x = ROBOT.tip_link, 3.0
    publisher = ros.publisher(WrenchStamped, "hardware/external_wrench")
    publisher.publish(push)
    message = ros.wait_for(lambda: shown and shown[-1], "the wrench")
    assert message.header.frame_id == PREFIX + ROBOT.tip_link and message.wrench.force.x == 3.0
    push.wrench.force.x = 0.0
    publisher.publish(push)
    ros.wait_for(lambda: shown[-1].wrench.force.x == 0.0, "the end of the wrench")
    ros.spin(0.3)
    count = len(shown)
    ros.spin(0.3)
    assert len(shown) == count, "zeros are published once"


def test_the_fixed_frame_is_a_link_of_the_robot_that_the_launch_file_starts_by_default():
    assert CONFIGURATION["Global Options"]["Fixed Frame"] == Robot.from_urdf(robot_file("arm6")).model.base_link
