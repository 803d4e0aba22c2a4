# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Lines and arcs of the tip link: paths, rates by differences, smooth starts, and refusals."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation, Slerp

from robodyn_ros import InputError
from robodyn_ros.control import TipReference
from robodyn_ros.control.references.quintic import MIN_DURATION
from robodyn_ros.control.references.tip_trajectory import TipTrajectory, least_duration

REST = np.zeros(6)
START = TipReference(np.array([0.4, -0.1, 0.3]), np.array([0.0, 0.0, 0.0, 1.0]), REST, REST)
GOAL = np.array([0.1, 0.2, 0.5])
TURN = Rotation.from_rotvec([0.4, -1.1, 0.7])


def random_start(seed):
    rng = np.random.default_rng(seed)
    quaternion = Rotation.from_rotvec(rng.normal(size=3)).as_quat()
    return TipReference(rng.normal(size=3), quaternion, *rng.normal(size=(2, 6)))


def check_rates(trajectory):
    """Twist and acceleration are the derivatives of pose and twist."""
    h = 1e-4
    for time in np.linspace(trajectory.start_time + 2 * h, trajectory.end_time - 2 * h, 7):
        before, now, after = (trajectory.sample(time + k * h) for k in (-1, 0, 1))
        turn = Rotation.from_quat(after.quaternion) * Rotation.from_quat(before.quaternion).inv()
        twist = np.concatenate([after.position - before.position, turn.as_rotvec()]) / (2 * h)
        np.testing.assert_allclose(now.twist, twist, atol=1e-5)
        np.testing.assert_allclose(now.acceleration, (after.twist - before.twist) / (2 * h), atol=1e-4)


def check_same_pose(first, second, tolerance=1e-12):
    np.testing.assert_allclose(first.position, second.position, atol=tolerance)
    turn = Rotation.from_quat(first.quaternion) * Rotation.from_quat(second.quaternion).inv()
    assert turn.magnitude() < tolerance


def test_from_rest_the_line_is_straight_and_the_turn_a_slerp_at_quintic_speed():
    trajectory = TipTrajectory.line(START, 2.0, 3.0, GOAL, TURN.as_quat())
    slerp = Slerp([0.0, 1.0], Rotation.concatenate([Rotation.identity(), TURN]))
    for u in np.linspace(0.0, 1.0, 11):
        share = u**3 * (10.0 - 15.0 * u + 6.0 * u**2)
        reference = trajectory.sample(2.0 + 3.0 * u)
        np.testing.assert_allclose(reference.position, START.position + share * (GOAL - START.position), atol=1e-12)
        assert (Rotation.from_quat(reference.quaternion) * slerp(share).inv()).magnitude() < 1e-12


