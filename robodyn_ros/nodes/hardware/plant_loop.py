# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The control path of the hardware node: commands in, control periods of the plant, joint states out.

All of this runs on the thread of the control path, except for attributes marked "handed over".
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from std_msgs.msg import Float64MultiArray

from robodyn_interfaces.msg import VoltageCommands
from robodyn_ros.base import topic_names
from robodyn_ros.base.errors import InputError, SimulationError
from robodyn_ros.base.timing import NANOSECONDS_PER_SECOND, to_seconds
from robodyn_ros.control.runtime.age_monitor import AgeMonitor
from robodyn_ros.description.model import Array
from robodyn_ros.nodes.common.control_path import ControlPath
from robodyn_ros.nodes.common.diagnostics import Diagnostics
from robodyn_ros.nodes.common.messages import JointOrder
from robodyn_ros.nodes.common.participants import sender
from robodyn_ros.nodes.common.topic_owners import TopicOwners
from robodyn_ros.nodes.hardware.arm_driver import arm_driver
from robodyn_ros.nodes.hardware.inputs import CommandInputs, ExternalWrenches
from robodyn_ros.nodes.hardware.outputs import REPEAT_SECONDS, StateOutputs, WrenchOutput
from robodyn_ros.nodes.hardware.parameters import LiveSettings, TimeMode
from robodyn_ros.nodes.hardware.plant_timing import PlantTiming, StepRequests, check_periods
from robodyn_ros.simulation.commands import LATE_AGE, JointCommands
from robodyn_ros.simulation.engine import SharedPlant, SimulatedRobot
from robodyn_ros.simulation.sensing import Sensors

_REPORTED_REPEATS, _STUCK_REPEATS = 10, 50
"""Unanswered repeats of a state until a report, and until step requests end. Repeats are counted instead of time,
because the computer may delay this node.
"""


_NOT_FOLLOWED = "joints followed no commands on the way to this joint state"
_TIME_WENT_ON = "time went on without the robot: it was paused, or the computer was busy"


