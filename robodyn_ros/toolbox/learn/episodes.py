# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Starts of episodes: random states, targets and plant quantities, drawn in advance for many robots at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from robodyn_ros.base.checks import check_shape
from robodyn_ros.base.errors import InputError, shown
from robodyn_ros.compile.records import array_shapes, flatten, form_of
from robodyn_ros.control.contract.state import JointReference
from robodyn_ros.control.references.tip_reference import TipReference
from robodyn_ros.description.model import Array
from robodyn_ros.robot import Robot
from robodyn_ros.simulation.plant_model import PlantModel
from robodyn_ros.simulation.quantities import (
    DELAY,
    NOISES,
    OFFSET,
    QUANTITIES,
    START,
    varied_state,
)
from robodyn_ros.simulation.quantity_checks import check_varied, checked_samples
from robodyn_ros.toolbox.learn.env_program import EnvProgram
from robodyn_ros.toolbox.study.quantity_axes import quantity_axes
from robodyn_ros.toolbox.study.study import Axis, quantity_rows

MIN_DRAWN = 256
"""Least number of episodes to draw at once."""

_MIN_SHARE = 0.01  # least share of starts outside of all surfaces
_TURN = np.pi  # greatest distance of targets from the middle of a wide range

Targets = Callable[[np.random.Generator, int], Any]
"""Draws the references of some episodes: each array has a leading axis of episodes."""


def joint_targets(robot: Robot) -> Targets:
    """Return uniform joint positions within the limits, or one turn within wider ones, at rest."""
    return partial(_joints_between, *_reach(robot))


def pose_targets(robot: Robot) -> Targets:
    """Return reachable poses of the tip link at rest, those of `joint_targets`; other joints are at 0."""
    return partial(_poses_of, robot, joint_targets(robot))


def default_targets(robot: Robot, follows: Any) -> Targets | None:
    """Return the default targets of an environment; None for a policy without targets."""
    return None if follows is None else {JointReference: joint_targets, TipReference: pose_targets}[follows](robot)


def _joints_between(lower: Array, upper: Array, rng: np.random.Generator, count: int) -> JointReference:
    shape = (count, len(lower))
    rest = np.zeros(shape)
    return JointReference(rng.uniform(lower, upper, shape), rest, rest)


def _poses_of(robot: Robot, positions: Targets, rng: np.random.Generator, count: int) -> TipReference:
    poses = robot.dynamics().batch.forward_kinematics(positions(rng, count).q)
    rest, joints = np.zeros((count, 6)), np.zeros((count, robot.n))
    return TipReference(poses[:, :3, 3], Rotation.from_matrix(poses[:, :3, :3]).as_quat(), rest, rest,
                        joints, joints, joints)


def read_quantities(given: Mapping[str, Any] | None, plant: PlantModel) -> dict[str, tuple[Axis, ...]]:
    """Check distributions of quantities, in the forms of a study file.

    Args:
        given: Distributions by the name of the quantity; None: none.
        plant: The simulated robot.

    Raises:
        InputError: A quantity is unknown or has no effect on this robot, or a distribution does not fit.
    """
    if not isinstance(given, Mapping | None):
        raise InputError(f"quantities: expected distributions by the name of the quantity, received {shown(given)}")
    if given is not None and OFFSET in given:
        raise InputError(f"quantities: {OFFSET}: expected in studies only, which have a motion; use start.q")
    axes = dict(quantity_axes("quantities", given, plant, ()))
    check_varied(axes, plant)
    return axes


def longest_delay(axes: Mapping[str, Sequence[Axis]], name: str = DELAY) -> int | None:
    """Return the greatest value of a varied delay [control periods]; None if it is not varied."""
    if name not in axes:
        return None
    return max(1, *(int(np.rint(axis.distribution.ppf(np.array([1.0 - 1e-12]))[0])) for axis in axes[name]), 1)


