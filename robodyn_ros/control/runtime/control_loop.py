# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The control loop without ROS: one controller, its reference and its fallback, one tick at a time."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.base.checks import as_floats
from robodyn_ros.base.errors import InputError, PluginError
from robodyn_ros.base.timing import NANOSECONDS_PER_SECOND
from robodyn_ros.control.contract.controller import UNMEASURED, Controller, JointReference, Law, State
from robodyn_ros.control.contract.law_inputs import Input, StateForm, state_form
from robodyn_ros.control.contract.parameters import Parameters
from robodyn_ros.control.contract.state import MOTOR_SIDE
from robodyn_ros.control.plugins.dry_run import activate, answer, as_efforts, checked_effort
from robodyn_ros.control.plugins.plugin_errors import FAULTS, detached, plugin_error
from robodyn_ros.control.plugins.plugin_threads import Abandoned
from robodyn_ros.control.references.coming_to_rest import coming_to_rest
from robodyn_ros.control.references.reference import SOURCES, ForceReferenceSource, ReferenceSource, Trajectory
from robodyn_ros.control.references.trajectory_clock import TrajectoryClock
from robodyn_ros.control.runtime.calming import Calming
from robodyn_ros.control.runtime.state_prediction import StatePredictor
from robodyn_ros.control.runtime.supervisor import Supervisor
from robodyn_ros.description.model import Array
from robodyn_ros.kinematics.turns import turns
from robodyn_ros.robot import Robot

LATEST_START = 3600.0
"""Latest accepted start of a trajectory from now [s]; a later stamp comes from another clock."""

HALF_TURN_SQUARED = np.pi**2
"""No joint has passed half a turn, pi, if the squares of all changes sum up to less [rad^2]."""

STOPPED, HELD = "stopped: ", "held: "
"""Beginnings of the intervention of each tick while the robot is stopped, or the active controller waits; the reason
follows."""

UNSTABLE = " is unstable: "
"""In the reason of a stop in which `Calming` damps the robot in the place of the safe controller."""

_Trajectory = TypeVar("_Trajectory", bound=Trajectory)


class Plugin(NamedTuple):
    """A controller.

    Attributes:
        name: Its name, as it was given.
        controller: The controller itself.
        memory_names: See `Law.memory_names`.
    """

    name: str
    controller: Controller
    memory_names: tuple[str, ...] = ()


class _Blocked(Controller):
    """Stands for a controller whose call did not return, and which is never called again."""

    follows = None

    uncompiled_reason = ""

    def __init__(self, reason: str) -> None:
        self._reason = reason

    def update(self, state: State, reference: Any) -> Array:
        raise PluginError(self._reason)


class Tick(NamedTuple):
    """Input and result of one tick.

    Attributes:
        state: The measured state.
        reference: The reference, of the class that the controller follows; None if it follows none.
        effort: The commanded efforts, within the limits of the joints, shape (n,) [N m or N].
        saturated: Whether the controller returned efforts beyond the limits.
        plugin: The controller that computed the efforts.
        time: Time of trajectories, which speed scaling slows down, since the start [s].
        intervention: What the supervisor did to the efforts, or why it stopped the robot; empty if it did nothing.
        speed: Speed of trajectories, relative to the one asked for.
    """

    state: State
    reference: Any
    effort: Array
    saturated: bool
    plugin: Plugin
    time: float
    intervention: str = ""
    speed: float = 1.0


class Beginning(NamedTuple):
    """Time and reference at which a trajectory begins.

    Attributes:
        start_time: Time of trajectories since the start [s].
        origin: Zero of the points' times, since the start [s]; earlier than `start_time` if the trajectory arrived
            late.
        reference: The reference at `start_time`.
    """

    start_time: float
    origin: float
    reference: Any


