# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Figure of a touch: the force against time, and the path in the plane of the wall."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from robodyn_ros.description.model import Array


def save_touch(path: Path, title: str, force_times: Array, force: Array, wanted: float, desired: Array,
               measured: Array) -> None:
    """Save the figure.

    Args:
        path: File of the figure.
        title: Its title.
        force_times: Times of the forces, shape (K,) [s].
        force: Force on the wall, shape (K,) [N].
        wanted: Desired force [N].
        desired: Desired positions in the plane of the wall, shape (N, 2) [m].
        measured: Measured positions in this plane, shape (N, 2) [m].
    """
    with mpl.rc_context({"font.size": 9, "axes.grid": True, "grid.alpha": 0.3}):
        figure = Figure(figsize=(10, 4.2), layout="constrained")
        figure.suptitle(title)
        pressing, drawing = figure.subplots(1, 2, width_ratios=[1.5, 1.0])
        pressing.plot(force_times, force, lw=1.0, label="measured")
        pressing.axhline(wanted, color="k", lw=0.8, ls="--", label="desired")
        pressing.set(xlabel="time [s]", ylabel="force on the wall [N]")
        pressing.legend(loc="lower right")
        pressing.set_ylim(0.0, max(1.3 * wanted, 1.05 * float(np.max(force, initial=0.0))))
        drawing.plot(*(1000.0 * measured.T), lw=1.4, label="measured")
        drawing.plot(*(1000.0 * desired.T), "k--", lw=0.8, label="desired")
        drawing.set(xlabel="y [mm]", ylabel="z [mm]", aspect="equal")
        drawing.legend(loc="center")
        figure.savefig(path, dpi=120)
