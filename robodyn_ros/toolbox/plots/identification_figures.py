# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Figures of identification: measured efforts, positions and frequency responses against those of a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from robodyn_ros.description.model import Array
from robodyn_ros.toolbox.identification.response_fit import MIN_COHERENCE, ResponseFit

MAX_POINTS = 3000
"""Greatest number of points of a curve; longer ones are thinned."""

_COLUMNS = 4


@dataclass(frozen=True, eq=False)
class EffortComparison:
    """Efforts of one recording at K samples."""

    label: str  # name of the recording and its use
    time: Array  # times, shape (K,) [s]
    measured: Array  # measured efforts, shape (K, n) [N m or N]
    identified: Array  # efforts of the identified model, NaN for joints at rest, shape (K, n) [N m or N]
    described: Array  # efforts of the description, NaN for joints at rest, shape (K, n) [N m or N]


@matplotlib.rc_context({"text.parse_math": False})  # names are no formulas
def save_efforts(comparisons: Sequence[EffortComparison], joints: Sequence[str], units: Sequence[str], scale: Array,
                 path: Path, title: str) -> None:
    """Draw the efforts into a PNG or SVG file.

    Args:
        comparisons: The recordings, one column each.
        joints: Names of the n joints.
        units: Units of their efforts.
        scale: Full scale of the efforts, shape (n,) [N m or N].
        path: The file.
        title: Heading.

    Raises:
        OSError: The file cannot be written.
    """
    rows, columns = len(joints), len(comparisons)
    figure = Figure(figsize=(7.0 * columns, 1.7 * rows + 1.0), layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(title)
    grid = figure.subplots(rows, columns, squeeze=False, sharex="col", sharey="row")
    for column, one in enumerate(comparisons):
        step = -(-len(one.time) // MAX_POINTS)
        for row, joint in enumerate(joints):
            axes = grid[row, column]
            for values, color, width, label in ((one.measured, "0.75", 1.6, "measured"),
                                                (one.described, "tab:orange", 0.8, "description"),
                                                (one.identified, "tab:blue", 1.0, "identified model")):
                axes.plot(one.time[::step], values[::step, row], color=color, linewidth=width, label=label)
            square = (one.measured[:, row] - one.identified[:, row]) ** 2
            error = np.sqrt(square[np.isfinite(square)].mean()) / scale[row] if np.isfinite(square).any() else np.nan
            axes.set_title(joint if column == 0 else "", fontsize="small", loc="left", pad=3)
            axes.set_title(f"RMS error {error:.2%} of {scale[row]:g} {units[row]}", fontsize="x-small", loc="right",
                           pad=3)
            if column == 0:
                axes.set_ylabel(f"effort [{units[row]}]", fontsize="small")
            axes.tick_params(labelsize="small")
            axes.margins(x=0.0)
        grid[-1, column].set_xlabel("time [s]", fontsize="small")
        grid[0, column].annotate(one.label, (0.5, 1.25), xycoords="axes fraction", ha="center", fontsize="medium")
    handles, labels = grid[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, fontsize="small")
    figure.savefig(path, dpi=100)


@matplotlib.rc_context({"text.parse_math": False})  # names are no formulas
def save_replay(time: Array, measured: Array, simulated: Array, joints: Sequence[str], units: Sequence[str],
                errors: Array, path: Path, title: str) -> None:
    """Draw positions, and their differences, into a PNG or SVG file.

    Args:
        time: Times, shape (K,) [s].
        measured: Measured positions, shape (K, n) [rad or m].
        simulated: Simulated positions, shape (K, n) [rad or m].
        joints: Names of the n joints.
        units: Units of their positions.
        errors: Root mean squares of the differences, shape (n,) [rad or m].
        path: The file.
        title: Heading.

    Raises:
        OSError: The file cannot be written.
    """
    figure = Figure(figsize=(14.0, 1.7 * len(joints) + 1.0), layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(title)
    grid = figure.subplots(len(joints), 2, squeeze=False, sharex=True)
    for j, (joint, unit) in enumerate(zip(joints, units, strict=True)):
        left, right = grid[j]
        left.plot(time, measured[:, j], color="0.7", linewidth=2.0, label="measured")
        left.plot(time, simulated[:, j], color="tab:blue", linewidth=0.9, label="simulated")
        right.plot(time, simulated[:, j] - measured[:, j], color="tab:red", linewidth=0.8, label="difference")
        right.axhline(0.0, color="0.7", linewidth=0.5)
        left.set_title(joint, fontsize="small", loc="left", pad=3)
        right.set_title(f"RMS {errors[j]:.3g} {unit}", fontsize="x-small", loc="right", pad=3)
        left.set_ylabel(f"position [{unit}]", fontsize="small")
        for axes in (left, right):
            axes.tick_params(labelsize="small")
            axes.margins(x=0.0)
        finite = np.abs((simulated - measured)[:, j])
        right.set_ylim(-1.1 * max(finite.max(), 1e-6), 1.1 * max(finite.max(), 1e-6))
    for axes in grid[-1]:
        axes.set_xlabel("time [s]", fontsize="small")
    handles, labels = grid[0, 0].get_legend_handles_labels()
    more, names = grid[0, 1].get_legend_handles_labels()
    figure.legend(handles + more, labels + names, loc="outside lower center", ncols=3, fontsize="small")
    figure.savefig(path, dpi=100)


def save_responses(fit: ResponseFit, joints: Sequence[str], path: Path, title: str) -> None:
    """Draw the responses of all motors to their own torques into a PNG or SVG file.

    Args:
        fit: Fit of the responses.
        joints: Names of the n joints.
        path: The file.
        title: Heading.

    Raises:
        OSError: The file cannot be written.
    """
    measured, columns = fit.measured, min(len(joints), _COLUMNS)
    rows = -(-len(joints) // columns)
    figure = Figure(figsize=(max(3.2 * columns, 5.0) + 0.6, 3.4 * rows + 0.8), layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(title, parse_math=False)  # names are not formulas, but labels with powers are
    grid = figure.subplots(2 * rows, columns, squeeze=False, sharex=True, height_ratios=[3.0, 1.0] * rows)
    for axes in grid.flat:
        axes.set_visible(False)
    for j, joint in enumerate(joints):
        magnitude, coherence = grid[2 * (j // columns):2 * (j // columns) + 2, j % columns]
        used = measured.used[:, j]
        magnitude.loglog(measured.frequency, np.abs(measured.response[:, j, j]), color="0.8", label="measured")
        magnitude.loglog(measured.frequency, np.where(used, np.abs(measured.response[:, j, j]), np.nan), color="0.4",
                         label="measured, used")
        magnitude.loglog(measured.frequency, np.abs(fit.fitted[:, j, j]), color="tab:blue", linewidth=1.0,
                         label="fitted")
        coherence.semilogx(measured.frequency, measured.coherence[:, j], color="0.4", linewidth=0.8)
        coherence.axhline(MIN_COHERENCE, color="tab:orange", linewidth=0.8)
        coherence.set_ylim(0.0, 1.05)
        if used.any():  # noise at other frequencies would hide the response
            shown = np.abs(np.concatenate([measured.response[used, j, j], fit.fitted[:, j, j]]))
            magnitude.set_ylim(0.5 * shown.min(), 2.0 * shown.max())
        if fit.springs.identified[j]:
            magnitude.axvline(fit.antiresonance[j], color="tab:blue", linestyle=":", label="antiresonance")
        magnitude.set_title(joint, fontsize="small", loc="left", pad=3, parse_math=False)
        magnitude.set_title("" if fit.springs.identified[j] else "not identified", fontsize="x-small", loc="right",
                            pad=3)
        for axes in (magnitude, coherence):
            axes.set_visible(True)
            axes.tick_params(labelsize="small")
            axes.margins(x=0.0)
        if j % columns == 0:
            magnitude.set_ylabel("acceleration / torque [1/(kg m²)]", fontsize="small")
            coherence.set_ylabel("coherence", fontsize="small")
        coherence.set_xlabel("frequency [Hz]", fontsize="small")
    handles = dict(zip(*reversed([list(each) for each in zip(*(
        pair for axes in grid[::2].flat for pair in zip(*axes.get_legend_handles_labels(), strict=True)),
        strict=True)]), strict=True))
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=2, fontsize="small")
    figure.savefig(path, dpi=100)
