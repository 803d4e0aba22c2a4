# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Metrics of a sample: errors and efforts as single numbers, and the reason of a failure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robodyn_ros.description.model import Array
from robodyn_ros.simulation.score import Score


class Metric(NamedTuple):
    """A number that is computed for each sample."""

    name: str  # column in results
    unit: str  # unit
    description: str  # meaning, without a full stop


METRICS: dict[str, Metric] = {metric.name: metric for metric in (
    Metric("rms_error", "rad or m", "Root of the mean square of the tracking error over time and its elements"),
    Metric("worst_error", "rad or m", "Largest magnitude of the tracking error"),
    Metric("overshoot", "rad or m", "Largest tracking error against its sign at the start"),
    Metric("rms_effort", "1", "Root of the mean square of the efforts over time and joints, as shares of the limits"),
    Metric("worst_effort", "1", "Largest effort, as a share of its limit"),
    Metric("effort_change", "1", "Root of the mean square change of the efforts per tick, as shares of the limits"),
    Metric("saturated", "1", "Share of the time that a joint is at its effort limit, of the joint with the largest"),
)}
"""The metrics by name; for laws that follow poses, errors are those of translation [m] and rotation [rad] of the
tip."""

DIVERGED = "diverged"
"""Reason of samples with a motion that did not stay finite; their metrics are NaN."""

REFUSED = "gains that the law refuses"
"""Reason of samples with gains that the law refuses for this robot and period; their metrics are NaN."""


QUANTILES = (0.5, 0.95)
"""Quantiles in tables."""


def effort_scale(limit: Array, unlimited: ArrayLike = 1.0) -> Array:
    """Efforts that count as 1, shape (n,): the limits, or those of joints without a limit [N m or N]."""
    return np.where(np.isfinite(limit) & (limit > 0.0), limit, unlimited)


def metrics(score: Score, scale: Array) -> dict[str, Array]:
    """Return `METRICS` of N samples by name, shape (N,) each; NaN for diverged motions.

    Args:
        score: Scores of the samples.
        scale: See `effort_scale`.
    """
    with np.errstate(invalid="ignore", over="ignore"):
        found = {
            "rms_error": _rms(score.rms_error),
            "worst_error": score.worst_error.max(axis=1, initial=0.0),
            "overshoot": score.overshoot.max(axis=1, initial=0.0),
            "rms_effort": _rms(score.rms_effort / scale),
            "worst_effort": (score.worst_effort / scale).max(axis=1),
            "effort_change": _rms(score.rms_effort_change / scale),
            "saturated": score.saturated.max(axis=1),
        }
        finite = np.isfinite(score.q).all(axis=1) & np.isfinite(score.v).all(axis=1)
        finite &= np.all([np.isfinite(values) for values in found.values()], axis=0)
    return {name: np.where(finite, values, np.nan) for name, values in found.items()}


def quantile(values: Array, share: float) -> float:
    """The smallest value that at least this share of the values does not exceed; NaN counts as infinite.

    Unlike an interpolated quantile, it is infinite as soon as too many samples fail.
    """
    ordered = np.sort(np.where(np.isnan(values), np.inf, values))
    return float(ordered[max(0, int(np.ceil(share * len(ordered))) - 1)])


def reasons(found: Mapping[str, Array], limits: Mapping[str, float]) -> NDArray[np.object_]:
    """Return why each sample failed, shape (N,); empty if it did not.

    Args:
        found: Metrics of the samples.
        limits: Greatest values of metrics; the first exceeded one is the reason.
    """
    result = np.full(len(found["rms_error"]), "", dtype=object)
    for name, limit in reversed(list(limits.items())):
        with np.errstate(invalid="ignore"):
            result[found[name] > limit] = f"{name} above {limit:g}"
    result[np.isnan(found["rms_error"])] = DIVERGED
    return result


def _rms(values: Array) -> Array:
    return np.sqrt(np.mean(values**2, axis=1)) if values.shape[1] else np.zeros(len(values))
