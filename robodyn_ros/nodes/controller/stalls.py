# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.
"""Joint states that stay unanswered: who took the time, what is reported, and whether the law is dropped for it.

A thread that waits whenever a joint state comes answers every one. If some stay unanswered, either the law took the
time, or the thread was not running: the computer was busy, or the process was stopped. The law takes the processor time
of the thread during its tick. A law that is blocked (it sleeps, or waits for a device) takes none: it is found by the
ticks of a second, most of which are blocked, while the thread did not wait for a processor, and a probe that sleeps
beside it was not held up.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from robodyn_ros.base.fields import Field
from robodyn_ros.base.timing import scheduling_of, to_seconds
from robodyn_ros.control.runtime.loop_events import Event as LoopEvent
from robodyn_ros.control.runtime.loop_events import NewStart
from robodyn_ros.control.runtime.modes import Reason
from robodyn_ros.control.runtime.requests import Drop
from robodyn_ros.nodes.common.hold_up_probe import HoldUpProbe
from robodyn_ros.nodes.controller.events import Event
from robodyn_ros.nodes.controller.part import Context, Part, PutInForce

MAX_OVERRUNS = Field(
    "max_overruns", 20, "Number of overruns (joint states came while the law computed, or was blocked) after which the "
    "controller is dropped for the safe one; each is forgiven after ten ticks in time; 0: never", minimum=0,
    maximum=1_000_000)

STARTUP_SECONDS = 5.0
"""Extra time for the first joint state to arrive, beyond ``state_timeout`` [s]."""

FORGIVEN_AFTER = 10
"""Number of ticks in time after which one overrun no longer counts."""

TOLD_HOLD_UP = 0.02
"""A shorter hold-up by the computer is counted, not told [s]."""

TOLD_GAP = 0.1
"""A shorter time without joint states needs no explanation at a new start [s]."""

RECENT = 1.0
"""Time for which a hold-up by the computer may be the cause of what a joint does, or of a new start [s]."""

SHARE = 0.5
"""Part of a time that something has to take to count as its cause."""

_KEPT = 20_000  # ticks of which the times are kept until the statistics are read


class Delay(NamedTuple):
    """Why joint states stayed unanswered.

    Attributes:
        law: Processor time that the law took [s].
        held_up: Time for which the thread was held up [s].
        period: Time between two joint states [s].
        unanswered: Number of joint states that stayed unanswered.
    """

    law: float
    held_up: float
    period: float
    unanswered: int

    @property
    def law_in_time(self) -> bool:
        """Whether the law took less than a period."""
        return self.law < self.period

    @property
    def of_law(self) -> bool:
        """Whether the law took a period or more, and most of the delay; otherwise the thread was held up."""
        return not self.law_in_time and self.law >= self.held_up


class Rejections(NamedTuple):
    """How many joint states were rejected so far, and why the last one was."""

    number: int = 0
    last: str = ""


class Stalls(Part):
    """Measures the ticks of the control loop, and explains what did not go on; for the thread of the control path.

    A tick is :meth:`arrive`, then :meth:`begin`, the law, :meth:`end`, and :meth:`answered`.

    Args:
        context: What it knows of the node.

    Attributes:
        max_overruns: Number of overruns of the law for which it is dropped; 0: never.
        overruns: Recent overruns of the law, each forgiven after ``FORGIVEN_AFTER`` ticks in time.
        answered_at: Steady time at which the last joint state came that was answered [s].
    """

    PARAMETERS = (MAX_OVERRUNS,)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._diagnostics, self._probe = context.node.diagnostics, HoldUpProbe()
        self.max_overruns: int = context.node.parameters[MAX_OVERRUNS.name]
        self.overruns = 0.0
        self.answered_at, self._published, self._rejections = 0.0, 0, Rejections()
        self._times: deque[tuple[float, float, float]] = deque(maxlen=_KEPT)  # begin, end, processor time of each tick
        self._begin = self._end = self._cpu_begin = self._cpu = 0.0
        self._period = 0.0  # of the joint states, if some stayed unanswered since the last diagnostics
        self._blocked: tuple[int, float, float] | None = None  # ticks of a law that was blocked, time blocked, period
        self._waited = self._looked_at = 0.0  # for a processor until the last look, and begin of the last tick then [s]
        self._stamp = self._sequence = 0
        self._overrun_at = 0  # sequence number
        self._gap, self._gap_at = "", -RECENT  # why the last gap was, and when it ended
        self._hold_up, self._held_up_at = "", -RECENT
        self._slow_law, self._overran = "", False  # reported as too slow; whether it was since the last diagnostics
        self._diagnostics.checks.append(self._look_for_overruns)

    def start(self) -> None:
        """Begin to measure, and give the first joint state time to arrive."""
        self.answered_at = time.monotonic() + STARTUP_SECONDS
        self._probe.start()

    def close(self) -> None:
        """End the probe."""
        self._probe.stop()

    def on_change(self, changes: Mapping[str, Any]) -> PutInForce | None:
        """Change the number of overruns."""
        def put_in_force() -> None:
            self.max_overruns = changes[MAX_OVERRUNS.name]

        return put_in_force if MAX_OVERRUNS.name in changes else None

    def on_event(self, event: LoopEvent) -> None:
        """Tell a new start, and why the loop starts anew."""
        if isinstance(event, NewStart):
            lost = ", the active trajectory is dropped" if event.dropped_motion else ""
            self.context.events.tell(Event("new starts", f"new start from the current state{lost}: "
                                           f"{self._of_start(event.text)}"))

    # A tick.

    def arrive(self, now: float, info: Mapping[str, Any], rejections: Rejections) -> None:
        """Explain a longer time without a joint state that was answered.

        Args:
            now: Steady time [s].
            info: What the middleware knows of the joint state that ends this time; empty: none came.
            rejections: Of joint states so far.
        """
        gap, published = now - self.answered_at, info.get("source_timestamp") or 0
        if gap < TOLD_GAP:
            return
        unanswered = self._unanswered(info.get("publication_sequence_number") or 0)
        held_up = self._probe.held_up(self.answered_at, now)
        last_tick = max(0.0, self._end - self._begin)
        self._gap_at = now
        if held_up >= SHARE * gap:
            self._gap = _held_up(held_up)
            self._tell_hold_up(self._gap, now)
        elif rejections.number > self._rejections.number:
            count = rejections.number - self._rejections.number
            self._gap = f"{count} joint states were rejected within {gap:.3g} s, the last one: {rejections.last}"
        elif last_tick >= SHARE * gap:
            self._gap = f"the last tick took {last_tick:.3g} s, in which the law computed for {self._cpu:.3g} s"
        elif published and self._published and to_seconds(published - self._published) < SHARE * gap:
            self._gap = f"a joint state came {gap:.3g} s after the one that was published shortly before it"
        elif unanswered:
            self._gap = f"{unanswered} joint states within {gap:.3g} s did not come, or all at once"
        else:
            self._gap = (f"no joint states came for {gap:.3g} s: their publisher sent none (it stopped, was held up or "
                         "started anew), or the network lost them")

    def begin(self, now: float, stamp: int, sequence: int) -> None:
        """Begin a tick; tell why joint states before it stayed unanswered, and drop a law that is too slow.

        Args:
            now: Steady time of the joint state's arrival [s].
            stamp: Its stamp [ns].
            sequence: Its number in the sequence of its publisher's messages.
        """
        delay = None
        if stamp > self._stamp and (unanswered := self._unanswered(sequence)):  # a repeated state needs no other answer
            delay = self._blame(now, stamp, sequence, unanswered)
        self._begin, self._stamp, self._sequence = now, stamp, sequence
        if delay is not None:
            self._tell(delay, now)
        if self._blocked is not None:
            self._count_blocked(*self._blocked)
        self._cpu_begin = time.thread_time()

    def end(self, now: float) -> None:
        """End a tick at a steady time [s], before its command is published."""
        self._end, self._cpu = now, time.thread_time() - self._cpu_begin
        self._times.append((self._begin, now, self._cpu))

    def answered(self, now: float, info: Mapping[str, Any], rejections: Rejections) -> None:
        """Note that a joint state is answered; arguments as for :meth:`arrive`."""
        self.answered_at, self._published, self._rejections = now, info.get("source_timestamp") or 0, rejections

    def forget(self) -> None:
        """Forget overruns, because another law is in force."""
        self.overruns, self._blocked, self._cpu = 0.0, None, 0.0
        self._times.clear()

    # What comes of it.

    def with_cause(self, reason: str) -> str:
        """Return why a controller was dropped, with a hold-up by the computer that may be the cause."""
        return f"{reason}; {self._hold_up}" if self.answered_at - self._held_up_at < RECENT else reason

    def _of_start(self, reason: str) -> str:
        """Return why the loop starts anew, with the gap or the hold-up before it."""
        if self.answered_at - self._gap_at < RECENT:
            return f"{reason}; {self._gap}"
        return self.with_cause(reason)

    def values(self) -> Mapping[str, object]:
        """Return execution times and periodicity of the ticks since the last call, by name."""
        times, self._times = self._times, deque(maxlen=_KEPT)
        if len(times) < 2:
            return {}
        begin, end, _ = np.array(list(times)).T
        execution, rate = 1e6 * (end - begin), 1.0 / np.maximum(np.diff(begin), 1e-9)
        return {f"{name}: {label}": round(float(function(values)), 3)
                for name, values in (("execution time [us]", execution), ("periodicity [Hz]", rate))
                for label, function in (("mean", np.mean), ("standard deviation", np.std), ("least", np.min),
                                        ("greatest", np.max))}

    def _unanswered(self, sequence: int) -> int:
        """Return how many joint states between the last tick and one of this number stayed unanswered."""
        # After a new start of the publisher the numbers tell nothing.
        return max(0, sequence - self._sequence - 1) if self._sequence else 0

    def _blame(self, now: float, stamp: int, sequence: int, unanswered: int) -> Delay:
        """Return why joint states stayed unanswered."""
        self._period = period = to_seconds(stamp - self._stamp) / (unanswered + 1)
        delay = Delay(self._cpu, now - self._begin - self._cpu, period, unanswered)
        if not delay.law_in_time:
            in_time = sequence - unanswered - 1 - self._overrun_at
            self.overruns = max(0.0, self.overruns - max(0, in_time) / FORGIVEN_AFTER) + 1.0
            self._overrun_at = sequence
        return delay

    def _tell(self, delay: Delay, now: float) -> None:
        if not delay.of_law:
            held_up = self._probe.held_up(self.answered_at, now)
            if held_up >= TOLD_HOLD_UP:
                self._tell_hold_up(_held_up(held_up), now)
            elif held_up:
                self._diagnostics.count("short hold-ups by the computer")
            else:
                self._diagnostics.count("unanswered joint states", delay.unanswered)
        if not delay.law_in_time:
            self._tell_slow(f"the law takes {1e3 * delay.law:.3g} ms of {1e3 * delay.period:.3g} ms", 1)

    def _count_blocked(self, ticks: int, blocked: float, period: float) -> None:
        """Count overruns of a law that is blocked for some time [s] in most of its ticks."""
        self._blocked = None
        self.overruns += ticks
        self._tell_slow(f"the law is blocked for {1e3 * blocked:.3g} ms of {1e3 * period:.3g} ms", ticks)

    def _tell_slow(self, text: str, overruns: int) -> None:
        law = self.context.loop.laws.chosen.name
        self._diagnostics.count("overruns", overruns)
        self._overran = True
        if self.max_overruns and self.overruns >= self.max_overruns:
            self.forget()
            self.context.thread.request_here(Drop(Reason("too slow", text)))
        if self._slow_law != law:
            self._slow_law = law
            self._diagnostics.raise_condition("slow", f"controller '{law}' is too slow: {text}")

    def _tell_hold_up(self, text: str, now: float) -> None:
        """Report a hold-up by the computer since the last joint state; keep it as a possible cause of what follows."""
        if self._held_up_at <= self.answered_at:  # otherwise it is told already
            self._diagnostics.problem("hold-ups by the computer", text)
        self._hold_up, self._held_up_at = text, now

    def _look_for_overruns(self) -> None:
        """Look for a law that is blocked; end the report of a slow law when it was in time for a second."""
        period, self._period = self._period, 0.0
        times = [tick for tick in tuple(self._times) if tick[0] > self._looked_at]
        self._looked_at = times[-1][0] if times else self._looked_at
        waited = self._waited_since_the_last_look()
        if period and times and not self._probe.held_up(times[0][0], time.monotonic()):
            begin, end, cpu = np.array(times).T
            blocked = end - begin - cpu
            if waited < SHARE * blocked.sum() and (typical := float(np.median(blocked))) >= period:
                self._blocked = int((blocked >= period).sum()), typical, period
        if not self._overran and self._slow_law:
            self._diagnostics.clear_condition("slow", f"controller '{self.context.loop.laws.chosen.name}' is in time")
            self._slow_law = ""
        self._overran = False

    def _waited_since_the_last_look(self) -> float:
        """Return how long the thread of the control path has waited for a processor since the last call [s]."""
        task, before = self.context.thread.path.thread.native_id, self._waited
        self._waited = scheduling_of(task).waited if task is not None else 0.0
        return max(0.0, self._waited - before)


def _held_up(seconds: float) -> str:
    return f"the computer held up this node for {seconds:.3g} s (busy, or the process was stopped)"
