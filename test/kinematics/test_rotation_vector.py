# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Motion of rotation vectors against differences of SciPy's rotations, over series and closed forms."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from robodyn_ros.compile import compile_function
from robodyn_ros.kinematics.rotation_vector import (
    left_jacobian,
    quaternion_from_rotation_vector,
    rotation_motion,
    rotation_vector,
    rotation_vector_from_quaternion,
)

ANGLES = (1e-6, 0.05, 0.0999, 0.1001, 0.5, 2.0, 3.1)


def vectors(angle, seed=0):
    phi, rate, second_rate = np.random.default_rng(seed).normal(size=(3, 3))
    return angle * phi / np.linalg.norm(phi), rate, second_rate


@pytest.mark.parametrize("angle", ANGLES)
def test_it_is_the_motion_of_the_rotation(angle):
    phi, rate, second_rate = vectors(angle)
    motion, h = rotation_motion(phi, rate, second_rate), 1e-4

    def later(t):
        return rotation_motion(phi + t * rate + 0.5 * t**2 * second_rate, rate + t * second_rate, second_rate)

    np.testing.assert_allclose(motion.quaternion, Rotation.from_rotvec(phi).as_quat(), atol=1e-14)
    turn = Rotation.from_quat(later(h).quaternion) * Rotation.from_quat(later(-h).quaternion).inv()
    np.testing.assert_allclose(motion.velocity, turn.as_rotvec() / (2 * h), atol=1e-7)
    np.testing.assert_allclose(motion.acceleration, (later(h).velocity - later(-h).velocity) / (2 * h), atol=1e-7)
    np.testing.assert_allclose(left_jacobian(phi) @ rate, motion.velocity, atol=1e-14)


@pytest.mark.parametrize("angle", [0.0, 1e-200, 1e-9, *ANGLES, np.pi - 1e-9])
def test_vectors_and_quaternions_are_scipys(angle):
    phi = vectors(angle)[0]
    quaternion = Rotation.from_rotvec(phi).as_quat()
    np.testing.assert_allclose(quaternion_from_rotation_vector(phi), quaternion, rtol=1e-14, atol=1e-15)
    for sign in (1.0, -1.0):
        np.testing.assert_allclose(rotation_vector_from_quaternion(sign * quaternion), phi, rtol=1e-14, atol=1e-15)
    matrix = Rotation.from_rotvec(phi).as_matrix()
    np.testing.assert_allclose(rotation_vector(matrix), phi, rtol=1e-12, atol=1e-15)


def test_series_and_closed_forms_meet():
    below, above = (np.concatenate(rotation_motion(*vectors(angle))) for angle in (0.1 - 1e-9, 0.1 + 1e-9))
    np.testing.assert_allclose(below, above, atol=1e-8)


@pytest.mark.parametrize("angle", ANGLES)
def test_compiled_is_the_formula(angle):
    kernel = compile_function(lambda x: np.concatenate(rotation_motion(*x)), {"x": (3, 3)}, name="rotation_motion")
    arguments = np.stack(vectors(angle))
    np.testing.assert_allclose(kernel(arguments), np.concatenate(rotation_motion(*arguments)), rtol=1e-12, atol=1e-12)
