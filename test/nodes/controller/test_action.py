# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The action ~/follow_joint_trajectory over DDS: how goals end, and what their senders hear."""

import re
from math import tau
from pathlib import Path

import numpy as np
import pytest
import yaml
from action_msgs.msg import GoalStatus
from builtin_interfaces.msg import Duration
from control_msgs.action import FollowJointTrajectory
from control_msgs.msg import JointTolerance
from controller_rig import NAMES, Rig, trajectory
from rclpy.action import ActionClient, get_action_names_and_types
from ros_process import RosProcess
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool, Trigger
from trajectory_msgs.msg import JointTrajectory, MultiDOFJointTrajectory

from robodyn_interfaces.msg import CartesianTrajectory
from robodyn_ros import Robot
from robodyn_ros.description.resources import robot_file
from robodyn_ros.nodes.common.messages import read_stamp, set_stamp
from robodyn_ros.nodes.common.topics import CONTROL_QOS

Result = FollowJointTrajectory.Result
Feedback = FollowJointTrajectory.Feedback
SUCCEEDED, CANCELED, ABORTED = GoalStatus.STATUS_SUCCEEDED, GoalStatus.STATUS_CANCELED, GoalStatus.STATUS_ABORTED
NAN = float("nan")


class Goal:
    """A sent goal, and the answers that its sender received."""

    def __init__(self, rig, client, goal):
        self.rig, self.feedback = rig, []
        sent = client.send_goal_async(goal, lambda message: self.feedback.append(message.feedback))
        rig.ros.wait_for(sent.done, "the answer to a goal")
        self.handle = sent.result()
        self._result = self.handle.get_result_async() if self.handle.accepted else None

    def done(self):
        return self._result.done()

    def end(self, status, code):
        """Wait for the end, check how it ended, and return the words for it."""
        self.rig.ros.wait_for(self.done, "the result of a goal")
        answer = self._result.result()
        assert (answer.status, answer.result.error_code) == (status, code), answer.result.error_string
        return answer.result.error_string

    def under_way(self):
        self.rig.ros.wait_for(lambda: any(np.abs(f.desired.velocities).max() > 0.01 for f in self.feedback), "motion")
        return self

    def cancel(self):
        answer = self.handle.cancel_goal_async()
        self.rig.ros.wait_for(answer.done, "the answer to a cancellation")
        return answer.result()


class ActionRig(Rig):
    """A rig with a client of the action."""

    def __enter__(self):
        super().__enter__()
        self.client = ActionClient(self.ros.node, FollowJointTrajectory,
                                   f"{self.namespace}/controller/follow_joint_trajectory")
        self.ros.wait_for(self.client.server_is_ready, "the action server")
        return self

    def __exit__(self, *arguments):
        self.client.destroy()
        super().__exit__(*arguments)

    def send(self, times, positions, names=NAMES, stamp=0, **fields):
        motion = trajectory(times, positions, names)
        set_stamp(motion.header.stamp, stamp)
        return Goal(self, self.client, FollowJointTrajectory.Goal(trajectory=motion, **fields))

    def far(self):
        """A goal that is under way and takes long."""
        return self.send([60.0], [[2.0, -1.0]]).under_way()

    def expect_rest(self):
        state = self.next("rest", lambda s: not any(s.reference.velocities))
        np.testing.assert_allclose(state.reference.positions, state.feedback.positions, atol=0.1)
        return state


class WrappedRig(ActionRig):
    """The states of the simulated arm reach the controller as many drivers report them: joint 1 within -pi and pi."""

    def __init__(self, ros, namespace):
        self.turns = set()
        states = ros.publisher(JointState, f"{namespace}/joint_states", CONTROL_QOS, matched=0)

        def pass_on(message):
            turns = round(message.position[0] / tau)
            self.turns.add(turns)
            message.position[0] -= turns * tau
            states.publish(message)

        ros.node.create_subscription(JointState, f"{namespace}/turned_states", pass_on, CONTROL_QOS)
        super().__init__(ros, "planar_2r", namespace)

    def start(self, name):
        remapped = ("-m", "robodyn_ros", name, "--ros-args", "-r", "joint_states:=turned_states")
        self.nodes[name] = RosProcess(name, self.settings[name], self.namespace,
                                      remapped if name == "hardware" else ())


def tolerance(name=NAMES[0], **fields):
    return JointTolerance(name=name, **fields)


@pytest.fixture(scope="module")
def rig(ros):
    with ActionRig(ros, "planar_2r", "/action") as rig:
        yield rig


@pytest.fixture(autouse=True)
def at_rest(rig):
    rig.hold_at("computed_torque", [0.0, 0.0])


