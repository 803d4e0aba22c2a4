# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Commands that read and drive a running graph, on a simulation in a process of its own."""

import re
import time
from contextlib import ExitStack
from dataclasses import replace

import numpy as np
import pytest
import yaml
from rcl_interfaces.srv import ListParameters
from ros_process import RosProcess, RosTest
from sensor_msgs.msg import JointState
from urdf_parts import joint, link, robot

from robodyn_ros.base.errors import InputError, RobodynError
from robodyn_ros.commands.command_line import main
from robodyn_ros.commands.graph_commands import _joint_values
from robodyn_ros.description.resources import robot_file
from robodyn_ros.description.urdf import load_urdf, load_urdf_text
from robodyn_ros.kinematics.forward import forward_kinematics
from robodyn_ros.nodes.client.graph_client import STARTING_SECONDS, GraphClient
from robodyn_ros.nodes.client.graph_parameters import GraphParameters
from robodyn_ros.nodes.client.motion_requests import MotionRequests

ROBOT = "scara"
MODEL = load_urdf(robot_file(ROBOT))
JOINTS = list(MODEL.joint_names)
SPACE = "driven"
"""Namespace of the graph."""


class Rig:
    """The simulation, what it publishes, and commands on it."""

    def __init__(self, ros, capsys):
        self.ros, self.capsys = ros, capsys
        self.states = ros.record(JointState, "joint_states")

    def run(self, *words, code=0, namespace=SPACE):
        """Run a command, check its exit code, and return what it printed."""
        command, *rest = words
        result = main([command, "--namespace", namespace, *map(str, rest)])
        printed = self.capsys.readouterr()
        assert result == code, printed.err
        assert not printed.err if code == 0 else printed.err.startswith("robodyn: error: "), printed.err
        return printed.err if code else printed.out

    def swap(self, controller):
        self.run("swap", controller)

    def q(self):
        """Positions from now on."""
        before, now = len(self.states), time.time_ns()
        self.ros.wait_for(lambda: self.states.published_since(now, before), "a joint state")
        return np.array(self.states[-1].position)


@pytest.fixture(scope="module")
def graph():
    with RosProcess("simulate", command=(
            "-m", "robodyn_ros", "simulate", "--robot", ROBOT, "--controller", "computed_torque", "--time-mode",
            "lockstep", "--speed-limit", "4", "--namespace", SPACE, "--ros-args", "-p", "update_rate:=50")) as graph, \
            RosTest(namespace=SPACE) as ros:
        ros.states = ros.record(JointState, "joint_states")
        ros.wait_for(lambda: graph.check() or ros.states, "joint states", timeout=60.0)
        yield ros
        graph.stop()


@pytest.fixture
def rig(graph, capsys):
    return Rig(graph, capsys)


def test_parameters_are_listed_read_and_set(rig):
    listed = rig.run("params")
    assert all(f"/{SPACE}/{node}:" in listed for node in ("hardware", "controller", "dynamics", "state_publisher"))
    assert re.search(r"payload\.mass = 0 .*\n +Mass welded to the tip link \[kg\]", listed)
    assert rig.run("get", "controller") == f"/{SPACE}/controller controller = computed_torque\n"
    assert rig.run("set", "payload.mass=1.5", "payload.center_of_mass:=[0, 0, 0.1]").count("\n") == 2
    assert "payload.mass = 1.5" in rig.run("get", "payload")
    rig.run("set", "payload.mass=0")


def test_a_word_is_found_in_names_and_meanings(rig):
    assert "payload.mass = " in rig.run("params", "mass")
    found = rig.run("params", "stiffness") + rig.run("params", "per position error")
    assert f"computed_torque.gains.{JOINTS[0]}.p" in found and "payload.mass" not in found


