# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Duration of a motion from rest to rest."""

import numpy as np
import pytest

from robodyn_ros.control.references.quintic import PEAK_SPEED
from robodyn_ros.control.references.rest_to_rest import (
    ANGULAR_SPEED,
    LEAST_DURATION,
    LINEAR_SPEED,
    SPEED_SHARE,
    rest_to_rest_duration,
)
from robodyn_ros.description.resources import robot_file
from robodyn_ros.description.urdf import load_urdf

MODEL = load_urdf(robot_file("scara"))


def test_the_fastest_joint_reaches_its_allowed_speed_and_no_more():
    start, end = np.zeros(4), np.array([1.0, 0.5, -0.1, 0.2])
    duration = rest_to_rest_duration(MODEL, start, end)
    prismatic = [joint.kind == "prismatic" for joint in MODEL.leaders]
    allowed = np.minimum(SPEED_SHARE * MODEL.velocity_limit, np.where(prismatic, LINEAR_SPEED, ANGULAR_SPEED))
    assert np.max(PEAK_SPEED * np.abs(end - start) / duration / allowed) == pytest.approx(1.0)


def test_no_motion_takes_the_least_duration():
    assert rest_to_rest_duration(MODEL, np.ones(4), np.ones(4)) == LEAST_DURATION


def test_a_continuous_joint_goes_the_short_way():
    model = load_urdf(robot_file("planar_2r"))
    assert rest_to_rest_duration(model, np.zeros(2), np.array([6.0, 0.0])) == pytest.approx(
        rest_to_rest_duration(model, np.zeros(2), np.array([6.0 - 2 * np.pi, 0.0])))
