# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The nearest inertia that a body can have: possible, no other is nearer, and possible ones stay."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from robodyn_ros.description.completion.nearest_inertia import is_possible, nearest_possible
from robodyn_ros.dynamics.pseudo_inertia import pseudo_inertia


def rotated(moments, seed=0):
    axes = np.linalg.qr(np.random.default_rng(seed).normal(size=(3, 3)))[0]
    return axes @ np.diag(moments) @ axes.T


def definite(rotational):
    """Whether the pseudo-inertia of 2 kg with this inertia is positive definite."""
    xx, xy, xz, yy, yz, zz = rotational[np.triu_indices(3)]
    return np.linalg.eigvalsh(pseudo_inertia([2.0, 0, 0, 0, xx, xy, xz, yy, yz, zz]))[0] > 0.0


@pytest.mark.parametrize("moments", [(1, 2, 4), (-0.1, 2, 2), (1, 1, 9), (0, 0, 1), (-1, -1, 3)])
def test_impossible_inertias_become_the_nearest_possible_ones(moments):
    given = rotated(moments)
    assert not is_possible(given) and not definite(given)
    nearest, moved = nearest_possible(given)
    assert is_possible(nearest) and definite(nearest)
    assert moved == pytest.approx(np.linalg.norm(nearest - given) / np.linalg.norm(given))

    def second(rotational):
        return 0.5 * np.trace(rotational) * np.eye(3) - rotational

    distance = np.linalg.norm(second(nearest) - second(given))
    size = np.linalg.norm(second(given))
    for seed in range(200):  # no possible body is nearer, but for the thickness
        rng = np.random.default_rng(seed)
        other = second(nearest) + 0.3 * size * rng.normal() * rotated(rng.normal(size=3), seed)
        if np.linalg.eigvalsh(other)[0] >= 0.0:
            assert np.linalg.norm(other - second(given)) > distance - 3e-3 * size


def test_the_moments_of_the_nearest_one():
    nearest, moved = nearest_possible(np.diag([1.0, 2.0, 4.0]))  # S = (2.5, 1.5, -0.5): the last becomes 0.004
    assert_allclose(np.diag(nearest), [1.504, 2.504, 4.0])
    assert moved == pytest.approx(0.504 * np.sqrt(2) / np.sqrt(21))


@pytest.mark.parametrize("moments", [(1, 2, 2.5), (1, 1, 2), (1, 1, 2 * (1 + 2e-7)), (0, 1, 1)])
def test_possible_ones_are_told_apart(moments):
    assert is_possible(rotated(moments))
