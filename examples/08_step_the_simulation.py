# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Own the time: pause, put the arm somewhere, run 100 control periods, look. Needs: robodyn simulate --robot arm6."""

import sys
from collections.abc import Callable
from typing import Any

import rclpy
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool

from robodyn_interfaces.srv import SetState, Step

rclpy.init()
node = rclpy.create_node("stepper")
states: list[JointState] = []
node.create_subscription(JointState, "joint_states", states.append, 10)


def call(kind: type, name: str, **fields: object) -> Any:
    """Call a service of the simulated robot and return its answer."""
    client = node.create_client(kind, f"hardware/{name}")
    if not client.wait_for_service(timeout_sec=20.0):
        sys.exit("no hardware; does a graph run?")
    answer = client.call_async(kind.Request(**fields))
    rclpy.spin_until_future_complete(node, answer)
    if not answer.result().success:
        sys.exit(answer.result().message)
    return answer.result()


def state(condition: Callable[[JointState], bool]) -> JointState:
    """Return the first joint state that fulfils a condition; a paused robot repeats its state every 0.1 s."""
    while not (states and condition(states[-1])):
        rclpy.spin_once(node)
    return states[-1]


def elbow(message: JointState) -> float:
    """Position of the elbow [rad]."""
    return message.position[message.name.index("elbow_joint")]


call(SetBool, "pause", data=True)
call(SetState, "set_state", joint_names=["elbow_joint"], position=[1.0])
before = state(lambda message: abs(elbow(message) - 1.0) < 1e-9).header.stamp
now = call(Step, "step", steps=100).stamp
after = state(lambda message: message.header.stamp == now)
seconds = now.sec - before.sec + 1e-9 * (now.nanosec - before.nanosec)
print(f"{seconds:.3f} s of simulated time later the elbow is at {elbow(after):.4f} rad")
call(SetBool, "pause", data=False)
node.destroy_node()
rclpy.shutdown()
