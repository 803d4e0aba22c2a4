# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Signed distances of surfaces: against points of known distance, their slopes, and convexity."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from robodyn_ros.compile import compile_function
from robodyn_ros.simulation.surfaces import Box, Cylinder, Material, Plane, Sphere

MATERIAL = Material(1e4, 1.0, 0.0)
TURN, ORIGIN = Rotation.from_euler("xyz", [0.4, -0.7, 1.9]).as_matrix(), np.array([0.3, -0.2, 0.5])
COMMON = ("surface", MATERIAL, TURN, ORIGIN)
SURFACES = [Plane(*COMMON), Box(*COMMON, np.array([0.4, 0.6, 0.2])), Sphere(*COMMON, 0.25), Cylinder(*COMMON, 0.2, 0.5)]


def ids(surface):
    return type(surface).__name__


def points(count=400):
    return ORIGIN + np.random.default_rng(0).uniform(-0.6, 0.6, (count, 3))


@pytest.mark.parametrize(("surface", "local", "distance"), [
    (SURFACES[0], [3.0, 4.0, -0.1], -0.1),
    (SURFACES[1], [0.3, 0.0, 0.0], 0.1),  # beyond a face
    (SURFACES[1], [0.23, 0.34, 0.0], 0.05),  # an edge
    (SURFACES[1], [-0.3, -0.5, 0.3], 0.3),  # a corner, (0.1, 0.2, 0.2) away
    (SURFACES[1], [0.1, 0.0, 0.08], -0.02),  # inside
    (SURFACES[2], [0.0, 0.3, 0.4], 0.25),
    (SURFACES[3], [0.3, 0.4, 0.1], 0.3),
    (SURFACES[3], [0.0, 0.23, -0.29], 0.05),  # the rim
    (SURFACES[3], [0.01, 0.0, 0.2], -0.05),
])
def test_distances_of_known_points(surface, local, distance):
    assert surface.distance(TURN @ np.array(local) + ORIGIN)[0] == pytest.approx(distance, abs=1e-12)


@pytest.mark.parametrize("surface", SURFACES, ids=ids)
def test_normals_are_unit_slopes_of_convex_distances(surface):
    samples = points()
    for point, other in zip(samples, samples[::-1], strict=True):
        distance, normal = surface.distance(point)
        assert np.linalg.norm(normal) == pytest.approx(1.0)
        assert surface.distance(other)[0] >= distance + normal @ (other - point) - 1e-12  # convex
        along = surface.distance(point + 1e-7 * normal)[0] - distance
        assert along == pytest.approx(1e-7, rel=1e-3)


@pytest.mark.parametrize("surface", SURFACES, ids=ids)
def test_compiled_distances_are_those_of_the_formula(surface):
    def row(point):
        distance, normal = surface.distance(point)
        return np.array([distance, *normal])

    kernel = compile_function(row, {"point": (3,)}, name="distance")
    for point in [*points(50), ORIGIN]:
        np.testing.assert_allclose(kernel(point), row(point), atol=1e-14)
