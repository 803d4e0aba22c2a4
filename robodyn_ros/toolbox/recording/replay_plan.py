# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Turns a recording into requests that repeat it: initial state, references, swaps, parameters, pushes.

A request of a tick is made after the controller has answered the joint state of that tick.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.actuation.driver_profile import DRIVERS
from robodyn_ros.base import topic_names
from robodyn_ros.base.errors import InputError, RecordingError, shown
from robodyn_ros.base.module_path import is_from_plugin_folder
from robodyn_ros.control.contract.controller import JointReference
from robodyn_ros.control.contract.law_inputs import state_form
from robodyn_ros.control.plugins.registry import controller_names, load_controller, prefix
from robodyn_ros.control.references.joint_trajectory import MAX_POINTS, JointTrajectory, Points
from robodyn_ros.description.model import Array
from robodyn_ros.description.resources import robot_file, shipped_actuators
from robodyn_ros.robot import Robot
from robodyn_ros.toolbox.recording.recorded_ticks import RecordedTicks, RepeatedMessage, SetParameter, SetState
from robodyn_ros.toolbox.recording.run import Run

REPEATED_TOPICS = (topic_names.POSE, topic_names.CARTESIAN_TRAJECTORY, topic_names.WRENCH, topic_names.EXTERNAL_WRENCH)
"""Topics with messages to repeat; joint references come from the controller state."""


@dataclass(frozen=True)
class PlannedSwap:
    """Swap to a controller from the next tick on."""

    tick: int
    controller: str


@dataclass(frozen=True, eq=False)
class ReferenceMotion:
    """Move the joints through points; `points.times` count from the tick, and the last point is at rest."""

    tick: int
    points: Points


Request = SetState | PlannedSwap | SetParameter | ReferenceMotion | RepeatedMessage
NAMES_OF_CONTROLLERS = ("controller", "safe_controller")
NAMES_OF_FILES = ("actuators", "driver", "world", "mujoco_scene")
"""Parameters of nodes that name modules to import, or files to open; a replay does not trust the recording for
these."""

POLICY_FILE = "policy.file"
"""Parameter of the law `policy` that names its file, not trusted either."""

NOT_REPEATED = ("robot", "robot_description", "use_sim_time", "start_type_description_service")
"""Parameters that the replay sets by itself, and those of the ROS client library."""
_ORDER = (SetState, PlannedSwap, SetParameter, ReferenceMotion, RepeatedMessage)


def in_order(requests: list[Request]) -> tuple[Request, ...]:
    """Sort requests into their order."""
    return tuple(sorted(requests, key=lambda request: (request.tick, _ORDER.index(type(request)))))


