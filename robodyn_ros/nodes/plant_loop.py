"""The control path of the hardware node: commands in, control periods of the plant, joint states out.

Everything here runs in the control path's thread, but for the attributes named as handed over.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
from rclpy.publisher import Publisher
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState

from robodyn_ros.description.model import Array
from robodyn_ros.errors import InputError, SimulationError
from robodyn_ros.nodes.diagnostics import Diagnostics
from robodyn_ros.nodes.messages import NANOSECONDS, JointOrder, MessageError, set_stamp, to_field, to_nanoseconds
from robodyn_ros.nodes.runtime import ControlPath
from robodyn_ros.simulation.commands import JointCommands, SafeBehaviour
from robodyn_ros.simulation.pacing import Pace
from robodyn_ros.simulation.plant import Plant

REPEAT_SECONDS = 0.1
"""How often the last state is published again while it stands still: paused, or waiting in lockstep."""

_PATIENCE_SECONDS = 1.0
_LONGEST_CATCH_UP_SECONDS = 0.1
_CLOCK_STEP_NANOSECONDS = 100_000_000  # a greater difference to system time means that one of the two jumped


class TimeMode(StrEnum):
    """What decides when the next control period begins; see docs/hardware.md."""

    REAL_TIME = "real_time"
    SCALED = "scaled"
    LOCKSTEP = "lockstep"


@dataclass(frozen=True)
class LiveSettings:
    """Settings that may change while the node runs.

    Attributes:
        command_timeout: Age at which a command is too old, in simulated time [s]; 0: never.
        safe_behaviour: What joints with too old a command do.
        safe_time_constant: Time constant of the damping behaviour [s].
        real_time_factor: Simulated time per steady clock time, for ``scaled``.
        lockstep_speed_limit: Most simulated time per steady clock time, for ``lockstep``; 0: none.
    """

    command_timeout: float
    safe_behaviour: SafeBehaviour
    safe_time_constant: float
    real_time_factor: float
    lockstep_speed_limit: float


class PlantLoop:
    """Runs a plant in one of the time modes.

    Args:
        plant: The simulated robot.
        time_mode: The mode.
        period: Control period [ns].
        steps: Steps of the plant in a control period.
        clock_periods: Control periods per message on /clock.
        settings: Settings at the start.
        joint_states: Publisher of joint states.
        clock: Publisher of /clock; None where the mode does not own time.
        diagnostics: The node's diagnostics.

    Attributes:
        settings: Handed over: replaced by others at any time, taken over at the next period.
        periods: Control periods done; handed over for reading.
        budget: Control periods to do before the pause; None: no pause in sight.
        stamp: Stamp of the last state published [ns].
    """

    def __init__(self, plant: Plant, time_mode: TimeMode, period: int, steps: int, clock_periods: int,
                 settings: LiveSettings, joint_states: Publisher[JointState], clock: Publisher[Clock] | None,
                 diagnostics: Diagnostics) -> None:
        self.plant = plant
        self.time_mode = time_mode
        self.period = period
        self.settings = settings
        self.periods = 0
        self.budget: int | None = None
        self.stamp = 0
        self.pace = Pace(period, longest=max(1, int(_LONGEST_CATCH_UP_SECONDS * NANOSECONDS / period)))
        self._steps = steps
        self._clock_periods = clock_periods
        self._settings = settings
        self._joint_states, self._clock, self._diagnostics = joint_states, clock, diagnostics
        self._joints = JointOrder(plant.joint_names)
        self._commands = JointCommands(len(self._joints), plant.robot.model.effort_limit)
        self._configure(settings)
        # Simulated time begins at the first period's end, since ROS takes a stamp of 0 for no stamp at all.
        self._tick = 1
        self._next_clock = 0
        self._time_offset = 0
        self._answered = False
        self._repeat_at = 0.0
        self._waiting_since: float | None = None
        self._dropped = 0.0
        self._unsafe_text = ""
        self._diverged = False
        self._message = JointState(name=self._joints.names)
        self._clock_message = Clock()

    def run(self, path: ControlPath) -> None:
        """The body of the control path's thread."""
        self._set_time_origin()
        self._publish_state()
        cycle = self._lockstep_cycle if self.time_mode is TimeMode.LOCKSTEP else self._paced_cycle
        self.pace.restart(time.monotonic_ns())
        while path.active:
            if self.settings is not self._settings:
                self._configure(self.settings)
            cycle(path)

    # Requests: run in the path's thread with ControlPath.call.

    def pause(self) -> None:
        """Stand still after the current period."""
        self.budget = 0

    def resume(self) -> None:
        """Go on.

        Raises:
            SimulationError: The plant has diverged and was not put into another state since.
        """
        if self._diverged:
            raise SimulationError("the simulation has diverged: call ~/reset or ~/set_state first")
        if self.budget is not None:
            self.budget = None
            self._restart_time()

    def step(self, periods: int) -> int:
        """Do some control periods and stand still again.

        Args:
            periods: How many.

        Returns:
            The value of ``periods`` at which they are done.

        Raises:
            InputError: The simulation is not paused.
            SimulationError: As for :meth:`resume`.
        """
        if self.budget is None:
            raise InputError("the simulation is not paused: call ~/pause with data: true first")
        if self._diverged:
            raise SimulationError("the simulation has diverged: call ~/reset or ~/set_state first")
        if self.budget == 0:
            self._restart_time()
        self.budget += periods
        return self.periods + self.budget

    def reset(self) -> None:
        """Go back to the initial state; time goes on."""
        self.plant.reset()
        self._begin_anew()

    def set_state(self, read: Callable[[Array], tuple[Array, Array]]) -> None:
        """Put the plant into another state; time goes on.

        Args:
            read: From the present positions to the new positions and velocities.
        """
        self.plant.set_state(*read(self.plant.q))
        self._begin_anew()

    # One round of each kind of loop.

    def _paced_cycle(self, path: ControlPath) -> None:
        if self.budget == 0:
            path.sleep(REPEAT_SECONDS)
            self._take_commands(path)
            self._repeat_state()
            return
        now = time.monotonic_ns()
        periods = self.pace.due(now)
        if periods == 0:
            path.sleep((self.pace.next - now) / NANOSECONDS)
            return
        if self.pace.dropped != self._dropped:
            self._dropped = self.pace.dropped
            self._diagnostics.problem("times given up", "the simulation was held up too long and fell behind by "
                                      f"{self._dropped / NANOSECONDS:.3f} s in all: lower update_rate, or the load")
        self._take_commands(path)
        self._advance(periods if self.budget is None else min(periods, self.budget))

    def _take_commands(self, path: ControlPath) -> None:
        while (message := path.take()) is not None:
            self._accept(message)

    def _lockstep_cycle(self, path: ControlPath) -> None:
        # An answered state waits for nothing but its time.
        message = None if self._answered and self.budget != 0 else path.wait(REPEAT_SECONDS)
        if message is not None:
            # An answer that is rejected is an answer too: the last good command goes on, and grows old.
            self._accept(message)
            stamp = to_nanoseconds(message.header.stamp)
            if stamp == self.stamp:
                self._answered = True
            elif stamp == 0:
                self._diagnostics.problem("commands without stamp", "joint_commands: stamp 0; in lockstep the plant "
                                          "waits for a command with the stamp of the joint state that it answers")
            else:
                self._diagnostics.count("commands that answer an earlier state")
        if not self._answered or self.budget == 0:
            self._repeat_state()
            return
        if self._settings.lockstep_speed_limit:
            now = time.monotonic_ns()
            if now < self.pace.next:
                path.sleep((self.pace.next - now) / NANOSECONDS)
                return
            self.pace.begin(now)
        self._answered = False
        self._advance(1)
        if self._waiting_since is not None:
            self._waiting_since = None
            self._diagnostics.clear_condition("lockstep", "lockstep: commands answer again")

    def _accept(self, message: JointState) -> None:
        """Take a command, or reject all of it and keep the last good one."""
        joints, commands = self._joints, self._commands
        try:
            if message.name == joints.names:
                commands.accept(joints.read(message.name, message.effort, "joint_commands: effort"))
            else:
                columns = joints.columns(message.name, "joint_commands")
                commands.accept(joints.read(message.name, message.effort, "joint_commands: effort",
                                            fill=commands.effort), columns)
        except MessageError as error:
            self._diagnostics.problem(f"rejected commands: {error.reason}", f"command rejected: {error}; "
                                      "the last good one stays")

    def _advance(self, periods: int) -> None:
        """Do control periods under the present commands, and publish the state at their end."""
        plant, commands = self.plant, self._commands
        try:
            for _ in range(periods):
                plant.advance(commands.drive(plant.joint_inertia), self._steps)
                commands.advance()
        except SimulationError as error:
            self._diverged = True
            self.budget = 0
            self._diagnostics.raise_condition("diverged", f"{error}; paused", error=True)
            return
        self._tick += periods
        self._publish_state()
        self.periods += periods  # after the stamp, for who waits for a number of periods and then reads the stamp
        if self.budget is not None:
            self.budget -= periods
        if not commands.fresh() or self._unsafe_text:
            self._report_safety()

    def _publish_state(self) -> None:
        plant, message = self.plant, self._message
        self.stamp = stamp = self._tick * self.period + self._time_offset
        if self.time_mode is TimeMode.REAL_TIME and abs(time.time_ns() - stamp) > _CLOCK_STEP_NANOSECONDS:
            self._set_time_origin()
            self.stamp = stamp = self._tick * self.period + self._time_offset
        set_stamp(message.header.stamp, stamp)
        message.position = to_field(plant.q)
        message.velocity = to_field(plant.v)
        message.effort = to_field(plant.effort)
        self._joint_states.publish(message)
        if self._clock is not None and self._tick >= self._next_clock:
            self._publish_clock(self._clock)
            self._next_clock = self._tick + self._clock_periods
        self._repeat_at = time.monotonic() + REPEAT_SECONDS

    def _publish_clock(self, clock: Publisher[Clock]) -> None:
        set_stamp(self._clock_message.clock, self.stamp)
        clock.publish(self._clock_message)

    def _repeat_state(self) -> None:
        """Publish the last state once more, with the same stamp, if it has been a while: for who came late."""
        now = time.monotonic()
        if now < self._repeat_at:
            return
        self._repeat_at = now + REPEAT_SECONDS
        self._joint_states.publish(self._message)
        if self._clock is not None:
            self._publish_clock(self._clock)
        if self.time_mode is TimeMode.LOCKSTEP and self.budget != 0:
            if self._waiting_since is None:
                self._waiting_since = now
            if now - self._waiting_since > _PATIENCE_SECONDS:
                self._diagnostics.raise_condition(
                    "lockstep", f"lockstep: no command answers the joint state stamped {self.stamp / NANOSECONDS} s; "
                    "is a controller running?")

    def _report_safety(self) -> None:
        """Say once which joints are in the safe behaviour, and once that they are not any more."""
        stale = self._commands.stale()
        names = [name for name, old in zip(self._joints.names, stale, strict=True) if old]
        text = "" if not names else (
            f"no command for {self._settings.command_timeout} s or more for {', '.join(names)}: "
            f"safe behaviour '{self._settings.safe_behaviour}'")
        if text == self._unsafe_text:
            return
        if text:
            self._diagnostics.count("stale commands")
            self._diagnostics.raise_condition("stale", text)
        else:
            self._diagnostics.clear_condition("stale", "commands are back: safe behaviour left")
        self._unsafe_text = text

    def _begin_anew(self) -> None:
        """After a jump of the state: nobody has commanded this state yet, and it gets a stamp of its own."""
        self._diverged = False
        self._diagnostics.clear_condition("diverged", "the simulation is in a finite state again")
        self._commands.clear()
        self._report_safety()
        self._answered = False
        self._tick += 1
        self._publish_state()

    def _restart_time(self) -> None:
        self.pace.restart(time.monotonic_ns())
        self._set_time_origin()

    def _set_time_origin(self) -> None:
        """Let stamps be system time where they should, from the present period on."""
        if self.time_mode is TimeMode.REAL_TIME:
            self._time_offset = time.time_ns() - self._tick * self.period

    def _configure(self, settings: LiveSettings) -> None:
        self._settings = settings
        timeout = int(np.ceil(settings.command_timeout * NANOSECONDS / self.period))
        self._commands.configure(timeout, settings.safe_behaviour, settings.safe_time_constant)
        if self.time_mode is TimeMode.SCALED:
            self.pace.interval = self.period / settings.real_time_factor
        elif self.time_mode is TimeMode.LOCKSTEP and settings.lockstep_speed_limit:
            self.pace.interval = self.period / settings.lockstep_speed_limit

    def values(self) -> dict[str, Any]:
        """Figures for the diagnostics."""
        return {"time mode": str(self.time_mode), "simulated time [s]": self.plant.time, "periods": self.periods,
                "paused": self.budget == 0, "missed periods": self.pace.missed,
                "worst lateness [s]": self.pace.worst / NANOSECONDS,
                "time fallen behind [s]": self.pace.dropped / NANOSECONDS}
