# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robodyn_ros.base.errors import InputError
from robodyn_ros.textbook.vector_products import (
    scalar_triple_product,
    triple_product_matrix,
    vector_product,
    vector_triple_product,
)


@given(st.integers(0, 2**32 - 1))
def test_length_direction_and_order_of_the_vector_product(seed):  # (A.1)-(A.3)
    a, b = np.random.default_rng(seed).normal(size=(2, 3))
    product = vector_product(a, b)
    cosine = a @ b / (np.linalg.norm(a) * np.linalg.norm(b))
    length = np.linalg.norm(a) * np.linalg.norm(b) * np.sqrt(1.0 - cosine**2)
    np.testing.assert_allclose(np.linalg.norm(product), length, rtol=1e-7)
    np.testing.assert_allclose([product @ a, product @ b], 0.0, atol=1e-12)
    assert np.linalg.det([a, b, product]) > 0.0  # right-handed
    np.testing.assert_allclose(product, -vector_product(b, a))
    np.testing.assert_allclose(product, np.cross(a, b), atol=1e-14)


@given(st.integers(0, 2**32 - 1))
def test_products_of_three_vectors(seed):  # (A.4)-(A.10)
    a, b, c = np.random.default_rng(seed).normal(size=(3, 3))
    volume = np.linalg.det([a, b, c])
    for vectors in ((a, b, c), (b, c, a), (c, a, b)):
        np.testing.assert_allclose(scalar_triple_product(*vectors), volume, atol=1e-12)
    expected = np.cross(a, np.cross(b, c))
    np.testing.assert_allclose(vector_triple_product(a, b, c), expected, atol=1e-12)
    np.testing.assert_allclose(triple_product_matrix(a, c) @ b, expected, atol=1e-12)


def test_wrong_shapes_are_named():
    with pytest.raises(InputError, match=r"c: expected an array of shape \(3,\)"):
        vector_triple_product(np.zeros(3), np.zeros(3), np.zeros(2))
