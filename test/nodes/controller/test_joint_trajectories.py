# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Trajectory messages, good and bad, without a node."""

import numpy as np
import pytest
from builtin_interfaces.msg import Duration
from rclpy.serialization import serialize_message
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from robodyn_ros import InputError, Robot
from robodyn_ros.control import JointReference
from robodyn_ros.control.runtime.followed_reference import TrajectoryStart
from robodyn_ros.description.resources import robot_file
from robodyn_ros.nodes.common.messages import JointOrder
from robodyn_ros.nodes.controller.joint_trajectories import plan, read_points, release_points, serialized_points

MODEL = Robot.from_urdf(robot_file("planar_2r")).model
NAMES = list(MODEL.joint_names)
JOINTS = JointOrder(NAMES)
HELD = np.array([0.3, -0.2])
NOW = TrajectoryStart(7.0, 7.0, JointReference(HELD, np.zeros(2), np.zeros(2)))
NAN, INF = float("nan"), float("inf")


def message(times, positions, names=NAMES, **fields):
    points = []
    for i, (time, row) in enumerate(zip(times, positions, strict=True)):
        duration = Duration(sec=int(time // 1), nanosec=round(time % 1 * 1e9))
        others = {name: rows[i] for name, rows in fields.items()}
        points.append(JointTrajectoryPoint(positions=row, time_from_start=duration, **others))
    return JointTrajectory(joint_names=names, points=points)


def test_points_by_name_in_any_order():
    points = read_points(
        message([0.5, 1.25], [[0.1, 0.2], [0.3, 0.4]], NAMES[::-1], velocities=[[5.0, 6.0], []]), JOINTS, HELD
    )
    np.testing.assert_array_equal(points.times, [0.5, 1.25])
    np.testing.assert_array_equal(points.q, [[0.2, 0.1], [0.4, 0.3]])
    np.testing.assert_array_equal(points.v, [[6.0, 5.0], [np.nan, np.nan]])
    assert np.isnan(points.a).all()


def test_joints_that_are_not_named_stay_where_they_are():
    points = read_points(message([1.0], [[0.9]], [NAMES[1]], accelerations=[[2.0]]), JOINTS, HELD)
    np.testing.assert_array_equal(points.q, [[HELD[0], 0.9]])
    np.testing.assert_array_equal(points.v, [[0.0, np.nan]])
    np.testing.assert_array_equal(points.a, [[0.0, 2.0]])


def test_plan_begins_at_the_reference_and_its_time():
    trajectory = plan(message([1.0], [[1.0, 1.0]]), JOINTS, MODEL, NOW)
    assert (trajectory.start_time, trajectory.end_time) == (7.0, 8.0)
    np.testing.assert_allclose(trajectory.sample(7.0).q, HELD)


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (message([1.0], [[0.1, 0.1]], ["joint1", "elbow"]), "unknown joint 'elbow'"),
        (message([1.0], [[0.1, 0.1]], ["joint1", "joint1"]), "more than once"),
        (message([1.0], [[0.1, 0.1]], []), "expected joint_names"),
        (message([1.0, 2.0], [[0.1, 0.1], [0.1]]), "positions of point 1"),
        (message([1.0], [[]]), "positions of point 0"),
        (message([1.0], [[0.1, 0.1]], velocities=[[0.0]]), "velocities of point 0"),
        (message([1.0], [[0.1, NAN]]), "nan for joint 'joint2'"),
        (message([1.0], [[0.1, INF]]), "inf for joint 'joint2'"),
        (message([1.0], [[0.1, 0.1]], accelerations=[[0.0, NAN]]), "accelerations of point 0"),
        (message([1.0], [[0.1, 0.1]], velocities=[[0.0, 1.0]]), "last point at rest"),
        (message([1.0], [[0.1, 0.1]], effort=[[0.0, 1.0]]), "effort of point 0"),
        (message([2.0, 1.0], [[0.1, 0.1], [0.2, 0.2]]), "increasing times"),
        (message([-1.0], [[0.1, 0.1]]), "times from 0 on"),
        (message([0.0, 1.0], [[3.0, 0.1], [3.1, 0.1]]), "give it a time"),
    ],
)
def test_bad_messages_are_refused_with_what_and_where(bad, words):
    with pytest.raises(InputError, match=words):
        plan(bad, JOINTS, MODEL, NOW)


@pytest.mark.parametrize("count", [0, 1, 7])
@pytest.mark.parametrize("names", [[], ["a"], ["joint1", "a long name of a joint", ""]])
def test_points_are_counted_in_the_serialized_message(count, names):
    trajectory = message(range(count), [[0.0] * len(names)] * count, names)
    trajectory.header.frame_id = "base"
    data = bytes(serialize_message(trajectory))
    assert serialized_points(data) == count
    assert serialized_points(data[:20]) == 0


def test_too_many_points_are_refused_with_their_number():
    with pytest.raises(InputError, match="at most 5000 points, received 5001; send it in parts"):
        read_points(message(np.arange(1, 5002), [[0.1, 0.2]] * 5001), JOINTS, HELD)


def test_points_are_released():
    trajectory = message(range(200), [[0.0, 0.0]] * 200)
    release_points(trajectory)
    assert not trajectory.points


def test_a_normalized_start_of_a_continuous_joint_is_no_jump():
    turned = TrajectoryStart(7.0, 7.0, JointReference(np.array([3.3, -0.2]), np.zeros(2), np.zeros(2)))
    trajectory = plan(message([0.0, 1.5], [[3.3 - 2 * np.pi, -0.2], [-2.5, -0.2]]), JOINTS, MODEL, turned)
    lowest, highest, _ = trajectory.extremes()
    np.testing.assert_allclose([lowest[0], highest[0]], [3.3, 2 * np.pi - 2.5], atol=1e-9)
