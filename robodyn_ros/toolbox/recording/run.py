# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""``Run``: a recording of one robot as arrays over time, with parameters and the active controllers.

    run = Run("run_1")
    run.states.time, run.states.position         # (N,), (N, n)
    run.control.desired_position, run.control.error
    [(span.controller, span.start, span.end) for span in run.controllers]
    kinetic, potential = run.energies()

Columns are the robot's joints.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from robodyn_ros.base import topic_names
from robodyn_ros.base.bounded_files import yaml_value
from robodyn_ros.base.checks import as_floats
from robodyn_ros.base.errors import DescriptionError, DescriptionWarning, InputError, RecordingError, shown
from robodyn_ros.base.timing import NANOSECONDS_PER_SECOND
from robodyn_ros.description.model import STANDARD_GRAVITY, Array
from robodyn_ros.robot import Robot
from robodyn_ros.toolbox.recording.bag_reader import Topic, read_bag
from robodyn_ros.toolbox.recording.series import (
    ActuatorSeries,
    ControlSeries,
    JointColumns,
    JointSeries,
    actuator_series,
    control_series,
    joint_series,
    merged_states,
)

T = TypeVar("T")

PARAMETERS = "parameters"
"""Name of the MCAP metadata records that hold a node's parameters: entries node, time [ns] and values (YAML)."""

JOINT_STATE = "sensor_msgs/msg/JointState"
CONTROLLER_STATE = "robodyn_interfaces/msg/ControllerState"
_VALUE_FIELDS = ("", "bool_value", "integer_value", "double_value", "string_value", "byte_array_value",
                 "bool_array_value", "integer_array_value", "double_array_value", "string_array_value")


@dataclass(frozen=True)
class Span:
    """A time span with one active controller.

    Attributes:
        controller: Name of the plugin.
        start: Time of its first sample [s].
        end: Time of the next controller's first sample, or of the last sample [s].
    """

    controller: str
    start: float
    end: float


@dataclass(frozen=True)
class ParameterChange:
    """A parameter that was set during the recording.

    Attributes:
        time: Time since the first joint state [s].
        node: Full name of the node.
        name: Name of the parameter.
        value: New value; None: it was removed.
    """

    time: float
    node: str
    name: str
    value: Any


def _with_recording_errors(method: Callable[..., T]) -> Callable[..., T]:
    """Convert errors from malformed messages to a `RecordingError`, in one line."""
    @functools.wraps(method)
    def checked(self: Any, *arguments: Any, **options: Any) -> T:
        try:
            return method(self, *arguments, **options)
        except (RecordingError, InputError) as error:
            own = str(error).startswith(str(self.path))
            raise RecordingError(str(error) if own else f"{self.path}: {error}") from error.__cause__
        except (AttributeError, TypeError, ValueError, IndexError, KeyError, OverflowError) as error:
            raise RecordingError(f"{self.path}: unexpected content: {type(error).__name__}: {error}"
                                 ) from error
    return checked


