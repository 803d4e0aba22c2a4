# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""References from a held state and from trajectories one after the other."""

import numpy as np
import pytest

from robodyn_ros import Robot
from robodyn_ros.control import ForceReference, TipReference
from robodyn_ros.control.references.joint_trajectory import JointTrajectory, Points
from robodyn_ros.control.references.reference import SOURCES, JointReferenceSource
from robodyn_ros.control.references.tip_trajectory import TipTrajectory
from robodyn_ros.description.resources import robot_file
from robodyn_ros.textbook.quaternions import rotation_from_quaternion


def move(source, start_time, duration, to):
    trajectory = JointTrajectory(source.peek(start_time), start_time, Points.from_arrays([duration], [[to]]))
    source.follow(trajectory)
    return trajectory


@pytest.fixture
def source():
    return JointReferenceSource(np.array([0.5]))


def test_holds_what_it_was_given(source):
    for reference in (source.sample(0.0), source.peek(100.0)):
        assert (reference.q, reference.v, reference.a) == ([0.5], [0.0], [0.0])
    assert not source.moving()


def test_a_held_position_is_a_copy():
    q = np.array([0.5])
    source = JointReferenceSource(q)
    q[0] = 9.0
    assert source.sample(0.0).q == [0.5]


def test_holds_the_end_of_a_trajectory(source):
    move(source, 1.0, 2.0, to=2.5)
    assert source.moving()
    assert source.sample(0.9).q == [0.5]
    assert source.sample(2.0).q == pytest.approx([1.5])
    assert source.moving()
    assert source.sample(3.5).q == [2.5]
    assert not source.moving()
    assert source.sample(1000.0).q == [2.5]


def test_a_later_trajectory_takes_over_smoothly_at_its_start(source):
    move(source, 0.0, 2.0, to=2.0)
    move(source, 1.0, 2.0, to=-1.0)
    times = np.arange(0.0, 3.2, 1e-3)
    samples = [source.sample(t) for t in times]
    q, v, a = (np.array([getattr(s, part)[0] for s in samples]) for part in "qva")
    np.testing.assert_allclose(np.diff(q), 1e-3 * (v[1:] + v[:-1]) / 2, atol=1e-7)
    np.testing.assert_allclose(np.diff(v), 1e-3 * (a[1:] + a[:-1]) / 2, atol=1e-4)
    assert q[-1] == -1.0


def test_a_new_trajectory_replaces_those_that_start_later(source):
    move(source, 5.0, 1.0, to=9.0)
    move(source, 1.0, 1.0, to=2.0)
    assert [source.sample(t).q[0] for t in (0.5, 2.0, 10.0)] == [0.5, 2.0, 2.0]


def test_trajectories_wait_for_their_turn(source):
    move(source, 1.0, 1.0, to=2.0)
    move(source, 5.0, 1.0, to=3.0)
    assert source.peek(7.0).q == [3.0]
    assert [source.sample(t).q[0] for t in (2.0, 4.9, 5.0, 6.0)] == [2.0, 2.0, 2.0, 3.0]


def test_peeking_changes_nothing(source):
    move(source, 0.0, 2.0, to=2.5)
    expected = source.sample(0.5).q
    source.peek(1.9)
    np.testing.assert_array_equal(source.sample(0.5).q, expected)


def test_holding_forgets_all_trajectories(source):
    move(source, 0.0, 2.0, to=2.0)
    move(source, 3.0, 1.0, to=3.0)
    source.sample(1.0)
    source.hold(np.array([-1.0]))
    assert not source.moving()
    assert source.sample(4.0).q == [-1.0]


@pytest.mark.parametrize("kind", [TipReference, ForceReference])
def test_poses_are_held_and_followed(kind):
    robot = Robot.from_urdf(robot_file("arm6"))
    q = np.random.default_rng(0).normal(size=6)
    source = SOURCES[kind](robot, q)
    held, pose = source.sample(0.0), robot.dynamics().forward_kinematics(q)
    assert type(held) is kind and source.accepts is TipReference
    np.testing.assert_allclose(held.position, pose[:3, 3])
    np.testing.assert_allclose(rotation_from_quaternion(held.quaternion), pose[:3, :3], atol=1e-12)
    assert not held.twist.any() and not held.acceleration.any()
    goal = held.position + 0.1
    source.follow(TipTrajectory.line(source.peek(1.0), 1.0, 2.0, goal))
    assert source.moving() and type(source.sample(2.0)) is kind
    np.testing.assert_allclose(source.sample(2.0).position, held.position + 0.05)
    np.testing.assert_allclose(source.sample(9.0).position, goal)
    assert not source.moving()


def test_a_wrench_lasts_until_the_next_hold():
    robot = Robot.from_urdf(robot_file("planar_2r"))
    source = SOURCES[ForceReference](robot, np.zeros(2))
    assert not source.sample(0.0).wrench.any()
    source.exert(np.arange(6.0))
    np.testing.assert_array_equal(source.sample(0.1).wrench, np.arange(6.0))
    source.hold(np.ones(2))
    assert not source.sample(0.2).wrench.any()
