# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Malformed and absurd messages on every topic of the nodes: rejected and counted, and all nodes go on."""

import math
import random
import time
from contextlib import contextmanager
from importlib import import_module

import pytest
from builtin_interfaces.msg import Time
from geometry_msgs.msg import PoseStamped, WrenchStamped
from hardware_peer import NAMES, Peer, stamp
from rcl_interfaces.srv import ListParameters
from rclpy.serialization import serialize_message
from ros_process import RosProcess
from sensor_msgs.msg import JointState
from std_msgs.msg import Header
from std_srvs.srv import SetBool, Trigger
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from robodyn_interfaces.msg import VoltageCommands
from robodyn_interfaces.srv import Gravity, InverseDynamics
from robodyn_ros.nodes.common.topics import CONTROL_QOS, LATCHED_QOS

NODES = ("hardware", "controller", "dynamics", "state_publisher")
NAMESPACE = "hostile"
STRANGE_STAMPS = [Time(sec=2147483647, nanosec=4294967295), Time(sec=0, nanosec=1_000_000_000),
                  Time(sec=-1, nanosec=0), Time(sec=-2147483648, nanosec=4294967295)]


@pytest.fixture(scope="module")
def simulation():
    command = ("-m", "robodyn_ros", "simulate", "--robot", "planar_2r", "--actuators", "hardware_dc_motors",
               "--namespace", NAMESPACE, "--controller", "computed_torque")
    with RosProcess("simulate", command=command) as process:
        process.wait_for_output("ready: robot", timeout=120.0)  # compiled, on a machine that may be busy
        yield process
        process.stop()


@pytest.fixture(scope="module")
def peer(simulation):
    with Peer(NAMESPACE) as peer:
        peer.wait_for(lambda: len(peer.states) > 5, "joint states")
        yield peer


@pytest.fixture(autouse=True)
def everything_goes_on(simulation, peer):
    """After each test, joint states are answered, and each node serves topics, services and parameters."""
    yield
    assert simulation.running(), simulation.output()
    since = stamp(peer.next_state())
    peer.next_state(lambda state: stamp(state) > since, "a later joint state")
    answers = peer.record(JointState, "joint_commands", CONTROL_QOS)
    peer.next_of(answers, lambda command: stamp(command) > since, "commands")
    assert peer.service(SetBool, "pause", data=True).success
    assert peer.service(Trigger, "reset").success
    assert peer.service(SetBool, "pause", data=False).success
    assert peer.set_parameters(f"/{NAMESPACE}/controller", {"controller": "computed_torque"}).successful
    assert peer.call(ListParameters, f"/{NAMESPACE}/state_publisher/list_parameters").result.names
    assert peer.call(Gravity, f"/{NAMESPACE}/dynamics/gravity", position=[0.0, 0.0]).success
    assert "Traceback" not in simulation.output(), simulation.output()
    assert simulation.output().count("rcutils_set_error_state") < 10, simulation.output()


def counters(peer, node):
    """Counters and values of a node's newest status."""
    for message in reversed(peer.statuses):
        for status in message.status:
            if status.name == f"/{NAMESPACE}/{node}":
                return {value.key: value.value for value in status.values}
    return {}


def send_until_counted(peer, send, wanted):
    """Send messages, again and again as some may be lost on a busy machine, until nodes have counted them."""
    def missing():
        return [(node, key) for node, key in wanted if not int(counters(peer, node).get(key, 0))]

    def counted():
        send()
        return not missing()

    try:
        peer.wait_for(counted, "the counters")
    except AssertionError as error:
        raise AssertionError(f"{error}: {missing()}") from None


@contextmanager
def publishers(peer, kinds):
    """Publishers by topic."""
    made = {topic: peer.publisher(kind, topic, LATCHED_QOS) for topic, kind in kinds.items()}
    yield made
    for publisher in made.values():
        peer.node.destroy_publisher(publisher)


