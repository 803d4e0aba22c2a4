"""Repeats a recording on a simulation in lockstep, by the topics, services and parameters of its nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from control_msgs.action import FollowJointTrajectory
from control_msgs.msg import JointTolerance
from rclpy.action import ActionClient
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectoryPoint

from robodyn_interfaces.msg import ControllerState, VoltageCommands
from robodyn_ros.description.model import Array
from robodyn_ros.errors import RobodynError
from robodyn_ros.nodes.client.graph_client import GraphClient
from robodyn_ros.nodes.client.simulation_requests import SimulationRequests
from robodyn_ros.nodes.common.messages import read_stamp, set_stamp
from robodyn_ros.nodes.common.topics import CONTROL_QOS, unserved_subscription
from robodyn_ros.nodes.recorder.definitions import message_class
from robodyn_ros.recording.replay_plan import ReferenceMotion, RepeatedMessage, ReplayPlan, SetParameter, SetState, Swap
from robodyn_ros.timing import to_nanoseconds

ANSWER, START = 30.0, 60.0
"""Longest waits for an answer, and for the nodes to start [s]."""
STEPS = 250
"""Most control periods in one request."""
NO_TOLERANCE = -1.0


class Replay:
    """Steps a simulation through the requests of a plan.

    Args:
        client: The connection to the graph, whose nodes run in lockstep.
        plan: The requests.
        joints: Names of the robot's joints, in the order of the plan's columns.
        voltage: Whether the controller commands voltages.

    Attributes:
        refusals: What the nodes refused, one line each.
        samples: Tick and measured positions of each controller state that came, in the order of ``joints``.
    """

    def __init__(self, client: GraphClient, plan: ReplayPlan, joints: tuple[str, ...], voltage: bool = False) -> None:
        self._client, self._plan, self._joints = client, plan, joints
        self._simulation = SimulationRequests(client)
        self.refusals: list[str] = []
        self.samples: list[tuple[int, list[float]]] = []
        self._period_ns = to_nanoseconds(plan.period)
        self._tick, self._origin, self._newest = 0, -1, -1
        self._message_type: type[Any] = VoltageCommands if voltage else JointState
        self._answers = unserved_subscription(
            client.node, self._message_type, "voltage_commands" if voltage else "joint_commands", CONTROL_QOS)
        self._publishers: dict[str, Any] = {}
        client.node.create_subscription(ControllerState, "controller/controller_state", self._on_state, 1000)
        self._action: Any = ActionClient(client.node, FollowJointTrajectory, "controller/follow_joint_trajectory")

    def prepare(self) -> None:
        """Pause the simulation, and put the robot into the first state.

        Raises:
            RobodynError: A node does not answer or refuses.
        """
        self._client.wait_for(self._action.server_is_ready, "node 'controller' with its action", START)
        self._simulation.pause(True)
        for request in self._plan.requests[:1]:
            assert isinstance(request, SetState)
            self._set_state(request)
        state = self._simulation.next_state()
        self._tick, self._origin = 0, read_stamp(state.header.stamp)
        topics = {request.topic: request.type for request in self._plan.requests
                  if isinstance(request, RepeatedMessage)}
        for topic, type_name in topics.items():
            node, _, name = topic.partition("/")
            self._publishers[topic] = self._client.publisher_to(node, message_class(type_name), name, 10, ANSWER)

    def run(self, show: Callable[[int], None]) -> None:
        """Make all further requests in their ticks, and step to the end.

        Args:
            show: Called with the tick from time to time.

        Raises:
            RobodynError: A node does not answer, or refuses a state, a swap or a motion.
        """
        for request in self._plan.requests[1:]:
            self._step_to(min(request.tick, self._plan.end), show)
            match request:
                case SetState():
                    self._set_state(request)
                    self._tick += 1
                case Swap():
                    self._set_parameter("controller", "controller", request.controller)
                case SetParameter():
                    try:
                        self._set_parameter(request.node, request.name, request.value)
                    except RobodynError as error:
                        self.refusals.append(str(error))
                case ReferenceMotion():
                    self._follow(request)
                case RepeatedMessage():
                    self._publish(request)
        self._step_to(self._plan.end, show)

    def _step_to(self, tick: int, show: Callable[[int], None]) -> None:
        """Step to a tick, and wait until the controller has answered its state."""
        while self._tick < tick:
            periods = min(STEPS, tick - self._tick)
            self._simulation.step(periods, ANSWER)
            self._tick += periods
            show(self._tick)
        stamp = self._origin + self._tick * self._period_ns
        self._client.wait_for(lambda: self._answered() >= stamp, "command of node 'controller'", ANSWER)

    def _answered(self) -> int:
        """Return the stamp of the newest command; the last state is repeated until it is answered."""
        with self._answers.handle:
            taken = self._answers.handle.take_message(self._message_type, False)
        if taken is not None:
            self._newest = read_stamp(taken[0].header.stamp)
        return self._newest

    def _set_state(self, request: SetState) -> None:
        positions, velocities = (dict(zip(self._joints, values.tolist(), strict=True))
                                 for values in (request.position, request.velocity))
        self._simulation.set_state(positions, velocities, ANSWER)

    def _set_parameter(self, node: str, name: str, value: Any) -> None:
        plain = list(value) if not isinstance(value, bool | int | float | str) else value
        result = self._client.set_parameters(node, {name: plain}, ANSWER)
        if not result.successful:
            raise RobodynError(f"node '{node}' refused {name} = {value}: {result.reason}")

    def _follow(self, motion: ReferenceMotion) -> None:
        """Send a motion as a goal without tolerances: an answer then tells if it is refused."""
        goal, points = FollowJointTrajectory.Goal(), motion.points
        goal.trajectory.joint_names = list(self._joints)
        for seconds, q, v, a in zip(points.times, points.q, points.v, points.a, strict=True):
            point = JointTrajectoryPoint(positions=q.tolist(), velocities=v.tolist(), accelerations=a.tolist())
            set_stamp(point.time_from_start, to_nanoseconds(seconds))
            goal.trajectory.points.append(point)
        goal.path_tolerance = goal.goal_tolerance = [
            JointTolerance(name=name, position=NO_TOLERANCE, velocity=NO_TOLERANCE) for name in self._joints]
        sent = self._action.send_goal_async(goal)
        self._client.wait_for(sent.done, "answer of node 'controller'", ANSWER)
        ended = sent.result().get_result_async()
        self._client.wait_until_served("controller", ANSWER)
        if ended.done() and ended.result().result.error_code != FollowJointTrajectory.Result.SUCCESSFUL:
            raise RobodynError(f"node 'controller' refused the references from {motion.tick * self._plan.period:.3f} s "
                               f"on: {ended.result().result.error_string}")

    def _publish(self, request: RepeatedMessage) -> None:
        message = deserialize_message(request.data, message_class(request.type))
        set_stamp(message.header.stamp, 0)
        publisher = self._publishers[request.topic]
        publisher.publish(message)
        publisher.wait_for_all_acked()
        self._client.wait_until_served(request.topic.partition("/")[0], ANSWER)

    def _on_state(self, message: ControllerState) -> None:
        since = read_stamp(message.header.stamp) - self._origin
        if self._origin >= 0 and since >= 0:
            values = dict(zip(message.joint_names, message.feedback.positions, strict=True))
            self.samples.append((round(since / self._period_ns), [values[name] for name in self._joints]))

    def deviations(self) -> tuple[Array, Array]:
        """Compare the positions at the K ticks of which both motions have samples.

        Returns:
            Ticks, shape (K,); replayed minus recorded positions, shape (K, n) [rad or m].

        Raises:
            RobodynError: There are none.
        """
        recorded = dict(zip(self._plan.ticks.tolist(), self._plan.position, strict=True))
        both = [(tick, np.array(q) - recorded[tick]) for tick, q in self.samples if tick in recorded]
        if not both:
            raise RobodynError("the controller node published no controller state during the replay")
        return np.array([tick for tick, _ in both]), np.array([difference for _, difference in both])
