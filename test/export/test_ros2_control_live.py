# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Exported packages in a real controller manager, on the simulated robot behind topics."""

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import yaml

from robodyn_ros import Robot
from robodyn_ros.control.registry import make_controller
from robodyn_ros.export import ros2_control_package, write_new
from robodyn_ros.resources import robot_file

rclpy = pytest.importorskip("rclpy")

PREFIXES = [Path(prefix) for prefix in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep) if prefix]
MANAGER = next((path for prefix in PREFIXES
                if (path := prefix / "lib" / "controller_manager" / "ros2_control_node").exists()), None)

pytestmark = [pytest.mark.long, pytest.mark.ros,
              pytest.mark.skipif(MANAGER is None, reason="ros2_control is not installed")]

RATE, DEADLINE = 200, 120.0
LAWS = ("computed_torque", "pd_gravity")
COLCON = (sys.executable, "-c", "import sys; from colcon_core.command import main; sys.exit(main())")


def description(robot_text, joints):
    """A URDF with the hardware component of ros2_control."""
    rows = "".join(f'<joint name="{joint}"><command_interface name="effort"/><state_interface name="position"/>'
                   f'<state_interface name="velocity"/></joint>' for joint in joints)
    component = ('<ros2_control name="arm" type="system"><hardware><plugin>joint_state_topic_hardware_interface/'
                 'JointStateTopicSystem</plugin><param name="joint_commands_topic">/joint_commands</param>'
                 '<param name="joint_states_topic">/joint_states</param>'
                 '<param name="trigger_joint_command_threshold">-1</param></hardware>' + rows + "</ros2_control>")
    return robot_text.replace("</robot>", component + "</robot>")


class Client:
    """Talks to the manager and watches the robot."""

    def __init__(self, robot):
        from controller_manager_msgs import srv
        from rclpy.qos import DurabilityPolicy, QoSProfile, qos_profile_sensor_data
        from sensor_msgs.msg import JointState
        from std_msgs.msg import String

        rclpy.init()
        self.robot, self.srv = robot, srv
        self.node = rclpy.create_node("client")
        self.q = self.v = None
        self.node.create_subscription(JointState, "/joint_states", self._on_state, qos_profile_sensor_data)
        latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        self._description = self.node.create_publisher(String, "/robot_description", latched)
        self._description.publish(String(data=description(robot_file("planar_2r").read_text(), robot.joint_names)))

    def _on_state(self, message):
        order = [message.name.index(name) for name in self.robot.joint_names]
        self.q, self.v = (np.array(values)[order] for values in (message.position, message.velocity))

    def wait(self, condition, what, timeout=DEADLINE):
        end = time.monotonic() + timeout
        while not condition():
            assert time.monotonic() < end, f"not {what} in {timeout} s: q = {self.q}, v = {self.v}"
            rclpy.spin_once(self.node, timeout_sec=0.05)

    def call(self, kind, name, **fields):
        client = self.node.create_client(kind, name)
        assert client.wait_for_service(DEADLINE), name
        future = client.call_async(kind.Request(**fields))
        self.wait(future.done, f"answered by {name}")
        self.node.destroy_client(client)
        return future.result()

    def manage(self, kind, **fields):
        service = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in kind).lstrip("_")
        answer = self.call(getattr(self.srv, kind), f"/controller_manager/{service}", **fields)
        assert answer.ok, (kind, fields)

    def switch(self, activate=(), deactivate=()):
        self.manage("SwitchController", activate_controllers=list(activate), deactivate_controllers=list(deactivate),
                    strictness=self.srv.SwitchController.Request.STRICT, activate_asap=True)

    def move(self, controller, goal, seconds=2.0):
        from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

        publisher = self.node.create_publisher(JointTrajectory, f"/{controller}/joint_trajectory", 1)
        self.wait(lambda: publisher.get_subscription_count() > 0, "subscribed")
        message = JointTrajectory(joint_names=list(self.robot.joint_names))
        point = JointTrajectoryPoint(positions=list(map(float, goal)))
        point.time_from_start.sec, point.time_from_start.nanosec = int(seconds), int(1e9 * (seconds % 1.0))
        message.points = [point]
        publisher.publish(message)
        return publisher

    def set_parameter(self, node, name, value):
        from rcl_interfaces.srv import SetParameters

        parameter = rclpy.parameter.Parameter(name, value=value).to_parameter_msg()
        return self.call(SetParameters, f"/{node}/set_parameters", parameters=[parameter]).results[0].successful

    def close(self):
        self.node.destroy_node()
        rclpy.shutdown()


