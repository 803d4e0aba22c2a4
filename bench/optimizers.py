# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Optimizers of kept libraries on the search of `robodyn tune --study`: the same rollouts, the lowest cost wins.

``python -m bench.optimizers`` takes some minutes, ``--laws computed_torque --seeds 1`` one.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

import numpy as np

from robodyn_ros.base.timing import usable_processors
from robodyn_ros.commands.study_file import read_study
from robodyn_ros.description.model import Array
from robodyn_ros.toolbox.study.gain_space import GainSpace, searched_fields
from robodyn_ros.toolbox.study.gain_task import GainTask, Goal

STUDY = """
robot: arm7
laws: [pd_gravity, computed_torque, adaptive]
samples: 64
quantities:
  link.mass_scale: {uniform: [0.8, 1.2]}
  payload.mass: {uniform: [0.0, 3.0]}
  friction.scale: {uniform: [1.0, 2.0]}
"""

Costs = Callable[[Array], Array]


def cma(costs: Costs, size: int, reach: float, population: int, generations: int, seed: int) -> None:
    """CMA-ES of the package cmaes, from the default gains."""
    from cmaes import CMA

    search = CMA(np.zeros(size), reach / 3.0, np.tile([-reach, reach], (size, 1)), seed=seed,
                 population_size=population)
    for _ in range(generations):
        points = [search.ask() for _ in range(population)]
        search.tell(list(zip(points, costs(np.array(points)).tolist(), strict=True)))


def evolution(costs: Costs, size: int, reach: float, population: int, generations: int, seed: int) -> None:
    """Differential evolution of SciPy, with the default gains in the first generation."""
    from scipy.optimize import differential_evolution

    rng = np.random.default_rng(seed)
    first = rng.uniform(-reach, reach, (population, size))
    first[0] = 0.0
    differential_evolution(lambda points: costs(points.T), [(-reach, reach)] * size, init=first, rng=rng,
                           maxiter=generations - 1, tol=0.0, polish=False, vectorized=True, updating="deferred")


def parzen(costs: Costs, size: int, reach: float, population: int, generations: int, seed: int) -> None:
    """Tree-structured Parzen estimators of Optuna, with the default gains first."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    sampler = optuna.samplers.TPESampler(seed=seed, multivariate=True, n_startup_trials=population)
    study = optuna.create_study(sampler=sampler)
    names = [f"x{number}" for number in range(size)]
    study.enqueue_trial(dict.fromkeys(names, 0.0))
    space = {name: optuna.distributions.FloatDistribution(-reach, reach) for name in names}
    for _ in range(generations):
        trials = [study.ask(space) for _ in range(population)]
        points = np.array([[trial.params[name] for name in names] for trial in trials])
        for trial, cost in zip(trials, costs(points).tolist(), strict=True):
            study.tell(trial, cost)


OPTIMIZERS = {"cmaes": cma, "scipy": evolution, "optuna": parzen}


def main() -> None:
    """Print the lowest cost after a quarter, half and all of the rollouts, and the optimizer's own time."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--laws", nargs="+", default=["pd_gravity", "computed_torque", "adaptive"])
    parser.add_argument("--optimizers", nargs="+", default=list(OPTIMIZERS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--population", type=int, default=24)
    parser.add_argument("--generations", type=int, default=40)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "study.yaml"
        path.write_text(STUDY)
        study = read_study(path)
    budget = options.population * options.generations
    print(f"{budget} candidates of {study.count} rollouts each; cost: 95 % quantile [1e-3 rad]; median of "
          f"{options.seeds} seeds\n\n{'law':<16} {'optimizer':<9} {'a quarter':>10} {'half':>10} {'all':>10} "
          f"{'worst seed':>10} {'own time [s]':>12}")
    for law in options.laws:
        space = GainSpace(study.laws[law].controller.parameters,
                          searched_fields(study.laws[law].controller.parameters), np.log(10.0))
        task = GainTask(study, law, Goal(), space, usable_processors())
        for name in options.optimizers:
            curves, own = [], []
            for seed in range(options.seeds):
                curve, seconds = _run(OPTIMIZERS[name], task, options.population, options.generations, seed)
                curves.append(curve)
                own.append(seconds)
            middle = 1e3 * np.median(curves, axis=0)
            shown = [middle[budget // 4 - 1], middle[budget // 2 - 1], middle[-1],
                     1e3 * max(curve[-1] for curve in curves)]
            print(f"{law:<16} {name:<9} " + " ".join(f"{value:10.3f}" for value in shown)
                  + f" {np.median(own):12.2f}", flush=True)


def _run(optimize: Callable[..., None], task: GainTask, population: int, generations: int, seed: int
         ) -> tuple[Array, float]:
    """Lowest cost after each candidate, and the time beside the rollouts [s]."""
    seen: list[float] = []
    inside = 0.0

    def costs(points: Array) -> Array:
        nonlocal inside
        begin = perf_counter()
        found = task.costs(points)
        seen.extend(found.tolist())
        inside += perf_counter() - begin
        return found

    begin = perf_counter()
    optimize(costs, task.space.size, task.space.reach, population, generations, seed)
    return np.minimum.accumulate(seen), perf_counter() - begin - inside


if __name__ == "__main__":
    main()
