# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Table of the tracking errors of each joint under each controller."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.base.errors import InputError
from robodyn_ros.base.text_tables import side_by_side

SETTLING = 1.0
"""Time in which a controller removes the error that it takes over [s]."""


class TrackingSample(NamedTuple):
    """Desired and measured joint positions at one time."""

    time: float  # [s]
    controller: str  # name of the active controller
    joint_names: tuple[str, ...]  # names of the n joints, in the order of the arrays
    desired: NDArray[np.float64]  # reference positions, shape (n,) [rad or m]
    measured: NDArray[np.float64]  # measured positions, shape (n,) [rad or m]
    velocity: NDArray[np.float64]  # measured velocities, shape (n,) [rad/s or m/s]
    effort: NDArray[np.float64]  # commanded efforts, shape (n,) [N m or N]


@dataclass(frozen=True)
class TrackingRecord:
    """Desired and measured joint positions over time, and the controller at each sample."""

    joint_names: Sequence[str]  # names of the n joints
    units: Sequence[str]  # ``rad`` or ``m`` for each joint
    time: NDArray[np.float64]  # shape (N,) [s], increasing
    desired: NDArray[np.float64]  # reference positions, shape (N, n) [rad or m]
    measured: NDArray[np.float64]  # measured positions, shape (N, n) [rad or m]
    controllers: Sequence[str]  # name of the controller at each sample, length N

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

    def settled(self) -> NDArray[np.bool_]:
        """Mask of the samples at which the controller has been active for `SETTLING`, shape (N,)."""
        names = np.asarray(self.controllers)
        changes = np.r_[True, names[1:] != names[:-1]]
        since = np.maximum.accumulate(np.where(changes, np.arange(len(names)), 0))
        return np.asarray(self.time - self.time[since] >= SETTLING)

    def spans(self) -> list[tuple[str, float, float]]:
        """Spans with one active controller: its name, start and end [s] from the first sample."""
        starts = [i for i, name in enumerate(self.controllers) if i == 0 or name != self.controllers[i - 1]]
        time = self.time - self.time[0]
        ends = [*starts[1:], len(time) - 1]
        return [(self.controllers[i], float(time[i]), float(time[j])) for i, j in zip(starts, ends, strict=True)]

    def table(self) -> str:
        """Errors of each joint under each controller, as text [mrad or mm].

        Columns: root mean square, worst, and settled, the worst without the first `SETTLING` of each span, in which the
        controller removes the error that it takes over; nan if no span is longer.
        """
        phases, settled = self.phases(), self.settled()
        width = max(len("joint"), *(len(name) for name in self.joint_names))
        names = ["", f"{'joint':<{width}}  unit", *(f"{joint:<{width}}  m{unit}" for joint, unit in zip(
            self.joint_names, self.units, strict=True))]
        blocks = []
        for name, mask in phases.items():
            block = [f"{name:^32}", f"{'RMS':>10} {'worst':>10} {'settled':>10}"]
            for error in 1e3 * self.error.T:
                late = np.max(np.abs(error[mask & settled]), initial=-np.inf)
                block.append(f"{np.sqrt(np.mean(error[mask]**2)):10.3f} {np.max(np.abs(error[mask])):10.3f} "
                             f"{late if late >= 0.0 else np.nan:10.3f}")
            blocks.append(block)
        return "\n".join(side_by_side(names, blocks))
