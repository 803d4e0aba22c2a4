# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""A robot whose state comes from several publishers on one topic, as from the drivers of an arm and of its gripper."""

import itertools
import time
from contextlib import ExitStack

import numpy as np
import pytest
from ros_process import RosProcess, RosTest
from sensor_msgs.msg import JointState
from test_state_publisher import GRIPPER
from tf2_msgs.msg import TFMessage

from robodyn_ros.description.resources import robot_file
from robodyn_ros.nodes.common.messages import read_stamp, set_stamp
from robodyn_ros.nodes.common.topic_owners import AT_START
from robodyn_ros.robot import Robot

PERIOD = 4_000_000
JOINTS = ["joint1", "joint2"]


class Driver(RosTest):
    """A process in the graph's eyes that publishes the states of some joints."""

    def __init__(self, namespace, *names, matched=1, node=""):
        super().__init__(node or "driver_of_" + names[0], namespace)
        self.names, self.publish = names, self.publisher(JointState, "joint_states", matched=matched).publish

    def send(self, stamp, *positions, **fields):
        message = JointState(name=self.names, position=positions, velocity=[0.0] * len(positions), **fields)
        set_stamp(message.header.stamp, stamp)
        self.publish(message)


def stamps(messages):
    return [read_stamp(message.header.stamp) for message in messages]


def test_every_state_of_an_arm_is_answered_however_often_its_gripper_speaks():
    with RosProcess("controller", {"robot": "planar_2r", "controller": "gravity_compensation"}, "grip") as node, \
            RosTest(namespace="grip") as ros, Driver("grip", *JOINTS) as arm, Driver("grip", "finger") as gripper:
        commands = ros.record(JointState, "joint_commands", 100)
        for k in range(1, 101):
            arm.send(k * PERIOD, 0.01 * k, 0.0)
            for number in range(4):
                gripper.send(k * PERIOD + number, float("nan"))
            ros.wait_for(lambda k=k: k * PERIOD in stamps(commands), f"the answer to state {k}")
        assert stamps(commands) == [k * PERIOD for k in range(1, 101)]
        node.stop()
        assert "rejected" not in node.output() and "stayed unanswered" not in node.output()


def test_joints_of_another_robot_are_named_in_the_silence():
    with RosProcess("controller", {"robot": "planar_2r"}, "wrong") as node, Driver("wrong", "shoulder", "elbow") as arm:
        arm.send(PERIOD, 0.1, 0.2)
        node.wait_for_output("Messages with other joints alone came, such as ['shoulder', 'elbow']")
        node.stop()


def test_messages_of_one_driver_that_are_no_states_are_not_taken_for_lost_states():
    """A driver that publishes the arm and the gripper in turn: the numbers of its messages have gaps for the arm."""
    with RosProcess("controller", {"robot": "planar_2r"}, "turns") as node, RosTest(namespace="turns") as ros, \
            Driver("turns", *JOINTS) as arm:
        commands = ros.record(JointState, "joint_commands", 100)
        for k in range(1, 51):
            arm.send(k * PERIOD, 0.1, 0.0)
            arm.publish(JointState(name=["finger"], position=[0.1]))
            ros.wait_for(lambda k=k: k * PERIOD in stamps(commands), f"the answer to state {k}")
        node.stop()
        assert "stayed unanswered" not in node.output()


def test_states_of_three_drivers_are_one_state_and_a_driver_that_dies_is_named():
    dynamics = Robot.from_urdf(robot_file("planar_2r")).dynamics(False, "textbook")
    with RosProcess("controller", {"robot": "planar_2r", "controller": "gravity_compensation", "state_timeout": 1.0},
                    "three") as node, RosTest(namespace="three") as ros, Driver("three", "joint1") as shoulder, \
            Driver("three", "finger", "thumb") as gripper:
        commands = ros.record(JointState, "joint_commands", 100)

        stamp = itertools.count(PERIOD, PERIOD)

        def answer(elbow, q):
            """Send a state until it is answered: the first messages of a driver can come before its name."""
            sent = []

            def answers():
                sent.append(next(stamp))
                shoulder.send(sent[-1], q[0])
                gripper.send(sent[-1], 0.0, 0.0)
                elbow.send(sent[-1] + 1000, q[1])
                return [command for command in commands if read_stamp(command.header.stamp) in sent]

            command = ros.wait_for(answers, f"the answer to {q}")[0]
            np.testing.assert_allclose(command.effort, dynamics.gravity(np.array(q)), atol=1e-9)

        with Driver("three", "joint2") as elbow:
            begin, k = time.monotonic(), 0
            while time.monotonic() < begin + AT_START:  # the node knows the name of its driver
                k += 1
                answer(elbow, [0.01 * k, -0.02 * k])
        del commands[:]
        shoulder.send(next(stamp), 0.3)
        node.wait_for_output("that this node can answer: those of joint2 are missing")
        assert not commands, "an answer to a position of long ago"
        with Driver("three", "joint2") as elbow:  # another process
            answer(elbow, [0.3, 0.4])
        node.stop()


