"""Trajectories against the limits of joints."""

import numpy as np
import pytest

from robodyn_ros import InputError, Robot
from robodyn_ros.control import JointReference
from robodyn_ros.control.trajectories.joint_trajectory import JointTrajectory, Points
from robodyn_ros.control.trajectories.trajectory_limits import check_positions, excessive_speeds
from robodyn_ros.resources import robot_file

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
