# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Named observations: the inputs of a learned law, in its environment and as a controller.

Each name has one formula, on floats or traced scalars, so that nodes, rollouts and C give a policy exactly the
observations of its training.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robodyn_ros.base.checks import POSITIVE, Range, as_number
from robodyn_ros.base.errors import InputError, shown, unknown
from robodyn_ros.base.fields import POSITION, VELOCITY, Unit
from robodyn_ros.compile import clip, less_equal, where
from robodyn_ros.control.contract.state import JointReference, State
from robodyn_ros.control.laws.task_space import pose_error
from robodyn_ros.control.references.tip_reference import TipReference
from robodyn_ros.robot import Robot

JOINTS, ACTIONS = "joints", "actions"
"""Lengths of observations: one number for each joint, or one for each element of the action."""

MAX_HISTORY = 100
"""Limit of the length of a history [ticks]."""


class Observed(NamedTuple):
    """Inputs of the observation formulas; each array may be traced.

    Attributes:
        dynamics: Of the robot as the law knows it, a `Dynamics`.
        state: The measured state.
        reference: An instance of `ObservationLayout.follows`; None if that is None.
        last_action: The action of the previous tick, shape (m,); zeros at the first.
        default: The default pose of the policy, shape (n,) [rad or m].
    """

    dynamics: Any
    state: State
    reference: Any
    last_action: NDArray[Any]
    default: NDArray[Any]


@dataclass(frozen=True)
class Observation:
    """A named observation.

    Attributes:
        size: Number of elements: `JOINTS`, `ACTIONS`, or a number.
        function: Computes it, shape (size,).
        unit: Its unit; empty: none.
        description: Its meaning, without unit and full stop.
        follows: Class of the references that it needs; None: it needs none.
    """

    size: str | int
    function: Callable[[Observed], Any]
    unit: str | Unit
    description: str
    follows: type | None = None


def rotation_columns(rotation: NDArray[Any]) -> NDArray[Any]:
    """Return the first two columns of a rotation matrix, one after the other, shape (6,).

    This representation is continuous over all rotations, which is impossible with fewer than five numbers; [Zhou]
    section 4.2.

    Args:
        rotation: Shape (3, 3).
    """
    return np.concatenate([rotation[:, 0], rotation[:, 1]])


def quaternion_columns(quaternion: NDArray[Any]) -> NDArray[Any]:
    """`rotation_columns` of the rotation of a unit quaternion x, y, z, w of shape (4,), shape (6,)."""
    x, y, z, w = quaternion
    return np.array([1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y + w * z), 2.0 * (x * z - w * y),
                     2.0 * (x * y - w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z + w * x)])


def _measured_wrench(given: Observed) -> NDArray[Any]:
    is_number = less_equal(abs(given.state.wrench_tip), np.inf)  # np.isnan takes no plain arrays of traced values
    wrench: NDArray[Any] = where(is_number, given.state.wrench_tip, 0.0)
    return wrench


def _tip(given: Observed) -> NDArray[Any]:
    pose: NDArray[Any] = given.dynamics.forward_kinematics(given.state.q)
    return pose


