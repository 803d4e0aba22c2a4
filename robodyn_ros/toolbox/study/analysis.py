# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Findings of a study: errors and failures of each law, and influence of each varied number."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from robodyn_ros.base.errors import first_of
from robodyn_ros.base.text_tables import aligned
from robodyn_ros.description.model import Array
from robodyn_ros.toolbox.study.blocks import all_scores
from robodyn_ros.toolbox.study.loop_description import PARAMETERS
from robodyn_ros.toolbox.study.metrics import QUANTILES, quantile
from robodyn_ros.toolbox.study.results import LAW, MOTION, REASON, Results
from robodyn_ros.toolbox.study.run import score_columns
from robodyn_ros.toolbox.study.study import Axis, Pair, Study

_MAX_REASONS = 3


@dataclass(frozen=True)
class LawSummary:
    """Results of one law on one motion."""

    law: str  # label of the law
    motion: str  # label of the motion
    count: int  # number of samples
    mean: float  # mean of the metric over the samples that did not fail; NaN if all failed
    quantiles: tuple[float, ...]  # `QUANTILES` of the metric over all samples; failed samples count as infinite
    worst: float  # largest value of the metric over the samples that did not fail
    failures: dict[str, int]  # number of failed samples by reason, the most frequent first


def succeeded(results: Results, metric: str) -> Array:
    """Return a metric of each row, NaN for failed samples."""
    return np.where(results.text(REASON) == "", results.numbers(metric), np.nan)


def summaries(results: Results, metric: str = "rms_error") -> list[LawSummary]:
    """Return the results of each law and motion.

    Args:
        results: Results of a study.
        metric: One of `METRICS`.
    """
    found = []
    for law in results.values(LAW):
        for motion in results.rows(law).values(MOTION):
            rows = results.rows(law, motion)
            values, failures = succeeded(rows, metric), Counter(filter(None, rows.text(REASON).tolist()))
            whole = values[~np.isnan(values)]
            found.append(LawSummary(law, motion, len(values), float(whole.mean()) if len(whole) else np.nan,
                                    tuple(quantile(values, share) for share in QUANTILES),
                                    float(whole.max()) if len(whole) else np.nan, dict(failures.most_common())))
    return found


def table(results: Results, metric: str = "rms_error", scale: float = 1e3) -> str:
    """Return a line for each law and motion: mean, quantiles, worst, share of failures, and their reasons.

    Mean and worst omit failed samples.

    Args:
        results: Results of a study.
        metric: One of `METRICS`.
        scale: Factor on the metric.
    """
    rows = summaries(results, metric)
    several = len({row.motion for row in rows}) > 1
    lines = [["law", "mean", *(f"{100.0 * share:g} %" for share in QUANTILES), "worst", "failed"]]
    for row in rows:
        name, numbers = f"{row.law}, {row.motion}" if several else row.law, (row.mean, *row.quantiles, row.worst)
        failed = sum(row.failures.values()) / row.count
        why = [f"{reason} ({count})" for reason, count in row.failures.items()]
        lines.append([name, *(_figure(scale * number) for number in numbers), f"{100.0 * failed:.1f} %",
                      *[first_of(why, _MAX_REASONS, "other reasons")][:len(why)]])
    return "\n".join(aligned(lines, *[9] * (len(lines[0]) - 2), 8, 0))


def rank_correlations(results: Results, law: str, metric: str = "rms_error") -> dict[str, float]:
    """Return Spearman's rank correlation of each varied number with a metric, the strongest first.

    Failed samples count as the largest values. Constant columns are left out.

    Args:
        results: Results of a study.
        law: Label of the law.
        metric: One of `METRICS`.
    """
    rows = results.rows(law)
    values = succeeded(rows, metric)
    values = np.where(np.isnan(values), np.inf, values)
    found = {}
    for column in results.about.axes:
        numbers = rows.numbers(column)
        if not np.isnan(numbers).any() and np.ptp(numbers) > 0.0 and len(np.unique(values)) > 1:
            found[column] = float(stats.spearmanr(numbers, values).statistic)
    return dict(sorted(found.items(), key=lambda item: -abs(item[1])))


@dataclass(frozen=True, eq=False)
class SobolIndices:
    """Shares of the variance of a metric that varied numbers cause."""

    columns: tuple[str, ...]  # the d numbers, sorted by total share, the largest first
    first: Array  # share that each number causes alone, shape (d,)
    total: Array  # share that each number causes alone and together with others, shape (d,)


def differing_axes(study: Study, law: str) -> list[Axis]:
    """The axes of one law's rollouts that differ between samples."""
    return [axis for axis in study.law_axes(law)
            if np.ptp(axis.distribution.ppf(np.array([0.01, 0.5, 0.99]))) > 0.0]


def sobol_indices(study: Study, pair: Pair, count: int, metric: str = "rms_error", **options: Any) -> SobolIndices:
    """Compute Sobol indices of one law and motion by count * (axes + 2) additional rollouts.

    Diverged samples count as the largest finite value.

    Args:
        study: The study.
        pair: Law and motion.
        count: Points of the design, a power of two.
        metric: One of `METRICS`.
        **options: Options of `all_scores`.
    """
    description, axes = study.description(pair), differing_axes(study, pair.law)
    fixed = [axis for axis in study.axes if axis not in axes]
    if len(axes) < 2:  # a single one causes all of the variance; SciPy fails
        return SobolIndices(tuple(axis.column for axis in axes), np.ones(len(axes)), np.ones(len(axes)))

    def evaluate(points: Array) -> Array:
        values = {axis.column: row for axis, row in zip(axes, points, strict=True)}
        values |= {axis.column: np.full(points.shape[1], axis.distribution.ppf(np.array(0.5))) for axis in fixed}
        arrays = study.arrays(pair, description.scenario, values)
        arrays[PARAMETERS] = np.broadcast_to(arrays[PARAMETERS], (points.shape[1], arrays[PARAMETERS].shape[1]))
        found = np.asarray(score_columns(study, all_scores(description, arrays, **options), arrays[PARAMETERS])[metric])
        largest = np.nanmax(found, initial=0.0)
        return np.where(np.isnan(found), largest, found)[None]

    found = stats.sobol_indices(func=evaluate, n=count, dists=[axis.distribution for axis in axes], rng=study.seed)
    first, total = np.ravel(found.first_order), np.ravel(found.total_order)
    order = np.argsort(-total)
    return SobolIndices(tuple(axes[place].column for place in order), first[order], total[order])


def sensitivity_table(columns: Sequence[str], shares: dict[str, Sequence[float]]) -> str:
    """Return a line for each varied number, with measures of its influence.

    Args:
        columns: The varied numbers.
        shares: Measures by the heading of their column.
    """
    rows = [[column, *(f"{values[row]:.3f}" for values in shares.values())] for row, column in enumerate(columns)]
    return "\n".join(aligned([["", *shares], *rows], 12))


def _figure(number: float) -> str:
    return f"{number:.3f}" if np.isfinite(number) else "-" if np.isnan(number) else "failed"
