# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Figures of studies: cumulative errors of laws, influence of varied numbers, and fronts of two objectives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from robodyn_ros.description.model import Array

MAX_BARS = 12
"""Greatest number of varied numbers in a figure of influences; the strongest ones are shown."""

_COLORS = [f"tab:{name}" for name in ("blue", "orange", "green", "red", "purple", "brown", "pink", "olive", "cyan")]


class Cumulated(NamedTuple):
    """Errors of one law."""

    label: str  # name of the curve
    errors: Array  # errors, NaN for failed samples, shape (N,) [rad or m]


def save_cumulative(curves: Sequence[Cumulated], path: Path, title: str, name: str) -> None:
    """Draw the share of samples up to each error; a curve with failures ends below 100 %.

    Args:
        curves: Errors of each law.
        path: Of the picture; its folder must exist.
        title: Heading.
        name: Label of the error.
    """
    figure, axes = _figure(title, (8.0, 5.0))
    for number, curve in enumerate(curves):
        values = np.sort(curve.errors[~np.isnan(curve.errors)])
        shares = 100.0 * np.arange(1, len(values) + 1) / len(curve.errors)
        style = ("-", "--", ":")[number // len(_COLORS) % 3]
        failed = len(curve.errors) - len(values)
        label = f"{curve.label} ({100.0 * failed / len(curve.errors):.1f} % failed)" if failed else curve.label
        axes.plot(1e3 * values, shares, drawstyle="steps-post", color=_COLORS[number % len(_COLORS)], linestyle=style,
                  linewidth=1.4, label=label)
    axes.axhline(95.0, color="grey", linewidth=0.8, linestyle="--")
    axes.annotate("95 %", (1.0, 95.0), xycoords=("axes fraction", "data"), ha="right", va="bottom", fontsize="small",
                  color="grey")
    axes.set(xlabel=name, ylabel="share of samples [%]", ylim=(0.0, 101.0))
    drawn = np.concatenate([one.errors[~np.isnan(one.errors)] for one in curves])
    if len(drawn) and (drawn > 0.0).all():
        axes.set_xscale("log")
        _plain_ticks(axes.xaxis)
    axes.grid(alpha=0.3, which="both")
    axes.legend(fontsize="small", loc="best" if len(curves) <= 6 else "center left",
                bbox_to_anchor=None if len(curves) <= 6 else (1.0, 0.5))
    figure.savefig(path, dpi=110)


def save_influences(influences: Mapping[str, Mapping[str, float]], path: Path, title: str, name: str,
                    signed: bool = True) -> None:
    """Draw the influence of each varied number on each law, as bars side by side.

    Args:
        influences: By law, then by varied number.
        path: Of the picture; its folder must exist.
        title: Heading.
        name: Label of the influences.
        signed: Whether influences lie between -1 and 1, or else between 0 and 1.
    """
    strongest: dict[str, float] = {}
    for values in influences.values():
        for column, value in values.items():
            strongest[column] = max(strongest.get(column, 0.0), abs(value))
    columns = sorted(strongest, key=lambda column: -strongest[column])[:MAX_BARS]
    figure, axes = _figure(title, (8.0, 1.6 + 0.14 * (len(influences) + 1.5) * max(len(columns), 2)))
    height = 0.8 / max(len(influences), 1)
    for number, (law, values) in enumerate(influences.items()):
        places = np.arange(len(columns)) - 0.4 + (number + 0.5) * height
        axes.barh(places, [values.get(column, 0.0) for column in columns], height, label=law,
                  color=_COLORS[number % len(_COLORS)])
    axes.set_yticks(np.arange(len(columns)), columns, fontsize="small")
    axes.invert_yaxis()
    axes.axvline(0.0, color="black", linewidth=0.8)
    axes.set(xlabel=name, xlim=(-1.0 if signed else min(0.0, axes.get_xlim()[0]), 1.0))
    axes.grid(alpha=0.3, axis="x")
    if len(influences) > 1:
        figure.legend(loc="outside lower center", ncols=min(4, len(influences)), fontsize="small")
    figure.savefig(path, dpi=110)


def save_front(points: Array, front: Array, marks: Mapping[str, Array], path: Path, title: str,
               names: tuple[str, str]) -> None:
    """Draw all evaluated points of two objectives, their Pareto front, and some marked points.

    Args:
        points: All points, shape (N, 2).
        front: Points of the front, which no other point beats in both objectives, shape (K, 2).
        marks: Points by label, each of shape (2,).
        path: Of the picture; its folder must exist.
        title: Heading.
        names: Labels of the axes.
    """
    figure, axes = _figure(title, (7.5, 5.0))
    ordered = front[np.argsort(front[:, 0])]
    shown = points[(points <= 3.0 * ordered.max(axis=0)).all(axis=1)]
    axes.plot(*shown.T, ".", color="lightgrey", markersize=3, label="evaluated")
    axes.plot(*ordered.T, "o-", color="tab:blue", markersize=4, linewidth=1.2, drawstyle="steps-post",
              label="Pareto front")
    for number, (label, point) in enumerate(marks.items()):
        axes.plot(*point, "*", markersize=13, color=_COLORS[1 + number], label=label)
    axes.set(xlabel=names[0], ylabel=names[1], xscale="log", yscale="log")
    _plain_ticks(axes.xaxis)
    _plain_ticks(axes.yaxis)
    axes.grid(alpha=0.3, which="both")
    axes.legend(fontsize="small")
    figure.savefig(path, dpi=110)


def _figure(title: str, size: tuple[float, float]) -> tuple[Any, Any]:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(title)
    return figure, figure.add_subplot()


def _plain_ticks(axis: Any) -> None:
    """Label a logarithmic axis with plain numbers, also between powers of ten if there are few of these."""
    from matplotlib.ticker import LogLocator

    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter(lambda value, _: f"{value:g}")
    axis.set_minor_formatter("")
