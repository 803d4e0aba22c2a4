# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The state publisher over DDS, against forward kinematics."""

import signal
import time
from unittest.mock import Mock, patch

import numpy as np
import pytest
from rclpy.qos import DurabilityPolicy, QoSProfile
from rclpy.serialization import deserialize_message, serialize_message
from ros_process import Messages, RosProcess, RosTest
from scipy.spatial.transform import Rotation
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from tf2_msgs.msg import TFMessage

from robodyn_ros import Robot
from robodyn_ros.description.resources import robot_file
from robodyn_ros.nodes.common import polled_states
from robodyn_ros.nodes.common.messages import JointOrder
from robodyn_ros.nodes.common.parameters import given_robot
from robodyn_ros.nodes.common.topics import CONTROL_QOS, DISPLAY_STATES_RATE
from robodyn_ros.nodes.state_publisher import TransformWire, transforms_message

LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)

# A fixed base mount, a moving joint behind a fixed frame, a mimic joint with an offset, a fixed tool.
INERTIAL = "<inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1' ixy='0' ixz='0' iyz='0'/></inertial>"
GRIPPER = f"""<robot name='gripper'>
  <link name='world'/><link name='mount'/><link name='arm'>{INERTIAL}</link><link name='flange'/>
  <link name='left'>{INERTIAL}</link><link name='right'>{INERTIAL}</link><link name='pad'/>
  <joint name='bolt' type='fixed'><parent link='world'/><child link='mount'/><origin xyz='0 0 1' rpy='0 0 1'/></joint>
  <joint name='turn' type='revolute'><parent link='mount'/><child link='arm'/><axis xyz='0 1 0'/>
    <origin xyz='0.1 0 0' rpy='0.2 0 0'/><limit lower='-2' upper='2' velocity='1' effort='1'/></joint>
  <joint name='weld' type='fixed'><parent link='arm'/><child link='flange'/><origin xyz='0 0 .5' rpy='0 1 0'/></joint>
  <joint name='slide' type='prismatic'><parent link='flange'/><child link='left'/><axis xyz='0 1 0'/>
    <limit lower='0' upper='1' velocity='1' effort='1'/></joint>
  <joint name='copy' type='prismatic'><parent link='flange'/><child link='right'/><axis xyz='0 1 0'/>
    <limit lower='-1' upper='1' velocity='1' effort='1'/><mimic joint='slide' multiplier='-1' offset='0.01'/></joint>
  <joint name='glue' type='fixed'><parent link='left'/><child link='pad'/><origin xyz='0 0 0.1'/></joint>
</robot>"""
GRIPPER = " ".join(GRIPPER.split())  # YAML on the command line folds lines


def matrix(transform):
    pose = np.eye(4)
    t, r = transform.translation, transform.rotation
    pose[:3, 3], pose[:3, :3] = (t.x, t.y, t.z), Rotation.from_quat([r.x, r.y, r.z, r.w]).as_matrix()
    return pose


def edges(message):
    return {t.child_frame_id: (t.header.frame_id, matrix(t.transform)) for t in message.transforms}


def pose_in_root(link, tree):
    pose = np.eye(4)
    while link in tree:
        link, step = tree[link]
        pose = step @ pose
    return pose


def publish_until(ros, publisher, message, condition, what):
    def holds():
        publisher.publish(message)
        return condition()
    return ros.wait_for(holds, what)


@pytest.mark.parametrize("source", [{"robot": "arm6"}, {"robot_description": GRIPPER}], ids=["arm6", "gripper"])
def test_every_joint_is_one_transform_and_the_tree_is_forward_kinematics(source):
    robot = given_robot({"robot_description": "", **source}, Robot.from_urdf, Robot.from_urdf_text)
    q = np.linspace(0.3, 0.7, robot.n)
    with RosProcess("state_publisher", source) as node, RosTest() as ros:
        static, moving = ros.record(TFMessage, "/tf_static", LATCHED), ros.record(TFMessage, "/tf")
        text = ros.record(String, "robot_description", LATCHED)
        states = ros.publisher(JointState, "joint_states")
        message = JointState(name=robot.joint_names[::-1], position=q[::-1].tolist())
        message.header.stamp.sec, message.header.stamp.nanosec = 12, 34
        publish_until(ros, states, message, lambda: moving and static and text, "transforms and description")
        assert text[0].data == robot.model.description
        stamp = moving[-1].transforms[0].header.stamp
        assert (stamp.sec, stamp.nanosec) == (12, 34)
        fixed, movable = edges(static[0]), edges(moving[-1])
        assert set(movable) == {joint.link for joint in robot.model.joints}
        assert fixed.keys() | movable.keys() | {robot.model.base_link} == set(robot.model.frames)
        tree = {**fixed, **movable}
        book = robot.dynamics(False, "textbook")
        for link in robot.model.frames:
            np.testing.assert_allclose(pose_in_root(link, tree), book.forward_kinematics(q, link), atol=1e-12)
        if "robot_description" in source:
            assert {child: parent for child, (parent, _) in tree.items()} == {
                "mount": "world", "arm": "mount", "flange": "arm", "left": "flange", "right": "flange", "pad": "left"}
        node.stop()


