# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Requests to the simulated hardware: time, state and pushes."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
from geometry_msgs.msg import WrenchStamped
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool, Trigger

from robodyn_interfaces.srv import SetState, Step
from robodyn_ros.base import topic_names
from robodyn_ros.base.errors import RobodynError
from robodyn_ros.base.timing import to_nanoseconds
from robodyn_ros.description.model import Array
from robodyn_ros.nodes.client.graph_client import GraphClient
from robodyn_ros.nodes.common.messages import read_stamp
from robodyn_ros.nodes.common.poses import to_wrench
from robodyn_ros.nodes.common.topics import NEWEST_DEPTH

ANSWER, COMPILATION, STANDSTILL = 10.0, 30.0, 10.0
"""Longest waits for an answer, for the compilation of a wrench's function, and for simulated time to pass [s]."""
HARDWARE = "hardware"


class SimulationRequests:
    """The services and the wrench topic of the node ``hardware``.

    Args:
        client: The connection to the graph.
    """

    def __init__(self, client: GraphClient) -> None:
        self._client = client

    def pause(self, paused: bool) -> str:
        """Pause the simulation or let it continue, and return the answer."""
        return self._ask(SetBool, "pause", SetBool.Request(data=paused))

    def reset(self) -> str:
        """Put the robot back to its initial state, and return the answer."""
        return self._ask(Trigger, "reset", Trigger.Request())

    def step(self, periods: int, seconds: float) -> str:
        """Run control periods of a paused simulation, and return the answer.

        Args:
            periods: How many.
            seconds: Longest wait for the answer [s].
        """
        return self._ask(Step, "step", Step.Request(steps=periods), seconds)

    def set_state(self, positions: Mapping[str, float], velocities: Mapping[str, float], seconds: float = ANSWER
                  ) -> str:
        """Set positions and velocities of some joints; the other joints keep their positions, and stand still.

        Args:
            positions: Positions by joint [rad or m].
            velocities: Velocities by joint [rad/s or m/s].
            seconds: Longest wait for the answer [s].

        Returns:
            The answer.
        """
        names = list(dict.fromkeys([*positions, *velocities]))
        present = self.joint_positions(set(names) - set(positions))
        request = SetState.Request(
            joint_names=names, position=[positions.get(name, present.get(name, 0.0)) for name in names],
            velocity=[velocities.get(name, 0.0) for name in names])
        return self._ask(SetState, "set_state", request, seconds)

    def joint_positions(self, names: Collection[str]) -> dict[str, float]:
        """Return measured positions of these joints [rad or m], which several nodes may publish.

        Raises:
            RobodynError: Joint states of some of them do not arrive.
        """
        found: dict[str, float] = {}
        if not names:
            return found
        subscription = self._client.node.create_subscription(
            JointState, topic_names.JOINT_STATES,
            lambda message: found.update(zip(message.name, message.position, strict=False)), NEWEST_DEPTH)
        try:
            self._client.wait_for(lambda: found.keys() >= set(names), f"joint states of {', '.join(names)}", ANSWER)
        finally:
            self._client.node.destroy_subscription(subscription)
        return found

    def push(self, link: str, wrench: Array, duration: float) -> None:
        """Push a link for some time.

        Args:
            link: The link.
            wrench: Force and torque in the link's axes, shape (6,) [N, N m].
            duration: Simulated duration [s]; 0: until the next push.

        Raises:
            RobodynError: No node accepts wrenches, or simulated time does not pass.
        """
        publisher = self._client.publisher_to(HARDWARE, WrenchStamped, f"{HARDWARE}/external_wrench", 10, ANSWER)
        try:
            # The node compiles a function at the first wrench on a link.
            self._send(publisher, link, np.zeros(6))
            self._client.wait_until_served(HARDWARE, COMPILATION)
            self._send(publisher, link, wrench)
            if duration > 0.0:
                try:
                    self._wait_simulated(duration)
                finally:
                    self._send(publisher, link, np.zeros(6))
        finally:
            self._client.node.destroy_publisher(publisher)

    def _send(self, publisher: Any, link: str, wrench: Array) -> None:
        message = WrenchStamped(wrench=to_wrench(wrench))
        message.header.frame_id = link
        publisher.publish(message)
        publisher.wait_for_all_acked()

    def _wait_simulated(self, duration: float) -> None:
        states: list[JointState] = []
        node = self._client.node
        subscription = node.create_subscription(JointState, topic_names.JOINT_STATES, states.append, 1)
        try:
            self._client.wait_for(lambda: states, "joint states", ANSWER)
            end = read_stamp(states[0].header.stamp) + to_nanoseconds(duration)

            def passed() -> bool:
                last = states[-1]
                del states[:-1]
                return read_stamp(last.header.stamp) >= end

            self._client.wait_for(passed, f"end of {duration:g} s of simulated time (is it paused?)",
                                  STANDSTILL + 20.0 * duration)
        finally:
            node.destroy_subscription(subscription)

    def next_state(self) -> JointState:
        """Return the next joint state.

        Raises:
            RobodynError: None arrives.
        """
        return self._client.first_message(JointState, topic_names.JOINT_STATES, 1, "joint states", ANSWER)

    def _ask(self, kind: Any, service: str, request: Any, seconds: float = ANSWER) -> str:
        answer = self._client.call(kind, HARDWARE, service, request, seconds)
        if not answer.success:
            raise RobodynError(f"node '{HARDWARE}' refused {service}: {answer.message}")
        return str(answer.message)
