# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Quintics through points."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.interpolate import BPoly, PchipInterpolator

from robodyn_ros import InputError
from robodyn_ros.control import JointReference
from robodyn_ros.control.references.joint_trajectory import START_TOLERANCE, JointTrajectory, Points

N = 3


def reference(seed=0, scale=1.0):
    return JointReference(*(scale * np.random.default_rng(seed).normal(size=(3, N))))


def at_rest(q=0.0):
    return JointReference(np.full(N, q), np.zeros(N), np.zeros(N))


def random_points(seed, m):
    rng = np.random.default_rng(seed)
    q, v, a = rng.normal(size=(3, m, N))
    v[-1] = 0.0
    return Points.from_arrays(np.cumsum(rng.uniform(0.1, 2.0, m)), q, v, a)


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 1000), st.integers(1, 6))
def test_same_curve_as_scipys_hermite_interpolation(seed, m):
    points, start = random_points(seed, m), reference(seed)
    trajectory = JointTrajectory(start, 0.0, points)
    times = np.concatenate([[0.0], points.times])
    knots = [np.vstack([s, p]) for s, p in zip(start, (points.q, points.v, points.a), strict=True)]
    scipys = BPoly.from_derivatives(times, np.stack(knots, axis=1))
    for time in np.linspace(0.0, times[-1], 50, endpoint=False):
        for order, ours in enumerate(trajectory.sample(time)):
            np.testing.assert_allclose(ours, scipys(time, nu=order), rtol=1e-8, atol=1e-8 * 10**order)


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 1000), st.integers(1, 6))
def test_motion_is_twice_continuously_differentiable(seed, m):
    rng = np.random.default_rng(seed)
    points = Points.from_arrays(np.cumsum(rng.uniform(0.3, 2.0, m)), rng.normal(size=(m, N)))
    trajectory = JointTrajectory(reference(seed), 0.0, points)
    for time in points.times:
        before, after = trajectory.sample(time - 1e-9), trajectory.sample(time + 1e-9)
        for left, right in zip(before, after, strict=True):
            np.testing.assert_allclose(left, right, atol=1e-3)


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 1000), st.integers(3, 8))
def test_missing_velocities_are_those_of_pchip(seed, m):
    rng = np.random.default_rng(seed)
    times = np.cumsum(rng.uniform(0.1, 2.0, m))
    q = rng.integers(-2, 3, size=(m, N)) * rng.choice([1e-200, 1.0, 1e5])  # repeated and turning points
    start = JointReference(q[0], np.zeros(N), np.zeros(N))
    trajectory = JointTrajectory(start, times[0], Points.from_arrays(times[1:], q[1:]), 0.0)
    expected = PchipInterpolator(times, q).derivative()(times)
    for time, velocity in zip(times[1:-1], expected[1:-1], strict=True):
        np.testing.assert_allclose(trajectory.sample(time).v, velocity, rtol=1e-12, atol=0.0)


def test_points_are_met_and_the_last_one_is_held():
    points = random_points(1, 4)
    trajectory = JointTrajectory(reference(1), 0.0, points)
    for i, time in enumerate(points.times[:-1]):
        for ours, given_ in zip(trajectory.sample(time), (points.q[i], points.v[i], points.a[i]), strict=True):
            np.testing.assert_allclose(ours, given_, atol=1e-9)
    for time in (points.times[-1], points.times[-1] + 100.0):
        held = trajectory.sample(time)
        np.testing.assert_array_equal(held.q, points.q[-1])
        assert not held.v.any() and not held.a.any()


def test_begins_where_the_reference_was():
    start = reference(2)
    for ours, given_ in zip(JointTrajectory(start, 5.0, random_points(2, 2)).sample(5.0), start, strict=True):
        np.testing.assert_allclose(ours, given_, atol=1e-12)


