# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Searches gains for all samples of a study by CMA-ES: for one cost, or a Pareto front of two metrics."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np
from cmaes import CMA

from robodyn_ros.base.bounded_files import MAX_JSON_BYTES, json_value, read_file
from robodyn_ros.base.errors import InputError, RecordingError, shown
from robodyn_ros.control.contract.parameters import Parameters
from robodyn_ros.description.model import Array
from robodyn_ros.toolbox.study.gain_space import Tuning
from robodyn_ros.toolbox.study.gain_task import INFEASIBLE, GainTask

MIN_POPULATION = 5
"""Least number of candidates of a generation; CMA-ES uses the better half."""

FIRST_SPREAD = 1.0 / 3.0
"""Standard deviation of the first candidates, relative to the greatest logarithm of a factor."""

RAYS = (0.25, 0.5, 1.0, 2.0, 4.0)
"""Ratios of the two metrics, relative to the initial gains, in whose directions a front is searched."""


class Checkpoint:
    """Saves the costs of all generations of a search in a file, to resume an interrupted search.

    A search with equal seed generates the same candidates again, so only their costs must be saved.

    Args:
        path: The file; None: nothing is saved.
        digest: Hash of the search's content.
        resume: Whether to continue with the file.

    Raises:
        InputError: The file belongs to another search, cannot be read, or is missing.
    """

    def __init__(self, path: Path | None, digest: str, resume: bool = False) -> None:
        self._path, self._digest, self._next = path, digest, 0
        self.generations: list[list[float]] = []
        if path is None or not resume:
            return
        try:
            content = json_value(read_file(path, MAX_JSON_BYTES), path.name)
            if not isinstance(content, dict) or content.keys() != {"digest", "costs"}:
                raise InputError(f"{path.name}: expected the keys digest and costs, received {shown(content)}")
            self.generations = _costs(content["costs"], path.name)
        except FileNotFoundError:
            raise InputError(f"--resume: there is no search in '{path.parent}'; leave it out for a new one") from None
        except (OSError, InputError) as error:
            raise InputError(f"--resume: cannot read '{path}': {error}; leave it out for a new search") from None
        if content["digest"] != digest:
            raise InputError(f"--resume: '{path}' is of another search, with another study, goal, seed or size: give "
                             "the options of that one, or another --output")

    def check(self, shape: tuple[int, ...], generations: int) -> None:
        """Check that the saved costs fit a search of this size.

        Args:
            shape: Shape of the costs of a generation.
            generations: Number of generations of the whole search.

        Raises:
            InputError: They do not fit.
        """
        if len(self.generations) > generations or any(np.shape(row) != shape for row in self.generations):
            raise InputError(f"--resume: '{self._path}': expected at most {generations} generations, with costs of "
                             f"shape {shape}, received {len(self.generations)}, with "
                             f"{shown([np.shape(row) for row in self.generations[:3]])}; leave it out for a new search")

    def costs(self, compute: Callable[[], Array]) -> Array:
        """Return the costs of the next generation: saved ones, or else computed ones, which are saved.

        Args:
            compute: Computes the costs, shape (P,), or (P, m) for m costs each.

        Raises:
            RecordingError: The file cannot be written; it keeps the previous generations.
        """
        number, self._next = self._next, self._next + 1
        if number < len(self.generations):
            return np.array(self.generations[number])
        found = compute()
        self.generations.append(found.tolist())
        if self._path is not None:
            new = self._path.with_name(f".{self._path.name}")
            try:
                new.write_text(json.dumps({"digest": self._digest, "costs": self.generations}), encoding="utf-8")
                new.replace(self._path)
            except OSError as error:
                raise RecordingError(f"cannot write '{self._path}': {error.strerror}; it has the generations before, "
                                     "and --resume goes on") from None
        return found


def _costs(rows: object, where: str) -> list[list[float]]:
    """Check the costs in a file: for each generation, a list of numbers, or of pairs, of 0 or more."""
    if not isinstance(rows, list) or set(map(type, rows)) - {list} or not all(rows):
        raise InputError(f"{where}: costs: expected a list of numbers for each generation, received {shown(rows)}")
    if not _are_costs(chain.from_iterable(rows)):  # a tenth of the time of one generation after another
        for number, row in enumerate(rows):
            pairs = set(map(type, row)) == {list} and len(set(map(len, row))) == 1 and row[0]
            if not _are_costs(chain.from_iterable(row) if pairs else row):
                raise InputError(f"{where}: generation {number}: expected costs of 0 or more, received {shown(row)}")
    return rows


def _are_costs(values: Iterable[object]) -> bool:
    return all(type(value) in (int, float) and value >= 0.0 for value in values)  # type: ignore[operator]


@dataclass(frozen=True, eq=False)
class Front:
    """A Pareto front: sets of gains of which none is better than another in both metrics."""

    parameters: tuple[Parameters, ...]  # K sets of parameters, sorted by the first metric
    values: Array  # both metrics of each, shape (K, 2)
    own: Array  # both metrics of the initial parameters, shape (2,)
    evaluated: Array  # both metrics of all candidates, shape (M, 2); infinite if a constraint is violated


