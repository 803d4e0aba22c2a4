# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Simulate one motion under three control laws and print their errors. No ROS."""

from robodyn_ros import Robot, rollout
from robodyn_ros.trajectories import excursion

robot = Robot.named("arm6")
motion = excursion(robot)  # to one side, to the other, and back, within all limits

print("RMS error of each joint [mrad]")
for law in ("pd", "pd_gravity", "computed_torque"):
    result = rollout(robot, law, motion)  # law and robot are compiled into one function
    print(f"{law:>16}:", (1e3 * result.score.rms_error).round(2))
