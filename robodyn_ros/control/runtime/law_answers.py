# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Answers of the running law, with what the loop adds to its efforts: damping, a transfer, limits."""

from __future__ import annotations

import numpy as np

from robodyn_ros.base.errors import PluginError
from robodyn_ros.control.contract.controller import State
from robodyn_ros.control.contract.terms import CALMING, LIMITS, TRANSFER
from robodyn_ros.control.plugins.dry_run import answer, as_efforts
from robodyn_ros.control.plugins.plugin import Plugin
from robodyn_ros.control.runtime.bumpless_transfer import BumplessTransfer
from robodyn_ros.control.runtime.calming import Calming
from robodyn_ros.control.runtime.followed_reference import FollowedReference
from robodyn_ros.control.runtime.law_calls import LawCalls
from robodyn_ros.control.runtime.loop_laws import LoopLaws
from robodyn_ros.control.runtime.mode_reasons import ModeReasons
from robodyn_ros.control.runtime.modes import Mode
from robodyn_ros.control.runtime.supervisor import Supervisor
from robodyn_ros.control.runtime.tick import NO_LAW_WORKS, SWAPPING, Tick
from robodyn_ros.description.model import Array
from robodyn_ros.robot import Robot


class LawAnswers:
    """Asks the running law for efforts; it belongs to the thread of the control loop.

    Args:
        robot: The robot.
        laws: The laws of the loop.
        modes: Its modes.
        reference: What the running law follows.
        supervisor: Limits the efforts.

    Attributes:
        calls: The calls of laws.
        calming: Damps the robot where the safe law swings it.
        transfer: Goes from the efforts of one law to those of the next.
    """

    def __init__(self, robot: Robot, laws: LoopLaws, modes: ModeReasons, reference: FollowedReference,
                 supervisor: Supervisor) -> None:
        self._modes, self._reference, self._supervisor, self._n = modes, reference, supervisor, robot.n
        self._turning = bool(robot.model.continuous.any())
        self._clock = reference.clock
        self.calls, self.transfer = LawCalls(robot.n), BumplessTransfer(robot.effort_limit)
        self.begin_with(robot, laws)

    def begin_with(self, robot: Robot, laws: LoopLaws) -> None:
        """Go on with the laws of a robot of another timing."""
        self.calming, self._laws = Calming(robot), laws

    def begin_transfer(self, last: Tick | None) -> None:
        """Let the running law begin with the efforts of the last tick, unless no law gave them or it is the safe one.

        A safe law that people chose begins with them, too.
        """
        laws = self._laws
        runs = self._modes.held is Mode.RUNNING or laws.running is not laws.fallback
        if last is not None and last.intervention != NO_LAW_WORKS and runs:
            self.transfer.begin(laws.running.controller, last.effort)

    def answer(self, state: State, seen: State) -> Tick | PluginError:
        """Answer a state.

        Args:
            state: The state.
            seen: What the law sees: a prediction, or the state itself.

        Returns:
            The tick, without events; or why the law failed.
        """
        laws, plugin, time, reference = self._laws, self._laws.running, state.time - self._clock.lag, None
        if laws.follows:
            reference = self._reference.nearest(time, state.q) if self._turning else self._reference.at(time)
        damped = (lambda: self._damped(plugin, state)) if self.calming.level else None
        followed = self.transfer.reference(reference, seen) if self.transfer.under_way else reference
        result = self.calls.effort(plugin, seen, followed, damped)
        if isinstance(result, PluginError):
            return result
        (effort, values), saturated, intervention = result, False, ""
        added: tuple[tuple[str, Array], ...] = () if damped is None else ((CALMING, effort),)
        if self.transfer.under_way:
            asked, effort = effort, self.transfer.effort(effort, state.period)
            added += ((TRANSFER, effort - asked),)
            values, intervention = effort.tolist(), SWAPPING if self.transfer.under_way else ""
        limited = self._supervisor.limited(effort, values, state, plugin is not laws.fallback)
        if limited is not None:
            asked, (effort, saturated, done) = effort, limited
            if done:
                added += ((LIMITS, effort - asked),)
            intervention = ", ".join(filter(None, (intervention, done)))
        return Tick(state, reference, effort, saturated, plugin, time, intervention, self._clock.rate,
                    self._modes.present, self._modes.why, added=added)

    def nothing(self, state: State) -> Tick:
        """The tick of a state that no law answers: it commands no effort."""
        return Tick(state, None, np.zeros(self._n), False, self._laws.running, state.time - self._clock.lag,
                    NO_LAW_WORKS, self._clock.rate, self._modes.present, self._modes.why)

    def _damped(self, plugin: Plugin, state: State) -> Array:
        """Efforts that damp the robot while the safe law swings it."""
        damping = self.calming.effort(state.v)
        if not self.calming.holds:
            return damping
        self._reference.hold(state.q)
        at_rest = self._reference.at(self._clock.time(state.time)) if self._laws.follows else None
        return damping + as_efforts(answer(plugin.controller, state._replace(v=np.zeros(self._n)), at_rest), self._n)
