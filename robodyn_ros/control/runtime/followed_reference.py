# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.


"""The reference that the running law follows: a state that is held, or trajectories."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple, TypeVar

import numpy as np

from robodyn_ros.base.checks import as_floats
from robodyn_ros.base.errors import InputError
from robodyn_ros.control.contract.controller import JointReference, State
from robodyn_ros.control.plugins.plugin import Plugin
from robodyn_ros.control.references.coming_to_rest import coming_to_rest
from robodyn_ros.control.references.reference import SOURCES, ForceReferenceSource, ReferenceSource, Trajectory
from robodyn_ros.control.references.trajectory_clock import TrajectoryClock
from robodyn_ros.control.runtime.requests import Grip
from robodyn_ros.description.model import Array
from robodyn_ros.kinematics.turns import turns
from robodyn_ros.robot import Robot

LATEST_START = 3600.0
"""Latest accepted start of a trajectory from now [s]; a later stamp comes from another clock."""

HALF_TURN_SQUARED = np.pi**2
"""No joint has passed half a turn, pi, if the squares of all changes sum up to less [rad^2]."""

AnyTrajectory = TypeVar("AnyTrajectory", bound=Trajectory)


class TrajectoryStart(NamedTuple):
    """Time and reference at which a trajectory begins."""

    start_time: float  # time of trajectories since the start of the loop [s]
    origin: float  # zero of the points' times, likewise [s]; earlier than `start_time` if the trajectory arrived late
    reference: Any  # the reference at `start_time`


class FollowedReference:
    """Gives the running law its reference. Has one source for each class of references.

    Args:
        robot: The robot.
        plugin: The first law.

    Attributes:
        clock: Time of trajectories, which speed scaling slows down.
        grip: What moves the joints of a gripper; None: they move like the others.
    """

    def __init__(self, robot: Robot, plugin: Plugin) -> None:
        self._robot, self._n = robot, robot.n
        self._angles = robot.model.angles
        self.clock = TrajectoryClock()
        self.grip: Grip | None = None
        self._to_rest: Any = None  # the motion to rest after a new start
        self._sources: dict[type, ReferenceSource] = {}
        self._source = self._source_for(plugin, np.zeros(self._n))

    def choose(self, plugin: Plugin, q: Array | None) -> bool:
        """Give references to another law from now on.

        Args:
            plugin: The law.
            q: Present joint positions, shape (n,) [rad or m]; None: not known yet.

        Returns:
            Whether the motion under way can go on.
        """
        source = self._source_for(plugin, np.zeros(self._n) if q is None else q)
        goes_on = plugin.follows is not None and source is self._source and source.moving()
        self._source = source
        return goes_on

    def hold(self, q: Array) -> None:
        """Drop all trajectories and hold these joint positions, shape (n,) [rad or m]."""
        self._source.hold(q)

    def come_to_rest(self, state: State) -> None:
        """Drop all trajectories and bring the robot to rest from this state."""
        self._source.hold(state.q)
        self._to_rest = self.grip = None
        if state.v.any():
            time = self.clock.time(state.time)
            self._to_rest = coming_to_rest(self._robot, self._source.accepts, state.q, state.v, time)
            self._source.follow(self._to_rest)

    def is_coming_to_rest(self) -> bool:
        """Whether the motion to rest after a new start is all that is followed."""
        return self._to_rest is not None and not self.moving()

    def moving(self) -> bool:
        """Whether a trajectory is under way or waits for its start; coming to rest after a new start does not count."""
        return self._source.moving() and not self._source.follows_only(self._to_rest)

    def motion(self) -> Trajectory | None:
        """The trajectory under way, or else the next one; None while a state is held. From any thread."""
        return self._source.motion()

    def advance(self, period: float, time: float) -> None:
        """Advance the time of trajectories by a control period to a time [s], while it is not at full speed."""
        gripping = self.grip is not None and self.grip.trajectory.end_time > self.clock.time(time)
        self.clock.advance(period, gripping or self._source.under_way() and self.moving())

    def at(self, time: float) -> Any:
        """The reference at a time of trajectories [s], at the present speed."""
        reference = self._source.sample(time)
        if self.grip is not None:
            reference = self._gripped(reference, time)
        return reference if self.clock.full_speed else self.clock.slowed(reference)

    def nearest(self, time: float, q: Array) -> Any:
        """As `at`, in the turn that is nearest to the joint positions q, shape (n,) [rad or m]."""
        reference = self.at(time)
        error = reference.q - q
        if error.dot(error) <= HALF_TURN_SQUARED:
            return reference
        return reference._replace(q=reference.q - turns(error, self._angles))

    def start_of(self, plugin: Plugin, now: float, requested: float | None, kind: type, joints: Collection[str]
                 ) -> TrajectoryStart:
        """Return time and reference at which a trajectory that arrives now begins.

        Args:
            plugin: The running law.
            now: Present time of trajectories [s].
            requested: Requested start [s since the start of the loop]; None: now.
            kind: Class of the trajectory's references.
            joints: Names of the joints that it moves.

        Raises:
            InputError: The law follows no such trajectory, it follows the tip link and a joint would move that, or the
                start is too far in the future to be meant.
        """
        source = self._follower(plugin, kind)
        if source is not self._source:
            self._check_beside_tip(plugin, joints)
        origin = now if requested is None else self.clock.time(requested)
        if origin - now > LATEST_START:
            raise InputError(
                f"trajectory: header.stamp is {origin - now:.3g} s after the last joint state; times are those of the "
                f"joint states' stamps; give 0 to start on arrival"
            )
        start_time = max(now, origin)
        return TrajectoryStart(start_time, origin, self._peek(source, start_time, joints))

    def follow(self, plugin: Plugin, now: float, trajectory: AnyTrajectory, on_arrival: bool, joints: Collection[str]
               ) -> AnyTrajectory:
        """Follow a trajectory, beginning at the reference in force at its start.

        Args:
            plugin: The running law.
            now: Present time of trajectories [s].
            trajectory: The motion, prepared from a `start_of`; its times count since the start of the loop.
            on_arrival: Delay all of it by the time that its preparation took; otherwise its points keep their times.
            joints: Names of the joints that it moves.

        Returns:
            The trajectory that is followed, with its final times.

        Raises:
            InputError: The law follows none of this kind, or all points have passed.
        """
        source = self._follower(plugin, trajectory.kind)
        if on_arrival:
            trajectory = trajectory.delayed(now - trajectory.start_time)
        start_time = max(trajectory.start_time, now)
        trajectory = trajectory.joined(self._peek(source, start_time, joints), start_time)
        source.follow(trajectory)
        if self.grip is not None and self._moves_grip(joints):
            self.grip = self.grip._replace(end_time=start_time)
        return trajectory

    def begin_grip(self, plugin: Plugin, now: float, grip: Grip) -> Grip:
        """Move the joints of a gripper from now on; return what is in force.

        Args:
            plugin: The running law.
            now: Present time of trajectories [s].
            grip: The motion, prepared from a `start_of`, or from where the joints are.

        Raises:
            InputError: The law follows no joints.
        """
        self._follower(plugin, JointReference)
        self.grip = grip._replace(trajectory=grip.trajectory.delayed(now - grip.trajectory.start_time))
        return self.grip

    def _moves_grip(self, joints: Collection[str]) -> bool:
        """Whether a joint of the gripper that moves is among joints, by name."""
        names = () if self.grip is None else np.array(self._robot.joint_names)[self.grip.joints]
        return any(name in names for name in joints)

    def _peek(self, source: ReferenceSource, time: float, joints: Collection[str]) -> Any:
        """The reference with which a trajectory of some joints begins; a gripper beside them counts as at rest."""
        reference = source.peek(time)
        return self._gripped(reference, time) if self._moves_grip(joints) else reference

    def _gripped(self, reference: Any, time: float) -> Any:
        """A reference at a time of trajectories [s], with the motion of the gripper in it."""
        grip = self.grip
        if grip is None or time >= grip.end_time:
            return reference
        own = grip.trajectory.sample(time)
        return reference._replace(**{name: np.where(grip.joints, getattr(own, name), getattr(reference, name))
                                     for name in JointReference._fields})

    def exert(self, plugin: Plugin, wrench: Array) -> None:
        """Have the tip link exert a wrench until another wrench, a stop or a new start.

        Args:
            plugin: The running law.
            wrench: (force, torque) exerted on the environment, about the tip link's origin in base axes, shape (6,)
                [N, N m].

        Raises:
            InputError: The law follows no wrench.
        """
        if not isinstance(self._source, ForceReferenceSource) or plugin.follows is None:
            raise InputError(f"wrench: controller '{plugin.name}' follows none; swap to one that does")
        self._source.exert(as_floats(wrench, (6,), "wrench"))

    def _source_for(self, plugin: Plugin, q: Array) -> ReferenceSource:
        """The source for a law; the present one if the law follows nothing."""
        kind = plugin.follows
        if kind is None:
            return self._source if self._sources else self._sources.setdefault(
                JointReference, SOURCES[JointReference](self._robot, q))
        if kind not in self._sources:
            self._sources[kind] = SOURCES[kind](self._robot, q)
        return self._sources[kind]

    def _follower(self, plugin: Plugin, kind: type) -> ReferenceSource:
        """The source that follows trajectories of a kind."""
        follows, source = plugin.follows, self._source.source_of(kind)
        if follows is None or source is None:
            followed = "none" if follows is None else f"a {follows.__name__}, not a {kind.__name__}"
            raise InputError(f"trajectory: controller '{plugin.name}' follows {followed}; swap to one that does")
        return source

    def _check_beside_tip(self, plugin: Plugin, joints: Collection[str]) -> None:
        moves = dict(zip(self._robot.joint_names, self._robot.model.moves(self._robot.tip_link), strict=True))
        if wrong := [name for name in joints if moves[name]]:
            raise InputError(
                f"trajectory: controller '{plugin.name}' follows the tip link '{self._robot.tip_link}', which "
                f"joint '{wrong[0]}' moves: move the tip link, or swap to a controller that follows joints. By name it "
                f"moves {', '.join(name for name, on_chain in moves.items() if not on_chain)}")
