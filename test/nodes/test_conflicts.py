# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Two controllers on one robot, two hardware nodes on one topic, two publishers of /clock.

The first goes on undisturbed, the second reports who has the robot. A second controller waits for a person's word, a
second hardware node until the first has left the graph.
"""

import time

import pytest
from diagnostic_msgs.msg import DiagnosticStatus
from hardware_peer import NAMES, Peer, hardware, stamp
from ros_process import RosProcess, RosTest
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

from robodyn_ros.nodes.common.messages import read_stamp
from robodyn_ros.nodes.common.participants import participant, sender
from robodyn_ros.nodes.common.topic_owners import AT_START
from robodyn_ros.nodes.common.topics import CONTROL_QOS, unserved_subscription
from robodyn_ros.nodes.hardware.ownership import STATES_SILENT_AFTER
from robodyn_ros.nodes.internals.rcl import take_serialized

NAMESPACE = "conflict"
PATIENT = {"command_timeout": 1.0}
"""A busy machine may hold up the first controller for longer than by default; then the robot would be free."""
FOREIGN = 2.75
"""Effort that no law commands to the last bit [N m]."""


def controller(law):
    """A controller node of the namespace with a law."""
    return RosProcess("controller", {"robot": "planar_2r", "controller": law}, NAMESPACE)


def told(peer, node, text, level):
    """Wait for a status of a node of this name with this text, published from now on."""
    def find():
        return any(status.name == f"/{NAMESPACE}/{node}" and text in status.message and status.level == level
                   for message in peer.statuses.published_since(now) for status in message.status)

    now = time.time_ns()
    peer.wait_for(find, f"'{text}' in the diagnostics of {node}")


def senders(peer, topic, count=50):
    """Participants of the next messages of a topic."""
    seen, subscription = [], unserved_subscription(peer.node, JointState, topic, CONTROL_QOS)

    def take():
        while (taken := take_serialized(subscription.handle, JointState)) is not None:
            seen.append(participant(sender(taken[1])))
        return len(seen) >= count

    with subscription.handle:
        peer.wait_for(take, f"{count} messages on {topic}")
    peer.node.destroy_subscription(subscription)
    return set(seen)


@pytest.fixture(scope="module")
def peer():
    with hardware(NAMESPACE, **PATIENT) as process, Peer(NAMESPACE) as peer:
        peer.hardware = process
        yield peer


def bound(peer):
    """Wait until a second commander does not count as one from the start."""
    senders(peer, "joint_commands")
    begin = time.monotonic()
    peer.wait_for(lambda: time.monotonic() > begin + AT_START, "the end of the start")


def follow(peer, names):
    """Name the commanders of the hardware node."""
    assert peer.set_parameters(f"/{NAMESPACE}/hardware", {"commands_publisher": names}).successful


def test_the_first_controller_keeps_the_robot_and_the_second_gets_it_by_a_persons_word_alone(peer):
    with controller("computed_torque") as first:
        bound(peer)
        before = senders(peer, "joint_commands")
        with controller("damping") as second:
            second.wait_for_output("the hardware refuses the commands of this node: joint1, joint2 follow "
                                   f"'/{NAMESPACE}/controller'")
            told(peer, "controller", "refuses the commands of this node", DiagnosticStatus.ERROR)
            told(peer, "hardware", f"'/{NAMESPACE}/controller' (participant", DiagnosticStatus.WARN)
            assert senders(peer, "joint_commands") == before, "the second one is silent"
            first.kill()
            told(peer, "hardware", "which is silent", DiagnosticStatus.ERROR)
            second.wait_for_output("start this one again")
            assert "the hardware takes the commands" not in second.output()
            follow(peer, "controller")
            second.wait_for_output("the hardware takes the commands of this node")
            peer.next_state(peer.followed.includes, "a state that follows commands")
            assert not before & senders(peer, "joint_commands")
            peer.hardware.wait_for_output("no commands are refused any more")
            assert "jumped" not in second.output()
            second.stop()
    follow(peer, "")
    with controller("damping"):  # a new one of the same name needs no word
        peer.next_state(peer.followed.includes, "a state that follows commands")


def test_of_two_commanders_at_the_start_none_is_followed_until_one_is_named():
    with hardware("start", **PATIENT) as node, Peer("start") as one, \
            RosTest("other", "start") as two:
        other = two.publisher(JointState, "joint_commands", CONTROL_QOS)

        def both(condition, what):
            def command():
                for publisher, effort in ((one.commands, 1.0), (other, FOREIGN)):
                    publisher.publish(JointState(name=NAMES, effort=[effort, effort]))
                return condition()

            one.wait_for(command, what)

        both(lambda: "publishes joint1, joint2 too, since the start, so that neither is followed" in node.output(),
             "the error")
        both(lambda: one.counter("stale commands"), "the safe behaviour")
        assert one.set_parameters("/start/hardware", {"commands_publisher": "/start/other"}).successful
        one.states.clear()
        both(lambda: any(FOREIGN in state.effort for state in one.states), "the commands of the one that is named")
        one.states.clear()
        both(lambda: len(one.states) > 100, "joint states")
        assert not any(1.0 in state.effort for state in one.states)
        node.stop()


def test_a_refused_commander_that_goes_on_is_told_and_counted_and_changes_nothing(peer):
    with controller("computed_torque"), Peer(NAMESPACE) as stranger:
        bound(peer)
        before = int(peer.counter("refused commands") or 0)
        peer.states.clear()
        for _ in range(100):
            stranger.command(NAMES, [FOREIGN, FOREIGN])
            stranger.spin(0.005)
        peer.wait_for(lambda: int(peer.counter("refused commands") or 0) > before + 50, "refused commands")
        peer.wait_for(lambda: len(peer.states) > 10, "joint states")
        assert not any(FOREIGN in state.effort for state in peer.states)
        told(peer, "hardware", f"is not followed: joint1, joint2 follow '/{NAMESPACE}/controller'",
             DiagnosticStatus.WARN)
        assert peer.hardware.output().count("is not followed: ") < 10


def test_the_second_hardware_node_stands_still_until_the_first_has_left(peer):
    with controller("computed_torque") as law, hardware(NAMESPACE, **PATIENT) as second:
        second.wait_for_output(f"'/{NAMESPACE}/hardware'")
        second.wait_for_output("publishes /conflict/joint_states of the same joints already: this node stands still")
        told(peer, "hardware", "stands still until that one ends", DiagnosticStatus.ERROR)
        before = senders(peer, "joint_states")
        assert len(before) == 1
        stamps = [stamp(state) for state in peer.states]
        assert stamps == sorted(stamps)
        peer.call(Trigger, f"/{NAMESPACE}/hardware/reset")
        second.wait_for_output("request rejected: this node stands still: '/conflict/hardware'")
        with peer.hardware.stopped():
            law.wait_for_output("no joint states for 0.5 s or more")
            peer.spin(2.0 * STATES_SILENT_AFTER)
        law.wait_for_output("joint states are coming")
        assert "no other node publishes" not in second.output(), "the first one was held up, and has not left"
        peer.hardware.stop()
        second.wait_for_output("no other node publishes /conflict/joint_states of the same joints")
        peer.next_state(peer.followed.includes,
                        "a state of the second one that follows commands")
        assert before == {b""} or not before & senders(peer, "joint_states")
        assert "Traceback" not in law.output() + second.output()
        second.stop()


def test_one_of_two_simulations_publishes_the_clock():
    settings = {"time_mode": "scaled", "update_rate": 200}
    with hardware("clock_a", **settings) as first, Peer("clock_a") as peer:
        clock = peer.record(Clock, "/clock", CONTROL_QOS)
        peer.wait_for(lambda: len(clock) > 100, "/clock")
        with hardware("clock_b", **settings) as second, Peer("clock_b") as other:
            second.wait_for_output("'/clock_a/hardware' publishes /clock already: this node does not until that one")
            other.next_state()
            times = [read_stamp(message.clock) for message in clock]
            assert times == sorted(times)
            first.stop()
            second.wait_for_output("no other node publishes /clock")
            clock.clear()
            peer.wait_for(lambda: clock, "/clock of the second one")
            second.stop()
