# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Node ``controller``: runs one controller plugin, swapped by the parameter ``controller``.

The node answers every joint state with a command of the same stamp. Its time is the time of these stamps. It reads a
clock only to notice that joint states stopped coming.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any

from rclpy.parameter import Parameter as RosParameter
from sensor_msgs.msg import JointState

from robodyn_ros.base import topic_names
from robodyn_ros.base.common_fields import FILTER, LAW_IGNORES, filtered_name, ignored_parts
from robodyn_ros.base.errors import PluginError, RobodynError, shown
from robodyn_ros.base.fields import Field
from robodyn_ros.control.plugins.plugin import Plugin
from robodyn_ros.control.plugins.plugin_threads import LOOK_PERIOD, ThreadWatch, end, plugin_location
from robodyn_ros.control.plugins.registry import controller_changed, controller_names
from robodyn_ros.control.runtime.age_monitor import AgeMonitor
from robodyn_ros.control.runtime.bumpless_transfer import SWAP_TIME
from robodyn_ros.control.runtime.control_loop import ControlLoop
from robodyn_ros.control.runtime.loop_events import Event as LoopEvent
from robodyn_ros.control.runtime.loop_events import LawEnded, LawFailed, NewStart
from robodyn_ros.control.runtime.measurement import Measurement
from robodyn_ros.control.runtime.modes import Mode, Reason
from robodyn_ros.control.runtime.requests import (
    BeginWith,
    Configure,
    Drop,
    NewSettings,
    Resume,
    Suspend,
    Swap,
)
from robodyn_ros.control.runtime.state_prediction import DELAY_COMPENSATION
from robodyn_ros.control.runtime.supervisor import PARAMETERS as SUPERVISOR_PARAMETERS
from robodyn_ros.control.runtime.velocity_estimate import VelocityEstimate
from robodyn_ros.nodes.common.control_path import ControlPath
from robodyn_ros.nodes.common.hold_up_probe import HoldUpProbe
from robodyn_ros.nodes.common.joint_states import NO_STATES
from robodyn_ros.nodes.common.messages import JointOrder
from robodyn_ros.nodes.common.node_thread import NodeThread
from robodyn_ros.nodes.common.parameters import ACTUATORS, FRAME_PREFIX, ROBOT_PARAMETERS, TIP_LINK, given_robot
from robodyn_ros.nodes.common.participants import sender
from robodyn_ros.nodes.common.real_time import PARAMETERS as REAL_TIME_PARAMETERS
from robodyn_ros.nodes.common.runtime import RobodynNode, run_node
from robodyn_ros.nodes.common.topics import NEWEST_DEPTH
from robodyn_ros.nodes.controller.action import TrajectoryActionServer
from robodyn_ros.nodes.controller.command_output import PARAMETERS as OUTPUT_PARAMETERS
from robodyn_ros.nodes.controller.command_output import command_output
from robodyn_ros.nodes.controller.display_topics import PARAMETERS as DISPLAY_PARAMETERS
from robodyn_ros.nodes.controller.display_topics import DisplayTopics
from robodyn_ros.nodes.controller.events import FALLBACK, Event, Events, dropped
from robodyn_ros.nodes.controller.gravity_of_driver import GravityOfDriver
from robodyn_ros.nodes.controller.hardware_announcement import HardwareAnnouncement
from robodyn_ros.nodes.controller.joint_state_input import VELOCITY_FILTER, JointStateInput, MeasuredState
from robodyn_ros.nodes.controller.joint_trajectories import JointTrajectories
from robodyn_ros.nodes.controller.law_topics import LawTopics
from robodyn_ros.nodes.controller.loop_thread import LoopThread
from robodyn_ros.nodes.controller.loop_timing import PARAMETERS as TIMING_PARAMETERS
from robodyn_ros.nodes.controller.loop_timing import LoopTimingWatch, declared_timing
from robodyn_ros.nodes.controller.new_starts import NewStarts
from robodyn_ros.nodes.controller.ownership import PUBLISHER, ControllerOwnership
from robodyn_ros.nodes.controller.plugins import ALLOW_PYTHON_PLUGINS, SWAP_TIMEOUT, ControllerPlugins
from robodyn_ros.nodes.controller.stalls import TOLD_GAP, Rejections, Stalls
from robodyn_ros.nodes.controller.state_output import ControllerStatePublisher
from robodyn_ros.nodes.controller.supervision import Supervision
from robodyn_ros.nodes.controller.tip_motions import TipMotions
from robodyn_ros.nodes.controller.voltage_output import VoltageOutput
from robodyn_ros.nodes.controller.wrench_sensor import PARAMETERS as SENSOR_PARAMETERS
from robodyn_ros.nodes.controller.wrench_sensor import WrenchSensor
from robodyn_ros.robot import Robot

