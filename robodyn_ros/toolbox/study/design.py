# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Designs: points of the unit cube, from which the distributions of a study make its samples."""

from __future__ import annotations

import warnings
from enum import StrEnum

import numpy as np
from scipy.stats import qmc

from robodyn_ros.description.model import Array


class Design(StrEnum):
    """How the points are chosen."""

    SOBOL = "sobol"
    """Scrambled Sobol sequence: the first k points of it are spread evenly, too."""

    LATIN_HYPERCUBE = "latin_hypercube"
    """Each of N equal parts of each axis has one point."""

    RANDOM = "random"
    """Independent points."""

    def points(self, count: int, axes: int, seed: int) -> Array:
        """Return points of the unit cube, the same for the same arguments.

        Args:
            count: Number of points N.
            axes: Number of axes d, perhaps none.
            seed: Seed of the scrambling or of the random numbers.

        Returns:
            Shape (N, d), each number above 0 and below 1.
        """
        if axes == 0:
            return np.zeros((count, 0))
        rng = np.random.default_rng(seed)
        if self is Design.RANDOM:
            points = rng.random((count, axes))
        elif self is Design.LATIN_HYPERCUBE:
            points = qmc.LatinHypercube(axes, rng=rng).random(count)
        else:
            with warnings.catch_warnings():  # other numbers than powers of two are spread a little less evenly
                warnings.simplefilter("ignore", UserWarning)
                points = qmc.Sobol(axes, rng=rng).random(count)
        tiny = np.finfo(float).eps
        return np.clip(points, tiny, 1.0 - tiny)
