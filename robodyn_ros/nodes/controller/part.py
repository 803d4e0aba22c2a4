# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Parts of the controller node: each serves some topics, parameters, or diagnostics, and knows the loop by its context.

    class TickCounter(Part):
        PARAMETERS = (Field("count_from", 0, "First number"),)

        def __init__(self, context):
            super().__init__(context)
            self._count = context.node.parameters["count_from"]

        def after_tick(self, answer):
            self._count += 1

        def values(self):
            return {"ticks": self._count}

A line in `node.PARTS` makes it part of the node. Parts are made in any order: a constructor looks at no other part, and
methods find one by its class in ``context.parts``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, TypeVar

from robodyn_ros.base.fields import Field
from robodyn_ros.control.runtime.control_loop import ControlLoop
from robodyn_ros.control.runtime.loop_events import Event
from robodyn_ros.control.runtime.tick import Tick
from robodyn_ros.nodes.common.messages import JointOrder
from robodyn_ros.nodes.common.runtime import RobodynNode
from robodyn_ros.nodes.controller.events import Events
from robodyn_ros.nodes.controller.hardware_announcement import HardwareAnnouncement
from robodyn_ros.nodes.controller.loop_thread import LoopThread
from robodyn_ros.nodes.controller.plugins import ControllerPlugins
from robodyn_ros.robot import Robot

PutInForce = Callable[[], None]


class AnsweredState(NamedTuple):
    """A joint state and the command that answered it.

    Attributes:
        stamp: Stamp of the joint state [ns].
        tick: The tick of the loop.
        number: Number of the joint state in the sequence of its publisher; 0: unknown.
        published: System time at which it was published [ns]; 0: unknown.
        received: System time at which it was taken [ns].
        answered: System time at which the command was published [ns].
    """

    stamp: int
    tick: Tick
    number: int
    published: int
    received: int
    answered: int


@dataclass(frozen=True)
class Context:
    """What the parts of a node know.

    Attributes:
        node: The node, with its parameters, log and diagnostics.
        robot: The robot as the laws know it.
        joints: Its joints.
        thread: The control loop on its thread.
        plugins: The declared controllers.
        events: Tells what happened.
        announcement: What the hardware announces.
        parts: All parts; for methods, not for constructors.
    """

    node: RobodynNode
    robot: Robot
    joints: JointOrder
    thread: LoopThread
    plugins: ControllerPlugins
    events: Events
    announcement: HardwareAnnouncement
    parts: Parts

    @property
    def loop(self) -> ControlLoop:
        """The control loop, to be read."""
        return self.thread.loop


class Part:
    """A part of the controller node.

    Args:
        context: What it knows of the node.

    Attributes:
        PARAMETERS: Its parameters; the node declares them first.
        context: As given.
    """

    PARAMETERS: ClassVar[tuple[Field, ...]] = ()

    def __init__(self, context: Context) -> None:
        self.context = context

    def after_tick(self, answer: AnsweredState) -> None:
        """Take note of a tick; on the thread of the control path."""

    def on_event(self, event: Event) -> None:
        """Take note of an event of the loop; on the thread of the control path, or before it starts."""

    def on_change(self, changes: Mapping[str, Any]) -> PutInForce | None:
        """Check changes of parameters, and return what puts them in force; on the executor's thread.

        Args:
            changes: New values by name, which are not stored yet.

        Raises:
            RobodynError: The change is refused as a whole; no part puts anything in force.
        """
        return None

    def values(self) -> Mapping[str, object]:
        """Return values for the diagnostics, by name; on the executor's thread."""
        return {}

    def close(self) -> None:
        """End what it opened; the control path has stopped."""


_Part = TypeVar("_Part", bound=Part)


class Parts:
    """The parts of a node, by their classes; filled once by the node."""

    def __init__(self) -> None:
        self._by_class: dict[type[Part], Part] = {}
        self._after_tick: tuple[Callable[[AnsweredState], None], ...] = ()

    def make(self, classes: Iterable[type[Part]], context: Context) -> None:
        """Make all parts, and have them hear the loop's events."""
        for each in classes:
            self._by_class[each] = each(context)
        self._after_tick = tuple(part.after_tick for part in self if type(part).after_tick is not Part.after_tick)
        context.thread.listeners.extend(part.on_event for part in self if type(part).on_event is not Part.on_event)

    def __getitem__(self, kind: type[_Part]) -> _Part:
        """The part of a class."""
        part = self._by_class[kind]
        assert isinstance(part, kind)
        return part

    def __iter__(self) -> Iterator[Part]:
        """All parts."""
        return iter(self._by_class.values())

    def after_tick(self, answer: AnsweredState) -> None:
        """Tell those parts of a tick that take note of it."""
        for tell in self._after_tick:
            tell(answer)

    def on_change(self, changes: Mapping[str, Any]) -> None:
        """Put changes in force once no part refuses them."""
        for put_in_force in [found for part in self if (found := part.on_change(changes)) is not None]:
            put_in_force()

    def values(self) -> dict[str, object]:
        """Return the values of all parts for the diagnostics."""
        return {name: value for part in self for name, value in part.values().items()}
