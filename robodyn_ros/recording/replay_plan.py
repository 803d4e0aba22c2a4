"""Turns a recording into the requests that repeat it: the state at the start, references, swaps, parameters, pushes.

Times are counted in control periods, called ticks, because a replay steps a simulation. A request of a tick is made
when the controller has answered the joint state of that tick.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from robodyn_ros.control.control_loop import JUMP
from robodyn_ros.control.controller import JointReference
from robodyn_ros.control.trajectories.joint_trajectory import MOST_POINTS, JointTrajectory, Points
from robodyn_ros.description.model import Array
from robodyn_ros.errors import InputError, RecordingError
from robodyn_ros.recording.run import Run
from robodyn_ros.resources import robot_file
from robodyn_ros.robot import Robot
from robodyn_ros.timing import DEFAULT_PERIOD

LONGEST_GAP = 0.1
"""A longer time between two joint states in time mode real_time was a pause, and is left out [s].

Simulated time stands still in a pause: a gap there is one of the recording.
"""
REPEATED_TOPICS = ("controller/pose", "controller/cartesian_trajectory", "controller/wrench",
                   "hardware/external_wrench")
"""Topics whose messages are sent again; references of joints come from the controller state."""
PACE = ("lockstep_speed_limit", "real_time_factor", "controller")
"""Parameters that are not set again: the pace of time; swaps are requests of their own."""


@dataclass(frozen=True, eq=False)
class SetState:
    """Put the robot into a state; this takes one tick. Positions [rad or m] and velocities, each of shape (n,)."""

    tick: int
    position: Array
    velocity: Array


@dataclass(frozen=True)
class Swap:
    """Put a controller in force from the next tick on."""

    tick: int
    controller: str


@dataclass(frozen=True)
class SetParameter:
    """Set a parameter of a node of the graph, by its name without namespace."""

    tick: int
    node: str
    name: str
    value: Any


@dataclass(frozen=True, eq=False)
class ReferenceMotion:
    """Send the joints through points; `points.times` count from the tick, the last one is at rest."""

    tick: int
    points: Points


@dataclass(frozen=True)
class RepeatedMessage:
    """Send a recorded message of a topic again: its name without namespace, its type, the serialized message."""

    tick: int
    topic: str
    type: str
    data: bytes


Request = SetState | Swap | SetParameter | ReferenceMotion | RepeatedMessage
NOT_REPEATED = ("robot", "robot_description", "use_sim_time", "start_type_description_service")
"""Parameters of nodes that the replay sets by itself, and of the ROS client library."""
_ORDER = (SetState, Swap, SetParameter, ReferenceMotion, RepeatedMessage)


class ReplayPlan:
    """The requests that repeat a recording.

    The first request sets the state of tick 0, which is that of the first recorded controller state. Joints follow the
    recorded references. A law that follows the tip link gets the recorded messages again.

    Args:
        run: The recording.
        swaps: Whether to repeat the swaps of controllers.

    Attributes:
        period: Control period [s].
        ticks: Tick of each recorded joint state from the start on, shape (N,).
        position: Recorded positions at these ticks, shape (N, n) [rad or m].
        controller: Name of the controller at the start.

    Raises:
        RecordingError: No references were recorded, or several simulations.
    """

    def __init__(self, run: Run, swaps: bool = True) -> None:
        control = run.control
        if control is None or not len(control.time):
            raise RecordingError(f"{run.path}: nothing to replay: expected the references on "
                                 "controller/controller_state, which nobody published while it was recorded (parameter "
                                 "state_publish_rate)")
        self._run, self._control, self._repeats_swaps = run, control, swaps
        times, first = np.unique(run.states.time, return_index=True)
        if (np.diff(run.states.time) < 0.0).any():
            raise RecordingError(f"{run.path}: the time of the joint states goes back: the simulation was started anew "
                                 "while it was recorded, and one simulation can be replayed")
        hardware = run.parameters.get(f"{run.namespace}/hardware", {})
        rate, longest = hardware.get("update_rate"), LONGEST_GAP
        if hardware.get("time_mode", "real_time") != "real_time":
            longest = np.inf
        start = max(int(np.searchsorted(times, control.time[0], "right")) - 1, 0)
        self._times, rows = times[start:], first[start:]
        steps = np.diff(self._times)
        self.period = 1.0 / rate if rate else float(np.median(steps)) if len(steps) else DEFAULT_PERIOD
        self.position, velocity = run.states.position[rows], np.nan_to_num(run.states.velocity[rows])
        speed = np.abs(velocity[1:]) + np.abs(velocity[:-1])
        excess = np.abs(np.diff(self.position, axis=0)) - steps[:, None] * speed
        jumps = (steps > longest) | (excess > JUMP).any(axis=1)
        self.ticks = np.concatenate([[0], np.cumsum(np.where(jumps, 1, np.maximum(np.rint(steps / self.period), 1)))])
        self.ticks = self.ticks.astype(int)
        self._states = [SetState(-1, self.position[0], velocity[0]), *(
            SetState(int(self.ticks[i]), self.position[i + 1], velocity[i + 1]) for i in np.flatnonzero(jumps))]
        chosen = np.unique(control.time, return_index=True)[1]
        self._rows = chosen[control.time[chosen] >= self._times[0] - 0.5 * self.period]
        self._row_ticks = np.array([self.tick(time) for time in control.time[self._rows]])
        self.controller = control.controller[self._rows[0]]

    @property
    def end(self) -> int:
        """The last tick."""
        return int(self.ticks[-1])

    @cached_property
    def requests(self) -> tuple[Request, ...]:
        """The requests in the order in which they are made; the first one sets the state of tick 0."""
        found: list[Request] = [*self._states, *self._swaps(), *self._parameters(), *self._motions(), *self._messages()]
        return tuple(sorted(found, key=lambda request: (request.tick, _ORDER.index(type(request)))))

    def tick(self, time: float) -> int:
        """Return the tick at a time of the recording [s]."""
        return int(self.ticks[max(int(np.searchsorted(self._times, time + 0.5 * self.period, "right")) - 1, 0)])

    def _swaps(self) -> Iterator[Swap]:
        names = [self._control.controller[row] for row in self._rows]
        for i in range(1, len(names)):
            if names[i] != names[i - 1] and self._repeats_swaps:
                yield Swap(int(self._row_ticks[i]) - 1, names[i])

    def _parameters(self) -> Iterator[SetParameter]:
        for change in self._run.parameter_changes:
            node = change.node.removeprefix(f"{self._run.namespace}/")
            if node in ("controller", "hardware") and change.name not in PACE and change.value is not None \
                    and change.time >= self._times[0]:
                yield SetParameter(self.tick(change.time), node, change.name, change.value)

    def _messages(self) -> Iterator[RepeatedMessage]:
        for name in REPEATED_TOPICS:
            topic = self._run.topics.get(f"{self._run.namespace}/{name}")
            for received, data in topic.messages if topic else ():
                time = self._run.time_of_receipt(received)
                if topic and time >= self._times[0]:
                    yield RepeatedMessage(self.tick(time), name, topic.type, data)

    def _motions(self) -> Iterator[ReferenceMotion]:
        """Divide the samples where laws follow joints so that references jump only between two motions."""
        control, rows, ticks = self._control, self._rows, self._row_ticks
        follows = np.isfinite(control.desired_position[rows]).all(axis=1)
        at_rest = (control.desired_velocity[rows] == 0.0).all(axis=1)
        begins = {0: 0}
        for i in range(1, len(rows)):
            set_ticks = [state.tick + 1 for state in self._states if ticks[i - 1] < state.tick + 1 <= ticks[i]]
            if set_ticks:
                begins[i] = set_ticks[-1]
            elif not follows[i - 1] or (control.controller[rows[i]] != control.controller[rows[i - 1]]
                                        and at_rest[i - 1]):
                begins[i] = int(ticks[i]) - 1
        for (i, base), end in zip(begins.items(), [*list(begins)[1:], len(rows)], strict=True):
            stop = i + int(np.argmin(np.append(follows[i:end], False)))
            if stop > i:
                yield from self._motion(base, rows[i:stop], ticks[i:stop])

    def _motion(self, base: int, rows: Array, ticks: Array) -> Iterator[ReferenceMotion]:
        """Yield the motion through samples that begins at a tick, in parts that a node takes."""
        control = self._control
        when, q, v, a = ticks, *(np.nan_to_num(values[rows]) for values in (
            control.desired_position, control.desired_velocity, control.desired_acceleration))
        early = int(np.searchsorted(when, base, "right"))  # samples at the tick itself, from which no motion can start
        first = JointReference(q[max(early - 1, 0)], v[max(early - 1, 0)], a[max(early - 1, 0)])
        when, q, v, a = when[early:], q[early:], v[early:], a[early:]
        if not len(when) or when[0] > base + 1:  # reach the recorded reference within one tick
            if len(when) and early:
                rest = np.zeros_like(q[0])
                first = JointTrajectory(first, 0.0, Points.from_arrays(
                    [(when[0] - base) * self.period, (when[0] - base) * self.period + 1.0], [q[0], q[0]], [v[0], rest],
                    [a[0], rest])).sample(self.period)
            when = np.concatenate([[base + 1], when])
            q, v, a = (np.vstack([one, all_]) for one, all_ in zip((first.q, first.v, first.a), (q, v, a), strict=True))
        for begin in range(0, len(when), MOST_POINTS - 1):
            part = slice(begin, begin + MOST_POINTS - 1)
            yield self._part(base, when[part], q[part], v[part], a[part])
            base = int(when[part][-1])

    def _part(self, base: int, when: Array, q: Array, v: Array, a: Array) -> ReferenceMotion:
        """Return a motion that comes to rest after its last point, as trajectories must."""
        times = (when - base) * self.period
        if v[-1].any():
            brake = max(times[-1] - times[-2] if len(times) > 1 else 0.0, self.period)
            times = np.append(times, times[-1] + brake)
            q = np.vstack([q, q[-1] + 0.5 * brake * v[-1]])
            v, a = (np.vstack([values, np.zeros_like(values[-1])]) for values in (v, a))
        return ReferenceMotion(base, Points(times, q, v, a))


def check_joints(run: Run, robot: str) -> None:
    """Raise unless a robot has the joints of a recording.

    Args:
        run: The recording.
        robot: The robot's name or file; empty: the recorded one.

    Raises:
        InputError: It has others.
        RecordingError: None was given, and the recording has none that can be used.
    """
    if not robot:
        _ = run.robot
        return
    names = Robot.from_urdf(robot_file(robot)).joint_names
    if set(names) != set(run.joint_names):
        raise InputError(f"--robot: expected a robot with the recorded joints {', '.join(run.joint_names)}, received "
                         f"'{robot}' with {', '.join(names)}")


def parameters_of_nodes(run: Run, plan: ReplayPlan, controller: str = "") -> dict[str, dict[str, Any]]:
    """Return the recorded parameters of each node, for a simulation in lockstep.

    Args:
        run: The recording.
        plan: Its plan.
        controller: The controller at the start; empty: the recorded one.
    """
    found = {node: {name: value for name, value in run.parameters.get(f"{run.namespace}/{node}", {}).items()
                    if value is not None and name not in NOT_REPEATED and not name.startswith("qos_overrides")}
             for node in ("hardware", "controller", "dynamics", "state_publisher")}
    rate = round(1.0 / plan.period)
    if abs(rate * plan.period - 1.0) > 0.01:
        raise RecordingError(f"{run.path}: joint states came every {plan.period:.6g} s, and a simulation needs a whole "
                             "number of them per second")
    found["hardware"] |= {"time_mode": "lockstep", "update_rate": rate, "lockstep_speed_limit": 0.0}
    found["controller"] |= {"controller": controller or plan.controller}
    return found