def test_partial_unknown_and_bad_joint_states():
    with RosProcess("state_publisher", {"robot": "planar_2r", "frame_prefix": "a/"}) as node, RosTest() as ros:
        moving = ros.record(TFMessage, "/tf")
        states = ros.publisher(JointState, "joint_states")
        half = JointState(name=["other_robots_joint", "joint1"], position=[9.0, 0.5])
        publish_until(ros, states, half, lambda: moving, "the transform of the joint that is known")
        assert edges(moving[-1]).keys() == {"a/link1"} and moving[-1].transforms[0].header.frame_id == "a/base_link"
        bad = JointState(name=["joint2"], position=[float("nan")])
        publish_until(ros, states, bad, lambda: "received nan" in node.output(), "a warning")
        moving.clear()
        rest = JointState(name=["joint2"], position=[-0.5])
        publish_until(ros, states, rest, lambda: moving and len(moving[-1].transforms) == 2, "both transforms")
        first, second = (matrix(t.transform) for t in moving[-1].transforms)
        book = Robot.from_urdf(robot_file("planar_2r")).dynamics(False, "textbook")
        np.testing.assert_allclose(first @ second, book.forward_kinematics([0.5, -0.5], "link2"), atol=1e-12)
        node.stop(signal.SIGTERM)


def test_a_prismatic_joint_that_is_unknown_is_left_out():
    with RosProcess("state_publisher", {"robot": "scara"}) as node, RosTest() as ros:
        moving = ros.record(TFMessage, "/tf")
        states = ros.publisher(JointState, "joint_states")
        others = JointState(name=["joint1", "joint2", "joint4"], position=[0.0] * 3)  # joint3 moves along z
        publish_until(ros, states, others, lambda: moving, "the transforms of the joints that are known")
        assert len(moving[-1].transforms) == 3
        assert all(np.isfinite(matrix(transform.transform)).all() for transform in moving[-1].transforms)
        node.stop()


def test_the_rate_is_its_own_however_fast_joint_states_come():
    with RosProcess("state_publisher", {"robot": "planar_2r", "publish_frequency": 10}) as node, RosTest() as ros:
        moving = ros.record(TFMessage, "/tf", 100)
        states = ros.publisher(JointState, "joint_states")
        sent, begin = 0, time.monotonic()

        def step():
            nonlocal sent
            sent += 1
            message = JointState(name=["joint1", "joint2"], position=[0.0, 0.0])
            message.header.stamp.sec = sent
            states.publish(message)

        ros.node.create_timer(0.002, step)
        ros.wait_for(lambda: len(moving) >= 3 and sent >= 100, "three transforms and 100 states")
        assert len(moving) <= 10.0 * (time.monotonic() - begin) + 1.0
        stamps = [message.transforms[0].header.stamp.sec for message in moving]
        assert stamps == sorted(set(stamps))
        node.stop()


def test_a_description_that_cannot_be_used_is_one_clear_message(tmp_path):
    broken = tmp_path / "broken.urdf"
    broken.write_text("<robot name='r'><link name='a'/><link name='b'/></robot>")
    with RosProcess("state_publisher", {"robot": str(broken)}) as node:
        assert node.wait() == 2
        assert "broken.urdf" in node.output() and "Traceback" not in node.output()


@pytest.mark.parametrize(("name", "message_type", "topic"), [
    ("state_publisher", TFMessage, "/tf"), ("dynamics", JointState, "/dynamics/gravity_effort")])
