# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Cost of gains for different robots: a statistic of errors over the samples of a study, with constraints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from robodyn_ros.base.code_cache import digest
from robodyn_ros.base.errors import InputError
from robodyn_ros.control.contract.parameters import Parameters
from robodyn_ros.description.model import Array
from robodyn_ros.simulation.rollout import ClosedLoop
from robodyn_ros.simulation.score import Score
from robodyn_ros.toolbox.study.blocks import all_scores
from robodyn_ros.toolbox.study.gain_space import GainSpace
from robodyn_ros.toolbox.study.loop_description import PARAMETERS
from robodyn_ros.toolbox.study.metrics import METRICS, effort_scale, metrics, quantile, reasons
from robodyn_ros.toolbox.study.study import Pair, Study, common_range, element_ranges

INFEASIBLE = 1e6
"""Cost of gains that violate a constraint or fail in too many samples, plus the amount of the violation."""

_MAX_MARGIN = 10.0
_MARGIN_STEPS = 24


@dataclass(frozen=True)
class Goal:
    """The goal that a search minimises.

    Attributes:
        statistic: ``mean``, ``worst`` or a quantile such as ``95%`` over the samples, of the worst motion.
        smoothness: Tracking error that costs as much as efforts that change by their limits at each tick [rad or m].
        limits: Greatest values of the statistic of other metrics.
    """

    statistic: str = "95%"
    smoothness: float = 0.01
    limits: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check the values.

        Raises:
            InputError: A statistic or metric is unknown, or a number is negative.
        """
        share = self.statistic.removesuffix("%")
        known = self.statistic in ("mean", "worst")
        try:
            known = known or self.statistic.endswith("%") and 0.0 < float(share) < 100.0
        except ValueError:
            known = False
        if not known:
            raise InputError(f"tune: goal: expected mean, worst, or a quantile from 0% to 100% such as 95%, received "
                             f"'{self.statistic}'")
        if not self.smoothness >= 0.0:
            raise InputError(f"tune: smoothness: expected 0 or more, received {self.smoothness}")
        for name, limit in self.limits.items():
            if name not in METRICS or not limit >= 0.0:
                raise InputError(f"tune: limit: expected a metric ({', '.join(METRICS)}) and a limit of 0 or more, "
                                 f"received '{name}' and {limit}")

    def statistic_of(self, values: Array) -> float:
        """The statistic of N values; NaN counts as infinite, except in the mean, which omits it."""
        if self.statistic == "mean":
            whole = values[~np.isnan(values)]
            return float(whole.mean()) if len(whole) else np.inf
        return quantile(values, 1.0 if self.statistic == "worst" else float(self.statistic.removesuffix("%")) / 100.0)

    @property
    def failures(self) -> float:
        """Allowed share of failed samples."""
        return 0.0 if self.statistic in ("mean", "worst") else 1.0 - float(self.statistic.removesuffix("%")) / 100.0


class GainTask:
    """Costs of gains of one law over all samples and motions of a study.

    Args:
        study: The study; distributions of the law's gains have no effect.
        law: Label of the law.
        goal: The goal.
        space: The searched gains.
        threads: Threads that share the rollouts.
        options: Options of `map_blocks`.
    """

    def __init__(self, study: Study, law: str, goal: Goal, space: GainSpace, threads: int = 1,
                 **options: Any) -> None:
        self.study, self.law, self.goal, self.space = study, law, goal, space
        self._threads, self._options = threads, options
        self.pairs = [pair for pair in study.pairs if pair.law == law]
        self._descriptions = {pair: study.description(pair) for pair in self.pairs}
        self._loop = ClosedLoop(study.laws[law].controller, study.plant, study.period)

    def rollouts(self, candidates: int) -> int:
        """Return the number of rollouts for a number of candidates."""
        return candidates * len(self.pairs) * (self.study.count if self.study.quantities else 1)

    @property
    def digest(self) -> str:
        """Hash of the task's content."""
        return digest(self.study.digest, self.law, repr(self.goal), repr(self.space.fields), repr(self.space.reach))

    @cached_property
    def _scale(self) -> Array:
        """Efforts that count as 1, shape (n,): the limits, or the largest effort with the initial gains without one."""
        limit = self.study.robot.model.effort_limit
        if np.isfinite(effort_scale(limit, np.nan)).all():
            return limit
        own = self._scores(self.pairs[0], self._loop.packed()[None], self.study.values).worst_effort
        return effort_scale(limit, np.maximum(own[np.isfinite(own).all(axis=1)].max(axis=0, initial=0.0), 1e-9))

    def costs(self, exponents: Array) -> Array:
        """Costs of P candidates, shape (P,).

        Args:
            exponents: Logarithms of factors on the gains, shape (P, size).
        """
        return np.array([self.cost(found) for found in self.evaluated(
            [self.space.parameters(one) for one in exponents])])

    def evaluated(self, candidates: list[Parameters], values: Mapping[str, Array] | None = None
                  ) -> list[list[dict[str, Array]]]:
        """Return the metrics of each candidate, motion by motion, each of shape (N,); also ``failed``, 0 or 1.

        A candidate that the law refuses fails in all samples.

        Args:
            candidates: P sets of parameters.
            values: Values of the axes by column, shape (N,) each; None: those of the study.
        """
        packed = self._loop.packed_rows(candidates)
        results: list[list[dict[str, Array]]] = [[] for _ in candidates]
        values = self.study.values if values is None else values
        for pair in self.pairs:
            found = self._metrics(pair, packed, values)
            for row, per_motion in enumerate(results):
                per_motion.append({name: array[row] for name, array in found.items()})
        return results

    def cost(self, found: list[dict[str, Array]]) -> float:
        """Cost of one candidate, from its metrics for each motion."""
        return max(self._cost(each) for each in found)

    def statistics(self, found: list[dict[str, Array]], name: str) -> float:
        """The goal's statistic of a metric, for the motion with the greatest value."""
        return max(self.goal.statistic_of(np.where(each["failed"] > 0.0, np.nan, each[name])) for each in found)

    def _cost(self, found: dict[str, Array]) -> float:
        share = float(found["failed"].mean())
        if share > self.goal.failures:
            return INFEASIBLE * (1.0 + share)
        whole = np.where(found["failed"] > 0.0, np.nan, 1.0)
        broken = [self.goal.statistic_of(whole * found[name]) / max(limit, 1e-12) - 1.0
                  for name, limit in self.goal.limits.items()]
        if any(excess > 0.0 for excess in broken):
            return float(INFEASIBLE * 0.5 + min(sum(excess for excess in broken if excess > 0.0), 0.4 * INFEASIBLE))
        return self.goal.statistic_of(whole * (found["rms_error"] + self.goal.smoothness * found["effort_change"]))

    def _metrics(self, pair: Pair, packed: Array, values: Mapping[str, Array]) -> dict[str, Array]:
        """Metrics of P candidates on N samples, each of shape (P, N)."""
        count = len(next(iter(values.values()))) if self.study.quantities else 1
        accepted = ~np.isnan(packed).any(axis=1)
        results = {name: np.full((len(packed), count), np.nan) for name in METRICS}
        results["failed"] = np.ones((len(packed), count))
        if accepted.any():
            found = metrics(self._scores(pair, packed[accepted], values), self._scale)
            found["failed"] = (reasons(found, self.study.limits) != "").astype(float)
            for name, array in found.items():
                results[name][accepted] = array.reshape(-1, count)
        return results

    def _scores(self, pair: Pair, packed: Array, values: Mapping[str, Array]) -> Score:
        """Scores of P candidates on N samples, those of a candidate one after the other, N · P rows."""
        description = self._descriptions[pair]
        samples = self.study.quantity_arrays(description.scenario, values)
        count = len(next(iter(samples.values()))) if samples else 1
        arrays = {name: np.tile(array, (len(packed), *(1,) * (array.ndim - 1))) for name, array in samples.items()}
        arrays[PARAMETERS] = np.repeat(packed, count, axis=0)
        return all_scores(description, arrays, threads=self._threads, **self._options)


