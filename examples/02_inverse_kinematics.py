# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Where must the joints be for the tip to be there? And a pose out of reach. No ROS."""

import numpy as np

from robodyn_ros import Robot

robot = Robot.named("arm6")
dynamics = robot.dynamics()
start = np.array([0.0, -1.2, 1.5, -1.9, -1.57, 0.0])  # [rad]

target = dynamics.forward_kinematics(start)            # pose of the tip link in the base frame, (4, 4)
target[:3, 3] += [0.05, 0.10, -0.05]                   # the same orientation, elsewhere [m]

found = robot.inverse_kinematics(target, q_start=start)
print("reached:", found.success, "after", found.iterations, "steps; joints [rad]:", found.q.round(3))

target[:3, 3] = [3.0, 0.0, 0.0]
far = robot.inverse_kinematics(target, q_start=start)
print("reached:", far.success, "-", far.reason)