OBSERVATIONS: Mapping[str, Observation] = {
    "q": Observation(JOINTS, lambda given: given.state.q, POSITION, "Measured joint positions"),
    "v": Observation(JOINTS, lambda given: given.state.v, VELOCITY, "Measured joint velocities"),
    "q_offset": Observation(JOINTS, lambda given: given.state.q - given.default, POSITION,
                            "Measured joint positions from the default pose"),
    "sin_q": Observation(JOINTS, lambda given: np.sin(given.state.q), "", "Sines of the measured joint positions"),
    "cos_q": Observation(JOINTS, lambda given: np.cos(given.state.q), "", "Cosines of the measured joint positions"),
    "tip_position": Observation(3, lambda given: _tip(given)[:3, 3], "m", "Position of the tip link in base axes"),
    "tip_rotation": Observation(6, lambda given: rotation_columns(_tip(given)[:3, :3]), "",
                                "First two columns of the rotation matrix of the tip link"),
    "tip_twist": Observation(6, lambda given: given.dynamics.jacobian(given.state.q) @ given.state.v, "m/s, rad/s",
                             "Velocity of the tip link's origin, and its angular velocity, in base axes"),
    "wrench_tip": Observation(6, _measured_wrench, "N, N m",
                              "Measured force and torque on the tip link; 0 where they are not measured"),
    "target_q": Observation(JOINTS, lambda given: given.reference.q, POSITION, "Desired joint positions",
                            JointReference),
    "target_v": Observation(JOINTS, lambda given: given.reference.v, VELOCITY, "Desired joint velocities",
                            JointReference),
    "error_q": Observation(JOINTS, lambda given: given.reference.q - given.state.q, POSITION,
                           "Desired minus measured joint positions", JointReference),
    "error_v": Observation(JOINTS, lambda given: given.reference.v - given.state.v, VELOCITY,
                           "Desired minus measured joint velocities", JointReference),
    "target_position": Observation(3, lambda given: given.reference.position, "m",
                                   "Desired position of the tip link in base axes", TipReference),
    "target_rotation": Observation(6, lambda given: quaternion_columns(given.reference.quaternion), "",
                                   "First two columns of the desired rotation matrix of the tip link", TipReference),
    "error_pose": Observation(6, lambda given: pose_error(_tip(given), given.reference), "m, rad",
                              "Translation and rotation from the pose of the tip link to the desired one, in base axes",
                              TipReference),
    "last_action": Observation(ACTIONS, lambda given: given.last_action, "",
                               "The action of the tick before, within its clip; 0 at the first"),
}
"""The observations by name."""


@dataclass(frozen=True)
class ObservationTerm:
    """An observation in a policy's input: ``clip(scale * observation)``.

    Attributes:
        name: Name of one of `OBSERVATIONS`.
        scale: Factor, a single one or one per element.
        clip: Greatest magnitude of the scaled numbers; infinity: no limit.
    """

    name: str
    scale: float | tuple[float, ...] = 1.0
    clip: float = np.inf


class History(NamedTuple):
    """Memory of a layout with history.

    Attributes:
        rows: The last observations, the newest first, shape (history - 1, width).
        filled: 0 before the first observation, which then fills the history; afterwards 1.
    """

    rows: NDArray[Any]
    filled: Any


