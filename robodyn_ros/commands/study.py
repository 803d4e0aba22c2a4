# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""``robodyn study``: laws on thousands of varied robots, as a table, plots and a file of all samples."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import Any

from robodyn_ros.base.errors import InputError, suggest
from robodyn_ros.base.fields import Field
from robodyn_ros.base.optional_packages import require
from robodyn_ros.base.text_tables import aligned
from robodyn_ros.commands.cluster_options import add_machine_options, machine_options
from robodyn_ros.commands.options import Subparsers, add_options


def add_commands(commands: Subparsers) -> None:
    """Add ``study``."""
    study = commands.add_parser(
        "study", help="simulate laws on thousands of robots that differ in payload, friction, model and gains",
        description="Simulate the laws of a study on samples of its distributions. Prints a table, draws errors and "
        "influences, and writes all samples as Parquet. With --sample, simulates one sample again alone and records "
        "its motion.")
    study.add_argument("study", metavar="STUDY", type=Path, help="YAML file of a study, or the folder with its results")
    study.add_argument("--output", type=Path, help="folder for the results (default: the study's name)")
    study.add_argument("--resume", action="store_true", help="keep the samples of an interrupted run")
    add_options(study, Field("sample", None, "Simulate sample K alone, and write its motion for robodyn plot", kind=int,
                             minimum=0), metavar="K")
    study.add_argument("--law", help="law of --sample (default: the first)")
    study.add_argument("--trajectory", help="trajectory of --sample (default: the first)")
    add_options(study, Field("sobol", None, "Compute Sobol indices too, by POINTS * (varied numbers + 2) more "
                             "rollouts of each law; a power of two", kind=int, minimum=2,
                             check=_is_power_of_two), metavar="POINTS")
    add_machine_options(study)
    study.set_defaults(run=run_study_command)


def _is_power_of_two(points: int) -> None:
    if points & (points - 1):
        raise InputError(f"expected a power of two, received {points}")


def run_study_command(options: Namespace) -> int:
    """Run a study, or one of its samples.

    Returns:
        The exit code: 0, or 1 if a law failed in all samples.

    Raises:
        RobodynError: The study cannot be read, results of another one exist, or a package is missing.
        OSError: A file cannot be written.
    """
    require("pyarrow")
    require("matplotlib")
    from robodyn_ros.commands.given_studies import file_of_results, remember
    from robodyn_ros.commands.study_file import read_study
    from robodyn_ros.toolbox.study.analysis import differing_axes
    from robodyn_ros.toolbox.study.results import Results
    from robodyn_ros.toolbox.study.run import check_folder

    for name in ("law", "trajectory"):
        if options.sample is None and getattr(options, name) is not None:
            raise InputError(f"study: --{name} has no effect without --sample; leave it out")
    for name in ("threads", "scheduler"):
        if options.sample is not None and getattr(options, name) is not None:
            raise InputError(f"study: --{name} has no effect with --sample, which is one rollout; leave it out")
    is_folder = options.study.is_dir()
    path = file_of_results(Results.read(options.study).about, options.study) if is_folder else options.study
    study = read_study(path)
    remember(study.path)
    folder = options.output or (options.study if is_folder else Path(f"{path.stem}_study"))
    if options.sample is not None:
        return _run_sample(study, folder, options)
    if options.sobol is not None and not any(differing_axes(study, law) for law in study.laws):
        raise InputError(f"study: sobol: expected numbers that differ from sample to sample, received none in {path}")
    check_folder(study, folder, options.resume)
    with machine_options("study", options) as machine:
        return _run_all(study, folder, options, machine)