def test_time_may_be_asked_for_in_any_order():
    trajectory = JointTrajectory(reference(3), 0.0, random_points(3, 5))
    times = np.linspace(0.0, trajectory.end_time, 40)
    forward = [trajectory.sample(time).q for time in times]
    backward = [trajectory.sample(time).q for time in times[::-1]][::-1]
    np.testing.assert_array_equal(forward, backward)


def test_motion_between_rests_is_the_minimum_jerk_polynomial():
    """One point at rest: q(s) = 10 s^3 - 15 s^4 + 6 s^5, the well-known solution."""
    trajectory = JointTrajectory(at_rest(), 0.0, Points.from_arrays([2.0], [np.ones(N)]))
    for s in np.linspace(0.0, 0.999, 17):
        np.testing.assert_allclose(trajectory.sample(2.0 * s).q, 10 * s**3 - 15 * s**4 + 6 * s**5, atol=1e-12)


@settings(deadline=None, max_examples=50)
@given(st.lists(st.floats(-2.0, 2.0).map(lambda x: round(x, 3)), min_size=1, max_size=6))
def test_chosen_velocities_do_not_swing_beyond_the_points(positions):
    q = np.repeat(np.array(positions)[:, None], N, axis=1)
    points = Points.from_arrays(np.arange(1.0, len(q) + 1), q)
    lowest, highest, _ = JointTrajectory(at_rest(), 0.0, points).extremes()
    assert (highest <= max(q.max(), 0.0) + 1e-12).all()
    assert (lowest >= min(q.min(), 0.0) - 1e-12).all()


def test_a_repeated_position_is_a_stop():
    points = Points.from_arrays([1.0, 2.0, 3.0], [[1.0] * N, [1.0] * N, [3.0] * N])
    trajectory = JointTrajectory(at_rest(), 0.0, points)
    for time in np.linspace(1.0, 2.0, 11):
        np.testing.assert_allclose(trajectory.sample(time).q, 1.0, atol=1e-12)


def test_joined_from_elsewhere_at_another_time():
    points = random_points(4, 3)
    trajectory, start = JointTrajectory(at_rest(), 0.0, points), reference(4)
    first = points.times[0]
    joined = trajectory.joined(start, first / 2)
    for ours, given_ in zip(joined.sample(first / 2), start, strict=True):
        np.testing.assert_allclose(ours, given_, atol=1e-12)
    for time in np.linspace(first, trajectory.end_time, 9):
        for ours, other in zip(joined.sample(time), trajectory.sample(time), strict=True):
            np.testing.assert_allclose(ours, other, atol=1e-9)
    np.testing.assert_allclose(trajectory.sample(0.0).q, 0.0, atol=1e-12)


def test_joined_after_points_have_passed():
    points = Points.from_arrays([1.0, 2.0, 3.0], [[1.0] * N, [2.0] * N, [3.0] * N])
    late = JointTrajectory(at_rest(), 0.0, points).joined(at_rest(1.2), 1.5)
    for time, q in ((1.5, 1.2), (2.0, 2.0), (3.0, 3.0)):
        np.testing.assert_allclose(late.sample(time).q, q, atol=1e-12)
    with pytest.raises(InputError, match="ended"):
        late.joined(at_rest(), 3.0)


def test_delayed_by_some_time():
    trajectory = JointTrajectory(reference(6), 1.0, random_points(6, 3))
    late = trajectory.delayed(0.25)
    assert (late.start_time, late.end_time) == (1.25, trajectory.end_time + 0.25)
    for time in np.linspace(1.0, trajectory.end_time + 0.1, 9):
        np.testing.assert_allclose(late.sample(time + 0.25).q, trajectory.sample(time).q, atol=1e-12)


def test_points_before_the_start_are_left_out():
    points = Points.from_arrays([1.0, 2.0, 3.0], [[1.0] * N, [2.0] * N, [3.0] * N])
    trajectory = JointTrajectory(at_rest(1.4), 11.5, points, origin=10.0)
    np.testing.assert_allclose(trajectory.sample(11.5).q, 1.4)
    np.testing.assert_allclose(trajectory.sample(12.0).q, 2.0)
    assert trajectory.end_time == 13.0
    with pytest.raises(InputError, match="ended 0.5 s before"):
        JointTrajectory(at_rest(), 13.5, points, origin=10.0)


