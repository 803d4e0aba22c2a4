# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Topic ``~/applied_wrench``: the external wrenches that act on the robot, for displays such as RViz."""

from __future__ import annotations

import numpy as np
from geometry_msgs.msg import WrenchStamped

from robodyn_ros.base import topic_names
from robodyn_ros.nodes.common.messages import set_stamp
from robodyn_ros.nodes.common.poses import to_wrench
from robodyn_ros.nodes.common.runtime import RobodynNode
from robodyn_ros.nodes.hardware.plant_loop import PlantLoop

PERIOD = 0.1
"""Time between two messages about one link [s]."""


class AppliedWrenches:
    """Publishes each wrench in the axes of its link, and zeros once it has ended; the executor does this.

    Args:
        node: The node that publishes.
        loop: The loop that applies the wrenches.
        frame_prefix: Prefix of tf frames.
    """

    def __init__(self, node: RobodynNode, loop: PlantLoop, frame_prefix: str) -> None:
        self._loop, self._prefix = loop, frame_prefix
        self._publisher = node.create_publisher(WrenchStamped, topic_names.own(topic_names.APPLIED_WRENCH), 10)
        self._shown: set[str] = set()
        self._timer = node.create_steady_timer(PERIOD, self._publish)
        self._timer.cancel()

    def show(self) -> None:
        """Publish from now on until no wrench is in force; until then, the timer would only cost time."""
        self._timer.reset()

    def _publish(self) -> None:
        wrenches = self._loop.wrenches.in_force()
        for link in self._shown - wrenches.keys():
            wrenches[link] = np.zeros(6)
        self._shown = {link for link, wrench in wrenches.items() if wrench.any()}
        for link, wrench in wrenches.items():
            message = WrenchStamped(wrench=to_wrench(wrench))
            message.header.frame_id = self._prefix + link
            set_stamp(message.header.stamp, self._loop.stamp)
            self._publisher.publish(message)
        if not wrenches:
            self._timer.cancel()
