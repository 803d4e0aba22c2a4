# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The law `task_priority` in the node: swapped in by a parameter, it moves the tip within its share of the efforts."""

import numpy as np
import pytest
from controller_rig import Rig
from geometry_msgs.msg import PoseStamped
from ros_process import RosTest
from sensor_msgs.msg import JointState

from robodyn_ros import Robot
from robodyn_ros.nodes.common.messages import read_stamp
from robodyn_ros.nodes.common.poses import to_pose

pytestmark = pytest.mark.ros
SHARE = 0.6


def seconds(state):
    """Stamp of a controller state [s]."""
    return 1e-9 * read_stamp(state.header.stamp)


def test_it_moves_the_tip_within_its_share_of_the_efforts():
    robot = Robot.named("planar_2r")
    tip = robot.dynamics().forward_kinematics
    settings = {"controller": {"task_priority.axes": "x; z", "task_priority.effort_share": SHARE}}
    with RosTest() as ros, Rig(ros, "planar_2r", "/priority", **settings) as rig:
        poses = ros.publisher(PoseStamped, "/priority/controller/pose")
        rig.hold_at("computed_torque", [0.3, -0.9])
        before = rig.next("rest", lambda state: np.abs(state.feedback.velocities).max() < 1e-4)
        told = rig.refuse(**{"task_priority.axes": "x; w"})
        assert "axes: expected some of x y z rx ry rz" in told and told.count("'x; w'") == 1 and "\n" not in told
        later = rig.next("half a second", lambda state: seconds(state) > seconds(before) + 0.5)
        assert later.controller == "computed_torque" and rig.get("task_priority.axes") == ["x; z"]
        meanwhile = [state.feedback.positions for state in rig.states if seconds(before) < seconds(state)]
        np.testing.assert_allclose(meanwhile, [before.feedback.positions] * len(meanwhile), atol=5e-4)
        rig.set(controller="task_priority")
        rig.next("the law", lambda state: state.controller == "task_priority")
        commands, goal = ros.record(JointState, "/priority/joint_commands", 5000), tip(np.array([0.6, -1.3]))
        pose = PoseStamped(pose=to_pose(goal))
        pose.header.frame_id = robot.model.base_link
        poses.publish(pose)

        def is_there(state):
            return np.linalg.norm(tip(np.array(state.feedback.positions))[:3, 3] - goal[:3, 3]) < 5e-3

        arrived = rig.next("the goal", is_there)
        assert arrived.controller == "task_priority"
        efforts = np.array([command.effort for command in commands])
        assert (np.abs(efforts) <= SHARE * robot.effort_limit + 1e-9).all() and np.abs(efforts).max() > 0.0
        rig.set(controller="computed_torque")
        rig.next("the law before", lambda state: state.controller == "computed_torque")