def test_commands_work_beside_a_recording_and_clients_of_nodes_that_have_ended(rig, tmp_path):
    """The graph lists a service that only has a client; a recorder makes clients."""
    pytest.importorskip("mcap_ros2", reason="recordings need mcap-ros2-support")
    ghost = rig.ros.node.create_client(ListParameters, f"/{SPACE}/ghost/list_parameters")
    with RosProcess("record", command=("-m", "robodyn_ros", "record", "--namespace", SPACE, "--output",
                                       str(tmp_path / "run"))) as recorder:
        rig.ros.wait_for(lambda: recorder.check() or any(
            name == "recorder" for name, _ in rig.ros.node.get_node_names_and_namespaces()), "the recorder")
        rig.ros.call(ListParameters, f"/{SPACE}/recorder/list_parameters")  # it has started
        rig.run("move", f"{JOINTS[0]}=0.1")  # a node that the recorder hears of
        for words, expected in ((["get", "controller"], f"/{SPACE}/controller controller = computed_torque\n"),
                                (["set", "payload.mass=0.0"], f"/{SPACE}/hardware payload.mass = 0\n"),
                                (["params", "payload"], "payload.mass = 0")):
            assert main([words[0], "--namespace", SPACE, *words[1:]]) == 0
            printed = rig.capsys.readouterr()
            assert expected in printed.out and "ghost" not in printed.out
            # A recorder has a low priority: on a busy computer it may give no answer.
            assert not printed.err or printed.err.startswith(f"robodyn: warning: node '/{SPACE}/recorder' gave no")
        with GraphClient("asking", SPACE) as client:
            parameters = GraphParameters(client.graph, seconds=60.0)
            client.run(parameters.entries(["controller"]))
            assert f"/{SPACE}/recorder" in parameters.nodes
            with recorder.stopped():
                parameters = GraphParameters(client.graph, answer_seconds=5.0)
                assert [entry.value for entry in client.run(parameters.entries(["controller"]))] == ["computed_torque"]
                assert parameters.silent == [f"/{SPACE}/recorder"]
                with pytest.raises(InputError, match=r"/controller, .*/recorder gave no answer\): did you mean"):
                    client.run(parameters.entries(["payload.mas"]))
                with pytest.raises(RobodynError, match="no answer of node '/driven/recorder' within 0.5 s"):
                    client.run(GraphParameters(client.graph, f"/{SPACE}/recorder", 0.5, 0.5).entries(["output"]))
        recorder.stop()
    rig.ros.node.destroy_client(ghost)


def test_a_star_stands_for_all_joints(rig):
    names = [f"computed_torque.gains.{joint}.p" for joint in JOINTS]
    before = rig.run("get", "computed_torque.gains.*.p")
    assert [line.split()[1] for line in before.splitlines()] == sorted(names)
    said = rig.run("set", "computed_torque.gains.*.p=90", f"{names[2]}=95")
    assert said.count(" = 90") == 3 and f"{names[2]} = 95" in said
    assert "no parameter 'computed_torque.*.q'" in rig.run("set", "computed_torque.*.q=1", code=1)
    rig.run("set", *(f"{line.split()[1]}={line.split()[3]}" for line in before.splitlines()))


def test_joints_that_are_not_moved_by_themselves_are_named_with_the_reason():
    model = load_urdf_text(robot(*(link(name) for name in ("base", "a", "b")), joint("lead", "base", "a"), joint(
        "follow", "a", "b", extra='<mimic joint="lead"/>')))
    assert _joint_values(["lead=30deg"], model) == {"lead": pytest.approx(np.radians(30.0))}
    with pytest.raises(InputError, match="joint 'follow' follows 'lead' \\(mimic\\)"):
        _joint_values(["follow=0.1"], model)
    with pytest.raises(InputError, match="joint 'slack' is held as if fixed"):
        _joint_values(["slack=0.1"], replace(model, held={"slack": 0.0}))


