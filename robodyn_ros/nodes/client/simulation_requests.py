# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Requests to the simulated hardware: time and state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from std_srvs.srv import SetBool, Trigger

from robodyn_interfaces.srv import SetState, Step
from robodyn_ros.base import topic_names
from robodyn_ros.nodes.client.graph import Graph

ANSWER = 10.0
"""Longest wait for an answer [s]."""
HARDWARE = "hardware"


class Simulation:
    """The node ``hardware``; each request returns its answer.

    Args:
        graph: The graph.
        seconds: Longest wait for the node [s].
    """

    def __init__(self, graph: Graph, seconds: float = ANSWER) -> None:
        self._graph, self._seconds = graph, seconds

    async def pause(self, paused: bool) -> str:
        """Pause the simulation or let it continue."""
        return await self._ask(SetBool, "pause", SetBool.Request(data=paused))

    async def reset(self) -> str:
        """Put the robot back to its initial state."""
        return await self._ask(Trigger, "reset", Trigger.Request())

    async def step(self, periods: int, seconds: float = ANSWER) -> str:
        """Run control periods of a paused simulation.

        Args:
            periods: How many.
            seconds: Longest wait for the answer [s].
        """
        return await self._ask(Step, "step", Step.Request(steps=periods), seconds)

    async def set_state(self, positions: Mapping[str, float], velocities: Mapping[str, float]) -> str:
        """Set positions and velocities of some joints; the other joints keep their positions, and stand still.

        Args:
            positions: Positions by joint [rad or m].
            velocities: Velocities by joint [rad/s or m/s].
        """
        from sensor_msgs.msg import JointState  # not before the other requests

        from robodyn_ros.nodes.common.topics import NEWEST_DEPTH

        names = list(dict.fromkeys([*positions, *velocities]))
        present: dict[str, float] = {}
        if missing := set(names) - set(positions):  # several nodes may publish joint states
            subscription = self._graph.node.create_subscription(
                JointState, topic_names.JOINT_STATES,
                lambda message: present.update(zip(message.name, message.position, strict=False)), NEWEST_DEPTH)
            try:
                await self._graph.wait_for(lambda: present.keys() >= missing,
                                           f"joint states of {', '.join(missing)}", ANSWER)
            finally:
                self._graph.node.destroy_subscription(subscription)
        return await self._ask(SetState, "set_state", SetState.Request(
            joint_names=names, position=[positions.get(name, present.get(name, 0.0)) for name in names],
            velocity=[velocities.get(name, 0.0) for name in names]))

    async def _ask(self, kind: Any, service: str, request: Any, seconds: float = ANSWER) -> str:
        return await self._graph.ask(kind, HARDWARE, service, request, self._seconds, seconds)
