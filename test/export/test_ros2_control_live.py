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
from contextlib import contextmanager
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

RATE, DEADLINE = 200, 60.0
LAWS = ("computed_torque", "pd_gravity")
COLCON = (sys.executable, "-c", "import sys; from colcon_core.command import main; sys.exit(main())")


def description(robot_text, joints):
    """A URDF with the hardware component of ros2_control."""
    rows = "".join(f'<joint name="{joint}"><command_interface name="effort"/><state_interface name="position"/>'
                   '<state_interface name="velocity"/><state_interface name="effort"/></joint>' for joint in joints)
    component = ('<ros2_control name="arm" type="system"><hardware><plugin>joint_state_topic_hardware_interface/'
                 'JointStateTopicSystem</plugin><param name="joint_commands_topic">/joint_commands</param>'
                 '<param name="joint_states_topic">/joint_states</param>'
                 '<param name="trigger_joint_command_threshold">-1</param></hardware>' + rows + "</ros2_control>")
    return robot_text.replace("</robot>", component + "</robot>")


class Client:
    """Talks to the manager and watches the robot."""

    def __init__(self, robot, log):
        from controller_manager_msgs import srv
        from rclpy.qos import DurabilityPolicy, QoSProfile, qos_profile_sensor_data
        from sensor_msgs.msg import JointState
        from std_msgs.msg import String

        rclpy.init()
        self.robot, self.srv, self._log = robot, srv, log
        self.node = rclpy.create_node("client")
        self.q = self.v = None
        self.node.create_subscription(JointState, "/joint_states", self._on_state, qos_profile_sensor_data)
        latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        self._description = self.node.create_publisher(String, "/robot_description", latched)
        self._description.publish(String(data=description(robot_file("planar_2r").read_text(), robot.joint_names)))

    def _on_state(self, message):
        order = [message.name.index(name) for name in self.robot.joint_names]
        self.q, self.v = (np.array(values)[order] for values in (message.position, message.velocity))

    def wait(self, condition, what):
        end = time.monotonic() + DEADLINE
        while not condition():
            assert time.monotonic() < end, f"not {what} in {DEADLINE} s: q = {self.q}, v = {self.v}"
            rclpy.spin_once(self.node, timeout_sec=0.05)

    def call(self, kind, name, /, **fields):
        client = self.node.create_client(kind, name)
        assert client.wait_for_service(DEADLINE), name
        future = client.call_async(kind.Request(**fields))
        self.wait(future.done, f"answered by {name}")
        self.node.destroy_client(client)
        return future.result()

    def manage(self, kind, /, **fields):
        service = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in kind).lstrip("_")
        return self.call(getattr(self.srv, kind), f"/controller_manager/{service}", **fields).ok

    def switch(self, activate=(), deactivate=()):
        """Whether the manager did it; it does not before the hardware has measured."""
        return self.manage("SwitchController", activate_controllers=list(activate),
                           deactivate_controllers=list(deactivate), activate_asap=True,
                           strictness=self.srv.SwitchController.Request.STRICT)

    def move(self, controller, goal, seconds=2.0):
        from trajectory_msgs.msg import JointTrajectory

        publisher = self.node.create_publisher(JointTrajectory, f"/{controller}/joint_trajectory", 1)
        message = self.trajectory(goal, seconds)
        answers = self._answers()

        def answered():
            publisher.publish(message)  # again, as a subscription that is matched here only loses it
            rclpy.spin_once(self.node, timeout_sec=0.3)
            return self._answers() > answers

        self.wait(answered, "answered")
        self.node.destroy_publisher(publisher)

    def follow(self, controller, goal, seconds=2.0, cancel=False, **fields):
        """Send a goal of the action, and return the status and the code of its result, and a feedback message."""
        from control_msgs.action import FollowJointTrajectory
        from rclpy.action import ActionClient

        client, heard = ActionClient(self.node, FollowJointTrajectory, f"/{controller}/follow_joint_trajectory"), []
        assert client.wait_for_server(DEADLINE)
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
        from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

        message = JointTrajectory(joint_names=list(self.robot.joint_names))
        point = JointTrajectoryPoint(positions=list(map(float, goal)))
        point.time_from_start.sec, point.time_from_start.nanosec = int(seconds), int(1e9 * (seconds % 1.0))
        message.points = [point]
        return message

    def _answers(self):
        return self.log().count("following a trajectory") + self.log().count("rejected a trajectory")

    def set_parameter(self, node, name, value):
        from rcl_interfaces.srv import SetParameters

        parameter = rclpy.parameter.Parameter(name, value=value).to_parameter_msg()
        return self.call(SetParameters, f"/{node}/set_parameters", parameters=[parameter]).results[0].successful

    def rests_at(self, q, tolerance):
        return np.abs(self.q - q).max() < tolerance and np.abs(self.v).max() < 0.02

    def log(self):
        """What the manager has printed."""
        return self._log.read_text()

    def close(self):
        self.node.destroy_node()
        rclpy.shutdown()