def test_goal_is_reached_and_feedback_comes_at_its_rate(rig):
    goal = rig.send([1.0, 2.0], [[0.4, -0.5], [1.2, 0.3]], NAMES)
    assert "after the end of the trajectory" in goal.end(SUCCEEDED, Result.SUCCESSFUL)
    state = rig.next()
    np.testing.assert_allclose(state.feedback.positions, [1.2, 0.3], atol=0.01)
    np.testing.assert_array_equal(state.reference.positions, [1.2, 0.3])
    assert len(goal.feedback) > 20
    # Sorted, because rclpy of Jazzy hands waiting feedback to a client newest first.
    feedback = sorted(goal.feedback, key=lambda f: read_stamp(f.header.stamp))
    stamps = np.array([read_stamp(f.header.stamp) for f in feedback])
    assert (np.diff(stamps) >= 50_000_000).all(), "20 Hz in the time of the joint states"
    since_start = np.array([read_stamp(f.desired.time_from_start) for f in feedback])
    np.testing.assert_allclose(np.diff(since_start), np.diff(stamps), atol=10)
    if hasattr(feedback[0], "index"):  # Jazzy's control_msgs has none
        assert [f.index for f in feedback] == [int(t >= 1e9) for t in since_start]
        assert {f.index for f in feedback} == {0, 1}
    for f in goal.feedback:
        assert list(f.joint_names) == NAMES
        np.testing.assert_allclose(f.error.positions, np.subtract(f.desired.positions, f.actual.positions))
        np.testing.assert_allclose(f.error.velocities, np.subtract(f.desired.velocities, f.actual.velocities))
    assert max(np.abs(f.error.positions).max() for f in goal.feedback) < 0.02


def test_goal_waits_for_its_start(rig):
    start, seen = read_stamp(rig.next().header.stamp) + 3 * 10**9, len(rig.states)
    goal = rig.send([1.0], [[0.5, 0.5]], stamp=start)
    goal.end(SUCCEEDED, Result.SUCCESSFUL)
    rig.next("the end of the motion", lambda s: read_stamp(s.header.stamp) >= start + 10**9)
    moving = [read_stamp(s.header.stamp) for s in rig.states[seen:]  # at the very end, a rounded time leaves 1e-15
              if max(map(abs, s.reference.velocities), default=0.0) > 1e-9]
    assert start < min(moving) < max(moving) < start + 10**9
    np.testing.assert_allclose(rig.next().feedback.positions, [0.5, 0.5], atol=0.01)


GOALS_THAT_CANNOT_BE_FOLLOWED = [
    ("INVALID_GOAL", "nan for joint 'joint2'", {"positions": [[0.1, NAN], [0.2, 0.2]]}),
    ("INVALID_GOAL", "positions of point 1", {"positions": [[0.1, 0.1], [0.1]]}),
    ("INVALID_GOAL", "increasing times", {"times": [2.0, 2.0]}),
    ("INVALID_GOAL", "at least one point", {"times": [], "positions": []}),
    ("INVALID_GOAL", "one degree of freedom", {"multi_dof_trajectory": MultiDOFJointTrajectory(joint_names=["j"])}),
    ("INVALID_GOAL", "position of joint 'joint1'", {"path_tolerance": [tolerance(position=-2.0)]}),
    ("INVALID_GOAL", "goal_time_tolerance", {"goal_time_tolerance": Duration(sec=-3)}),
    ("INVALID_GOAL", "from the present reference of joint 0", {"times": [0.0], "positions": [[2.2, -1.0]]}),
    ("OLD_HEADER_TIMESTAMP", "before it could begin", {"stamp": 1, "times": [1e-3, 2e-3]}),
]
GOALS_WITH_WRONG_JOINTS = [
    ("unknown joint 'elbow'", {"names": ["joint1", "elbow"]}),
    ("more than once", {"names": ["joint1", "joint1"]}),
    ("expected joint_names", {"names": []}),
    ("goal_tolerance: unknown joint 'wrist'", {"goal_tolerance": [tolerance("wrist")]}),
]


