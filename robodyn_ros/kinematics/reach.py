# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Size of a robot, for drawing things next to it."""

from __future__ import annotations

import numpy as np

from robodyn_ros.description.model import RobotModel


def reach(model: RobotModel) -> float:
    """Longest chain of joints from the base to the end of a link [m]: a measure of the robot's size.

    Prismatic joints add the travel of their limits, where these are finite.
    """
    lengths: list[float] = []
    for joint in model.joints:
        before = lengths[joint.parent] if joint.parent >= 0 else 0.0
        travel = max(abs(joint.limits.lower), abs(joint.limits.upper)) if joint.kind == "prismatic" else 0.0
        lengths.append(before + float(np.linalg.norm(joint.pose_parent_link[:3, 3]))
                       + (travel if np.isfinite(travel) else 0.0))
    ends = [float(np.linalg.norm(frame.pose_link_frame[:3, 3])) + (lengths[frame.joint] if frame.joint >= 0 else 0.0)
            for frame in model.frames.values()]
    return max(*ends, 1e-3)
