# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.
"""Explains why joint states were not answered, and blames the computer only where a probe has measured it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from robodyn_ros.control.tick_monitor import Delay, TickMonitor
from robodyn_ros.nodes.common.diagnostics import Diagnostics
from robodyn_ros.nodes.common.hold_up_probe import HoldUpProbe
from robodyn_ros.timing import to_seconds

TOLD_HOLD_UP = 0.02
"""A shorter hold-up by the computer is counted, not told [s]."""

TOLD_GAP = 0.1
"""A shorter time without joint states needs no explanation at a new start [s]."""

RECENT = 1.0
"""Time for which a hold-up by the computer may be the cause of what a joint does, or of a new start [s]."""

SHARE = 0.5
"""Part of a time that something has to take to count as its cause."""


class Gaps:
    """Explanations of gaps between joint states; for the thread of the control path.

    Args:
        diagnostics: Receives them.
        monitor: Measures the ticks.
        probe: Measures hold-ups by the computer.
    """

    def __init__(self, diagnostics: Diagnostics, monitor: TickMonitor, probe: HoldUpProbe) -> None:
        self._diagnostics, self._monitor, self._probe = diagnostics, monitor, probe
        self._answered, self._published, self._rejected = 0.0, 0, 0
        self._gap, self._gap_at = "", -RECENT
        self._hold_up, self._held_up_at = "", -RECENT

    def answered(self, now: float, info: Mapping[str, Any], rejected: int) -> None:
        """Note that a joint state is answered.

        Args:
            now: Steady time of its arrival [s].
            info: When it was published.
            rejected: Number of joint states that were rejected so far.
        """
        self._answered, self._published, self._rejected = now, info.get("source_timestamp") or 0, rejected

    def explain(self, now: float, info: Mapping[str, Any], rejected: int, reason: str) -> None:
        """Find out why no joint state was answered for a longer time.

        Args:
            now: Steady time [s].
            info: What the middleware knows of the joint state that ended the gap; empty: none did.
            rejected: Number of joint states that were rejected so far.
            reason: Why the last one of them was.
        """
        gap, published = now - self._answered, info.get("source_timestamp") or 0
        unanswered = self._monitor.unanswered(info.get("publication_sequence_number") or 0)
        held_up = self._probe.held_up(self._answered, now)
        self._gap_at = now
        if held_up >= SHARE * gap:
            self._gap = _held_up(held_up)
            self._tell_hold_up(self._gap, now)
        elif rejected > self._rejected:
            count = rejected - self._rejected
            self._gap = f"{count} joint states were rejected within {gap:.3g} s, the last one: {reason}"
        elif self._monitor.last_tick >= SHARE * gap:
            self._gap = f"the law took {self._monitor.last_tick:.3g} s"
        elif published and self._published and to_seconds(published - self._published) < SHARE * gap:
            self._gap = f"a joint state came {gap:.3g} s after the one that was published shortly before it"
        elif unanswered:
            self._gap = f"{unanswered} joint states within {gap:.3g} s did not come, or all at once"
        else:
            self._gap = (f"no joint states came for {gap:.3g} s: their publisher sent none (it stopped, was held up or "
                         "started anew), or the network lost them")

    def delay(self, now: float, delay: Delay) -> None:
        """Note why joint states stayed unanswered until now, where the law was not the cause."""
        held_up = self._probe.held_up(self._answered, now)
        if held_up >= TOLD_HOLD_UP:
            self._tell_hold_up(_held_up(held_up), now)
        elif held_up:
            self._diagnostics.count("short hold-ups by the computer")
        else:
            self._diagnostics.count("unanswered joint states", delay.unanswered)

    def with_cause(self, reason: str) -> str:
        """Return why a controller was dropped, with a hold-up by the computer that may be the cause."""
        return f"{reason}; {self._hold_up}" if self._answered - self._held_up_at < RECENT else reason

    def of_start(self, reason: str) -> str:
        """Return why the loop starts anew, with the gap or the hold-up before it."""
        if self._answered - self._gap_at < RECENT:
            return f"{reason}; {self._gap}"
        return self.with_cause(reason)

    def _tell_hold_up(self, text: str, now: float) -> None:
        """Report a hold-up by the computer since the last joint state; keep it as a possible cause of what follows."""
        if self._held_up_at <= self._answered:  # otherwise it is told already
            self._diagnostics.problem("hold-ups by the computer", text)
        self._hold_up, self._held_up_at = text, now


def _held_up(seconds: float) -> str:
    return f"the computer held up this node for {seconds:.3g} s (busy, or the process was stopped)"