class Run:
    """A recording of one robot. Times count from its first joint state.

    Args:
        path: A rosbag2 folder with MCAP, or an .mcap file.
        namespace: Namespace of the robot; None: the only one.
        joint_names: The robot's joints; None: those of the recorded description, or else of the messages with the most
            joints.

    Attributes:
        path: The folder or file.
        namespace: Namespace of the robot; empty: the root.
        topics: All recorded topics by name, of all namespaces.
        joint_names: The robot's joints, length n, in the order of all columns.
        other_joints: Other joints on the same topic, which are left out, such as those of a gripper with its own
            driver.
        damage: Why the end of the recording is missing; empty: it is complete.

    Raises:
        RecordingError: There is no recording, none of it can be read, or it has no joint states of one robot.
    """

    @_with_recording_errors
    def __init__(self, path: str | Path, namespace: str | None = None, joint_names: Sequence[str] | None = None
                 ) -> None:
        self.path = Path(path)
        self._bag = read_bag(path)
        self.topics = self._bag.topics
        self.damage = self._bag.damage
        states = self._joint_states(namespace)
        self.namespace = states.name.rpartition("/")[0]
        decoded = list(states.decode())
        messages = [message for _, message in decoded]
        recorded = list(dict.fromkeys(tuple(message.name) for message in messages))
        self.joint_names = self._names(recorded) if joint_names is None else tuple(joint_names)
        known = set(self.joint_names)
        self.other_joints = tuple(name for name in dict.fromkeys(chain(*recorded)) if name not in known)
        self._columns = JointColumns(self.joint_names)
        stamps, completed_by, merged = merged_states(np.array(list(map(_stamp, messages))), messages, self._columns)
        if not len(stamps):
            raise RecordingError(f"{self.path}: {states.name}: expected states of the joints "
                                 f"{_list(self.joint_names)}, found those of {_list(dict.fromkeys(chain(*recorded)))}")
        self._receipt = np.array([received for received, _ in decoded])[completed_by]
        self._epoch = int(stamps[0])
        self.states = replace(merged, time=self._seconds(stamps))

    @property
    def notes(self) -> list[str]:
        """Sentences on a missing end, and on omitted joints."""
        left_out = f"{self.path}: the states of other joints are left out: {_list(self.other_joints)}"
        return [note for note in (self.damage, left_out if self.other_joints else "") if note]

    @cached_property
    @_with_recording_errors
    def commands(self) -> JointSeries | None:
        """Commanded efforts, at the times of the states that they answer; None: not recorded."""
        topic = self._topic(JOINT_STATE, topic_names.JOINT_COMMANDS)
        if topic is None:
            return None
        time, messages = self._stamped(topic)
        own = np.flatnonzero(self._columns.named([message.name for message in messages]).any(axis=1))
        return joint_series(time[own], [messages[index] for index in own], self._columns)

    @cached_property
    @_with_recording_errors
    def motors(self) -> JointSeries | None:
        """Positions and velocities of the motors, reflected to the joints, and torques between gears and links.

        None: not recorded.
        """
        topic = self.topics.get(f"{self.namespace}/{topic_names.MOTOR_STATES}")
        return None if topic is None else joint_series(*self._stamped(topic), self._columns)

    @cached_property
    @_with_recording_errors
    def control(self) -> ControlSeries | None:
        """Reference, error and output of the controller; None: not recorded."""
        topic = self._topic(CONTROLLER_STATE, topic_names.CONTROLLER_STATE)
        return None if topic is None else control_series(*self._stamped(topic), self._columns)

    @cached_property
    @_with_recording_errors
    def actuators(self) -> ActuatorSeries | None:
        """Currents and voltages of the simulated motors; None: not recorded."""
        topic = self._topic("robodyn_interfaces/msg/ActuatorStates", topic_names.ACTUATOR_STATES)
        return None if topic is None else actuator_series(*self._stamped(topic), self._columns)

    @cached_property
    def controllers(self) -> tuple[Span, ...]:
        """Time spans of the active controllers."""
        if self.control is None:
            return ()
        names, time = self.control.controller, self.control.time
        starts = [i for i, name in enumerate(names) if i == 0 or name != names[i - 1]]
        ends = [*(float(time[i]) for i in starts[1:]), float(max(time[-1], self.states.time[-1]))]
        return tuple(Span(names[i], float(time[i]), end) for i, end in zip(starts, ends, strict=True))

    @cached_property
    @_with_recording_errors
    def parameters(self) -> dict[str, dict[str, Any]]:
        """Parameters by full node name, at the beginning of the recording or the appearance of the node.

        Events before the first joint state are included, since nodes may declare further parameters by then.
        """
        found: dict[str, dict[str, Any]] = {}
        for name, entries in self._bag.metadata:
            if name == PARAMETERS:
                where = f"{self.path}: recorded parameters"
                values = yaml_value(entries.get("values", ""), where)
                if not isinstance(values, dict) or "node" not in entries:
                    raise RecordingError(f"{where}: expected the name of a node and its parameters, received "
                                         f"{shown(entries)}")
                found.setdefault(entries["node"], {str(key): value for key, value in values.items()})
        for received, event in self._parameter_events:
            if received < self._receipt[0] and event.node in found:
                for change in self._changes(received, event):
                    found[event.node].setdefault(change.name, change.value)
        return found

    @cached_property
    @_with_recording_errors
    def parameter_changes(self) -> tuple[ParameterChange, ...]:
        """Parameters that were set during the recording, including swaps of controllers.

        Events before the first joint state belong to `parameters`, since starting nodes declare theirs by them.
        """
        return tuple(change for received, event in self._parameter_events if received >= self._receipt[0]
                     for change in self._changes(received, event))

    @cached_property
    def _parameter_events(self) -> list[tuple[int, Any]]:
        return [pair for topic in self._bag.with_type("rcl_interfaces/msg/ParameterEvent") for pair in topic.decode()]

    @cached_property
    @_with_recording_errors
    def robot_description(self) -> str:
        """The recorded URDF as XML; empty: not recorded."""
        topic = self._topic("std_msgs/msg/String", "robot_description")
        return "" if topic is None else next(topic.decode())[1].data

    @cached_property
    def robot(self) -> Robot:
        """The robot of the recorded description, with the recorded gravity.

        Raises:
            RecordingError: No description was recorded, it is not usable, or it describes another robot.
        """
        if not self.robot_description:
            raise RecordingError(f"{self.path}: no robot_description was recorded; run the node state_publisher or "
                                 "robot_state_publisher while recording")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DescriptionWarning)  # the recorded nodes have reported them
                robot = Robot.from_urdf_text(self.robot_description, gravity=self.gravity)
        except DescriptionError as error:
            raise RecordingError(f"{self.path}: robot_description: {error}") from None
        if robot.joint_names != self.joint_names:
            raise RecordingError(f"{self.path}: the recorded robot_description is that of another robot: it has the "
                                 f"joints {_list(robot.joint_names)}, the joint states {_list(self.joint_names)}")
        return robot

    @property
    def gravity(self) -> tuple[float, ...]:
        """Recorded gravity of the simulated hardware, or else standard gravity, in base axes [m/s^2]."""
        found = self.parameters.get(f"{self.namespace}/hardware", {}).get("gravity", STANDARD_GRAVITY)
        try:
            gravity = as_floats(found, (3,), "gravity")
        except InputError as error:
            raise RecordingError(f"{self.path}: recorded parameters: {error}") from None
        return tuple(gravity.tolist())

    @_with_recording_errors
    def last_memory(self, controller: str) -> tuple[tuple[str, ...], Array, float]:
        """Return the last recorded memory of a controller.

        Args:
            controller: Name of the plugin.

        Returns:
            Names and values of the elements, shape (m,), and the time [s].

        Raises:
            RecordingError: The controller was not recorded, or its memory has no named elements.
        """
        topic = self._topic(CONTROLLER_STATE, topic_names.CONTROLLER_STATE)
        found = [message for _, message in topic.decode() if message.controller == controller
                 and message.memory_names] if topic is not None else []
        if not found:
            raise RecordingError(f"{self.path}: no state of '{controller}' with named elements was recorded: "
                                 f"record the topic controller/controller_state while '{controller}' is in force")
        last = found[-1]
        return tuple(last.memory_names), np.array(last.memory, dtype=np.float64), float(self._seconds(_stamp(last)))

    def energies(self) -> tuple[Array, Array]:
        """Return kinetic and potential energy of the rigid bodies at ``states.time``, each of shape (N,) [J]."""
        batch = self.robot.dynamics().batch
        return (batch.kinetic_energy(self.states.position, self.states.velocity),
                batch.potential_energy(self.states.position))

    def tip_positions(self) -> Array:
        """Return the position of the tip link at ``states.time`` in base axes, shape (N, 3) [m]."""
        return self.robot.dynamics().batch.forward_kinematics(self.states.position)[:, :3, 3]

    @_with_recording_errors
    def stamp_times(self, topic: Topic) -> Array:
        """Return the times of the N messages of a topic from their stamps, NaN for stamp 0, shape (N,) [s].

        Args:
            topic: The topic.

        Raises:
            RecordingError: A message cannot be decoded.
        """
        stamps = np.array([_stamp(message) for _, message in topic.decode()])
        return np.where(stamps == 0, np.nan, self._seconds(stamps))

    def time_of_receipt(self, received: int) -> float:
        """Return the time of a message without a stamp since the first joint state [s].

        Args:
            received: Time of receipt by the recorder [ns].
        """
        return float(np.interp(received - self._receipt[0], self._receipt - self._receipt[0], self.states.time))

    def _joint_states(self, namespace: str | None) -> Topic:
        candidates = [topic for topic in self._bag.with_type(JOINT_STATE)
                      if topic.name.rpartition("/")[2] == topic_names.JOINT_STATES]
        if namespace is not None:
            wanted = f"/{namespace.strip('/')}/".replace("//", "/")
            candidates = [topic for topic in candidates if topic.name == f"{wanted}{topic_names.JOINT_STATES}"]
        if not candidates:
            among = f" in the namespace '{namespace}'" if namespace else ""
            raise RecordingError(f"{self.path}: no joint states{among}: expected {JOINT_STATE} on a topic "
                                 f"joint_states, found the topics {_list(sorted(self.topics))}"
                                 + (f"; {self.damage}" if self.damage else ""))
        if len(candidates) > 1:
            raise RecordingError(f"{self.path}: several robots were recorded: give the namespace of one, "
                                 + _list(topic.name.rpartition("/")[0] or "/" for topic in candidates))
        return candidates[0]

    def _topic(self, type_name: str, name: str) -> Topic | None:
        """Return this robot's topic of a type and name; for robodyn_ros's own types, the name may differ."""
        found = [topic for topic in self._bag.with_type(type_name) if topic.name.startswith(f"{self.namespace}/")
                 and (topic.name.endswith(f"/{name}") or type_name.startswith("robodyn_interfaces/"))]
        return max(found, key=lambda topic: (topic.name == f"{self.namespace}/{name}", len(topic.messages)),
                   default=None)

    def _names(self, recorded: list[tuple[str, ...]]) -> tuple[str, ...]:
        """Return the robot's joints in the order of the description, or else of the joint states."""
        most = max(map(len, recorded))
        largest = tuple(dict.fromkeys(chain(*(names for names in recorded if len(names) == most))))
        if self.robot_description:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DescriptionWarning)
                try:
                    described = Robot.from_urdf_text(self.robot_description).joint_names
                except DescriptionError:
                    return largest
            if set(described) <= set(chain(*recorded)):
                return described
        return largest

    def _seconds(self, stamps: Any) -> Array:
        return (np.asarray(stamps) - self._epoch) / NANOSECONDS_PER_SECOND

    def _stamped(self, topic: Topic) -> tuple[Array, list[Any]]:
        messages = [message for _, message in topic.decode()]
        return self._seconds([_stamp(message) for message in messages]), messages

    def _changes(self, received: int, event: Any) -> Iterator[ParameterChange]:
        time = self.time_of_receipt(received)
        for parameter in (*event.new_parameters, *event.changed_parameters):
            kind = parameter.value.type
            value = getattr(parameter.value, _VALUE_FIELDS[kind]) if 0 < kind < len(_VALUE_FIELDS) else None
            yield ParameterChange(time, event.node, parameter.name, value)
        for parameter in event.deleted_parameters:
            yield ParameterChange(time, event.node, parameter.name, None)


def _stamp(message: Any) -> int:
    return int(message.header.stamp.sec) * NANOSECONDS_PER_SECOND + int(message.header.stamp.nanosec)


def _list(names: Any) -> str:
    return ", ".join(names) or "none"
