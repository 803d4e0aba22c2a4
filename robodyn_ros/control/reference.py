"""Where a controller's reference comes from: a held state, or trajectories one after the other."""

from __future__ import annotations

import numpy as np

from robodyn_ros.control.controller import JointReference
from robodyn_ros.control.trajectory import JointTrajectory
from robodyn_ros.description.model import Array


class JointReferenceSource:
    """Holds joint positions until trajectories are to be followed; their last point is held again.

    Args:
        q: Positions to hold at first, shape (n,) [rad or m].
    """

    def __init__(self, q: Array) -> None:
        self._queue: list[JointTrajectory] = []
        self._current: JointTrajectory | None = None
        self.hold(q)

    def hold(self, q: Array) -> None:
        """Forget all trajectories and stay here, shape (n,) [rad or m]."""
        rest = np.zeros(len(q))
        self._held = JointReference(q.copy(), rest, rest)
        self._current = None
        self._queue.clear()

    def follow(self, trajectory: JointTrajectory) -> None:
        """Follow a trajectory from its start on; whatever was to follow later than that is forgotten."""
        self._queue = [other for other in self._queue if other.start_time < trajectory.start_time]
        self._queue.append(trajectory)

    def sample(self, time: float) -> JointReference:
        """The reference at this tick's time [s], which must not be before that of the last tick."""
        while self._queue and self._queue[0].start_time <= time:
            self._current = self._queue.pop(0)
        if self._current is None:
            return self._held
        reference = self._current.sample(time)
        if time >= self._current.end_time:
            self._held, self._current = reference, None
        return reference

    def peek(self, time: float) -> JointReference:
        """The reference that will be in force at a later time [s], as things stand."""
        due = [other for other in self._queue if other.start_time <= time]
        trajectory = due[-1] if due else self._current
        return self._held if trajectory is None else trajectory.sample(time)

    def moving(self) -> bool:
        """Whether a trajectory is under way or waits for its start."""
        return self._current is not None or bool(self._queue)
