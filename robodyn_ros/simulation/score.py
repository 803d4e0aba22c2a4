"""What rollouts give: how well robots did, and all that one of them did."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from robodyn_ros.control.controller import JointReference
from robodyn_ros.description.model import Array
from robodyn_ros.errors import InputError
from robodyn_ros.simulation.tracking import TrackingRecord


class Score(NamedTuple):
    """How well robots did, each array for one of them, or with an axis of N robots before its own.

    The tracking error has one element for each joint [rad or m]; or, where the law follows poses, six for translation
    and rotation of the tip link in base axes [m, rad]. See `closed_loop.tracking_error_function`.

    Attributes:
        rms_error: Root of the mean square of the tracking error over the ticks, shape (e,).
        worst_error: Largest magnitude of the tracking error, shape (e,).
        rms_effort: Shape (n,) [N m or N].
        worst_effort: Shape (n,) [N m or N].
        rms_effort_change: Of the effort from one tick to the next, shape (n,) [N m or N].
        q: Joint positions at the end, shape (n,) [rad or m].
        v: Joint velocities at the end, shape (n,) [rad/s or m/s].
    """

    rms_error: Array
    worst_error: Array
    rms_effort: Array
    worst_effort: Array
    rms_effort_change: Array
    q: Array
    v: Array


@dataclass(frozen=True, eq=False)
class Rollout:
    """What one robot did at each of K ticks.

    Attributes:
        joint_names: Names of the joints.
        units: ``rad`` or ``m`` for each joint.
        tip_link: Name of the tip link.
        controller: Name of the law's class.
        time: Shape (K,) [s].
        q: Joint positions, shape (K, n) [rad or m].
        v: Joint velocities, shape (K, n) [rad/s or m/s].
        effort: What the joints were told to exert, within their limits, shape (K, n) [N m or N].
        reference: What the robot should have done: of the class that the law follows, each array with an axis of K
            ticks before its own; None if the law follows none.
        error: Tracking error, shape (K, e), see `Score`.
        score: Errors and efforts over all ticks, and the state after the last control period.
        note: Why the controller ran as Python code, and how long a tick took; empty if it was compiled.
    """

    joint_names: tuple[str, ...]
    units: tuple[str, ...]
    tip_link: str
    controller: str
    time: Array
    q: Array
    v: Array
    effort: Array
    reference: Any
    error: Array
    score: Score
    note: str = ""

    def tracking(self) -> TrackingRecord:
        """The same for a table and a plot: of the joints, or of the tip's position where the law follows poses.

        Raises:
            InputError: The law follows no reference.
        """
        if self.reference is None:
            raise InputError(f"tracking of {self.controller}: expected a law that follows a reference")
        names = [self.controller] * len(self.time)
        if isinstance(self.reference, JointReference):
            return TrackingRecord(self.joint_names, self.units, self.time, self.reference.q, self.q, names)
        axes, desired = [f"{self.tip_link} {axis}" for axis in "xyz"], self.reference.position
        return TrackingRecord(axes, ["m"] * 3, self.time, desired, desired - self.error[:, :3], names)
