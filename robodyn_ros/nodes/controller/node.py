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

import time
from collections.abc import Mapping, Sequence
from typing import Any

from sensor_msgs.msg import JointState

from robodyn_ros.base import topic_names
from robodyn_ros.base.common_fields import LAW_IGNORES, ignored_parts
from robodyn_ros.base.fields import Field
from robodyn_ros.control.runtime.control_loop import ControlLoop
from robodyn_ros.control.runtime.measurement import Measurement
from robodyn_ros.control.runtime.modes import Mode, Reason
from robodyn_ros.control.runtime.requests import Resume, Suspend
from robodyn_ros.nodes.common.control_path import ControlPath
from robodyn_ros.nodes.common.messages import JointOrder
from robodyn_ros.nodes.common.parameters import (
    ACTUATORS,
    ROBOT_PARAMETERS,
    TIP_LINK,
    DeclaredParameters,
    given_robot,
)
from robodyn_ros.nodes.common.real_time import PARAMETERS as REAL_TIME_PARAMETERS
from robodyn_ros.nodes.common.runtime import RobodynNode, run_node
from robodyn_ros.nodes.controller.action import TrajectoryActionServer
from robodyn_ros.nodes.controller.command_output import CommandPublisher
from robodyn_ros.nodes.controller.controller_manager import ControllerManager
from robodyn_ros.nodes.controller.display_topics import DisplayTopics
from robodyn_ros.nodes.controller.events import Events
from robodyn_ros.nodes.controller.gripper_actions import GripperActions
from robodyn_ros.nodes.controller.hardware_announcement import HardwareAnnouncement
from robodyn_ros.nodes.controller.joint_state_input import MeasuredState
from robodyn_ros.nodes.controller.joint_trajectories import JointTrajectories
from robodyn_ros.nodes.controller.law_swaps import SAFE_CONTROLLER, LawSwaps, chosen_name
from robodyn_ros.nodes.controller.law_topics import LawTopics
from robodyn_ros.nodes.controller.law_watch import LawWatch
from robodyn_ros.nodes.controller.loop_thread import LoopThread
from robodyn_ros.nodes.controller.loop_timing import LoopTimingWatch, declared_timing
from robodyn_ros.nodes.controller.ownership import ControllerOwnership
from robodyn_ros.nodes.controller.part import AnsweredState, Context, Part, Parts
from robodyn_ros.nodes.controller.plugins import ControllerPlugins
from robodyn_ros.nodes.controller.stalls import TOLD_GAP, Stalls
from robodyn_ros.nodes.controller.state_output import ControllerStatePublisher
from robodyn_ros.nodes.controller.state_source import STATE_TIMEOUT, StateSource
from robodyn_ros.nodes.controller.supervision import Supervision
from robodyn_ros.nodes.controller.tip_motions import TipMotions
from robodyn_ros.nodes.controller.wrench_sensor import WrenchSensor
from robodyn_ros.robot import Robot

PARTS: tuple[type[Part], ...] = (
    LawSwaps, CommandPublisher, StateSource, ControllerOwnership, Stalls, LawWatch, LoopTimingWatch, Supervision,
    LawTopics, WrenchSensor, JointTrajectories, TrajectoryActionServer, GripperActions, TipMotions,
    ControllerStatePublisher, DisplayTopics, ControllerManager)

PARAMETERS: tuple[Field, ...] = (*ROBOT_PARAMETERS, TIP_LINK, ACTUATORS, LAW_IGNORES, *REAL_TIME_PARAMETERS,
                                 *(field for part in PARTS for field in part.PARAMETERS))

GOAL_PATIENCE = 5.0
"""Silence of the joint states that ends a goal [s].

After a shorter one the stamp of the next state decides: in lockstep no time has passed, and the motion goes on.
"""


