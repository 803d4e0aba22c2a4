# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Figures of motions: a row for each joint, a column for each quantity, and the active controllers at the top."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from robodyn_ros.base.errors import InputError
from robodyn_ros.description.model import Array
from robodyn_ros.toolbox.plots.motion import Curves, MotionCurves

RUN_COLORS = ("tab:blue", "tab:orange", "tab:green", "tab:red")
SPAN_COLORS = ("#cfe2f3", "#d9ead3", "#fff2cc", "#f4cccc", "#d9d2e9", "#d0e0e3")
MAX_POINTS = 4000
"""Greatest number of points of a curve; longer ones are thinned."""
WIDTH, ROW, STRIP, EXTRA = 4.2, 1.5, 0.26, 2.8
"""Width of a column, and heights of a joint, of the strip of one run and of energy and path [inch]."""
COINCIDENCE_SHARE = 0.05
"""Two runs coincide in the figure if their positions differ by less than this share of their range."""
PLANE_SHARE = 1e-3
"""A path is plane if its extent along an axis is below this share of the greatest extent."""
MIN_SPANS = {"position": 1e-3, "error": 1.0, "effort": 1.0, "terms": 1.0, "current": 0.1, "voltage": 0.1}
"""Least span of an axis [rad or m, mrad or mm, N m or N, A, V], so that noise does not fill the picture."""
QUANTITIES = {"position": "position", "error": "error", "effort": "effort", "current": "current [A]",
              "voltage": "voltage [V]", "terms": "terms of the effort"}


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
    if "terms" in columns and len(motions) > 1:
        raise InputError(f"plot: expected one run for the terms of its efforts, received {len(motions)}")
    extras = [name for name in ("tip_error", "energies", "tip")
              if any(getattr(motion, name) is not None for motion in motions)]
    strips = any([name for name, *_ in motion.controllers] != [motion.label] for motion in motions)
    heights = [*[STRIP * len(motions)] * strips, *[ROW] * len(names), *([EXTRA] if extras else [])]
    figure = Figure(figsize=(max(WIDTH * len(columns), 2 * WIDTH), sum(heights) + 1.2), layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(title)
    grid = figure.add_gridspec(len(heights), len(columns) * 2, height_ratios=heights)
    first: Any = None
    for column, quantity in enumerate(columns):
        place = slice(2 * column, 2 * column + 2)
        if strips:
            top = figure.add_subplot(grid[0, place], sharex=first)
            first = first or top
            _draw_controllers(top, motions)
        for joint, name in enumerate(names):
            axes = figure.add_subplot(grid[strips + joint, place], sharex=first)
            first = first or axes
            _draw_joint(axes, motions, quantity, joint)
            if quantity == "position" and len(motions) == 2 and "error" not in columns:
                _draw_difference(axes, motions, joint)
            _widen(axes, MIN_SPANS[quantity])
            axes.set_ylabel(_unit(quantity, motions[0].units[joint]), fontsize="small")
            axes.set_title(name, fontsize="small", loc="left", pad=3)  # outside of the curves
            axes.tick_params(labelsize="small", labelbottom=joint == len(names) - 1)
        axes.set_xlabel("time [s]", fontsize="small")
    if extras:
        last = grid[-1, :].subgridspec(1, len(extras))
        for place, extra in zip(last, extras, strict=True):  # type: ignore[call-overload]  # a grid has subplots in it
            if extra == "energies":
                _draw_energies(figure.add_subplot(place), motions)
            elif extra == "tip_error":
                _draw_tip_error(figure.add_subplot(place), motions)
            else:
                shown = _axes_of_paths(motions)
                _draw_path(figure.add_subplot(place, projection="3d" if len(shown) == 3 else None), motions, shown)
    _draw_legend(figure, motions, strips)
    return figure


def _draw_controllers(axes: Any, motions: Sequence[MotionCurves]) -> None:
    """Draw a strip for each run, with a field for each active controller."""
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
        if quantity == "terms":
            for name, color in _term_colors(motions).items():
                time, values = _thinned(curves[name])
                axes.plot(time, values[:, joint], color=color, linewidth=1.2)
        elif curves is not None:
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


def _draw_difference(axes: Any, motions: Sequence[MotionCurves], joint: int) -> None:
    """Draw the difference of two coinciding runs on a second axis."""
    one, other = (motion.position for motion in motions)
    values = one.values[:, joint]
    difference = np.interp(one.time, other.time, other.values[:, joint]) - values
    difference = np.where(one.time <= other.time[-1], difference, np.nan)
    if not 0.0 < np.nanmax(np.abs(difference)) < COINCIDENCE_SHARE * np.ptp(values):
        return
    side = axes.twinx()
    time, shown = _thinned(Curves(one.time, 1e3 * difference))
    side.plot(time, shown, color="grey", linewidth=0.8)
    _widen(side, MIN_SPANS["error"])
    side.set_ylabel(f"difference [m{motions[0].units[joint]}]", fontsize="x-small", color="grey")
    side.tick_params(labelsize="x-small", colors="grey")


def _draw_tip_error(axes: Any, motions: Sequence[MotionCurves]) -> None:
    """Draw the distance of the tip link from its desired position."""
    for motion, color in zip(motions, RUN_COLORS, strict=False):
        if motion.tip_error is not None:
            time, values = _thinned(motion.tip_error)
            axes.plot(time, 1e3 * values[:, 0], color=color, linewidth=1.2)
    axes.set_xlabel("time [s]", fontsize="small")
    axes.set_ylabel("tip error [mm]", fontsize="small")
    axes.set_ylim(bottom=0.0, top=max(axes.get_ylim()[1], MIN_SPANS["error"]))
    axes.tick_params(labelsize="small")
    axes.margins(x=0.0)


def _widen(axes: Any, least: float) -> None:
    """Widen the vertical axis to a least span about its middle."""
    low, high = axes.get_ylim()
    if high - low < least:
        axes.set_ylim((low + high - least) / 2.0, (low + high + least) / 2.0)


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


def _axes_of_paths(motions: Sequence[MotionCurves]) -> list[int]:
    """The two axes of the plane of the base frame that contains all paths, or else all three axes."""
    paths = [curves.values for motion in motions for curves in (motion.tip, motion.desired_tip) if curves is not None]
    extent = np.nanmax([np.nanmax(path, axis=0) for path in paths], axis=0) - np.nanmin(
        [np.nanmin(path, axis=0) for path in paths], axis=0)
    wide = np.flatnonzero(extent >= PLANE_SHARE * extent.max()).tolist()
    return wide if len(wide) == 2 else [0, 1, 2]


def _draw_path(axes: Any, motions: Sequence[MotionCurves], shown: list[int]) -> None:
    """Draw the paths of the tip link along two or three axes of the base frame."""
    for motion, color in zip(motions, RUN_COLORS, strict=False):
        if motion.tip is not None:
            axes.plot(*_thinned(motion.tip)[1][:, shown].T, color=color, linewidth=1.2)
        if motion.desired_tip is not None:
            axes.plot(*_thinned(motion.desired_tip)[1][:, shown].T, color="black", linewidth=0.8, linestyle="--")
    axes.set_title("path of the tip link [m]", fontsize="small")
    axes.set_aspect("equal", adjustable="datalim")
    close = {"labelpad": 0} if len(shown) == 3 else {}
    if close:
        axes.tick_params(labelsize="x-small", pad=0)
        axes.locator_params(nbins=4)
    else:
        axes.tick_params(labelsize="small")
    for direction, axis in zip("xyz", shown, strict=False):
        getattr(axes, f"set_{direction}label")("xyz"[axis], fontsize="small", **close)


def _draw_legend(figure: Figure, motions: Sequence[MotionCurves], strips: bool) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    entries: list[Any] = [Line2D([], [], color=color, label=motion.label if len(motions) > 1 else "measured")
                          for motion, color in zip(motions, RUN_COLORS, strict=False)]
    if any(motion.desired is not None or motion.desired_tip is not None for motion in motions):
        entries.append(Line2D([], [], color="black", linestyle="--", label="desired"))
    entries += [Line2D([], [], color=color, label=name) for name, color in _term_colors(motions).items()]
    if strips:
        entries += [Patch(color=color, label=name) for name, color in _span_colors(motions).items()]
    figure.legend(handles=entries, loc="outside lower center", ncols=min(len(entries), 6), fontsize="small")


def _span_colors(motions: Sequence[MotionCurves]) -> dict[str, str]:
    names = dict.fromkeys(name for motion in motions for name, _, _ in motion.controllers)
    return {name: SPAN_COLORS[i % len(SPAN_COLORS)] for i, name in enumerate(names)}


def _term_colors(motions: Sequence[MotionCurves]) -> dict[str, Any]:
    colors = matplotlib.colormaps["tab20"].colors  # type: ignore[attr-defined]  # of a listed colormap
    colors = (*colors[2::2], *colors[3::2])  # without blue, which measured values and controllers have
    return {name: colors[i % len(colors)] for i, name in enumerate(motions[0].terms or ())}


def _unit(quantity: str, unit: str) -> str:
    if quantity == "position":
        return f"position [{unit}]"
    if quantity == "error":
        return "error [" + " or ".join(f"m{part}" for part in unit.split(" or ")) + "]"
    if quantity in ("effort", "terms"):
        return f"{quantity} [{({'rad': 'N m', 'm': 'N'}.get(unit, 'N m or N'))}]"
    return QUANTITIES[quantity]


def _thinned(curves: Curves) -> tuple[Array, Array]:
    step = -(-len(curves.time) // MAX_POINTS)
    return curves.time[::step], curves.values[::step]
