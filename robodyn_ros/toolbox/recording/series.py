# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Values of joints over time, from messages by joint name; NaN if a message has no value."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.base.checks import MAX_MAGNITUDE
from robodyn_ros.base.errors import RecordingError, shown
from robodyn_ros.control.runtime.modes import Mode
from robodyn_ros.description.model import Array
from robodyn_ros.description.ranges import MAX_JOINTS, MAX_NAME_LENGTH
from robodyn_ros.simulation.outputs import OUTPUTS, ActuatorState

TIP = 3

MAX_TERMS = 100
"""Greatest number of different terms of efforts in a recording."""


@dataclass(frozen=True)
class JointSeries:
    """Joint states or joint commands."""

    time: Array  # time of each message since the first joint state, shape (N,) [s]
    position: Array  # positions, shape (N, n) [rad or m]
    velocity: Array  # velocities, shape (N, n) [rad/s or m/s]
    effort: Array  # efforts, shape (N, n) [N m or N]


@dataclass(frozen=True)
class ControlSeries:
    """Reference, error and output of the controller.

    Attributes:
        time: Time of each sample since the first joint state, shape (N,) [s].
        controller: Name of the controller that computed each sample, length N.
        holding: Whether another controller held the robot, as the chosen one waited for its inputs, shape (N,).
        desired_position: Desired positions, shape (N, n) [rad or m]; NaN while the controller follows no joints.
        desired_velocity: Desired velocities, shape (N, n) [rad/s or m/s].
        desired_acceleration: Desired accelerations, shape (N, n) [rad/s^2 or m/s^2].
        error: Desired minus measured position, shape (N, n) [rad or m].
        effort: Commanded efforts, shape (N, n) [N m or N].
        voltage: Commanded voltages, shape (N, n) [V]; NaN while efforts are commanded.
        desired_tip: Desired position of the tip link in base axes, shape (N, 3) [m]; NaN while the controller does not
            follow the tip link.
        tip: Measured position of the tip link in base axes, shape (N, 3) [m].
        tip_error: Desired minus measured position of the tip link, shape (N, 3) [m].
        tip_turn_error: Rotation vector from the measured to the desired orientation, shape (N, 3) [rad].
        terms: Terms of the efforts by name, such as feedback and gravity, each of shape (N, n) [N m or N]; NaN at the
            samples that do not have them.
    """

    time: Array
    controller: tuple[str, ...]
    holding: NDArray[np.bool_]
    desired_position: Array
    desired_velocity: Array
    desired_acceleration: Array
    error: Array
    effort: Array
    voltage: Array
    desired_tip: Array
    tip: Array
    tip_error: Array
    tip_turn_error: Array
    terms: dict[str, Array]


@dataclass(frozen=True)
class ActuatorSeries:
    """Outputs of the simulated actuators; NaN for joints and recordings without them."""

    time: Array  # time of each sample since the first joint state, shape (N,) [s]
    outputs: ActuatorState  # the outputs, shape (N, n) each; flags are 1 or 0


class JointColumns:
    """Sorts values of messages by joint name into columns.

    Args:
        joints: Names of the robot's joints, length n.
    """

    def __init__(self, joints: Sequence[str]) -> None:
        if not 0 < len(joints) <= MAX_JOINTS or len(set(joints)) < len(joints) or not all(map(_is_name, joints)):
            raise RecordingError(f"joint states: expected 1 to {MAX_JOINTS} different names of at most "
                                 f"{MAX_NAME_LENGTH} printable characters, received {shown(list(joints))}")
        self._joints = list(joints)
        self._index = {name: column for column, name in enumerate(joints)}

    def named(self, names: Sequence[Sequence[str]]) -> NDArray[np.bool_]:
        """Return which of the robot's joints each message names, shape (N, n); names as for `table`."""
        found: dict[tuple[str, ...], NDArray[np.bool_]] = {(): np.ones(len(self._joints), bool)}
        rows = list(map(tuple, names))
        for row in set(rows) - found.keys():
            found[row] = np.isin(self._joints, row)
        return np.array([found[row] for row in rows]).reshape(len(rows), len(self._joints))

    def table(self, names: Sequence[Sequence[str]], values: Sequence[Sequence[float]]) -> Array:
        """Return the values of messages in columns.

        Args:
            names: Joints of each message; empty: all, in the robot's order. Joints of other robots are left out.
            values: Values of each message, one for each of its joints; a wrong number of values counts as none.

        Returns:
            Shape (N, n).
        """
        table = np.full((len(values), len(self._joints)), math.nan)
        for row, its_names, its_values in zip(table, names, values, strict=True):
            in_order = not its_names or its_names == self._joints
            if in_order and len(its_values) == len(self._joints):
                row[:] = its_values
            elif len(its_values) == len(its_names):
                for name, value in zip(its_names, its_values, strict=True):
                    if name in self._index:
                        row[self._index[name]] = value
        return _bounded(table)


