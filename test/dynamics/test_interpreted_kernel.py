# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

import numpy as np
import pytest

from robodyn_ros.base.errors import InputError
from robodyn_ros.dynamics.interpreted_kernel import InterpretedKernel


@pytest.fixture
def kernel():
    return InterpretedKernel(lambda q, v: np.outer(q, v), {"q": (3,), "v": (2,)}, "product")


def test_single_and_batch(kernel):
    q, v = np.random.default_rng(1).normal(size=(5, 3)), np.random.default_rng(2).normal(size=(5, 2))
    np.testing.assert_array_equal(kernel(q[0], v[0]), np.outer(q[0], v[0]))
    np.testing.assert_array_equal(kernel.batch(q, v), np.einsum("ni,nj->nij", q, v))
    assert kernel.batch(q[:0], v[:0]).shape == (0, 3, 2)


def test_lists_and_integers_are_numbers(kernel):
    np.testing.assert_array_equal(kernel([1, 2, 3], (0, 1)), [[0, 1], [0, 2], [0, 3]])


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ((np.zeros(3),), r"product.*2 arrays \(q, v\), received 1"),
        ((np.zeros(4), np.zeros(2)), r"product: q: expected shape \(3,\), received \(4,\)"),
        ((np.zeros(3), np.zeros((2, 1))), r"product: v: expected shape \(2,\), received \(2, 1\)"),
        ((np.zeros(3), "ab"), "product: v: expected real numbers, received str"),
    ],
)
def test_bad_arguments_are_named(kernel, arrays, message):
    with pytest.raises(InputError, match=message):
        kernel(*arrays)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ((np.zeros((5, 4)), np.zeros((5, 2))), r"product: q: expected shape \(N, 3\), received \(5, 4\)"),
        ((np.zeros(3), np.zeros(2)), r"product: q: expected shape \(N, 3\), received \(3,\)"),
        ((np.zeros((5, 3)), np.zeros((4, 2))), r"product: expected as many samples.*5 in q, 4 in v"),
    ],
)
def test_bad_batches_are_named(kernel, arrays, message):
    with pytest.raises(InputError, match=message):
        kernel.batch(*arrays)
