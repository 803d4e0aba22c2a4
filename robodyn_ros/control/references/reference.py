# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Sources of references: they hold a state, or follow trajectories one after the other.

Each class of references that controllers can follow has its own kind of source, see `SOURCES`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Protocol

import numpy as np

from robodyn_ros.control.contract.controller import JointReference
from robodyn_ros.control.references.tip_reference import ForceReference, TipReference
from robodyn_ros.description.model import Array
from robodyn_ros.kinematics.quaternions import quaternion_by_largest_element
from robodyn_ros.robot import Robot


class Trajectory(Protocol):
    """A motion that a source can follow.

    Attributes:
        kind: Class of the references that it gives.
        start_time: When the motion begins [s].
        end_time: When it ends [s]; from then on its last reference is held.
    """

    kind: ClassVar[type]
    start_time: float
    end_time: float

    def sample(self, time: float) -> Any:
        """The reference at a time [s]."""

    def delayed(self, delay: float) -> Any:
        """The same motion, later by some time [s]."""

    def joined(self, start: Any, start_time: float) -> Any:
        """Return a motion to the same goals at the same times, from another reference at another time [s]."""


class ReferenceSource(ABC):
    """Holds a state, follows trajectories, and holds the last point of the last one.

    Args:
        q: Joint positions to hold at first, shape (n,) [rad or m].

    Attributes:
        accepts: Reference class of the trajectories that it can follow.
    """

    accepts: ClassVar[type]

    def __init__(self, q: Array) -> None:
        self._queue: list[Trajectory] = []
        self._current: Trajectory | None = None
        self.hold(q)

    @abstractmethod
    def at_rest(self, q: Array) -> Any:
        """Return the reference that holds joint positions, shape (n,) [rad or m]."""

    def source_of(self, kind: type) -> ReferenceSource | None:
        """Return this source or the part of it that follows trajectories of a reference class; None: there is none."""
        return self if kind is self.accepts else None

    def hold(self, q: Array) -> None:
        """Drop all trajectories and hold joint positions, shape (n,) [rad or m]."""
        self._held = self.at_rest(q)
        self._current = None
        self._queue.clear()

    def follow(self, trajectory: Trajectory) -> None:
        """Follow a trajectory from its start; drop queued trajectories that begin later."""
        self._queue = [other for other in self._queue if other.start_time < trajectory.start_time]
        self._queue.append(trajectory)

    def sample(self, time: float) -> Any:
        """Return the reference at this tick's time [s]; times must not decrease."""
        while self._queue and self._queue[0].start_time <= time:
            self._current = self._queue.pop(0)
        if self._current is None:
            return self._held
        reference = self._current.sample(time)
        if time >= self._current.end_time:
            self._held, self._current = reference, None
        return reference

    def peek(self, time: float) -> Any:
        """Return the reference expected at a later time [s], without a new trajectory."""
        due = [other for other in self._queue if other.start_time <= time]
        trajectory = due[-1] if due else self._current
        return self._held if trajectory is None else trajectory.sample(time)

    def moving(self) -> bool:
        """Whether a trajectory is under way or waits for its start."""
        return self._current is not None or bool(self._queue)

    def under_way(self) -> bool:
        """Whether a trajectory has begun and not ended."""
        return self._current is not None

    def motion(self) -> Trajectory | None:
        """The current trajectory, or else the next one; None while a state is held."""
        return self._current or next(iter(self._queue), None)

    def follows_only(self, trajectory: Trajectory | None) -> bool:
        """Return whether this trajectory is the only current or queued one."""
        return all(other is trajectory for other in (self._current or trajectory, *self._queue))


class JointReferenceSource(ReferenceSource):
    """Source of `JointReference`; it holds joint positions."""

    accepts = JointReference

    def at_rest(self, q: Array) -> JointReference:
        """As in `ReferenceSource`."""
        rest = np.zeros(len(q))
        return JointReference(q.copy(), rest, rest)


class TipReferenceSource(ReferenceSource):
    """Source of `TipReference`; it holds the pose of the tip link, and the joints outside its chain.

    Joints outside the chain follow joint trajectories; the values of the chain's own joints are ignored.

    Args:
        robot: The robot.
        q: Joint positions to hold at first, shape (n,) [rad or m].
    """

    accepts = TipReference

    def __init__(self, robot: Robot, q: Array) -> None:
        self._forward_kinematics = robot.dynamics().forward_kinematics
        self._has_others = not robot.model.moves(robot.tip_link).all()
        self._others = JointReferenceSource(q)
        super().__init__(q)

    def at_rest(self, q: Array) -> TipReference:
        """As in `ReferenceSource`."""
        pose, rest = self._forward_kinematics(q), np.zeros(6)
        return TipReference(pose[:3, 3].copy(), quaternion_by_largest_element(pose[:3, :3]), rest, rest)

    def source_of(self, kind: type) -> ReferenceSource | None:
        """As in `ReferenceSource`."""
        return self._others if kind is JointReference and self._has_others else super().source_of(kind)

    def hold(self, q: Array) -> None:
        """As in `ReferenceSource`."""
        self._others.hold(q)
        super().hold(q)

    def sample(self, time: float) -> Any:
        """As in `ReferenceSource`."""
        q, v, a = self._others.sample(time)
        return super().sample(time)._replace(q=q, v=v, a=a)

    def peek(self, time: float) -> Any:
        """As in `ReferenceSource`."""
        q, v, a = self._others.peek(time)
        return super().peek(time)._replace(q=q, v=v, a=a)

    def moving(self) -> bool:
        """As in `ReferenceSource`."""
        return super().moving() or self._others.moving()

    def under_way(self) -> bool:
        """As in `ReferenceSource`."""
        return super().under_way() or self._others.under_way()

    def motion(self) -> Trajectory | None:
        """As in `ReferenceSource`; a motion of the tip link comes first."""
        return super().motion() or self._others.motion()

    def follows_only(self, trajectory: Trajectory | None) -> bool:
        """As in `ReferenceSource`."""
        return super().follows_only(trajectory) and self._others.follows_only(trajectory)


class ForceReferenceSource(TipReferenceSource):
    """Source of `ForceReference`: poses as in `TipReferenceSource`, and a wrench that is 0 until `exert` sets it."""

    def hold(self, q: Array) -> None:
        """As in `ReferenceSource`; also set the wrench to 0."""
        self.exert(np.zeros(6))
        super().hold(q)

    def exert(self, wrench: Array) -> None:
        """Exert a wrench from now on.

        Args:
            wrench: (force, torque) that the tip link exerts on the environment, about its origin in base axes, shape
                (6,) [N, N m].
        """
        self._wrench = wrench

    def sample(self, time: float) -> ForceReference:
        """As in `ReferenceSource`."""
        tip: TipReference = super().sample(time)
        return ForceReference(*tip, self._wrench)


SOURCES: Mapping[type, Callable[[Robot, Array], ReferenceSource]] = {
    JointReference: lambda robot, q: JointReferenceSource(q),
    TipReference: TipReferenceSource,
    ForceReference: ForceReferenceSource,
}
"""Source of each reference class; called with a robot and the joint positions to hold, shape (n,)."""
