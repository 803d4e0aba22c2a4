# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Figures of motions: a row for each joint, a column for each quantity, and who controlled when at the top."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from robodyn_ros.description.model import Array
from robodyn_ros.errors import InputError
from robodyn_ros.plots.motion import Curves, MotionCurves

RUN_COLORS = ("tab:blue", "tab:orange", "tab:green", "tab:red")
SPAN_COLORS = ("#cfe2f3", "#d9ead3", "#fff2cc", "#f4cccc", "#d9d2e9", "#d0e0e3")
MOST_POINTS = 4000
"""Points of a curve, of which every so many-th sample is drawn."""
WIDTH, ROW, STRIP, EXTRA = 4.2, 1.5, 0.26, 2.8
"""Width of a column, and heights of a joint, of the strip of one run and of energy and path [inch]."""
QUANTITIES = {"position": "position", "error": "error", "effort": "effort", "current": "current [A]",
              "voltage": "voltage [V]"}


@matplotlib.rc_context({"text.parse_math": False})  # names are no formulas
def save_motions(motions: Sequence[MotionCurves], path: str | Path, title: str) -> None:
    """Draw motions of the same joints into a PNG or SVG file, see :func:`motion_figure`.

    Raises:
        InputError: The motions have other joints, or Matplotlib does not know the format.
        OSError: The file cannot be written.
    """
    try:
        motion_figure(motions, title).savefig(path, dpi=110)
    except ValueError as error:  # Matplotlib does not know the format
        raise InputError(f"{path}: {error}") from None


