# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Pushes of a link of the simulated robot."""

from __future__ import annotations

from geometry_msgs.msg import WrenchStamped
from sensor_msgs.msg import JointState

from robodyn_ros.base import topic_names
from robodyn_ros.base.timing import to_nanoseconds
from robodyn_ros.description.model import Array
from robodyn_ros.nodes.client.graph_client import GraphClient
from robodyn_ros.nodes.client.simulation_requests import ANSWER, HARDWARE
from robodyn_ros.nodes.common.messages import read_stamp
from robodyn_ros.nodes.common.poses import to_wrench

COMPILATION, STANDSTILL = 30.0, 10.0
"""Longest waits for the compilation of a wrench's function, and for simulated time to pass [s]."""


def push(client: GraphClient, link: str, wrench: Array, duration: float) -> None:
    """Push a link for some time.

    Args:
        client: The connection to the graph.
        link: The link.
        wrench: Force and torque in the link's axes, shape (6,) [N, N m].
        duration: Simulated duration [s]; 0: until the next push.

    Raises:
        RobodynError: No node accepts wrenches, or simulated time does not pass.
    """
    def send(value: Array) -> None:
        message = WrenchStamped(wrench=to_wrench(value))
        message.header.frame_id = link
        publisher.publish(message)
        publisher.wait_for_all_acked()

    publisher = client.publisher_to(HARDWARE, WrenchStamped, f"{HARDWARE}/external_wrench", 10, ANSWER)
    try:
        send(0.0 * wrench)  # the node compiles a function at the first wrench on a link
        client.wait_until_served(HARDWARE, COMPILATION)
        send(wrench)
        if duration > 0.0:
            try:
                _wait_simulated(client, duration)
            finally:
                send(0.0 * wrench)
    finally:
        client.node.destroy_publisher(publisher)


def _wait_simulated(client: GraphClient, duration: float) -> None:
    states: list[JointState] = []
    with client.subscribed(JointState, topic_names.JOINT_STATES, states.append, 1):
        client.wait_for(lambda: states, "joint states", ANSWER)
        end = read_stamp(states[0].header.stamp) + to_nanoseconds(duration)

        def passed() -> bool:
            last = states[-1]
            del states[:-1]
            return read_stamp(last.header.stamp) >= end

        client.wait_for(passed, f"end of {duration:g} s of simulated time (is it paused?)",
                        STANDSTILL + 20.0 * duration)
