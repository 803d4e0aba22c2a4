# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The control loop without ROS: one law, its reference, its mode, one tick at a time.

`modes.py` has the modes and the table of what changes them; `requests.py` has what can be asked of the loop.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from math import hypot
from typing import Any

import numpy as np

from robodyn_ros.base.errors import InputError, PluginError
from robodyn_ros.base.timing import NANOSECONDS_PER_SECOND
from robodyn_ros.control.contract.controller import JointReference, State
from robodyn_ros.control.plugins.plugin import Plugin
from robodyn_ros.control.references.reference import Trajectory
from robodyn_ros.control.runtime.followed_reference import FollowedReference, TrajectoryStart
from robodyn_ros.control.runtime.law_answers import LawAnswers
from robodyn_ros.control.runtime.loop_events import Event, LawEnded, LawFailed, NewStart
from robodyn_ros.control.runtime.loop_laws import LoopLaws
from robodyn_ros.control.runtime.measurement import LawState, Measurement
from robodyn_ros.control.runtime.mode_reasons import ModeReasons
from robodyn_ros.control.runtime.modes import Cause, Mode, Reason, ReferenceMove
from robodyn_ros.control.runtime.requests import (
    Answer,
    BeginWith,
    Configure,
    Drop,
    Exert,
    Follow,
    Grip,
    HoldStill,
    NewSettings,
    Release,
    Replace,
    Request,
    Resume,
    Stop,
    Suspend,
    Swap,
)
from robodyn_ros.control.runtime.state_prediction import StatePredictor
from robodyn_ros.control.runtime.supervisor import Supervisor
from robodyn_ros.control.runtime.tick import Tick
from robodyn_ros.robot import Robot

NO_STATE = Reason("no state", "no joint state has been received yet")