@matplotlib.rc_context({"text.parse_math": False})  # names are no formulas
def motion_figure(motions: Sequence[MotionCurves], title: str) -> Figure:
    """Return a figure of motions of the same joints.

    Args:
        motions: The motions; each is drawn from its own time 0.
        title: Heading of the figure.

    Raises:
        InputError: The motions have other joints.
    """
    names = list(motions[0].joint_names)
    for other in motions[1:]:
        if list(other.joint_names) != names:
            raise InputError(f"plot: expected runs of one robot, received the joints {', '.join(names)} in "
                             f"'{motions[0].label}' and {', '.join(other.joint_names)} in '{other.label}'")
    columns = [name for name in QUANTITIES if any(getattr(motion, name) is not None for motion in motions)]
    extras = [name for name in ("energies", "tip") if any(getattr(motion, name) is not None for motion in motions)]
    strip = STRIP * len(motions)
    heights = [strip, *[ROW] * len(names), *([EXTRA] if extras else [])]
    figure = Figure(figsize=(max(WIDTH * len(columns), 2 * WIDTH), sum(heights) + 1.2), layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(title)
    grid = figure.add_gridspec(len(heights), len(columns) * 2, height_ratios=heights)
    first: Any = None
    for column, quantity in enumerate(columns):
        place = slice(2 * column, 2 * column + 2)
        top = figure.add_subplot(grid[0, place], sharex=first)
        first = first or top
        _draw_controllers(top, motions)
        for joint, name in enumerate(names):
            axes = figure.add_subplot(grid[1 + joint, place], sharex=first)
            _draw_joint(axes, motions, quantity, joint)
            axes.set_ylabel(_unit(quantity, motions[0].units[joint]), fontsize="small")
            axes.set_title(name, fontsize="small", loc="left", pad=3)  # beside the curves, never over them
            axes.tick_params(labelsize="small", labelbottom=joint == len(names) - 1)
        axes.set_xlabel("time [s]", fontsize="small")
    for number, extra in enumerate(extras):
        middle = len(columns)
        place = slice(0, middle) if number == 0 and len(extras) == 2 else slice(middle if number else 0, 2 * middle)
        if extra == "energies":
            _draw_energies(figure.add_subplot(grid[-1, place]), motions)
        else:
            _draw_path(figure.add_subplot(grid[-1, place], projection="3d"), motions)
    _draw_legend(figure, motions)
    return figure


def _draw_controllers(axes: Any, motions: Sequence[MotionCurves]) -> None:
    """A strip for each run, with a field for each controller in force."""
    colors = _span_colors(motions)
    end = max(float(motion.position.time[-1]) for motion in motions)
    for row, motion in enumerate(motions):
        for name, start, stop in motion.controllers:
            axes.barh(-row, stop - start, left=start, height=0.9, color=colors[name], linewidth=0)
            if stop - start > 0.015 * end * len(name):  # otherwise the name would not fit
                axes.text((start + stop) / 2.0, -row, name, ha="center", va="center", fontsize="x-small", clip_on=True)
    axes.set_ylim(-len(motions) + 0.5, 0.5)
    axes.set_yticks([-row for row in range(len(motions))], [motion.label for motion in motions]
                    if len(motions) > 1 else ["law"], fontsize="x-small")
    axes.tick_params(length=0, labelbottom=False)
    for spine in axes.spines.values():
        spine.set_visible(False)


def _draw_joint(axes: Any, motions: Sequence[MotionCurves], quantity: str, joint: int) -> None:
    colors = _span_colors(motions)
    if len(motions) == 1:
        for name, start, stop in motions[0].controllers:
            axes.axvspan(start, stop, color=colors[name], alpha=0.6, linewidth=0)
    scale = 1e3 if quantity == "error" else 1.0
    drawn: list[Array] = []
    for motion, color in zip(motions, RUN_COLORS, strict=False):
        curves = getattr(motion, quantity)
        if curves is not None:
            time, values = _thinned(curves)
            axes.plot(time, scale * values[:, joint], color=color, linewidth=1.2)
            drawn.append(scale * values[:, joint])
        if quantity == "position" and motion.desired is not None:
            time, values = _thinned(motion.desired)
            axes.plot(time, values[:, joint], color="black", linewidth=0.9, linestyle="--")
    if quantity == "error":
        axes.axhline(0.0, color="grey", linewidth=0.6)
    limit = motions[0].effort_limit
    if quantity == "effort" and limit is not None and np.isfinite(limit[joint]):
        greatest = max((float(np.nanmax(np.abs(values))) for values in drawn if np.isfinite(values).any()), default=0.0)
        if greatest > 0.5 * limit[joint]:
            for side in (-1.0, 1.0):
                axes.axhline(side * limit[joint], color="tab:red", linewidth=0.9, linestyle=":")
        axes.set_title(f"at most {greatest / limit[joint]:.0%} of {limit[joint]:g}", fontsize="x-small", loc="right",
                       pad=3, color="tab:red")
    axes.margins(x=0.0)


def _draw_energies(axes: Any, motions: Sequence[MotionCurves]) -> None:
    for motion, color in zip(motions, RUN_COLORS, strict=False):
        if motion.energies is not None:
            time, values = _thinned(motion.energies)
            for column, style, name in ((0, "-", "kinetic"), (1, "--", "potential")):
                label = f"{name}, {motion.label}" if len(motions) > 1 else name
                axes.plot(time, values[:, column], color=color, linewidth=1.2, linestyle=style, label=label)
    axes.set_xlabel("time [s]", fontsize="small")
    axes.set_ylabel("energy [J]", fontsize="small")
    axes.tick_params(labelsize="small")
    axes.legend(fontsize="x-small")


def _draw_path(axes: Any, motions: Sequence[MotionCurves]) -> None:
    for motion, color in zip(motions, RUN_COLORS, strict=False):
        if motion.tip is not None:
            axes.plot(*_thinned(motion.tip)[1].T, color=color, linewidth=1.2)
        if motion.desired_tip is not None:
            axes.plot(*_thinned(motion.desired_tip)[1].T, color="black", linewidth=0.8, linestyle="--")
    axes.set_title("path of the tip link [m]", fontsize="small")
    axes.set_aspect("equal", adjustable="datalim")
    axes.tick_params(labelsize="x-small", pad=0)
    axes.locator_params(nbins=4)
    for name in "xyz":
        getattr(axes, f"set_{name}label")(name, fontsize="small", labelpad=0)


def _draw_legend(figure: Figure, motions: Sequence[MotionCurves]) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    entries: list[Any] = [Line2D([], [], color=color, label=motion.label if len(motions) > 1 else "measured")
                          for motion, color in zip(motions, RUN_COLORS, strict=False)]
    if any(motion.desired is not None or motion.desired_tip is not None for motion in motions):
        entries.append(Line2D([], [], color="black", linestyle="--", label="desired"))
    entries += [Patch(color=color, label=name) for name, color in _span_colors(motions).items()]
    figure.legend(handles=entries, loc="outside lower center", ncols=min(len(entries), 6), fontsize="small")


def _span_colors(motions: Sequence[MotionCurves]) -> dict[str, str]:
    names = dict.fromkeys(name for motion in motions for name, _, _ in motion.controllers)
    return {name: SPAN_COLORS[i % len(SPAN_COLORS)] for i, name in enumerate(names)}


def _unit(quantity: str, unit: str) -> str:
    if quantity == "position":
        return f"position [{unit}]"
    if quantity == "error":
        return "error [" + " or ".join(f"m{part}" for part in unit.split(" or ")) + "]"
    if quantity == "effort":
        return f"effort [{({'rad': 'N m', 'm': 'N'}.get(unit, 'N m or N'))}]"
    return QUANTITIES[quantity]


def _thinned(curves: Curves) -> tuple[Array, Array]:
    step = -(-len(curves.time) // MOST_POINTS)
    return curves.time[::step], curves.values[::step]