def subscriptions(peer):
    """Topics that the nodes read, with the class of their messages."""
    found = {}
    peer.wait_for(lambda: set(NODES) <= set(peer.node.get_node_names()), "the nodes")
    for node in NODES:
        for topic, types in peer.node.get_subscriber_names_and_types_by_node(node, f"/{NAMESPACE}"):
            package, _, name = types[0].split("/")
            found[topic] = getattr(import_module(f"{package}.msg"), name)
    return found


def malformed(kind, count=40):
    """Serialized messages of a kind that are cut off, or have random bytes and lengths."""
    source, good = random.Random(1), bytes(serialize_message(kind()))
    yield from (b"", good[:1], good[:4], good[:-1] if len(good) > 9 else b"\0", b"\xff" * 64,
                b"\0\1\0\0" + b"\xff" * 60)
    for _ in range(count):
        data = bytearray(good[:4] + source.randbytes(source.randrange(200)))
        if source.random() < 0.5 and len(data) > 24:
            data[16:20] = source.choice((0xFFFFFFFF, 0x7FFFFFFF, 1000, 3)).to_bytes(4, "little")
        yield bytes(data)


READ = [*(("hardware", topic) for topic in ("joint_commands", "voltage_commands", "~/commands", "~/external_wrench")),
        *(("controller", topic) for topic in ("joint_states", "~/joint_trajectory", "~/pose", "measured_wrench"))]
"""Topics of which malformed messages are counted, by the node that reads them."""


def test_malformed_messages_on_every_topic_are_rejected_and_counted(peer):
    wanted = {f"/{NAMESPACE}/{topic.replace('~', node)}" for node, topic in READ}
    topics = peer.wait_for(lambda: found if wanted <= set(found := subscriptions(peer)) else None, "subscriptions")
    with publishers(peer, topics) as made:
        def send():
            for topic, kind in topics.items():
                for data in malformed(kind):
                    made[topic].publish(data)
                peer.executor.spin_once(timeout_sec=0.01)

        send_until_counted(peer, send, [(node, f"malformed messages: {topic}") for node, topic in READ])


def test_messages_with_stamps_that_are_no_time_are_rejected_and_counted(peer):
    with publishers(peer, {"joint_states": JointState, "voltage_commands": VoltageCommands,
                           "controller/joint_trajectory": JointTrajectory}) as made:
        def send():
            for each in STRANGE_STAMPS:
                header = Header(stamp=each)
                made["joint_states"].publish(JointState(header=header, name=NAMES, position=[0.0, 0.0],
                                                        velocity=[0.0, 0.0], effort=[0.0, 0.0]))
                peer.commands.publish(JointState(header=header, name=NAMES, effort=[0.0, 0.0]))
                made["voltage_commands"].publish(VoltageCommands(header=header, name=NAMES, voltage=[0.0, 0.0]))
                made["controller/joint_trajectory"].publish(JointTrajectory(
                    header=header, joint_names=NAMES, points=[JointTrajectoryPoint(positions=[0.0, 0.0])]))

        send_until_counted(peer, send, (
            ("hardware", "rejected commands: invalid stamp"), ("controller", "rejected joint states: invalid stamp"),
            ("controller", "rejected trajectories")))


