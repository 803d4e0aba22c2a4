# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Figure of measured positions and those that recorded efforts give in simulation: a row for each joint."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from robodyn_ros.description.model import Array


@matplotlib.rc_context({"text.parse_math": False})  # names are no formulas
def save_replay(time: Array, measured: Array, simulated: Array, joints: Sequence[str], units: Sequence[str],
                errors: Array, path: Path, title: str) -> None:
    """Draw positions, and their differences, into a PNG or SVG file.

    Args:
        time: Shape (K,) [s].
        measured: Positions, shape (K, n) [rad or m].
        simulated: Likewise.
        joints: Names of the n joints.
        units: Of their positions.
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
