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
from robodyn_ros.dynamics.tree_system import TreeSystem

RNG = np.random.default_rng(0)


def matrices_and_factors(parents, samples):
    """L^T D L with L_ij = w_i^T s_j wherever joint j carries joint i."""
    size = len(parents)
    factors = RNG.normal(size=(samples, size, 13)) / np.sqrt(6 * size)
    factors[..., 12] = RNG.uniform(0.5, 2.0, (samples, size))
    lower = np.tile(np.eye(size), (samples, 1, 1))
    for joint, carrier in enumerate(parents):
        while carrier >= 0:
            lower[:, joint, carrier] = (factors[:, joint, 6:12] * factors[:, carrier, :6]).sum(axis=1)
            carrier = parents[carrier]
    return lower.transpose(0, 2, 1) @ (lower / factors[:, :, 12:]), factors


def root(parents, joint):
    return joint if parents[joint] < 0 else root(parents, parents[joint])


def check(parents, samples=3, count=2):
    matrices, factors = matrices_and_factors(parents, samples)
    roots = np.array([root(parents, joint) for joint in range(len(parents))])
    right = RNG.normal(size=(samples, count, len(parents), len(parents))) * (roots[:, None] == roots)
    scales = RNG.normal(size=count)
    expected, given = scales[:, None, None] * np.linalg.solve(matrices[:, None], right), factors.copy()
    system, bound, first = TreeSystem(parents, scales), 1e-12 * np.abs(expected).max(), right[0].copy()
    one = system.solution(factors[0], right[0])
    np.testing.assert_array_equal(right[0], first)
    system.solve(factors, right)
    np.testing.assert_allclose(right, expected, rtol=0, atol=bound)
    np.testing.assert_array_equal(factors, given)
    np.testing.assert_array_equal(one, right[0])


@pytest.mark.parametrize("size", [1, 2, 7, 8, 31, 32, 33, 70])
def test_chains(size):
    check(list(range(-1, size - 1)))


@pytest.mark.parametrize("tail", [0, 27, 91])
def test_branches(tail):
    check([-1, 0, 1, 1, 3, 0, 5, 6, 6, *range(8, 8 + tail)])


def test_several_joints_on_the_base():
    check([-1, -1, 1, -1, 3, 3])
    check([-1, -1, *range(1, 39), -1, 40])


def test_trees_whose_joints_have_mixed_numbers():
    check([-1, -1, 0, 1, -1, 2, 3, 4, 5])


def test_parents_after_their_children():
    check([3, 0, 3, -1, 2, 2, 1])


def test_rows_before_and_after_the_system_stay_as_they_are():
    _, factors = matrices_and_factors([-1, 0, 0], 1)
    memory = np.full((4, 3, 3), 7.0)
    TreeSystem([-1, 0, 0], (1.0, 1.0)).solve(factors, memory[None, 1:3])
    assert np.all(memory[[0, 3]] == 7.0)
    assert not np.any(memory[1:3] == 7.0)


def test_other_shapes_are_refused():
    with pytest.raises(InputError, match=r"expected shapes .*\(1, 1, 2, 2\).*received .*\(1, 1, 2, 3\)"):
        TreeSystem([-1, 0], (1.0,)).solve(np.empty((1, 2, 13)), np.empty((1, 1, 2, 3)))
    with pytest.raises(InputError, match=r"received \(\(1, 2, 12\)"):
        TreeSystem([-1, 0], (1.0,)).solve(np.empty((1, 2, 12)), np.empty((1, 1, 2, 2)))
    with pytest.raises(InputError, match=r"received .*\(1, 2, 2, 2\)"):
        TreeSystem([-1, 0], (1.0,)).solution(np.empty((2, 13)), np.empty((2, 2, 2)))


def test_one_system_may_be_given_in_any_layout():
    _, factors = matrices_and_factors([-1, 0, 1], 1)
    right, system = RNG.normal(size=(1, 3, 3)), TreeSystem([-1, 0, 1], (1.0,))
    copied = system.solution(factors[0], np.ascontiguousarray(right.transpose(0, 2, 1)))
    np.testing.assert_array_equal(system.solution(factors[0], right.transpose(0, 2, 1)), copied)


@pytest.mark.parametrize("parents", [[1, 0], [-1, 5], [0]])
def test_parents_that_are_no_tree_are_refused(parents):
    with pytest.raises(InputError, match="parents of a tree"):
        TreeSystem(parents, (1.0,))


def test_no_samples():
    TreeSystem([-1, 0], (1.0,) * 3).solve(np.empty((0, 2, 13)), np.empty((0, 3, 2, 2)))