def _run_all(study: Any, folder: Path, options: Namespace, machine: dict[str, Any]) -> int:
    from robodyn_ros.commands.progress import Progress
    from robodyn_ros.toolbox.plots.study_figure import Cumulated, save_cumulative, save_influences
    from robodyn_ros.toolbox.study.analysis import (
        rank_correlations,
        sensitivity_table,
        sobol_indices,
        succeeded,
        summaries,
        table,
    )
    from robodyn_ros.toolbox.study.results import TABLE
    from robodyn_ros.toolbox.study.run import run_study

    progress = Progress(study.rows, "rollouts")
    results = run_study(study, folder, resume=options.resume, on_rows=lambda rows: progress.show(rows, ""), **machine)
    progress.end()
    title = f"{study.name} on {study.robot.name}"
    written = [folder / TABLE]
    for joints, name, unit in ((True, "joints", "mrad or mm"), (False, "tip", "mm or mrad")):
        laws = [law for law in study.laws if study.follows_joints(law) is joints]
        if not laws:
            continue
        chosen = results.for_laws(laws)
        print(f"\nRMS tracking error of laws that follow {'joints' if joints else 'poses of the tip link'} [{unit}], "
              f"{study.count} samples each:\n\n{table(chosen)}")
        curves = [Cumulated(f"{law}, {motion}" if len(study.motions) > 1 else law,
                            succeeded(chosen.rows(law, motion), "rms_error"))
                  for law in laws for motion in study.motions]
        influences = {law: rank_correlations(chosen, law) for law in laws}
        pictures = [folder / f"errors_{name}.png", folder / f"influences_{name}.png"]
        save_cumulative(curves, pictures[0], title, f"RMS tracking error [{unit}]")
        if any(influences.values()):
            columns = list(dict.fromkeys(column for each in influences.values() for column in each))
            print("\nRank correlation of varied numbers with the RMS error:\n\n" + sensitivity_table(
                columns, {law: [each.get(column, float("nan")) for column in columns]
                          for law, each in influences.items()}))
            save_influences(influences, pictures[1], title, "rank correlation with the RMS error")
        written += [picture for picture in pictures if picture.is_file()]
    if options.sobol:
        found = {}
        for pair in study.pairs:
            indices = sobol_indices(study, pair, options.sobol, **machine)
            label = f"{pair.law}, {pair.motion}" if len(study.motions) > 1 else pair.law
            found[label] = dict(zip(indices.columns, indices.total.tolist(), strict=True))
            print(f"\nSobol indices of the RMS error, {label}:\n\n" + sensitivity_table(
                indices.columns, {"alone": indices.first.tolist(), "in total": indices.total.tolist()}))
        save_influences(found, folder / "sobol.png", title, "total Sobol index of the RMS error", signed=False)
        written.append(folder / "sobol.png")
    print("\nwritten: " + ", ".join(map(str, written)))
    failed = [row.law for row in summaries(results) if sum(row.failures.values()) == row.count]
    if failed:
        print(f"failed in all samples: {', '.join(dict.fromkeys(failed))}")
    return 1 if failed else 0


def _run_sample(study: Any, folder: Path, options: Namespace) -> int:
    require("mcap_ros2")
    from robodyn_ros.commands.required import ros_required
    from robodyn_ros.commands.rollout_recording import save_rollout
    from robodyn_ros.toolbox.study.results import STREAM, TABLE, Results
    from robodyn_ros.toolbox.study.run import about, check_origin
    from robodyn_ros.toolbox.study.study import Pair, run_sample

    pair = Pair(_chosen("law", options.law, study.laws), _chosen("trajectory", options.trajectory, study.motions))
    if any((folder / name).is_file() for name in (TABLE, STREAM)):
        check_origin(Results.read(folder).about, about(study), folder)
    rollout = run_sample(study, pair, options.sample)
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{pair.law.replace(':', '.')}_{options.sample}.mcap"
    with ros_required():
        save_rollout(rollout, study.robot, pair.law, file)
    own = [axis.column for axis in study.law_axes(pair.law)]
    print("\n".join([f"sample {options.sample} of {study.name} under {pair.law}, {pair.motion}:", *aligned(
        [[f"  {column}", f"{study.values[column][options.sample]:.6g}"] for column in own], 0)]))
    print(f"\nTracking error (desired minus true position):\n\n{rollout.tracking().table()}")
    print(f"\nwritten: {file}; robodyn plot {file}")
    return 0


def _chosen(what: str, name: str | None, known: Any) -> str:

    if name is not None and name not in known:
        raise InputError(f"study: {what}: the study has no '{name}': {suggest(name, known)}")
    return name or next(iter(known))
