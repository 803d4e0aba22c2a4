# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""``robodyn tune --study``: tunes gains on all samples of a study, and checks them on new samples."""

from __future__ import annotations

import csv
from argparse import Namespace
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from robodyn_ros.base.code_cache import digest
from robodyn_ros.base.errors import InputError, suggest, unknown
from robodyn_ros.commands.options import named_controllers
from robodyn_ros.commands.progress import Progress
from robodyn_ros.commands.study_file import read_study
from robodyn_ros.commands.tune import gains_table, parameter_file
from robodyn_ros.description.model import Array
from robodyn_ros.toolbox.plots.study_figure import Cumulated, save_cumulative, save_front
from robodyn_ros.toolbox.study.analysis import QUANTILES, quantile
from robodyn_ros.toolbox.study.gain_space import GainSpace, searched_fields
from robodyn_ros.toolbox.study.metrics import METRICS
from robodyn_ros.toolbox.study.robust_search import Checkpoint, pareto_front, robust_search
from robodyn_ros.toolbox.study.robust_task import Goal, RobustTask, fresh, margins

CHECKPOINT = "search.json"
"""File with the costs so far, from which `--resume` continues."""


def tune_study(options: Namespace, machine: Mapping[str, Any]) -> int:
    """Search the gains of each law of a study, print tables, write parameters and pictures.

    Args:
        options: Options of the command line, see ``robodyn tune --help``.
        machine: Threads or cluster, for `all_scores`.

    Returns:
        The exit code, 0.

    Raises:
        RobodynError: The study or an option cannot be used, or a law fails.
        OSError: The output cannot be written.
    """
    study = read_study(options.study)
    laws = named_controllers(options, study.laws)
    for law in laws:
        if law not in study.laws:
            raise InputError(f"tune: controllers: the study has no law '{law}': {suggest(law, study.laws)}")
    goal = Goal(options.goal, options.smoothness, dict(map(_limit, options.limit)))
    for name in options.pareto or ():
        if name not in METRICS:
            raise InputError(f"tune: pareto: {unknown('metric', name, METRICS)}")
    if not options.span > 1.0:
        raise InputError(f"tune: span: expected a factor above 1, received {options.span}")
    tasks = {}
    for law in laws:
        own = study.laws[law].controller.parameters
        space = GainSpace(own, searched_fields(own, options.gains), float(np.log(options.span)))
        tasks[law] = RobustTask(study, law, goal, space, **machine)
    folders = {law: options.output / law.replace(":", ".") if len(laws) > 1 else options.output for law in laws}
    if options.resume and not any((folder / CHECKPOINT).is_file() for folder in folders.values()):
        raise InputError(f"--resume: there is no search in '{options.output}'; leave it out for a new one")
    for law, task in tasks.items():
        folder = folders[law]
        folder.mkdir(parents=True, exist_ok=True)
        if options.pareto:
            _search_front(law, task, folder, options)
        else:
            _search(law, task, folder, options, machine)
    return 0


def _checkpoint(task: RobustTask, folder: Path, options: Namespace) -> Checkpoint:
    content = digest(task.digest, repr((options.population, options.generations, options.seed, options.pareto)))
    # Laws after the interrupted one have none.
    return Checkpoint(folder / CHECKPOINT, content, options.resume and (folder / CHECKPOINT).is_file())


