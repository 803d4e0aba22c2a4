# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.


"""Period and delay of the control loop that default gains are for, and what is measured beside them.

Gains are for the timing that was declared: by the parameters `update_rate` and `state_delay`, or else by the hardware
node, before the first joint state is answered. From then on nothing changes them: another timing that is measured or
announced is a condition, with the margin that the laws have in it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any

import numpy as np

from robodyn_ros.base.common_fields import DELAY
from robodyn_ros.base.errors import InputError, RobodynError, shown
from robodyn_ros.base.fields import Field
from robodyn_ros.base.timing import DEFAULT_PERIOD, NANOSECONDS_PER_SECOND, LoopTiming, to_seconds
from robodyn_ros.control.contract.compiled_law import PackedParameters
from robodyn_ros.control.contract.controller import Law
from robodyn_ros.control.default_gains import checked_positions
from robodyn_ros.control.gains.margin import stability, stable_factor
from robodyn_ros.control.plugins.plugin import Plugin
from robodyn_ros.control.runtime.age_monitor import FOREIGN_CLOCK, AgeMonitor
from robodyn_ros.nodes.common.parameters import DeclaredParameters
from robodyn_ros.nodes.controller.hardware_announcement import Announcement
from robodyn_ros.nodes.controller.law_swaps import LawSwaps
from robodyn_ros.nodes.controller.part import AnsweredState, Context, Part

CHANGE = 1.2
"""Ratio of two periods from which they count as different."""

LONGER = 2
"""A delay that is longer by so many periods counts as different; default gains bear one period more."""

LOOKS = 3
"""Number of seconds in a row for which another timing must be measured: a busy computer has some, too."""

LONGEST_DELAY = 0.25
"""Ages beyond this are no delay of a loop that could be controlled, but another clock's, or a driver that lags [s]."""

_MIN_PERIODS = 8  # from which a timing is measured
_MAX_TICKS = 4000
_MAX_MARGINS = 32


def declared_timing(parameters: DeclaredParameters) -> LoopTiming:
    """Return the timing that the parameters declare, with defaults for what they leave open.

    Args:
        parameters: Of the node; `PARAMETERS` are declared.
    """
    rate, delay = parameters["update_rate"], parameters["state_delay"]
    return LoopTiming(1.0 / rate if rate else DEFAULT_PERIOD, max(delay, 0))