@pytest.fixture
def rig(tmp_path):
    robot = Robot.from_urdf(robot_file("planar_2r")).with_timing(1.0 / RATE)
    for name in LAWS:
        write_new(tmp_path / "src" / name, ros2_control_package(make_controller(name, robot), name, 1.0 / RATE))
    built = subprocess.run([*COLCON, "build", "--cmake-args", "-DBUILD_TESTING=OFF"], cwd=tmp_path,
                           capture_output=True, text=True)
    assert built.returncode == 0 and "warning:" not in built.stderr, built.stdout + built.stderr
    names = [f"planar_2r_{name}_controller" for name in LAWS]
    settings = {"controller_manager": {"ros__parameters": {
        "update_rate": RATE, **{name: {"type": f"{name}/Controller"} for name in names}}}}
    (tmp_path / "manager.yaml").write_text(yaml.safe_dump(settings))
    places = [str(tmp_path / "install" / name) for name in names]
    environment = os.environ | {
        "AMENT_PREFIX_PATH": os.pathsep.join([*places, os.environ["AMENT_PREFIX_PATH"]]),
        "LD_LIBRARY_PATH": os.pathsep.join([*(f"{place}/lib" for place in places),
                                            os.environ.get("LD_LIBRARY_PATH", "")])}
    with (tmp_path / "manager.log").open("w") as log, (tmp_path / "hardware.log").open("w") as hardware_log:
        hardware = subprocess.Popen(["robodyn", "hardware", "--ros-args", "-p", "robot:=planar_2r"], env=os.environ,
                                    stdout=hardware_log, stderr=subprocess.STDOUT)
        manager = subprocess.Popen([str(MANAGER), "--ros-args", "--params-file", str(tmp_path / "manager.yaml")],
                                   env=environment, stdout=log, stderr=subprocess.STDOUT)
        client = Client(robot)
        try:
            yield client, names
        finally:
            for process in (manager, hardware):
                process.terminate()
                try:
                    process.wait(20.0)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
            client.close()
            print((tmp_path / "manager.log").read_text()[-6000:], (tmp_path / "hardware.log").read_text()[-1500:])


def test_an_exported_law_drives_the_robot_in_a_real_manager(rig):
    from std_srvs.srv import Trigger

    client, (first, second) = rig
    client.wait(lambda: client.q is not None, "published joint states")
    for name in (first, second):
        client.manage("LoadController", name=name)
        client.manage("ConfigureController", name=name)
    client.switch(activate=[first])
    start = client.q.copy()
    client.wait(lambda: np.abs(client.v).max() < 0.05, "at rest")
    np.testing.assert_allclose(client.q, start, atol=0.05)  # the first setpoint is the present state
    goal = start + np.array([0.3, -0.4])
    client.move(first, goal)
    client.wait(lambda: np.abs(client.q - goal).max() < 0.02 and np.abs(client.v).max() < 0.02, "at the goal")
    client.move(first, [100.0, 0.0])  # beyond its limits: refused, and the robot stays
    assert client.set_parameter(first, "gains.joint1.p", 300.0)
    assert not client.set_parameter(first, "gains.joint1.p", -1.0)
    client.switch(activate=[second], deactivate=[first])
    client.wait(lambda: np.abs(client.v).max() < 0.02, "at rest under the other law")
    np.testing.assert_allclose(client.q, goal, atol=0.05)
    client.move(second, start)
    client.wait(lambda: np.abs(client.q - start).max() < 0.05, "back")
    assert client.call(Trigger, f"/{second}/stop").success
    client.wait(lambda: np.abs(client.q - start).max() > 0.02, "sinking under damping alone")
    assert client.call(Trigger, f"/{second}/release").success
    client.wait(lambda: np.abs(client.v).max() < 0.02, "held again")
    client.switch(deactivate=[second])
    client.manage("UnloadController", name=first)
