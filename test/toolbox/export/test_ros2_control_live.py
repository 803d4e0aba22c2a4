# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Exported packages in a real controller manager, on the simulated robot behind topics."""

import numpy as np
import pytest
from real_arm import RATE, build, packages_of, simulated_arm

from bench.controller_manager import executable
from robodyn_ros import Robot
from robodyn_ros.control.plugins.registry import make_controller
from robodyn_ros.description.resources import robot_file

rclpy = pytest.importorskip("rclpy")

pytestmark = [pytest.mark.long, pytest.mark.ros,
              pytest.mark.skipif(executable() is None, reason="ros2_control is not installed")]

LAWS = ("computed_torque", "pd_gravity")


def test_exported_laws_drive_the_robot_in_a_real_manager(tmp_path):
    robot = Robot.from_urdf(robot_file("planar_2r")).with_timing(1.0 / RATE)
    places = build(tmp_path, packages_of({name: make_controller(name, robot) for name in LAWS}))
    with simulated_arm(robot, {place.name: place for place in places}, tmp_path) as arm:
        exercise(arm, *(place.name for place in places))


def exercise(arm, first, second):
    """Load, configure, activate, move, refuse, swap, stop, release, deactivate and unload."""
    from controller_manager_msgs.srv import UnloadController
    from std_srvs.srv import Trigger

    for name in (first, second):
        assert arm.load(name)
    arm.wait(lambda: arm.switch(activate=[first]), "activated")
    start = arm.q.copy()
    arm.wait(lambda: np.abs(arm.v).max() < 0.05, "at rest")
    np.testing.assert_allclose(arm.q, start, atol=0.05)  # the first setpoint is the present state
    goal = start + np.array([0.3, -0.4])
    arm.move(first, goal)
    arm.wait(lambda: arm.rests_at(goal, 0.01), "at the goal")
    arm.move(first, [0.0])
    arm.wait(lambda: "rejected a trajectory: point 0: expected 2 positions" in arm.log(), "refused")
    goals(arm, first, start, goal)
    assert arm.set_parameter(first, "gains.joint1.p", 300.0)
    assert not arm.set_parameter(first, "gains.joint1.p", -1.0)  # out of its range

    assert arm.switch(activate=[second], deactivate=[first])
    arm.wait(lambda: arm.rests_at(goal, 0.05), "held by the other law")
    assert arm.call(Trigger, f"/{second}/stop").success
    arm.wait(lambda: np.abs(arm.q - goal).max() > 0.1, "sinking under damping alone")
    assert "the robot is stopped: on request" in arm.log()
    assert arm.call(Trigger, f"/{second}/release").success
    arm.wait(lambda: np.abs(arm.v).max() < 0.02, "held again")

    assert arm.set_parameter(second, "supervisor.tip_speed", 0.05)
    arm.move(second, start, 0.5)
    arm.wait(lambda: "stopped: the tip link moves faster than supervisor.tip_speed" in arm.log(), "stopped")
    assert arm.set_parameter(second, "supervisor.tip_speed", 0.0)
    assert arm.call(Trigger, f"/{second}/release").success
    arm.wait(lambda: np.abs(arm.v).max() < 0.02, "at rest after the release")
    arm.move(second, start)
    arm.wait(lambda: arm.rests_at(start, 0.05), "back")
    assert arm.switch(deactivate=[second])
    assert arm.call(UnloadController, "/controller_manager/unload_controller", name=first).ok


def goals(arm, name, start, goal):
    """Goals of the action: reached, cancelled, refused, rejected, violated, and dropped for another motion."""
    from action_msgs.msg import GoalStatus
    from control_msgs.action import FollowJointTrajectory
    from control_msgs.msg import JointTolerance

    Result, joint = FollowJointTrajectory.Result, arm.robot.joint_names[0]
    feedback = ended(arm, name, start, GoalStatus.STATUS_SUCCEEDED, Result.SUCCESSFUL,
                     goal_tolerance=[JointTolerance(name=joint, position=0.05)])
    arm.wait(lambda: arm.rests_at(start, 0.05), "at the start")
    assert list(feedback.joint_names) == list(arm.robot.joint_names)
    np.testing.assert_allclose(np.add(feedback.actual.positions, feedback.error.positions), feedback.desired.positions)
    ended(arm, name, goal, GoalStatus.STATUS_CANCELED, Result.SUCCESSFUL, seconds=20.0, cancel=True)
    arm.wait(lambda: np.abs(arm.v).max() < 0.02, "at rest after the cancellation")
    tight = [JointTolerance(name=joint, position=1e-9)]
    ended(arm, name, goal, GoalStatus.STATUS_ABORTED, Result.PATH_TOLERANCE_VIOLATED, seconds=1.0,
          path_tolerance=tight)
    for wrong in (JointTolerance(name="elbow"), JointTolerance(name=joint, position=-2.0)):
        assert arm.follow(name, goal, path_tolerance=[wrong])[1] == Result.INVALID_GOAL
    assert arm.follow(name, [*goal, 0.0])[1] == Result.INVALID_GOAL
    arm.move(name, goal)
    arm.wait(lambda: arm.rests_at(goal, 0.05), "back at the goal")


def ended(arm, name, goal, status, code, **fields):
    """Send a goal until it ends as it should, and return a feedback message.

    On a busy machine the simulated robot may be held up, and jump: the goal is then dropped.
    """
    results = []

    def as_it_should():
        before = arm.log().count("new start")
        results.append(arm.follow(name, goal, **fields))
        assert results[-1][:2] == (status, code) or arm.log().count("new start") > before, results[-1][:2]
        return results[-1][:2] == (status, code)

    arm.wait(as_it_should, "ended as it should")
    return results[-1][2]