@pytest.mark.parametrize("words, message", [
    (["get", "payload.mas"], "did you mean 'payload.mass'"),
    (["set", "payload.mass"], "expected NAME=VALUE, received 'payload.mass'"),
    (["set", "payload.mass=two"], "'payload.mass': expected a number, received 'two'"),
    (["set", "use_sim_time=true"], "belongs to several nodes"),
    (["set", "payload.mass=-1"], "payload.mass"),
    (["set", "--node", f"/{SPACE}/controller", "update_rate=250"], "fixed while the node runs: give it when the node "
     "starts, with --ros-args -p update_rate:=250"),
    (["params", "nosuchword"], "no parameter 'nosuchword'"),
    (["set", "controller=nosuch"], "nosuch"),
    (["move", "elbow=1"], "unknown joint 'elbow'"),
    (["move", f"{JOINTS[0]}=30mm"], "expected a unit among rad, deg, received 'mm'"),
    (["move", f"{JOINTS[0]}=99"], JOINTS[0]),
    (["move", "0.1"], f"expected one value for each of the {len(JOINTS)} joints"),
    (["move"], "expected positions of joints, or --pose"),
    (["move", "0.1", "--trajectory", "motion.csv"], "expected positions of joints, or --pose"),
    (["move", "--trajectory", "motion.csv", "--duration", "1"], "--duration has no effect with --trajectory"),
    (["move", "--trajectory", "nosuch.csv"], "--trajectory nosuch.csv"),
    (["move", "--pose", "1", "2"], "received 2 numbers"),
    (["move", "--pose", "9", "0", "0"], "cannot get to this pose"),
    (["move", f"{JOINTS[0]}=0.1", "--duration", "-1"], "--duration: expected 0 to 3600 s"),
    (["set-state"], "received neither"),
    (["set-state", f"{JOINTS[0]}=99"], JOINTS[0]),
    (["push", "nowhere", "0", "0", "1"], "unknown link 'nowhere'"),
    (["step", "3"], "paus"),
    (["echo", "joint_state"], f"did you mean '/{SPACE}/joint_states'"),
], ids=lambda value: " ".join(value) if isinstance(value, list) else "")
def test_mistakes_get_one_line_that_says_what_is_wrong(rig, words, message):
    assert message in rig.run(*words, code=1)


def test_without_the_namespace_the_message_names_it(rig):
    with GraphClient("without_namespace") as client:
        client.wait_for(lambda: ("hardware", f"/{SPACE}") in client.node.get_node_names_and_namespaces(), "it", 10.0)
        with pytest.raises(RobodynError, match=f"no answer within 0 s: there are nodes in /{SPACE}, not in /: name one "
                           f"of these, such as --namespace /{SPACE}$"):
            client.wait_for(lambda: False, "answer", 0.0)


def test_joints_move_to_their_targets_others_stay(rig):
    rig.run("reset")
    moved = rig.run("move", f"{JOINTS[0]}=20deg", f"{JOINTS[2]}=50mm", "--duration", "0.5")
    assert re.fullmatch(r"joint '\w+' is at \S+ (rad|m), \S+ (rad|m) from its goal, the farthest of 2\n", moved), moved
    np.testing.assert_allclose(rig.q(), [np.radians(20.0), 0.0, 0.05, 0.0], atol=2e-3)
    assert "the farthest of 4" in rig.run("move", 0.1, -0.2, 0.02, 0.3)
    np.testing.assert_allclose(rig.q(), [0.1, -0.2, 0.02, 0.3], atol=2e-3)


def test_a_move_that_does_not_get_there_fails_and_says_how_far_it_got(rig):
    """A soft spring lets the prismatic joint sag."""
    rig.run("reset")
    rig.swap("pd")
    rig.run("set", f"pd.gains.{JOINTS[2]}.p=100", f"pd.gains.{JOINTS[2]}.d=100")
    text = rig.run("move", f"{JOINTS[2]}=0.05", "--duration", "0.5", code=1)
    assert re.search(rf"the trajectory has ended, but joint '{JOINTS[2]}' is at \S+ m, 0\.\d+ m from its goal, "
                     "tolerance 0.02: the law does not bring the arm there", text), text
    assert f"joint '{JOINTS[2]}', which was to stay, is" in rig.run("move", f"{JOINTS[0]}=0.1", code=1)
    assert "from its goal" in rig.run("move", f"{JOINTS[2]}=0.05", "--tolerance", "50cm")
    rig.swap("computed_torque")


