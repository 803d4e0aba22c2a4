# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Stribeck's velocity of a joint, in which the friction is not linear, by a search over one number."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize_scalar

from robodyn_ros.description.model import Array

LEAST_SIGNIFICANCE = 5.0
"""Rise of the friction over its standard deviation, below which there is none to be told."""

_GREATEST_SHARE = 0.3  # of the greatest velocity
_CANDIDATES = 25


def stribeck_velocity(columns: Array, v: Array, effort: Array, slowest: float, correlation: float) -> float:
    """v_s of exp(-(v / v_s)^2) sign(v) that explains most of what other columns leave; NaN if it explains too little.

    Args:
        columns: All other columns of the joint's samples, shape (K, p).
        v: Velocities of the joint, shape (K,) [rad/s or m/s].
        effort: Measured efforts, shape (K,) [N m or N].
        slowest: Velocity below which there are no samples [rad/s or m/s].
        correlation: Number of samples that count as one, as errors of neighbours are alike.
    """
    greatest = _GREATEST_SHARE * float(np.abs(v).max(initial=0.0))
    if len(v) <= columns.shape[1] or greatest <= 2.0 * slowest:
        return float("nan")
    basis, triangle = np.linalg.qr(columns / np.maximum(np.linalg.norm(columns, axis=0), 1e-300))
    basis = basis[:, np.abs(np.diagonal(triangle)) > 1e-9]
    unexplained = effort - basis @ (basis.T @ effort)
    total = float(unexplained @ unexplained)

    def explained(logarithms: Array) -> Array:
        """Share of the rest that a rise with each v_s explains; 0 where friction would fall, shape of `logarithms`."""
        rises = np.sign(v) * np.exp(-((v / np.exp(logarithms)[:, None]) ** 2))
        # The rest has no part along the basis, so that of the rise is left out by its squares alone.
        products, squares = rises @ unexplained, (rises**2).sum(axis=1)
        squares = squares - ((rises @ basis) ** 2).sum(axis=1)
        told = (products > 0.0) & (squares > 1e-9 * len(v)) & (total > 0.0)
        return np.where(told, products**2 / np.where(told, squares * total, 1.0), 0.0)

    grid = np.linspace(np.log(slowest), np.log(greatest), _CANDIDATES)
    best = int(np.argmax(explained(grid)))
    around = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
    found = minimize_scalar(lambda each: -explained(np.array([each]))[0], bounds=around, method="bounded")
    share = -float(found.fun)
    significance = np.sqrt(len(v) / correlation * share / max(1.0 - share, 1e-12))
    return float(np.exp(found.x)) if significance > LEAST_SIGNIFICANCE else float("nan")