class EpisodeStarts:
    """Draws the starts of episodes.

    Args:
        program: Program of the environment.
        axes: Distributions of quantities, see `read_quantities`.
        q: Joint positions at the start if they are not varied, shape (n,) [rad or m].
        targets: Draws references; None for a policy without targets.

    Raises:
        InputError: The robot would start inside a surface.
    """

    def __init__(self, program: EnvProgram, axes: Mapping[str, tuple[Axis, ...]], q: Array, targets: Targets | None
                 ) -> None:
        self._program, self._axes, self._q, self._targets = program, axes, q, targets
        self._drawn: dict[str, Array] = {}
        if not set(axes) & set(START):
            program.plant.check_start(q)

    def forget(self) -> None:
        """Discard episodes drawn in advance, for another seed."""
        self._drawn = {}

    def take(self, count: int, rng: np.random.Generator) -> dict[str, Array]:
        """Return the starts of some episodes.

        Args:
            count: Number of episodes.
            rng: Random numbers; equal ones give equal episodes, however many each call takes.

        Returns:
            Arrays of the inputs of `EnvProgram.step_procedure` by path: of the plant's state, the task and the
            quantities, each with an axis of the episodes first.

        Raises:
            InputError: A drawn value does not fit; no start is outside of all surfaces; or targets did not return
                references.
        """
        parts = [] if not self._drawn else [self._drawn]
        while sum(len(part["state.q"]) for part in parts) < count:
            parts.append(self._draw(rng))
        joined = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]} if parts else {}
        self._drawn = {name: array[count:] for name, array in joined.items()}
        return {name: array[:count] for name, array in joined.items()}

    def _draw(self, rng: np.random.Generator) -> dict[str, Array]:
        program, plant = self._program, self._program.plant
        shares = {axis.column: rng.random(MIN_DRAWN) for axes in self._axes.values() for axis in axes}
        values = {axis.column: axis.distribution.ppf(shares[axis.column])
                  for axes in self._axes.values() for axis in axes}
        rows = {}
        for name, axes in self._axes.items():
            drawn = {axis.column: np.round(values[axis.column]) if QUANTITIES[name].range.whole else
                     values[axis.column] for axis in axes}
            rows[name] = quantity_rows(axes, self._nominal(name), drawn)
        rows = checked_samples(rows, plant, [*self._axes])
        q = rows.pop("start.q", np.tile(self._q, (MIN_DRAWN, 1)))
        v = rows.pop("start.v", np.zeros((MIN_DRAWN, plant.n)))
        rows |= {name: np.tile(self._nominal(name), (MIN_DRAWN, 1)) for name in program.inputs if name not in rows}
        states = [varied_state(plant, *start, {name: array[k] for name, array in rows.items()})
                  for k, start in enumerate(zip(q, v, strict=True))]
        form: Any = form_of(states[0], shapes=False)
        columns = zip(*(flatten(form, state, "state") for state in states), strict=True)
        fields = dict(zip(array_shapes("state", form), map(np.array, columns), strict=True))
        found = {path: array for path, array in fields.items()
                 if ".".join(path.split(".")[:2]) in program.state_fields}
        found |= self._references(rng) | rows
        if plant.world is None or "start.q" not in self._axes:
            return found
        outside = np.array([self._is_outside(start) for start in q])
        if outside.mean() < _MIN_SHARE:
            plant.check_start(q[0])
        return {name: array[outside] for name, array in found.items()}

    def _nominal(self, name: str) -> Array:
        plant = self._program.plant
        if name == "start.q":
            return self._q
        return np.zeros(plant.n) if name in ("start.v", *NOISES) else QUANTITIES[name].nominal_value(plant)

    def _is_outside(self, q: Array) -> bool:
        try:
            self._program.plant.check_start(q)
        except InputError:
            return False
        return True

    def _references(self, rng: np.random.Generator) -> dict[str, Array]:
        if self._targets is None:
            return {}
        reference, follows = self._targets(rng, MIN_DRAWN), self._program.follows
        if type(reference) is not follows:
            raise InputError(f"targets: expected a {follows.__name__} of arrays, received {type(reference).__name__}")
        found = {}
        for name, shape in follows.shapes(self._program.plant.n).items():
            array = np.asarray(check_shape(getattr(reference, name), (MIN_DRAWN, *shape), f"targets: {name}"), float)
            if not np.isfinite(array).all():
                raise InputError(f"targets: {name}: expected finite numbers, received NaN or infinity")
            found[f"task.reference.{name}"] = array
        return found


def _reach(robot: Robot) -> tuple[Array, Array]:
    """The limits, or the turn nearest to 0 within wider ones."""
    lower, upper = robot.model.position_lower, robot.model.position_upper
    is_wide = upper - lower > 2.0 * _TURN
    middle = np.clip(0.0, np.where(is_wide, lower + _TURN, 0.0), np.where(is_wide, upper - _TURN, 0.0))
    return np.where(is_wide, middle - _TURN, lower), np.where(is_wide, middle + _TURN, upper)
