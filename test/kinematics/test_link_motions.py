# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

import numpy as np
from hypothesis import given, settings
from pin_reference import SEEDS, PinReference, random_state
from random_robots import urdf_robots

from robodyn_ros.kinematics.forward import joint_poses
from robodyn_ros.kinematics.jacobian import body_jacobians
from robodyn_ros.kinematics.link_motions import link_motions


@settings(deadline=None, max_examples=10)
@given(urdf_robots(max_joints=6), SEEDS)
def test_twists_are_the_body_jacobians_and_accelerations_their_slope(urdf, seed):
    robot = PinReference(urdf).robot
    q, v, a = random_state(robot, seed)
    step = 1e-6
    later, before = (body_jacobians(robot, q + h * v) for h in (step, -step))
    motions = link_motions(robot, joint_poses(robot, q), v, a, np.zeros(6))
    for motion, jacobian, after, earlier in zip(motions, body_jacobians(robot, q), later, before, strict=True):
        np.testing.assert_allclose(motion.twist, jacobian @ v, rtol=1e-12, atol=1e-12)
        slope = (after - earlier) @ v / (2 * step)
        np.testing.assert_allclose(motion.acceleration, jacobian @ a + slope, rtol=1e-6, atol=1e-6)
