# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Motions that identify a robot's parameters: periodic, within limits, with a well-conditioned regressor [Swevers]."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import null_space
from scipy.optimize import minimize

from robodyn_ros.base.checks import Range, as_number
from robodyn_ros.base.errors import InputError
from robodyn_ros.control.laws.adaptive import parameter_scales
from robodyn_ros.control.references.joint_trajectory import MAX_POINTS, Points
from robodyn_ros.control.references.quintic import PEAK_SPEED
from robodyn_ros.description.model import Array
from robodyn_ros.dynamics.regressor import inertial_parameters
from robodyn_ros.robot import Robot
from robodyn_ros.simulation.plant import default_position
from robodyn_ros.toolbox.identification.effort_model import EffortModel

FRICTION_SHARE = 0.05
"""Typical friction, as a share of the efforts, by which columns of the regressor are scaled."""

MIN_APPROACH = 1.0
"""Least time from the default position to the start of the period [s]."""

MAX_CONDITION = 100.0
"""Condition number of a good motion: noise of 0.1 % of the efforts causes at most 10 % error of a parameter."""

_POINTS_PER_CYCLE = 40  # of the fastest harmonic; quintics connect the points
_SAMPLES_PER_CYCLE = 12  # in the search
_CHECKS_PER_CYCLE = 60  # of the result
_SHRINKING = 0.97
_START_SHARE = 0.5
_DIFFERENCE = 1e-6
_MAX_NUMBERS = 5_000_000  # of the regressors in memory


@dataclass(frozen=True)
class FourierSeries:
    """Basis of motions q(t) = q_0 + sum_k a_k sin(k w t) / (k w) - b_k cos(k w t) / (k w) with v(0) = a(0) = 0.

    The sums of a_k and of k b_k are 0, which leaves 2 N - 2 free amplitudes per joint for N harmonics.
    """

    period: float  # 2 pi / w [s]
    harmonics: int  # N, 2 or more

    @property
    def amplitudes(self) -> int:
        """Number of free amplitudes of a joint."""
        return 2 * self.harmonics - 2

    def basis(self, times: Array) -> tuple[Array, Array, Array]:
        """Positions, velocities, accelerations at K times [s] per unit of each amplitude, shape (K, 2 N - 2) each."""
        order = np.arange(1, self.harmonics + 1)
        rates = 2.0 * np.pi / self.period * order
        phase = np.outer(times, rates)
        sine, cosine = np.sin(phase), np.cos(phase)
        q = np.hstack([sine / rates, (1.0 - cosine) / rates])  # q_0 is the position at time 0
        v, a = np.hstack([cosine, sine]), np.hstack([-sine * rates, cosine * rates])
        ones = np.zeros((2, 2 * self.harmonics))
        ones[0, :self.harmonics], ones[1, self.harmonics:] = 1.0, order
        free = null_space(ones)
        return q @ free, v @ free, a @ free


@dataclass(frozen=True)
class Task:
    """Limits and form of an excitation.

    Attributes:
        duration: Duration of the periodic motion, a multiple of the period [s].
        period: Period [s].
        harmonics: Number of harmonics.
        share: Usable share of the ranges of position, velocity, effort and acceleration, in (0, 1].
        acceleration: Greatest acceleration of each joint, shape (n,) [rad/s^2 or m/s^2]; None: no limit.
        floor: Least height of all moving link frames in the base frame [m]; None: no limit.
        iterations: Number of iterations of the search.
        seed: Seed of the initial motion of the search.
    """

    duration: float = 30.0
    period: float = 10.0
    harmonics: int = 5
    share: float = 0.8
    acceleration: Array | None = None
    floor: float | None = None
    iterations: int = 60
    seed: int = 0

    def check(self) -> None:
        """Check the numbers.

        Raises:
            InputError: A number is out of its range.
        """
        as_number(self.period, Range(0.0, above=True, unit="s"), "excite: period")
        as_number(self.duration, Range(0.0, above=True, unit="s"), "excite: duration")
        as_number(self.harmonics, Range(2.0, 50.0), "excite: harmonics")
        as_number(self.share, Range(0.0, 1.0, above=True), "excite: share")
        as_number(self.iterations, Range(0.0), "excite: iterations")
        as_number(self.seed, Range(0.0), "excite: seed")
        cycles = self.duration / self.period
        if round(cycles) < 1 or abs(cycles - round(cycles)) > 1e-6:
            raise InputError(f"excite: duration: expected a multiple of the period {self.period:g} s, received "
                             f"{self.duration:g} s")