def test_goals_that_cannot_be_followed_end_at_once_and_leave_the_one_under_way_alone(rig):
    goal = rig.send([600.0], [[2.0, -1.0]])
    rig.ros.wait_for(lambda: goal.feedback, "feedback")
    valid = {"times": [1.0, 2.0], "positions": [[0.1, 0.1], [0.2, 0.2]]}
    for code, words, arguments in GOALS_THAT_CANNOT_BE_FOLLOWED:
        bad = rig.send(**valid | arguments)
        assert words in bad.end(ABORTED, getattr(Result, code)), arguments
        heard = len(goal.feedback)
        rig.ros.wait_for(lambda heard=heard: len(goal.feedback) > heard + 2, "further feedback")
        assert not goal.done(), arguments
    for words, arguments in GOALS_WITH_WRONG_JOINTS:
        bad = rig.send(**valid | arguments)
        assert not bad.handle.accepted and not goal.done(), arguments
        rig.nodes["controller"].wait_for_output("rejected a goal: ")
        rig.nodes["controller"].wait_for_output(words)
    goal.cancel()
    goal.end(CANCELED, Result.SUCCESSFUL)


@pytest.mark.parametrize("offset", [0.0, 1e-9, 0.05])
def test_a_goal_where_the_robot_is_already_succeeds(rig, offset):
    """As MoveIt sends it: one point, at time 0."""
    goal = rig.send([0.0], [[offset, 0.0]], goal_tolerance=[tolerance(position=0.001)])
    goal.end(SUCCEEDED, Result.SUCCESSFUL)
    np.testing.assert_allclose(rig.next().feedback.positions, [offset, 0.0], atol=1e-3)


def test_residues_of_velocities_at_the_end_are_rest_and_more_is_a_choice(rig):
    def send(velocity):
        goal = FollowJointTrajectory.Goal(trajectory=trajectory(
            [0.5], [[0.1, 0.0]], velocities=[[velocity, 0.0]]))
        return Goal(rig, rig.client, goal)

    send(1e-8).end(SUCCEEDED, Result.SUCCESSFUL)
    assert "last point at rest" in send(2e-7).end(ABORTED, Result.INVALID_GOAL)
    rig.set(allow_nonzero_velocity_at_trajectory_end=True)
    try:
        send(0.2).end(SUCCEEDED, Result.SUCCESSFUL)
    finally:
        rig.set(allow_nonzero_velocity_at_trajectory_end=False)
    assert rig.next("rest", lambda s: np.abs(s.feedback.velocities).max() < 1e-3).reference.velocities[0] == 0.0


def test_path_tolerance_of_a_goal(rig):
    rig.hold_at("pd", [0.0, 0.0])
    goal = rig.send([60.0], [[1.0, 1.0]], path_tolerance=[tolerance(position=1e-4)])
    text = goal.end(ABORTED, Result.PATH_TOLERANCE_VIOLATED)
    assert "joint 'joint1': the error of its position is" in text and "tolerance 0.0001" in text
    rig.expect_rest()


def test_goal_tolerance_of_a_goal(rig):
    rig.hold_at("pd", [0.0, 0.0])
    fields = {"goal_tolerance": [tolerance(position=1e-4, velocity=-1.0)], "goal_time_tolerance": Duration(sec=1)}
    text = rig.send([1.0], [[0.5, 0.5]], **fields).end(ABORTED, Result.GOAL_TOLERANCE_VIOLATED)
    assert "joint 'joint1'" in text and "1 s after the end" in text
    rig.expect_rest()


def test_tolerances_by_parameters_and_goals_that_lift_them(rig):
    rig.hold_at("pd", [0.0, 0.0])
    rig.set(**{"constraints.joint1.goal": 1e-4, "constraints.goal_time": 0.5})
    try:
        rig.send([1.0], [[0.5, 0.5]]).end(ABORTED, Result.GOAL_TOLERANCE_VIOLATED)
        rig.send([1.0], [[0.2, 0.2]], goal_tolerance=[tolerance(position=-1.0)]).end(SUCCEEDED, Result.SUCCESSFUL)
        rig.set(**{"constraints.joint1.goal": 0, "constraints.joint1.trajectory": 1e-4})
        rig.send([1.0], [[0.5, 0.5]]).end(ABORTED, Result.PATH_TOLERANCE_VIOLATED)
        rig.send([1.0], [[0.2, 0.2]], path_tolerance=[tolerance(position=-1.0)]).end(SUCCEEDED, Result.SUCCESSFUL)
        assert "constraints.goal_time" in rig.refuse(**{"constraints.goal_time": -1.0})
    finally:
        rig.set(**{"constraints.joint1.goal": 0.0, "constraints.joint1.trajectory": 0.0, "constraints.goal_time": 0.0})


def test_partial_goals_are_a_choice(rig):
    rig.send([1.0], [[0.7]], names=["joint2"]).end(SUCCEEDED, Result.SUCCESSFUL)
    np.testing.assert_allclose(rig.next().feedback.positions, [0.0, 0.7], atol=0.01)
    rig.set(allow_partial_joints_goal=False)
    try:
        assert not rig.send([1.0], [[0.1]], names=["joint2"]).handle.accepted
        rig.nodes["controller"].wait_for_output("received none of joint1")
    finally:
        rig.set(allow_partial_joints_goal=True)