class ControlLoop:
    """Runs laws on one robot. All of it belongs to one thread; `take_over` gives it to another one.

    `tick` answers a measurement; `request` is the only other way to change the loop. What happened is in the events of
    both.

    - The first setpoint is the current state, at the first tick, at a new start, and at a swap while nothing moves. At
      the first two the reference has the measured velocity, and comes to rest.
    - While the hardware follows no commands, each tick is a new start, so that the reference never runs ahead.
    - A swap leaves a trajectory alone if the new law follows the same class of references; otherwise the new law holds
      the current state. While the new law lacks an input, the one before brings the robot to rest and holds it.
    - If a law raises, or returns something else than finite efforts, the safe law replaces it at the same tick, and its
      trajectory is dropped. If the safe law fails as well, the effort is zero.
    - A call that does not return is left behind with its thread. Another thread takes the loop over, and the safe law
      replaces this one.
    - Positions of continuous joints are angles: states are unwrapped, and the reference is given in the turn nearest to
      the state.
    - The supervisor limits efforts and stops the robot at its bounds. A law under which a joint runs away is dropped.
    - In the modes `HELD` the chosen law does not run, and no motion can begin. Then it begins at the current state.

    Args:
        robot: The robot.
        chosen: The first law.
        fallback: The safe law.
        longest_gap: A longer time between two states [s] makes a new start, as do a step back in time and a joint that
            jumps (a simulation that was reset).

    Raises:
        PluginError: As `LoopLaws`.

    Attributes:
        laws: The chosen law, the safe one, and the one that runs.
        modes: The present mode, with its reason.
        last: The last tick; None before the first.
    """

    def __init__(self, robot: Robot, chosen: Plugin, fallback: Plugin, longest_gap: float) -> None:
        self.laws, self.modes = LoopLaws(chosen, fallback, robot.n), ModeReasons(NO_STATE)
        self.last: Tick | None = None
        self._events: list[Event] = []
        self._n, self._longest_gap = robot.n, longest_gap
        self._supervisor, self._predictor = Supervisor(robot), StatePredictor(robot)
        self._reference, self._law_state = FollowedReference(robot, chosen), LawState(robot, chosen)
        self._answers = LawAnswers(robot, self.laws, self.modes, self._reference, self._supervisor)
        self._clock = self._reference.clock
        self._turning = bool(robot.model.continuous.any())
        self._origin = self._stamp = 0
        self._starting = False  # whether the hardware announced a new start at the last tick
        self._handlers: dict[type, Callable[[Any], Any]] = {
            Swap: self._swap, Stop: self._stop, Release: self._release, Drop: self._drop, Replace: self._replace,
            Suspend: self._suspend, Resume: self._resume, Follow: self._follow, Exert: self._exert, Grip: self._grip,
            HoldStill: self._hold_still, Configure: self._configure, NewSettings: self._set,
            BeginWith: self._begin_with,
        }

    # Input and output.

    def tick(self, measurement: Measurement) -> Tick:
        """Answer a measurement."""
        last, stamp, q, v = self.last, measurement.stamp, measurement.q, measurement.v
        period = (stamp - self._stamp) / NANOSECONDS_PER_SECOND
        if last is not None and period == 0.0:
            return last
        if measurement.inputs or measurement.motor_side or self._law_state.noted:
            self._law_state.note(measurement, self._stamp)
        new_start = measurement.new_start
        if last is None:
            self._start(Cause.FIRST_STATE, measurement)
            period = 0.0
        else:
            if self._turning:
                q = self._law_state.unwrapped(q, last.state.q)
            if reason := new_start or self._supervisor.discontinuity(last.state, period, q, v, self._longest_gap):
                moving = self._reference.moving()
                if not (new_start and self._starting) or moving:  # once for a row of new starts
                    self._events.append(NewStart(reason, moving))
                q = measurement.q
                self._start(Cause.NEW_START, measurement)
                period = 0.0
        state = State((stamp - self._origin) / NANOSECONDS_PER_SECOND, period, q, v, measurement.wrench_tip)
        if self._law_state.form is not None:
            state = self._look_for_inputs(state, stamp)
        if self._starting and not new_start and self._reference.is_coming_to_rest():
            self._reference.come_to_rest(state)  # only now does the plant follow; the answer may have been late
        self._starting = bool(new_start)
        self._stamp = stamp
        if not self._clock.full_speed:
            self._reference.advance(period, state.time)
        if hypot(*v.tolist()) > self._supervisor.inconspicuous and not self.modes.is_stopped():
            self._supervise(state)
        if self.laws.running is self.laws.fallback and not (
                self.modes.present is Mode.RUNNING and self._reference.moving()):
            self._watch_fallback(state)
        seen = self._predictor.predicted(state) if self._predictor.delay else state
        tick = self._answers.answer(state, seen)
        while isinstance(tick, PluginError):
            failed = self.laws.running
            self._fail(failed, state, tick)
            tick = self._answers.nothing(state) if failed is self.laws.fallback else self._answers.answer(state, seen)
        if self._predictor.delay:
            self._predictor.note(tick.effort)
        self.last = tick  # a repeated stamp gets it again, without the events
        return tick._replace(events=self._taken_events()) if self._events else tick

    def request(self, request: Request) -> Answer:
        """Do what is asked; see each request for its result and its errors."""
        result = self._handlers[type(request)](request)
        return Answer(result, self._taken_events())

    def take_over(self, call: object) -> Replace | None:
        """Take the loop from a thread whose call of a law does not return; it raises `Abandoned` if it ever does.

        Args:
            call: The `call`.

        Returns:
            A request for the thread that goes on: it replaces the law by the safe one. None: the call has returned.
        """
        taken = self._answers.calls.take(call)
        return None if taken is None else Replace(*taken)

    # What others may know, from any thread.

    @property
    def call(self) -> tuple[Plugin, State] | None:
        """The call of a law that is under way, another object for each call; None: there is none."""
        return self._answers.calls.call

    @property
    def stamp(self) -> int:
        """Stamp of the last state [ns]; 0 before the first."""
        return self._stamp

    @property
    def delay(self) -> float:
        """Time over which states are predicted [s]."""
        return self._predictor.delay

    @property
    def speed(self) -> float:
        """Present speed of trajectories, relative to the one asked for."""
        return self._clock.rate

    def moving(self) -> bool:
        """Whether a trajectory is under way or waits for its start; coming to rest after a new start does not count."""
        return self._reference.moving()

    @property
    def grip(self) -> Grip | None:
        """What moves the joints of a gripper beside the others; None: nothing."""
        return self._reference.grip

    def motion(self) -> Trajectory | None:
        """The trajectory under way, or else the next one; None while a state is held."""
        return self._reference.motion()

    def misplaced(self) -> str:
        """Say along which axis the tip link is outside the workspace; empty if it is inside."""
        return "" if self.last is None else self._supervisor.misplaced(self.last.state.q)

    def prepare_prediction(self) -> None:
        """Compile the prediction of states before a `NewSettings` with a delay."""
        self._predictor.prepare()

    def trajectory_start(self, stamp: int | None, kind: type = JointReference, joints: Collection[str] = ()
                         ) -> TrajectoryStart:
        """Time and reference at which a trajectory that arrives now begins; on the loop's thread.

        Args:
            stamp: Requested start, on the robot's clock [ns]; None: now.
            kind: Class of the trajectory's references.
            joints: Names of the joints that it moves.

        Raises:
            InputError: No motion can begin now, the running law follows no such trajectory, it follows the tip link and
                a joint would move that, or the start is too far in the future to be meant.
        """
        now = self._time_of_motion()
        requested = None if stamp is None else (stamp - self._origin) / NANOSECONDS_PER_SECOND
        return self._reference.start_of(self.laws.chosen, now, requested, kind, joints)

    # Changes of the mode.

    def _enter(self, cause: Cause, state: State | None, reason: Reason | None = None, plugin: Plugin | None = None
               ) -> None:
        """Make the moves of a cause; the only place where mode and law change.

        Args:
            cause: What happened.
            state: The present state; None before the first one.
            reason: Of the mode that begins.
            plugin: The law that is chosen from now on; None: as before.
        """
        moves, held_before = cause.value, self.modes.held
        self._events += self.modes.make(moves, reason)
        held, waits = self.modes.held, moves.begins is Mode.HOLDING
        if plugin is not None or Mode.HOLDING in moves.ends:
            self._events += map(LawEnded, self.laws.choose(plugin or self.laws.chosen, waits))
            self._law_state.choose(self.laws.chosen)
        self.laws.run(held)
        if held is held_before is not Mode.RUNNING and Mode.HOLDING in (moves.begins, *moves.ends):
            return  # inputs and swaps change nothing while the robot is stopped
        self._answers.calming.restart(keep_level=held is Mode.DAMPING)
        self._answers.transfer.end()
        if moves.reference is not ReferenceMove.AS_IS:
            self._move_reference(moves.reference, state)
        if state is None:
            return
        if moves.soft_start:
            self._supervisor.restart()
        works = not moves.activates or self._activate(state)
        if works and moves.bumpless:
            self._answers.begin_transfer(self.last)

    def _move_reference(self, move: ReferenceMove, state: State | None) -> None:
        goes_on = self._reference.choose(self.laws.running, None if state is None else state.q)
        if state is None:
            return
        if move is ReferenceMove.TO_REST:
            self._reference.come_to_rest(state)
            self._supervisor.limit(np.inf)
        elif move is ReferenceMove.AT_REST or not goes_on:
            self._reference.hold(state.q)

    def _activate(self, state: State) -> bool:
        """Activate the running law; return whether it did not fail."""
        plugin = self.laws.running
        if plugin is self.laws.chosen:
            state = self._law_state.completed(state, self._stamp)
            if self._law_state.missing(state):
                return True  # it waits from the next tick on, and is activated after that
        if failure := self._answers.calls.activate(plugin, state):
            self._fail(plugin, state, failure)
        return failure is None

    def _fail(self, plugin: Plugin, state: State, failure: PluginError) -> None:
        """Report a law that failed, and choose the safe one if it was another one."""
        self._events.append(LawFailed(plugin.name, self.laws.fallback.name, failure, self._stamp))
        if plugin is not self.laws.fallback:
            self._enter(Cause.FAILURE, state, plugin=self.laws.fallback)

    def _start(self, cause: Cause, measurement: Measurement) -> None:
        """Begin anew at this measurement; time counts from here."""
        if self.last is None or measurement.stamp < self._stamp:
            self._law_state.shift(measurement.stamp - self._stamp)
        self._origin = self._stamp = measurement.stamp
        self._clock.restart()
        self._predictor.restart()
        self._enter(cause, State(0.0, 0.0, measurement.q, measurement.v))

    # Parts of a tick.

    def _look_for_inputs(self, state: State, stamp: int) -> State:
        """The state with what the chosen law reads; another law holds the robot while a required part is missing."""
        state = self._law_state.completed(state, stamp)
        reason, before = self._lacks(self.laws.chosen, state), self.modes.reason(Mode.HOLDING)
        if reason == before:
            return state
        if reason is None:
            self._enter(Cause.INPUTS_COMPLETE, state)
        elif before is None:
            self._enter(Cause.INPUT_LACKS, state, reason)
        else:  # something else is missing now
            self._events.append(self.modes.replace(Mode.HOLDING, reason))
        return state

    def _lacks(self, plugin: Plugin, state: State) -> Reason | None:
        """Why a law waits, whose state is completed; None: it lacks nothing."""
        lacking = self._law_state.missing(state)
        return Reason("input", f"controller '{plugin.name}' waits: {lacking}") if lacking else None

    def _supervise(self, state: State) -> None:
        """Drop a law under which a joint runs away; stop the robot at a bound."""
        supervisor, running = self._supervisor, self.laws.running
        if running is not self.laws.fallback:
            follows_joints = running.follows is JointReference and self._reference.moving()
            wanted = self._reference.at(self._clock.time(state.time)).v if follows_joints else None
            if reason := supervisor.runaway(state.v, wanted):
                self._fail(running, state, PluginError(reason.text))
        if reason := supervisor.violation(state.q, state.v):
            self._enter(Cause.STOP, state, reason)

    def _watch_fallback(self, state: State) -> None:
        """Damp joints that swing under the safe law."""
        if reason := self._answers.calming.watch(state):
            text = f"the safe controller '{self.laws.fallback.name}' is unstable: {reason.text}"
            self._enter(Cause.SWING, state, reason._replace(text=text))

    def _taken_events(self) -> tuple[Event, ...]:
        events, self._events = tuple(self._events), []
        return events

    # Requests.

    def _present(self) -> State | None:
        return None if self.last is None else self.last.state

    def _swap(self, request: Swap) -> None:
        plugin, state = request.plugin, self._present()
        self._law_state.choose(plugin)
        waits = None if state is None else self._lacks(plugin, self._law_state.completed(state, self._stamp))
        self._enter(Cause.SWAP if waits is None else Cause.SWAP_WAITS, state, waits, plugin)

    def _stop(self, request: Stop) -> None:
        if not self.modes.is_stopped():
            self._enter(Cause.STOP, self._present(), request.reason)

    def _release(self, _: Release) -> None:
        if self.modes.is_stopped():
            self._enter(Cause.RELEASE, self._present())

    def _drop(self, request: Drop) -> None:
        if self.last is not None and self.laws.running is not self.laws.fallback:
            self._fail(self.laws.running, self.last.state, PluginError(request.reason.text))

    def _replace(self, request: Replace) -> None:
        if self.last is not None:  # the state of the call was not answered: it is no repeated one
            self._stamp = self._origin + round(self.last.state.time * NANOSECONDS_PER_SECOND)
        plugin, error = request.plugin, PluginError(request.text)
        if plugin is not self.laws.fallback:
            self._fail(plugin, request.state, error)
            return
        self.laws.replace_hung(request.text)
        self.laws.run(self.modes.held)
        self._events += LawFailed(plugin.name, plugin.name, error, self._stamp), LawEnded(plugin)

    def _suspend(self, request: Suspend) -> None:
        if self.modes.reason(Mode.SUSPENDED) != request.reason:
            self._enter(Cause.SUSPEND, None, request.reason)

    def _resume(self, _: Resume) -> None:
        if self.modes.reason(Mode.SUSPENDED) is not None:
            self._enter(Cause.RESUME, None)

    def _follow(self, request: Follow) -> Trajectory:
        return self._reference.follow(self.laws.chosen, self._time_of_motion(), request.trajectory, request.on_arrival,
                                      request.joints)

    def _grip(self, request: Grip) -> Grip:
        grip = self._reference.begin_grip(self.laws.chosen, self._time_of_motion(), request)
        self._supervisor.limit(grip.effort_limit)
        return grip

    def _exert(self, request: Exert) -> None:
        self.modes.check_free("wrench")
        self._reference.exert(self.laws.chosen, request.wrench)

    def _hold_still(self, _: HoldStill) -> None:
        if self.last is not None:
            self._reference.hold(self.last.state.q)

    def _configure(self, request: Configure) -> None:
        for plugin in self.laws.all():
            if plugin.name == request.name and isinstance(request.parameters, plugin.controller.Parameters):
                plugin.controller.parameters = request.parameters
                if plugin is self.laws.running:
                    self._answers.begin_transfer(self.last)

    def _set(self, request: NewSettings) -> None:
        if request.supervisor is not None:
            self._supervisor.settings = request.supervisor
        if request.speed_scaling is not None:
            self._clock.scaling = request.speed_scaling
        if request.delay is not None:
            self._predictor.delay = request.delay
        if request.swap_time is not None:
            self._answers.transfer.duration = request.swap_time

    def _begin_with(self, request: BeginWith) -> None:
        self._events += [LawEnded(plugin) for plugin in self.laws.all()]
        self.laws = LoopLaws(request.chosen, request.fallback, self._n)
        self._answers.begin_with(request.robot, self.laws)
        self._law_state.choose(request.chosen)
        self._reference.choose(self.laws.running, None)

    def _time_of_motion(self) -> float:
        """Present time of trajectories [s].

        Raises:
            InputError: No motion can begin now.
        """
        self.modes.check_free("trajectory")
        if self.last is None:
            raise InputError("trajectory: no joint state has been received yet, so there is nothing to start from")
        if (suspended := self.modes.reason(Mode.SUSPENDED)) is not None:
            raise InputError(f"trajectory: this controller commands nothing now: {suspended.text}")
        return self.last.time