@dataclass(frozen=True, eq=False)
class Excitation:
    """A motion that excites the parameters.

    Attributes:
        points: The periods, from rest to rest; the time before the first point allows to reach it from the default
            position.
        condition_before: Condition number of the initial motion of the search.
        condition: Condition number of this motion.
        shares: Greatest used share of each limit, by name.
    """

    points: Points
    condition_before: float
    condition: float
    shares: dict[str, float]


def excite(robot: Robot, task: Task) -> Excitation:
    """Search a motion whose base regressor has a small condition number.

    Rows of the regressor are divided by effort limits, and columns multiplied by typical magnitudes of their
    parameters, to make the number dimensionless. The columns are base parameters, viscous and Coulomb friction.

    Args:
        robot: The robot; efforts and limits come from the description.
        task: Limits and form of the motion.

    Raises:
        InputError: A number is out of its range, or no motion within the limits is found.
    """
    task.check()
    search = _Search(robot, task)
    start = search.feasible_start()
    before = search.condition(start)
    found = minimize(search.objective, start, jac=True, method="SLSQP", options={"maxiter": task.iterations},
                     constraints=[{"type": "ineq", "fun": search.margins, "jac": search.margin_slopes}])
    best = search.shrunk(found.x)
    best = best if search.condition(best) < before else start
    return Excitation(search.points(best), before, search.condition(best), search.shares(best))


