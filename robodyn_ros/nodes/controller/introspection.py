# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Values of the control loop by name, as ros2_control's controller_manager publishes them for PlotJuggler.

The executor publishes them, never the control thread. A topic that nobody subscribes to costs nothing. Where
pal_statistics_msgs are not installed, there are no such topics.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from robodyn_ros.base.timing import to_nanoseconds
from robodyn_ros.control.contract.controller import JointReference
from robodyn_ros.control.contract.terms import LIMITS
from robodyn_ros.control.runtime.tick import Tick
from robodyn_ros.nodes.common.messages import set_stamp
from robodyn_ros.nodes.common.topics import LATCHED_QOS
from robodyn_ros.nodes.controller.command_output import CommandPublisher
from robodyn_ros.nodes.controller.part import AnsweredState, Context

try:
    from pal_statistics_msgs.msg import Statistic, Statistics, StatisticsNames, StatisticsValues
except ImportError:
    Statistics = None

RATE = 50.0
"""Rate of the topics, in real time [Hz]."""

UNHEARD_PERIOD = 0.5
"""Time between two looks for subscribers, while there are none [s]."""

TICKS = 4000
"""Greatest number of ticks whose times are in the statistics."""


class Values:
    """Publishes values by name on the three topics ``full``, ``names`` and ``values``.

    Args:
        context: What it knows of the node.
        topic: Name before those.
        find: Returns the values at a tick.
    """

    def __init__(self, context: Context, topic: str, find: Callable[[Tick], Mapping[str, float]]) -> None:
        self._find, self._version, self._last = find, 0, list[str]()
        node = context.node
        self._full = node.create_publisher(Statistics, f"{topic}/full", 10)
        self._names = node.create_publisher(StatisticsNames, f"{topic}/names", LATCHED_QOS)
        self._values = node.create_publisher(StatisticsValues, f"{topic}/values", 10)

    def heard(self) -> bool:
        """Whether somebody subscribes."""
        return any(each.get_subscription_count() for each in (self._full, self._names, self._values))

    def publish(self, tick: Tick, stamp: int) -> None:
        """Publish the values at a tick; the names only if they are other ones."""
        found = self._find(tick)
        names, numbers = list(found), list(map(float, found.values()))
        if names != self._last:
            self._last, self._version = names, self._version + 1
            self._send(self._names, StatisticsNames(names=names, names_version=self._version), stamp)
        self._send(self._values, StatisticsValues(values=numbers, names_version=self._version), stamp)
        if self._full.get_subscription_count():
            self._send(self._full, Statistics(statistics=[
                Statistic(name=name, value=value) for name, value in zip(names, numbers, strict=True)]), stamp)

    @staticmethod
    def _send(publisher: Any, message: Any, stamp: int) -> None:
        set_stamp(message.header.stamp, stamp)
        publisher.publish(message)


class Introspection:
    """Publishes the interfaces of the joints and the times of the ticks.

    Args:
        context: What it knows of the node.
        manager: Resolved name of the controller manager.
        command: Interface that the laws claim.
    """

    def __init__(self, context: Context, manager: str, command: str) -> None:
        self._loop, self._parts, self._joints = context.loop, context.parts, context.joints.names
        self._command = command
        self._manager = manager.rpartition("/")[2]
        self._times: deque[tuple[int, float]] = deque(maxlen=TICKS)  # answered after [ns], period [s]
        self._timed = False
        if Statistics is None:
            context.node.log.info("statistics", "pal_statistics_msgs are not installed: no values for PlotJuggler")
            return
        self._interfaces = Values(context, f"{manager}/introspection_data", self._of_interfaces)
        self._statistics = Values(context, f"{manager}/statistics", self._of_ticks)
        self._timer = context.node.create_steady_timer(1.0 / RATE, self._publish)

    def after_tick(self, answer: AnsweredState) -> None:
        """Note the times of a tick while somebody subscribes to them; on the control path's thread."""
        if self._timed and answer.tick.state.period:
            self._times.append((answer.answered - answer.received, answer.tick.state.period))

    def _publish(self) -> None:
        heard = [each for each in (self._interfaces, self._statistics) if each.heard()]
        self._timer.timer_period_ns = to_nanoseconds(1.0 / RATE if heard else UNHEARD_PERIOD)
        self._timed = self._statistics in heard
        if (tick := self._loop.last) is not None:
            for each in heard:
                each.publish(tick, self._loop.stamp)

    def _of_interfaces(self, tick: Tick) -> dict[str, float]:
        limited, reference = dict(tick.added).get(LIMITS, np.zeros(len(self._joints))), tick.reference
        found: dict[str, float] = {}
        voltage = self._parts[CommandPublisher].voltage(tick)
        commanded = tick.effort if voltage is None else voltage
        for index, joint in enumerate(self._joints):
            found[f"state_interface.{joint}/position"] = tick.state.q[index]
            found[f"state_interface.{joint}/velocity"] = tick.state.v[index]
            found[f"command_interface.{joint}/{self._command}"] = commanded[index]
            found[f"command_interface.{joint}/{self._command}.is_limited"] = limited[index] != 0.0
        if isinstance(reference, JointReference):
            for kind, values in zip(("position", "velocity", "acceleration"), reference, strict=True):
                found |= {f"command_interface.{tick.plugin.name}/{joint}/{kind}": value
                          for joint, value in zip(self._joints, values.tolist(), strict=True)}
        return found

    def _of_ticks(self, tick: Tick) -> dict[str, float]:
        times = np.array(list(self._times) or [(0, 1.0)])
        found = {f"{self._manager}.total_time": times[-1, 0] * 1e-3}
        measured = {"execution_time": times[:, 0] * 1e-3, "periodicity": 1.0 / times[:, 1]}  # [us], [Hz]
        for name, values in measured.items():
            front = f"{tick.plugin.name}.stats/{name}"
            found |= {f"{front}/max": values.max(), f"{front}/min": values.min(), f"{front}/average": values.mean(),
                      f"{front}/standard_deviation": values.std(), f"{front}/sample_count": len(self._times),
                      f"{front}/current_value": values[-1]}
        return found
