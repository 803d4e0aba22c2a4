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
from robodyn_ros.toolbox.identification.error_spectra import ErrorSpectra

MIN_SIGNIFICANCE = 5.0
"""Rise of the friction over its standard deviation, below which it is not identified."""

_MAX_SHARE = 0.3  # of the greatest velocity
_CANDIDATES = 25
_SINGULAR = 1e-9


def stribeck_velocity(columns: Array, instruments: Array, v: Array, effort: Array, slowest: float,
                      spectra: ErrorSpectra) -> float:
    """v_s of exp(-(v / v_s)^2) sign(v) whose rise explains most of what other columns leave; NaN: within its errors.

    The rise is its own instrument, less its part that the other columns have in common with theirs.

    Args:
        columns: All other columns of the joint's samples, 0 where they do not count, shape (K, p).
        instruments: Of these columns, shape (K, p).
        v: Velocities of the joint, 0 where samples do not count, shape (K,) [rad/s or m/s].
        effort: Measured efforts, 0 where samples do not count, shape (K,) [N m or N].
        slowest: Velocity below which there are no samples [rad/s or m/s].
        spectra: Of errors at the times of the samples.
    """
    greatest = _MAX_SHARE * float(np.abs(v).max(initial=0.0))
    felt = np.flatnonzero(np.abs(columns).max(axis=0, initial=0.0) > 0.0)
    if np.count_nonzero(v) <= len(felt) or greatest <= 2.0 * slowest:
        return float("nan")
    w, z = (each[:, felt] / np.linalg.norm(columns[:, felt], axis=0) for each in (columns, instruments))
    inverse = np.linalg.pinv(z.T @ w, rcond=_SINGULAR)
    unexplained = effort - w @ (inverse @ (z.T @ effort))

    def fitted(logarithms: Array) -> tuple[Array, Array, Array, Array]:
        """Rises with each v_s and their own parts, (K, s); these parts' lengths and rises of friction, (s,)."""
        rises = (np.sign(v) * np.exp(-((v / np.exp(logarithms)[:, None]) ** 2))).T
        own = rises - z @ (inverse.T @ (w.T @ rises))
        strength = (own * rises).sum(axis=0)
        found = strength > _SINGULAR * len(v)
        strength = np.where(found, strength, 1.0)
        return rises, own, strength, np.where(found, np.maximum(own.T @ unexplained / strength, 0.0), 0.0)

    def explained(logarithms: Array) -> Array:
        """Squares of the efforts that a rise with each v_s explains, shape of `logarithms`."""
        _, _, strength, rise = fitted(logarithms)
        return rise**2 * strength

    grid = np.linspace(np.log(slowest), np.log(greatest), _CANDIDATES)
    best = int(np.argmax(explained(grid)))
    around = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
    logarithm = np.array([minimize_scalar(lambda each: -explained(np.array([each]))[0], bounds=around,
                                          method="bounded").x])
    rises, own, strength, rise = fitted(logarithm)
    residual = unexplained[:, None] - rise * (rises - w @ (inverse @ (z.T @ rises)))
    deviation = np.sqrt(spectra.variances(own[:, None], residual[None])[0]) / strength
    return float(np.exp(logarithm[0])) if rise[0] > MIN_SIGNIFICANCE * deviation[0] else float("nan")
