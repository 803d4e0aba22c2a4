# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Search for gains by differential evolution: thousands of rollouts, each with other gains."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy.optimize import differential_evolution

from robodyn_ros.base.errors import InputError
from robodyn_ros.description.model import Array
from robodyn_ros.simulation.rollout import ClosedLoop, RolloutClient
from robodyn_ros.simulation.scenario import Scenario
from robodyn_ros.simulation.score import Score
from robodyn_ros.toolbox.study.gain_space import GainSpace, Tuning, searched_fields
from robodyn_ros.toolbox.study.metrics import metrics

_NO_COST = 1e12  # cost of a robot that diverged: above any other, and finite, as the search needs it


class Generation(NamedTuple):
    """Progress of a search.

    Attributes:
        number: Number of generations so far.
        best: Lowest cost so far.
    """

    number: int
    best: float


def tune(loop: ClosedLoop, scenario: Scenario, fields: Sequence[str] | None = None, *, span: float = 10.0,
         smoothness: float = 0.01, population: int = 128, generations: int = 40, seed: int = 0, threads: int = 1,
         on_generation: Callable[[Generation], None] = lambda _: None, client: RolloutClient | None = None) -> Tuning:
    """Search for the gains that cost least in a scenario.

    The cost is the root of the mean of the squared RMS tracking errors over their elements [rad or m], plus
    ``smoothness`` times the same mean of the efforts' RMS changes from tick to tick, as shares of the effort limits.
    Each number is searched on a logarithmic scale between its value divided by ``span`` and its value times ``span``,
    within its declared range. The first generation contains the controller's own parameters, so that the result is
    never worse.

    Args:
        loop: Controller and robot.
        scenario: The task; noise of the velocities keeps the gains from growing without limit.
        fields: Fields of the parameters to search; None: those of `GAINS` that the controller has, or else every
            positive field with one number per joint that is not an effort.
        span: Factor by which numbers may grow or shrink.
        smoothness: Tracking error that costs as much as efforts that change by their limits at each tick [rad or m].
        population: Number of robots in a generation.
        generations: Number of generations.
        seed: Seed of the search.
        threads: Number of threads that share the rollouts.
        on_generation: Called after each generation.
        client: A cluster whose workers compute the rollouts; None: threads of this machine do.

    Returns:
        The best parameters and the course of the search. The same arguments give the same result.

    Raises:
        InputError: The controller has no such field, or it is not positive; a number is out of range.
    """
    for name, value, least in (("population", population, 5), ("generations", generations, 1), ("threads", threads, 1),
                               ("seed", seed, 0), ("smoothness", smoothness, 0.0)):
        if not value >= least:
            raise InputError(f"tune: {name}: expected {least:g} or more, received {value}")
    if not span > 1.0:
        raise InputError(f"tune: span: expected a factor above 1, received {span}")
    space = GainSpace(loop.controller.parameters, searched_fields(loop.controller.parameters, fields), np.log(span))
    limit = loop.robot.model.effort_limit
    own = loop.scores(scenario, [loop.controller.parameters])
    scale = np.where(np.isfinite(limit) & (limit > 0.0), limit, np.maximum(own.worst_effort[0], 1e-9))
    costs: list[float] = []

    def evaluate(exponents: Array) -> Array:
        packed = loop.packed_rows(space.parameters(one) for one in exponents.T)
        accepted, cost = ~np.isnan(packed).any(axis=1), np.full(len(packed), _NO_COST)
        if accepted.any():
            scores = loop.scores(scenario, packed[accepted], threads=threads if client is None else None, client=client)
            cost[accepted] = _cost(scores, scale, smoothness)
        costs.append(min(float(cost.min()), *costs[-1:], _NO_COST))
        on_generation(Generation(len(costs), costs[-1]))
        return cost

    rng = np.random.default_rng(seed)
    first = rng.uniform(-space.reach, space.reach, (population, space.size))
    first[0] = 0.0
    # Each generation is evaluated by one call.
    found = differential_evolution(evaluate, [(-space.reach, space.reach)] * space.size, init=first, seed=rng,
                                   maxiter=generations - 1, tol=0.0, polish=False, vectorized=True, updating="deferred")
    return space.tuning(found.x, lambda both: _cost(loop.scores(scenario, both), scale, smoothness).tolist(), costs,
                        population * len(costs))


def _cost(scores: Score, effort_scale: Array, smoothness: float) -> Array:
    """Costs of N robots, shape (N,)."""
    found = metrics(scores, effort_scale)
    cost = found["rms_error"] + smoothness * found["effort_change"]
    return np.where(np.isfinite(cost), np.minimum(cost, _NO_COST), _NO_COST)
