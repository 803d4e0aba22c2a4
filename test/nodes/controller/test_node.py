# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The controller node over DDS, with the real hardware node, each in a process of its own.

They run in lockstep: deterministic, and some ten seconds of motion in one.
"""

import itertools
import os
import signal
import time
from pathlib import Path

import numpy as np
import pytest
from controller_rig import NAMES, Rig, trajectory
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import WrenchStamped
from rcl_interfaces.msg import ParameterType
from rcl_interfaces.srv import DescribeParameters, GetParameters, ListParameters
from ros_process import RosProcess
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory

from bench.process_trace import ProcessSample
from robodyn_interfaces.msg import ControllerState, NewStart
from robodyn_ros import Robot
from robodyn_ros.control.plugins.registry import controller_names
from robodyn_ros.description.resources import robot_file
from robodyn_ros.nodes.common.messages import read_stamp, set_stamp
from robodyn_ros.nodes.common.topics import DISPLAY_RATE, LATEST_QOS

ROOT = Path(__file__).parents[3]
PLUGINS = "plugins_for_test:"


def tracking_errors(states):
    return np.array([state.error.positions for state in states])


def joint_state(stamp, names=("joint2", "joint1"), position=(0.2, 0.1), velocity=(0.0, 0.0)):
    message = JointState(name=list(names), position=list(position), velocity=list(velocity))
    set_stamp(message.header.stamp, stamp)
    return message


def test_joint_states_by_name_and_bad_ones_rejected(ros):
    """A robot that is this test: joint states in another order, each answered with a command of the same stamp."""
    bad = {
        "missing joint": joint_state(11, names=("joint1", "elbow")),
        "repeated joint": joint_state(12, names=("joint1", "joint1")),
        "not finite": joint_state(13, position=(0.1, float("nan"))),
        "wrong length": joint_state(14, velocity=(0.0,)),
    }
    parameters = {"robot": "planar_2r", "controller": "pd", "pd.gains.joint1.p": 100, "pd.gains.joint1.d": 10.0}
    with RosProcess("controller", parameters, "/bare") as node:
        diagnostics = ros.record(DiagnosticArray, "/diagnostics", 100)
        commands = ros.record(JointState, "/bare/joint_commands", 100)
        publisher = ros.publisher(JointState, "/bare/joint_states", 100)
        ros.wait_for(lambda: ros.node.count_publishers("/bare/joint_commands"), "the controller's commands")
        good = []

        def answered():
            good.append(5_000_000_000 + 2_000_000 * len(good))
            publisher.publish(joint_state(good[-1]))
            return commands

        ros.wait_for(answered, "a command")  # commands are lost until the controller has found this subscription
        assert list(commands[0].name) == NAMES and list(commands[0].effort) == [0.0, 0.0]

        def rejected():
            publisher.publish(next(again))  # again and again: the controller reads the newest only
            latest = [s for array in diagnostics for s in array.status if s.name == "/bare/controller"][-1:]
            return {v.key.removeprefix("rejected joint states: ") for s in latest for v in s.values} >= set(bad)

        again = itertools.cycle(bad.values())
        ros.wait_for(rejected, "rejections of every kind in the diagnostics")
        stamps = [read_stamp(command.header.stamp) for command in commands]
        assert set(stamps) <= set(good) and len(set(stamps)) == len(stamps), "one answer to each good state"
        ros.wait_for(lambda: rejected() and any("that this node can answer" in s.message for s in diagnostics[-1].status
                                                if s.name == "/bare/controller"), "silence: bad states are none")
        last = good[-1] + 2_000_000
        publisher.publish(joint_state(last, position=(0.2, 0.15), velocity=(0.0, 0.3)))
        ros.wait_for(lambda: read_stamp(commands[-1].header.stamp) == last, "an answer to a good state")
        np.testing.assert_allclose(commands[-1].effort, [-0.05 * 100 - 0.3 * 10.0, 0.0], atol=1e-12)
        node.stop()


@pytest.mark.parametrize(("held_up", "told"), [
    ("hardware", "no joint states came for "),
    ("between two ticks", "the computer held up this node for "),
    ("within the law", "the computer held up this node for "),
])
def test_a_new_start_after_a_stall_says_so_though_a_state_came_in_between(ros, held_up, told):
    """States that waited, while the node or its peer was held up, are answered before the one of the new start."""
    parameters = {"robot": "planar_2r", "controller": PLUGINS + "StopsItself"}
    with RosProcess("controller", parameters, "/stalled") as node:
        commands = ros.record(JointState, "/stalled/joint_commands", 100)
        states = ros.publisher(JointState, "/stalled/joint_states")
        new_starts = ros.publisher(NewStart, "/stalled/new_starts")
        ros.wait_for(lambda: ros.node.count_publishers("/stalled/joint_commands"), "the controller's commands")
        stamps = itertools.count(1_000_000_000, 2_000_000)

        def publish(new_start="", velocity=0.0):
            stamp = next(stamps)
            state = joint_state(stamp, NAMES, velocity=(velocity, 0.0))
            if new_start:
                new_starts.publish(NewStart(header=state.header, reason=new_start))
            states.publish(state)
            return stamp

        def answered(new_start):
            publish(new_start)
            return commands

        ros.wait_for(lambda: answered(""), "a command")
        if held_up == "hardware":
            ros.spin(0.25)
        else:
            if held_up == "within the law":
                publish(velocity=0.1)
            else:
                os.kill(node.pid, signal.SIGSTOP)
            ros.wait_for(node.stands_still, "the stop")
            waiting = publish()
            ros.spin(0.25)
            if held_up == "within the law":
                waiting = publish()
            os.kill(node.pid, signal.SIGCONT)
            ros.wait_for(lambda: read_stamp(commands[-1].header.stamp) == waiting, "an answer to the state that waited")
        for new_start in ("", "it stood still"):
            commands.clear()
            ros.wait_for(lambda new_start=new_start: answered(new_start), "a command")
        # The message can come after the joint state; then the next joint state is the new start.
        ros.wait_for(lambda: publish() and "the hardware says: it stood still" in node.output(), "its reason")
        node.wait_for_output(told)
        assert held_up == "hardware" or "the law took" not in node.output()
        assert node.output().count("no joint states came") == (held_up == "hardware")
        node.stop()


def cause_of_a_jump_after_rejected_states(ros, namespace):
    """The line in which a new node tells of a jump."""
    with RosProcess("controller", {"robot": "planar_2r", "controller": "pd"}, namespace) as node:
        commands = ros.record(JointState, f"{namespace}/joint_commands", 100)
        states = ros.publisher(JointState, f"{namespace}/joint_states", 100)
        ros.wait_for(lambda: ros.node.count_publishers(f"{namespace}/joint_commands"), "the controller's commands")
        stamps = itertools.count(1_000_000_000, 2_000_000)

        def answered(position=0.1):
            states.publish(joint_state(next(stamps), NAMES, position=(position, 0.0)))
            return commands

        ros.wait_for(answered, "a command")
        for _ in range(20):
            states.publish(joint_state(next(stamps), NAMES, position=(0.1, float("nan"))))
            ros.spin(0.02)
        commands.clear()
        ros.wait_for(lambda: answered(0.9), "a command after a jump")
        node.wait_for_output("which no motion explains; ")
        node.stop()
        return next(line for line in node.output().splitlines() if "which no motion explains" in line)


def test_rejected_states_are_the_cause_of_a_gap_and_not_the_computer(ros):
    causes = (cause_of_a_jump_after_rejected_states(ros, f"/rejecting{attempt}") for attempt in range(5))
    line = next(line for line in causes if "computer" not in line)  # a busy one may really have held up the node
    assert "joint states were rejected within 0." in line and "nan" in line


def test_a_driver_that_leaves_its_stamps_constant_is_followed_with_a_warning(ros):
    parameters = {"robot": "planar_2r", "controller": "pd", "pd.gains.joint1.p": 100.0}
    with RosProcess("controller", parameters, "/unstamped") as node:
        commands = ros.record(JointState, "/unstamped/joint_commands", 1000)
        states = ros.publisher(JointState, "/unstamped/joint_states", 100)
        ros.wait_for(lambda: ros.node.count_publishers("/unstamped/joint_commands"), "the controller's commands")
        positions = itertools.count(0.0, 0.001)

        def publish():
            states.publish(joint_state(0, NAMES, position=(next(positions), 0.0), velocity=(0.5, 0.0)))
            ros.spin(0.005)
            return len({command.effort[0] for command in commands}) > 20

        ros.wait_for(publish, "efforts that follow the positions")
        node.wait_for_output("joint_states: header.stamp stays 0 s while the joints move: the times of arrival count")
        node.stop()


def test_a_hold_up_is_counted_once_whatever_states_it_held_up(ros):
    """States that are rejected end no gap, and stay unanswered; neither is told as another hold-up."""
    with RosProcess("controller", {"robot": "planar_2r", "controller": "pd"}, "/held_up") as node:
        diagnostics = ros.record(DiagnosticArray, "/diagnostics", 100)
        commands = ros.record(JointState, "/held_up/joint_commands", 100)
        states = ros.publisher(JointState, "/held_up/joint_states", 100)
        ros.wait_for(lambda: ros.node.count_publishers("/held_up/joint_commands"), "the controller's commands")
        stamps = itertools.count(1_000_000_000, 2_000_000)

        def answered():
            states.publish(joint_state(next(stamps)))
            return commands

        def hold_ups():
            """Their number in a status that is published from now on."""
            diagnostics.clear()
            now = time.time_ns()
            status = ros.wait_for(lambda: next((status for array in diagnostics.published_since(now)
                                                for status in array.status if status.name == "/held_up/controller"),
                                               None), "diagnostics")
            return int({value.key: value.value for value in status.values}.get("hold-ups by the computer", 0))

        ros.wait_for(answered, "a command")
        before = hold_ups()
        commands.clear()
        ros.wait_for(answered, "a command, so that the gap begins now")
        with node.stopped():
            for names in (("joint1",),) * 3 + (NAMES,):
                states.publish(joint_state(waiting := next(stamps), names=names))
            ros.spin(0.25)
        ros.wait_for(lambda: read_stamp(commands[-1].header.stamp) == waiting, "an answer to the state that waited")
        assert hold_ups() == before + 1
        node.stop()


def test_a_measured_wrench_reaches_the_controller_at_the_tip_in_base_axes(ros):
    robot = Robot.from_urdf(robot_file("planar_2r"))
    q, link = np.array([0.5, 0.7]), robot.model.joints[0].link
    sensor_pose, tip_pose = (robot.dynamics().forward_kinematics(q, name) for name in (link, None))
    force = sensor_pose[:3, :3] @ [3.0, 0.0, 0.5]
    torque = np.cross(sensor_pose[:3, 3] - tip_pose[:3, 3], force)
    assert abs(torque[1]) > 0.1
    parameters = {"robot": "planar_2r", "controller": PLUGINS + "ShowsWrench", "state_timeout": 0.3}
    wrench = WrenchStamped()
    wrench.header.frame_id = link
    wrench.wrench.force.x, wrench.wrench.force.z = 3.0, 0.5
    with RosProcess("controller", parameters, "/sensor") as node:
        diagnostics = ros.record(DiagnosticArray, "/diagnostics", 100)
        commands = ros.record(JointState, "/sensor/joint_commands", 100)
        states = ros.publisher(JointState, "/sensor/joint_states")
        sensor = ros.publisher(WrenchStamped, "/sensor/measured_wrench")
        ros.wait_for(lambda: ros.node.count_publishers("/sensor/joint_commands"), "the controller's commands")
        stamps = itertools.count(1_000_000_000, 2_000_000)

        def answer(measure):
            if measure:
                sensor.publish(wrench)
            states.publish(joint_state(next(stamps), NAMES, q.tolist()))
            return list(commands[-1].effort) if commands else None

        ros.wait_for(lambda: answer(False) == [-1.0, -1.0], "efforts without a measurement")
        ros.wait_for(lambda: (effort := answer(True)) and np.allclose(effort, [force[0], torque[1]]), "the wrench")
        ros.wait_for(lambda: answer(False) == [-1.0, -1.0], "the end of a measurement that is not renewed")
        wrench.header.frame_id = "hook"
        sensor.publish(wrench)
        ros.wait_for(lambda: any(v.key == "rejected measured_wrench" for a in diagnostics for s in a.status
                                 for v in s.values), "a rejection")
        node.stop()


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"controller": "nonsense"}, "unknown controller 'nonsense'"),
        ({"pd.gains.joint1.p": -1.0}, "parameter 'pd.gains.joint1.p'"),
    ],
)
def test_what_cannot_start_says_why(parameters, words):
    with RosProcess("controller", {"robot": "planar_2r", **parameters}) as node:
        assert node.wait() == 2
        assert words in node.output() and "Traceback" not in node.output()


def test_arm_of_six_joints(ros):
    goals = [[0.5, -1.0, 1.0, -0.5, 0.5, 1.0], [-0.5, -1.5, 1.5, 0.5, -0.5, 0.0]]
    names = ["shoulder_pan", "shoulder_lift", "elbow", "wrist_1", "wrist_2", "wrist_3"]
    with Rig(ros, "arm6", "/arm") as rig:
        rig.publisher.publish(trajectory([2.0, 4.0], goals, names=[f"{name}_joint" for name in names]))
        end = rig.next("the end", lambda s: np.allclose(s.reference.positions, goals[-1], atol=1e-12))
        np.testing.assert_allclose(end.feedback.positions, goals[-1], atol=0.01)
        assert np.abs(tracking_errors(rig.states)).max() < 0.02
        for node in rig.nodes.values():
            node.stop()


# --- Tests with one graph, last: until the end of the file its nodes take all the time they can get.


@pytest.fixture(scope="module")
def rig(ros):
    with Rig(ros, "planar_2r", "/planar", hardware={"update_rate": 200, "lockstep_speed_limit": 4.0}) as rig:
        yield rig
        for node, number in zip(rig.nodes.values(), (signal.SIGINT, signal.SIGTERM), strict=True):
            node.stop(number)


def test_displays_get_states_at_a_rate_of_real_time_however_fast_the_simulation_runs(rig):
    count = len(rig.states)
    shown = rig.ros.record(ControllerState, f"{rig.namespace}/controller/_display_state", LATEST_QOS)
    rig.ros.wait_for(lambda: len(shown) >= 10, "states for displays")
    seconds = 1e-9 * (shown.times[-1] - shown.times[0])
    assert len(shown) - 1 <= 1.1 * DISPLAY_RATE * seconds + 1
    assert shown[-1].controller and len(shown[-1].feedback.positions) == 2
    assert read_stamp(shown[-1].header.stamp) > read_stamp(rig.states[count - 1].header.stamp)


def test_trajectory_is_followed_by_name_and_held(rig):
    rig.hold_at("computed_torque", [0.0, 0.0])
    start = len(rig.states)
    rig.publisher.publish(trajectory([1.0, 2.0], [[-0.5, 0.4], [0.3, 1.2]], names=NAMES[::-1]))
    end = rig.next("the end", lambda s: np.allclose(s.reference.positions, [1.2, 0.3], atol=1e-12))
    np.testing.assert_allclose(end.feedback.positions, [1.2, 0.3], atol=0.01)
    under_way = rig.states[start:]
    nearest = min(np.abs(np.subtract(s.reference.positions, [0.4, -0.5])).max() for s in under_way)
    assert nearest < 0.1, "a busy machine may lose states near the corner; the straight way is 0.5 away"
    assert max(np.abs(s.reference.velocities).max() for s in under_way) > 0.5
    assert np.abs(tracking_errors(under_way)).max() < 0.02
    held = rig.next("a hold", lambda s: not any(s.reference.velocities) and not any(s.reference.accelerations))
    np.testing.assert_array_equal(held.reference.positions, [1.2, 0.3])
    assert list(held.joint_names) == NAMES and len(held.output) == 2


def test_joints_that_are_not_named_stay(rig):
    rig.hold_at("computed_torque", [0.2, 0.1])
    rig.publisher.publish(trajectory([1.0], [[0.9]], names=["joint2"]))
    end = rig.next("the end", lambda s: np.allclose(s.reference.positions, [0.2, 0.9], atol=1e-12))
    np.testing.assert_allclose(end.feedback.positions, [0.2, 0.9], atol=0.02)


def test_swap_under_way_goes_on_with_the_trajectory(rig):
    rig.hold_at("pd", [0.0, 0.0])
    start = len(rig.states)
    rig.publisher.publish(trajectory([6.0], [[1.5, -1.0]]))
    rig.next("motion", lambda s: s.reference.positions[0] > 0.3)
    rig.set(controller="computed_torque")
    swapped = rig.next("the swap", lambda s: s.controller == "computed_torque")
    assert any(swapped.reference.velocities), "the arm was still to move"
    rig.next("the end", lambda s: np.allclose(s.reference.positions, [1.5, -1.0], atol=1e-12))
    states = rig.states[start:]
    q = np.array([s.reference.positions for s in states])
    v = np.array([s.reference.velocities for s in states])
    times = np.array([s.header.stamp.sec + s.header.stamp.nanosec * 1e-9 for s in states])
    gaps = np.diff(times)[:, None] * (v[1:] + v[:-1]) / 2 - np.diff(q, axis=0)
    neighbours = np.diff(times) < 0.025  # no message lost in between
    assert neighbours.sum() > 100
    np.testing.assert_allclose(gaps[neighbours], 0.0, atol=1e-5)
    errors = {name: np.abs(tracking_errors([s for s in states if s.controller == name])[-20:]).max()
              for name in ("pd", "computed_torque")}
    assert errors["computed_torque"] < 0.005 < errors["pd"]
    assert rig.get("controller") == ["computed_torque"]


def test_swap_at_rest_starts_from_the_current_state(rig):
    rig.hold_at("pd", [0.0, 0.0])
    before = rig.next()
    assert max(map(abs, before.error.positions)) > 0.005, "gravity leaves an offset"
    rig.set(controller="computed_torque")
    after = rig.next("the swap", lambda s: s.controller == "computed_torque")
    np.testing.assert_allclose(after.reference.positions, before.feedback.positions, atol=2e-3)


def test_the_first_tick_of_a_controller_is_published_between_those_that_are_due(rig):
    rig.hold_at("pd", [0.0, 0.0])
    period, between = rig.period_ns, round(1e9 / rig.settings["controller"]["state_publish_rate"])
    with rig.paused() as step:
        begin = step(1)
        now = step(between // period)

        def later(than):
            return [state for state in rig.states if read_stamp(state.header.stamp) > than]

        due = read_stamp(rig.ros.wait_for(lambda: later(begin), "a state that is due")[0].header.stamp)
        now = step((due + period - now) % between // period or between // period)
        rig.set(controller="computed_torque")
        swapped = step(1)
        step(2 * between // period)
        rig.ros.wait_for(lambda: len(later(now)) >= 3, "the first tick of the controller, and two that are due")
    states = later(now)[:3]
    assert [read_stamp(state.header.stamp) for state in states] == [
        swapped, now - period + between, now - period + 2 * between]
    assert {state.controller for state in states} == {"computed_torque"}


def test_gains_are_live_and_validated(rig):
    rig.hold_at("pd", [0.0, 0.0])
    soft = rig.next()
    (p,) = rig.get("pd.gains.joint1.p")
    rig.set(**{"pd.gains.joint1.p": 4.0 * p})
    stiff = rig.next("the stiffer joint", lambda s: abs(s.error.positions[0]) < 0.5 * abs(soft.error.positions[0])
                     and np.abs(s.feedback.velocities).max() < 1e-3)
    np.testing.assert_allclose(stiff.error.positions[0], soft.error.positions[0] / 4.0, rtol=0.1)
    for value in (-1.0, float("nan"), float("inf"), "stiff"):
        reason = rig.refuse(**{"pd.gains.joint1.p": value})
        assert "pd.gains.joint1.p" in reason or "type" in reason
    assert rig.get("pd.gains.joint1.p") == [4.0 * p]
    rig.set(**{"pd.gains.joint1.p": p, "computed_torque.gains.joint2.d": 41})  # an integer will do
    assert rig.get("pd.gains.joint1.p", "computed_torque.gains.joint2.d") == [p, 41.0]


def test_every_parameter_is_described(rig):
    service = f"{rig.namespace}/controller"
    names = rig.ros.call(ListParameters, f"{service}/list_parameters").result.names
    described = rig.ros.call(DescribeParameters, f"{service}/describe_parameters", names=names).descriptors
    assert {"controller", "pd.gains.joint1.p", "computed_torque.gains.joint2.d", "damping.gains.joint1.d"} <= set(names)
    ours = [d for d in described if d.name not in ("use_sim_time", "start_type_description_service")]
    assert all(descriptor.description for descriptor in ours)
    for name in controller_names():
        assert any(d.name.startswith(f"{name}.") for d in ours), name
    values = rig.ros.call(GetParameters, f"{service}/get_parameters", names=[d.name for d in ours]).values
    for descriptor, value in zip(ours, values, strict=True):
        if value.type in (ParameterType.PARAMETER_INTEGER, ParameterType.PARAMETER_DOUBLE):
            (bounds,) = (*descriptor.floating_point_range, *descriptor.integer_range)
            assert np.isfinite([bounds.from_value, bounds.to_value]).all(), descriptor.name
    text = "".join((ROOT / "docs" / name).read_text() for name in ("controller-node.md", "trajectories.md"))
    for descriptor in ours:
        if descriptor.name.partition(".")[0] not in controller_names() and "." in descriptor.name:
            assert f"`{descriptor.name.replace('joint1', '<joint>').replace('joint2', '<joint>')}`" in text
    (stiffness,) = [d for d in ours if d.name == "pd.gains.joint1.p"]
    assert "[N m/rad]" in stiffness.description
    assert (stiffness.floating_point_range[0].from_value, stiffness.floating_point_range[0].to_value) == (0.0, 1e9)


def test_estimates_are_shown_by_name(rig):
    rig.hold_at("adaptive", [0.0, 0.0])
    before = rig.next()
    assert len(before.memory_names) == len(before.memory) > len(NAMES)
    assert "joint2.friction" in before.memory_names
    rig.publisher.publish(trajectory([1.0], [[1.0, -1.0]]))
    moved = rig.next("estimates that adapt", lambda s: list(s.memory) != list(before.memory))
    assert moved.memory_names == before.memory_names and np.isfinite(moved.memory).all()
    rig.set(controller="computed_torque")
    assert not rig.next("no memory", lambda s: s.controller == "computed_torque").memory_names


def test_a_filtered_law_tells_which_limit_acts_and_refuses_a_start_beyond_one(rig):
    rig.hold_at("computed_torque+safety", [0.0, 0.0])
    at_rest = rig.next("a state of the filtered law", lambda s: s.controller == "computed_torque+safety")
    told = dict(zip(at_rest.memory_names, at_rest.memory, strict=True))
    assert told["safety.status"] == told["safety.joint1.motion"] == told["safety.joint1.correction"] == 0.0
    rig.set(**{"computed_torque_safety.safety_speed": 0.001})
    rig.publisher.publish(trajectory([0.5], [[1.0, -1.0]]))
    place = list(at_rest.memory_names).index("safety.joint1.motion")
    rig.next("a limit of the speed that acts", lambda s: s.memory_names and s.memory[place] != 0.0)
    rig.set(controller="computed_torque")
    rig.set(**{"computed_torque_safety.safety_planes": "1 0 0 50"})
    assert "beyond the plane" in rig.refuse(controller="computed_torque+safety")
    rig.set(**{"computed_torque_safety.safety_planes": "", "computed_torque_safety.safety_speed": 0.95})


def test_a_filter_stands_behind_every_controller_until_it_is_taken_away(rig):
    rig.hold_at("computed_torque", [0.0, 0.0])
    rig.set(filter="safety")
    rig.next("the filtered law", lambda s: s.controller == "computed_torque+safety" and s.memory_names)
    rig.set(controller="pd")
    rig.next("another one", lambda s: s.controller == "pd+safety")
    assert "expected one of 'none', 'safety', 'friction'" in rig.refuse(filter="safe")
    rig.set(filter="none")
    rig.next("the law alone", lambda s: s.controller == "pd" and not s.memory_names)
    rig.set(**{"pd_safety.safety_planes": "1 0 0 50"})
    before = rig.next()
    assert "beyond the plane" in rig.refuse(filter="safety")
    assert "where all joints brake at once" in rig.refuse(**{"pd_safety.gains.joint1.safety_braking": 5000.0})
    after = rig.next()
    assert after.controller == "pd"
    np.testing.assert_array_equal(after.reference.positions, before.reference.positions)
    rig.set(**{"pd_safety.safety_planes": ""})


def test_friction_is_compensated_behind_every_controller_that_follows_joints(rig):
    rig.hold_at("computed_torque", [0.0, 0.0])
    rig.set(filter="friction")
    rig.next("with compensation", lambda s: s.controller == "computed_torque+friction")
    rig.set(**{"computed_torque_friction.gains.joint1.friction_push": 0.5})
    assert "0.95" in rig.refuse(**{"computed_torque_friction.gains.joint1.friction_push": 1.0})
    assert "follows nothing" in rig.refuse(controller="gravity_compensation")
    rig.set(filter="friction+safety")
    rig.next("with a filter behind it", lambda s: s.controller == "computed_torque+friction+safety" and s.memory_names)
    rig.set(filter="none")
    rig.next("the law alone", lambda s: s.controller == "computed_torque")


def test_bad_trajectories_are_refused_and_the_robot_stays(rig):
    rig.hold_at("computed_torque", [0.0, 0.0])
    before = rig.next()
    bad = [
        trajectory([1.0], [[0.1, 0.1]], names=["joint1", "elbow"]),
        trajectory([1.0, 2.0], [[0.1, 0.1], [0.1]]),
        trajectory([1.0], [[0.1, float("nan")]]),
        trajectory([2.0, 1.0], [[0.1, 0.1], [0.2, 0.2]]),
    ]
    rejected = int(rig.status(lambda *_: True)[1].get("rejected trajectories", 0))
    for message in bad:
        rig.publisher.publish(message)
    rig.status(lambda status, values: values.get("rejected trajectories") == str(rejected + len(bad)))
    np.testing.assert_array_equal(rig.next().reference.positions, before.reference.positions)
    assert "unknown joint 'elbow'" in rig.nodes["controller"].output()


def test_an_empty_trajectory_stops_the_motion(rig):
    rig.hold_at("computed_torque", [0.0, 0.0])
    rig.publisher.publish(trajectory([30.0], [[2.0, 0.0]]))
    rig.next("motion", lambda s: s.reference.positions[0] > 0.1)
    rig.publisher.publish(JointTrajectory())
    stopped = rig.next("the stop", lambda s: not any(s.reference.velocities))
    assert 0.1 < stopped.reference.positions[0] < 1.9


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("nonsense", ["unknown controller 'nonsense'", "computed_torque, ", "damping, ", "pd, "]),
        ("no_such_package:Any", ["cannot be imported", "no_such_package"]),
        (PLUGINS + "Missing", ["cannot be imported", "Missing"]),
        (PLUGINS + "np", ["expected a subclass of robodyn_ros.control.Controller"]),
        (PLUGINS + "FailsToConstruct", ["cannot be constructed", "no licence found"]),
        (PLUGINS + "FailsAtOnce", ["ZeroDivisionError: at once"]),
        (7, ["expected text, received 7"]),
    ],
)
def test_bad_controllers_are_refused_and_the_running_one_goes_on(rig, name, words):
    if rig.get("controller") != ["pd"]:
        rig.set(controller="pd")
    reason = rig.refuse(controller=name)
    for word in words:
        assert word in reason
    assert rig.get("controller") == ["pd"]
    assert rig.next().controller == "pd"


def test_a_users_own_controller_with_its_parameters(rig):
    name = PLUGINS + "Spring"
    rig.set(controller=name)
    rig.next("the plugin", lambda s: s.controller == name)
    assert rig.get("Spring.gains.joint1.stiffness", "Spring.damping", "Spring.rank") == [50.0, 5.0, 2]
    rig.set(**{"Spring.gains.joint1.stiffness": 400.0})
    assert "'Spring.side': expected one of 'left', 'right', received 'up'" in rig.refuse(**{"Spring.side": "up"})
    (side,) = rig.ros.call(DescribeParameters, "/planar/controller/describe_parameters",
                           names=["Spring.side"]).descriptors
    assert side.additional_constraints == "one of: left, right"
    assert "'Spring.rank': fixed while" in rig.refuse(**{"Spring.rank": 3})
    rig.set(controller="pd", **{"Spring.damping": 7.0})
    rig.set(**{"Spring.rank": 3})
    assert rig.get("controller", "Spring.damping", "Spring.rank") == ["pd", 7.0, 3]


@pytest.mark.parametrize(("plugin", "reason"), [("FailsLater", "ZeroDivisionError: later"), ("NotANumberLater", "nan")])
def test_a_controller_that_fails_is_dropped_for_the_safe_one_loudly(rig, plugin, reason):
    rig.hold_at("computed_torque", [0.0, 0.0])
    rig.set(controller=PLUGINS + plugin)
    rig.next("the fallback", lambda s: s.controller == "damping")
    status, values = rig.status(lambda status, _: status.level == DiagnosticStatus.ERROR)
    assert plugin in status.message and "'damping' took over" in status.message and reason in status.message
    assert values["controller"] == "damping" and int(values["dropped controllers"]) >= 1
    assert rig.get("controller") == ["damping"]
    assert "[ERROR]" in rig.nodes["controller"].output()
    rig.set(controller="computed_torque")
    assert rig.next("the new one", lambda s: s.controller == "computed_torque").reference.positions
    rig.status(lambda status, _: status.level != DiagnosticStatus.ERROR)


def test_a_controller_that_runs_uncompiled_says_so_once(rig):
    rig.hold_at("computed_torque", [0.0, 0.0])
    _, values = rig.status(lambda _, values: values["controller"] == "computed_torque")
    assert values["uncompiled"] == "no"
    name = f"{PLUGINS}Branching"
    for _ in range(2):
        rig.set(controller=name)
        _, values = rig.status(lambda _, values: values["controller"] == name)
        assert values["uncompiled"].startswith(f"{name}: Branching.law: ") and "branch" in values["uncompiled"]
        assert "plugins_for_test.py, line" in values["uncompiled"]
        reason = rig.next("the uncompiled one", lambda state: state.controller == name).uncompiled_reason
        assert reason.endswith(values["uncompiled"].removeprefix(f"{name}: "))
        rig.set(controller="computed_torque")
        assert rig.next("the compiled one", lambda state: state.controller == "computed_torque").uncompiled_reason == ""
    lines = [line for line in rig.nodes["controller"].output().splitlines() if f"'{name}' runs uncompiled" in line]
    assert len(lines) == 1 and "[WARN]" in lines[0] and "plugins_for_test.py, line" in lines[0]


def test_a_reset_of_the_simulation_is_a_new_start(rig):
    rig.hold_at("computed_torque", [1.0, 0.5])
    rig.publisher.publish(trajectory([60.0], [[-2.0, 0.0]]))
    rig.next("motion", lambda s: any(s.reference.velocities))
    assert rig.ros.call(Trigger, f"{rig.namespace}/hardware/reset").success
    after = rig.next("a new start", lambda s: not any(s.reference.velocities))
    np.testing.assert_allclose(after.reference.positions, after.feedback.positions, atol=0.05)
    np.testing.assert_allclose(rig.next().reference.positions, after.reference.positions)


def test_controller_killed_and_restarted(rig):
    rig.hold_at("computed_torque", [0.4, 0.2])
    rig.restart_controller()
    first = rig.next("the restarted controller")
    assert first.controller == "computed_torque"
    rig.hold_at("computed_torque", [0.1, 0.1])


def test_hardware_killed_and_restarted(rig):
    rig.hold_at("computed_torque", [1.0, 0.5])
    rig.publisher.publish(trajectory([60.0], [[-2.0, 0.0]]))
    rig.nodes["hardware"].kill()
    rig.status(lambda status, _: "no joint states" in status.message)
    rig.start("hardware")
    again = rig.next("joint states", lambda s: not any(s.reference.velocities))
    np.testing.assert_allclose(again.reference.positions, again.feedback.positions, atol=0.05)
    assert "new start" in rig.nodes["controller"].output()
    rig.status(lambda status, _: "no joint states" not in status.message)
    rig.hold_at("computed_torque", [0.1, 0.1])


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the memory of a process is read from /proc")
def test_swaps_take_no_memory(rig):
    """LLVM keeps 9 kB of every library that it ever linked, unless its linker is freed."""
    def swap(count):
        for name in itertools.islice(itertools.cycle(["damping", "pd", "pd_gravity"]), count):
            rig.set(controller=name)

    def grown():
        before = ProcessSample.of(rig.nodes["controller"].pid).memory
        swap(90)
        return ProcessSample.of(rig.nodes["controller"].pid).memory - before

    # Caches that fill and garbage that is not yet collected make the memory larger at first, a leak each time.
    assert any(grown() * 2**20 < 90 * 4096 for _ in range(10))