class _Search:
    """Condition number and margins of motions; a motion is its amplitudes and initial positions, shape (x,)."""

    def __init__(self, robot: Robot, task: Task) -> None:
        model, n = robot.model, robot.n
        self._robot, self._task = robot, task
        self._series = FourierSeries(task.period, task.harmonics)
        rest = default_position(robot)
        lower = np.where(np.isfinite(model.position_lower), model.position_lower, rest - np.pi)
        upper = np.where(np.isfinite(model.position_upper), model.position_upper, rest + np.pi)
        self._middle, self._reach = 0.5 * (lower + upper), 0.5 * task.share * (upper - lower)
        self._speed = task.share * np.where(np.isfinite(model.velocity_limit), model.velocity_limit, np.inf)
        self._acceleration = np.full(n, np.inf) if task.acceleration is None else task.share * task.acceleration
        self._effort = task.share * model.effort_limit
        self._basis = self._series.basis(np.linspace(0.0, task.period, _SAMPLES_PER_CYCLE * task.harmonics,
                                                     endpoint=False))
        self._dense = self._series.basis(np.linspace(0.0, task.period, _CHECKS_PER_CYCLE * task.harmonics,
                                                     endpoint=False))
        self._effort_model = EffortModel(robot, np.full(n, np.nan), np.zeros(n, dtype=bool))
        self._nominal = np.concatenate([inertial_and_friction(robot), np.zeros(2 * n)])
        # Scale amplitudes so that velocities are of the order of the joint's limits.
        typical = np.minimum(self._speed, 2.0 * np.pi * self._reach * task.harmonics / task.period)
        self._unit = np.where(np.isfinite(typical), typical, 1.0) / task.harmonics
        self._columns, self._scale = self._scaled_columns()
        self._cached: tuple[bytes, Array, Array, Array, Array] | None = None

    def _scaled_columns(self) -> tuple[NDArray[np.intp], Array]:
        """Indices of the columns of base parameters and friction, and typical magnitudes of these parameters."""
        model, robot, n = self._effort_model, self._robot, self._robot.n
        scales = np.zeros(len(model.names))
        scales[:model.inertial_count] = parameter_scales(robot)[:model.inertial_count]
        finite = np.isfinite(robot.model.effort_limit)
        typical = np.abs(robot.dynamics().batch.gravity(np.random.default_rng(0).uniform(
            self._middle - self._reach, self._middle + self._reach, (50, n)))).max(axis=0)
        self._row_scale = np.where(finite, robot.model.effort_limit, np.maximum(typical, 1.0))
        speed = np.where(np.isfinite(self._speed), self._speed, self._unit * self._task.harmonics)
        scales[model.slots("viscous")] = FRICTION_SHARE * self._row_scale / speed
        scales[model.slots("coulomb")] = FRICTION_SHARE * self._row_scale
        columns = model.base.independent[scales[model.base.independent] > 0.0]
        return columns, scales[columns]

    def feasible_start(self) -> Array:
        """A random motion, shrunk until it keeps to the limits."""
        random = np.random.default_rng(self._task.seed)
        n, count = self._robot.n, self._series.amplitudes
        amplitudes = _START_SHARE * random.normal(size=(n, count))
        travel = np.ptp(self._dense[0] @ (self._unit[:, None] * amplitudes).T, axis=0)
        amplitudes *= np.minimum(1.0, 1.5 * self._reach / travel)[:, None]
        return self.shrunk(np.concatenate([amplitudes, np.zeros((n, 1))], axis=1).ravel())

    def shrunk(self, x: Array) -> Array:
        """Shrink a motion until it also keeps to the limits between the samples of the search."""
        factor = 1.0
        while max(self.shares(x).values()) > 1.0:
            factor *= _SHRINKING
            if factor < 1e-3:
                worst = max(self.shares(x).items(), key=lambda item: item[1])[0]
                raise InputError(f"excite: no motion about the middle of the position ranges of '{self._robot.name}' "
                                 f"keeps to the limit of {worst}; give a greater share, a lower floor, or check the "
                                 "limits of the description")
            rows = x.reshape(self._robot.n, -1).copy()
            rows *= _SHRINKING
            x = rows.ravel()
        return x

    def _motion(self, x: Array, basis: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        """Positions, velocities and accelerations of M motions at K times, each of shape (M, K, n)."""
        rows = x.reshape(len(x), self._robot.n, -1)
        amplitudes = rows[:, :, :-1] * self._unit[:, None]
        q, v, a = (np.einsum("kc,mjc->mkj", each, amplitudes) for each in basis)
        return q + (self._middle + self._reach * rows[:, :, -1])[:, None], v, a

    def _evaluate(self, x: Array, basis: tuple[Array, Array, Array]) -> tuple[Array, Array]:
        """Logarithm of the condition number, and used shares of the limits, of M motions: shapes (M,), (M, limits)."""
        numbers = len(basis[0]) * self._robot.n * len(self._effort_model.names)
        step = max(1, _MAX_NUMBERS // numbers)
        parts = [self._evaluate_together(x[first:first + step], basis) for first in range(0, len(x), step)]
        return np.concatenate([logarithm for logarithm, _ in parts]), np.concatenate([used for _, used in parts])

    def _evaluate_together(self, x: Array, basis: tuple[Array, Array, Array]) -> tuple[Array, Array]:
        """Like `_evaluate`, with the regressors of all M motions in memory."""
        q, v, a = self._motion(x, basis)
        count, samples, n = q.shape
        flat = [each.reshape(-1, n) for each in (q, v, a)]
        regressor = self._effort_model.columns(*flat)
        efforts = (regressor @ self._nominal).reshape(count, samples, n)
        rows = (regressor[:, :, self._columns] * self._scale / self._row_scale[:, None]).reshape(
            count, samples * n, -1) / np.sqrt(samples)
        values = np.linalg.eigvalsh(rows.transpose(0, 2, 1) @ rows)
        logarithm = 0.5 * (np.log(values[:, -1]) - np.log(np.maximum(values[:, 0], 1e-300)))
        used = [np.abs(q - self._middle).max(axis=1) / self._reach, np.abs(v).max(axis=1) / self._speed,
                np.abs(a).max(axis=1) / self._acceleration, np.abs(efforts).max(axis=1) / self._effort]
        if self._task.floor is not None:
            used.append(1.0 - (self._heights(flat[0]).reshape(count, samples) - self._task.floor).min(axis=1)[:, None])
        return logarithm, np.concatenate(used, axis=1)

    def _heights(self, q: Array) -> Array:
        """Height of the lowest moving link frame in the base frame, shape (K,) [m]."""
        batch, model = self._robot.dynamics().batch, self._robot.model
        links = dict.fromkeys([*(joint.link for joint in model.joints), model.tip_link])
        return np.min([batch.forward_kinematics(q, link)[:, 2, 3] for link in links], axis=0)

    def _with_slopes(self, x: Array) -> tuple[Array, Array, Array, Array]:
        """Values of `_evaluate` for one motion, and their derivatives by differences, in one batch."""
        key = x.tobytes()
        if self._cached is None or self._cached[0] != key:
            steps = np.vstack([np.zeros(len(x)), _DIFFERENCE * np.eye(len(x))])
            values, used = self._evaluate(x + steps, self._basis)
            self._cached = (key, values[0], used[0], (values[1:] - values[0]) / _DIFFERENCE,
                            (used[1:] - used[0]).T / _DIFFERENCE)
        return self._cached[1:]

    def objective(self, x: Array) -> tuple[float, Array]:
        """Logarithm of the condition number, and its derivative."""
        value, _, slope, _ = self._with_slopes(x)
        return float(value), slope

    def margins(self, x: Array) -> Array:
        """1 minus the used share of each limit."""
        return 1.0 - self._with_slopes(x)[1]

    def margin_slopes(self, x: Array) -> Array:
        """Derivative of `margins`."""
        return -self._with_slopes(x)[3]

    def condition(self, x: Array) -> float:
        """Condition number of a motion."""
        return float(np.exp(self._evaluate(x[None], self._dense)[0][0]))

    def shares(self, x: Array) -> dict[str, float]:
        """Greatest used share of the limits of each kind."""
        used, n = self._evaluate(x[None], self._dense)[1][0], self._robot.n
        kinds = {name: float(used[index * n:(index + 1) * n].max())
                 for index, name in enumerate(("position", "velocity", "acceleration", "effort"))}
        return kinds | ({"floor": float(used[-1])} if self._task.floor is not None else {})

    def points(self, x: Array) -> Points:
        """Points of all periods."""
        task, robot = self._task, self._robot
        spacing = task.period / max(_POINTS_PER_CYCLE * task.harmonics, 1)
        count = round(task.duration / spacing)
        if count + 1 > MAX_POINTS:
            raise InputError(f"excite: a motion of {task.duration:g} s with harmonics up to "
                             f"{task.harmonics / task.period:g} Hz needs {count + 1} points, a trajectory has at most "
                             f"{MAX_POINTS}; give a shorter duration, fewer harmonics or a longer period")
        times: Array = spacing * np.arange(count + 1, dtype=np.float64)
        q, v, a = (each[0] for each in self._motion(x[None], self._series.basis(times)))
        v[[0, -1]] = a[[0, -1]] = 0.0  # remove rounding errors
        home = default_position(robot)
        speed = np.where(np.isfinite(self._speed), self._speed, 1.0)
        approach = max(MIN_APPROACH, float((PEAK_SPEED * np.abs(q[0] - home) / speed).max()) / _START_SHARE)
        return Points.from_arrays(approach + times, q, v, a)


def inertial_and_friction(robot: Robot) -> Array:
    """Inertial parameters, viscous and Coulomb friction of the description, shape (10 links + 2 n,)."""
    return np.concatenate([inertial_parameters(robot.model), robot.model.damping, robot.model.friction])