class ReplayPlan(RecordedTicks):
    """The requests that repeat a recording.

    The first request sets the state of tick 0, the tick of the first recorded controller state. Joints follow the
    recorded references; laws that follow the tip link get the recorded messages again.

    Args:
        run: The recording.
        swaps: Whether to repeat the swaps of controllers.

    Attributes:
        controller: Name of the controller at the start.
        inputs: Message types of the topics that controllers declare, by topic name; filled by `repeat_inputs`.
        reads_motors: Names of the controllers that read the motors' side; likewise.

    Raises:
        RecordingError: No references were recorded, or several simulations.
    """

    def __init__(self, run: Run, swaps: bool = True) -> None:
        control = run.control
        if control is None or not len(control.time):
            raise RecordingError(f"{run.path}: nothing to replay: expected the references on "
                                 "controller/controller_state, which nobody published while it was recorded (parameter "
                                 "state_publish_rate)")
        super().__init__(run, float(control.time[0]))
        self._control, self._repeats_swaps = control, swaps
        self.inputs: dict[str, dict[str, str]] = {}
        self.reads_motors: set[str] = set()
        chosen = np.unique(control.time, return_index=True)[1]
        rows = chosen[control.time[chosen] >= self.start - 0.5 * self.period]
        ticks = np.array([self.tick(time) for time in control.time[rows]])
        newest = np.append(np.diff(ticks) > 0, True)  # in real time, two states may round to one tick
        self._rows, self._row_ticks = rows[newest], ticks[newest]
        self._holding = control.holding[self._rows]
        self._names = self._chosen_names()
        self.controller = self._names[0]

    @cached_property
    def requests(self) -> tuple[Request, ...]:
        """The requests in their order; the first one sets the state of tick 0."""
        return in_order([*self.states, *self._swaps(), *self.parameter_changes(("controller", "hardware")),
                         *self._motions(), *self.messages(REPEATED_TOPICS)])

    def repeat_inputs(self, first: str) -> None:
        """Add messages of topics that controllers declare; this imports the controllers.

        Args:
            first: Name of the controller at the start of the replay.

        Raises:
            PluginError: A controller cannot be imported.
        """
        names = {first, *(request.controller for request in self.requests if isinstance(request, PlannedSwap))}
        forms = {name: state_form(load_controller(name), 1) for name in names}
        self.inputs = {name: {declared.topic.replace("~/", "controller/"): declared.message
                              for declared in form.inputs.values()} for name, form in forms.items()}
        self.reads_motors = {name for name, form in forms.items() if form.senses}
        types = {topic: kind for topics in self.inputs.values() for topic, kind in topics.items()}
        repeated = [replace(message, is_input=True) for message in self.messages(tuple(types))
                    if message.type == types[message.topic]]
        self.requests = in_order([*self.requests, *repeated])

    def _chosen_names(self) -> list[str]:
        """The chosen controller at each row: where another one held the robot for it, the one that ran afterwards."""
        names = [self._control.controller[row] for row in self._rows]
        for i in reversed(range(len(names) - 1)):
            if self._holding[i]:
                names[i] = names[i + 1]
        return names

    def _swaps(self) -> Iterator[PlannedSwap]:
        names = self._names
        for i in range(1, len(names)):
            if names[i] != names[i - 1] and self._repeats_swaps:
                yield PlannedSwap(int(self._row_ticks[i]) - 1, names[i])

    def _motions(self) -> Iterator[ReferenceMotion]:
        """Split the samples of joint references into motions, so that references jump only between motions."""
        control, rows, ticks = self._control, self._rows, self._row_ticks
        follows = np.asarray(np.isfinite(control.desired_position[rows]).all(axis=1)) & ~self._holding
        at_rest = np.asarray((control.desired_velocity[rows] == 0.0).all(axis=1))
        begins = {0: 0}
        for i in range(1, len(rows)):
            set_ticks = [state.tick + 1 for state in self.states if ticks[i - 1] < state.tick + 1 <= ticks[i]]
            if set_ticks:
                begins[i] = set_ticks[-1]
            elif not follows[i - 1] or (self._names[i] != self._names[i - 1] and at_rest[i - 1]):
                begins[i] = int(ticks[i]) - (not self._holding[i - 1])  # no motion begins while the law waits
        for (i, base), end in zip(begins.items(), [*list(begins)[1:], len(rows)], strict=True):
            stop = i + int(np.argmin(np.append(follows[i:end], False)))
            if stop > i:
                yield from self._motion(base, rows[i:stop], ticks[i:stop])

    def _motion(self, base: int, rows: NDArray[np.int_], ticks: NDArray[np.int_]) -> Iterator[ReferenceMotion]:
        """Yield the motion through samples from a tick on, in parts that a node accepts."""
        control = self._control
        when, q, v, a = ticks, *(np.nan_to_num(values[rows]) for values in (
            control.desired_position, control.desired_velocity, control.desired_acceleration))
        early = int(np.searchsorted(when, base, "right"))  # no motion can start from samples at the tick itself
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
        for begin in range(0, len(when), MAX_POINTS - 1):
            part = slice(begin, begin + MAX_POINTS - 1)
            yield self._part(base, when[part], q[part], v[part], a[part])
            base = int(when[part][-1])

    def _part(self, base: int, when: NDArray[np.int_], q: Array, v: Array, a: Array) -> ReferenceMotion:
        """Return a motion with a final rest, as trajectories require."""
        times = np.asarray((when - base) * self.period, dtype=np.float64)
        if v[-1].any():
            brake = max(times[-1] - times[-2] if len(times) > 1 else 0.0, self.period)
            times = np.append(times, times[-1] + brake)
            q = np.vstack([q, q[-1] + 0.5 * brake * v[-1]])
            v, a = (np.vstack([values, np.zeros_like(values[-1])]) for values in (v, a))
        return ReferenceMotion(base, Points(times, q, v, a))


