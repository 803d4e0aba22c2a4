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
from pin_reference import SEEDS, PinReference, random_state
from random_robots import urdf_robots

from robodyn_ros.base.errors import InputError
from robodyn_ros.description.denavit_hartenberg import dh_transform
from robodyn_ros.description.model import skew
from robodyn_ros.description.urdf import load_urdf_text
from robodyn_ros.kinematics.forward import link_poses
from robodyn_ros.kinematics.jacobian import body_jacobians
from robodyn_ros.textbook.pose_derivatives import differentiator, pose_derivatives


@settings(deadline=None, max_examples=7)
@given(urdf_robots(max_joints=6), SEEDS)
def test_velocity_is_that_of_the_body_jacobian(urdf, seed):
    """T' = T [V], V = J_b v: [LynchPark] against [Yamamoto] (3.20), (3.30)."""
    model = load_urdf_text(urdf)
    q, v = random_state(model, seed, 2)
    for link, pose, jacobian in zip(
        pose_derivatives(model, q), link_poses(model, q), body_jacobians(model, q), strict=True
    ):
        twist = jacobian @ v
        bracket = np.block([[skew(twist[:3]), twist[3:, None]], [np.zeros((1, 4))]])
        np.testing.assert_allclose(link.pose, pose, atol=1e-12)
        np.testing.assert_allclose(link.velocity(v), pose @ bracket, atol=1e-11)


@settings(deadline=None, max_examples=10)
@given(urdf_robots(max_joints=5), SEEDS)
def test_second_derivatives_are_slopes_of_the_first(urdf, seed):
    model = load_urdf_text(urdf)
    q, v, a = random_state(model, seed)
    links, step = pose_derivatives(model, q), 1e-5
    ahead, behind = (pose_derivatives(model, q + sign * step * v) for sign in (1, -1))
    for link, after, before in zip(links, ahead, behind, strict=True):
        slope = (after.first - before.first) / (2 * step)
        np.testing.assert_allclose(link.velocity_gradient(v), slope, atol=1e-6)  # (3.22)
        np.testing.assert_allclose(link.second, link.second.swapaxes(0, 1), atol=1e-12)
        turned = link.acceleration(v, a) - link.acceleration(np.zeros(model.n), a)  # (3.24)
        np.testing.assert_allclose(turned, np.tensordot(v, slope, 1), atol=1e-6)
        np.testing.assert_allclose(link.acceleration(np.zeros(model.n), a), link.velocity(a), atol=1e-12)


def test_differentiator_of_a_denavit_hartenberg_joint():
    """The two matrices that chapter 3 needs: about z for a revolute joint, along z for a prismatic one."""
    model = load_urdf_text(PinReference("scara").robot.description)
    revolute, prismatic = np.zeros((2, 4, 4))
    revolute[:2, :2] = [[0.0, -1.0], [1.0, 0.0]]
    prismatic[2, 3] = 1.0
    kinds = {joint.kind: differentiator(joint) for joint in model.joints if abs(joint.axis[2]) == 1.0}
    assert {"revolute", "prismatic"} <= set(kinds)
    for kind, expected in (("revolute", revolute), ("prismatic", prismatic)):
        sign = np.sign(next(joint.axis[2] for joint in model.joints if joint.kind == kind))
        first = next(joint for joint in model.joints if joint.kind == kind)
        np.testing.assert_allclose(differentiator(first), sign * expected)
    step, row = 1e-6, (0.3, 0.4, 0.5, 0.6)  # a, alpha, d, theta of (1.17)
    for place, matrix in ((3, revolute), (2, prismatic)):
        ahead, behind = ([*row], [*row])
        ahead[place] += step
        behind[place] -= step
        slope = (dh_transform(*ahead) - dh_transform(*behind)) / (2 * step)
        np.testing.assert_allclose(dh_transform(*row) @ matrix, slope, atol=1e-9)


def test_wrong_shape_is_named():
    with pytest.raises(InputError, match=r"q: expected an array of shape \(7,\), received shape \(6,\)"):
        pose_derivatives(PinReference("arm7").robot, np.zeros(6))
