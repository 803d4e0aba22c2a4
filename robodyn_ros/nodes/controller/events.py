# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.
"""Drops, stops, refusals and new starts, told in the same words everywhere.

    events.tell(dropped("x", "damping", "joint 'elbow' ran away: 205, limit 3.14", stamp))

The log, ``/diagnostics``, ``~/controller_state`` and the result of the active goal get the same sentence, and so do the
commands that read these.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import NamedTuple

from robodyn_ros.base.timing import to_seconds
from robodyn_ros.nodes.common.diagnostics import Diagnostics

FALLBACK, REFUSED, STOPPED, WAITING = "fallback", "refused", "stopped", "waiting"
"""Events that last: another controller took over, the hardware takes no commands, the robot is stopped, the controller
waits for an input."""


class Event(NamedTuple):
    """What happened to the motion.

    Attributes:
        kind: Name of its counter in ``/diagnostics``.
        text: What happened, and why.
        lasts: Under which name it lasts until :meth:`Events.end`; empty: it is over at once.
        error: Whether it is an error, not a warning.
        ends_goal: Whether the active goal ends with it.
    """

    kind: str
    text: str
    lasts: str = ""
    error: bool = False
    ends_goal: bool = True


def dropped(name: str, successor: str, reason: str, stamp: int) -> Event:
    """Return the event of a controller that failed.

    Args:
        name: The controller.
        successor: Controller in force after it; the same name: none works.
        reason: Why, with its numbers.
        stamp: Stamp of the last joint state that was answered [ns].
    """
    outcome = f"was dropped, '{successor}' took over" if name != successor else "failed, no effort is commanded"
    return Event("dropped controllers", f"controller '{name}' {outcome}: {reason}; after the joint state stamped "
                 f"{to_seconds(stamp):.3f} s", FALLBACK, error=True)


class Events:
    """Tells events; from any thread, those that end goals from the thread of the control path.

    Args:
        diagnostics: Logs, counts and publishes them.

    Attributes:
        lasting: The events that last, by name, for ``~/controller_state``; replaced, never changed.
        end_goal: Ends the active goal, if any, with a reason; set once, by who has the goals.
    """

    def __init__(self, diagnostics: Diagnostics) -> None:
        self.lasting: dict[str, str] = {}
        self.end_goal: Callable[[str], None] = lambda reason: None
        self._diagnostics, self._lock = diagnostics, Lock()

    def tell(self, event: Event) -> None:
        """Tell an event."""
        if event.lasts:
            with self._lock:
                self.lasting = {**self.lasting, event.lasts: event.text}
            self._diagnostics.count(event.kind)
            self._diagnostics.raise_condition(event.lasts, event.text, event.error)
        else:
            self._diagnostics.problem(event.kind, event.text, event.error)
        if event.ends_goal:
            self.end_goal(event.text)

    def end(self, name: str, text: str) -> None:
        """Tell that an event is over that lasted; do nothing if there was none.

        Args:
            name: Of the event.
            text: Why it is over.
        """
        with self._lock:
            self.lasting = {key: kept for key, kept in self.lasting.items() if key != name}
        self._diagnostics.clear_condition(name, text)