class LoopTimingWatch(Part):
    """Keeps the timing that gains are for, measures the one that the loop has, and reports margins of the laws.

    Args:
        context: What it knows of the node; its robot has the declared timing.
    """

    PARAMETERS = (
        Field("update_rate", 0, "Joint states per second that default gains are for, as the driver has it; 0: as the "
              f"hardware node announces, else {round(1.0 / DEFAULT_PERIOD)}", unit="Hz", structural=True, minimum=0,
              maximum=10000),
        DELAY.renamed("state_delay", default=-1, minimum=-1, structural=True, description=f"{DELAY.description}; -1: "
                      "as the hardware node announces, else 0"),
    )

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        node = self._node = context.node
        self._robot, self._loop, self._plugins = context.robot, context.loop, context.plugins
        self._ages = AgeMonitor()
        self._undeclared = not node.parameters["update_rate"]
        self._announced: LoopTiming | None = None
        self._measured: LoopTiming | None = None  # where it differs for some seconds
        self._looks = 0  # seconds in a row that speak for a change of this
        # Stamp [ns], time since the state before [s], number, and age of the command by system time [ns].
        self._ticks: deque[tuple[int, float, int, int]] = deque(maxlen=_MAX_TICKS)
        self._looked_at: dict[str, tuple[Any, ...]] = {}
        self._factors: dict[str, float] = {}
        self._known: dict[tuple[Any, ...], float] = {}
        node.diagnostics.checks.append(self.look)
        context.announcement.handlers.append(self._on_announcement)

    def after_tick(self, answer: AnsweredState) -> None:
        """Note the ages of state and command."""
        stamp, tick, number, published, received, answered = answer
        self._ages.note(stamp, published, received, answered)
        self._ticks.append((stamp, tick.state.period, number, answered - stamp))

    def _on_announcement(self, announcement: Announcement) -> None:
        """Take the timing that the hardware announces, where nobody declared one; on the executor's thread."""
        gains_for = self._robot.timing
        try:
            announced = _announced_timing(announcement)
        except InputError as error:
            self._node.diagnostics.problem("rejected announcements", str(error))
            return
        if announced is None:
            return
        declared_rate, declared_delay = (self._node.parameters[field.name] for field in self.PARAMETERS)
        wanted = LoopTiming(gains_for.period if declared_rate else announced.period,
                            gains_for.delay if declared_delay >= 0 else announced.delay)
        if announcement.in_time and wanted != gains_for and self._announced is None:
            robot = self._robot.with_timing(*wanted)
            try:
                self.context.parts[LawSwaps].begin_with(robot)
            except RobodynError as error:
                self._node.diagnostics.problem("failed default gains", f"no gains for {wanted}, which "
                                               f"{announcement.node} announces: {error}", error=True)
            else:
                self._robot, gains_for = robot, wanted
                self._node.log.info("timing", f"default gains are for {wanted}, as {announcement.node} announces")
        self._undeclared = False
        self._announced = announced = announced._replace(delay=max(announced.delay, gains_for.delay))
        if announced == gains_for:  # gains for a longer delay do well with a shorter one
            self._node.diagnostics.clear_condition("announced timing", f"default gains are for {gains_for}, as "
                                                   f"{announcement.node} announces")
        else:
            self._report("announced timing", f"{announcement.node} announces", announced)

    def look(self) -> None:
        """Look at the timing and at the margin of the laws; once a second, on the executor."""
        if self._undeclared and self._loop.last is not None:
            self._undeclared = False
            self._node.log.warning("timing", "nobody declares the period of this control loop: default gains are for "
                                   f"{self._robot.timing}; start this node with update_rate, the rate of the driver, "
                                   "and with state_delay")
        self._measure()
        for role, plugin in self._in_force().items():
            self._report_margin(role, plugin)

    def values(self) -> Mapping[str, object]:
        """Return the timing that gains are for, the margins in it, and the ages."""
        margins = {f"stable gains of the {role} controller, over its own": factor
                   for role, factor in self._factors.items()}
        return {"gains are for": str(self._robot.timing), **margins, **self._ages.statistics()}

    @property
    def _expected(self) -> LoopTiming:
        return self._announced or self._robot.timing

    def _in_force(self) -> dict[str, Plugin]:
        return {"active": self._loop.laws.chosen, "safe": self._loop.laws.fallback}

    def _measure(self) -> None:
        """Compare the timing of the last ticks with the expected one; report a difference that lasts, once."""
        if len(self._ticks) < _MIN_PERIODS:
            return
        ticks, self._ticks = self._ticks, deque(maxlen=_MAX_TICKS)
        found, expected = self._timing_of(ticks), self._expected
        if found is None:
            return
        period, delay = found
        slower, faster = period[0] > CHANGE * expected.period, period[1] * CHANGE < expected.period
        differs = bool(slower or faster or delay >= expected.delay + LONGER)
        self._looks = self._looks + 1 if differs is (self._measured is None) else 0
        if self._looks < LOOKS:
            return
        self._looks = 0
        if not differs:
            self._measured = None
            self._node.diagnostics.clear_condition("measured timing", f"the loop has {expected} again")
            return
        self._measured = LoopTiming(period[0] if slower else period[1] if faster else expected.period,
                                    max(delay, expected.delay))
        self._report("measured timing", "the loop has", self._measured)

    def _timing_of(self, ticks: deque[tuple[int, float, int, int]]) -> tuple[tuple[float, float], int] | None:
        """Return quartiles of the period [s], and the delay [control periods]; None: too few ticks tell them.

        A state that comes again with its stamp, as those of paused hardware, tells no timing. States that this node
        missed count, as a busy computer makes no other driver.
        """
        stamps, periods, numbers, ages = (np.array(column) for column in zip(*ticks, strict=True))
        missed = np.maximum(np.diff(numbers, prepend=numbers[0] - 1) - 1, 0)
        tells = (periods > 0.0) & (np.diff(stamps, prepend=stamps[0] - 1) != 0)
        if tells.sum() < _MIN_PERIODS:
            return None
        lower, upper = map(float, np.quantile((periods / (missed + 1))[tells], (0.25, 0.75)))
        delay, ages = 0, ages[tells]
        if (np.abs(ages) < FOREIGN_CLOCK * NANOSECONDS_PER_SECOND).all():
            age = to_seconds(float(np.quantile(ages, 0.25)))
            if not self._is_old(age):
                period = min(max(self._expected.period, lower), upper)
                delay = max(0, round((age - self._loop.delay) / period))
        return (lower, upper), delay

    def _is_old(self, age: float) -> bool:
        """Whether stamps are too old for a delay [s]; a condition reports it."""
        if age <= LONGEST_DELAY:
            self._node.diagnostics.clear_condition("old stamps", "the stamps of joint states are of this moment")
            return False
        self._node.diagnostics.raise_condition(
            "old stamps", f"the stamps of joint states are {age:.3g} s old: the clocks of two machines differ, or the "
            "driver lags; this counts as no delay: synchronise the clocks, or give state_delay")
        return True

    def _report(self, condition: str, who: str, timing: LoopTiming) -> None:
        """Report a timing that gains are not for, with the margin of the laws in it, and what to do."""
        margins = []
        for plugin in {plugin.name: plugin for plugin in self._in_force().values()}.values():
            law = plugin.controller
            if isinstance(law, Law):
                try:
                    margins.append(stability(plugin.name, self._factor(plugin.name, law, timing), timing))
                except RobodynError as error:
                    margins.append(str(error))
        self._node.diagnostics.raise_condition(
            condition, f"{who} {timing}, but default gains are for {self._robot.timing}, and stay so: "
            f"{''.join(f'{margin}; ' for margin in margins)}start this node with update_rate: "
            f"{round(1.0 / timing.period)} and state_delay: {timing.delay}")

    def _report_margin(self, role: str, plugin: Plugin) -> None:
        law, timing = plugin.controller, self._measured or self._expected
        if not isinstance(law, Law):
            self._factors.pop(role, None)
            self._node.diagnostics.clear_condition(f"unstable {role}", f"controller '{plugin.name}' is in force")
            return
        if self._looked_at.get(role) == (plugin.name, law.parameters, timing):
            return
        self._looked_at[role] = plugin.name, law.parameters, timing
        try:
            factor = self._factor(plugin.name, law, timing)
        except RobodynError as error:  # of the law, in a posture that it was not made for
            self._node.log.warning(f"margin {role}", str(error))
            return
        self._factors[role] = factor
        text = stability(plugin.name, factor, timing)
        if factor < 1.0:
            self._node.diagnostics.raise_condition(f"unstable {role}", text)
        else:
            self._node.diagnostics.clear_condition(f"unstable {role}", text)
            self._node.log.info(f"margin {role}", text)

    def _factor(self, name: str, law: Law, timing: LoopTiming) -> float:
        """`stable_factor` of a law; kept for laws that come back with the same gains."""
        packed = PackedParameters(law.parameters)
        key = name, timing, packed.fixed, packed.values.tobytes()
        if key not in self._known:
            while len(self._known) >= _MAX_MARGINS:
                del self._known[next(iter(self._known))]
            q = checked_positions(self._robot)
            self._known[key] = self._plugins.run(f"controller '{name}': its margin is unknown", stable_factor, law,
                                                 law.parameters, timing, q)
        return self._known[key]


def _announced_timing(announcement: Announcement) -> LoopTiming | None:
    """Return the timing in an announcement; None: it has none.

    Raises:
        InputError: It is none that a loop can have.
    """
    values = []
    for field in LoopTimingWatch.PARAMETERS:
        if (text := announcement.values.get(field.name)) is None:
            return None
        where = f"{announcement.node}: driver_profile: {field.name}"
        try:
            values.append(field.renamed(field.name, minimum=field.default + 1).checked(int(text), where))
        except ValueError:
            raise InputError(f"{where}: expected a whole number, received {shown(text)}") from None
    return LoopTiming(1.0 / values[0], values[1])
