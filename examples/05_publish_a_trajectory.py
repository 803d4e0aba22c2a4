# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""A node that publishes a trajectory and watches the joints. Needs a graph: robodyn simulate --robot arm6."""

import sys

import rclpy
from builtin_interfaces.msg import Duration
from rclpy.node import Node
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

JOINT, GOAL, REPEAT, PATIENCE = "elbow_joint", 0.5, 2.0, 20.0  # [rad], [s], [s]


class Mover(Node):
    """Publishes a trajectory every 2 s until the joint is there: a controller that has just begun may refuse one."""

    def __init__(self) -> None:
        super().__init__("mover")
        self.arrived = False
        self._publisher = self.create_publisher(JointTrajectory, "controller/joint_trajectory", 10)
        self.create_subscription(JointState, "joint_states", self._on_state, 10)
        self.create_timer(REPEAT, self._publish)

    def _publish(self) -> None:
        point = JointTrajectoryPoint(positions=[GOAL], time_from_start=Duration(sec=1))
        self._publisher.publish(JointTrajectory(joint_names=[JOINT], points=[point]))

    def _on_state(self, state: JointState) -> None:
        position = dict(zip(state.name, state.position, strict=True))[JOINT]
        if abs(position - GOAL) < 0.05 and not self.arrived:
            print(f"{JOINT} is at {position:.3f} rad")
            self.arrived = True


rclpy.init()
node = Mover()
end = node.get_clock().now().nanoseconds + PATIENCE * 1e9
while not node.arrived and node.get_clock().now().nanoseconds < end:
    rclpy.spin_once(node, timeout_sec=0.5)
arrived = node.arrived
node.destroy_node()
rclpy.shutdown()
sys.exit(0 if arrived else "the joint did not arrive; does a graph run?")