def test_first_point_at_time_zero_is_where_the_robot_is_or_refused():
    near, far = START_TOLERANCE / 2, 2 * START_TOLERANCE
    trajectory = JointTrajectory(at_rest(), 0.0, Points.from_arrays([0.0, 1.0], [[near] * N, [1.0] * N]))
    np.testing.assert_allclose(trajectory.sample(0.0).q, 0.0, atol=1e-15)
    with pytest.raises(InputError, match="joint 0.*give it a time"):
        JointTrajectory(at_rest(), 0.0, Points.from_arrays([0.0, 1.0], [[far] * N, [1.0] * N]))
    only = JointTrajectory(at_rest(), 5.0, Points.from_arrays([0.0], [[near] * N]))
    assert 0.0 < only.end_time - 5.0 < 1.0, "it goes the rest of the way"
    np.testing.assert_allclose(only.sample(6.0).q, near)
    with pytest.raises(InputError, match="joint 0.*give it a time"):
        JointTrajectory(at_rest(), 0.0, Points.from_arrays([0.0], [[far] * N]))
    with pytest.raises(InputError, match="give header.stamp 0"):
        JointTrajectory(at_rest(), 1.0, Points.from_arrays([0.0], [[0.0] * N]), origin=0.0)


def test_extremes_are_those_of_the_curve():
    trajectory = JointTrajectory(reference(5), 0.0, random_points(5, 4))
    samples = [trajectory.sample(t) for t in np.linspace(0.0, trajectory.end_time, 20000, endpoint=False)]
    lowest, highest, speed = trajectory.extremes(samples=400)
    np.testing.assert_allclose(lowest, np.min([s.q for s in samples], axis=0), atol=1e-3)
    np.testing.assert_allclose(highest, np.max([s.q for s in samples], axis=0), atol=1e-3)
    np.testing.assert_allclose(speed, np.max([np.abs(s.v) for s in samples], axis=0), rtol=1e-3)


ROW = [0.0] * N


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([], np.zeros((0, N))), "at least one point"),
        (([1.0], [ROW, ROW]), "positions of shape"),
        (([1.0], [ROW], [ROW[:-1]]), "velocities of shape"),
        (([1.0], [ROW], None, [ROW, ROW]), "accelerations of shape"),
        (([np.nan], [ROW]), "finite"),
        (([1.0], [[np.inf] * N]), "finite"),
        (([-0.1], [ROW]), "from 0 on.*-0.1"),
        (([1.0, 1.0], [ROW, ROW]), "increasing times.*point 0.*point 1"),
        (([1.0], [ROW], [[0.1] * N]), "last point at rest"),
    ],
)
def test_bad_points_are_refused(arguments, words):
    with pytest.raises(InputError, match=words):
        Points.from_arrays(*arguments)


def test_number_of_joints_must_fit():
    with pytest.raises(InputError, match="expected 3 joints, received 2"):
        JointTrajectory(at_rest(), 0.0, Points.from_arrays([1.0], [[0.0, 0.0]]))


@pytest.mark.parametrize(("time", "index"), [(10.0, 0), (10.9, 0), (11.0, 1), (12.5, 2), (13.0, 2), (99.0, 2)])
def test_the_point_ahead_counts_all_points_given(time, index):
    start = JointReference(*np.zeros((3, 1)))
    points = Points.from_arrays([1.0, 2.0, 3.0], [[1.0], [2.0], [3.0]])
    assert JointTrajectory(start, 10.0, points).point_ahead(time) == index
    late = JointTrajectory(start, 11.5, points, origin=10.0)
    assert late.point_ahead(max(time, 11.5)) == max(index, 1), "a point that had passed counts, too"
