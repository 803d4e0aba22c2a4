# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Replays a recording on a simulation in lockstep, by the topics, services and parameters of its nodes.

`ClosedLoopReplay` sends the references to a controller; `OpenLoopReplay` sends the recorded commands in its place.
"""

from __future__ import annotations

import struct
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from control_msgs.action import FollowJointTrajectory
from control_msgs.msg import JointTolerance
from rclpy.action import ActionClient
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState

from robodyn_interfaces.msg import ControllerState, VoltageCommands
from robodyn_ros.base import topic_names
from robodyn_ros.base.errors import RobodynError
from robodyn_ros.base.timing import split_stamp, to_nanoseconds
from robodyn_ros.nodes.client.graph_client import GraphClient
from robodyn_ros.nodes.client.robot_client import to_trajectory_points
from robodyn_ros.nodes.client.simulation_requests import Simulation
from robodyn_ros.nodes.common.messages import read_stamp, set_stamp
from robodyn_ros.nodes.common.topics import CONTROL_QOS, unserved_subscription
from robodyn_ros.nodes.recorder.definitions import message_class
from robodyn_ros.toolbox.recording.open_loop_plan import OpenLoopPlan
from robodyn_ros.toolbox.recording.recorded_ticks import RepeatedMessage, SetParameter, SetState
from robodyn_ros.toolbox.recording.replay_plan import PlannedSwap, ReferenceMotion, ReplayPlan, Request

ANSWER, START = 30.0, 120.0
"""Longest waits for an answer, and for the nodes to start [s]."""
STEPS = 250
"""Greatest number of control periods in one request and between two progress messages."""
NO_TOLERANCE = -1.0
LAST_SECONDS = 0.2
"""Longest time between the last controller state and the end of the replay [s]."""
HARDWARE = "hardware"
STAMP_BEGIN = 4
"""Offset of the stamp in a serialized message with a header, after the four bytes of the encoding."""


class Replay(ABC):
    """Runs the requests of a plan on a simulation.

    Args:
        client: The connection to the graph, whose hardware node runs in lockstep.
        plan: The requests.
        joints: Names of the robot's joints, in the order of the plan's columns.

    Attributes:
        refusals: Refusals of the nodes, one line each.
        samples: Measured positions by tick, in the order of ``joints`` [rad or m].
    """

    def __init__(self, client: GraphClient, plan: ReplayPlan | OpenLoopPlan, joints: tuple[str, ...]) -> None:
        self._client, self._plan, self._joints = client, plan, joints
        self._simulation = Simulation(client.graph, ANSWER)
        self.refusals: list[str] = []
        self.samples: dict[int, list[float]] = {}
        self._period_ns = to_nanoseconds(plan.period)
        self._tick, self._origin = 0, -1
        self._publishers: dict[str, Any] = {}

    def prepare(self) -> None:
        """Wait for the nodes, stop the simulation's time, and set the first state.

        Raises:
            RobodynError: A node does not answer or refuses.
        """
        self._stand_still()
        self._set_state(self._plan.states[0])
        state = self._client.first_message(JointState, topic_names.JOINT_STATES, 1, "joint states", ANSWER)
        self._tick, self._origin = 0, read_stamp(state.header.stamp)
        for request in self._plan.requests:
            if (isinstance(request, RepeatedMessage) and not request.is_input
                    and request.topic not in self._publishers):
                self._publishers[request.topic] = self._client.publisher_to(
                    request.topic.partition("/")[0], message_class(request.type), request.topic, 10, ANSWER)

    def run(self, show: Callable[[int], None]) -> None:
        """Make all further requests at their ticks, until the end.

        Args:
            show: Called with the tick periodically.

        Raises:
            RobodynError: A node does not answer, or refuses a state, a swap or a motion.
        """
        for request in self._plan.requests[1:]:
            self._go_to(min(request.tick, self._plan.end), show)
            self._make(request)
        self._go_to(self._plan.end, show)

    @abstractmethod
    def _stand_still(self) -> None:
        """Wait until the simulation runs, and stop its time."""

    @abstractmethod
    def _go_to(self, tick: int, show: Callable[[int], None]) -> None:
        """Let time pass until a tick."""

    def _make(self, request: Request) -> None:
        match request:
            case SetState():
                self._set_state(request)
                self._tick += 1
            case SetParameter():
                try:
                    self._set_parameter(request.node, request.name, request.value)
                except RobodynError as error:
                    self.refusals.append(str(error))
            case RepeatedMessage():
                self._publish(request)

    def _set_state(self, request: SetState) -> None:
        positions, velocities = (dict(zip(self._joints, values.tolist(), strict=True))
                                 for values in (request.position, request.velocity))
        self._client.run(self._simulation.set_state(positions, velocities))

    def _set_parameter(self, node: str, name: str, value: Any) -> None:
        plain = list(value) if not isinstance(value, bool | int | float | str) else value
        result = self._client.set_parameters(node, {name: plain}, ANSWER)
        if not result.successful:
            raise RobodynError(f"node '{node}' refused {name} = {value}: {result.reason}")

    def _publish(self, request: RepeatedMessage) -> None:
        message = deserialize_message(request.data, message_class(request.type))
        set_stamp(message.header.stamp, 0)
        self._send(request.topic, message, request.topic.partition("/")[0])

    def _send(self, topic: str, message: Any, node: str) -> None:
        """Publish a message, and wait until a node has received it."""
        publisher = self._publishers[topic]
        publisher.publish(message)
        publisher.wait_for_all_acked()
        self._client.wait_until_served(node, ANSWER)

    def _tick_at(self, stamp: int) -> int:
        """Return the tick of a stamp [ns]; negative before the replay begins."""
        return round((stamp - self._origin) / self._period_ns) if self._origin >= 0 else -1

    def _note(self, tick: int, joints: list[str], positions: list[float]) -> None:
        """Store the measured positions of a tick."""
        values = dict(zip(joints, positions, strict=True))
        self.samples[tick] = [values[name] for name in self._joints]

    def report(self) -> list[str]:
        """Return lines about omitted requests and the distance from the recorded positions.

        Raises:
            RobodynError: No positions arrived at recorded ticks.
        """
        plan, recorded = self._plan, dict(zip(self._plan.ticks.tolist(), self._plan.position, strict=True))
        ticks = [tick for tick in self.samples if tick in recorded]
        if not ticks:
            raise RobodynError("no positions of the replay came at the recorded times: is the parameter "
                               "state_publish_rate of node 'controller' 0?")
        distances = np.abs([np.array(self.samples[tick]) - recorded[tick] for tick in ticks])
        worst, joint = np.unravel_index(distances.argmax(), distances.shape)
        how = (f"greatest distance from the recorded positions: {distances[worst, joint]:.3g} ({self._joints[joint]}, "
               f"at {ticks[worst] * plan.period:.3f} s)" if distances.any() else
               f"the positions at all {len(ticks)} compared times are the recorded ones, bit for bit")
        return [*(f"not repeated: {refusal}" for refusal in self.refusals),
                f"replayed {plan.end * plan.period:.3f} s of {plan.run.path}; {how}"]


class ClosedLoopReplay(Replay):
    """Lets controllers follow the recorded references; arguments as for :class:`Replay`.

    Args:
        voltage: Whether the controller commands voltages.
        controller: Name of the controller at the start; empty: the recorded one.
    """

    def __init__(self, client: GraphClient, plan: ReplayPlan, joints: tuple[str, ...], voltage: bool = False,
                 controller: str = "") -> None:
        super().__init__(client, plan, joints)
        self._inputs, self._first, self._of_law = plan.inputs, controller or plan.controller, set[str]()
        self._reads_motors = plan.reads_motors
        self._newest = -1
        self._message_type: type[Any] = VoltageCommands if voltage else JointState
        self._answers = unserved_subscription(
            client.node, self._message_type, topic_names.VOLTAGE_COMMANDS if voltage else topic_names.JOINT_COMMANDS,
            CONTROL_QOS)
        client.node.create_subscription(ControllerState, topic_names.CONTROLLER_STATE, self._on_state, 1000)
        self._action: Any = ActionClient(client.node, FollowJointTrajectory, topic_names.FOLLOW_JOINT_TRAJECTORY)

    def prepare(self) -> None:
        """As in `Replay`; also connect to the inputs of the first law."""
        super().prepare()
        self._open_inputs(self._first)

    def _stand_still(self) -> None:
        self._client.wait_for(self._action.server_is_ready, "node 'controller' with its action", START)
        self._client.run(self._simulation.pause(True))

    def _go_to(self, tick: int, show: Callable[[int], None]) -> None:
        """Step to a tick, and wait until the controller has answered its state."""
        while self._tick < tick:
            periods = min(STEPS, tick - self._tick)
            self._client.run(self._simulation.step(periods))
            self._tick += periods
            show(self._tick)
        stamp = self._origin + self._tick * self._period_ns
        self._client.wait_for(lambda: self._answered() >= stamp, "command of node 'controller'", ANSWER)

    def wait_for_end(self) -> None:
        """Wait for the last controller states.

        Raises:
            RobodynError: They do not arrive.
        """
        last = self._plan.end - LAST_SECONDS / self._plan.period
        self._client.wait_for(lambda: self.samples and max(self.samples) > last, "controller state", ANSWER)

    def _make(self, request: Request) -> None:
        match request:
            case PlannedSwap():
                self._set_parameter("controller", "controller", request.controller)
                self._open_inputs(request.controller)
            case RepeatedMessage(is_input=True):
                if request.topic in self._of_law:
                    self._send(request.topic, request.data, "controller")
            case ReferenceMotion():
                self._follow(request)
            case _:
                super()._make(request)

    def _open_inputs(self, controller: str) -> None:
        """Connect to the topics that a controller declares, and wait until it gets those that it reads."""
        topics = self._inputs.get(controller, {})
        for topic in self._of_law - topics.keys():
            self._client.node.destroy_publisher(self._publishers.pop(topic))
        for topic in topics.keys() - self._of_law:
            self._publishers[topic] = self._client.publisher_to("controller", message_class(topics[topic]), topic, 10,
                                                                ANSWER)
        self._of_law = set(topics)
        if controller in self._reads_motors:
            self._client.wait_for(lambda: self._client.subscribes("controller", topic_names.MOTOR_STATES),
                                  f"subscription of node 'controller' to {topic_names.MOTOR_STATES}", ANSWER)
            self._client.first_message(JointState, topic_names.MOTOR_STATES, 1, "motor states", ANSWER)

    def _answered(self) -> int:
        """Return the stamp of the newest command; the hardware repeats a state until it is answered."""
        with self._answers.handle:
            taken = self._answers.handle.take_message(self._message_type, False)
        if taken is not None:
            self._newest = read_stamp(taken[0].header.stamp)
        return self._newest

    def _follow(self, motion: ReferenceMotion) -> None:
        """Send a motion as a goal without tolerances, so that a refusal is answered."""
        goal = FollowJointTrajectory.Goal()
        goal.trajectory.joint_names = list(self._joints)
        goal.trajectory.points = to_trajectory_points(motion.points)
        goal.path_tolerance = goal.goal_tolerance = [
            JointTolerance(name=name, position=NO_TOLERANCE, velocity=NO_TOLERANCE) for name in self._joints]
        sent = self._action.send_goal_async(goal)
        self._client.wait_for(sent.done, "answer of node 'controller'", ANSWER)
        if not sent.result().accepted:
            raise RobodynError("node 'controller' rejected the references; its log says why")
        ended = sent.result().get_result_async()
        self._client.wait_until_served("controller", ANSWER)
        if ended.done() and ended.result().result.error_code != FollowJointTrajectory.Result.SUCCESSFUL:
            raise RobodynError(f"node 'controller' refused the references from {motion.tick * self._plan.period:.3f} s "
                               f"on: {ended.result().result.error_string}")

    def _on_state(self, message: ControllerState) -> None:
        if (tick := self._tick_at(read_stamp(message.header.stamp))) >= 0:
            self._note(tick, message.joint_names, message.feedback.positions)


class OpenLoopReplay(Replay):
    """Answers each joint state with the recorded commands of its tick; without an answer, time stands still.

    A tick without recorded commands is answered with those of the tick before. Arguments as for :class:`Replay`.
    """

    def __init__(self, client: GraphClient, plan: OpenLoopPlan, joints: tuple[str, ...]) -> None:
        super().__init__(client, plan, joints)
        self._open_loop = plan
        self._commands, self._last = plan.commands, plan.commands[min(plan.commands)]
        self._target = 0
        if plan.left_out:
            self.refusals.append(f"{plan.left_out} commands without a stamp")
        client.node.create_subscription(JointState, topic_names.JOINT_STATES, self._on_state, CONTROL_QOS)

    def report(self) -> list[str]:
        """Return lines about omitted or unrecorded data and the distance from the recorded positions."""
        missing, end = self._open_loop.missing, self._plan.end
        return [*([f"without a recorded command: {missing} of {end} control periods; the commands before were sent "
                   "again"] if missing else []), *super().report()]

    def _stand_still(self) -> None:
        types = {message.topic: message.type for messages in self._commands.values() for message in messages}
        for topic, kind in types.items():
            self._publishers[topic] = self._client.publisher_to(HARDWARE, message_class(kind), topic, 10, START)

    def _go_to(self, tick: int, show: Callable[[int], None]) -> None:
        self._target = tick
        self._answer()
        while (before := self._tick) < tick:
            self._client.wait_for(partial(self._is_at, min(before + STEPS, tick)), f"joint state of node '{HARDWARE}'",
                                  ANSWER)
            show(self._tick)

    def _is_at(self, tick: int) -> bool:
        return self._tick >= tick

    def _make(self, request: Request) -> None:
        if isinstance(request, SetState):
            self._set_state(request)
            self._client.wait_for(partial(self._is_at, request.tick + 1), "joint state after set_state", ANSWER)
        else:
            super()._make(request)

    def _on_state(self, message: JointState) -> None:
        tick = self._tick_at(read_stamp(message.header.stamp))
        if tick >= self._tick:  # the hardware repeats unanswered states
            self._tick = tick
            self._note(tick, message.name, message.position)
            self._answer()

    def _answer(self) -> None:
        """Send the commands of the present tick, unless time should stand still."""
        if self._tick >= self._target:
            return
        self._last = self._commands.get(self._tick, self._last)
        for command in self._last:
            self._publishers[command.topic].publish(self._with_stamp(command))

    def _with_stamp(self, command: RepeatedMessage) -> bytes:
        """Return a message with the stamp of the present tick."""
        data = bytearray(command.data)
        little_endian = data[1] & 1
        stamp = split_stamp(self._origin + self._tick * self._period_ns)
        struct.pack_into("<iI" if little_endian else ">iI", data, STAMP_BEGIN, *stamp)
        return bytes(data)
