# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

import numpy as np
import pytest
from hypothesis import given, settings
from random_robots import urdf_robots
from scipy.spatial.transform import Rotation
from shipped import few

from robodyn_ros import Robot
from robodyn_ros.description.resources import robot_file, shipped_robots
from robodyn_ros.simulation.plant import default_position
from robodyn_ros.simulation.standard_motion import excursion, offset_start, tip_references


def check(robot):
    motion, model = excursion(robot), robot.model
    speed = np.array([joint.limits.velocity for joint in model.leaders])
    for time in np.linspace(0.0, motion.end_time, 50):
        reference = motion.sample(time)
        assert (model.position_lower <= reference.q).all() and (reference.q <= model.position_upper).all()
        assert (np.abs(reference.v) <= np.where(speed > 0.0, 0.41 * speed, np.inf)).all()
    np.testing.assert_allclose(reference.q, default_position(robot), atol=1e-12)
    np.testing.assert_allclose(reference.v, 0.0, atol=1e-9)
    start = offset_start(robot, motion.sample(0.0).q)
    assert (model.position_lower <= start).all() and (start <= model.position_upper).all()


@pytest.mark.parametrize("name", few(shipped_robots()))
def test_within_all_limits_and_every_joint_moves(name):
    robot = Robot.from_urdf(robot_file(name))
    check(robot)
    motion = excursion(robot)
    moved = np.abs(motion.sample(motion.end_time / 3).q - default_position(robot))
    assert (moved > 1e-3).all()
    assert (offset_start(robot, default_position(robot)) != default_position(robot)).all()


def test_the_tip_does_what_the_joints_do():
    robot = Robot.from_urdf(robot_file("arm6"))
    motion, h = excursion(robot), 1e-4
    times = np.linspace(0.1, motion.end_time - 0.1, 20)
    before, now, after = (tip_references(robot, motion, times + shift) for shift in (-h, 0.0, h))
    np.testing.assert_allclose(now.twist[:, :3], (after.position - before.position) / (2 * h), atol=1e-6)
    np.testing.assert_allclose(now.acceleration, (after.twist - before.twist) / (2 * h), atol=1e-4)
    for k, time in enumerate(times):
        pose = robot.dynamics().forward_kinematics(motion.sample(time).q)
        np.testing.assert_allclose(Rotation.from_quat(now.quaternion[k]).as_matrix(), pose[:3, :3], atol=1e-12)


@settings(max_examples=15)
@given(urdf_robots(max_joints=5))
def test_any_robot(xml):
    check(Robot.from_urdf_text(xml))
