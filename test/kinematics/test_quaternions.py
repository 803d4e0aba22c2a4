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

from robodyn_ros.compile import compile_function
from robodyn_ros.kinematics.quaternions import (
    quaternion_by_largest_element,
    quaternion_conjugate,
    quaternion_product,
)

seeds = st.integers(0, 2**32 - 1)


def up_to_sign(quaternion):
    return quaternion if quaternion[3] >= 0 else -quaternion


@settings(deadline=None)
@given(seeds)
def test_product_is_composition_of_rotations(seed):
    left, right = (Rotation.random(rng=np.random.default_rng(number)) for number in (seed, seed + 1))
    product = quaternion_product(left.as_quat(), right.as_quat())
    np.testing.assert_allclose(up_to_sign(product), (left * right).as_quat(canonical=True), atol=1e-14)
    identity = quaternion_product(left.as_quat(), quaternion_conjugate(left.as_quat()))
    np.testing.assert_allclose(identity, [0, 0, 0, 1], atol=1e-15)
    assert np.linalg.norm(product) == pytest.approx(1.0)  # (C.5)


def test_by_largest_element_is_sound_for_every_rotation():
    rng = np.random.default_rng(5)
    axes = [*np.eye(3), *rng.normal(size=(9, 3))]
    turns = [Rotation.from_rotvec(angle * axis / np.linalg.norm(axis)) for axis in axes
             for angle in (0.0, 1e-8, 0.3, 2.0, 3.1, np.pi)]
    kernel = compile_function(quaternion_by_largest_element, {"rotation": (3, 3)}, name="quaternion")
    for turn in turns:
        found, expected = quaternion_by_largest_element(turn.as_matrix()), turn.as_quat()
        assert found[np.abs(found).argmax()] > 0.0
        np.testing.assert_allclose(found, expected if expected @ found > 0.0 else -expected, atol=1e-14)
        np.testing.assert_allclose(kernel(turn.as_matrix()), found, atol=1e-15)
