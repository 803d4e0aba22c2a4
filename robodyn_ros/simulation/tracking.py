"""Tracking errors of a controller for each joint, as a table and as a plot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.errors import InputError


class TrackingSample(NamedTuple):
    """Desired and measured joint positions at one time.

    Attributes:
        time: Time [s].
        controller: Name of the controller in force.
        joint_names: Names of the n joints, in the order of the arrays.
        desired: Reference positions, shape (n,) [rad or m].
        measured: Measured positions, shape (n,) [rad or m].
    """

    time: float
    controller: str
    joint_names: tuple[str, ...]
    desired: NDArray[np.float64]
    measured: NDArray[np.float64]


@dataclass(frozen=True)
class TrackingRecord:
    """Desired and measured joint positions over time, and the controller at each sample.

    Attributes:
        joint_names: Names of the n joints.
        units: ``rad`` or ``m`` for each joint.
        time: Shape (N,) [s], increasing.
        desired: Reference positions, shape (N, n) [rad or m].
        measured: Measured positions, shape (N, n) [rad or m].
        controllers: Name of the controller at each sample, length N.
    """

    joint_names: Sequence[str]
    units: Sequence[str]
    time: NDArray[np.float64]
    desired: NDArray[np.float64]
    measured: NDArray[np.float64]
    controllers: Sequence[str]

    def __post_init__(self) -> None:
        """Check the shapes.

        Raises:
            InputError: The lengths do not fit.
        """
        expected = (len(self.time), len(self.joint_names))
        for name in ("desired", "measured"):
            shape = getattr(self, name).shape
            if shape != expected:
                raise InputError(f"TrackingRecord.{name}: expected shape {expected}, samples by joints, "
                                 f"received {shape}")
        for name, length in (("controllers", len(self.controllers)), ("units", len(self.units))):
            wanted = expected[0] if name == "controllers" else expected[1]
            if length != wanted:
                raise InputError(f"TrackingRecord.{name}: expected {wanted} entries, received {length}")

    @property
    def error(self) -> NDArray[np.float64]:
        """Desired minus measured, shape (N, n) [rad or m]."""
        return self.desired - self.measured

    def phases(self) -> dict[str, NDArray[np.bool_]]:
        """Mask of each controller's samples, shape (N,), in order of appearance."""
        names = np.asarray(self.controllers)
        return {name: names == name for name in dict.fromkeys(self.controllers)}

    def table(self) -> str:
        """Root-mean-square and worst error of each joint under each controller, as text [mrad or mm]."""
        phases = self.phases()
        width = max(len("joint"), *(len(name) for name in self.joint_names))
        lines = [f"{'':<{width}}      " + "".join(f"  {name:^21}" for name in phases),
                 f"{'joint':<{width}}  unit" + f"  {'RMS':>10} {'worst':>10}" * len(phases)]
        for column, (joint, unit) in enumerate(zip(self.joint_names, self.units, strict=True)):
            row = f"{joint:<{width}}  m{unit:<3}"
            for mask in phases.values():
                error = 1e3 * self.error[mask, column]
                row += f"  {np.sqrt(np.mean(error**2)):10.3f} {np.max(np.abs(error)):10.3f}"
            lines.append(row)
        return "\n".join(lines)

    def plot(self, path: str | Path, title: str) -> None:
        """Draw desired against measured positions, and the error below, one column per joint, into a PNG file.

        Args:
            path: Where the picture goes; its folder must exist.
            title: Heading of the picture.
        """
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        columns = min(3, len(self.joint_names))
        blocks = -(-len(self.joint_names) // columns)
        figure = Figure(figsize=(4.4 * columns, 3.9 * blocks), layout="constrained")
        FigureCanvasAgg(figure)
        figure.suptitle(title)
        axes = figure.subplots(2 * blocks, columns, sharex=True, squeeze=False,
                               gridspec_kw={"height_ratios": [2, 1] * blocks})
        time = self.time - self.time[0]
        for joint, (name, unit) in enumerate(zip(self.joint_names, self.units, strict=True)):
            block, column = divmod(joint, columns)
            position, error = axes[2 * block][column], axes[2 * block + 1][column]
            position.plot(time, self.measured[:, joint], color="tab:orange", linewidth=2.2, label="measured")
            position.plot(time, self.desired[:, joint], color="black", linewidth=1.0, linestyle="--", label="desired")
            position.set_title(name, fontsize="medium")
            position.set_ylabel(f"position [{unit}]")
            error.plot(time, 1e3 * self.error[:, joint], color="tab:red", linewidth=1.0)
            error.axhline(0.0, color="grey", linewidth=0.6)
            error.set_ylabel(f"error [m{unit}]")
            for axis in (position, error):
                self._mark_phases(axis, time)
            if block == blocks - 1:
                error.set_xlabel("time [s]")
        for spare in range(len(self.joint_names), blocks * columns):
            for row in (0, 1):
                axes[2 * (spare // columns) + row][spare % columns].set_visible(False)
        figure.legend(*axes[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
        figure.savefig(path, dpi=110)

    def _mark_phases(self, axis: Any, time: NDArray[np.float64]) -> None:
        """Shade each controller's span and write its name at the top."""
        for index, (name, mask) in enumerate(self.phases().items()):
            span = time[mask]
            axis.axvspan(span[0], span[-1], color=("tab:blue", "tab:green")[index % 2], alpha=0.08, linewidth=0)
            axis.annotate(name, (span[0], 1.0), xycoords=("data", "axes fraction"), xytext=(3, -3),
                          textcoords="offset points", va="top", fontsize="x-small", color="dimgrey")
