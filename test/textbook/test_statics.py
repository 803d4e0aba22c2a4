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
from pin_reference import SEEDS, SHIPPED, PinReference, random_state, relative_error
from random_robots import urdf_robots

from robodyn_ros.base.errors import InputError
from robodyn_ros.description.resources import robot_file
from robodyn_ros.description.urdf import load_urdf
from robodyn_ros.kinematics.forward import forward_kinematics
from robodyn_ros.kinematics.jacobian import twist_jacobian
from robodyn_ros.kinematics.twists import wrench_in_parent
from robodyn_ros.textbook.statics import (
    static_efforts,
    static_efforts_of_tip_wrench,
    static_wrench,
    wrench_transform,
)

WRENCH = np.array([10.0, -20.0, 30.0, 1.0, 2.0, -3.0])


def linear_first(array):
    return np.roll(array, 3, axis=0)


@pytest.fixture(params=["arm6", "arm7"])
def arm(request):
    model = load_urdf(robot_file(request.param))
    q = np.linspace(0.3, 0.9, model.n)
    return model, q, linear_first(twist_jacobian(model, q)), forward_kinematics(model, q)


def test_a_weight_on_a_planar_arm():
    # Links of 0.5 m along x, then up: 10 N down at the hand (0.5, 0.5) pull joint 1 by -5 N m and joint 2 not at all.
    jacobian = np.zeros((6, 2))
    jacobian[0], jacobian[1], jacobian[5] = [-0.5, -0.5], [0.5, 0.0], [1.0, 1.0]
    np.testing.assert_allclose(static_efforts(jacobian, [0, -10, 0, 0, 0, 0]), [-5.0, 0.0])


def test_virtual_work_is_zero(arm):  # (2.1)
    model, q, jacobian, pose = arm
    h, direction = 1e-6, np.random.default_rng(1).normal(size=model.n)
    ahead, behind = (forward_kinematics(model, q + step * direction) for step in (h, -h))
    moved = (ahead[:3, 3] - behind[:3, 3]) / (2 * h)
    spin = (ahead[:3, :3] - behind[:3, :3]) / (2 * h) @ pose[:3, :3].T
    turned = np.array([spin[2, 1], spin[0, 2], spin[1, 0]])
    work = np.concatenate([moved, turned]) @ WRENCH
    assert direction @ static_efforts(jacobian, WRENCH) == pytest.approx(work, abs=1e-6)


def check_against_pinocchio(reference, seed):
    """The hand's wrench as an external force on a link that Pinocchio holds in balance."""
    robot = reference.robot
    (q,) = random_state(robot, seed, 1)
    wrench = np.random.default_rng(seed).normal(size=6)
    expected = reference.wrench_effort(q, wrench, robot.tip_link)
    jacobian, pose = linear_first(twist_jacobian(robot, q)), forward_kinematics(robot, q)
    size = np.max(np.abs(reference.gravity(q))) + 1.0  # which the reference subtracts
    assert relative_error(static_efforts(jacobian, wrench), expected, size) < 1e-9
    in_hand = np.kron(np.eye(2), pose[:3, :3].T) @ wrench
    assert relative_error(static_efforts_of_tip_wrench(jacobian, pose, in_hand), expected, size) < 1e-9


@SHIPPED
def test_shipped_robots_against_pinocchio(name):
    check_against_pinocchio(PinReference(name), 1)


@settings(deadline=None, max_examples=10)
@given(urdf_robots(), SEEDS)
def test_random_trees_against_pinocchio(urdf, seed):
    check_against_pinocchio(PinReference(urdf), seed)


def test_wrench_comes_back_from_the_efforts(arm):  # figure 2.2
    _, _, jacobian, _ = arm
    np.testing.assert_allclose(static_wrench(jacobian, static_efforts(jacobian, WRENCH)), WRENCH, atol=1e-10)


def test_efforts_of_no_wrench_are_refused():
    model = load_urdf(robot_file("arm7"))
    q = np.linspace(0.3, 0.9, 7)
    jacobian = linear_first(twist_jacobian(model, q))
    null_motion = np.linalg.svd(jacobian)[2][-1]
    with pytest.raises(InputError, match="tau: expected efforts that a wrench at the tip balances"):
        static_wrench(jacobian, null_motion)


def test_singular_and_short_arms_are_refused(arm):
    model, _, jacobian, _ = arm
    with pytest.raises(InputError, match=r"jacobian: expected rank 6, received shape \(6, 4\)"):
        static_wrench(jacobian[:, :4], np.zeros(4))
    with pytest.raises(InputError, match="jacobian: expected rank 6"):
        static_wrench(linear_first(twist_jacobian(model, np.zeros(model.n))), np.zeros(model.n))


def test_wrench_transform_is_that_of_the_twist_algebra(arm):  # (2.3) to (2.6) against [LynchPark]
    *_, pose = arm
    expected = linear_first(wrench_in_parent(pose, linear_first(WRENCH)))
    gamma = wrench_transform(pose[:3, :3], pose[:3, 3])
    np.testing.assert_allclose(gamma @ WRENCH, expected, atol=1e-13)
    force = pose[:3, :3] @ WRENCH[:3]
    np.testing.assert_allclose(gamma @ WRENCH, [*force, *(pose[:3, :3] @ WRENCH[3:] + np.cross(pose[:3, 3], force))])


def test_power_of_a_hand_wrench_is_that_of_its_efforts(arm):
    """A wrench in the hand's frame does the work of the hand's twist in its own axes."""
    model, _, jacobian, pose = arm
    v = np.random.default_rng(2).normal(size=model.n)
    linear, angular = np.split(jacobian @ v, 2)
    power = WRENCH[:3] @ (pose[:3, :3].T @ linear) + WRENCH[3:] @ (pose[:3, :3].T @ angular)
    assert v @ static_efforts_of_tip_wrench(jacobian, pose, WRENCH) == pytest.approx(power)


def test_printed_2_7_counts_the_lever_twice(arm):
    """(2.7) with Gamma of (2.6) adds the moment of the force about the base to that about the hand."""
    _, _, jacobian, pose = arm
    printed = static_efforts(jacobian, wrench_transform(pose[:3, :3], pose[:3, 3]) @ WRENCH)
    corrected = static_efforts_of_tip_wrench(jacobian, pose, WRENCH)
    assert np.abs(printed - corrected).max() > 1.0
    # Gamma is right where the Jacobian is that of the body's point in the base's origin.
    at_base = wrench_transform(np.eye(3), -pose[:3, 3]).T @ jacobian
    np.testing.assert_allclose(
        static_efforts(at_base, wrench_transform(pose[:3, :3], pose[:3, 3]) @ WRENCH), corrected, atol=1e-12
    )


def test_bad_shapes_say_what_was_expected(arm):
    _, _, jacobian, pose = arm
    with pytest.raises(InputError, match=r"wrench: expected an array of shape \(6,\), received shape \(3,\)"):
        static_efforts(jacobian, [1, 2, 3])
    with pytest.raises(InputError, match=r"origin_a_b: expected an array of shape \(3,\)"):
        wrench_transform(pose[:3, :3], [1, 2])