def _search(law: str, task: RobustTask, folder: Path, options: Namespace, machine: Mapping[str, Any]) -> None:
    progress = Progress(options.generations, "generations")
    found = robust_search(task, options.population, options.generations, options.seed,
                          _checkpoint(task, folder, options),
                          lambda number, cost: progress.show(number, f"best cost {cost:.6g}"))
    progress.end()
    study = task.study
    new = RobustTask(fresh(study, study.seed + 1), law, task.goal, task.space, **machine)
    before, after = (_errors(each) for each in new.evaluated([found.before, found.after]))
    how = (f"{law} on '{study.robot.name}' for {study.name}: {_named(task.goal)} of the cost {found.cost_before:.4g} "
           f"before, {found.cost_after:.4g} after {found.rollouts} rollouts")
    print(f"\n{how}\n\n{gains_table(found, study.robot)}\n\nRMS tracking error on {len(before)} fresh samples "
          f"[mrad or mm]:\n\n{_before_and_after(before, after)}\n\n{margins(new, found.after)}")
    files = [folder / name for name in ("parameters.yaml", "errors.png")]
    files[0].write_text(parameter_file(found, study.laws[law].controller.robot, study.laws[law].name,
                                       f"Found by robodyn tune --study, seed {options.seed}: {how}."))
    save_cumulative([Cumulated("before", before), Cumulated("after", after)], files[1],
                    f"{law} on {study.robot.name}: fresh samples of {study.name}", "RMS tracking error [mrad or mm]")
    print("\nwritten: " + ", ".join(map(str, files)))


def _search_front(law: str, task: RobustTask, folder: Path, options: Namespace) -> None:
    progress, names = Progress(options.generations, "generations"), tuple(options.pareto)
    front = pareto_front(task, (names[0], names[1]), options.population, options.generations, options.seed,
                         _checkpoint(task, folder, options),
                         lambda number, count: progress.show(number, f"{count:.0f} on the front"))
    progress.end()
    study = task.study
    rows = [[row for row in one.flat(study.robot) if row.field in task.space.fields] for one in front.parameters]
    files = [folder / name for name in ("front.csv", "front.png")]
    with files[0].open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*names, *(row.name for row in rows[0])])
        writer.writerows([*values.tolist(), *(row.value for row in each)]
                         for values, each in zip(front.values, rows, strict=True))
    labels = [f"{name} [{METRICS[name].unit}], {_named(task.goal)}" for name in names]
    save_front(front.evaluated[np.isfinite(front.evaluated).all(axis=1)], front.values, {"own gains": front.own},
               files[1], f"{law} on {study.robot.name}: {study.name}", (labels[0], labels[1]))
    best = front.values.min(axis=0)
    print(f"\n{law}: {len(front.parameters)} gains on the front of {_named(task.goal)}; own gains {names[0]} "
          f"{front.own[0]:.4g}, {names[1]} {front.own[1]:.4g}; least {names[0]} {best[0]:.4g}, least {names[1]} "
          f"{best[1]:.4g}\n\nwritten: {', '.join(map(str, files))}")


def _errors(found: list[dict[str, Array]]) -> Array:
    """Return the RMS errors of all samples of all motions, NaN for failures."""
    return np.concatenate([np.where(each["failed"] > 0.0, np.nan, each["rms_error"]) for each in found])


def _before_and_after(before: Array, after: Array) -> str:
    heads = ["mean", *(f"{100.0 * share:g} %" for share in QUANTILES), "worst", "failed"]
    lines = [f"{'':<6}" + "".join(f"  {head:>9}" for head in heads)]
    for name, values in (("before", before), ("after", after)):
        whole = values[~np.isnan(values)]
        numbers: list[Any] = [whole.mean() if len(whole) else np.nan,
                              *(quantile(values, share) for share in QUANTILES),
                              whole.max() if len(whole) else np.nan]
        lines.append(f"{name:<6}" + "".join(f"  {1e3 * number:>9.3f}" for number in numbers)
                     + f"  {100.0 * np.isnan(values).mean():>7.1f} %")
    return "\n".join(lines)


def _limit(text: str) -> tuple[str, float]:
    name, equals, value = text.partition("=")
    if name not in METRICS:
        raise InputError(f"tune: limit: {unknown('metric', name, METRICS)}")
    try:
        return name, float(value) if equals else float("nan")
    except ValueError:
        raise InputError(f"tune: limit: expected {name}=NUMBER, received '{text}'") from None


def _named(goal: Goal) -> str:
    if goal.statistic in ("mean", "worst"):
        return goal.statistic
    return f"{goal.statistic.removesuffix('%')} % quantile"
