# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Ask the node `dynamics`, from any language: torques and the pose of the tip. Needs: robodyn simulate --robot arm6."""

import sys

import rclpy

from robodyn_interfaces.srv import ForwardKinematics, InverseDynamics

rclpy.init()
node = rclpy.create_node("asker")


def ask(kind: type, name: str, **fields: object) -> object:
    """Call a service and return its answer."""
    client = node.create_client(kind, f"dynamics/{name}")
    if not client.wait_for_service(timeout_sec=20.0):
        sys.exit("no dynamics; does a graph run?")
    answer = client.call_async(kind.Request(**fields))
    rclpy.spin_until_future_complete(node, answer)
    if not answer.result().success:
        sys.exit(answer.result().message)
    return answer.result()


q = [0.0, -1.2, 1.5, -1.9, -1.57, 0.0]  # joints in the order of the robot [rad]
torques = ask(InverseDynamics, "inverse_dynamics", position=q)  # at rest: gravity
for joint, effort in zip(torques.joint_names, torques.effort, strict=True):
    print(f"{joint:>20}: {effort:8.3f} N m")
place = ask(ForwardKinematics, "forward_kinematics", position=q).pose
print(f"tip in {place.header.frame_id}: {place.pose.position.x:.3f} {place.pose.position.y:.3f} "
      f"{place.pose.position.z:.3f} m")
node.destroy_node()
rclpy.shutdown()
