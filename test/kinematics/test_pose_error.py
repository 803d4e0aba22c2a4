# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from robodyn_ros.description.resources import robot_file
from robodyn_ros.description.urdf import load_urdf
from robodyn_ros.kinematics.forward import forward_kinematics
from robodyn_ros.kinematics.jacobian import twist_jacobian
from robodyn_ros.kinematics.newton_search import pose_error, pose_error_jacobian
from robodyn_ros.textbook.homogeneous import homogeneous


@settings(deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 1e-9, 1e-4, 1.0, 3.0, np.pi - 1e-7, np.pi]))
def test_it_takes_the_hand_to_the_target(seed, angle):
    rng = np.random.default_rng(seed)
    hand = Rotation.random(rng=rng)
    axis = rng.normal(size=3)
    turn = Rotation.from_rotvec(angle * axis / np.linalg.norm(axis))
    pose, target = (homogeneous(r.as_matrix(), rng.normal(size=3)) for r in (hand, hand * turn))
    error = pose_error(pose, target)
    np.testing.assert_allclose(pose[:3, 3] + error[:3], target[:3, 3], atol=1e-15)
    reached = hand.as_matrix() @ Rotation.from_rotvec(error[3:]).as_matrix()
    np.testing.assert_allclose(reached, target[:3, :3], atol=1e-9)
    assert np.linalg.norm(error[3:]) == pytest.approx(angle, abs=1e-9)


@pytest.mark.parametrize("angle", [0.0, 1e-5, 5e-4, 0.5, 2.0, 3.1])
def test_jacobian_is_the_rate_at_which_the_error_falls(angle):
    model = load_urdf(robot_file("arm6"))
    rng = np.random.default_rng(1)
    q, axis = np.linspace(0.3, 0.9, 6), np.array([2.0, -1.0, 2.0]) / 3.0
    pose = forward_kinematics(model, q)
    target = homogeneous(pose[:3, :3] @ Rotation.from_rotvec(angle * axis).as_matrix(), rng.normal(size=3))
    error = pose_error(pose, target)
    jacobian = pose_error_jacobian(np.roll(twist_jacobian(model, q), 3, axis=0), pose, error[3:])
    h = 1e-6
    columns = [
        (pose_error(forward_kinematics(model, q - d), target) - pose_error(forward_kinematics(model, q + d), target))
        / (2 * h)
        for d in h * np.eye(6)
    ]
    np.testing.assert_allclose(jacobian, np.transpose(columns), atol=1e-7)
