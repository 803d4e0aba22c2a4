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

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.actuation.friction import Bristles
from robodyn_ros.base.errors import InputError
from robodyn_ros.compile import by_element, greater, greater_equal, less, where
from robodyn_ros.simulation.joint_constraints import Problem
from robodyn_ros.simulation.pivoting import changed_modes
from robodyn_ros.simulation.plant_part import Losses, PartRound, PlantPart
from robodyn_ros.simulation.plant_state import PlantState, Presliding

_TOLERANCE = 1e-10  # relative to the greatest impulse


class BristleLines(NamedTuple):
    """Impulses of bristles, which fall with the velocity up to a limit; arrays may be traced."""

    deflection: NDArray[Any]  # deflection at the beginning of the step, shape (N, m) of `Bristles` [rad or m]
    level: NDArray[Any]  # level of the dry friction of the joints, shape (m,) [N m or N]


class BristleRound(NamedTuple):
    """Bristles at the end of a step, for one choice of modes; each array has shape (N, m)."""

    impulse: NDArray[Any]  # impulses on the joints [N m s or N s]
    state: Presliding  # deflections, and the next modes


@dataclass(frozen=True, eq=False)
class BristleFriction(PlantPart):
    """The bristles of a robot; a guess is the modes of all of them.

    Attributes:
        bristles: Bristles of some joints.
        n: Number of joints.
        step: h [s].
    """

    bristles: Bristles
    n: int
    step: float

    @property
    def modes(self) -> int:  # type: ignore[override]  # depends on the plant
        """Number of bristles."""
        return self.bristles.share.size

    def at_rest(self) -> Presliding:
        """Return relaxed bristles."""
        return Presliding(*np.zeros((2, *self.bristles.share.shape)))

    def check(self, plant: Any) -> None:
        """As in `PlantPart`."""
        if self.modes and not plant.method.is_implicit:
            raise InputError(f"integrator {plant.integrator}: expected friction without presliding, received stiffness "
                             f"of friction model '{plant.friction.name}'; use "
                             f"{type(plant.integrator).SEMI_IMPLICIT_EULER}, or leave out the stiffness")

    def example(self) -> tuple[Any, Any, Any]:
        """As in `PlantPart`."""
        rest = self.at_rest()
        return (BristleLines(rest.deflection, np.zeros(len(self.bristles.joints))), rest.mode,
                BristleRound(rest.mode, rest))

    def start(self, state: PlantState, bending: NDArray[Any]) -> tuple[Any, Any]:
        """As in `PlantPart`; the first guess is the modes of the previous step."""
        return (BristleLines(_bounded(state.presliding.deflection, self._reach * bending), bending),
                state.presliding.mode)

    def add(self, given: Any, guess: Any, problem: Problem, _rounds: Any) -> Problem:
        """As in `PlantPart`."""
        if not self.modes:
            return problem
        bristles, step = self.bristles, self.step
        damping, drive = np.zeros_like(problem.momentum), np.zeros_like(problem.momentum)
        drives, dampings = by_element(
            lambda mode, share, stiffness, damping, deflection, level: (
                where(mode, mode * (step * share * level), -step * stiffness * deflection), where(mode, 0.0, damping)),
            guess, bristles.share, bristles.stiffness, self._damping, given.deflection, given.level)
        damping[bristles.joints], drive[bristles.joints] = np.sum(dampings, axis=0), np.sum(drives, axis=0)
        return problem._replace(matrix=problem.matrix + np.diag(damping), momentum=problem.momentum + drive)

    def compare(self, given: Any, guess: Any, velocity: NDArray[Any], rounds: Any, moved: Any) -> PartRound:
        """As in `PlantPart`; in later rounds one mode changes at a time, as in `joint_constraints`."""
        if not self.modes:
            return PartRound(BristleRound(guess, Presliding(guess, guess)), guess, moved)
        bristles, step = self.bristles, self.step

        def one(mode: Any, share: Any, stiffness: Any, damping: Any, reach: Any, before: Any, level: Any, v: Any
                ) -> tuple[Any, Any, Any]:
            limit, line = step * share * level, -step * stiffness * before - damping * v
            slips = where(greater(line, (1.0 + _TOLERANCE) * limit), 1.0,
                          where(less(line, -((1.0 + _TOLERANCE) * limit)), -1.0, 0.0))
            stays = greater_equal(mode * line, (1.0 - _TOLERANCE) * limit)  # else it holds before it slips back
            return (where(mode, mode * limit, line), _bounded(before + step * v, reach * level),
                    where(mode, where(stays, mode, 0.0), slips))

        impulse, deflection, wanted = by_element(
            one, guess, bristles.share, bristles.stiffness, self._damping, self._reach, given.deflection, given.level,
            velocity[bristles.joints])
        changed = changed_modes(guess.ravel(), wanted.ravel(), rounds, moved)
        mode = changed.choice.reshape(guess.shape)
        return PartRound(BristleRound(impulse, Presliding(deflection, mode)), mode, changed.moved)

    def undisturbed(self, state: PlantState, _given: Any, guess: Any, _velocity: NDArray[Any], moved: Any) -> PartRound:
        """As in `PlantPart`: nothing bends where there is no dry friction."""
        return PartRound(BristleRound(0.0 * state.presliding.deflection, state.presliding), guess, moved)

    def add_losses(self, losses: Losses, state: PlantState, result: Any, velocity: NDArray[Any]) -> Losses:
        """Add the work of the bristles that they do not store."""
        if not self.modes:
            return losses
        n, middle = self.n, 0.5 * (state.v + velocity[:self.n])
        gained = [self._on_joints(self._energy(each)) for each in (result.state, state.presliding)]
        return losses._replace(friction=losses.friction - self._on_joints(result.impulse) * middle[:n]
                               - (gained[0] - gained[1]))

    def next_state(self, state: PlantState, result: Any) -> PlantState:
        """As in `PlantPart`."""
        return state._replace(presliding=result.state)

    def friction_effort(self, result: Any) -> NDArray[Any] | float:
        """As in `PlantPart`."""
        return self._on_joints(result.impulse) / self.step if self.modes else 0.0

    def energy(self, state: PlantState) -> NDArray[Any]:
        """Energy k z^2 / 2 of the bristles of each joint that has some, shape (m,) [J]."""
        return np.sum(self._energy(state.presliding), axis=0)

    def _energy(self, state: Presliding) -> NDArray[Any]:
        return 0.5 * self.bristles.stiffness * state.deflection * state.deflection

    def _on_joints(self, values: NDArray[Any]) -> NDArray[Any]:
        """Sum values of bristles, shape (N, m), for each joint, shape (n,)."""
        total = np.zeros(self.n, dtype=values.dtype)
        total[self.bristles.joints] = np.sum(values, axis=0)
        return total

    @property
    def _damping(self) -> NDArray[Any]:
        """h (h k + c): decrease of an impulse per velocity, shape (N, m) [N m s^2/rad or N s^2/m]."""
        return self.step * (self.step * self.bristles.stiffness + self.bristles.damping)

    @property
    def _reach(self) -> NDArray[Any]:
        """Greatest deflection per level of the dry friction, shape (N, m) [rad/(N m) or m/N]."""
        return self.bristles.share / self.bristles.stiffness


def _bounded(value: NDArray[Any], most: NDArray[Any]) -> NDArray[Any]:
    """Clip values to +-most, which is not NaN; `clip` with two variables takes several times as many instructions."""
    return where(greater(value, most), most, where(less(value, -most), -most, value))
