# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Period and delay of the control loop: declared or measured; gains derived for them, and the margin that they keep."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from robodyn_ros.common_fields import DELAY
from robodyn_ros.control.age_monitor import FOREIGN_CLOCK
from robodyn_ros.control.compiled_law import PackedParameters
from robodyn_ros.control.control_loop import ControlLoop, Plugin
from robodyn_ros.control.controller import Law
from robodyn_ros.control.default_gains import sampled_positions
from robodyn_ros.control.sampled_loop import LOOKED_AT, stability, stable_factor
from robodyn_ros.errors import RobodynError
from robodyn_ros.fields import Field
from robodyn_ros.nodes.common.control_path import ControlPath
from robodyn_ros.nodes.common.parameters import DeclaredParameters
from robodyn_ros.nodes.common.runtime import RobodynNode
from robodyn_ros.nodes.controller.plugins import ControllerPlugins
from robodyn_ros.robot import Robot
from robodyn_ros.timing import DEFAULT_PERIOD, NANOSECONDS_PER_SECOND, LoopTiming, to_seconds

PARAMETERS = (
    Field("update_rate", 0, "Joint states per second that default gains are for, as the driver has it; 0: "
          f"{round(1.0 / DEFAULT_PERIOD)}, or as few as are measured", unit="Hz", structural=True, minimum=0,
          maximum=10000),
    DELAY.renamed("state_delay", structural=True, description=f"{DELAY.description}; sensing.delay of a simulation and "
                  "ages that are measured count too"),
)

SLOWER = 1.2
"""A measured period beyond this times the one of the gains asks for other gains."""

LONGER = 2
"""A measured delay that is longer by so many periods asks for other gains; they bear one period more as they are."""

LOOKS = 3
"""Number of seconds in a row for which a longer delay must be measured: a busy computer has some, too."""

LONGEST_DELAY = 0.25
"""Ages beyond this are no delay of a loop that could be controlled, but another clock's, or a driver that lags [s]."""

_FEW = 8  # periods from which a longer one is believed
_KEPT = 4000
_KNOWN = 32  # margins


def declared_timing(parameters: DeclaredParameters) -> LoopTiming:
    """Return the timing that was given at start.

    Args:
        parameters: Of the node; `PARAMETERS` are declared.
    """
    rate, delay = parameters["update_rate"], parameters["state_delay"]
    simulated = parameters.given.get("sensing.delay")
    if simulated is not None and type(simulated.value) is int:
        delay = max(delay, simulated.value)
    return LoopTiming(1.0 / rate if rate else DEFAULT_PERIOD, delay)


