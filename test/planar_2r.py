# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The planar 2R chain of [LynchPark] 9.1.1: point masses at the ends of two links, gravity along -y."""

import numpy as np

from robodyn_ros.description.model import Frame, Inertia, Joint, RobotModel

MASSES = (2.0, 1.5)
LENGTHS = (0.7, 0.4)
GRAVITY = 9.81


def planar_2r() -> RobotModel:
    """The chain; its tip is the second point mass."""
    joints, position = [], 0.0
    for index, (mass, length) in enumerate(zip(MASSES, LENGTHS, strict=True)):
        pose = np.eye(4)
        pose[0, 3] = position
        inertia = Inertia(mass, np.array([length, 0.0, 0.0]), np.zeros((3, 3)))
        axis = np.array([0.0, 0.0, 1.0])
        joints.append(Joint(f"joint{index + 1}", f"link{index + 1}", "revolute", index - 1, pose, axis, inertia, index))
        position = length
    end = np.eye(4)
    end[0, 3] = LENGTHS[1]
    frames = {
        "base": Frame("base", -1, np.eye(4)),
        "link1": Frame("link1", 0, np.eye(4)),
        "link2": Frame("link2", 1, np.eye(4)),
        "tip": Frame("tip", 1, end),
    }
    gravity = np.array([0.0, -GRAVITY, 0.0])
    return RobotModel("planar_2r", tuple(joints), ("joint1", "joint2"), frames, "base", "tip", gravity)