def check_names(run: Run, requests: Iterable[Request], parameters: Mapping[str, Mapping[str, Any]],
                given: Collection[str]) -> None:
    """Raise if a replay would import a module, or open a file, that only the recording names.

    Args:
        run: The recording.
        requests: Requests of the replay.
        parameters: Parameters of each node that it starts.
        given: Names of controllers, and parameters of files, that the user has given.

    Raises:
        RecordingError: It would.
    """
    def refuse(what: str, name: Any, remedy: str) -> RecordingError:
        return RecordingError(f"{run.path}: it names the {what} {shown(name)}; a recording is not trusted to "
                              f"{remedy}")

    names = [values[name] for values in parameters.values() for name in NAMES_OF_CONTROLLERS if name in values]
    for request in requests:
        names += [request.controller] if isinstance(request, PlannedSwap) else []
        names += [request.value] if isinstance(request, SetParameter) and request.name in NAMES_OF_CONTROLLERS else []
    for name in names:
        module, colon, _ = str(name).partition(":")
        if colon and name not in given and not is_from_plugin_folder(module):
            raise refuse("controller", name, "import it: give one with --controller, or the folder of its modules with "
                         "--plugins-from DIR")
    for name in NAMES_OF_FILES:
        for value in [values[name] for values in parameters.values() if values.get(name)]:
            if name not in given and not (value in DRIVERS.names if name == "driver" else _is_shipped(value)):
                raise refuse(f"file of {name}", value, f"open it: give yours with --{name.replace('_', '-')} FILE")
    for name, value in parameters.get("controller", {}).items():
        if value and name not in given and _names_file_of_law(name, [*controller_names(), *map(str, names)]):
            raise refuse(f"file of {name}", value, "open it: give yours with --policy FILE")


def _names_file_of_law(name: str, controllers: Iterable[str]) -> bool:
    """Whether a parameter of the controller node names a file that one of the controllers opens."""
    owner, _, field = name.partition(".")
    for controller in controllers:
        if prefix(controller) == owner:
            declared = load_controller(controller).Parameters.declarations()
            return field in declared and declared[field].file
    return False


def _is_shipped(name: Any) -> bool:
    """Whether a file of actuators is one of config/."""
    return isinstance(name, str) and (name in shipped_actuators() or any(
        Path(name) in (file, file.resolve()) for file in shipped_actuators().values()))


def check_joints(run: Run, robot: str) -> None:
    """Raise unless a robot has the joints of a recording.

    Args:
        run: The recording.
        robot: The robot's name or file; empty: the recorded one.

    Raises:
        InputError: It has other joints.
        RecordingError: No robot was given, and the recording has no usable description.
    """
    if not robot:
        _ = run.robot
        return
    names = Robot.from_urdf(robot_file(robot)).joint_names
    if set(names) != set(run.joint_names):
        raise InputError(f"--robot: expected a robot with the recorded joints {', '.join(run.joint_names)}, received "
                         f"'{robot}' with {', '.join(names)}")


def parameters_of_nodes(plan: RecordedTicks, controller: str) -> dict[str, dict[str, Any]]:
    """Return the recorded parameters of each node, for a simulation in lockstep.

    Args:
        plan: The plan of the replay.
        controller: The controller at the start.

    Raises:
        RecordingError: The control period does not fit a simulation.
    """
    run = plan.run
    found = {node: {name: value for name, value in run.parameters.get(f"{run.namespace}/{node}", {}).items()
                    if value is not None and name not in NOT_REPEATED and not name.startswith("qos_overrides")}
             for node in ("hardware", "controller", "dynamics", "state_publisher")}
    rate = round(1.0 / plan.period)
    if abs(rate * plan.period - 1.0) > 0.01:
        raise RecordingError(f"{run.path}: joint states came every {plan.period:.6g} s, and a simulation needs a whole "
                             "number of them per second")
    found["hardware"] |= {"time_mode": "lockstep", "update_rate": rate, "lockstep_speed_limit": 0.0}
    found["controller"] |= {"controller": controller}
    return found