def test_joints_follow_a_trajectory_from_a_file(rig, tmp_path):
    path = tmp_path / "motion.csv"
    path.write_text(f"time,{','.join(JOINTS)}\n0.3,0.1,-0.1,0.02,0.2\n0.6,0.2,-0.3,0.04,0.1\n")
    rig.run("reset")
    assert "from its goal" in rig.run("move", "--trajectory", path)
    np.testing.assert_allclose(rig.q(), [0.2, -0.3, 0.04, 0.1], atol=2e-3)


@pytest.mark.parametrize("controller", ["computed_torque", pytest.param("impedance", marks=pytest.mark.long)])
def test_the_tip_link_moves_to_a_pose(rig, controller):
    rig.swap("computed_torque")
    rig.run("reset")
    rig.run("move", 0.3, 0.5, 0.05, 0.0)
    rig.swap(controller)
    target = forward_kinematics(MODEL, np.array([0.2, 0.6, 0.05, 0.0]))[:3, 3]
    rig.run("move", "--pose", *target, "--duration", "500ms")
    np.testing.assert_allclose(forward_kinematics(MODEL, rig.q())[:3, 3], target, atol=5e-3)
    rig.run("move", "--pose", *forward_kinematics(MODEL, rig.q())[:3, 3])  # where it is
    if controller == "impedance":
        assert "does not follow joints" in rig.run("move", 0, 0, 0, 0, code=1)
    rig.swap("computed_torque")


def test_an_arm_with_too_few_joints_for_an_orientation_arrives_without_it(capsys):
    """The planar arm goes along x and z."""
    space = f"{SPACE}_planar"
    nodes = ("-m", "robodyn_ros", "simulate", "--robot", "planar_2r", "--controller", "operational_space",
             "--time-mode", "lockstep", "--speed-limit", "4", "--namespace", space, "--ros-args",
             "-p", "initial_position.joint1:=0.5", "-p", "initial_position.joint2:=0.8")

    with RosProcess("simulate", command=nodes) as process:
        process.wait_for_output("ready: robot", timeout=120.0)
        assert main(["move", "--namespace", space, "--pose", "0.3", "0", "1.6"]) == 0
        distance, angle = re.search(r"the tip link is (\S+) mm and (\S+) rad from it", capsys.readouterr().out).groups()
        assert float(distance) < 5.0 and float(angle) > 0.1
        process.stop()


def test_the_tip_of_move_is_that_of_the_controller():
    nodes = ("-m", "robodyn_ros", "simulate", "--robot", ROBOT, "--controller", "pd", "--tip-link", "link2",
             "--time-mode", "lockstep", "--speed-limit", "4", "--namespace", f"{SPACE}_by_link")
    with RosProcess("simulate", command=nodes) as process:
        process.wait_for_output("tip link 'link2'", timeout=120.0)
        with GraphClient("asker", f"{SPACE}_by_link") as client:
            requests = MotionRequests(client)
            assert requests.robot.tip_link == MODEL.tip_link
            requests.take_tip_link()
            assert requests.robot.tip_link == "link2"
        process.stop()


def test_the_status_tells_joints_tip_law_and_publishers(rig):
    rig.run("move", "joint2=30deg", "--duration", "0.5")
    said = rig.run("status")
    assert re.search(rf"^{ROBOT} at \d+\.\d+ s: \d+ joint states a second, real-time factor \d\.\d\d$", said, re.M)
    assert "controller computed_torque, speed 100 %" in said
    assert re.search(r"^joint2 +30\.00 deg +-?0\.\d+ deg +-?\d+\.\d+ N m +\d+ %$", said, re.M)
    assert f"joint_states: from /{SPACE}/hardware" in said and f"joint_commands: from /{SPACE}/controller" in said
    assert re.search(r"^tip \w+: x ", said, re.M)
    rig.run("pause")
    paused = rig.run("status")
    assert "real-time factor 0.00\ncontroller computed_torque, which is silent" in paused
    rig.run("resume")