class ControlLoop:
    """Runs controllers on one robot. All of it belongs to one thread; `take_over` gives it to another one.

    - The first setpoint is the current state: at the first tick, after a `start`, and at a `swap` while nothing moves.
    - Time that the robot did not follow is never made up for: while the hardware follows no commands, each tick is a
      new start.
    - A swap while a trajectory is followed leaves the trajectory alone if the new controller follows the same class of
      references; otherwise the new one holds the current state.
    - If a controller raises, whatever it is, or returns something else than finite efforts, the safe one replaces it at
      the same tick, and its trajectory is dropped. If the safe one fails as well, the effort is zero.
    - A call of a controller that does not return is left behind with its thread. Another thread takes the loop over,
      and the safe controller replaces this one.
    - Positions of continuous joints are angles: states are unwrapped, and the reference is given in the turn nearest to
      the state.
    - The supervisor limits efforts and stops the robot at its bounds. A controller under which a joint runs away is
      dropped likewise.
    - While something lacks that the active controller requires (`Controller.senses`, required `Inputs`), it waits: the
      safe controller holds the robot, and no motion can begin. Then it begins anew at the current state.
    - While the robot is stopped, the safe controller is in force, and no motion can begin. After `release` the active
      controller begins anew at the current state.
    - If the safe controller swings the robot, the robot is stopped, and `Calming` damps it.

    Args:
        robot: The robot.
        active: The first controller.
        safe: The controller to fall back to.
        longest_gap: A longer time between two states [s] makes a new start, as do a step back in time and a joint that
            jumps (a simulation that was reset).
        on_failure: Called with the name of a controller that was dropped, and the exception that it caused.
        on_start: Called at each start after the first one, with why.
        on_stop: Called with why the robot was stopped.
        on_end: Called with each controller that is no longer needed.
        on_wait: Called when the active controller begins to wait, with what lacks; and with nothing when that is over.

    Raises:
        PluginError: The safe controller reads more than joints and wrench.

    Attributes:
        active: The controller in force, also again after a stop.
        last: The last tick; None before the first.
        supervisor: Watches states and efforts; any thread may replace its settings.
        predictor: Predicts the states that controllers get over a known delay; any thread may replace its delay.
        clock: Time of trajectories; any thread may replace its scaling.
        stopped: Why the robot is stopped until `release`; empty if it is not.
        waiting: What lacks that the active controller requires; empty if it does not wait.
        wrench_tip: `State.wrench_tip` of the next states; any thread may replace it.
        motor_side: `MOTOR_SIDE` of the next states, NaN where it is not measured; any thread may replace it.
        inputs: The newest value of each input, and the stamp of the state at its arrival [ns]; any thread may put one.
        suspended: Why there are no ticks now, so that no motion can begin; empty while there are. The caller of `tick`
            sets it.
    """

    def __init__(
        self,
        robot: Robot,
        active: Plugin,
        safe: Plugin,
        longest_gap: float,
        on_failure: Callable[[str, PluginError], None],
        on_start: Callable[[str], None],
        on_stop: Callable[[str], None] = lambda reason: None,
        on_end: Callable[[Plugin], object] = lambda plugin: None,
        on_wait: Callable[[str], None] = lambda lacking: None,
    ) -> None:
        self.active = active
        self.last: Tick | None = None
        self.wrench_tip = UNMEASURED
        self.motor_side: tuple[Array, ...] = (np.full(robot.n, np.nan),) * len(MOTOR_SIDE)
        self.inputs: dict[Input, tuple[Array, int]] = {}
        self.waiting = ""
        self.suspended = ""
        self.longest_gap = longest_gap
        self.supervisor = Supervisor(robot)
        self.predictor = StatePredictor(robot)
        self.clock = TrajectoryClock()
        self._calming = Calming(robot)
        self.stopped = ""
        self._safe = safe
        self._on_failure = on_failure
        self._on_start, self._on_stop, self._on_end, self._on_wait = on_start, on_stop, on_end, on_wait
        self._known: tuple[Plugin | None, bool, bool] = (None, False, False)  # whether it follows any, and is a `Law`
        self._calls: list[tuple[Plugin, State]] = []  # the call of a controller that is under way, if any
        self._n = robot.n
        if state_form(type(safe.controller), robot.n).shapes:
            raise PluginError(f"controller '{safe.name}' reads more than joints and wrench, which may fail: expected a "
                              "safe controller that does not")
        self._form = self._form_of(active)
        self._continuous, self._angles = robot.model.continuous, robot.model.angles
        self._turning = bool(self._continuous.any())
        self._origin = self._stamp = 0
        self._starting = False
        self._to_rest: Any = None  # the motion to rest after the last new start
        self._robot = robot
        self._sources: dict[type, ReferenceSource] = {}
        self._source = self._source_for(active, np.zeros(robot.n))

    def tick(self, stamp: int, q: Array, v: Array, new_start: str = "") -> Tick:
        """Answer a state.

        Args:
            stamp: Time of the state on the robot's clock [ns]. A repeated stamp returns the same tick.
            q: Joint positions, shape (n,) [rad or m]; finite.
            v: Joint velocities, shape (n,) [rad/s or m/s]; finite.
            new_start: Why the hardware says that no commanded motion leads to this state; empty if one does.
        """
        last, measured = self.last, q
        period = (stamp - self._stamp) / NANOSECONDS_PER_SECOND
        if last is not None and period == 0.0:
            return last
        if last is not None and self._turning:
            q = self._unwrapped(q, last.state.q)
        if last is None:
            self.start(stamp, q, v, to_rest=bool(new_start))
            period = 0.0
        elif reason := new_start or self.supervisor.discontinuity(last.state, period, q, v, self.longest_gap):
            if not (new_start and self._starting) or self.moving():  # once for a row of new starts
                self._on_start(reason)
            q = measured
            self.start(stamp, q, v, to_rest=True)
            period = 0.0
        state = State((stamp - self._origin) / NANOSECONDS_PER_SECOND, period, q, v, self.wrench_tip)
        if self._form is not None:
            state = self._look_for_inputs(self._form, state, stamp)
        if self._starting and not new_start and self._to_rest is not None and not self.moving():
            self._hold(state, to_rest=True)  # only from here on does the plant follow; the answer may have been late
        self._starting = bool(new_start)
        self._stamp = stamp
        if not self.clock.at_full_speed():
            self.clock.advance(period, self._source.under_way() and self.moving())
        if self.supervisor.is_conspicuous(v) and not self.stopped:
            self._supervise(state)
        if (self.active is self._safe or self.stopped or self.waiting) and (self.stopped or not self.moving()):
            if text := self._calming.watch(state):
                self._calm(f"the safe controller '{self._safe.name}'{UNSTABLE}{text}")
        if not self.predictor.delay:
            return self._answer(state, state)
        tick = self._answer(state, self.predictor.predicted(state))
        self.predictor.note(tick.effort)
        return tick

    def _supervise(self, state: State) -> None:
        """Drop a controller under which a joint runs away; stop the robot at a bound."""
        supervisor = self.supervisor
        if self._in_force is not self._safe:
            follows_joints = _follows(self.active) is JointReference and self.moving()
            wanted = self._reference(self.clock.time(state.time)).v if follows_joints else None
            if text := supervisor.runaway(state.v, wanted):
                self._drop(state, PluginError(text))
        if text := supervisor.violation(state.q, state.v):
            self._stop(state, text)

    def start(self, stamp: int, q: Array, v: Array, to_rest: bool = False) -> None:
        """Begin anew at this state: no trajectory, the controller's past forgotten, time counted from here.

        Args:
            stamp: Stamp of the state [ns].
            q: Joint positions, shape (n,) [rad or m].
            v: Joint velocities, shape (n,) [rad/s or m/s].
            to_rest: Whether the reference brings a moving robot to rest; otherwise it is at rest at once.
        """
        shift = stamp - self._stamp if self.last is None or stamp < self._stamp else 0
        self._origin = self._stamp = stamp
        for declared, (value, arrival) in list(self.inputs.items()) if shift else ():  # values keep their age
            self.inputs[declared] = value, arrival + shift
        self.clock.restart()
        self.supervisor.restart()
        self.predictor.restart()
        self._hold(State(0.0, 0.0, q, v), to_rest)
        if self.stopped or self.waiting:
            self._activate_safe(State(0.0, 0.0, q, v))
        else:
            self._activate(self.active, State(0.0, 0.0, q, v))

    def stop(self, reason: str) -> None:
        """Stop the robot: the safe controller takes over, until `release`.

        Args:
            reason: Why.
        """
        if self.last is not None:
            self._stop(self.last.state, reason)
        elif not self.stopped:
            self.stopped = reason
            self._source = self._source_for(self._safe, np.zeros(self._n))
            self._on_stop(reason)

    def release(self) -> None:
        """End a stop: the active controller begins anew at the current state."""
        if not self.stopped:
            return
        self.stopped = ""
        self._calming.restart()
        state, plugin = self.last.state if self.last is not None else None, self._in_force
        self._source = self._source_for(plugin, np.zeros(self._n) if state is None else state.q)
        if state is not None:
            self.supervisor.restart()
            self._hold(state, to_rest=True)
            if self.waiting:
                self._activate_safe(state)
            else:
                self._activate(plugin, state)

    def swap(self, plugin: Plugin) -> None:
        """Put a controller in force from the next tick on."""
        if self.stopped:  # it comes in force at the release
            self._replace_active(plugin)
            return
        if self.last is None:
            self._replace_active(plugin)
            self._source = self._source_for(plugin, np.zeros(self._n))
            return
        state = self.last.state
        source = self._source_for(plugin, state.q)
        goes_on = _follows(plugin) is not None and source is self._source and source.moving()
        self._source = source
        if not goes_on:
            source.hold(state.q)
        self._replace_active(plugin)
        self._activate(plugin, state)

    def begin_with(self, robot: Robot, active: Plugin, safe: Plugin) -> None:
        """Replace both controllers before the first tick, because the timing of the loop is another one.

        Args:
            robot: The same robot with this timing.
            active: The first controller.
            safe: The controller to fall back to.
        """
        replaced = self.plugins()
        self._robot, self._calming = robot, Calming(robot)
        self.active, self._safe, self._form = active, safe, self._form_of(active)
        self._source = self._source_for(self._in_force, np.zeros(self._n))
        for plugin in replaced:
            self._on_end(plugin)

    def prepare(self, name: str, parameters: Parameters) -> None:
        """Compile a controller for new parameters before they are put in force; may be called from any thread."""
        for plugin in self.plugins():
            if plugin.name == name and isinstance(plugin.controller, Law):
                plugin.controller.prepare(parameters)

    def plugins(self) -> list[Plugin]:
        """The active and the safe controller, or the one that is both."""
        return [self._safe] if self.active is self._safe else [self._safe, self.active]

    def uncompiled(self) -> dict[str, str]:
        """Why the active and the safe controller run as Python code, by name; without those that are compiled."""
        plugins = {plugin.name: plugin.controller.uncompiled_reason for plugin in self.plugins()}
        return {name: reason for name, reason in plugins.items() if reason}

    def configure(self, name: str, parameters: Parameters) -> None:
        """Replace the parameters of a controller by name, if it is in force or the safe one.

        A controller whose class has other parameters, because its file was edited and imported anew, keeps its own.
        """
        for plugin in self.plugins():
            if plugin.name == name and isinstance(parameters, plugin.controller.Parameters):
                plugin.controller.parameters = parameters

    def beginning(self, stamp: int | None, kind: type = JointReference, joints: Collection[str] = ()) -> Beginning:
        """Time and reference at which a trajectory that arrives now begins.

        Args:
            stamp: Requested start, on the robot's clock [ns]; None: now.
            kind: Class of the trajectory's references.
            joints: Names of the joints that it moves.

        Raises:
            InputError: There was no tick yet, the controller in force follows no such trajectory, it follows the tip
                link and a joint would move that, or the start is too far in the future to be meant.
        """
        now, source = self._followed_since(kind)
        if source is not self._source:
            self._check_beside_tip(joints)
        origin = now if stamp is None else self.clock.time((stamp - self._origin) / NANOSECONDS_PER_SECOND)
        if origin - now > LATEST_START:
            raise InputError(
                f"trajectory: header.stamp is {origin - now:.3g} s after the last joint state; times are those of the "
                f"joint states' stamps; give 0 to start on arrival"
            )
        start_time = max(now, origin)
        return Beginning(start_time, origin, source.peek(start_time))

    def follow(self, trajectory: _Trajectory, on_arrival: bool) -> _Trajectory:
        """Follow a trajectory, beginning at the reference in force at its start.

        Args:
            trajectory: The motion, prepared from a `beginning`; its times count since the start.
            on_arrival: Delay all of it by the time that its preparation took; otherwise its points keep their times.

        Returns:
            The trajectory that is followed, with its final times.

        Raises:
            InputError: The controller in force follows none of this kind, or all points have passed.
        """
        now, source = self._followed_since(trajectory.kind)
        if on_arrival:
            trajectory = trajectory.delayed(now - trajectory.start_time)
        start_time = max(trajectory.start_time, now)
        trajectory = trajectory.joined(source.peek(start_time), start_time)
        source.follow(trajectory)
        return trajectory

    def exert(self, wrench: Array) -> None:
        """Exert a wrench with the tip link from the next tick on, until another wrench, a stop or a new start.

        Args:
            wrench: (force, torque) exerted on the environment, about the tip link's origin in base axes, shape (6,)
                [N, N m].

        Raises:
            InputError: The controller in force follows no wrench.
        """
        self._refuse_while_stopped("wrench")
        if not isinstance(self._source, ForceReferenceSource) or _follows(self.active) is None:
            raise InputError(f"wrench: controller '{self.active.name}' follows none; swap to one that does")
        self._source.exert(as_floats(wrench, (6,), "wrench"))

    @property
    def call(self) -> tuple[Plugin, State] | None:
        """The call of a controller that is under way, another object for each call; None: there is none."""
        return next(iter(self._calls[-1:]), None)

    def take_over(self, call: object) -> Callable[[str], None] | None:
        """Take the loop from a thread whose call of a controller does not return.

        That thread may return at any time: it then does nothing but raise `Abandoned`.

        Args:
            call: The `call`.

        Returns:
            To be called by the thread that goes on, with why: it replaces the controller by the safe one. None: the
            call has returned.
        """
        calls = self._calls
        if self.call is not call:
            return None
        try:
            blocked, state = calls.pop()
        except IndexError:
            return None
        self._calls = []

        def replace(reason: str) -> None:
            if self.last is not None:  # the state of the call was not answered: it is no repeated one
                self._stamp = self._origin + round(self.last.state.time * NANOSECONDS_PER_SECOND)
            if blocked is not self._safe:
                self._drop(state, PluginError(reason))
                return
            self._safe = blocked._replace(controller=_Blocked(reason))
            if self.active is blocked:
                self.active = self._safe
            self._on_failure(blocked.name, PluginError(reason))
            self._on_end(blocked)

        return replace

    def drop_trajectories(self) -> None:
        """Drop all trajectories and hold the current state."""
        if self.last is not None:
            self._source.hold(self.last.state.q)

    def drop(self, reason: str) -> None:
        """Replace the active controller by the safe one, from the next tick on; the safe one stays.

        Args:
            reason: Why, for `on_failure`.
        """
        if self.last is not None and self._in_force is not self._safe:
            self._drop(self.last.state, PluginError(reason))

    def moving(self) -> bool:
        """Whether a trajectory is under way or waits for its start; coming to rest after a new start is none."""
        return self._source.moving() and not self._source.follows_only(self._to_rest)

    def motion(self) -> Trajectory | None:
        """The trajectory under way, or else the next one; None while a state is held. From any thread."""
        return self._source.motion()

    @property
    def stamp(self) -> int:
        """Stamp of the last state [ns]; 0 before the first."""
        return self._stamp

    @property
    def safe(self) -> Plugin:
        """The controller to fall back to."""
        return self._safe

    @property
    def _in_force(self) -> Plugin:
        return self._safe if self.stopped or self.waiting else self.active

    def _form_of(self, plugin: Plugin) -> StateForm | None:
        """What a controller reads beside joints and wrench; None: nothing."""
        form = state_form(type(plugin.controller), self._n)
        return form if form.shapes else None

    def _look_for_inputs(self, form: StateForm, state: State, stamp: int) -> State:
        """The state with what the active controller reads; it waits while a part lacks that it requires."""
        state = self._with_inputs(form, state, stamp)
        lacking = form.missing(state)
        if lacking == self.waiting:
            return state
        changes, self.waiting = bool(lacking) is not bool(self.waiting), lacking
        self._on_wait(lacking)
        if self.stopped or not changes:
            return state
        self._calming.restart()
        self._source = self._source_for(self._in_force, state.q)
        self._hold(state, to_rest=True)
        if lacking:
            self._activate_safe(state)
        else:
            self.supervisor.restart()
            self._activate(self.active, state)
        return state

    def _with_inputs(self, form: StateForm, state: State, stamp: int) -> State:
        if form.senses:
            state = State(*state[:5], *self.motor_side)
        if not form.inputs:
            return state
        readings, found = {}, self.inputs
        for name, declared in form.inputs.items():
            value, arrival = found.get(declared, (None, 0))
            readings[name] = declared.absent if value is None else declared.at(
                value, max(0, stamp - arrival) / NANOSECONDS_PER_SECOND)
        return state._replace(inputs=form.record(readings))

    def _unwrapped(self, q: Array, last: Array) -> Array:
        """Positions, those of continuous joints within half a turn of the last ones: drivers may wrap them."""
        change = q - last
        return q - turns(change, self._continuous) if change.dot(change) > HALF_TURN_SQUARED else q

    def _nearest(self, reference: Any, q: Array) -> Any:
        """The reference in the turn that is nearest to the positions."""
        error = reference.q - q
        if error.dot(error) <= HALF_TURN_SQUARED:
            return reference
        return reference._replace(q=reference.q - turns(error, self._angles))

    def _reference(self, time: float) -> Any:
        """The reference at a time of trajectories [s], at the present speed."""
        reference = self._source.sample(time)
        return reference if self.clock.at_full_speed() else self.clock.slowed(reference)

    def _answer(self, state: State, seen: State) -> Tick:
        """Answer a state, of which the controller sees a prediction or the state itself."""
        plugin, time = self._in_force, self.clock.time(state.time)
        controller = plugin.controller
        if plugin is not self._known[0]:
            self._known = plugin, _follows(plugin) is not None, type(controller).update is Law.update
        _, follows, is_law = self._known
        reference = self._reference(time) if follows else None
        if self._turning and reference is not None:
            reference = self._nearest(reference, state.q)
        calls = self._calls
        calls.append((plugin, seen))
        try:
            effort: ArrayLike
            if self._calming.level:
                effort = self._damped(plugin, state)
            elif is_law:  # as `answer`, without a call
                effort = controller.update(seen, reference)
            else:
                effort = answer(controller, seen, reference)
            asked, values = checked_effort(effort, self._n)
            failure = None
        except FAULTS as error:
            failure = detached(plugin_error("", error))
        try:
            calls.pop()
        except IndexError:
            raise Abandoned from None
        if failure is not None:
            return self._fall_back(state, seen, failure)
        effort, saturated, intervention = asked, False, ""
        limited = self.supervisor.limited(asked, values, state, plugin is not self._safe)
        if limited is not None:
            effort, saturated, intervention = limited
        if self.stopped:
            intervention = f"{STOPPED}{self.stopped}"
        elif self.waiting:
            intervention = f"{HELD}controller '{self.active.name}' waits: {self.waiting}"
        self.last = Tick(state, reference, effort, saturated, plugin, time, intervention, self.clock.rate)
        return self.last

    def _damped(self, plugin: Plugin, state: State) -> Array:
        """What damps the robot while the safe controller swings it."""
        damping = self._calming.effort(state.v)
        if not self._calming.holds:
            return damping
        self._source.hold(state.q)
        at_rest = None if _follows(plugin) is None else self._source.sample(self.clock.time(state.time))
        return damping + as_efforts(answer(plugin.controller, state._replace(v=np.zeros(self._n)), at_rest), self._n)

    def _hold(self, state: State, to_rest: bool) -> None:
        """Hold a state, from its velocity on or at once."""
        self._source.hold(state.q)
        self._to_rest = None
        if to_rest and state.v.any():
            time = self.clock.time(state.time)
            self._to_rest = coming_to_rest(self._robot, self._source.accepts, state.q, state.v, time)
            self._source.follow(self._to_rest)

    def _stop(self, state: State, reason: str) -> None:
        if self.stopped:
            return
        self.stopped = reason
        self._calming.restart()
        self._source = self._source_for(self._safe, state.q)
        self._hold(state, to_rest=True)
        self._on_stop(reason)
        self._activate_safe(state)

    def _calm(self, reason: str) -> None:
        """Stop the robot, or leave it stopped, because the safe controller swings it; `Calming` damps it instead."""
        self.stopped = f"{self.stopped.partition('; ')[0]}; {reason}" if self.stopped else reason
        self._on_stop(self.stopped)

    def _activate_safe(self, state: State) -> None:
        """Activate the safe controller in a stop, without replacing the active one."""
        if failure := self._failure_to_activate(self._safe, state):
            self._on_failure(self._safe.name, failure)

    def _activate(self, plugin: Plugin, state: State) -> None:
        if failure := self._failure_to_activate(plugin, state):
            self._drop(state, failure)

    def _failure_to_activate(self, plugin: Plugin, state: State) -> PluginError | None:
        failure, calls = None, self._calls
        if plugin is self.active and self._form is not None:
            state = self._with_inputs(self._form, state, self._stamp)
            if self._form.missing(state):
                return None  # it waits from the next tick on, and is activated after that
        calls.append((plugin, state))
        try:
            activate(plugin.controller, state)
        except FAULTS as error:
            failure = detached(plugin_error("", error))
        try:
            calls.pop()
        except IndexError:
            raise Abandoned from None
        return failure

    def _fall_back(self, state: State, seen: State, failure: PluginError) -> Tick:
        if self._in_force is self._safe:
            self._on_failure(self._safe.name, failure)
            self.last = Tick(state, None, np.zeros(self._n), False, self._safe, self.clock.time(state.time),
                             "no controller works")
            return self.last
        self._drop(state, failure)
        return self._answer(state, seen)

    def _drop(self, state: State, failure: PluginError) -> None:
        dropped = self.active
        self._replace_active(self._safe)
        self._calming.restart()
        self._source = self._source_for(self._safe, state.q)
        self._source.hold(state.q)
        self._on_failure(dropped.name, failure)
        if dropped is not self._safe:
            self._activate(self._safe, state)

    def _replace_active(self, plugin: Plugin) -> None:
        replaced, self.active = self.active, plugin
        self._form = self._form_of(plugin)
        if self.waiting:
            self.waiting = ""
            self._on_wait("")
        if replaced is not plugin and replaced is not self._safe:
            self._on_end(replaced)

    def _source_for(self, plugin: Plugin, q: Array) -> ReferenceSource:
        """The source of references for a controller, one for each class; the present one if it follows none."""
        kind = _follows(plugin)
        if kind is None:
            return self._source if self._sources else self._sources.setdefault(
                JointReference, SOURCES[JointReference](self._robot, q))
        if kind not in self._sources:
            self._sources[kind] = SOURCES[kind](self._robot, q)
        return self._sources[kind]

    def _check_beside_tip(self, joints: Collection[str]) -> None:
        moves = dict(zip(self._robot.joint_names, self._robot.model.moves(self._robot.tip_link), strict=True))
        if wrong := [name for name in joints if moves[name]]:
            raise InputError(
                f"trajectory: controller '{self.active.name}' follows the tip link '{self._robot.tip_link}', which "
                f"joint '{wrong[0]}' moves: move the tip link, or swap to a controller that follows joints. By name it "
                f"moves {', '.join(name for name, on_chain in moves.items() if not on_chain)}")

    def _refuse_while_stopped(self, what: str) -> None:
        if self.stopped:
            raise InputError(f"{what}: the robot is stopped ({self.stopped}): call ~/release first")
        if self.waiting:
            raise InputError(f"{what}: controller '{self.active.name}' waits: {self.waiting}")

    def _followed_since(self, kind: type) -> tuple[float, ReferenceSource]:
        """Time of the last state on the clock of trajectories [s], and the source that follows those of a kind."""
        self._refuse_while_stopped("trajectory")
        if self.last is None:
            raise InputError("trajectory: no joint state has been received yet, so there is nothing to start from")
        if self.suspended:
            raise InputError(f"trajectory: this controller commands nothing now: {self.suspended}")
        follows, source = _follows(self.active), self._source.source_of(kind)
        if follows is None or source is None:
            followed = "none" if follows is None else f"a {follows.__name__}, not a {kind.__name__}"
            raise InputError(f"trajectory: controller '{self.active.name}' follows {followed}; swap to one that does")
        return self.last.time, source


def _follows(plugin: Plugin) -> Any:
    """Class of the references that a controller follows, or None; asks none of its own code.

    A controller may choose it when it is made, as one that reads a file does.
    """
    controller = plugin.controller
    return getattr(controller, "__dict__", {}).get("follows", type(controller).follows)