PARAMETERS = (
    *ROBOT_PARAMETERS,
    TIP_LINK,
    ACTUATORS,
    LAW_IGNORES,
    *OUTPUT_PARAMETERS,
    Field("controller", "pd", "Controller plugin in force, by installed name or as package.module:Class; set it to "
          "swap", suggestions=controller_names()),
    FILTER,
    ALLOW_PYTHON_PLUGINS,
    SWAP_TIMEOUT,
    SWAP_TIME,
    Field("safe_controller", "damping", "Controller plugin that takes over from one that fails", structural=True),
    Field("state_publish_rate", 100.0, "Rate of ~/controller_state, in the time of the joint states; 0: none",
          unit="Hz", minimum=0.0, maximum=10000.0),
    Field("max_overruns", 20, "Number of overruns (joint states came while the law computed, or was blocked) after "
          "which the controller is dropped for the safe one; each is forgiven after ten ticks in time; 0: never",
          minimum=0, maximum=1_000_000),
    Field("law_timeout", 0.25, "Time of computing, or of being blocked, after which a controller that does not return "
          "is left behind, and dropped for the safe one", unit="s", minimum=0.1, maximum=60.0),
    Field("state_timeout", 0.5, "Gap between joint states after which their return is a new start", unit="s",
          structural=True, minimum=0.001, maximum=3600.0),
    PUBLISHER,
    *TIMING_PARAMETERS,
    *SENSOR_PARAMETERS,
    VELOCITY_FILTER,
    DELAY_COMPENSATION,
    *REAL_TIME_PARAMETERS,
    *SUPERVISOR_PARAMETERS,
    *DISPLAY_PARAMETERS,
    FRAME_PREFIX,
)

STARTUP_SECONDS = 5.0
"""Extra time for the first joint state to arrive, beyond ``state_timeout`` [s]."""

GOAL_PATIENCE = 5.0
"""Silence of the joint states that ends a goal [s].

After a shorter one the stamp of the next state decides: in lockstep no time has passed, and the motion goes on.
"""

DEACTIVATION_SECONDS = 0.5
"""Longest wait of a stopping node for its controllers to close what they opened [s]."""

BROKEN = "broken plugins"


