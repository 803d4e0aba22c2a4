# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""How long identification takes, beside plain least squares with Pinocchio's regressor."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from bench.report import Section, time_cells
from bench.robots import Pair
from bench.timing import Comparison, compare
from bench.wrong_arm import WrongArm, described_arm, trajectory
from robodyn_ros.toolbox.identification.excitation import Task, excite
from robodyn_ros.toolbox.identification.identified_model import identify
from robodyn_ros.toolbox.identification.measured_motion import MeasuredMotion

ROBOTS = ("scara", "arm6", "arm7")
REPETITIONS = 5


class PlainLeastSquares:
    """All efforts of a motion by Pinocchio's regressor, viscous and Coulomb friction, and numpy.linalg.lstsq.

    Args:
        pair: The robot on both sides.
        motion: The motion.
    """

    def __init__(self, pair: Pair, motion: MeasuredMotion) -> None:
        self._pair, self._motion = pair, motion
        self._usable = motion.usable[:, pair.to_pin].reshape(-1)
        self._target = motion.effort[:, pair.to_pin].reshape(-1)[self._usable]

    def columns(self) -> np.ndarray:
        """Columns of the usable samples, shape (samples, 12 n)."""
        import pinocchio as pin

        pair, motion = self._pair, self._motion
        model, data, n = pair.model, pair.data, len(pair.to_pin)
        rows = np.zeros((len(motion.q), n, 12 * n))
        q, v, a = (np.ascontiguousarray(values[:, pair.to_pin]) for values in (motion.q, motion.v, motion.a))
        for row, *sample in zip(rows, q, v, a, strict=True):
            row[:, :10 * n] = pin.computeJointTorqueRegressor(model, data, *sample)
        joint = np.arange(n)
        rows[:, joint, 10 * n + joint], rows[:, joint, 11 * n + joint] = v, np.sign(v)
        return rows.reshape(-1, 12 * n)[self._usable]

    def __call__(self) -> float:
        """Solve, and return the RMS of measured minus predicted efforts [N m or N]."""
        columns = self.columns()
        solution = np.linalg.lstsq(columns, self._target, rcond=1e-10)[0]
        return float(np.sqrt(np.mean((columns @ solution - self._target) ** 2)))


def measured(name: str, duration: float) -> tuple[WrongArm, MeasuredMotion]:
    """An arm without Stribeck's effect, which plain least squares cannot have, and its motion over a duration [s]."""
    described = described_arm(name)
    arm = WrongArm(described, static=1.0)
    return arm, arm.measure(trajectory(excite(described, Task(duration=duration, iterations=0)).points))


def comparison(name: str, duration: float = 30.0, repetitions: int = REPETITIONS) -> tuple[int, Comparison]:
    """Number of samples of a motion of a duration [s], and the times.

    Raises:
        SystemExit: The two sides do not explain the efforts equally well.
    """
    arm, motion = measured(name, duration)
    plain = PlainLeastSquares(Pair.shipped(name), motion)
    model = identify(arm.described, motion)
    counts = motion.usable.sum(axis=0)
    ours = float(np.sqrt((counts * model.noise**2).sum() / counts.sum()))
    if not np.isclose(ours, plain(), rtol=0.02):
        raise SystemExit(f"bench: {name}: the efforts are explained to {ours:.4g} by ours, {plain():.4g} by the peer")
    return len(motion.time), compare(lambda: identify(arm.described, replace(motion)), plain, repetitions, 0.0)


def rows() -> Iterator[Sequence[str]]:
    """Time both sides for each robot."""
    for name in ROBOTS:
        samples, result = comparison(name)
        low, high = result.spread
        yield (name, str(samples), *time_cells(result, 1.0, 2), f"{result.ratio:.3g}", f"{low:.3g} to {high:.3g}")


IDENTIFICATION_TIME = Section(
    "Time of identification",
    "`identify` of 30 s of motion, beside the plain way: Pinocchio's computeJointTorqueRegressor for each sample, two "
    "columns of friction for each joint, numpy.linalg.lstsq. The plain way finds no Stribeck effect, no standard "
    "deviations and no consistent parameters; ours includes them. Both explain the same efforts equally well, to 2 %.",
    ("robot", "samples", "ours [s]", "peer [s]", "ratio", "quartiles"),
    rows,
)