def test_a_second_publisher_of_the_joints_is_never_taken_for_the_arm():
    with RosProcess("controller", {"robot": "planar_2r", "controller": "gravity_compensation"}, "take") as node, \
            RosTest(namespace="take") as ros:
        commands = ros.record(JointState, "joint_commands", 100)
        stamp = itertools.count(PERIOD, PERIOD)

        def answered(driver):
            now = next(stamp)
            ros.wait_for(lambda: driver.send(now, 0.8, -0.5) or now in stamps(commands),
                         f"the answer to the state of {now} ns")

        with ExitStack() as later:
            with Driver("take", *JOINTS) as arm:
                answered(arm)
                begin = time.monotonic()
                while time.monotonic() < begin + AT_START:
                    answered(arm)
                zeros = later.enter_context(Driver("take", *JOINTS, node="joint_state_publisher"))

                def zero():
                    zeros.send(next(stamp) + 1, 0.0, 0.0)
                    return "'/take/driver_of_joint1', which is silent" in node.output()

                for _ in range(20):
                    zero()
                    answered(arm)
                ros.wait_for(zero, "the error")
                assert "ERROR" in node.output()
                answered(arm)
            ros.wait_for(lambda: zero() and ros.node.count_publishers("joint_states") == 1, "the end of the arm")
            with Driver("take", *JOINTS) as again:
                answered(again)
            assert not any(each % PERIOD for each in stamps(commands)), "zeros are answered"
        node.stop()


def test_two_publishers_of_a_joint_at_the_start_are_an_error_until_one_is_named():
    with RosProcess("controller", {"robot": "planar_2r", "state_timeout": 60.0}, "claim") as node, \
            RosTest(namespace="claim") as ros, Driver("claim", "joint1") as shoulder, \
            Driver("claim", "joint2") as elbow, Driver("claim", "joint2", "finger", node="other") as other:
        commands = ros.record(JointState, "joint_commands", 100)
        stamp = itertools.count(PERIOD, PERIOD)

        def send(condition):
            now = next(stamp)
            shoulder.send(now, 0.1)
            elbow.send(now, 0.2)
            other.send(now + 1, 9.0, 9.0)
            return condition()

        ros.wait_for(lambda: send(lambda: "since the start, so that neither is followed" in node.output()), "the error")
        ros.spin(0.1)
        del commands[:]
        for _ in range(10):
            send(lambda: True)
        ros.spin(0.1)
        assert not commands
        named = {"joint_states_publisher": "driver_of_joint1, /claim/driver_of_joint2"}
        assert ros.set_parameters("/claim/controller", named).successful
        ros.wait_for(lambda: send(lambda: commands), "an answer")
        assert not any(each % PERIOD for each in stamps(commands))
        refused = ros.set_parameters("/claim/controller", {"joint_states_publisher": "no name"})
        assert "expected names of nodes" in refused.reason
        node.stop()


@pytest.mark.parametrize("first", [["turn"], ["slide"]], ids=["arm first", "gripper first"])
def test_transforms_have_the_stamps_of_their_joints(first):
    """An arm, and a gripper with a mimic joint, whose drivers publish with different rates."""
    with RosProcess("state_publisher", {"robot_description": GRIPPER, "publish_frequency": 1000}, "tf") as node, \
            RosTest(namespace="tf") as ros:
        heard = ros.record(TFMessage, "/tf", 1000)
        with Driver("tf", "turn") as arm, Driver("tf", "slide") as gripper:
            angles = {}
            for k in range(1, 31):
                angles[k * PERIOD] = 0.01 * k
                both = (lambda k=k: arm.send(k * PERIOD, 0.01 * k)), (
                    lambda k=k: gripper.send((k - k % 5) * PERIOD + 1, 0.001 * (k - k % 5)))
                for send in both if first == ["turn"] else both[::-1]:
                    send()
                ros.wait_for(lambda k=k: any(
                    transform.child_frame_id == "arm" and read_stamp(transform.header.stamp) == k * PERIOD
                    for message in heard for transform in message.transforms), f"the transform of state {k}")
        turns = {read_stamp(transform.header.stamp): transform.transform.rotation
                 for message in heard for transform in message.transforms if transform.child_frame_id == "arm"}
        assert len({round(rotation.y, 9) for rotation in turns.values()}) == len(turns) == 30
        for message in heard:
            for transform in message.transforms:
                if transform.child_frame_id == "left":
                    stamp = read_stamp(transform.header.stamp)
                    position = np.array([getattr(transform.transform.translation, axis) for axis in "xyz"])
                    assert stamp % PERIOD == 1 and np.linalg.norm(position) == pytest.approx(
                        0.001 * (stamp // PERIOD), abs=1e-9), "an old position with a new stamp"
        node.stop()


def test_gravity_efforts_have_the_oldest_stamp_and_miss_no_state():
    dynamics = Robot.from_urdf(robot_file("planar_2r")).dynamics(False, "textbook")
    with RosProcess("dynamics", {"robot": "planar_2r", "publish_frequency": 1000}, "weight") as node, \
            RosTest(namespace="weight") as ros:
        heard = ros.record(JointState, "dynamics/gravity_effort", 100)
        node.wait_for_output("ready")
        with Driver("weight", "joint2", "finger") as elbow, Driver("weight", "joint1") as shoulder, \
                Driver("weight", "thumb") as gripper:
            for k in range(1, 31):
                elbow.send(k * PERIOD, 0.02 * k, 0.0)
                gripper.send(k * PERIOD + 2, 0.0)
                shoulder.send(k * PERIOD + 1, 0.01 * k)
                ros.wait_for(lambda k=k: k * PERIOD in stamps(heard), f"the effort of state {k}")
                gripper.send(k * PERIOD + 3, 0.0)
        assert stamps(heard) == [k * PERIOD for k in range(1, 31)]
        for k, message in enumerate(heard, start=1):
            np.testing.assert_allclose(message.effort, dynamics.gravity(np.array([0.01 * k, 0.02 * k])), atol=1e-9)
        node.stop()
