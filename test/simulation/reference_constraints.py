# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Second implementation of friction and stops, with branches instead of traced choices, as a reference."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from robodyn_ros.description.model import Array
from robodyn_ros.simulation.joint_constraints import LOWER, NEGATIVE, POSITIVE, STICKING, UPPER

FREE, VELOCITY, IMPULSE = range(3)
"""Rows of the array of constraints: 1 for a joint whose impulse is given, 0 for one whose velocity is; these two."""

_POSITION_TOLERANCE = 1e-13  # [rad or m]
_VELOCITY_TOLERANCE = 1e-12  # [rad/s or m/s]
_IMPULSE_TOLERANCE = 1e-10  # relative to the friction
_BLOCK_ROUNDS = 10


class JointConstraints:
    """Finds the consistent contact_modes; the search starts with the modes of the last step.

    Args:
        lower: Positions of the lower stops, shape (n,) [rad or m].
        upper: Positions of the upper stops, shape (n,) [rad or m].
        step: Time step [s].

    Attributes:
        contact_modes: Piece of the staircase of each joint after the last step.
    """

    def __init__(self, lower: Array, upper: Array, step: float) -> None:
        # Python's own numbers: a handful of joints is done with before NumPy has begun.
        self._lower, self._upper, self._step = lower.tolist(), upper.tolist(), step
        self.contact_modes = [STICKING] * len(lower)
        self._friction: Sequence[float] = ()
        self._unconstrained = False  # in the last step: no friction, no stop
        self._constraints = np.zeros((3, len(lower)))

    def solve(self, evaluate: Callable[[Array], Array], position: Array, friction: Sequence[float]) -> Array:
        """The state after the step that fits the staircases.

        Args:
            evaluate: From constraints, shape (3, n), to positions, velocities and impulses after the step, shape
                (3, n).
            position: Positions before the step, shape (n,) [rad or m].
            friction: Greatest impulse of friction, n numbers >= 0, infinite for a brake that always holds
                [N m s or N s].

        Returns:
            Positions, velocities and impulses after the step, shape (3, n); positions are within the stops.

        Raises:
            FloatingPointError: They are not finite.
        """
        same = friction == self._friction
        if same and self._unconstrained:
            result = evaluate(self._constraints)
            positions = result[0].tolist()
            for low, value, high in zip(self._lower, positions, self._upper, strict=True):
                if not low <= value <= high:
                    break
            else:
                if math.isfinite(sum(positions)):
                    return result
        self._friction = friction
        contact_modes, indices = self.contact_modes, range(len(self.contact_modes))
        for i in indices:  # only velocities at stops change with the step
            if not same:
                contact_modes[i] = _admissible(contact_modes[i], friction[i])
            if not same or contact_modes[i] == LOWER or contact_modes[i] == UPPER:
                self._enter(i, friction[i], position)
        for round_ in range(_BLOCK_ROUNDS + 40 * len(contact_modes)):  # the end only guards against rounding
            result = evaluate(self._constraints)
            positions, velocities, impulses = result.tolist()
            if not math.isfinite(sum(positions) + sum(velocities)):
                raise FloatingPointError(f"velocities became {velocities}")
            moved = False
            for i in indices:
                contact_mode = self._next_contact_mode(i, positions[i], velocities[i], impulses[i], friction[i])
                if contact_mode != contact_modes[i]:
                    contact_modes[i], moved = contact_mode, True
                    self._enter(i, friction[i], position)
                    if round_ >= _BLOCK_ROUNDS:
                        break
            if not moved:
                break
        for i in indices:  # takes back rounding: the velocities are within the stops
            if positions[i] < self._lower[i]:
                result[0, i] = self._lower[i]
            elif positions[i] > self._upper[i]:
                result[0, i] = self._upper[i]
        self._unconstrained = not any(friction) and contact_modes.count(NEGATIVE) == len(contact_modes)
        return result

    def _enter(self, i: int, friction: float, position: Array) -> None:
        """Write the constraints of a joint's contact_mode."""
        contact_mode, constraints = self.contact_modes[i], self._constraints
        if contact_mode == NEGATIVE or contact_mode == POSITIVE:
            constraints[FREE, i] = 1.0
            constraints[IMPULSE, i] = friction if contact_mode == NEGATIVE else -friction
        else:
            constraints[FREE, i] = 0.0
            stops = {STICKING: position[i], LOWER: self._lower[i], UPPER: self._upper[i]}
            stop = stops[contact_mode]
            constraints[VELOCITY, i] = (stop - position[i]) / self._step

    def _next_contact_mode(self, i: int, position: float, velocity: float, impulse: float, friction: float) -> int:
        """The contact_mode itself if the solution fits it, else the neighbour on the side where it does not."""
        contact_mode = self.contact_modes[i]
        if contact_mode == NEGATIVE:  # without friction: sliding either way
            if position < self._lower[i] - _POSITION_TOLERANCE:
                return LOWER
            if friction == 0.0:
                return UPPER if position > self._upper[i] + _POSITION_TOLERANCE else NEGATIVE
            return STICKING if velocity > _VELOCITY_TOLERANCE else NEGATIVE
        if contact_mode == POSITIVE:
            if position > self._upper[i] + _POSITION_TOLERANCE:
                return UPPER
            return STICKING if velocity < -_VELOCITY_TOLERANCE else POSITIVE
        tolerance = _IMPULSE_TOLERANCE * friction
        if contact_mode == STICKING:
            if abs(impulse) > friction + tolerance:
                return NEGATIVE if impulse > 0.0 else POSITIVE
            return STICKING
        if contact_mode == LOWER:
            return NEGATIVE if impulse < friction - tolerance else LOWER
        if impulse > tolerance - friction:
            return POSITIVE if friction > 0.0 else NEGATIVE
        return UPPER


def _admissible(contact_mode: int, friction: float) -> int:
    """The mode to start from: without friction a joint has one sliding mode, with infinite friction it only sticks."""
    if friction == 0.0:
        return NEGATIVE if contact_mode == STICKING or contact_mode == POSITIVE else contact_mode
    return STICKING if friction == np.inf else contact_mode
