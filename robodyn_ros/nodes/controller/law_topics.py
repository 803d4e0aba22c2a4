# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Topics that controllers declare as their inputs, and the motors' side of the joints, for those that read them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

import numpy as np
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import JointState

from robodyn_ros.base import topic_names
from robodyn_ros.base.errors import InputError, PluginError, RecordingError, suggest
from robodyn_ros.control.contract.law_inputs import MAX_NUMBERS, Input, state_form
from robodyn_ros.control.plugins.plugin import Plugin
from robodyn_ros.control.runtime.loop_events import Event as LoopEvent
from robodyn_ros.control.runtime.loop_events import ModeChanged
from robodyn_ros.control.runtime.modes import Mode
from robodyn_ros.description.model import Array
from robodyn_ros.nodes.common.joint_states import JointStateReader, NamedState
from robodyn_ros.nodes.common.messages import MessageError
from robodyn_ros.nodes.common.topics import LatestMessage
from robodyn_ros.nodes.controller.events import WAITING, Event
from robodyn_ros.nodes.controller.part import Context, Part
from robodyn_ros.nodes.recorder.definitions import message_class

MOST_MISSED = 10
"""Joint states in a row that may come without the motors' side: a law that goes on with old motors drives the arm away.

These are counted, as a time would pass at once where the computer held up both topics.
"""


