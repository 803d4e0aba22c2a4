# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.


"""An arm behind a real controller manager: exported packages, and the simulated robot behind topics."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from bench.controller_manager import PATIENCE, ControllerManager
from robodyn_ros import Robot
from robodyn_ros.control.contract.controller import Law
from robodyn_ros.description.resources import robot_file
from robodyn_ros.toolbox.export import ros2_control_package, write_new

RATE = 200
COLCON = (sys.executable, "-c", "import sys; from colcon_core.command import main; sys.exit(main())")
TOPICS = ('<plugin>joint_state_topic_hardware_interface/JointStateTopicSystem</plugin>'
          '<param name="joint_commands_topic">/joint_commands</param>'
          '<param name="joint_states_topic">/joint_states</param>'
          '<param name="trigger_joint_command_threshold">-1</param>')
EFFORTS = ('<command_interface name="effort"/><state_interface name="position"/><state_interface name="velocity"/>'
           '<state_interface name="effort"/>')


def description(robot: Robot, hardware: str = TOPICS, interfaces: str = EFFORTS, sensor: str = "") -> str:
    """A URDF with a hardware component of ros2_control, and the same interfaces for each joint."""
    rows = "".join(f'<joint name="{joint}">{interfaces}</joint>' for joint in robot.joint_names)
    component = (f'<ros2_control name="arm" type="system"><hardware>{hardware}</hardware>{rows}{sensor}'
                 "</ros2_control>")
    return robot_file(robot.name).read_text().replace("</robot>", component + "</robot>")


def build(folder: Path, packages: Sequence[dict[str, str]]) -> list[Path]:
    """Build exported packages; returns the folders in which they are installed, which have their names."""
    for i, files in enumerate(packages):
        write_new(folder / "src" / str(i), files)
    built = subprocess.run([*COLCON, "build", "--cmake-args", "-DBUILD_TESTING=OFF", "-DCMAKE_BUILD_TYPE=None"],
                           cwd=folder, capture_output=True, text=True)
    assert built.returncode == 0 and "warning:" not in built.stderr, built.stdout + built.stderr
    return [folder / "install" / next(iter(files)).partition("/")[0] for files in packages]


def packages_of(laws: dict[str, Law]) -> list[dict[str, str]]:
    """Packages of laws by their names."""
    return [ros2_control_package(law, name) for name, law in laws.items()]


class Arm(ControllerManager):
    """A manager of exported controllers, with the states and commands of the robot behind its topics.

    Args:
        robot: The robot.
        controllers: Folder of the package, by the controller's name.
        folder: For parameters and logs.
        text: The URDF; None: the robot is behind topics.
        parameters: Of further nodes.
    """

    def __init__(self, robot, controllers, folder, text=None, parameters=None):
        from rclpy.qos import qos_profile_sensor_data
        from sensor_msgs.msg import JointState

        types = {name: {"type": f"{place.name}/Controller"} for name, place in controllers.items()}
        manager = {"update_rate": RATE, **types, **(parameters or {}).pop("controller_manager", {})}
        super().__init__(text or description(robot), {"controller_manager": manager, **(parameters or {})}, folder,
                         prefixes=list(controllers.values()))
        self.robot, self.q, self.v = robot, None, None
        self.efforts: list[np.ndarray] = []
        self.node.create_subscription(JointState, "/joint_states", self._on_state, qos_profile_sensor_data)
        self.node.create_subscription(JointState, "/joint_commands", self._on_command, 10)

    def _on_state(self, message):
        order = [message.name.index(name) for name in self.robot.joint_names]
        self.q, self.v = (np.array(values)[order] for values in (message.position, message.velocity))

    def _on_command(self, message):
        self.efforts.append(np.array(message.effort)[[message.name.index(name) for name in self.robot.joint_names]])

    def move(self, controller, goal, seconds=2.0):
        """Send a trajectory with one point until the controller takes or rejects it."""
        from trajectory_msgs.msg import JointTrajectory

        publisher = self.node.create_publisher(JointTrajectory, f"/{controller}/joint_trajectory", 1)
        self.wait(publisher.get_subscription_count, f"listening: {controller}")
        answers, message = self._answers(), self.trajectory(goal, seconds)

        def answered():
            publisher.publish(message)  # again, as a subscription that is matched here only may lose it
            end = time.monotonic() + 0.3
            while time.monotonic() < end and self._answers() == answers:
                time.sleep(0.02)
            return self._answers() > answers

        self.wait(answered, "answered")
        self.node.destroy_publisher(publisher)

    def _answers(self):
        return self.log().count("following a trajectory") + self.log().count("rejected a trajectory")

    def follow(self, controller, goal, seconds=2.0, cancel=False, **fields):
        """Send a goal of the action, and return the status and the code of its result, and a feedback message."""
        from control_msgs.action import FollowJointTrajectory
        from rclpy.action import ActionClient

        client, heard = ActionClient(self.node, FollowJointTrajectory, f"/{controller}/follow_joint_trajectory"), []
        assert client.wait_for_server(PATIENCE)
        request = FollowJointTrajectory.Goal(**fields)
        request.trajectory = self.trajectory(goal, seconds)
        sent = client.send_goal_async(request, feedback_callback=lambda message: heard.append(message.feedback))
        self.wait(sent.done, "answered the goal")
        if not sent.result().accepted:
            return None, None, None
        if cancel:
            self.wait(lambda: heard, "sent feedback")
            sent.result().cancel_goal_async()
        ended = sent.result().get_result_async()
        self.wait(ended.done, "ended the goal")
        client.destroy()
        return ended.result().status, ended.result().result.error_code, heard[-1] if heard else None

    def trajectory(self, goal, seconds):
        """A message with one point."""
        from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

        message = JointTrajectory(joint_names=list(self.robot.joint_names))
        point = JointTrajectoryPoint(positions=list(map(float, goal)))
        point.time_from_start.sec, point.time_from_start.nanosec = int(seconds), int(1e9 * (seconds % 1.0))
        message.points = [point]
        return message

    def set_parameter(self, node, name, value):
        """Set a parameter of a controller; whether it was taken."""
        from rcl_interfaces.srv import SetParameters
        from rclpy.parameter import Parameter

        parameter = Parameter(name, value=value).to_parameter_msg()
        return self.call(SetParameters, f"/{node}/set_parameters", parameters=[parameter]).results[0].successful

    def rests_at(self, q, tolerance):
        """Whether the robot stands there."""
        return np.abs(self.q - q).max() < tolerance and np.abs(self.v).max() < 0.02


@contextmanager
def simulated_arm(robot: Robot, controllers: dict[str, Path], folder: Path) -> Iterator[Arm]:
    """A manager and the simulated robot."""
    with (folder / "hardware.log").open("w") as log:
        hardware = subprocess.Popen(["robodyn", "hardware", "--ros-args", "-p", f"robot:={robot.name}"],
                                    stdout=log, stderr=subprocess.STDOUT, env=os.environ)
        try:
            with Arm(robot, controllers, folder) as arm:
                arm.wait(lambda: arm.q is not None, "published joint states")
                yield arm
        finally:
            hardware.terminate()
            try:
                hardware.wait(20.0)
            except subprocess.TimeoutExpired:
                hardware.kill()
                hardware.wait()
            print((folder / "manager.log").read_text()[-6000:], (folder / "hardware.log").read_text()[-1500:])