def build(robot, folder):
    """Export and build the packages; returns the folders in which they are installed."""
    names = [f"{robot.name}_{name}_controller" for name in LAWS]
    for name in LAWS:
        write_new(folder / "src" / name, ros2_control_package(make_controller(name, robot), name))
    built = subprocess.run([*COLCON, "build", "--cmake-args", "-DBUILD_TESTING=OFF", "-DCMAKE_BUILD_TYPE=None"],
                           cwd=folder, capture_output=True, text=True)
    assert built.returncode == 0 and "warning:" not in built.stderr, built.stdout + built.stderr
    return [folder / "install" / name for name in names]


@contextmanager
def running(robot, places, folder):
    """A manager, the simulated robot, and a client."""
    settings = {"controller_manager": {"ros__parameters": {
        "update_rate": RATE, **{place.name: {"type": f"{place.name}/Controller"} for place in places}}}}
    (folder / "manager.yaml").write_text(yaml.safe_dump(settings))
    environment = os.environ | {
        "AMENT_PREFIX_PATH": os.pathsep.join([*map(str, places), os.environ["AMENT_PREFIX_PATH"]]),
        "LD_LIBRARY_PATH": os.pathsep.join([*(f"{place}/lib" for place in places),
                                            os.environ.get("LD_LIBRARY_PATH", "")])}
    with (folder / "manager.log").open("w") as log, (folder / "hardware.log").open("w") as hardware_log:
        hardware = subprocess.Popen(["robodyn", "hardware", "--ros-args", "-p", f"robot:={robot.name}"],
                                    stdout=hardware_log, stderr=subprocess.STDOUT)
        manager = subprocess.Popen([str(MANAGER), "--ros-args", "--params-file", str(folder / "manager.yaml")],
                                   env=environment, stdout=log, stderr=subprocess.STDOUT)
        client = Client(robot, folder / "manager.log")
        try:
            yield client
        finally:
            for process in (manager, hardware):
                process.terminate()
                try:
                    process.wait(20.0)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
            client.close()
            print((folder / "manager.log").read_text()[-6000:], (folder / "hardware.log").read_text()[-1500:])


def test_exported_laws_drive_the_robot_in_a_real_manager(tmp_path):
    robot = Robot.from_urdf(robot_file("planar_2r")).with_timing(1.0 / RATE)
    places = build(robot, tmp_path)
    with running(robot, places, tmp_path) as client:
        exercise(client, *(place.name for place in places))