@dataclass(frozen=True)
class Margins:
    """Margins of gains to failing samples.

    Attributes:
        failed: Number of samples that already fail.
        larger: Greatest factor on all searched gains without failures; infinite beyond the tried factors.
        smaller: Smallest factor without failures; 0 below the tried factors.
        spread: Greatest factor on the samples' distances from the medians without failures; infinite beyond the tried
            factors.
    """

    failed: int
    larger: float
    smaller: float
    spread: float

    def __str__(self) -> str:
        if self.failed:
            return f"margin: none, {self.failed} of the samples fail"
        larger = f"{self.larger:.2g}" if np.isfinite(self.larger) else f"more than {_MAX_MARGIN:g}"
        smaller = f"{self.smaller:.2g}" if self.smaller else f"less than {1.0 / _MAX_MARGIN:g}"
        spread = f"{self.spread:.2g}" if np.isfinite(self.spread) else f"more than {_MAX_MARGIN:g}"
        return (f"margin: no sample fails with {smaller} to {larger} times these gains, nor with {spread} times the "
                "samples' distance from the medians")


def margins(task: GainTask, parameters: Parameters) -> Margins:
    """Return the margins of gains to samples that diverge, or exceed a limit of the study.

    Args:
        task: Law and samples.
        parameters: The gains.
    """
    space = GainSpace(parameters, task.space.fields, np.log(_MAX_MARGIN))
    steps = np.geomspace(1.0, _MAX_MARGIN, _MARGIN_STEPS + 1)

    def fails(candidates: list[Parameters], values: Mapping[str, Array] | None = None) -> list[int]:
        return [int(sum(each["failed"].sum() for each in one)) for one in task.evaluated(candidates, values)]

    ups, downs = (fails([space.parameters(np.full(space.size, sign * np.log(step))) for step in steps])
                  for sign in (1.0, -1.0))
    spreads: list[int] = []
    for step in steps:
        spreads += fails([parameters], _spread(task.study, step))
        if spreads[-1]:
            break
    return Margins(ups[0], _last(ups, steps), 1.0 / _last(downs, steps), _last(spreads, steps))


def fresh(study: Study, seed: int, count: int | None = None) -> Study:
    """Return a study with new samples and noise.

    Args:
        study: The study.
        seed: The new seed.
        count: Number of samples; None: unchanged.
    """
    return replace(study, seed=seed, count=count or study.count)


def _last(failures: list[int], steps: Array) -> float:
    """The last step before the first one with failures; infinite if none has any."""
    places = np.flatnonzero(failures)
    return float(steps[max(0, places[0] - 1)]) if len(places) else np.inf


def _spread(study: Study, factor: float) -> dict[str, Array]:
    """Values of the axes with distances from the medians multiplied, within the ranges of the quantities."""
    values = dict(study.values)
    for name, axes in study.quantities.items():
        ranges = element_ranges(name, study.plant, study.motions.values())
        for axis in axes:
            allowed = common_range(ranges[element] for element in axis.elements)
            lowest = np.nextafter(allowed.minimum, np.inf) if allowed.above else allowed.minimum
            median = float(axis.distribution.ppf(np.array(0.5)))
            if allowed.above:  # a factor on masses: half is as far as twice
                moved = median * (values[axis.column] / median) ** factor
            else:
                moved = median + factor * (values[axis.column] - median)
            values[axis.column] = np.clip(moved, lowest, allowed.maximum)
    return values
