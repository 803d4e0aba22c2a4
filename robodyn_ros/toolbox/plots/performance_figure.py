# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""A picture of the performance of controllers: tip errors and efforts over time, and their RMS, work and saturation."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from robodyn_ros.toolbox.study.performance import Performance, rms


def save_performances(performances: Sequence[Performance], path: str | Path, title: str) -> None:
    """Draw tip errors and efforts over time, and the RMS of both, work and saturation, into a PNG file.

    The controllers are in the order of their tip errors.

    Args:
        performances: Results of the controllers.
        path: Path of the picture; its folder must exist.
        title: Heading of the picture.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    order = sorted(performances, key=lambda one: rms(one.tip_error))
    rows = max(len(order), 4)
    figure = Figure(figsize=(13.0, 4.2 + 0.28 * rows), layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(title)
    grid = figure.add_gridspec(2, 4, height_ratios=[3.2, 0.28 * rows + 0.4])
    errors, efforts = figure.add_subplot(grid[0, :2]), figure.add_subplot(grid[0, 2:])
    colors = [f"tab:{name}" for name in ("blue", "orange", "green", "red", "purple", "brown")]
    # Only the best and the worst have colours and names, because many more lines could not be distinguished.
    count = len(order) if len(order) <= len(colors) else 3
    named = dict(zip([*order[:count], *order[count:][-3:]], colors, strict=False))
    for one in [*(one for one in order if one not in named), *named]:
        color = named.get(one, "lightgrey")
        label = one.controller if one in named else None
        errors.plot(one.time, 1e3 * one.tip_error, color=color, linewidth=1.2, label=label)
        efforts.plot(one.time, 1e2 * np.abs(one.effort_share).max(axis=1), color=color, linewidth=1.2)
    errors.set(xlabel="time [s]", ylabel="tip error [mm]", yscale="symlog")
    errors.set_ylim(bottom=0.0)
    efforts.set(xlabel="time [s]", ylabel="greatest effort [% of limit]")
    handles, labels = errors.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=6, fontsize="small",
                  title="" if len(named) == len(order) else "smallest and greatest tip errors; the others are grey")
    places = np.arange(len(order))
    for column, (label, values) in enumerate((
        ("RMS tip error [mm]", [1e3 * rms(one.tip_error) for one in order]),
        ("RMS effort [% of limit]", [1e2 * rms(one.effort_share) for one in order]),
        ("work [J]", [one.work for one in order]),
        ("saturated [% of time]", [1e2 * one.saturated for one in order]),
    )):
        axis = figure.add_subplot(grid[1, column])
        # Dots: a bar has no length on a logarithmic axis.
        axis.plot(values, places, "o", color="tab:blue", clip_on=False, zorder=3)
        if column == 0 and min(values) > 0.0:
            axis.set_xscale("log")
        else:
            axis.set_xlim(0.0, 1.1 * max(*values, 1.0))
        axis.set_yticks(places, [one.controller for one in order] if column == 0 else [""] * len(order),
                        fontsize="small")
        axis.set_ylim(len(order) - 0.5, -0.5)
        axis.grid(alpha=0.4)
        axis.set_xlabel(label)
    figure.savefig(path, dpi=100)