def exercise(client, first, second):
    """Load, configure, activate, move, refuse, swap, stop, release, deactivate and unload."""
    from std_srvs.srv import Trigger

    client.wait(lambda: client.q is not None, "published joint states")
    for name in (first, second):
        assert client.manage("LoadController", name=name)
        assert client.manage("ConfigureController", name=name)
    client.wait(lambda: client.switch(activate=[first]), "activated")
    start = client.q.copy()
    client.wait(lambda: np.abs(client.v).max() < 0.05, "at rest")
    np.testing.assert_allclose(client.q, start, atol=0.05)  # the first setpoint is the present state
    goal = start + np.array([0.3, -0.4])
    client.move(first, goal)
    client.wait(lambda: client.rests_at(goal, 0.01), "at the goal")
    client.move(first, [0.0])
    client.wait(lambda: "rejected a trajectory: point 0: expected 2 positions" in client.log(), "refused")
    goals(client, first, start, goal)
    assert client.set_parameter(first, "gains.joint1.p", 300.0)
    assert not client.set_parameter(first, "gains.joint1.p", -1.0)  # out of its range

    assert client.switch(activate=[second], deactivate=[first])
    client.wait(lambda: client.rests_at(goal, 0.05), "held by the other law")
    assert client.call(Trigger, f"/{second}/stop").success
    client.wait(lambda: np.abs(client.q - goal).max() > 0.1, "sinking under damping alone")
    assert "the robot is stopped: on request" in client.log()
    assert client.call(Trigger, f"/{second}/release").success
    client.wait(lambda: np.abs(client.v).max() < 0.02, "held again")

    assert client.set_parameter(second, "supervisor.tip_speed", 0.05)
    client.move(second, start, 0.5)
    client.wait(lambda: "stopped: the tip link moves faster than supervisor.tip_speed" in client.log(), "stopped")
    assert client.set_parameter(second, "supervisor.tip_speed", 0.0)
    assert client.call(Trigger, f"/{second}/release").success
    client.wait(lambda: np.abs(client.v).max() < 0.02, "at rest after the release")
    client.move(second, start)
    client.wait(lambda: client.rests_at(start, 0.05), "back")
    assert client.switch(deactivate=[second])
    assert client.manage("UnloadController", name=first)


def goals(client, name, start, goal):
    """Goals of the action: reached, cancelled, refused, rejected, violated, and dropped for another motion."""
    from action_msgs.msg import GoalStatus
    from control_msgs.action import FollowJointTrajectory
    from control_msgs.msg import JointTolerance

    Result, joint = FollowJointTrajectory.Result, client.robot.joint_names[0]
    feedback = ended(client, name, start, GoalStatus.STATUS_SUCCEEDED, Result.SUCCESSFUL,
                     goal_tolerance=[JointTolerance(name=joint, position=0.05)])
    client.wait(lambda: client.rests_at(start, 0.05), "at the start")
    assert list(feedback.joint_names) == list(client.robot.joint_names)
    np.testing.assert_allclose(np.add(feedback.actual.positions, feedback.error.positions), feedback.desired.positions)
    ended(client, name, goal, GoalStatus.STATUS_CANCELED, Result.SUCCESSFUL, seconds=20.0, cancel=True)
    client.wait(lambda: np.abs(client.v).max() < 0.02, "at rest after the cancellation")
    tight = [JointTolerance(name=joint, position=1e-9)]
    ended(client, name, goal, GoalStatus.STATUS_ABORTED, Result.PATH_TOLERANCE_VIOLATED, seconds=1.0,
          path_tolerance=tight)
    for wrong in (JointTolerance(name="elbow"), JointTolerance(name=joint, position=-2.0)):
        assert client.follow(name, goal, path_tolerance=[wrong])[1] == Result.INVALID_GOAL
    assert client.follow(name, [*goal, 0.0])[1] == Result.INVALID_GOAL
    client.move(name, goal)
    client.wait(lambda: client.rests_at(goal, 0.05), "back at the goal")


def ended(client, name, goal, status, code, **fields):
    """Send a goal until it ends as it should, and return a feedback message.

    On a busy machine the simulated robot may be held up, and jump: the goal is then dropped.
    """
    results = []

    def as_it_should():
        before = client.log().count("new start")
        results.append(client.follow(name, goal, **fields))
        assert results[-1][:2] == (status, code) or client.log().count("new start") > before, results[-1][:2]
        return results[-1][:2] == (status, code)

    client.wait(as_it_should, "ended as it should")
    return results[-1][2]
