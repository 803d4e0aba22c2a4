# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Goals are judged as joint_trajectory_controller does: on the way, at the end, in time."""

import numpy as np
import pytest

from robodyn_ros.control import JointReference, State
from robodyn_ros.control.plugins.plugin import Plugin
from robodyn_ros.control.references.goal_tolerances import StateTolerance, Tolerances, TrajectoryGoal, Verdict
from robodyn_ros.control.references.joint_trajectory import JointTrajectory, Points
from robodyn_ros.control.runtime.tick import Tick

NAMES = ("shoulder", "elbow")
START = JointReference(*np.zeros((3, 2)))
TRAJECTORY = JointTrajectory(START, 5.0, Points.from_arrays([1.0, 2.0], [[0.5, 0.0], [1.0, -1.0]]))
INF = np.inf
PLUGIN = Plugin("none", None)


def tolerance(q=INF, v=INF):
    return StateTolerance(np.full(2, q), np.full(2, v))


def goal(path=None, end=None, goal_time=INF):
    return TrajectoryGoal(TRAJECTORY, Tolerances(path or tolerance(), end or tolerance(), goal_time), NAMES,
                          np.array([True, False]))


def tick(time, error_q=(0.0, 0.0), error_v=(0.0, 0.0), reference=True):
    """Observation of a robot that lags behind the trajectory by an error."""
    desired = TRAJECTORY.sample(time) if time >= TRAJECTORY.start_time else START
    state = State(time, 0.002, desired.q - np.array(error_q), desired.v - np.array(error_v))
    return Tick(state, desired if reference else None, np.zeros(2), False, PLUGIN, time)


@pytest.mark.parametrize("time", [4.0, 5.0, 6.3, 6.999])
def test_no_result_before_the_end_while_the_robot_is_close(time):
    assert goal(tolerance(0.1, 0.2), tolerance(1e-9)).judge(tick(time, (0.09, -0.09), (-0.19, 0.19))) is None


@pytest.mark.parametrize(
    ("error_q", "error_v", "words"),
    [
        ((0.0, -0.11), (0.0, 0.0), "joint 'elbow': the error of its position is -0.11, its tolerance 0.1"),
        ((0.0, 0.0), (0.21, 0.0), "joint 'shoulder': the error of its velocity is 0.21, its tolerance 0.2"),
    ],
)
def test_path_tolerances_are_kept_from_start_to_end(error_q, error_v, words):
    strict = goal(tolerance(0.1, 0.2))
    for time in (5.0, 6.0, 6.999):
        verdict, text = strict.judge(tick(time, error_q, error_v))
        assert verdict is Verdict.PATH_VIOLATED and text == words
    assert strict.judge(tick(4.999, error_q, error_v)) is None, "it has not begun"
    assert strict.judge(tick(7.0, error_q, error_v))[0] is Verdict.REACHED, "goal tolerances count from here on"
    assert goal().judge(tick(6.0, error_q, error_v)) is None, "no tolerance, no violation"


def test_only_the_joint_with_a_tolerance_matters():
    one = goal(StateTolerance(np.array([0.1, INF]), np.full(2, INF)))
    assert one.judge(tick(6.0, (0.0, 10.0))) is None
    assert one.judge(tick(6.0, (0.2, 0.0)))[0] is Verdict.PATH_VIOLATED


def test_the_goal_is_reached_once_the_robot_is_there_and_at_rest():
    patient = goal(end=tolerance(0.01, 0.02))
    assert patient.judge(tick(7.0, (0.02, 0.0))) is None
    assert patient.judge(tick(70.0, (0.0, 0.0), (0.0, 0.03))) is None, "a goal time of infinity has no end"
    verdict, text = patient.judge(tick(7.5, (0.005, -0.005), (0.01, -0.01)))
    assert verdict is Verdict.REACHED and "0.5 s after" in text


def test_the_goal_must_be_reached_in_time():
    hasty = goal(end=tolerance(0.01), goal_time=0.3)
    assert hasty.judge(tick(7.25, (0.0, 0.02))) is None
    verdict, text = hasty.judge(tick(7.31, (0.0, 0.02)))
    assert verdict is Verdict.GOAL_VIOLATED
    assert "joint 'elbow'" in text and "0.02" in text and "0.01" in text and "0.31 s after" in text


def test_the_goal_is_the_last_point_whatever_the_reference_is_by_then():
    """A swap may hold the state that it finds: that is no success."""
    q = TRAJECTORY.sample(7.0).q - 0.5
    held = Tick(State(8.0, 0.002, q, np.zeros(2)), JointReference(q, np.zeros(2), np.zeros(2)), np.zeros(2), False,
                PLUGIN, 8.0)
    assert goal(end=tolerance(0.01)).judge(held) is None


def test_without_a_reference_there_is_no_path_to_violate():
    assert goal(tolerance(0.1)).judge(tick(6.0, (1.0, 1.0), reference=False)) is None


def test_a_goal_of_an_angle_is_reached_a_turn_away_too():
    precise = goal(end=tolerance(0.1))
    assert precise.judge(tick(7.0, (2 * np.pi, 0.0)))[0] is Verdict.REACHED
    assert precise.judge(tick(7.0, (0.0, 2 * np.pi))) is None, "the elbow is no angle"
