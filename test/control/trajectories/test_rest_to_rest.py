"""Duration of a motion from rest to rest."""

import numpy as np
import pytest

from robodyn_ros.control.trajectories.quintic import PEAK_SPEED
from robodyn_ros.control.trajectories.rest_to_rest import (
    ANGULAR_SPEED,
    LEAST_DURATION,
    LINEAR_SPEED,
    SPEED_SHARE,
    rest_to_rest_duration,
)
from robodyn_ros.description.urdf import load_urdf
from robodyn_ros.resources import robot_file

MODEL = load_urdf(robot_file("scara"))


def test_the_fastest_joint_reaches_its_allowed_speed_and_no_more():
    start, end = np.zeros(4), np.array([1.0, 0.5, -0.1, 0.2])
    duration = rest_to_rest_duration(MODEL, start, end)
    prismatic = [joint.kind == "prismatic" for joint in MODEL.leaders]
    allowed = np.minimum(SPEED_SHARE * MODEL.velocity_limit, np.where(prismatic, LINEAR_SPEED, ANGULAR_SPEED))
    assert np.max(PEAK_SPEED * np.abs(end - start) / duration / allowed) == pytest.approx(1.0)


def test_no_motion_takes_the_least_duration():
    assert rest_to_rest_duration(MODEL, np.ones(4), np.ones(4)) == LEAST_DURATION