@settings(max_examples=20)
@given(st.integers(0, 10**6), st.floats(0.5, 5.0))
def test_any_motion_under_way_is_continued_smoothly_and_ends_at_the_goal(seed, duration):
    start, goal = random_start(seed), random_start(seed + 1)
    for trajectory in (
        TipTrajectory.line(start, 1.0, duration, goal.position, goal.quaternion),
        TipTrajectory.circle(start, 1.0, duration, goal.position, goal.twist[:3], 4.0, goal.quaternion),
    ):
        first = trajectory.sample(1.0)
        check_same_pose(first, start, 1e-9)
        np.testing.assert_allclose(first.twist, start.twist, atol=1e-8)
        np.testing.assert_allclose(first.acceleration, start.acceleration, atol=1e-7)
        last = trajectory.sample(1.0 + duration)
        check_same_pose(last, last._replace(quaternion=goal.quaternion), 1e-9)
        assert not last.twist.any() and not last.acceleration.any()
        just_before = trajectory.sample(1.0 + duration - 1e-9)
        np.testing.assert_allclose(just_before.position, last.position, atol=1e-7)
    np.testing.assert_allclose(
        TipTrajectory.line(start, 1.0, duration, goal.position).sample(9.0).position, goal.position, atol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_rates_are_the_derivatives(seed):
    start = random_start(seed)
    check_rates(TipTrajectory.line(start, 0.5, 2.0, GOAL, TURN.as_quat()))
    check_rates(TipTrajectory.circle(start, 0.5, 2.0, GOAL, [0.0, 1.0, 1.0], 7.0, TURN.as_quat()))


def test_a_circle_keeps_its_distance_and_comes_back():
    center, axis = np.array([0.2, -0.1, 0.9]), np.array([0.0, 0.0, 2.0])
    trajectory = TipTrajectory.circle(START, 0.0, 4.0, center, axis)
    positions = trajectory.samples(np.linspace(0.0, 4.0, 50)).position
    np.testing.assert_allclose(np.linalg.norm(positions[:, :2] - center[:2], axis=1), 0.2, atol=1e-12)
    np.testing.assert_allclose(positions[:, 2], START.position[2], atol=1e-12)
    np.testing.assert_allclose(positions[-1], START.position, atol=1e-12)
    np.testing.assert_allclose(trajectory.sample(2.0).position, [0.0, -0.1, 0.3], atol=1e-12)
    quarter = TipTrajectory.circle(START, 0.0, 4.0, center, axis, np.pi / 2).sample(4.0)
    np.testing.assert_allclose(quarter.position, [0.2, 0.1, 0.3], atol=1e-12)  # counter-clockwise


def test_joining_from_elsewhere_ends_at_the_same_time_at_the_same_pose():
    planned = TipTrajectory.line(START, 1.0, 2.0, GOAL, TURN.as_quat())
    elsewhere = random_start(3)
    joined = planned.joined(elsewhere, 1.5)
    assert (joined.start_time, joined.end_time) == (1.5, 3.0)
    check_same_pose(joined.sample(1.5), elsewhere, 1e-9)
    check_same_pose(joined.sample(3.0), planned.sample(3.0))
    later = planned.delayed(0.7)
    assert (later.start_time, later.end_time) == (1.7, 3.7)
    check_same_pose(later.sample(2.5), planned.sample(1.8))
    with pytest.raises(InputError, match="before it could begin"):
        planned.joined(elsewhere, 3.1)


def test_least_duration_keeps_to_the_speeds():
    for goal, quaternion in ((GOAL, None), (START.position, TURN.as_quat())):
        duration = least_duration(START, goal, quaternion, speed=0.2, angular_speed=0.4)
        samples = TipTrajectory.line(START, 0.0, duration, goal, quaternion).samples(
            np.linspace(0.0, duration, 201))
        peaks = [np.linalg.norm(samples.twist[:, part], axis=1).max() for part in (slice(3), slice(3, 6))]
        assert max(peaks[0] / 0.2, peaks[1] / 0.4) == pytest.approx(1.0, abs=1e-6)
    assert least_duration(START, START.position) == MIN_DURATION  # the reference of the node goes on meanwhile


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: TipTrajectory.line(START, 0.0, 0.0, GOAL), "duration"),
        (lambda: TipTrajectory.line(START, 0.0, np.nan, GOAL), "duration"),
        (lambda: TipTrajectory.line(START, 0.0, 1.0, GOAL[:2]), "position.*shape"),
        (lambda: TipTrajectory.line(START, 0.0, 1.0, [0.0, np.inf, 0.0]), "position.*finite"),
        (lambda: TipTrajectory.line(START, 0.0, 1.0, GOAL, [0.0, 0.0, 0.0, 0.0]), "unit length"),
        (lambda: TipTrajectory.line(START, 0.0, 1.0, GOAL, [1.0, 0.0, 0.0]), "quaternion.*shape"),
        (lambda: TipTrajectory.circle(START, 0.0, 1.0, GOAL, [0.0, 0.0, 0.0]), "axis with a direction"),
        (lambda: TipTrajectory.circle(START, 0.0, 1.0, GOAL, [0, 0, 1], np.inf), "finite angle"),
        (lambda: TipTrajectory.circle(START, 0.0, 1.0, START.position, [0, 0, 1]), "off the circle's axis"),
    ],
)
def test_impossible_trajectories_are_refused(make, words):
    with pytest.raises(InputError, match=words):
        make()
