# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Figure of measured efforts against those of a model: a row for each joint, a column for each recording."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from robodyn_ros.description.model import Array

MAX_POINTS = 3000
"""Points of a curve, of which every so many-th sample is drawn."""


@dataclass(frozen=True, eq=False)
class EffortComparison:
    """Efforts of one recording at K samples.

    Attributes:
        label: Name of the recording and its use.
        time: Shape (K,) [s].
        measured: Shape (K, n) [N m or N].
        identified: By the identified model; NaN where a joint rests, shape (K, n) [N m or N].
        described: By the description, likewise, shape (K, n) [N m or N].
    """

    label: str
    time: Array
    measured: Array
    identified: Array
    described: Array


@matplotlib.rc_context({"text.parse_math": False})  # names are no formulas
def save_efforts(comparisons: Sequence[EffortComparison], joints: Sequence[str], units: Sequence[str], scale: Array,
                 path: Path, title: str) -> None:
    """Draw the efforts into a PNG or SVG file.

    Args:
        comparisons: A column for each.
        joints: Names of the n joints.
        units: Of their efforts.
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
