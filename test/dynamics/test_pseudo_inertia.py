# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

import numpy as np
import pytest

from robodyn_ros import Robot
from robodyn_ros.description.resources import robot_file
from robodyn_ros.dynamics.pseudo_inertia import PriorLink, definite_pseudo_inertia, link_parameters, pseudo_inertia
from robodyn_ros.dynamics.regressor import inertial_parameters


def points_of_mass(count=20, seed=0):
    """Parameters of mass points, and their pseudo-inertia as the sum of m (r, 1) (r, 1)^T."""
    random = np.random.default_rng(seed)
    masses, places = random.uniform(0.1, 1.0, count), random.normal(size=(count, 3))
    raised = np.column_stack([places, np.ones(count)])
    rotational = sum(mass * (place @ place * np.eye(3) - np.outer(place, place))
                     for mass, place in zip(masses, places, strict=True))
    parameters = [masses.sum(), *(masses @ places), *rotational[np.triu_indices(3)]]
    return np.array(parameters), (raised.T * masses) @ raised


def test_it_is_the_second_moment_of_mass_points():
    parameters, matrix = points_of_mass()
    np.testing.assert_allclose(pseudo_inertia(parameters), matrix, atol=1e-12)
    np.testing.assert_allclose(link_parameters(matrix), parameters, atol=1e-12)


@pytest.mark.parametrize("name", ["arm6", "arm7", "planar_2r", "scara"])
def test_links_of_shipped_robots_become_definite(name):
    for row in inertial_parameters(Robot.from_urdf(robot_file(name)).model).reshape(-1, 10):
        matrix = definite_pseudo_inertia(row)
        assert np.linalg.eigvalsh(matrix).min() > 0.0
        np.testing.assert_allclose(matrix[3], pseudo_inertia(row)[3], atol=1e-12)


def test_the_divergence_and_its_derivatives():
    prior, other = points_of_mass()[0], points_of_mass(seed=1)[0]
    link = PriorLink(prior)
    assert link.divergence(link.parameters) == pytest.approx(0.0, abs=1e-9)
    ratio = np.linalg.solve(pseudo_inertia(prior), pseudo_inertia(other))
    assert link.divergence(other) == pytest.approx(np.trace(ratio) - np.linalg.slogdet(ratio)[1] - 4.0)
    slope, curve = link.gradient_and_hessian(other)
    steps = 1e-6 * np.eye(10)
    np.testing.assert_allclose(slope, [(link.divergence(other + step) - link.divergence(other - step)) / 2e-6
                                       for step in steps], rtol=1e-5, atol=1e-5)
    ahead, behind = ([link.gradient_and_hessian(other + sign * step)[0] for step in steps] for sign in (1.0, -1.0))
    np.testing.assert_allclose(curve, np.subtract(ahead, behind) / 2e-6, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(link.gradient_and_hessian(link.parameters)[1], link.curvature, atol=1e-6)


def test_impossible_bodies_are_infinitely_far():
    link = PriorLink(points_of_mass()[0])
    negative = link.parameters.copy()
    negative[0] = -1.0
    assert link.divergence(negative) == np.inf


def test_the_reach_ends_at_the_border():
    link = PriorLink(points_of_mass()[0])
    step = points_of_mass(seed=1)[0] - 3.0 * link.parameters
    reach = link.steps_to_border(link.parameters, step)
    assert link.divergence(link.parameters + 0.999 * reach * step) < np.inf
    assert link.divergence(link.parameters + 1.001 * reach * step) == np.inf
    assert link.steps_to_border(link.parameters, link.parameters) > 1e100
