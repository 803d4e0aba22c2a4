"""Own the time: pause, put the arm somewhere, run 100 control periods, look. Needs: robodyn simulate --robot arm6."""

import sys

import rclpy
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool

from robodyn_interfaces.srv import SetState, Step

rclpy.init()
node = rclpy.create_node("stepper")
states: list[JointState] = []
node.create_subscription(JointState, "joint_states", states.append, 10)


def call(kind: type, name: str, **fields: object) -> None:
    """Call a service of the simulated robot."""
    client = node.create_client(kind, f"hardware/{name}")
    if not client.wait_for_service(timeout_sec=20.0):
        sys.exit("no hardware; does a graph run?")
    answer = client.call_async(kind.Request(**fields))
    rclpy.spin_until_future_complete(node, answer)
    print(f"{name}: {'done' if answer.result().success else answer.result().message}")


def newest() -> JointState:
    """Return the next joint state that arrives."""
    states.clear()
    while not states:  # a paused robot repeats its state every 0.1 s
        rclpy.spin_once(node)
    return states[-1]


call(SetBool, "pause", data=True)
call(SetState, "set_state", joint_names=["elbow_joint"], position=[1.0])
before = newest()
call(Step, "step", steps=100)
after = newest()
seconds = after.header.stamp.sec - before.header.stamp.sec + 1e-9 * (
    after.header.stamp.nanosec - before.header.stamp.nanosec)
elbow = after.name.index("elbow_joint")
print(f"{seconds:.3f} s of simulated time later the elbow is at {after.position[elbow]:.4f} rad")
call(SetBool, "pause", data=False)
node.destroy_node()
rclpy.shutdown()
