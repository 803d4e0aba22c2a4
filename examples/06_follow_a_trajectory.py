# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""An action client, as MoveIt is one: a goal, its feedback and its result. Needs: robodyn simulate --robot arm6."""

import sys

import rclpy
from builtin_interfaces.msg import Duration
from control_msgs.action import FollowJointTrajectory
from rclpy.action import ActionClient
from trajectory_msgs.msg import JointTrajectoryPoint

rclpy.init()
node = rclpy.create_node("follower")
client = ActionClient(node, FollowJointTrajectory, "controller/follow_joint_trajectory")
if not client.wait_for_server(timeout_sec=20.0):
    sys.exit("no controller; does a graph run?")

goal = FollowJointTrajectory.Goal()
goal.trajectory.joint_names = ["shoulder_pan_joint", "wrist_1_joint"]  # the others stay where they are
for time, positions in ((1, [0.4, -0.3]), (2, [0.0, 0.0])):
    goal.trajectory.points.append(JointTrajectoryPoint(positions=positions, time_from_start=Duration(sec=time)))


def feedback(message: object) -> None:
    """Print the position and its error."""
    sample = message.feedback  # type: ignore[attr-defined]
    print(f"{sample.actual.positions[0]:7.3f} rad, error {sample.error.positions[0]:9.5f}")


accepted = client.send_goal_async(goal, feedback_callback=feedback)
rclpy.spin_until_future_complete(node, accepted)
ended = accepted.result().get_result_async()
rclpy.spin_until_future_complete(node, ended)
result = ended.result().result
print("result:", result.error_code, result.error_string)
client.destroy()
node.destroy_node()
rclpy.shutdown()
sys.exit(result.error_code)
