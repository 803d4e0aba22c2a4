"""Malformed and absurd messages on every topic of the nodes: rejected and counted, and all nodes go on."""

import random
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
from robodyn_interfaces.srv import Gravity
from robodyn_ros.nodes.common.topics import CONTROL_QOS

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


def wait_for_counter(peer, node, key):
    return peer.wait_for(lambda: int(counters(peer, node).get(key, 0)), f"counter '{key}' of {node}")


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


def test_malformed_messages_on_every_topic_are_rejected_and_counted(peer):
    topics = peer.wait_for(lambda: found if len(found := subscriptions(peer)) >= 10 else None, "subscriptions")
    for topic, kind in topics.items():
        publisher = peer.publisher(kind, topic, CONTROL_QOS)
        for data in malformed(kind):
            publisher.publish(data)
            peer.executor.spin_once(timeout_sec=0.002)
        peer.node.destroy_publisher(publisher)
    for node, topic in (("hardware", "joint_commands"), ("hardware", "voltage_commands"), ("hardware", "~/commands"),
                        ("hardware", "~/external_wrench"), ("controller", "joint_states"),
                        ("controller", "~/joint_trajectory"), ("controller", "~/pose"),
                        ("controller", "measured_wrench")):
        wait_for_counter(peer, node, f"malformed messages: {topic}")


def test_messages_with_stamps_that_are_no_time_are_rejected_and_counted(peer):
    states = peer.publisher(JointState, "joint_states", CONTROL_QOS)
    voltages = peer.publisher(VoltageCommands, "voltage_commands", CONTROL_QOS)
    motions = peer.publisher(JointTrajectory, "controller/joint_trajectory")
    for stamp_ in STRANGE_STAMPS:
        header = Header(stamp=stamp_)
        states.publish(JointState(header=header, name=NAMES, position=[0.0, 0.0], velocity=[0.0, 0.0],
                                  effort=[0.0, 0.0]))
        peer.commands.publish(JointState(header=header, name=NAMES, effort=[0.0, 0.0]))
        voltages.publish(VoltageCommands(header=header, name=NAMES, voltage=[0.0, 0.0]))
        motions.publish(JointTrajectory(header=header, joint_names=NAMES,
                                        points=[JointTrajectoryPoint(positions=[0.0, 0.0])]))
        peer.next_state()
    for publisher in (states, voltages, motions):
        peer.node.destroy_publisher(publisher)
    for node, kind in (("hardware", "rejected commands: invalid stamp"),
                       ("controller", "rejected joint states: invalid stamp"), ("controller", "rejected trajectories")):
        wait_for_counter(peer, node, kind)


def test_the_log_of_a_flood_is_short_and_no_terminal_obeys_it(peer, simulation):
    peer.next_state()
    before = len(simulation.output())
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
    assert len(log) < 60_000, len(log)
    assert len(log.splitlines()) < 60, log