def search_gains(task: GainTask, population: int, generations: int, seed: int = 0,
                  checkpoint: Checkpoint | None = None, on_generation: Callable[[int, float], None] = lambda *_: None
                  ) -> Tuning:
    """Search the gains with the least cost; the initial gains are among the first candidates.

    Args:
        task: Law, samples and goal.
        population: Candidates in a generation.
        generations: Number of generations.
        seed: Seed of the search.
        checkpoint: Saves the costs; None: they are not saved.
        on_generation: Called after each generation with its number and the lowest cost so far.

    Raises:
        InputError: A number is out of range.
    """
    kept, lowest = checkpoint or Checkpoint(None, ""), list[float]()
    kept.check((population,), generations)

    def evaluate(exponents: Array) -> Array:
        costs = kept.costs(lambda: task.costs(exponents))
        lowest.append(min(float(costs.min()), *lowest[-1:], np.inf))
        on_generation(len(lowest), lowest[-1])
        return costs

    best = _evolve(evaluate, task.space.size, task.space.reach, population, generations, seed)
    return task.space.tuning(best, lambda both: [task.cost(found) for found in task.evaluated(both)], lowest,
                             task.rollouts(population * generations))


def pareto_front(task: GainTask, names: tuple[str, str], population: int, generations: int, seed: int = 0,
                 checkpoint: Checkpoint | None = None, on_generation: Callable[[int, float], None] = lambda *_: None
                 ) -> Front:
    """Search the Pareto front of two metrics, each by the goal's statistic.

    Each of several searches minimises the larger of both weighted metrics, so that its best point lies on one of
    `RAYS`. The front contains candidates of all searches.

    Args:
        task: Law, samples, and the goal's statistic and constraints.
        names: Two of `METRICS`.
        population: Candidates in a generation.
        generations: Total number of generations of all searches.
        seed: Seed of the searches.
        checkpoint: As for `search_gains`.
        on_generation: Called after each generation with its number and the number of points on the front.
    """
    kept, each = checkpoint or Checkpoint(None, ""), max(1, generations // len(RAYS))
    kept.check((population, 2), each * len(RAYS))
    zero = np.zeros(task.space.size)
    own = _metrics(task, zero[None], names)[0]
    if not np.isfinite(own).all():
        raise InputError("tune: pareto: the law's own gains break a constraint or fail in too many samples; tune them "
                         "for one goal first, and name the parameters found in the study")
    points, values = [zero[None]], [own[None]]
    for ray in RAYS:
        def evaluate(exponents: Array, ray: float = ray) -> Array:
            found = kept.costs(lambda: _metrics(task, exponents, names))
            points.append(exponents)
            values.append(found)
            on_generation(len(points) - 1, len(_undominated(np.vstack(values))))
            cost = (found / own * [ray**0.5, ray**-0.5]).max(axis=1)
            return np.where(np.isfinite(cost), cost, INFEASIBLE)

        _evolve(evaluate, task.space.size, task.space.reach, population, each, seed)
    everything = np.vstack(values)
    front = _undominated(everything)
    candidates = np.vstack(points)[front]
    return Front(tuple(task.space.parameters(one) for one in candidates), everything[front], own, everything)


def _metrics(task: GainTask, exponents: Array, names: tuple[str, str]) -> Array:
    """Both metrics of P candidates, shape (P, 2); infinite if a constraint is violated."""
    found = task.evaluated([task.space.parameters(one) for one in exponents])
    return np.array([[task.statistics(one, name) for name in names] if task.cost(one) < 0.5 * INFEASIBLE
                     else [np.inf, np.inf] for one in found])


def _evolve(evaluate: Callable[[Array], Array], size: int, reach: float, population: int, generations: int, seed: int
            ) -> Array:
    """CMA-ES from the initial gains; returns the best exponents, shape (size,).

    [Hansen] N. Hansen: The CMA Evolution Strategy: A Tutorial. arXiv 1604.00772, 2016.
    """
    for name, value, least in (("population", population, MIN_POPULATION), ("generations", generations, 1),
                               ("seed", seed, 0)):
        if not value >= least:
            raise InputError(f"tune: {name}: expected {least} or more, received {value}")
    search = CMA(np.zeros(size), FIRST_SPREAD * reach, np.tile([-reach, reach], (size, 1)), seed=seed,
                 population_size=population)
    best, lowest = np.zeros(size), np.inf
    for generation in range(generations):
        points = np.array([search.ask() for _ in range(population)])
        if generation == 0:
            points[0] = 0.0
        costs = evaluate(points)
        search.tell(list(zip(points, costs.tolist(), strict=True)))
        if costs.min() < lowest:
            best, lowest = points[np.argmin(costs)], float(costs.min())
    return best


def _undominated(values: Array) -> Array:
    """Rows of finite points that no other point beats in both columns, sorted by the first column, shape (K,)."""
    order = np.lexsort((values[:, 1], values[:, 0]))
    order = order[np.isfinite(values[order]).all(axis=1)]
    lowest = np.minimum.accumulate(np.r_[np.inf, values[order, 1]])
    return np.asarray(order[values[order, 1] < lowest[:-1]])
