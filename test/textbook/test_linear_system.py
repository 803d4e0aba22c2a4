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
from robodyn_ros.compile import compile_function
from robodyn_ros.textbook.linear_system import solve_symmetric


@given(st.integers(1, 8), st.integers(0, 2**32 - 1))
def test_it_solves_what_lapack_solves(size, seed):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(size, size))
    matrix, right = root @ root.T + np.eye(size), rng.normal(size=(size, 3))
    expected = np.linalg.solve(matrix, right)
    np.testing.assert_allclose(solve_symmetric(matrix, right), expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(solve_symmetric(matrix, right[:, 0]), expected[:, 0], rtol=1e-9, atol=1e-9)
    kernel = compile_function(solve_symmetric, {"matrix": (size, size), "right": (size,)})
    np.testing.assert_allclose(kernel(matrix, right[:, 0]), expected[:, 0], rtol=1e-9, atol=1e-9)


def test_arguments_stay_as_they_are_and_a_joint_without_inertia_is_named():
    matrix, right = np.array([[2.0, 1.0], [1.0, 3.0]]), np.array([1.0, 2.0])
    copies = matrix.copy(), right.copy()
    solve_symmetric(matrix, right)
    np.testing.assert_array_equal(matrix, copies[0])
    np.testing.assert_array_equal(right, copies[1])
    with pytest.raises(InputError, match="joint 1, counted from 0, moves no inertia"):
        solve_symmetric(np.diag([1.0, 0.0]), right)
