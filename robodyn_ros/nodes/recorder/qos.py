# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Quality of service: how to subscribe so that publishers are heard, and how rosbag2 writes down what they offer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rclpy.duration import Duration
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy

from robodyn_ros.timing import NANOSECONDS_PER_SECOND

DEPTH = 2000
"""Messages that wait for the recorder, more than the fastest topic has between two of its looks."""


def qos_that_hears(offered: Sequence[QoSProfile]) -> QoSProfile:
    """Return the most demanding quality of service that all publishers fulfil."""
    reliable = all(each.reliability == ReliabilityPolicy.RELIABLE for each in offered)
    kept = all(each.durability == DurabilityPolicy.TRANSIENT_LOCAL for each in offered)
    return QoSProfile(
        history=HistoryPolicy.KEEP_LAST, depth=DEPTH,
        reliability=ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT,
        durability=DurabilityPolicy.TRANSIENT_LOCAL if kept else DurabilityPolicy.VOLATILE)


def as_rosbag2(qos: QoSProfile) -> dict[str, Any]:
    """Return a quality of service as rosbag2 writes it into metadata.yaml."""
    return {
        "history": qos.history.name.lower(), "depth": qos.depth, "reliability": qos.reliability.name.lower(),
        "durability": qos.durability.name.lower(), "deadline": _time(qos.deadline), "lifespan": _time(qos.lifespan),
        "liveliness": qos.liveliness.name.lower(),
        "liveliness_lease_duration": _time(qos.liveliness_lease_duration),
        "avoid_ros_namespace_conventions": qos.avoid_ros_namespace_conventions}


def _time(duration: Duration) -> dict[str, int]:
    sec, nsec = divmod(duration.nanoseconds, NANOSECONDS_PER_SECOND)
    return {"sec": sec, "nsec": nsec}
