# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

import numpy as np
import pytest

from robodyn_ros.dynamics.pseudo_inertia import pseudo_inertia
from robodyn_ros.toolbox.identification.consistent_fit import PRIOR_DEVIATION, LinearFit, Prior, consistent_solution

BALL = np.array([2.0, 0.2, 0.0, 0.0, 0.1, 0.0, 0.0, 0.1, 0.0, 0.1])


def test_compressed_rows_have_the_same_solution_and_deviations():
    random = np.random.default_rng(0)
    matrix, target = random.normal(size=(200, 5)), random.normal(size=200)
    fit = LinearFit.from_rows(matrix, target)
    assert fit.matrix.shape == (5, 5)
    np.testing.assert_allclose(fit.solution(), np.linalg.lstsq(matrix, target, rcond=None)[0])
    np.testing.assert_allclose(fit.deviations(), np.sqrt(np.diagonal(np.linalg.inv(matrix.T @ matrix))))


def test_columns_that_tell_nothing_have_infinite_deviations():
    matrix = np.diag([2.0, 0.0, 4.0])
    np.testing.assert_allclose(LinearFit(matrix, np.ones(3)).deviations(), [0.5, np.inf, 0.25])


def test_exact_measurements_are_followed_and_the_rest_stays():
    """The first moment along x and the friction are measured; the mass, which is not, follows the description."""
    prior = Prior(BALL, np.array([0.5]), np.array([10.0]))
    matrix = np.zeros((2, 11))
    matrix[0, 1], matrix[1, 10] = 1e4, 1e4
    found = consistent_solution(LinearFit(matrix, np.array([0.21e4, 0.7e4])), prior)
    np.testing.assert_allclose(found[[1, 10]], [0.21, 0.7], rtol=1e-4)
    np.testing.assert_allclose(found[0], 2.0, rtol=0.1)
    np.testing.assert_allclose(found[2:4], 0.0, atol=1e-6)


def test_an_impossible_measurement_gives_the_nearest_possible_body():
    prior = Prior(BALL, np.array([0.5]), np.array([10.0]))
    matrix = np.zeros((2, 11))
    matrix[0, 4], matrix[1, 10] = 1e2, 1e2
    found = consistent_solution(LinearFit(matrix, np.array([-0.1e2, -0.2e2])), prior)
    assert np.linalg.eigvalsh(pseudo_inertia(found[:10])).min() > 0.0
    assert 0.0 < found[4] < 0.03 and 0.0 < found[10] < 0.01


def test_known_values_and_links_without_mass_do_not_change():
    prior = Prior(np.concatenate([BALL, np.zeros(10)]), np.array([0.5, 0.3]), np.array([10.0, 0.0]))
    found = consistent_solution(LinearFit(100.0 * np.eye(22), 100.0 * np.ones(22)), prior)
    np.testing.assert_array_equal(found[10:20], 0.0)
    assert found[21] == 0.3 and found[20] == pytest.approx(1.0, rel=1e-3)
    covariance = prior.covariance()
    assert not covariance[10:20].any() and covariance[20, 20] == pytest.approx(100.0)


def test_the_mass_is_expected_within_its_deviation():
    prior = Prior(BALL, np.zeros(0), np.zeros(0))
    scale = BALL / np.linalg.norm(BALL)
    covariance = prior.covariance()
    share = np.sqrt(1.0 / (scale @ np.linalg.inv(covariance) @ scale)) / np.linalg.norm(BALL)
    assert share == pytest.approx(PRIOR_DEVIATION / 2.0)


def test_values_with_a_sign_may_become_negative():
    prior = Prior(BALL, np.array([0.5, 0.0]), np.array([10.0, 10.0]), np.array([False, True]))
    matrix = np.zeros((2, 12))
    matrix[0, 10], matrix[1, 11] = 1e4, 1e4
    found = consistent_solution(LinearFit(matrix, np.array([0.7e4, -0.3e4])), prior)
    np.testing.assert_allclose(found[10:], [0.7, -0.3], rtol=1e-4)