@dataclass(frozen=True)
class ObservationLayout:
    """The input of a policy: named observations one after the other, and those of earlier ticks.

    Attributes:
        terms: The observations in their order.
        joints: Number of joints n.
        actions: Number of elements of an action m.
        history: Number of ticks with observations, newest first; 1: only the present one.
    """

    terms: tuple[ObservationTerm, ...]
    joints: int
    actions: int
    history: int = 1

    @classmethod
    def from_names(cls, terms: Mapping[str, Any] | Iterable[str], robot: Robot, actions: int, history: int = 1,
                   where: str = "observations") -> ObservationLayout:
        """Check a list of observations against a robot.

        Args:
            terms: Names, or a mapping from names to a scale (a single one or one per element), a mapping with ``scale``
                and ``clip``, or None.
            robot: The robot.
            actions: Number of elements of an action m.
            history: As in the class.
            where: Location of the list, for messages.

        Raises:
            InputError: A name is unknown or repeated, there is none, two kinds of references are needed, or a number
                does not fit.
        """
        if isinstance(terms, str) or not isinstance(terms, Iterable):
            raise InputError(f"{where}: expected names of observations, received {shown(terms)}")
        names = list(terms)
        given: Mapping[Any, Any] = terms if isinstance(terms, Mapping) else dict.fromkeys(map(str, names))
        if not names or len(given) < len(names):
            raise InputError(f"{where}: expected names of observations, each once, received {shown(names)}")
        as_number(history, Range(1, MAX_HISTORY, whole=True), f"{where}: history")
        for name in names:
            if name not in OBSERVATIONS:
                raise InputError(f"{where}: {unknown('observation', name, OBSERVATIONS)}")
        needed = {kind: name for name in names if (kind := OBSERVATIONS[name].follows) is not None}
        if len(needed) > 1:
            raise InputError(f"{where}: expected references of joints or of the tip link, received "
                             f"{' and '.join(needed.values())}, which need both")
        sizes = {JOINTS: robot.n, ACTIONS: actions}
        return cls(tuple(_term(name, value, _size(name, sizes), f"{where}: {name}") for name, value in given.items()),
                   robot.n, actions, int(history))

    @cached_property
    def sizes(self) -> dict[str, int]:
        """Number of elements of each observation by name."""
        sizes = {JOINTS: self.joints, ACTIONS: self.actions}
        return {term.name: _size(term.name, sizes) for term in self.terms}

    @property
    def width(self) -> int:
        """Number of elements of one tick's observations."""
        return sum(self.sizes.values())

    @property
    def size(self) -> int:
        """Number of elements of a policy's input."""
        return self.history * self.width

    @property
    def follows(self) -> type | None:
        """Class of the references that the observations need; None: they need none."""
        return next((kind for name in self.sizes if (kind := OBSERVATIONS[name].follows) is not None), None)

    @cached_property
    def clip(self) -> NDArray[np.float64]:
        """Greatest magnitude of each element of one tick's observations, shape (width,)."""
        return np.concatenate([np.full(self.sizes[term.name], term.clip) for term in self.terms])

    def observe(self, given: Observed) -> NDArray[Any]:
        """Return one tick's observations, scaled and clipped, shape (width,), floats or traced scalars."""
        return np.concatenate([self._scaled(term, OBSERVATIONS[term.name].function(given)) for term in self.terms])

    def _scaled(self, term: ObservationTerm, values: Any) -> NDArray[Any]:
        scaled = np.asarray(term.scale) * values
        return scaled if term.clip == np.inf else clip(scaled, -term.clip, term.clip)

    def first_history(self) -> History | None:
        """Return the memory before the first observation; None for a layout without history."""
        return None if self.history == 1 else History(np.zeros((self.history - 1, self.width)), np.zeros(()))

    def stacked(self, newest: NDArray[Any], before: History | None) -> tuple[NDArray[Any], History | None]:
        """Prepend one tick's observations to those of earlier ticks.

        Args:
            newest: Result of :meth:`observe`, shape (width,).
            before: The memory of the previous tick; None for a layout without history.

        Returns:
            The input of the policy, shape (size,), and the memory for the next tick.
        """
        if before is None:
            return newest, None
        same = np.stack([newest] * (self.history - 1))
        rows = np.concatenate([newest[None], where(before.filled, before.rows, same)])
        return rows.reshape(-1), History(rows[:-1], np.float64(1.0))


def _size(name: str, sizes: Mapping[str, int]) -> int:
    size = OBSERVATIONS[name].size
    return sizes[size] if isinstance(size, str) else size


def _term(name: str, given: Any, size: int, where: str) -> ObservationTerm:
    fields = dict(given) if isinstance(given, Mapping) else {} if given is None else {"scale": given}
    for key in fields:
        if key not in ("scale", "clip"):
            raise InputError(f"{where}: {unknown('key', key, ('scale', 'clip'))}")
    bound = as_number(fields.get("clip", np.inf), Range(0.0, above=True, or_infinite=True), f"{where}: clip")
    return ObservationTerm(name, _scale(fields.get("scale", 1.0), size, f"{where}: scale"), bound)


def _scale(given: ArrayLike, size: int, where: str) -> float | tuple[float, ...]:
    """Return a positive scale, a single one or one per element."""
    if np.ndim(given) == 0:  # type: ignore[arg-type]  # of anything
        return as_number(given, POSITIVE, where)
    numbers = np.asarray(given)
    if numbers.shape != (size,):
        raise InputError(f"{where}: expected one number or {size}, received {shown(given)}")
    return tuple(as_number(number, POSITIVE, where) for number in numbers.tolist())