def test_absurd_numbers_are_rejected_like_nan_and_the_active_law_stays(peer, simulation):
    """Each number is finite; what a formula makes of it would not be."""
    with publishers(peer, {"joint_states": JointState, "voltage_commands": VoltageCommands,
                           "controller/joint_trajectory": JointTrajectory, "controller/pose": PoseStamped,
                           "hardware/external_wrench": WrenchStamped}) as made:
        def send():
            for huge in (1e300, -1e300, 1e308):
                now = peer.states[-1].header
                for q, v in ((huge, 0.0), (0.0, huge)):
                    made["joint_states"].publish(JointState(header=now, name=NAMES, position=[q, 0.0],
                                                            velocity=[0.0, v], effort=[0.0, 0.0]))
                    point = JointTrajectoryPoint(positions=[0.0, q], velocities=[v, 0.0])
                    point.time_from_start.sec = 1
                    made["controller/joint_trajectory"].publish(JointTrajectory(joint_names=NAMES, points=[point]))
                peer.commands.publish(JointState(name=NAMES, effort=[0.0, huge]))
                made["voltage_commands"].publish(VoltageCommands(name=NAMES, voltage=[huge, 0.0]))
                wrench = WrenchStamped(header=Header(frame_id="link2"))
                wrench.wrench.force.x = huge
                made["hardware/external_wrench"].publish(wrench)
                pose = PoseStamped(header=Header(frame_id="base_link"))
                pose.pose.position.x = huge
                made["controller/pose"].publish(pose)

        send_until_counted(peer, send, (
            ("hardware", "rejected commands: out of range"), ("hardware", "rejected wrenches: out of range"),
            ("controller", "rejected joint states: out of range"), ("controller", "rejected pose"),
            ("controller", "rejected trajectories")))
    assert counters(peer, "controller")["controller"] == "computed_torque"
    assert "diverged" not in simulation.output() and "was dropped" not in simulation.output()
    request = {"position": [0.0, 0.0], "velocity": [1e300, 0.0], "acceleration": [0.0, 0.0]}
    assert "received 1e+300" in peer.call(InverseDynamics, f"/{NAMESPACE}/dynamics/inverse_dynamics", **request).message


def test_divergence_pauses_loudly_and_a_reset_recovers_without_the_wrench_that_caused_it(peer, simulation):
    wrenches = peer.publisher(WrenchStamped, "hardware/external_wrench")
    wrench = WrenchStamped(header=Header(frame_id="link2"))
    wrench.wrench.force.x = wrench.wrench.force.y = wrench.wrench.torque.z = 9e6
    wrenches.publish(wrench)
    simulation.wait_for_output("external wrenches are removed")
    peer.node.destroy_publisher(wrenches)
    assert "diverged" in peer.service(SetBool, "pause", data=False).message
    assert all(math.isfinite(value) for value in peer.next_state().position)
    assert peer.service(Trigger, "reset").success
    assert peer.service(SetBool, "pause", data=False).success
    since = stamp(peer.next_state())
    peer.next_state(lambda state: stamp(state) > since + 100 * 2_000_000, "a hundred periods")


def test_the_log_of_a_flood_is_short_and_no_terminal_obeys_it(peer, simulation):
    peer.next_state()
    before, begin = len(simulation.output()), time.monotonic()
    evil = "\x1b[2J\x1b]0;owned\x07" + "x" * 20_000
    motions = peer.publisher(JointTrajectory, "controller/joint_trajectory")
    wrenches = peer.publisher(WrenchStamped, "hardware/external_wrench")
    poses = peer.publisher(PoseStamped, "controller/pose")
    for number in range(50):
        header = Header(frame_id=f"{evil}{number}")
        peer.commands.publish(JointState(name=[f"{evil}{number}"], effort=[1.0]))
        motions.publish(JointTrajectory(joint_names=[f"{evil}{number}"]))  # empty: a stop
        motions.publish(JointTrajectory(joint_names=[f"{evil}{number}"], points=[JointTrajectoryPoint()]))
        wrenches.publish(WrenchStamped(header=header))
        poses.publish(PoseStamped(header=header))
        assert not peer.set_parameters(f"/{NAMESPACE}/controller", {"controller": f"{evil}{number}"}).successful
    for publisher in (motions, wrenches, poses):
        peer.node.destroy_publisher(publisher)
    log = simulation.output()[before:]
    assert "joint_commands: unknown joint" in log and "parameters refused" in log
    assert "\x1b" not in log and "\x07" not in log
    # Some ten kinds of lines, each of 1,000 characters and every 2 s at most; the flood has 6 million characters.
    lines = 60 + 5 * (time.monotonic() - begin)
    assert len(log) < 1_000 * lines, len(log)
    assert len(log.splitlines()) < lines, log
