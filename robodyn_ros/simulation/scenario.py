# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The task of a rollout: start, references and measurement noise, sampled at every tick."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.base.checks import NOT_NEGATIVE, as_floats, as_joint_array, as_number
from robodyn_ros.base.errors import InputError
from robodyn_ros.base.timing import NANOSECONDS_PER_SECOND, to_seconds
from robodyn_ros.control.contract.controller import JointReference
from robodyn_ros.control.contract.law_inputs import Reading, StateForm
from robodyn_ros.control.references.joint_trajectory import JointTrajectory
from robodyn_ros.control.references.reference import SOURCES, Trajectory
from robodyn_ros.description.model import Array
from robodyn_ros.kinematics.turns import turns
from robodyn_ros.robot import Robot
from robodyn_ros.simulation.closed_loop import TickInput
from robodyn_ros.simulation.plant import default_position, start_position
from robodyn_ros.simulation.signals import sampled_signals


@dataclass(frozen=True, eq=False)
class Scenario:
    """The task of a rollout, sampled at K ticks.

    Attributes:
        clocks: Time and period of each tick, shape (K, 2) [s].
        references: Reference at each tick, of the class that the law follows, each array with a leading axis of K
            ticks; None if the law follows none.
        normals: Standard normal numbers of the noise in measured positions and velocities, shape (K, 2, n).
        deviation: Standard deviation of this noise, shape (2, n) [rad or m; rad/s or m/s].
        q: Joint positions at the start, shape (n,) [rad or m].
        v: Joint velocities at the start, shape (n,) [rad/s or m/s].
        signals: The law's `Inputs` at each tick, each array with a leading axis of K ticks; None if it has none.
    """

    clocks: Array
    references: Any
    normals: Array
    deviation: Array
    q: Array
    v: Array
    signals: Any = None

    @property
    def noisy(self) -> bool:
        """Whether there is any noise."""
        return bool(self.deviation.any())

    @property
    def noises(self) -> Array:
        """The noise, added to the measured positions and velocities, shape (K, 2, n)."""
        return self.normals * self.deviation

    def inputs(self, noisy: bool) -> Iterator[TickInput]:
        """Yield the inputs of the ticks, with noise or without."""
        for k, clock in enumerate(self.clocks):
            reference = None
            if self.references is not None:
                reference = type(self.references)(*(rows[k] for rows in self.references))
            inputs = None
            if self.signals is not None:
                inputs = type(self.signals)(*(Reading(each.value[k], float(each.age[k])) for each in self.signals))
            yield TickInput(clock, reference, self.normals[k] if noisy else None, inputs)

    @classmethod
    def sample(cls, robot: Robot, follows: type | None, period_ns: int, trajectories: Sequence[Trajectory] = (),
               duration: float | None = None, q: ArrayLike | None = None, v: ArrayLike | None = None,
               position_noise: ArrayLike = 0.0, velocity_noise: ArrayLike = 0.0, seed: int = 0,
               signals: Mapping[str, Any] | None = None, form: StateForm | None = None) -> Scenario:
        """Sample a scenario that starts at time 0.

        Positions of continuous joints are angles, as for the nodes: whole turns are chosen such that the robot starts
        nearest to the first reference.

        Args:
            robot: The robot.
            follows: Class of the references that its controller follows; None if it follows none.
            period_ns: Control period [ns].
            trajectories: Trajectories to follow; the start is held before, the last point after.
            duration: Duration [s]; None: until the last trajectory ends.
            q: Joint positions at the start, shape (n,) [rad or m]; None: the beginning of the first trajectory, or
                else `default_position`.
            v: Joint velocities at the start, shape (n,) [rad/s or m/s]; None: zeros.
            position_noise: Standard deviation of the noise in measured positions, a number or shape (n,) [rad or m].
            velocity_noise: The same for velocities [rad/s or m/s].
            seed: Seed of the noise.
            signals: The law's inputs by name: values, functions of time, or `Signal`s, see `sampled_signals`.
            form: Inputs that the law declares; None: none.

        Raises:
            InputError: The controller does not follow this kind of trajectory, the duration is unknown or below a
                period, a shape is wrong, a standard deviation is negative, or the start is beyond the limits; or a
                signal is missing, unknown, or does not fit.
        """
        source = None if follows is None else SOURCES[follows](robot, default_position(robot))
        if not isinstance(trajectories, Sequence):
            raise InputError(f"rollout: expected a list of trajectories, received {type(trajectories).__name__}")
        for trajectory in trajectories:
            if source is None or source.source_of(getattr(trajectory, "kind", type(trajectory))) is None:
                followed = "no reference" if source is None else f"trajectories of {source.accepts.__name__}"
                received = type(trajectory).__name__
                if hasattr(trajectory, "kind"):
                    received = f"one of {trajectory.kind.__name__}"
                raise InputError(f"rollout: the controller follows {followed}, received {received}")
        if duration is None:
            if not trajectories:
                raise InputError("rollout: expected a duration, or a trajectory to follow until its end")
            duration = max(trajectory.end_time for trajectory in trajectories)
        ticks = round(duration / to_seconds(period_ns)) if np.isfinite(duration) else 0
        if ticks < 1:
            raise InputError(f"rollout: expected a duration of a control period or more, received {duration} s")
        clocks = np.zeros((ticks, 2))
        clocks[:, 0] = np.arange(ticks) * period_ns / NANOSECONDS_PER_SECOND
        clocks[1:, 1] = to_seconds(period_ns)
        angles = robot.model.angles
        ordered = sorted((one.short_way(angles) if isinstance(one, JointTrajectory) and angles.any() else one
                          for one in trajectories), key=lambda one: one.start_time)
        leads = ordered and follows is JointReference
        first = ordered[0].sample(max(0.0, ordered[0].start_time)).q if leads else None
        start = start_position(robot, q if q is not None else default_position(robot) if first is None else first)
        if first is not None and angles.any():
            start = start - turns(start - first, angles)
        velocity = np.zeros(robot.n) if v is None else as_floats(v, (robot.n,), "rollout: velocities at the start")
        deviation = np.stack([
            as_joint_array(noise, robot.n, NOT_NEGATIVE, f"rollout: {name}", robot.joint_names)
            for name, noise in (("position_noise", position_noise), ("velocity_noise", velocity_noise))])
        as_number(seed, NOT_NEGATIVE, "rollout: seed")
        normals = np.random.default_rng(seed).normal(size=(ticks, 2, robot.n))
        references = _references(robot, follows, ordered, clocks[:, 0], start)
        readings = sampled_signals(form, signals or {}, clocks[:, 0])
        return cls(clocks, references, normals, deviation, start, velocity, readings)


def _references(robot: Robot, follows: type | None, trajectories: Sequence[Trajectory], times: Array, q: Array) -> Any:
    """The references at some times, each array with a leading axis of times."""
    if follows is None:
        return None
    source = SOURCES[follows](robot, q)
    for trajectory in trajectories:
        follower = source.source_of(trajectory.kind)
        assert follower is not None  # checked by the caller
        follower.follow(trajectory)
    rows = [source.sample(time) for time in times.tolist()]
    return follows(*(np.stack(field) for field in zip(*rows, strict=True)))
