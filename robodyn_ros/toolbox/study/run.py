# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Runs a study: all samples of each law and motion, block by block, or a single sample."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from robodyn_ros import __version__
from robodyn_ros.base.errors import InputError, PluginError, RecordingError, error_text
from robodyn_ros.description.model import Array
from robodyn_ros.toolbox.study.blocks import map_blocks
from robodyn_ros.toolbox.study.loop_description import PARAMETERS
from robodyn_ros.toolbox.study.metrics import REFUSED, effort_scale, metrics, reasons
from robodyn_ros.toolbox.study.results import (
    LAW,
    MOTION,
    PROCESSOR,
    REASON,
    SAMPLE,
    STREAM,
    TABLE,
    About,
    Results,
    ResultStream,
)
from robodyn_ros.toolbox.study.study import Pair, Study


def about(study: Study) -> About:
    """Return the origin of a study's results."""
    return About(str(study.path), study.digest, study.text, __version__, study.seed, study.rows,
                 tuple(axis.column for axis in study.axes), dict(study.limits))


def run_study(study: Study, folder: Path, *, resume: bool = False, threads: int = 1,
              on_rows: Callable[[int], None] = lambda _: None, **options: Any) -> Results:
    """Compute all samples of a study.

    Args:
        study: The study.
        folder: Folder of the results: blocks are appended to `results.STREAM`; `results.TABLE` has all in the end.
        resume: Whether to keep the samples of an interrupted run in the folder.
        threads: Threads that share the samples of a block.
        on_rows: Called with the number of rows so far.
        **options: Options of `map_blocks`.

    Raises:
        InputError: The folder has results of another study; or it has results, and ``resume`` is False.
        RecordingError: A file cannot be written; the samples so far are kept.
    """
    kept = check_folder(study, folder, resume)
    stream = ResultStream(folder / STREAM, about(study), kept)
    try:
        on_rows(0 if kept is None else kept.num_rows)
        for pair in study.pairs:
            _run_pair(study, pair, stream, on_rows, threads, options)
        results = stream.results()
    finally:
        stream.close()
    results = Results(results.about, _ordered(results.table, study))
    results.write(folder / TABLE)
    (folder / STREAM).unlink()
    return results


def check_folder(study: Study, folder: Path, resume: bool) -> pa.Table | None:
    """Return the rows of an earlier run of a study, or None if there are none.

    Args:
        study: The study.
        folder: Folder of its results.
        resume: Whether to continue an earlier run.

    Raises:
        InputError: The results belong to another study; or ``resume`` does not fit.
        RecordingError: The results cannot be read.
    """
    if not any((folder / name).is_file() for name in (STREAM, TABLE)):
        if resume:
            raise InputError(f"--resume: there are no results in '{folder}'; leave it out for a new run")
        return None
    before = Results.read(folder)
    check_origin(before.about, about(study), folder)
    _check_rows(before, study, folder)
    if not resume:
        raise InputError(f"'{folder}' holds {before.table.num_rows} of {study.rows} rows of this study: add --resume "
                         "to go on with them, or give another --output")
    return before.table


def _check_rows(results: Results, study: Study, folder: Path) -> None:
    """Refuse rows of an unknown law, motion or sample, and duplicate rows."""
    samples = [results.rows(*pair).numbers(SAMPLE) for pair in study.pairs]
    known = [np.unique(each[(each >= 0) & (each < study.count)]) for each in samples]
    if sum(map(len, known)) < results.table.num_rows:
        raise RecordingError(f"'{folder}' holds rows that the study does not have, or one of them twice; give another "
                             "--output")


def check_origin(found: About, expected: About, folder: Path) -> None:
    """Check that results belong to a study.

    Raises:
        InputError: They belong to another study, to another content of it, or to another version of the package.
    """
    if (found.digest, found.version) != (expected.digest, expected.version):
        raise InputError(f"'{folder}' holds results of another study: '{found.path}', seed {found.seed}, robodyn_ros "
                         f"{found.version or 'unknown'}; expected those of '{expected.path}', seed {expected.seed}, "
                         f"{expected.version}, with the robot and files as they are now: give another "
                         "--output")


def score_columns(study: Study, score: Any, packed: Array) -> dict[str, Any]:
    """Return metrics and reasons of samples as columns, given their packed parameters."""
    found = metrics(score, effort_scale(study.robot.model.effort_limit))
    refused = np.isnan(packed).any(axis=1)
    columns = {name: np.where(refused, np.nan, values) for name, values in found.items()}
    return {**columns, REASON: np.where(refused, REFUSED, reasons(found, study.limits))}


def _run_pair(study: Study, pair: Pair, stream: ResultStream, on_rows: Callable[[int], None], threads: int,
              options: dict[str, Any]) -> None:
    done = list(_done(stream.results().rows(*pair), study.count))
    if done == [(0, study.count)]:
        return
    description = study.description(pair)
    fixed = {LAW: pair.law, MOTION: pair.motion}
    own = {axis.column for axis in study.law_axes(pair.law)}

    def axes(begin: int, end: int) -> dict[str, Any]:
        return {column: values[begin:end] for column, values in study.values.items() if column in own}

    arrays = study.arrays(pair, description.scenario)
    try:
        for block in map_blocks(description, arrays, threads=threads, done=done, **options):
            stream.append({**fixed, SAMPLE: np.arange(block.begin, block.end), **axes(block.begin, block.end),
                           **score_columns(study, block.score, arrays[PARAMETERS][block.begin:block.end]),
                           PROCESSOR: block.processor})
            on_rows(stream.row_count)
    except PluginError as error:  # other laws continue
        missing = np.setdiff1d(np.arange(study.count), stream.results().rows(*pair).numbers(SAMPLE))
        stream.append({**fixed, SAMPLE: missing.astype(int), REASON: error_text(error)})
        on_rows(stream.row_count)


def _done(before: Results, count: int) -> Iterable[tuple[int, int]]:
    """Yield begin and end of the runs of consecutive samples."""
    there = np.zeros(count + 2, dtype=np.int8)
    there[before.numbers(SAMPLE).astype(int) + 1] = 1
    changes = np.flatnonzero(np.diff(there))
    yield from zip(changes[::2].tolist(), changes[1::2].tolist(), strict=True)


def _ordered(table: pa.Table, study: Study) -> pa.Table:
    """Sort rows by law, motion and sample."""
    results = Results(about(study), table)
    if table.num_rows != study.rows:
        raise RecordingError(f"study: expected {study.rows} rows, received {table.num_rows}; remove the folder, and "
                             "run the study again")
    places = {pair: place for place, pair in enumerate(study.pairs)}
    pairs = [places[Pair(law, motion)] for law, motion in zip(results.text(LAW), results.text(MOTION), strict=True)]
    return table.take(np.lexsort((results.numbers(SAMPLE), np.array(pairs))))