class ControllerNode(RobodynNode):
    """Runs the control loop on a thread of its own; the executor serves parameters, trajectories and diagnostics."""

    def __init__(self) -> None:
        super().__init__("controller")
        self.parameters.declare(PARAMETERS)
        robot = _robot(self.parameters)
        self.introduction = f"robot '{robot.name}': {robot.n} joints, tip link '{robot.tip_link}'"
        self._timeout: float = self.parameters[STATE_TIMEOUT.name]
        plugins = ControllerPlugins(self, robot)
        plugins.declare_installed()
        chosen, safe = map(plugins.begin, (chosen_name(self.parameters), self.parameters[SAFE_CONTROLLER.name]))
        path = self.add_control_path(ControlPath(self, self.diagnostics, JointState, topic_names.JOINT_STATES,
                                                 self._cycle, serialized=True, every=True))
        self._thread = LoopThread(ControlLoop(robot, chosen, safe, self._timeout), path)
        self._announcement = HardwareAnnouncement(self)
        self._parts = Parts()
        self._parts.make(PARTS, Context(self, robot, JointOrder(robot.joint_names), self._thread, plugins,
                                        Events(self.diagnostics), self._announcement, self._parts))
        self._source, self._stalls, self._commands = (
            self._parts[StateSource], self._parts[Stalls], self._parts[CommandPublisher])
        self._ownership, self._law_topics, self._wrench_sensor = (
            self._parts[ControllerOwnership], self._parts[LawTopics], self._parts[WrenchSensor])
        for sentence in plugins.unclaimed():
            self.log.warning(sentence, sentence)
        self.parameters.on_change(self._parts.on_change)
        self.diagnostics.values = self._parts.values

    # On the control path's thread.

    def _cycle(self, path: ControlPath) -> None:
        data = path.wait(self._timeout)
        now, received, stalls = time.monotonic(), time.time_ns(), self._stalls
        measured, info = self._source.newest(data, now) if data is not None else (None, {})
        if now - stalls.answered_at >= TOLD_GAP:
            stalls.arrive(now, info, self._source.rejections)
        if measured is not None and (self._announcement.closed or self._announcement.is_known()):
            self._on_joint_state(measured, now, received, info)
            self._source.answered()
            stalls.answered(now, info, self._source.rejections)
        elif now - stalls.answered_at >= self._timeout and path.active:
            text = self._source.tell_silence()
            if now - stalls.answered_at >= max(self._timeout, GOAL_PATIENCE):
                self._abort(text)

    def _on_joint_state(self, measured: MeasuredState, now: float, received: int, info: Mapping[str, Any]) -> None:
        """Answer a joint state.

        Args:
            measured: The state.
            now: Steady time of its arrival [s].
            received: System time of its arrival [ns].
            info: When it was published, and its number.
        """
        stamp, q, v, why = measured
        number = info.get("publication_sequence_number") or 0
        self._stalls.begin(now, stamp, number)
        if self._ownership.refused or self._thread.loop.modes.present is Mode.SUSPENDED:
            if self._suspend():
                return
            why = "the hardware followed another controller until now"
        topics = self._law_topics
        topics.update(stamp)
        tick = self._thread.tick(Measurement(stamp, q, v, why, self._wrench_sensor.wrench_tip, topics.motor_side,
                                             topics.inputs))
        self._stalls.end(time.monotonic())
        self._commands.publish(stamp, tick)
        self._parts.after_tick(AnsweredState(stamp, tick, number, info.get("source_timestamp") or 0, received,
                                             time.time_ns()))

    def _abort(self, reason: str) -> None:
        self._parts[JointTrajectories].abort(reason)
        self._parts[GripperActions].abort(reason)

    def _suspend(self) -> bool:
        """Command nothing while the hardware refuses commands; return whether it still does."""
        if why := self._ownership.refused:
            if self._thread.loop.modes.present is not Mode.SUSPENDED:
                self._abort(why)
            self._thread.request_here(Suspend(Reason("refused", why)))
        else:
            self._thread.request_here(Resume())
        self._stalls.end(time.monotonic())
        return bool(why)

    # On the executor's thread.

    def start(self) -> None:
        """Start the control path."""
        self._stalls.start()
        super().start()

    def stop(self) -> None:
        """Stop the control path, abort the active goal, and let the controllers close what they opened."""
        super().stop()
        for part in self._parts:
            part.close()


def _robot(parameters: DeclaredParameters) -> Robot:
    """Return the robot that the parameters name, as the laws know it.

    Raises:
        RobodynError: There is none, or it has no dynamics.
    """
    robot = given_robot(parameters, Robot.from_urdf, Robot.from_urdf_text, tip_link=parameters["tip_link"] or None)
    robot.check_accelerations()
    robot = robot.with_timing(*declared_timing(parameters))
    if file := parameters["actuators"]:
        robot = robot.with_actuators(file)
    return robot.ignoring(*ignored_parts(parameters["law_ignores"]))


def main(args: Sequence[str] | None = None) -> int:
    """Run the node until SIGINT or SIGTERM; see ``run_node``."""
    return run_node(ControllerNode, args)