class LawTopics(Part):
    """Subscribes to what controllers declare, and keeps the newest values for the control loop.

    Args:
        context: What it knows of the node.

    Attributes:
        inputs: The newest value of each input, another object for each message.
        motor_side: `MOTOR_SIDE` of the newest usable message; empty: none.
    """

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        node, joints = context.node, context.joints
        self.inputs: dict[Input, Array] = {}
        self.motor_side: tuple[Array, ...] = ()
        self._node, self._loop = node, context.loop
        self._names, self._reader = joints, JointStateReader(joints, node.diagnostics, topic_names.MOTOR_STATES)
        self._subscriptions: dict[Input, Any] = {}
        self._motors: LatestMessage[Any] | None = None
        self._unused_motors: LatestMessage[Any] | None = None  # until the control path has surely left it
        self._nothing = np.full(len(joints), np.nan)
        self._arrived, self._missed = -1, 0  # stamp of the joint state that the motors' last usable one came with [ns]
        node.diagnostics.checks.append(self._close_unused)
        context.plugins.open_inputs = self.open
        for plugin in self._loop.laws.all():
            self.open(plugin)

    # On the executor's thread.

    def open(self, plugin: Plugin) -> None:
        """Subscribe to what a controller declares.

        Raises:
            PluginError: A type of message is not installed, or has no such field.
        """
        form = state_form(type(plugin.controller), len(self._names))
        for name, declared in form.inputs.items():
            if declared in self._subscriptions:
                continue
            where = f"controller '{plugin.name}': input '{name}'"
            try:
                message_type = message_class(declared.message)
            except RecordingError as error:
                raise PluginError(f"{where}: {error}") from None
            field_of(message_type(), declared, where)
            self._subscriptions[declared] = self._node.listen(
                message_type, declared.topic, partial(self._on_message, declared, f"{declared.topic}: {name}"),
                qos_profile_sensor_data)
        if form.senses and self._motors is None:
            self._motors = LatestMessage(self._node, self._node.diagnostics, JointState, topic_names.MOTOR_STATES)

    def values(self) -> Mapping[str, object]:
        """Return the inputs of the active controller and their ages."""
        loop = self._loop
        form = state_form(type(loop.laws.chosen.controller), len(self._names))
        last, found = loop.last, {f"input {name}": "none" for name in form.inputs}
        if last is not None and type(last.state.inputs) is type(loop.laws.chosen.controller).Inputs and form.inputs:
            found |= {f"input {name}": f"{reading.age:.3g} s old" for name, reading in
                      last.state.inputs._asdict().items() if np.isfinite(reading.age)}
        waits = loop.modes.reason(Mode.HOLDING)
        return found if waits is None else {**found, "waits": waits.text}

    def _close_unused(self) -> None:
        """End the subscriptions that no controller in use has declared."""
        forms = [state_form(type(plugin.controller), len(self._names)) for plugin in self._loop.laws.all()]
        used = {declared for form in forms for declared in form.inputs.values()}
        for declared in set(self._subscriptions) - used:
            self._node.destroy_subscription(self._subscriptions.pop(declared))
            self.inputs = {other: value for other, value in self.inputs.items() if other is not declared}
        if self._unused_motors is not None:
            self._unused_motors.destroy(self._node)
            self._unused_motors = None
        if self._motors is not None and not any(form.senses for form in forms):
            self._unused_motors, self._motors = self._motors, None
            self.motor_side = ()

    def _on_message(self, declared: Input, where: str, message: Any) -> None:
        try:
            numbers = np.array(list(_numbers(field_of(message, declared, where))), dtype=np.float64)
            if len(numbers) != declared.size:
                raise InputError(f"{where}: expected {declared.size} numbers, received {len(numbers)}")
            value = declared.checked(numbers.reshape(declared.shape), where)
        except (InputError, PluginError) as error:
            self._node.diagnostics.problem(f"rejected {declared.topic}", str(error))
            return
        self.inputs = {**self.inputs, declared: value}

    # On the thread of the control path.

    def on_event(self, event: LoopEvent) -> None:
        """Report that the chosen controller waits for something, or no longer."""
        if not isinstance(event, ModeChanged) or event.mode is not Mode.HOLDING:
            return
        loop = self._loop
        if event.reason is not None:
            text = f"{event.reason.text}; '{loop.laws.running.name}' holds the robot"
            self.context.events.tell(Event("waits for inputs", text, WAITING))
        else:
            self.context.events.end(WAITING, f"controller '{loop.laws.chosen.name}' waits no longer")

    def update(self, stamp: int) -> None:
        """Take the newest state of the motors' side, if a controller reads it; before each tick, of a stamp [ns]."""
        motors = self._motors
        if motors is None:
            return
        state = self._read(data) if (data := motors.take_serialized()) is not None else None
        if state is not None:
            none = self._nothing
            self.motor_side = (state.q, none if state.v is None else state.v,
                               none if state.effort is None else state.effort)
            self._arrived, self._missed = stamp, 0
            return
        self._missed += 1  # also while messages come that cannot be used
        if self._missed > MOST_MISSED or stamp < self._arrived:
            self.motor_side = ()

    def _read(self, data: bytes) -> NamedState | None:
        """Read a message; None, which is reported, where it is not of all joints or cannot be used."""
        try:
            state = self._reader.read(data)
        except MessageError as error:
            self._node.diagnostics.problem(f"rejected {topic_names.MOTOR_STATES}", str(error))
            return None
        if state is None or state.complete:
            return state
        others = [name for joint, name in enumerate(self._names.names) if joint not in state.joints]
        self._node.diagnostics.problem(f"rejected {topic_names.MOTOR_STATES}", f"{topic_names.MOTOR_STATES}: expected "
                                       f"all joints in one message, received none for '{others[0]}'")
        return None


def field_of(message: Any, declared: Input, where: str) -> Any:
    """The field of a message that an input declares.

    Raises:
        PluginError: The message has none of this name.
    """
    value = message
    for name in filter(None, declared.field.split(".")):
        fields = value.get_fields_and_field_types() if hasattr(value, "get_fields_and_field_types") else {}
        if name not in fields:
            raise PluginError(f"{where}: {declared.message} has no field '{declared.field}': "
                              f"{suggest(name, tuple(fields))}")
        value = getattr(value, name)
    return value


def _numbers(value: Any) -> Iterable[float]:
    """All numbers of a field, in the order of the message's definition; text has none."""
    if hasattr(value, "get_fields_and_field_types"):
        for name in value.get_fields_and_field_types():
            yield from _numbers(getattr(value, name))
    elif isinstance(value, bool | int | float | np.number):
        yield float(value)
    elif not isinstance(value, str | bytes) and hasattr(value, "__len__"):
        if len(value) > MAX_NUMBERS:
            raise InputError(f"expected at most {MAX_NUMBERS} elements in a field, received {len(value)}")
        for element in value:
            yield from _numbers(element)
