# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""A moving robot comes to rest smoothly: references of joints and of the tip link agree with their derivatives."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from robodyn_ros import Robot
from robodyn_ros.control import ForceReference, JointReference, TipReference
from robodyn_ros.control.references.coming_to_rest import DURATION, coming_to_rest
from robodyn_ros.description.resources import robot_file

ROBOT = Robot.from_urdf(robot_file("arm6"))
Q, V = np.array([0.1, -0.5, 0.9, 0.3, 0.4, -0.2]), np.array([1.0, -0.5, 0.3, 0.2, -2.0, 0.7])
STEP = 1e-5


def test_joints_begin_in_the_measured_motion_and_end_at_rest():
    motion = coming_to_rest(ROBOT, JointReference, Q, V, 2.0)
    begin, end = motion.sample(2.0), motion.sample(motion.end_time + 1.0)
    np.testing.assert_array_equal(begin.q, Q)
    np.testing.assert_array_equal(begin.v, V)
    assert not end.v.any() and not end.a.any()
    np.testing.assert_allclose(end.q, Q + V * DURATION / 3.0)
    for time in (2.05, 2.2):
        before, now, after = (motion.sample(time + step) for step in (-STEP, 0.0, STEP))
        np.testing.assert_allclose((after.q - before.q) / (2 * STEP), now.v, rtol=1e-6)
        np.testing.assert_allclose((after.v - before.v) / (2 * STEP), now.a, rtol=1e-6)
        assert (np.abs(now.v) <= np.abs(V)).all()


@pytest.mark.parametrize("kind", [TipReference, ForceReference])
def test_the_tip_begins_in_its_measured_motion_and_ends_at_rest(kind):
    motion = coming_to_rest(ROBOT, kind, Q, V, 0.0)
    dynamics = ROBOT.dynamics()
    begin, end = motion.sample(0.0), motion.sample(motion.end_time)
    np.testing.assert_allclose(begin.position, dynamics.forward_kinematics(Q)[:3, 3], atol=1e-12)
    np.testing.assert_allclose(begin.twist, dynamics.jacobian(Q) @ V)
    assert not end.twist.any() and not end.acceleration.any()
    before, now, after = (motion.sample(0.1 + step) for step in (-STEP, 0.0, STEP))
    np.testing.assert_allclose((after.position - before.position) / (2 * STEP), now.twist[:3], rtol=1e-6)
    turned = Rotation.from_quat(after.quaternion) * Rotation.from_quat(before.quaternion).inv()
    np.testing.assert_allclose(turned.as_rotvec() / (2 * STEP), now.twist[3:], rtol=1e-6)
    np.testing.assert_allclose((after.twist - before.twist) / (2 * STEP), now.acceleration, rtol=1e-6)