class ControllerNode(RobodynNode):
    """Runs the control loop on a thread of its own; the executor serves parameters, trajectories and diagnostics."""

    def __init__(self) -> None:
        super().__init__("controller")
        self.parameters.declare(PARAMETERS)
        self._robot = given_robot(self.parameters, Robot.from_urdf, Robot.from_urdf_text,
                                  tip_link=self.parameters["tip_link"] or None)
        self._robot.check_accelerations()
        self.introduction = f"robot '{self._robot.name}': {self._robot.n} joints, tip link '{self._robot.tip_link}'"
        self._robot = self._robot.with_timing(*declared_timing(self.parameters))
        if file := self.parameters["actuators"]:
            self._robot = self._robot.with_actuators(file)
        self._robot = self._robot.ignoring(*ignored_parts(self.parameters["law_ignores"]))
        self._joints = JointOrder(self._robot.joint_names)
        self._timeout: float = self.parameters["state_timeout"]
        self._events = Events(self.diagnostics)
        self._law_topics = LawTopics(self, self._joints, self._events)
        self._plugins = ControllerPlugins(self.parameters, self._robot, self.stop_requested.is_set,
                                          self._law_topics.open)
        for name in controller_names():
            try:
                self._plugins.declare(name)
            except PluginError as error:
                self.diagnostics.problem(BROKEN, str(error))
                self._log_traceback(error)
        active, safe = map(self._make, (self._chosen({}), self.parameters["safe_controller"]))
        self._reflecting = False
        self._loop = ControlLoop(self._robot, active, safe, self._timeout)
        self._ages, self._probe = AgeMonitor(), HoldUpProbe()
        self._stalls = Stalls(self.diagnostics, self._probe, lambda: self._loop.chosen.name,
                              lambda text: self._thread.request_here(Drop(Reason("too slow", text))))
        self._stalls.max_overruns = self.parameters["max_overruns"]
        self._saturated, self._silent = 0, True
        self._answered, self._others = b"", 0  # publisher of the last state, and its messages that were none
        self._rejections = Rejections()
        self._uncompiled: dict[str, str] = {}  # logged reasons by plugin
        self._log_uncompiled()
        new_starts = NewStarts(self, self._joints, lambda process: self._ownership.follows(process))
        self._states_in = JointStateInput(self._joints, self.diagnostics,
                                          VelocityEstimate(self.parameters["velocity_filter"], self._timeout,
                                                           self._robot.model.continuous), self._timeout,
                                          new_starts.reason)
        self._announcement = HardwareAnnouncement(self)
        self._gravity = GravityOfDriver(self, self._announcement, self._robot)
        self.diagnostics.checks.append(self._gravity.look_for_friction(self._loop))
        self._output = command_output(self, self._robot, self._gravity)
        self._states = ControllerStatePublisher(
            self, self._robot, self.parameters["state_publish_rate"], self._events,
            self._output.voltage if isinstance(self._output, VoltageOutput) else None)
        self._path = self.add_control_path(ControlPath(
            self, self.diagnostics, JointState, topic_names.JOINT_STATES, self._cycle, serialized=True, every=True))
        for handle in (new_starts.handle, *self._output.handles):
            self._path.use(handle)
        self._thread = LoopThread(self._loop, self._path)
        self._thread.listeners.append(self._on_event)
        self._law_topics.attach(self._thread)
        delayed = self._delayed(self.parameters["delay_compensation"])
        self._thread.request_here(delayed._replace(swap_time=self.parameters["swap_time"]))
        self._timing = LoopTimingWatch(self, self._robot, self._loop, self._plugins, self._begin_with)
        self._announcement.handlers.append(self._timing.on_announcement)
        self._watch = NodeThread("watch of the law", self.diagnostics, self._watch_law)
        self._watched: tuple[object, ThreadWatch] | None = None  # a call, and its thread since a look
        self.add_thread(self._watch)
        self._ownership = ControllerOwnership(self, self._events, self._joints.names, self._timeout)
        self._states_in.accepts = self._ownership.accepts
        self._trajectories = JointTrajectories(self, self._robot, self._joints, self._thread, self._events)
        self._supervision = Supervision(self, self._thread, self._events)
        self._tip_motions = TipMotions(self, self._robot, self._thread, self._trajectories.stop)
        self._wrench_sensor = WrenchSensor(self, self._robot, self._thread, self._timeout)
        self._wrench_sensor.configure(self.parameters.__getitem__)
        self._action = TrajectoryActionServer(self, self._robot, self._joints, self._trajectories)
        self._displays = DisplayTopics(self, self._robot, self._loop, self.parameters["display_rate"],
                                       self.parameters["frame_prefix"] + self._robot.model.base_link,
                                       self.stop_requested.is_set)
        for sentence in self._plugins.unclaimed():
            self.log.warning(sentence, sentence)
        self.parameters.on_change(self._on_change)
        self.diagnostics.values = self._values

    def _make(self, name: str) -> Plugin:
        """Make a controller of the start, and try it.

        Raises:
            RobodynError: It cannot be made.
        """
        plugin = self._plugins.make(name)
        try:
            self._plugins.check_first_update(plugin, None)
        except PluginError as error:  # the state is made up, and the plugin may work in the real one
            self.diagnostics.problem(BROKEN, f"{error}; it may do better with the robot's real state")
            self._log_traceback(error)
        return plugin

    def _begin_with(self, robot: Robot) -> None:
        """Make all defaults and both controllers anew, for a robot of another timing, before the first tick."""
        self._plugins.derive_defaults(robot)
        chosen, fallback = map(self._make, (self._loop.chosen.name, self._loop.fallback.name))
        self._thread.request(BeginWith(robot, chosen, fallback))

    # On the control path's thread.

    def _cycle(self, path: ControlPath) -> None:
        data = path.wait(self._timeout)
        now, received = time.monotonic(), time.time_ns()
        measured, info = self._newest(data, now) if data is not None else (None, {})
        if self._states_in.rejected != self._rejections.number:
            self._rejections = Rejections(self._states_in.rejected, self._states_in.rejection)
        rejections = self._rejections
        if now - self._stalls.answered_at >= TOLD_GAP:
            self._stalls.arrive(now, info, rejections)
        if measured is not None and (self._announcement.closed or self._announcement.is_known()):
            self._on_joint_state(measured, now, received, info)
            if self._silent:
                self.diagnostics.clear_condition("silence", "joint states are coming")
            self._silent = False
            self._stalls.answered(now, info, rejections)
        elif now - self._stalls.answered_at >= self._timeout and path.active:
            self._silent = True
            missing = ", ".join(self._states_in.missing())
            why = (f"those of {missing} are missing; is the node that publishes them running?" if missing else
                   "is the hardware node running?")
            if others := self._states_in.other_names:
                why += f" Messages with other joints alone came, such as {shown(others)}"
            text = f"{NO_STATES} {self._timeout:g} s or more that this node can answer: {why}"
            self.diagnostics.raise_condition("silence", text)
            if now - self._stalls.answered_at >= max(self._timeout, GOAL_PATIENCE):
                self._trajectories.abort(text)

    def _newest(self, data: bytes, now: float) -> tuple[MeasuredState | None, dict[str, Any]]:
        """Read a serialized joint state and those that wait behind it.

        Messages of other robots' joints, and those that complete no state, are neither answered nor counted as
        unanswered.

        Args:
            data: The message.
            now: Steady time of its arrival [s].

        Returns:
            The newest state of the robot, or None; and what the middleware knows of its message, with the number of the
            state instead of that of the message, 0 for a state of several messages.
        """
        path, newest = self._path, self._read(data, now)
        found = path.info
        for _ in range(1, NEWEST_DEPTH):
            if (waiting := path.take()) is None:
                break
            measured = self._read(waiting, now)
            if measured is None:
                continue
            if newest is not None and newest.new_start and not measured.new_start:
                measured = measured._replace(new_start=newest.new_start)
            newest, found = measured, path.info
        return newest, found if newest is not None else {}

    def _read(self, data: bytes, now: float) -> MeasuredState | None:
        """Read one message, and correct its number; arguments as for :meth:`_newest`."""
        info = self._path.info
        gid = sender(info)
        measured = self._states_in.read(data, gid, now)
        if measured is None:
            if gid and gid == self._answered:
                self._others += 1
            return None
        if gid != self._answered:
            self._answered, self._others = gid, 0
        number = info.get("publication_sequence_number") or 0
        info["publication_sequence_number"] = 0 if self._states_in.merged else number - self._others
        return measured

    def _on_joint_state(self, measured: MeasuredState, now: float, received: int, info: Mapping[str, Any]) -> None:
        """Answer a joint state.

        Args:
            measured: The state.
            now: Steady time of its arrival [s].
            received: System time of its arrival [ns].
            info: When it was published, and its number.
        """
        stamp, q, v, why = measured
        self._stalls.begin(now, stamp, info.get("publication_sequence_number") or 0)
        if self._ownership.refused or self._loop.mode is Mode.SUSPENDED:
            if self._suspend():
                return
            why = "the hardware followed another controller until now"
        topics = self._law_topics
        topics.update(stamp)
        tick = self._thread.tick(Measurement(stamp, q, v, why, self._wrench_sensor.wrench_tip, topics.motor_side,
                                             topics.inputs))
        self._stalls.end(time.monotonic())
        self._output.publish(stamp, tick)
        answered = time.time_ns()
        self._ages.note(stamp, info.get("source_timestamp") or 0, received, answered)
        self._timing.note(stamp, tick.state.period, info.get("publication_sequence_number") or 0, answered - stamp)
        if tick.intervention or tick.reason is not None:
            self._saturated += tick.saturated
            self._supervision.note(tick)
        self._states.publish(stamp, tick)
        if self._trajectories.goal is not None:
            self._trajectories.watch(stamp, tick)

    def _suspend(self) -> bool:
        """Command nothing while the hardware refuses commands; return whether it still does."""
        if why := self._ownership.refused:
            if self._loop.mode is not Mode.SUSPENDED:
                self._trajectories.abort(why)
            self._thread.request_here(Suspend(Reason("refused", why)))
        else:
            self._thread.request_here(Resume())
        self._stalls.end(time.monotonic())
        return bool(why)

    def _on_event(self, event: LoopEvent) -> None:
        if isinstance(event, LawFailed):
            reason = self._stalls.with_cause(str(event.error))
            self._events.tell(dropped(event.name, event.successor, reason, event.stamp))
            self._log_traceback(event.error)
            if event.name != event.successor and self.executor is not None:
                self.executor.create_task(self._reflect_chosen)
        elif isinstance(event, NewStart):
            lost = ", the active trajectory is dropped" if event.dropped_motion else ""
            self._events.tell(Event("new starts", f"new start from the current state{lost}: "
                                    f"{self._stalls.of_start(event.text)}"))
        elif isinstance(event, LawEnded):
            self._end(event.plugin)

    def _end(self, plugin: Plugin) -> threading.Event:
        """Let a controller that is no longer needed close what it opened; return what is set when it has."""
        return end(plugin.name, plugin.controller.deactivate, lambda text: self.diagnostics.problem(BROKEN, text))

    # On a thread that watches that of the control path.

    def _watch_law(self) -> None:
        """Go on without the control path's thread if it does not return from a controller."""
        self._watch.sleep(LOOK_PERIOD)
        call, thread = self._loop.call, self._path.thread
        if call is None or self._watched is None or call is not self._watched[0]:
            self._watched = None if call is None else (call, ThreadWatch(thread))
            return
        timeout: float = self.parameters["law_timeout"]
        if self._watched[1].look() < timeout:
            return
        place = plugin_location(thread)
        if (request := self._loop.take_over(call)) is not None:
            reason = f"it did not return within {timeout:g} s{place}"
            self._path.replace(lambda: self._thread.request_here(request._replace(text=reason)),
                               PluginError(f"controller '{call[0].name}': {reason}"))

    # On the executor's thread.

    def _reflect_chosen(self) -> None:
        """Set the parameter ``controller`` to the name of the controller that took over."""
        self._reflecting = True
        self.set_parameters([RosParameter("controller", value=self._loop.chosen.name)])
        self._reflecting = False

    def _on_change(self, changes: Mapping[str, Any]) -> None:
        in_force = (self._loop.chosen.name, self.parameters["safe_controller"])
        gains = self._plugins.changed(changes, in_force)
        is_chosen = not self._reflecting and changes.keys() & {"controller", FILTER.name}
        name = self._chosen(changes) if is_chosen else self._loop.chosen.name
        successor = None
        if name != self._loop.chosen.name or self._was_edited(changes):
            try:
                successor = self._plugins.swap_in(name, gains, self._loop.last)
            except PluginError as error:
                self._log_traceback(error)
                raise

        for changed, parameters in gains.items():
            self._plugins.run(f"controller '{changed}' cannot be compiled", self._loop.prepare, changed, parameters)

        def put_in_force() -> None:
            self._thread.request_here(NewSettings(swap_time=changes.get("swap_time")))
            for changed, parameters in gains.items():
                self._thread.request_here(Configure(changed, parameters))
            if successor is not None:
                self._events.end(FALLBACK, f"'{name}' replaces the controller that was dropped")
                self._thread.request_here(Swap(successor))
                self._stalls.forget()
                if not self._loop.moving():
                    self._trajectories.interrupt(f"controller '{name}' was put in force and holds the current state")

        self._thread.call(put_in_force)
        self._plugins.store(gains)
        if successor is not None and self._loop.chosen is successor:
            self.log.info("swaps", f"controller '{name}' is in force")
        self._log_uncompiled()
        self._stalls.max_overruns = changes.get("max_overruns", self._stalls.max_overruns)
        if PUBLISHER.name in changes:
            self._ownership.follow(changes[PUBLISHER.name])
        if "delay_compensation" in changes:
            self._thread.request(self._delayed(changes["delay_compensation"]))
        if "state_publish_rate" in changes:
            self._states.set_rate(changes["state_publish_rate"])
        self._wrench_sensor.configure(lambda name: changes.get(name, self.parameters[name]))

    def _chosen(self, changes: Mapping[str, Any]) -> str:
        """Name of the controller that the parameters choose after a change, with its filter."""
        controller, chosen = (changes.get(name, self.parameters[name]) for name in ("controller", FILTER.name))
        return filtered_name(controller, chosen)

    def _delayed(self, delay: float) -> NewSettings:
        """The request to predict states over a delay [s]; compiles here, not on the control path."""
        if delay:
            self._loop.prepare_prediction()
        return NewSettings(delay=delay)

    def _was_edited(self, changes: Mapping[str, Any]) -> bool:
        """Whether ``controller`` is set to a plugin whose file has changed."""
        return "controller" in changes and not self._reflecting and controller_changed(changes["controller"])

    def _log_uncompiled(self) -> None:
        """Warn once of an active or safe controller that runs as Python code, and again only for another reason."""
        for name, reason in self._loop.uncompiled().items():
            if self._uncompiled.get(name) != reason:
                self.log.warning(f"uncompiled {name}", f"controller '{name}' runs uncompiled: {reason}")
                self._uncompiled[name] = reason

    def _log_traceback(self, error: RobodynError) -> None:
        """Log the traceback of a plugin's exception at level debug."""
        for note in getattr(error, "__notes__", ()):
            self.log.debug("tracebacks", note)

    def _values(self) -> dict[str, object]:
        uncompiled = "; ".join(f"{name}: {reason}" for name, reason in self._loop.uncompiled().items())
        return {"controller": self._loop.chosen.name, "uncompiled": uncompiled or "no",
                "gravity compensated by": "driver" if self._gravity.by_driver else "commands",
                "velocities": "from positions" if self._states_in.estimated else "measured",
                "saturated commands": self._saturated, **self._law_topics.values(), **self._supervision.values(),
                **self._stalls.statistics(), **self._ages.statistics(), **self._timing.values(),
                **self._action.values()}

    def start(self) -> None:
        """Start the control path, and give the first joint state time to arrive."""
        self._stalls.answered_at = time.monotonic() + STARTUP_SECONDS
        self._probe.start()
        super().start()

    def stop(self) -> None:
        """Stop the control path, abort the active goal, and let the controllers close what they opened."""
        super().stop()
        self._probe.stop()
        self._action.close()
        deadline = time.monotonic() + DEACTIVATION_SECONDS
        for closed in [self._end(plugin) for plugin in self._loop.plugins()]:
            closed.wait(max(0.0, deadline - time.monotonic()))


def main(args: Sequence[str] | None = None) -> int:
    """Run the node until SIGINT or SIGTERM; see ``run_node``."""
    return run_node(ControllerNode, args)