def joint_series(time: Array, messages: Sequence[Any], columns: JointColumns) -> JointSeries:
    """Return the arrays of sensor_msgs/JointState messages."""
    names = [message.name for message in messages]
    return JointSeries(time, *(columns.table(names, [getattr(message, field) for message in messages])
                               for field in ("position", "velocity", "effort")))


def merged_states(stamps: NDArray[np.int64], messages: Sequence[Any], columns: JointColumns
                  ) -> tuple[NDArray[np.int64], NDArray[np.intp], JointSeries]:
    """Merge messages that each have some of a robot's joints into states of the robot.

    A state is complete when every joint has a new position; its stamp is the oldest of theirs.

    Args:
        stamps: Stamp of each message, shape (N,) [ns].
        messages: sensor_msgs/JointState messages, length N.
        columns: The robot's joints, n.

    Returns:
        Stamps of the M states, shape (M,) [ns]; indices of the messages that completed them, shape (M,); and the states
        with times of NaN.
    """
    every = joint_series(np.full(len(messages), math.nan), messages, columns)
    named = columns.named([message.name for message in messages])
    if not named.all():
        newest, fresh, rows = np.zeros(named.shape[1], np.intp), np.zeros(named.shape[1], bool), []
        for index in np.flatnonzero(named.any(axis=1)):
            newest[named[index]], fresh[named[index]] = index, True
            if fresh.all():
                rows.append(newest.copy())
                fresh[:] = False
        sources = np.array(rows, dtype=np.intp).reshape(-1, named.shape[1])
        joints = np.arange(named.shape[1])
        every = JointSeries(np.full(len(sources), math.nan), every.position[sources, joints],
                            every.velocity[sources, joints], every.effort[sources, joints])
        return stamps[sources].min(axis=1), sources.max(axis=1), every
    return stamps, np.arange(len(messages)), every


def control_series(time: Array, messages: Sequence[Any], columns: JointColumns) -> ControlSeries:
    """Return the arrays of robodyn_interfaces/ControllerState messages."""
    names = [message.joint_names for message in messages]

    def table(*path: str) -> Array:
        return columns.table(names, [_field(message, path) for message in messages])

    def vectors(*path: str) -> Array:
        found = np.full((len(messages), TIP), math.nan)
        for row, message in zip(found, messages, strict=True):
            if message.cartesian:
                vector = _field(message.cartesian[0], path)
                row[:] = vector.x, vector.y, vector.z
        return _bounded(found)

    for name in {message.controller for message in messages}:
        if not _is_name(name):
            raise RecordingError(f"controller state: expected the name of a controller, received {shown(name)}")
    return ControlSeries(
        time, tuple(message.controller for message in messages),
        np.array([getattr(message, "mode", "") == Mode.HOLDING.value for message in messages], dtype=bool),
        table("reference", "positions"), table("reference", "velocities"), table("reference", "accelerations"),
        table("error", "positions"), table("output"), table("voltage"), vectors("reference", "position"),
        vectors("feedback", "position"), vectors("position_error"), vectors("orientation_error"),
        _terms(messages, names, columns))


def _terms(messages: Sequence[Any], names: Sequence[Sequence[str]], columns: JointColumns) -> dict[str, Array]:
    """The terms of ControllerState messages by name."""
    rows: dict[str, list[Sequence[float]]] = {}
    for place, message in enumerate(messages):
        joints = len(message.joint_names)
        for number, name in enumerate(getattr(message, "term_names", ())):
            if not _is_name(name):
                raise RecordingError(f"controller state: expected the name of a term, received {shown(name)}")
            if name not in rows and len(rows) == MAX_TERMS:
                raise RecordingError(f"controller state: expected at most {MAX_TERMS} terms of efforts, received more")
            values = rows.setdefault(name, [()] * len(messages))
            values[place] = message.terms[number * joints : (number + 1) * joints]
    return {name: columns.table(names, values) for name, values in rows.items()}


def actuator_series(time: Array, messages: Sequence[Any], columns: JointColumns) -> ActuatorSeries:
    """Return the arrays of robodyn_interfaces/ActuatorStates messages."""
    names = [message.name for message in messages]
    return ActuatorSeries(time, ActuatorState(*(
        columns.table(names, [getattr(message, field, ()) for message in messages]) for field in OUTPUTS)))


def _is_name(name: Any) -> bool:
    return isinstance(name, str) and 0 < len(name) <= MAX_NAME_LENGTH and name.isprintable()


def _bounded(values: Array) -> Array:
    """Refuse numbers so large that formulas and pictures would overflow; NaN means no value."""
    if len(wrong := np.argwhere(np.abs(values) > MAX_MAGNITUDE)):
        raise RecordingError(f"message {wrong[0][0]}: expected numbers of at most {MAX_MAGNITUDE:g}, received "
                             f"{values[tuple(wrong[0])]:g}")
    return values


def _field(message: Any, path: Sequence[str]) -> Any:
    for name in path:
        message = getattr(message, name)
    return message
