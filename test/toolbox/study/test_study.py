# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Designs: spread, and the same points for the same seed."""

import numpy as np
import pytest

from robodyn_ros.toolbox.study.study import Design


@pytest.mark.parametrize("design", list(Design))
def test_points_are_within_the_cube_and_repeat(design):
    points = design.points(100, 3, 5)
    assert points.shape == (100, 3)
    assert (points > 0.0).all() and (points < 1.0).all()
    np.testing.assert_array_equal(points, design.points(100, 3, 5))
    assert not np.array_equal(points, design.points(100, 3, 6))
    assert design.points(7, 0, 0).shape == (7, 0)


def test_spread_points_give_better_means_than_random_ones():
    errors = {design: max(abs(np.prod(1.0 + design.points(256, 4, seed), axis=1).mean() - 1.5**4) for seed in range(8))
              for design in Design}
    assert errors[Design.SOBOL] < errors[Design.LATIN_HYPERCUBE] < errors[Design.RANDOM]


def test_each_part_of_a_latin_hypercube_has_one_point():
    points = Design.LATIN_HYPERCUBE.points(50, 2, 1)
    for axis in points.T:
        assert sorted((axis * 50).astype(int)) == list(range(50))