class LoopTimingWatch:
    """Measures period and delay, keeps default gains fit for them, and tells the margin of the laws in force.

    Gains are only ever lowered: a loop that has become faster keeps those that it has.

    Args:
        node: The controller node.
        robot: The robot, with the declared timing.
        loop: The control loop.
        path: The control path that it runs on.
        plugins: The declared controllers.
        delay_compensation: Returns the delay that is compensated [s].
    """

    def __init__(self, node: RobodynNode, robot: Robot, loop: ControlLoop, path: ControlPath,
                 plugins: ControllerPlugins, delay_compensation: Callable[[], float]) -> None:
        self._node, self._robot, self._loop, self._path, self._plugins = node, robot, loop, path, plugins
        self._compensated = delay_compensation
        self._ticks: deque[tuple[float, int]] = deque(maxlen=_KEPT)  # period [s], age of the command [ns]
        self._slow = self._late = self._number = self._stamp = 0
        self._looked_at: dict[str, tuple[Any, ...]] = {}
        self._factors: dict[str, float] = {}
        self._known: dict[tuple[Any, ...], float] = {}
        node.diagnostics.checks.append(self.look)

    def note(self, stamp: int, period: float, number: int, age: int) -> None:
        """Note a tick; on the thread of the control path.

        Args:
            stamp: Of the state [ns]. One that comes again, as those of paused hardware, tells no timing.
            period: Time since the state before [s]; 0 at a new start.
            number: Number of the state in the sequence of its publisher; 0: unknown.
            age: Time from the stamp of the state to the publication of its command, by system time [ns].
        """
        missed, self._number = number - self._number - 1, number
        repeated, self._stamp = stamp == self._stamp, stamp
        if period <= 0.0 or repeated:
            return
        if missed > 0:  # a busy computer makes no other driver
            period /= missed + 1
        self._ticks.append((period, age))
        if period <= SLOWER * self._robot.timing.period:
            self._slow = 0
            return
        self._slow += 1
        if self._slow == _FEW and self._node.executor is not None:
            self._node.executor.create_task(self._measure)

    def look(self) -> None:
        """Look at the timing and at the margin of the laws; once a second, on the executor."""
        self._measure()
        for role, plugin in self._in_force().items():
            self._tell_margin(role, plugin)

    def values(self) -> dict[str, object]:
        """Values for the diagnostics."""
        margins = {f"stable gains of the {role} controller, over its own": factor
                   for role, factor in self._factors.items()}
        return {"gains are for": str(self._robot.timing), **margins}

    def _in_force(self) -> dict[str, Plugin]:
        return {"active": self._loop.active, "safe": self._loop.safe}

    def _measure(self) -> None:
        ticks, self._ticks = self._ticks, deque(maxlen=_KEPT)
        if len(ticks) < _FEW:
            return
        periods, ages = np.array(list(ticks)).T
        present, period = self._robot.timing, float(np.quantile(periods, 0.25))
        delay = 0
        if (np.abs(ages) < FOREIGN_CLOCK * NANOSECONDS_PER_SECOND).all():
            age = to_seconds(float(np.quantile(ages, 0.25)))
            delay = max(0, round((age - self._compensated()) / max(period, present.period)))
            if self._is_old(age) and delay > present.delay:
                delay = 0
        self._late = self._late + 1 if delay >= present.delay + LONGER else 0
        wanted = LoopTiming(period if period > SLOWER * present.period else present.period,
                            delay if self._late >= LOOKS else present.delay)
        if wanted != present:
            self._late = 0
            self._adapt(wanted)

    def _is_old(self, age: float) -> bool:
        """Whether stamps are too old for a delay [s]; a condition tells it."""
        if age <= LONGEST_DELAY:
            self._node.diagnostics.clear_condition("old stamps", "the stamps of joint states are of this moment")
            return False
        self._node.diagnostics.raise_condition(
            "old stamps", f"the stamps of joint states are {age:.3g} s old: the clocks of two machines differ, or the "
            "driver lags; this counts as no delay, and changes no gains: synchronise the clocks, or give state_delay")
        return True

    def _adapt(self, timing: LoopTiming) -> None:
        """Derive default gains for a timing, and put them in force where nobody gave others."""
        before, self._robot = self._robot.timing, self._robot.with_timing(*timing)
        self._plugins.retime(self._robot)
        names = {plugin.name for plugin in self._in_force().values()}
        changed = {name: self._plugins.complete(name) for name in names}
        for name, parameters in changed.items():
            self._plugins.run(f"controller '{name}' cannot be compiled", self._loop.prepare, name, parameters)

        def put_in_force() -> None:
            for name, parameters in changed.items():
                self._loop.configure(name, parameters)

        try:
            self._path.call(put_in_force)
        except RobodynError as error:  # the node is about to end
            self._node.log.warning("loop timing", str(error))
            return
        self._node.diagnostics.problem(
            "changes of the loop's timing", f"the loop has {timing}, not {before}: the default gains, also of the safe "
            f"controller '{self._loop.safe.name}', are now those for it; give update_rate and state_delay to begin so")

    def _tell_margin(self, role: str, plugin: Plugin) -> None:
        law, timing = plugin.controller, self._robot.timing
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
            while len(self._known) >= _KNOWN:
                del self._known[next(iter(self._known))]
            q = sampled_positions(self._robot)[:LOOKED_AT]
            self._known[key] = self._plugins.run(f"controller '{name}': its margin is unknown", stable_factor, law,
                                                 law.parameters, timing, q)
        return self._known[key]
