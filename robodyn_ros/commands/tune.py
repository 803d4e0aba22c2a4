# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""``robodyn tune``: search gains for a robot or for all samples of a study, and check the result.

One robot is a study of one sample. The options of the command override the fields of a study file.
"""

from __future__ import annotations

import csv
from argparse import Namespace
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import yaml

from robodyn_ros.base.bounded_files import MAX_YAML_BYTES, expand_user, read_file, read_yaml
from robodyn_ros.base.code_cache import digest
from robodyn_ros.base.errors import InputError, suggest, unknown
from robodyn_ros.base.optional_packages import is_installed, missing_message
from robodyn_ros.base.text_tables import aligned
from robodyn_ros.commands.cluster_options import machine_options
from robodyn_ros.commands.options import named_controllers
from robodyn_ros.commands.progress import Progress
from robodyn_ros.commands.study_file import StudyOptions, StudySection, study_from_mapping
from robodyn_ros.control.contract.controller import JointReference
from robodyn_ros.control.contract.parameters import FlatParameter
from robodyn_ros.control.plugins.registry import prefix
from robodyn_ros.description.model import Array
from robodyn_ros.robot import Robot
from robodyn_ros.simulation.score import Rollout
from robodyn_ros.simulation.tracking import TrackingRecord
from robodyn_ros.toolbox.plots.motion import Curves, MotionCurves, energies
from robodyn_ros.toolbox.plots.study_figure import Cumulated, save_cumulative, save_front
from robodyn_ros.toolbox.study.gain_search import Checkpoint, pareto_front, search_gains
from robodyn_ros.toolbox.study.gain_space import GainSpace, Tuning, searched_fields
from robodyn_ros.toolbox.study.gain_task import GainTask, Goal, fresh, margins
from robodyn_ros.toolbox.study.metrics import METRICS, QUANTILES, quantile
from robodyn_ros.toolbox.study.study import Study, run_sample

CHECKPOINT = "search.json"
"""File with the costs so far, from which `--resume` continues."""

ONE_ROBOT = Path("tune")
"""In the place of a study file for one robot; messages about its fields begin with it."""


def tune(options: Namespace) -> int:
    """Search the gains of each law, print tables, write parameters and pictures.

    Args:
        options: Options of the command line, see ``robodyn tune --help``.

    Returns:
        The exit code, 0.

    Raises:
        RobodynError: The study or an option cannot be used, or a law fails.
        SimulationError: The motion of the only sample diverges with the law's own parameters.
        OSError: The output cannot be written.
    """
    study = study_of_options(options)
    labels = [*options.more_controllers, *options.controllers] if options.study else []
    laws = list(dict.fromkeys(labels)) or list(study.laws)
    for law in laws:
        if law not in study.laws:
            raise InputError(f"tune: controllers: the study has no law '{law}': {suggest(law, study.laws)}")
    goal = Goal(options.goal, options.smoothness, dict(map(_limit, options.limit)))
    for name in options.pareto or ():
        if name not in METRICS:
            raise InputError(f"tune: pareto: {unknown('metric', name, METRICS)}")
    if not options.span > 1.0:
        raise InputError(f"tune: span: expected a factor above 1, received {options.span}")
    parameters = {law: study.laws[law].controller.parameters for law in laws}
    spaces = {law: GainSpace(own, searched_fields(own, options.gains), float(np.log(options.span)))
              for law, own in parameters.items()}
    folders = {law: options.output / law.replace(":", ".") if len(laws) > 1 else options.output for law in laws}
    if options.resume and not any((folder / CHECKPOINT).is_file() for folder in folders.values()):
        raise InputError(f"--resume: there is no search in '{options.output}'; leave it out for a new one")
    with machine_options("tune", options) as machine:
        for law, folder in folders.items():
            task = GainTask(study, law, goal, spaces[law], **machine)
            folder.mkdir(parents=True, exist_ok=True)
            if options.pareto:
                _search_front(task, folder, options)
            else:
                _search(task, folder, options, machine)
    return 0


def study_of_options(options: Namespace) -> Study:
    """Return the study that the options name, or else that of one robot; given options override its fields.

    Raises:
        InputError: A field or an option cannot be used.
        PluginError: No law has that name.
        OSError: A file cannot be read.
    """
    if options.study is None:
        path, text = ONE_ROBOT, ""
        content: Any = {"laws": named_controllers(options), "samples": 1, "seed": options.seed}
    else:
        path = expand_user(options.study)
        text, content = read_file(path, MAX_YAML_BYTES).decode("utf-8", "replace"), read_yaml(path)
    known = {field.name for field in fields(StudySection)} - {"seed"}  # samples stay the same for another seed
    given = {name: _absolute(getattr(options, name)) for name in options.given if name in known}
    if options.trajectory:
        given["trajectories"] = [_absolute(options.trajectory)]
    if given and isinstance(content, Mapping):
        content = {**content, **given}
    return study_from_mapping(content, text, path, StudyOptions(
        options.law_ignores, options.set, options.params_file, "--trajectory" if options.trajectory else ""))


def _absolute(value: Any) -> Any:
    """A file of the current folder by its whole path, since paths in a study are relative to its file."""
    path = expand_user(value) if isinstance(value, str) else None
    return str(path.absolute()) if path is not None and path.exists() else value


def _checkpoint(task: GainTask, folder: Path, options: Namespace) -> Checkpoint:
    content = digest(task.digest, repr((options.population, options.generations, options.seed, options.pareto)))
    # Laws after the interrupted one have none.
    return Checkpoint(folder / CHECKPOINT, content, options.resume and (folder / CHECKPOINT).is_file())


def _search(task: GainTask, folder: Path, options: Namespace, machine: Mapping[str, Any]) -> None:
    study, law, alone = task.study, task.law, task.rollouts(1) == 1
    studied, begin = study.laws[law], perf_counter()
    before = run_sample(study, task.pairs[0], 0, studied.controller.parameters) if alone else None
    if before is not None and before.note:
        count = options.generations * options.population
        print(f"{before.note}\n{count} rollouts take about {count * (perf_counter() - begin) / 60.0:.1f} min")
    progress = Progress(options.generations, "generations")
    found = search_gains(task, options.population, options.generations, options.seed,
                         _checkpoint(task, folder, options),
                         lambda number, cost: progress.show(number, f"best cost {cost:.6g}"))
    progress.end()
    how = (f"{law} on '{study.robot.name}'{f' for {study.name}' if options.study else ''}: "
           f"{'' if alone else f'{_named(task.goal)} of the '}cost {found.cost_before:.4g} before, "
           f"{found.cost_after:.4g} after {found.rollouts} rollouts")
    if before is not None:
        how += f" of {len(before.time)} control periods of {study.period:g} s"
    print(f"\n{how}\n\n{gains_table(found, study.robot)}\n")
    gains = folder / "parameters.yaml"
    gains.write_text(parameter_file(found, studied.controller.robot, studied.name,
                                    f"Found by robodyn tune, seed {options.seed}: {how}."))
    pictures = _check_on_fresh_samples(task, found, folder, machine) if before is None else _check_on_the_robot(
        task, found, before, folder)
    print(f"\n{written([gains], pictures)}")


def _check_on_the_robot(task: GainTask, found: Tuning, before: Rollout, folder: Path) -> list[Path]:
    """Print the errors of the only motion before and after, draw both, and return the pictures."""
    robot, pictures = task.study.robot, [folder / "search.png", folder / "tracking.png"]
    after, title = run_sample(task.study, task.pairs[0], 0, found.after), f"{task.law} on {robot.name}"
    print(f"Tracking error (desired minus true position):\n\n{tracking_before_and_after(before, after).table()}")
    if is_installed("matplotlib"):
        from robodyn_ros.toolbox.plots.motion_figure import save_motions

        plot_search(found, before, after, pictures[0], title)
        save_motions([curves_of(before, robot, "before"), curves_of(after, robot, "after")], pictures[1],
                     f"{title}: before and after the search")
    return pictures


def _check_on_fresh_samples(task: GainTask, found: Tuning, folder: Path, machine: Mapping[str, Any]) -> list[Path]:
    """Print the errors on samples that the search has not seen, and the margins; draw and return a picture."""
    study, picture = task.study, folder / "errors.png"
    new = GainTask(fresh(study, study.seed + 1), task.law, task.goal, task.space, **machine)
    before, after = (_errors(each) for each in new.evaluated([found.before, found.after]))
    print(f"RMS tracking error on {len(before)} fresh samples [mrad or mm]:\n\n{_before_and_after(before, after)}\n\n"
          f"{margins(new, found.after)}")
    if is_installed("matplotlib"):
        save_cumulative([Cumulated("before", before), Cumulated("after", after)], picture,
                        f"{task.law} on {study.robot.name}: fresh samples of {study.name}",
                        "RMS tracking error [mrad or mm]")
    return [picture]


def _search_front(task: GainTask, folder: Path, options: Namespace) -> None:
    progress, names = Progress(options.generations, "generations"), tuple(options.pareto)
    front = pareto_front(task, (names[0], names[1]), options.population, options.generations, options.seed,
                         _checkpoint(task, folder, options),
                         lambda number, count: progress.show(number, f"{count:.0f} on the front"))
    progress.end()
    study = task.study
    rows = [[row for row in one.flat(study.robot) if row.field in task.space.fields] for one in front.parameters]
    values_file, picture = folder / "front.csv", folder / "front.png"
    with values_file.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*names, *(row.name for row in rows[0])])
        writer.writerows([*values.tolist(), *(row.value for row in each)]
                         for values, each in zip(front.values, rows, strict=True))
    labels = [f"{name} [{METRICS[name].unit}], {_named(task.goal)}" for name in names]
    if is_installed("matplotlib"):
        save_front(front.evaluated[np.isfinite(front.evaluated).all(axis=1)], front.values, {"own gains": front.own},
                   picture, f"{task.law} on {study.robot.name}: {study.name}", (labels[0], labels[1]))
    best = front.values.min(axis=0)
    print(f"\n{task.law}: {len(front.parameters)} gains on the front of {_named(task.goal)}; own gains {names[0]} "
          f"{front.own[0]:.4g}, {names[1]} {front.own[1]:.4g}; least {names[0]} {best[0]:.4g}, least {names[1]} "
          f"{best[1]:.4g}\n\n{written([values_file], [picture])}")


def written(files: list[Path], pictures: list[Path]) -> str:
    """Return a line with the written files, or why there are no pictures."""
    if is_installed("matplotlib"):
        return f"written: {', '.join(map(str, [*files, *pictures]))}"
    return f"written: {', '.join(map(str, files))}; no pictures: {missing_message('matplotlib')}"


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


def searched(tuning: Tuning, robot: Robot) -> list[tuple[FlatParameter, FlatParameter]]:
    """Return the searched flat parameters, before and after."""
    rows = zip(tuning.before.flat(robot), tuning.after.flat(robot), strict=True)
    return [(before, after) for before, after in rows if before.field in tuning.fields]


def gains_table(tuning: Tuning, robot: Robot) -> str:
    """Return the gains before and after, as text."""
    rows = searched(tuning, robot)
    cells = [[f"{before.name} ", f"{before.unit}", f"{before.value:.6g}", f"{after.value:.6g}"]
             for before, after in rows]
    return "\n".join(aligned([["parameter ", "unit", "before", "after"], *cells], -10, 12, gap=" "))


def tracking_before_and_after(before: Rollout, after: Rollout) -> TrackingRecord:
    """Join both rollouts into one record for the table."""
    first, second = before.tracking(), after.tracking()
    gap = first.time[-1] + (first.time[1] - first.time[0] if len(first.time) > 1 else 0.0)
    return replace(first, time=np.concatenate([first.time, second.time + gap]),
                   desired=np.concatenate([first.desired, second.desired]),
                   measured=np.concatenate([first.measured, second.measured]),
                   controllers=["before"] * len(first.time) + ["after"] * len(second.time))


def curves_of(rollout: Rollout, robot: Robot, label: str) -> MotionCurves:
    """Return a rollout's curves for a figure, with the desired tip path if the law follows poses."""
    follows_joints = isinstance(rollout.reference, JointReference)
    time, batch = rollout.time, robot.dynamics().batch
    return MotionCurves(
        label, rollout.joint_names, rollout.units, [(label, float(time[0]), float(time[-1]))], Curves(time, rollout.q),
        Curves(time, rollout.reference.q) if follows_joints else None,
        Curves(time, rollout.reference.q - rollout.q) if follows_joints else None,
        Curves(time, rollout.effort), robot.model.effort_limit, energies=energies(robot, time, rollout.q, rollout.v),
        tip=Curves(time, batch.forward_kinematics(rollout.q)[:, :3, 3]),
        desired_tip=None if follows_joints else Curves(time, rollout.reference.position))


