# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Touch over DDS: the simulated force and torque sensor, and the law `force`, which presses a wall out of the box."""

import numpy as np
import pytest
import yaml
from geometry_msgs.msg import WrenchStamped
from ros_process import RosProcess
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

from robodyn_ros import Robot
from robodyn_ros.description.resources import robot_file
from robodyn_ros.nodes.common.poses import to_wrench

ARM = Robot.from_urdf(robot_file("arm6"))
BENT = np.array([0.0, -1.2, 1.4, -1.6, -1.2, 0.0])
STIFFNESS, RADIUS, BIAS = 1e4, 0.01, np.array([3.0, 0.0, -2.0, 0.0, 0.1, 0.0])
TOOL = {"tool_mass": 0.5, "tool_center_of_mass": [0.0, 0.02, 0.05]}


@pytest.fixture(scope="module")
def touching(tmp_path_factory, ros):
    """Topics of an arm that faces a wall, 2 cm away along -x, with a biased sensor that bears a tool."""
    x = float(ARM.dynamics().forward_kinematics(BENT)[0, 3]) - 0.02
    file = tmp_path_factory.mktemp("touch") / "wall.yaml"
    file.write_text(yaml.safe_dump({"surfaces": {"wall": {
        "shape": "plane", "normal": [1, 0, 0], "position": [x, 0, 0], "stiffness": STIFFNESS}}}))
    start = {f"initial_position.{name}": float(q) for name, q in zip(ARM.joint_names, BENT, strict=True)}
    sensor = {f"force_torque_sensor.{name}": value for name, value in (TOOL | {"bias": BIAS.tolist()}).items()}
    hardware = {"robot": "arm6", "time_mode": "lockstep", "lockstep_speed_limit": 2.0, "world": str(file), **start,
                **sensor}
    law = {"robot": "arm6", "controller": "computed_torque", "force.force_axes": "x",
           **{f"wrench_sensor.{name}": value for name, value in TOOL.items()}}
    wrenches = ros.record(WrenchStamped, "/touch/force_torque_sensor_broadcaster/wrench", 1000)
    states = ros.record(JointState, "/touch/joint_states", 1000)
    with RosProcess("controller", law, "/touch") as controller, RosProcess("hardware", hardware, "/touch") as node:
        ros.wait_for(lambda: len(wrenches) > 20 and states, "measurements", 120.0)
        yield wrenches, states, x
        node.stop()
        controller.stop()


def of_message(message):
    force, torque = message.wrench.force, message.wrench.torque
    return np.array([force.x, force.y, force.z, torque.x, torque.y, torque.z])


def test_a_free_sensor_shows_bias_and_the_weight_of_its_tool_until_tare_and_force_presses(ros, touching):
    wrenches, states, x = touching
    pose = ARM.dynamics().forward_kinematics(np.array(states[-1].position))
    weight = pose[:3, :3].T @ [0.0, 0.0, -9.81 * TOOL["tool_mass"]]
    reading = of_message(wrenches[-1])
    np.testing.assert_allclose([of_message(message) for message in wrenches], [reading] * len(wrenches), atol=1e-2)
    assert wrenches[-1].header.frame_id == "tool0"
    np.testing.assert_allclose(reading[:3], weight + BIAS[:3], atol=1e-3)
    np.testing.assert_allclose(reading[3:], np.cross(TOOL["tool_center_of_mass"], weight) + BIAS[3:], atol=1e-3)
    assert ros.call(Trigger, "/touch/hardware/tare").success
    ros.wait_for(lambda: np.abs(of_message(wrenches[-1])).max() < 1e-2, "measurements after the tare")

    # After the tare the weight is gone, so the controller removes none.
    assert ros.set_parameters("/touch/controller", {"wrench_sensor.tool_mass": 0.0, "controller": "force"}).successful
    push = WrenchStamped(wrench=to_wrench(np.array([-10.0, 0.0, 0.0, 0.0, 0.0, 0.0])))
    push.header.frame_id = "base_link"
    ros.publisher(WrenchStamped, "/touch/controller/wrench", 1).publish(push)

    def force():
        q = np.array(states[-1].position)
        turn = ARM.dynamics().forward_kinematics(q)[:3, :3]
        return (turn @ of_message(wrenches[-1])[:3])[0], STIFFNESS * (x + RADIUS - tip(q)[0])

    def tip(q):
        return ARM.dynamics().forward_kinematics(q)[:3, 3]

    def steady():
        turn = ARM.dynamics().forward_kinematics(np.array(states[-1].position))[:3, :3]
        recent = np.array([turn[0] @ of_message(message)[:3] for message in wrenches[-200:]])
        return np.abs([*recent, *force()] - np.float64(10.0)).max() < 0.15

    ros.wait_for(steady, "10 N on the wall", 60.0)
    begin, seen = len(wrenches), []
    ros.wait_for(lambda: seen.append(force()) or len(wrenches) > begin + 500, "a second of pressing", 60.0)
    seen = np.array(seen)
    assert np.abs(seen - 10.0).max() < 0.2  # 2 %, by the sensor and by the depth in the wall
