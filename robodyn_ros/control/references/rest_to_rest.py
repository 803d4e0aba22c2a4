# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Duration of a motion from rest to rest that a person can watch."""

from __future__ import annotations

import numpy as np

from robodyn_ros.control.references.quintic import PEAK_SPEED
from robodyn_ros.description.model import Array, RobotModel
from robodyn_ros.kinematics.turns import shortest

SPEED_SHARE, ANGULAR_SPEED, LINEAR_SPEED = 0.5, 1.5, 0.3
"""Joints use this share of their velocity limits, and at most these speeds [rad/s, m/s]."""
LEAST_DURATION = 0.25


def rest_to_rest_duration(model: RobotModel, start: Array, end: Array) -> float:
    """Return how long joints take from rest at one position to rest at another, on one quintic each [s].

    Args:
        model: The robot, of n joints.
        start: Shape (n,) [rad or m].
        end: Likewise; continuous joints go the short way.
    """
    prismatic = np.array([joint.kind == "prismatic" for joint in model.leaders])
    speeds = np.minimum(SPEED_SHARE * model.velocity_limit, np.where(prismatic, LINEAR_SPEED, ANGULAR_SPEED))
    distance = np.abs(shortest(end - start, model.angles))
    return max(LEAST_DURATION, PEAK_SPEED * float(np.max(distance / np.maximum(speeds, 1e-3), initial=0.0)))