def test_joint_states_are_received_for_subscribers_only(ros, name, message_type, topic):
    def subscribers():
        return ros.node.count_subscribers("/joint_states")

    with RosProcess(name, {"robot": "planar_2r"}) as node:
        ros.wait_for(lambda: ros.node.count_publishers(topic), "the node's publisher")
        states = ros.publisher(JointState, "/joint_states", matched=0)
        for _ in range(2):  # a listener that comes back is served again
            assert not subscribers()
            heard = Messages()
            listener = ros.node.create_subscription(message_type, topic, heard.take, 10)

            def answered(heard=heard):
                states.publish(JointState(name=["joint1", "joint2"], position=[0.0, 0.0]))
                return heard

            ros.wait_for(answered, "what the node publishes")
            assert subscribers() == 1
            ros.node.destroy_subscription(listener)
            ros.wait_for(lambda: not subscribers(), "the end of the node's subscription")
        node.stop()


@pytest.mark.parametrize(("name", "message_type", "topic", "rate"), [
    ("state_publisher", TFMessage, "/tf", 50.0), ("dynamics", JointState, "dynamics/gravity_effort", 50.0),
    ("state_publisher", TFMessage, "/tf", 200.0)])
def test_joint_states_of_one_hardware_node_are_taken_from_its_slower_topic(name, message_type, topic, rate):
    with RosProcess("hardware", {"robot": "planar_2r", "time_mode": "scaled"}, name) as hardware, \
            RosProcess(name, {"robot": "planar_2r", "publish_frequency": rate}, name) as node, \
            RosTest(namespace=name) as ros:
        heard = ros.record(message_type, topic)

        def listens_to(joint_states):
            return any(each.node_name == name for each in ros.node.get_subscriptions_info_by_topic(joint_states))

        def wait_until_it_hears(wanted, other):
            ros.wait_for(lambda: listens_to(wanted) and not listens_to(other), f"a subscription to {wanted}")
            heard.clear()
            ros.wait_for(lambda: len(heard) > 2, "what the node publishes")

        slower, all_states = topics = ("_display_joint_states", "joint_states")
        if rate > DISPLAY_STATES_RATE:
            wait_until_it_hears(all_states, slower)
        else:
            wait_until_it_hears(*topics)
            others = ros.node.create_publisher(JointState, all_states, CONTROL_QOS)  # such as a gripper's driver
            wait_until_it_hears(all_states, slower)
            ros.node.destroy_publisher(others)
            wait_until_it_hears(*topics)
        node.stop()
        hardware.stop()


def test_a_node_looks_for_subscribers_less_often_than_for_joint_states():
    audience, used, states = Mock(return_value=0), [], Mock(take_all_serialized=Mock(return_value=[]))
    with patch.object(polled_states, "NodeThread") as thread, \
            patch.object(polled_states, "LatestMessage", return_value=states):
        polled = polled_states.PolledJointStates(
            Mock(), JointOrder(["joint1"]), 100.0, Mock(get_subscription_count=audience), used.append)
        polled._cycle()
        states.take_all_serialized.assert_not_called()
        polled._cycle()
        (seconds,) = thread.return_value.sleep.call_args.args
        assert 0.5 * polled_states.AUDIENCE_PERIOD < seconds <= polled_states.AUDIENCE_PERIOD
        audience.return_value = 1
        polled._next = polled._next_look = 0.0
        for _ in range(3):
            polled._next = 0.0
            polled._cycle()
    assert states.take_all_serialized.call_count == 3
    assert audience.call_count == 2, "a look of its own for each joint state"
    assert not used, "none had come"


@pytest.mark.parametrize("links", [1, 2, 9])
def test_messages_are_those_of_the_middleware(links):
    parents = {f"{'x' * child}/link": f"{'y' * (3 * child % 7)}" for child in range(links)}  # any alignment
    wire, random = TransformWire(parents), np.random.default_rng(links)
    for stamp in (0, 12_000_000_034, 2**31 * 10**9 - 1):
        values = random.normal(size=(links, 7))
        message = transforms_message(parents, stamp, values)
        data = wire.encode(stamp, values)
        assert len(data) == len(serialize_message(message)) and deserialize_message(data, TFMessage) == message
    first = message.transforms[0]
    assert (first.header.stamp.sec, first.header.stamp.nanosec) == (2**31 - 1, 999_999_999)
    assert first.transform.translation.y == values[0, 1] and first.transform.rotation.w == values[0, 6]
