# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Trajectories against the limits of joints."""

import numpy as np
import pytest

from robodyn_ros import InputError, Robot
from robodyn_ros.control import JointReference
from robodyn_ros.control.references.joint_trajectory import JointTrajectory, Points
from robodyn_ros.control.references.trajectory_limits import (
    check_positions,
    excessive_speeds,
    within_speed_limits,
)
from robodyn_ros.description.resources import robot_file

MODEL = Robot.from_urdf(robot_file("scara")).model
REST = np.zeros(MODEL.n)
SLIDER = MODEL.joint_names.index("joint3")
TOP = float(MODEL.position_upper[SLIDER])


def slide(times, positions, start=0.1, velocity=0.0, v=None):
    """A trajectory of the sliding joint, the others at rest."""
    q = np.zeros((len(times), MODEL.n))
    q[:, SLIDER] = positions
    begin = JointReference(REST.copy(), REST.copy(), REST)
    begin.q[SLIDER], begin.v[SLIDER] = start, velocity
    rates = None
    if v is not None:
        rates = np.zeros_like(q)
        rates[:, SLIDER] = v
    points = Points.from_arrays(times, q, rates)
    trajectory = JointTrajectory(begin, 0.0, points)
    check_positions(MODEL, points, trajectory, begin)
    return trajectory


def test_motions_up_to_the_limits_are_accepted():
    slide([1.0, 2.0, 3.0], [TOP, 0.0, TOP])


def test_a_point_beyond_a_limit_is_refused_with_joint_value_and_limit():
    with pytest.raises(InputError, match=rf"point 1, joint 'joint3'.*{TOP + 0.1:g}.*limits, 0 to {TOP:g}"):
        slide([1.0, 2.0], [0.1, TOP + 0.1])


def test_swinging_beyond_a_limit_between_points_is_refused():
    with pytest.raises(InputError, match="between its points, joint 'joint3'"):
        slide([1.0, 2.0], [TOP, TOP], v=[2.0, 0.0])
    with pytest.raises(InputError, match="between its points, joint 'joint3'"):
        slide([1.0], [0.0], start=0.01, velocity=-1.0)


def test_a_joint_beyond_a_limit_may_come_back():
    slide([1.0], [TOP - 0.05], start=TOP + 0.02)
    with pytest.raises(InputError):
        slide([1.0], [TOP + 0.05], start=TOP + 0.02)


def test_speeds_beyond_the_limit_are_named():
    assert excessive_speeds(MODEL, slide([5.0], [TOP])) == []
    (text,) = excessive_speeds(MODEL, slide([0.1], [TOP]))
    assert "'joint3'" in text and f"its limit is {MODEL.velocity_limit[SLIDER]:.4g}" in text


def points(times, positions):
    q = np.zeros((len(times), MODEL.n))
    q[:, SLIDER] = positions
    return Points.from_arrays(times, q)


def test_a_motion_that_is_too_fast_takes_the_least_time_that_is_not():
    begin, limit = JointReference(REST, REST, REST), MODEL.velocity_limit[SLIDER]
    motion, factor = within_speed_limits(MODEL, points([0.1, 0.3], [TOP, 0.0]), begin, 2.0, 2.0)
    assert excessive_speeds(MODEL, motion) == []
    assert motion.extremes()[2][SLIDER] > 0.95 * limit and motion.end_time == pytest.approx(2.0 + 0.3 * factor)
    given = points([5.0], [TOP])
    motion, factor = within_speed_limits(MODEL, given, begin, 0.0, 0.0)
    assert factor == 1.0
    np.testing.assert_array_equal(motion.sample(2.0), JointTrajectory(begin, 0.0, given).sample(2.0))


def test_no_time_is_long_enough_for_a_joint_that_is_too_fast_at_the_start():
    v = REST.copy()
    v[SLIDER] = 2.0 * MODEL.velocity_limit[SLIDER]
    with pytest.raises(InputError, match="'joint3'.*however long the motion takes; begin at rest"):
        within_speed_limits(MODEL, points([1.0], [TOP]), JointReference(REST, v, REST), 0.0, 0.0)