class PlantLoop:
    """Runs a plant in one of the time modes.

    Args:
        simulated: Holds the simulated robot.
        time_mode: The mode.
        period_ns: Control period [ns].
        settings: Settings at the start.
        outputs: Publishes the states.
        diagnostics: The node's diagnostics.
        owners: Who commands which joint.

    Attributes:
        settings: Handed over; may be replaced at any time, applied at the next period.
        periods: Number of finished control periods; handed over for reading.
        budget: Control periods left until a pause; None: no pause requested.
        stamp: Stamp of the last state published [ns].
        timing: Beginnings of periods, and stamps of their ends.
        wrenches: External wrenches on the links.
        commands: Commands of the joints.
        ages: Ages of the commands when they are taken.
        force_torque: Measures and publishes the wrench at a link; None without such a sensor.
        yielded: Why the plant stands still and nothing is published; empty: it runs. See :meth:`yield_robot`.
    """

    def __init__(self, simulated: SharedPlant, time_mode: TimeMode, period_ns: int, settings: LiveSettings,
                 outputs: StateOutputs, diagnostics: Diagnostics, owners: TopicOwners) -> None:
        self._simulated, plant = simulated, simulated.plant
        self.time_mode = time_mode
        self._period_ns = period_ns
        self.settings = settings
        self.periods = 0
        self.budget: int | None = None
        self.stamp = 0
        self.timing = PlantTiming(time_mode, period_ns)
        self.wrenches = ExternalWrenches(simulated)
        self._steps = round(to_seconds(period_ns) / plant.step)
        self._outputs, self._diagnostics = outputs, diagnostics
        self._joints = JointOrder(plant.joint_names)
        model, self._driver = plant.robot.model, arm_driver(plant, to_seconds(period_ns))
        self.commands = JointCommands(model.n, model.effort_limit, model.velocity_limit)
        self._inputs = CommandInputs(self._joints, self.commands, plant.model.actuators.is_motor, diagnostics,
                                     owners, "" if self._driver is None else self._driver.name)
        self.ages = AgeMonitor("commands")
        self.yielded = ""
        self.force_torque: WrenchOutput | None = None
        self._sensors: Sensors | None = None
        self._configure(settings)
        self._requests = StepRequests()
        self._answered = False
        self._new_start, self._published_tick = "", 0
        self._unanswered = 0  # repeats of the last state
        self._unsafe_text = ""
        self._sped_up: NDArray[np.bool_] | None = None  # by a late command, at the last check
        self._diverged = False

    @property
    def plant(self) -> SimulatedRobot:
        """The simulated robot."""
        return self._simulated.plant

    def begin(self) -> None:
        """Publish the first state, before the first cycle."""
        self.timing.restart()
        if self.force_torque is not None:
            self.force_torque.restart()
        self._publish_state("the simulation begins")

    def cycle(self, path: ControlPath) -> None:
        """Wait for the next control period or message, and act on it."""
        if self.settings is not self._settings:
            self._configure(self.settings)
        if self.yielded:
            path.sleep(REPEAT_SECONDS)
            path.discard()
        elif self.time_mode is TimeMode.LOCKSTEP:
            self._lockstep_cycle(path)
        else:
            self._paced_cycle(path)

    # Requests; ControlPath.call runs them on the thread of the path.

    def pause(self, reason: str = "paused") -> None:
        """Pause after the current period, and end step requests.

        Args:
            reason: Reason for the callers of step requests.
        """
        self.budget = 0
        self._requests.interrupt(self.periods, reason)

    def resume(self) -> None:
        """Continue after a pause.

        Raises:
            SimulationError: The plant has diverged and not been set to a new state since.
        """
        if self._diverged:
            raise SimulationError("the simulation has diverged: call ~/reset or ~/set_state first")
        if self.budget is not None:
            self.budget = None
            self.timing.restart()
            self._requests.interrupt(self.periods, "resumed")

    def step(self, periods: int, on_end: Callable[[str], None]) -> None:
        """Run some control periods and pause again.

        Args:
            periods: Number of periods.
            on_end: Called once in this thread at the end, with the reason of an interruption; empty: all periods are
                done.

        Raises:
            InputError: The number is out of range, or the simulation is not paused.
            SimulationError: As for :meth:`resume`.
        """
        check_periods(periods)
        if self.budget is None:
            raise InputError("the simulation is not paused: call ~/pause with data: true first")
        if self._diverged:
            raise SimulationError("the simulation has diverged: call ~/reset or ~/set_state first")
        if self.budget == 0:
            self.timing.restart()
        self.budget += periods
        self._unanswered = min(self._unanswered, 1)  # not 0, so that the next answer clears the report
        self._requests.add(periods, self.periods + self.budget, on_end)

    def stepping(self) -> bool:
        """Whether a step request is pending."""
        return bool(self._requests)

    def yield_robot(self, why: str) -> None:
        """Stop, ignore commands, publish nothing and end requests, because another node simulates the robot."""
        if self._requests:
            self.pause(why)
        self.yielded = why

    def release(self) -> None:
        """Resume after :meth:`yield_robot`, in the present state of the plant."""
        self.yielded = ""
        self.timing.restart()
        self._begin_anew("another node simulated the robot until now")

    def reset(self) -> None:
        """Return to the initial state; time continues, step requests end."""
        if self._requests:
            self.pause("reset")
        self.plant.reset()
        self._begin_anew("the simulation was reset")

    def set_state(self, read: Callable[[Array], tuple[Array, Array]]) -> None:
        """Set the state of the plant; time continues.

        Args:
            read: Computes the new positions and velocities from the present positions.
        """
        self.plant.set_state(*read(self.plant.q))
        self._begin_anew("a request set the state of the robot")

    def replace_plant(self, plant: SimulatedRobot) -> None:
        """Continue in the same state with another plant of different payload, masses, friction or gravity."""
        plant.continue_from(self.plant)
        self._simulated.plant = plant

    # One cycle of each kind of loop.

    def _paced_cycle(self, path: ControlPath) -> None:
        if self.budget == 0:
            path.sleep(REPEAT_SECONDS)
            self._take_commands(path)
            self._repeat_state()
            return
        now, pace = time.monotonic_ns(), self.timing.pace
        periods = pace.due(now)
        if periods == 0:
            path.sleep(to_seconds(pace.next - now))
            return
        if self.timing.skip_what_was_dropped():
            self._diagnostics.problem("times given up", "the simulation fell behind the clock by "
                                      f"{to_seconds(pace.dropped):.3f} s in all, and gave this time up: lower "
                                      "update_rate, or the load of the computer")
        self._take_commands(path)
        self._advance(periods if self.budget is None else min(periods, self.budget))

    def _take_commands(self, path: ControlPath) -> None:
        path.handle_further()
        while (message := path.take()) is not None:
            self._take_efforts(message, path.info)

    def _take_efforts(self, message: bytes, info: Mapping[str, Any]) -> int | None:
        """Take a message of ``joint_commands``; return its stamp."""
        return self._note_age(self._inputs.serialized_efforts(message, sender(info)), info)

    def _note_age(self, stamp: int | None, info: Mapping[str, Any]) -> int | None:
        """Record the age of a command, and return its stamp; None: it has none."""
        if stamp:
            self.ages.note(stamp, info.get("source_timestamp") or 0, time.time_ns())
        return stamp

    def _lockstep_cycle(self, path: ControlPath) -> None:
        if not self._answered or self.budget == 0:  # not for an answered state that waits for its time
            message = path.wait(REPEAT_SECONDS)
            if message is not None:
                self._note_answer(self._take_efforts(message, path.info), topic_names.JOINT_COMMANDS)
        if not self._answered or self.budget == 0:
            self._repeat_state()
            return
        if self._settings.lockstep_speed_limit:
            now, pace = time.monotonic_ns(), self.timing.pace
            if now < pace.next:
                path.sleep(to_seconds(pace.next - now))
                return
            pace.begin(now)
        self._answered = False
        self._advance(1)
        if self._unanswered:
            self._unanswered = 0
            self._diagnostics.clear_condition("lockstep", "lockstep: commands answer again")

    # Commands on further topics; the path calls these methods.

    def on_voltages(self, message: VoltageCommands, info: Mapping[str, Any]) -> None:
        """Take a message of ``voltage_commands`` with its message information."""
        self._note_answer(self._note_age(self._inputs.voltages(message, sender(info)), info),
                          topic_names.VOLTAGE_COMMANDS)

    def on_array(self, message: Float64MultiArray, gid: bytes) -> None:
        """Take a message of ``~/commands`` from a publisher; it has no stamp and answers the last state."""
        if self._inputs.array(message, gid):
            self._answered = True

    def _note_answer(self, stamp: int | None, topic: str) -> None:
        """In lockstep, check by the stamp which state a command answers; rejected commands count as answers, too."""
        if stamp == self.stamp:
            self._answered = True
        elif self.time_mode is TimeMode.LOCKSTEP and stamp is not None:
            if stamp == 0:
                self._diagnostics.problem("commands without stamp", f"{topic}: stamp 0; in lockstep the plant waits "
                                          "for a command with the stamp of the joint state that it answers")
            else:
                self._diagnostics.count("commands that answer an earlier state")

    def _advance(self, periods: int) -> None:
        """Run control periods under the present commands, and publish the state at their end."""
        plant, commands = self._simulated.plant, self.commands
        try:
            for _ in range(periods):
                followed = commands.fresh()  # commands do not become fresh within the loop, so the last period decides
                if self.wrenches:
                    self.wrenches.advance()
                drive = commands.drive(plant.joint_inertia, plant.v)
                if self._driver is not None:
                    drive = self._driver.apply(drive, *plant.encoder_motion)
                plant.advance(drive, self._steps)
                commands.advance()
                if self._settings.unchanged_command_timeout:
                    commands.note_motion(plant.v)
                if self._sensors is not None:
                    self._seen = self._sensors.measure(*plant.encoder_motion)
                if self.force_torque is not None:
                    self.force_torque.measure()
        except SimulationError as error:
            self._diverged = True
            self.pause("the simulation diverged")
            removed = "; external wrenches are removed" if self.wrenches else ""
            self.wrenches.clear()  # they may have caused the divergence, and would again after a reset
            self._diagnostics.raise_condition("diverged", f"{error}; paused{removed}", error=True)
            return
        self.timing.tick += periods
        self._publish_state("" if followed else _NOT_FOLLOWED)
        self.periods += periods  # after the stamp, because other threads wait for this count and then read the stamp
        if self.budget is not None:
            self.budget -= periods
            if self._requests:
                self._requests.advance(self.periods)
        if (commands.sped_up is None) is not (self._sped_up is None):
            self._report_late_command()
        if not commands.fresh() or self._unsafe_text:
            self._report_safety()

    def _publish_state(self, new_start: str) -> None:
        """Publish the state.

        Args:
            new_start: Why no commanded motion leads to it from the last state; empty if one does.
        """
        tick, stamp = self.timing.tick, self.timing.stamp(standing_still=self.budget == 0)
        if not new_start and stamp - self.stamp != (tick - self._published_tick) * self._period_ns:
            new_start = _TIME_WENT_ON
        if new_start and not self._new_start:
            self._inputs.first_stamp = stamp  # an answer to an earlier state belongs to the previous motion
        self._new_start = new_start
        self.stamp, self._published_tick = stamp, tick
        plant = self._simulated.plant
        position, velocity = plant.encoder_motion if self._sensors is None else self._seen
        if self.force_torque is not None:  # before the joint state, which a controller answers
            self.force_torque.publish(stamp)
        self._outputs.publish(tick, stamp, position, velocity, self._new_start)

    def _repeat_state(self) -> None:
        """Repeat the last state periodically; in lockstep, report a missing answer."""
        if not self._outputs.repeat() or self.time_mode is not TimeMode.LOCKSTEP or self.budget == 0:
            return
        self._unanswered += 1
        if self._requests and self._unanswered >= _STUCK_REPEATS:
            self.pause(f"none for {_STUCK_REPEATS * REPEAT_SECONDS:g} s; in lockstep a controller has to answer each")
        elif self._unanswered > _REPORTED_REPEATS:
            self._diagnostics.raise_condition(
                "lockstep", f"lockstep: the robot waits, as no command answers the joint state stamped "
                f"{to_seconds(self.stamp)} s: start a controller, or this node with time_mode:=real_time")

    def _report_safety(self) -> None:
        """Report once which joints enter the safe behaviour, and once when they leave it."""
        stale = self.commands.stale()
        names = [name for name, old in zip(self._joints.names, stale, strict=True) if old]
        text = "" if not names else (
            f"{self._stale_reason()} for {', '.join(names)}: "
            f"safe behaviour '{self._settings.safe_behaviour}'")
        if text == self._unsafe_text:
            return
        if text:
            self._diagnostics.count("stale commands")
            self._diagnostics.raise_condition("stale", text)
        else:
            self._diagnostics.clear_condition("stale", "commands are back: no joint is in the safe behaviour")
        self._unsafe_text = text

    def _report_late_command(self) -> None:
        """Report once that the drives brake because of a late command."""
        self._sped_up = fast = self.commands.sped_up
        if fast is not None:
            names = ", ".join(name for name, late in zip(self._joints.names, fast, strict=True) if late)
            self._diagnostics.problem("late commands",
                                      f"no command for {LATE_AGE} control periods or more, and the last "
                                      f"one drove {names} ever faster; the drives brake there until the next command")

    def _stale_reason(self) -> str:
        if self.commands.stuck():
            return (f"the same command to the bit during {self._settings.unchanged_command_timeout} s of motion (has "
                    "its sender stopped computing?)")
        return f"no command for {self._settings.command_timeout} s or more"

    def _begin_anew(self, why: str) -> None:
        """After a jump of the state, drop all commands and publish the state with a new stamp."""
        self._diverged = False
        self._diagnostics.clear_condition("diverged", "the simulation is in a finite state again")
        self.commands.clear()
        if self._driver is not None:
            self._driver.restart()
        self._report_safety()
        self._answered = False
        self.timing.tick += 1
        self._restart_sensors()
        if self.force_torque is not None:
            self.force_torque.restart()
        self._new_start = ""
        self._publish_state(why)

    def _restart_sensors(self) -> None:
        if self._sensors is not None:
            self._seen = self._sensors.restart(*self.plant.encoder_motion)

    def _configure(self, settings: LiveSettings) -> None:
        self._settings = settings
        self.commands.configure(self._in_periods(settings.command_timeout), settings.safe_behaviour,
                                settings.safe_time_constant, self._in_periods(settings.unchanged_command_timeout))
        self.wrenches.timeout = self._in_periods(settings.wrench_timeout)
        self._outputs.set_actuator_state_rate(settings.actuator_state_rate)
        if settings.sensors is not self._sensors:
            self._sensors = settings.sensors
            self._restart_sensors()
        self.timing.configure(settings)

    def _in_periods(self, seconds: float) -> int:
        """Convert a time [s] to control periods, rounded up."""
        return int(np.ceil(seconds * NANOSECONDS_PER_SECOND / self._period_ns))