def test_cancel_holds_the_current_state(rig):
    goal = rig.far()
    assert goal.cancel().goals_canceling
    assert "holding the current state" in goal.end(CANCELED, Result.SUCCESSFUL)
    held = rig.expect_rest()
    assert 0.0 < held.reference.positions[0] < 2.0
    assert not goal.cancel().goals_canceling, "it has ended"


def test_a_continuous_joint_goes_the_short_way_through_pi_and_back(rig):
    """From 3.3 rad, a plan that begins at the same place a turn before, and a goal beside it."""
    rig.send([1.0], [[3.3, 0.0]]).end(SUCCEEDED, Result.SUCCESSFUL)
    plan = rig.send([0.0, 0.5], [[3.3 - tau, 0.0], [-2.5, 0.0]])
    assert "reached" in plan.end(SUCCEEDED, Result.SUCCESSFUL)
    one = rig.send([0.5], [[3.0, 0.0]], goal_tolerance=[tolerance(position=0.01)])
    one.end(SUCCEEDED, Result.SUCCESSFUL)
    rig.send([0.5], [[-2.0, 0.0]]).end(SUCCEEDED, Result.SUCCESSFUL)  # so that other tests begin without a turn
    for goal in (plan, one):
        turned = [feedback.actual.positions[0] for feedback in goal.feedback]
        assert np.ptp(turned) < 1.0, "not nearly a turn"


def test_a_driver_that_wraps_at_pi_ends_no_motion(ros):
    """A goal with path tolerances, on the way from 2.5 to 7 rad."""
    with WrappedRig(ros, "/wrapped") as rig:
        rig.send([1.0], [[2.5, 0.0]]).end(SUCCEEDED, Result.SUCCESSFUL)
        turned = rig.send([1.0, 2.0, 3.0], [[4.0, 0.0], [5.5, 0.0], [7.0, 0.0]],
                          path_tolerance=[tolerance(position=0.1)], goal_tolerance=[tolerance(position=0.01)])
        turned.end(SUCCEEDED, Result.SUCCESSFUL)
        assert rig.turns == {0, 1}, "the driver wrapped"
        np.testing.assert_allclose(turned.feedback[-1].desired.positions[0], 7.0, atol=0.1)
        assert "new start" not in rig.nodes["controller"].output()


def test_a_new_goal_preempts_the_one_before(rig):
    first = rig.far()
    second = rig.send([1.0], [[-0.3, 0.3]])
    assert "preempted" in first.end(ABORTED, Result.INVALID_GOAL)
    second.end(SUCCEEDED, Result.SUCCESSFUL)
    np.testing.assert_allclose(rig.next().feedback.positions, [-0.3, 0.3], atol=0.01)


def test_a_trajectory_on_the_topic_preempts_a_goal(rig):
    goal = rig.far()
    rig.publisher.publish(trajectory([1.0], [[0.1, 0.2]]))
    assert "preempted by a new trajectory" in goal.end(ABORTED, Result.INVALID_GOAL)
    rig.next("the end", lambda s: np.allclose(s.reference.positions, [0.1, 0.2], atol=1e-12))
    goal = rig.far()
    rig.publisher.publish(JointTrajectory())
    assert "empty trajectory" in goal.end(ABORTED, Result.INVALID_GOAL)
    rig.expect_rest()
    goal = rig.far()
    stop = CartesianTrajectory()
    stop.header.frame_id = Robot.from_urdf(robot_file("planar_2r")).model.base_link
    rig.ros.publisher(CartesianTrajectory, f"{rig.namespace}/controller/cartesian_trajectory").publish(stop)
    assert "empty trajectory" in goal.end(ABORTED, Result.INVALID_GOAL)


def test_a_swap_under_way_to_a_controller_that_follows_goes_on_with_the_goal(rig):
    goal = rig.send([8.0], [[1.5, -1.0]]).under_way()
    rig.set(controller="pd_gravity")
    goal.end(SUCCEEDED, Result.SUCCESSFUL)
    state = rig.next()
    assert state.controller == "pd_gravity"
    np.testing.assert_allclose(state.feedback.positions, [1.5, -1.0], atol=0.02)


def test_a_swap_to_a_controller_without_trajectory_ends_the_goal(rig):
    goal = rig.far()
    rig.set(controller="damping")
    assert "'damping'" in goal.end(ABORTED, Result.INVALID_GOAL)
    assert "follows none" in rig.send([1.0], [[0.1, 0.1]]).end(ABORTED, Result.INVALID_GOAL)


