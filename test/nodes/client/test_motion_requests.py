# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""What the end of a motion tells."""

import numpy as np
import pytest

from robodyn_interfaces.msg import ControllerState
from robodyn_ros import RobodynError, Robot
from robodyn_ros.description.resources import robot_file
from robodyn_ros.nodes.client.motion_requests import JointArrival, TipArrival


def test_a_joint_that_dry_friction_holds_is_named():
    text = robot_file("planar_2r").read_text()
    robot = Robot.from_urdf_text(text.replace('friction="0"', 'friction="0.2"'))
    assert robot.model.friction.tolist() == [0.2, 0.2]
    arrival = TipArrival(np.zeros(3))
    for position in (0.1, 0.2, 0.3):
        message = ControllerState(joint_names=["joint1", "joint2"])
        message.feedback.positions = [position, 1.0]
        assert not arrival.update(message)
    assert arrival.at_rest(robot) == "; dry friction holds joint 'joint2' (0.2 N m)"
    assert arrival.at_rest(Robot.named("planar_2r")) == ""


def test_joints_at_their_effort_limit_are_named():
    robot = Robot.named("planar_2r")
    arrival = JointArrival(robot, {"joint1": 0.5})
    message = ControllerState(joint_names=["joint1", "joint2"], output=[robot.effort_limit[0], 0.1])
    message.feedback.positions, message.reference.positions = [0.1, 0.0], [0.5, 0.0]
    arrival.update(message)
    with pytest.raises(RobodynError, match=f"joint 'joint1' is at its effort limit of {robot.effort_limit[0]:g} N m$"):
        arrival.end(None)
    message.output = [1.0, 0.1]
    arrival.update(message)
    with pytest.raises(RobodynError, match="the law does not bring the arm there, or something holds it"):
        arrival.end(None)
