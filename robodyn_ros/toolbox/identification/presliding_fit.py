# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Identifies the stiffness of dry friction before a joint slides, from slow motions that reverse.

A joint pushed from rest follows Dahl's curve F (1 - exp(-sigma x / F)) [Armstrong]. Springs that slip then
follow twice that curve after each reversal (Masing's rule [AlBender]): the friction is F phi with

    d phi = (sigma / 2F) (1 - phi sign(dx)) dx

if the joint slid before. For a given sigma / F, the efforts are linear in F, the viscous friction and an offset; a
search finds the ratio.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from robodyn_ros.description.model import Array
from robodyn_ros.toolbox.identification.measured_motion import MeasuredMotion
from robodyn_ros.toolbox.identification.spring_fit import least_squares

MAX_SHARE = 0.2
"""Greatest standard deviation of an identified stiffness, relative to the stiffness."""

_BLURRED = 0.5  # time after a reversal that the filter of positions blurs [periods of its cutoff frequency]
_CANDIDATES = 60
_STEP = 1e-3  # of log(sigma / 2F), for a derivative


@dataclass(frozen=True, eq=False)
class PreslidingFit:
    """Presliding of the joints; NaN if it is not identified."""

    stiffness: Array  # sigma, shape (n,) [N m/rad or N/m]
    deviation: Array  # its standard deviation, shape (n,)
    level: Array  # level F of the dry friction, shape (n,) [N m or N]
    reasons: tuple[str, ...]  # why a joint is not identified; empty if it is; length n

    @property
    def identified(self) -> NDArray[np.bool_]:
        """Which joints are identified, shape (n,)."""
        return np.isfinite(self.stiffness)


def branches(position: Array, rate: float) -> Array:
    """Return phi along a sequence of positions, from 0 at the first, shape (K,).

    Args:
        position: The positions, shape (K,) [rad or m].
        rate: sigma / 2F [1/rad or 1/m].
    """
    phi, values = 0.0, np.zeros(len(position))
    for k, step in enumerate(np.diff(position), 1):
        end = np.sign(step)
        phi = end + (phi - end) * np.exp(-rate * abs(step))
        values[k] = phi
    return values


def fit_presliding(names: Sequence[str], motion: MeasuredMotion, without_friction: Array, cutoff: float
                   ) -> PreslidingFit:
    """Fit the presliding of each joint.

    Args:
        names: Names of the joints, for the reasons.
        motion: Slow motion with reversals and without gaps.
        without_friction: Efforts of the model without friction, shape (K, n) [N m or N].
        cutoff: Cutoff frequency of the filter of positions [Hz].
    """
    rows, reasons = np.full((3, len(names)), np.nan), []
    for j, name in enumerate(names):
        q, v = motion.q[:, j], np.gradient(motion.q[:, j], motion.time)
        friction = motion.effort[:, j] - without_friction[:, j]
        found, why = _fit(motion.time, q, v, friction, _BLURRED / cutoff)
        rows[:, j] = found
        reasons.append(f"joint '{name}': {why}" if why else "")
    return PreslidingFit(rows[0], rows[1], rows[2], tuple(reasons))


def _fit(time: Array, q: Array, v: Array, friction: Array, blurred: float) -> tuple[Array, str]:
    """Return sigma, its deviation and F of a joint, and a reason if they are not identified; times in [s]."""
    nothing = np.full(3, np.nan)
    turns = np.flatnonzero(np.diff(np.sign(v)) != 0)
    if len(turns) < 2:
        return nothing, "expected a motion that reverses at least twice, received one that does not"

    def columns(logarithm: float) -> Array:
        return np.stack([branches(q, float(np.exp(logarithm))), v, np.ones_like(v)], axis=1)

    def error(logarithm: float) -> float:
        values, _ = least_squares(columns(logarithm), friction)
        return float(((friction - columns(logarithm) @ values) ** 2).sum())

    after = np.minimum(np.searchsorted(time, time[turns] + blurred), len(q) - 1)
    finest = max(float(np.median(np.abs(q[after] - q[turns]))), 1e-12)
    grid = np.linspace(-np.log(np.ptp(q)), -np.log(finest), _CANDIDATES)
    best = int(np.argmin([error(each) for each in grid]))
    around = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
    logarithm = float(minimize_scalar(error, bounds=around, method="bounded").x)
    values, _ = least_squares(columns(logarithm), friction)
    slope = values[0] * (columns(logarithm + _STEP)[:, 0] - columns(logarithm - _STEP)[:, 0]) / (2.0 * _STEP)
    full, deviations = least_squares(np.column_stack([columns(logarithm), slope]), friction)
    stiffness = 2.0 * full[0] * np.exp(logarithm + full[3])
    deviation = abs(stiffness) * float(np.hypot(deviations[0] / full[0], deviations[3]))
    if best >= len(grid) - 2 or not 0.0 < stiffness or deviation > MAX_SHARE * stiffness:
        return nothing, (f"it moves by {finest:.2g} rad or m in the {1e3 * blurred:.3g} ms after a reversal that the "
                         "filter blurs, too much to identify its presliding; move more slowly, or give a higher "
                         "--cutoff")
    return np.array([stiffness, deviation, full[0]]), ""