def test_time_stands_still_steps_and_goes_on(rig):
    assert rig.run("pause") == "paused\n"
    assert rig.run("step", 7) == "7 periods done\n"
    assert rig.run("set-state", f"{JOINTS[1]}=0.4", "--velocity", f"{JOINTS[0]}=10deg/s") == "state set\n"
    assert rig.run("resume") == "running\n"
    assert rig.run("reset") == "at the initial state\n"


def test_a_push_moves_the_robot_and_ends(rig):
    rig.run("reset")
    rig.run("move", *[0.0] * 4, "--duration", "0.3")
    rest, force = rig.q(), (0, "20", 0)
    assert "lasts until" in rig.run("push", MODEL.tip_link, *force, "--duration", "0")
    rig.ros.wait_for(lambda: np.abs(rig.q() - rest).max() > 1e-3, "a displacement")
    begin = rig.states[-1].header.stamp
    assert "for 0.3 s" in rig.run("push", MODEL.tip_link, *force, "--duration", "300ms")
    rig.ros.wait_for(lambda: np.abs(rig.q() - rest).max() < 1e-4, "the return of the robot")
    end = rig.states[-1].header.stamp
    assert end.sec + 1e-9 * end.nanosec > begin.sec + 1e-9 * begin.nanosec + 0.3


def test_messages_are_printed_as_yaml(rig):
    text = rig.run("echo", "joint_states", "--count", 2)
    first, second = list(yaml.safe_load_all(text))[:2]
    assert first["name"] == JOINTS and len(second["position"]) == len(JOINTS)


def test_without_a_graph_it_says_so(rig):
    assert "no node with parameters in namespace /nowhere" in rig.run("get", "controller", code=1, namespace="nowhere")


@pytest.mark.long
def test_a_controller_without_joint_states_is_reported_at_once(capsys):
    with RosProcess("controller", {"robot": "planar_2r"}, "mute") as controller, RosTest(namespace="mute") as ros, \
            ExitStack() as later:
        rig = Rig(ros, capsys)
        controller.wait_for_output("no joint states for 0.5 s or more")
        begin = time.monotonic()
        reported = "nobody publishes robot_description: .* the controller reports: no joint states for 0.5 s or more"
        assert re.search(reported, rig.run("move", "joint1=0.1", code=1, namespace="mute"))
        publisher = later.enter_context(RosProcess("state_publisher", {"robot": "planar_2r"}, "mute"))
        publisher.wait_for_output("planar_2r")
        assert "the controller cannot act; it reports: no joint states" in rig.run("move", "joint1=0.1", code=1,
                                                                                  namespace="mute")
        assert main(["status", "--namespace", "mute"]) == 1
        printed = capsys.readouterr().out
        assert "planar_2r: no joint states\ncontroller pd, which is silent" in printed
        assert "joint_states: from nobody" in printed and "warning of /mute/controller: no joint states" in printed
        assert time.monotonic() - begin < STARTING_SECONDS


def test_beside_two_graphs_in_namespaces_nothing_is_set_before_one_is_named(rig):
    with RosTest("controller", "other"):
        message = rig.run("set", "controller=pid", code=1, namespace="")
        assert message == ("robodyn: error: no node with parameters within 5 s: there are nodes in /driven, /other, "
                           "not in /: name one of these, such as --namespace /driven\n")
        assert rig.run("get", "controller") == f"/{SPACE}/controller controller = computed_torque\n"


@pytest.mark.parametrize("node, words", [
    ("hardware", ["pause"]), ("hardware", ["push", MODEL.tip_link, 0, 0, 1]), ("controller", ["move", 0, 0, 0, 0]),
    ("controller", ["swap", "pd"]), ("controller", ["set", "controller=pd"]),
], ids=lambda value: value[0] if isinstance(value, list) else value)
def test_two_nodes_of_one_name_are_not_asked(rig, node, words):
    with RosTest(node, SPACE) as second:
        rig.ros.wait_for(lambda: rig.ros.node.get_node_names().count(node) == 2, "the second node")
        second.spin(0.1)
        assert f"2 nodes are named /{SPACE}/{node}" in rig.run(*words, code=1)
    rig.ros.wait_for(lambda: rig.ros.node.get_node_names().count(node) == 1, "its end")