def plot_search(tuning: Tuning, before: Rollout, after: Rollout, path: str | Path, title: str) -> None:
    """Draw the cost by generation and the joints' RMS errors before and after into a PNG file.

    Args:
        tuning: Result of the search.
        before: Rollout with the parameters before.
        after: Rollout with the parameters after.
        path: Path of the picture; its folder must exist.
        title: Heading of the picture.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10.0, 4.2), layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(title)
    costs, errors = figure.subplots(1, 2)
    costs.step(range(1, len(tuning.costs) + 1), tuning.costs, where="post", color="tab:blue", label="best so far")
    costs.axhline(tuning.cost_before, color="grey", linewidth=0.8, linestyle="--", label="before")
    costs.set(xlabel="generation", ylabel="cost")
    costs.set_ylim(bottom=0.0)
    costs.legend()
    record = before.tracking()
    places = np.arange(len(record.joint_names))
    for shift, rollout, color, label in ((-0.2, before, "grey", "before"), (0.2, after, "tab:blue", "after")):
        errors.bar(places + shift, 1e3 * rollout.score.rms_error[: len(places)], 0.4, color=color, label=label)
    errors.set_xticks(places, record.joint_names, rotation=30, ha="right", fontsize="small")
    errors.set_ylabel("RMS error [" + " or ".join(f"m{unit}" for unit in dict.fromkeys(record.units)) + "]")
    errors.legend()
    figure.savefig(path, dpi=110)


def parameter_file(tuning: Tuning, robot: Robot, controller: str, comment: str) -> str:
    """Return a YAML file of ROS parameters that selects the controller, with the gains found and all set values.

    Args:
        tuning: Result of the search.
        robot: The robot.
        controller: Name of the controller.
        comment: Comment at the top, one or more lines.
    """
    parameters: dict[str, Any] = {"controller": controller}
    defaults = {row.name: row.value for row in type(tuning.after)().flat(robot)}
    for after in tuning.after.flat(robot):
        if after.field not in tuning.fields and after.value == defaults[after.name]:
            continue
        *groups, leaf = f"{prefix(controller)}.{after.name}".split(".")
        table = parameters
        for group in groups:
            table = table.setdefault(group, {})
        table[leaf] = after.value
    text = yaml.safe_dump({"/**": {"ros__parameters": parameters}}, sort_keys=False)
    return "".join(f"# {line}\n" for line in comment.splitlines()) + text