def test_a_swap_after_the_end_holds_the_current_state_and_ends_the_goal(rig):
    rig.hold_at("pd", [0.0, 0.0])
    goal = rig.send([0.5], [[0.5, 0.5]], goal_tolerance=[tolerance(position=1e-4)])  # without end: gravity's offset
    rig.next("the end", lambda s: list(s.reference.positions) == [0.5, 0.5])
    rig.set(controller="computed_torque")
    assert "holds the current state" in goal.end(ABORTED, Result.INVALID_GOAL)


def test_a_reset_of_the_simulation_ends_the_goal(rig):
    rig.hold_at("computed_torque", [1.0, 0.5])
    goal = rig.far()
    assert rig.ros.call(Trigger, f"{rig.namespace}/hardware/reset").success
    assert "new start" in goal.end(ABORTED, Result.INVALID_GOAL)


def test_a_pause_of_the_simulation_leaves_the_goal_alone(rig):
    goal = rig.send([3.0], [[0.5, 0.5]]).under_way()
    assert rig.ros.call(SetBool, f"{rig.namespace}/hardware/pause", data=True).success
    rig.ros.spin(1.0)  # longer than state_timeout
    assert not goal.done()
    assert rig.ros.call(SetBool, f"{rig.namespace}/hardware/pause", data=False).success
    goal.end(SUCCEEDED, Result.SUCCESSFUL)


def test_in_lockstep_hardware_that_stood_still_leaves_the_goal_alone(rig):
    goal = rig.send([3.0], [[0.5, 0.5]]).under_way()
    with rig.nodes["hardware"].stopped():
        rig.ros.spin(1.0)  # longer than state_timeout
    goal.end(SUCCEEDED, Result.SUCCESSFUL)


def test_hardware_that_dies_ends_the_goal(rig):
    goal = rig.far()
    rig.nodes["hardware"].kill()
    assert "no joint states for 0.5 s" in goal.end(ABORTED, Result.INVALID_GOAL)
    rig.start("hardware")
    rig.next("joint states")


def test_the_documented_configuration_of_moveit_finds_the_action(rig):
    text = (Path(__file__).parents[3] / "docs" / "trajectories.md").read_text()
    (section,) = [yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)]
    manager = section["moveit_simple_controller_manager"]
    (name,) = manager["controller_names"]
    entry = manager[name]
    assert tuple(entry["joints"]) == Robot.from_urdf(robot_file("arm6")).joint_names
    actions = dict(get_action_names_and_types(rig.ros.node))
    assert actions[f"{rig.namespace}/{name}/{entry['action_ns']}"] == [f"control_msgs/action/{entry['type']}"]


def test_counts_are_in_the_diagnostics(rig):
    _, values = rig.status(lambda *_: True)
    before = int(values.get("goals reached", 0))
    rig.send([0.5], [[0.1, 0.1]]).end(SUCCEEDED, Result.SUCCESSFUL)
    rig.status(lambda _, values: int(values["goals reached"]) == before + 1)


def test_a_goal_whose_states_cannot_be_published_is_followed_to_its_end(rig):
    """As on a machine so busy that Fast DDS does not get a lock in time; rclpy alone would neither begin nor end it."""
    rig.set(controller="plugins_for_test:FailingMiddleware")
    text = rig.send([0.5], [[0.1, 0.1]]).end(SUCCEEDED, Result.SUCCESSFUL)
    assert "after the end of the trajectory" in text
    rig.status(lambda _, values: values.get("unpublished goal states") == "2")
    assert "cannot publish data" in rig.nodes["controller"].output()


@pytest.mark.long
def test_a_stopping_node_tells_the_goals_sender_though_much_feedback_waits(ros):
    with ActionRig(ros, "planar_2r", "/feedback", hardware={"update_rate": 1000},
                   controller={"action_monitor_rate": 1000.0}) as rig:
        for _ in range(3):
            goal = rig.send([100.0], [[2.0, -1.0]])
            ros.wait_for(lambda goal=goal: len(goal.feedback) > 200, "feedback")
            rig.nodes["controller"].stop()
            assert "stopped" in goal.end(ABORTED, Result.INVALID_GOAL)
            rig.start("controller")
            ros.wait_for(rig.client.server_is_ready, "the action server")
            rig.next()


def test_a_stopping_node_tells_the_goals_sender(rig):
    """The last test, as it leaves no controller."""
    goal = rig.far()
    rig.nodes["controller"].stop()
    assert "stopped" in goal.end(ABORTED, Result.INVALID_GOAL)
