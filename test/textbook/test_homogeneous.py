# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

import numpy as np
import pytest
from scipy.spatial.transform import RigidTransform, Rotation

from robodyn_ros.base.errors import InputError
from robodyn_ros.textbook.homogeneous import (
    homogeneous,
    homogeneous_inverse,
    rotation_transform,
    transform_point,
    translation_transform,
)
from robodyn_ros.textbook.rotations import rotation_x


@pytest.fixture
def rng():
    return np.random.default_rng(1)


def random_pose(rng):
    return homogeneous(Rotation.random(rng=rng).as_matrix(), rng.normal(size=3))


def test_inverse_is_the_inverse_matrix_and_scipys(rng):
    pose = random_pose(rng)
    np.testing.assert_allclose(homogeneous_inverse(pose), np.linalg.inv(pose), atol=1e-14)
    np.testing.assert_allclose(
        homogeneous_inverse(pose), RigidTransform.from_matrix(pose).inv().as_matrix(), atol=1e-14
    )


def test_points_follow_chained_poses(rng):  # (1.11) to (1.13)
    pose_a_b, pose_b_c, point_c = random_pose(rng), random_pose(rng), rng.normal(size=3)
    point_a = transform_point(pose_a_b, transform_point(pose_b_c, point_c))
    np.testing.assert_allclose(transform_point(pose_a_b @ pose_b_c, point_c), point_a, atol=1e-14)
    np.testing.assert_allclose((pose_a_b @ pose_b_c @ np.append(point_c, 1.0))[:3], point_a, atol=1e-14)
    np.testing.assert_allclose(
        transform_point(homogeneous_inverse(pose_a_b), point_a), transform_point(pose_b_c, point_c)
    )


def test_any_pose_is_translation_then_rotation_and_not_the_other_order(rng):  # below (1.16)
    axis, angle, p = np.array([0.6, 0.0, 0.8]), 0.7, rng.normal(size=3)
    translation, rotation = translation_transform(*p), rotation_transform(axis, angle)
    np.testing.assert_allclose(translation @ rotation, homogeneous(rotation[:3, :3], p), atol=1e-15)
    assert np.abs(rotation @ translation - translation @ rotation).max() > 0.1


def test_rotation_transform_about_named_axes():
    np.testing.assert_array_equal(rotation_transform("x", 0.3)[:3, :3], rotation_x(0.3))
    for name, axis in (("x", [1, 0, 0]), ("y", [0, 1, 0]), ("z", [0, 0, 1])):
        np.testing.assert_allclose(rotation_transform(name, 0.3), rotation_transform(axis, 0.3), atol=1e-16)


def test_bad_arguments_say_what_was_expected():
    with pytest.raises(InputError, match="axis: expected 'x', 'y', 'z' or a unit vector, received 'w'"):
        rotation_transform("w", 0.3)
    with pytest.raises(InputError, match=r"pose: expected an array of shape \(4, 4\), received shape \(3, 3\)"):
        homogeneous_inverse(np.eye(3))
    with pytest.raises(InputError, match=r"point: expected an array of shape \(3,\), received shape \(4,\)"):
        transform_point(np.eye(4), [0, 0, 0, 1])
