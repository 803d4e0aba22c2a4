# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The step of dry friction that bends bristles before a joint slides, see `friction.Bristles`.

Over a step h, spring i of a joint exerts an impulse that falls with the velocity v' of the joint after the step,

    h F_i = -h (k_i (z_i + h v') + c_i v'),    at most h G_i in magnitude,

with G_i its share of the level. It holds, or slips one way: a mode, like those of the motors in `joint_constraints`. A
slipping bristle keeps the deflection G_i / k_i. The impulse never raises the sum of kinetic energy and k_i z_i^2 / 2:
the work -h F_i v' is at least the rise of the latter, and the implicit step dissipates another M (v' - v)^2 / 2.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.actuation.friction import Bristles
from robodyn_ros.compile import by_element, greater, greater_equal, less, where
from robodyn_ros.simulation.joint_constraints import Problem, changed_modes

_TOLERANCE = 1e-10  # relative to the greatest impulse


class Presliding(NamedTuple):
    """State of the bristles; each array has shape (N, m) of `Bristles`, and may be traced.

    Attributes:
        deflection: z [rad or m].
        mode: Mode that the next step tries first: 0 for a bristle that holds, 1 or -1 for one that slips and pushes
            that way.
    """

    deflection: NDArray[Any]
    mode: NDArray[Any]


class BristleLines(NamedTuple):
    """Impulses of bristles, which fall with the velocity up to a limit; arrays may be traced."""

    deflection: NDArray[Any]  # deflection at the beginning of the step, shape (N, m) of `Bristles` [rad or m]
    level: NDArray[Any]  # level of the dry friction of the joints, shape (m,) [N m or N]


class BristleRound(NamedTuple):
    """Bristles at the end of a step, for one choice of modes; each array has shape (N, m)."""

    impulse: NDArray[Any]  # impulses on the joints [N m s or N s]
    state: Presliding  # deflections, and the next modes


def at_rest(bristles: Bristles) -> Presliding:
    """Return relaxed bristles."""
    return Presliding(*np.zeros((2, *bristles.share.shape)))


def bristle_lines(bristles: Bristles, state: Presliding, level: NDArray[Any]) -> BristleLines:
    """Return the impulses of bristles in a step.

    Args:
        bristles: Bristles of the joints.
        state: State at the beginning.
        level: Level of the dry friction of these joints, shape (m,) [N m or N].
    """
    return BristleLines(_bounded(state.deflection, _reach(bristles) * level), level)


def with_bristles(bristles: Bristles, lines: BristleLines, mode: NDArray[Any], problem: Problem, step: float
                  ) -> Problem:
    """Add the impulses of bristles in a step [s] to a problem, for one choice of modes."""
    if not len(bristles.joints):
        return problem
    damping, drive = np.zeros_like(problem.momentum), np.zeros_like(problem.momentum)
    drives, dampings = by_element(
        lambda mode, share, stiffness, damping, deflection, level: (
            where(mode, mode * (step * share * level), -step * stiffness * deflection), where(mode, 0.0, damping)),
        mode, bristles.share, bristles.stiffness, _damping(bristles, step), lines.deflection, lines.level)
    damping[bristles.joints], drive[bristles.joints] = np.sum(dampings, axis=0), np.sum(drives, axis=0)
    return problem._replace(matrix=problem.matrix + np.diag(damping), momentum=problem.momentum + drive)


def bristle_round(bristles: Bristles, lines: BristleLines, mode: NDArray[Any], velocity: NDArray[Any], step: float,
                  rounds: Any, moved: Any) -> tuple[BristleRound, Any]:
    """Return the bristles at the velocities of a solution, and their next modes.

    Args:
        bristles: Bristles of the joints.
        lines: Their impulses.
        mode: Modes for which the velocities are the solution.
        velocity: Velocities of all joints after the step, shape (n,) [rad/s or m/s].
        step: h [s].
        rounds: Number of rounds before this one; in later rounds one mode changes at a time, as in `joint_constraints`.
        moved: 1 if other modes change, else 0.

    Returns:
        The bristles; and 1 if any mode changes, these or others, else 0.
    """
    if not len(bristles.joints):
        return BristleRound(mode, Presliding(mode, mode)), moved

    def one(mode: Any, share: Any, stiffness: Any, damping: Any, reach: Any, before: Any, level: Any, v: Any
            ) -> tuple[Any, Any, Any]:
        limit, line = step * share * level, -step * stiffness * before - damping * v
        slips = where(greater(line, (1.0 + _TOLERANCE) * limit), 1.0,
                      where(less(line, -((1.0 + _TOLERANCE) * limit)), -1.0, 0.0))
        stays = greater_equal(mode * line, (1.0 - _TOLERANCE) * limit)  # else it holds before it slips back
        return (where(mode, mode * limit, line), _bounded(before + step * v, reach * level),
                where(mode, where(stays, mode, 0.0), slips))

    impulse, deflection, wanted = by_element(
        one, mode, bristles.share, bristles.stiffness, _damping(bristles, step), _reach(bristles), lines.deflection,
        lines.level, velocity[bristles.joints])
    changed = changed_modes(mode.ravel(), wanted.ravel(), rounds, moved)
    return BristleRound(impulse, Presliding(deflection, changed.choice.reshape(mode.shape))), changed.moved


def _damping(bristles: Bristles, step: float) -> NDArray[Any]:
    """h (h k + c): decrease of an impulse per velocity, shape (N, m) [N m s^2/rad or N s^2/m]."""
    return step * (step * bristles.stiffness + bristles.damping)


def _reach(bristles: Bristles) -> NDArray[Any]:
    """Greatest deflection per level of the dry friction, shape (N, m) [rad/(N m) or m/N]."""
    return bristles.share / bristles.stiffness


def _bounded(value: NDArray[Any], most: NDArray[Any]) -> NDArray[Any]:
    """Clip values to +-most, which is not NaN; `clip` with two variables takes several times as many instructions."""
    return where(greater(value, most), most, where(less(value, -most), -most, value))


def on_joints(bristles: Bristles, values: NDArray[Any], n: int) -> NDArray[Any]:
    """Sum values of bristles, shape (N, m), for each joint, shape (n,)."""
    total = np.zeros(n, dtype=values.dtype)
    total[bristles.joints] = np.sum(values, axis=0)
    return total


def bristle_energy(bristles: Bristles, state: Presliding, n: int) -> NDArray[Any]:
    """Energy k z^2 / 2 of the bristles of each joint, shape (n,) [J]."""
    return on_joints(bristles, 0.5 * bristles.stiffness * state.deflection * state.deflection, n)
