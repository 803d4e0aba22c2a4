# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from pin_reference import SEEDS, SHIPPED, PinReference, random_state, relative_error
from random_robots import urdf_robots

from robodyn_ros.base.errors import InputError
from robodyn_ros.compile import trace
from robodyn_ros.kinematics.forward import forward_kinematics
from robodyn_ros.textbook import newton_euler
from robodyn_ros.textbook.generalized_force import forward_dynamics, generalized_force
from robodyn_ros.textbook.lagrange_jacobians import inverse_dynamics


def with_friction(robot):
    """The robot with friction, of another size, in each joint."""
    figures = np.random.default_rng(1).uniform(0.5, 2.0, (len(robot.joints), 2))
    joints = [
        dataclasses.replace(joint, damping=damping, friction=friction)
        for joint, (damping, friction) in zip(robot.joints, figures, strict=True)
    ]
    return dataclasses.replace(robot, joints=tuple(joints))


def check(reference, robot, seed):
    q, v, tau = random_state(robot, seed)
    wrench = np.random.default_rng(seed).normal(size=6)
    force = generalized_force(robot, q, v, tau, wrench)
    # The wrench, as the recursion hands it down from the tip.
    in_tip_axes = np.kron(np.eye(2), forward_kinematics(robot, q)[:3, :3].T) @ wrench
    zero = np.zeros(robot.n)
    exerted = {robot.tip_link: in_tip_axes}
    of_wrench = newton_euler.inverse_dynamics(robot, q, zero, zero, exerted) - newton_euler.gravity(robot, q)
    friction = np.zeros(robot.n)
    for joint in robot.joints:  # by the power that each joint, mimic or not, loses
        own = joint.multiplier * v[joint.dof]
        friction[joint.dof] += joint.multiplier * (joint.damping * own + joint.friction * np.sign(own))
    np.testing.assert_allclose(force, tau - friction - of_wrench, rtol=1e-9, atol=1e-8)
    by_pinocchio = reference.wrench_effort(q, np.roll(wrench, 3), robot.tip_link)
    size = np.max(np.abs(force)) + np.max(np.abs(by_pinocchio))
    assert relative_error(force, tau - friction - by_pinocchio, size) < 1e-9
    # (50) from (39): the acceleration is the one that needs this force.
    a = forward_dynamics(robot, q, v, tau, wrench)
    tolerance = max(1e-9, 1e-14 * np.linalg.cond(reference.mass_matrix(q)))
    assert relative_error(a, reference.forward_dynamics(q, v, tau - friction - by_pinocchio)) < tolerance
    needed = inverse_dynamics(robot, q, v, a)
    np.testing.assert_allclose(needed, force, rtol=1e-9, atol=1e-9 * max(1.0, np.max(np.abs(force))))


@SHIPPED
def test_shipped_robots_against_pinocchio(name):
    reference = PinReference(name)
    check(reference, with_friction(reference.robot), 1)


@settings(deadline=None, max_examples=7)
@given(urdf_robots(max_joints=6), SEEDS)
def test_random_trees_against_pinocchio(urdf, seed):
    reference = PinReference(urdf)
    check(reference, reference.robot, seed)


def test_at_rest_without_contact_it_is_the_motors_effort():
    robot = with_friction(PinReference("arm6").robot)
    q, tau = random_state(robot, 2, 2)
    np.testing.assert_array_equal(generalized_force(robot, q, np.zeros(6), tau), tau)


def test_friction_opposes_motion():
    robot = with_friction(PinReference("arm6").robot)
    q, v, tau = random_state(robot, 3)
    lost = v @ (generalized_force(robot, q, v, tau) - tau)
    assert lost == pytest.approx(-(robot.damping @ v**2 + robot.friction @ np.abs(v)))
    assert lost < -1.0


def test_traced_it_is_the_same():
    robot = with_friction(PinReference("scara").robot)
    q, v, tau = random_state(robot, 4)
    wrench = np.arange(6.0)
    inputs = {**dict.fromkeys(("q", "v", "tau"), (robot.n,)), "wrench_base": (6,)}
    tape = trace(lambda *arrays: forward_dynamics(robot, *arrays), inputs)
    np.testing.assert_allclose(tape(q, v, tau, wrench), forward_dynamics(robot, q, v, tau, wrench), rtol=1e-9)


def test_wrong_shapes_are_named():
    robot, zero = PinReference("arm6").robot, np.zeros(6)
    with pytest.raises(InputError, match=r"tau: expected .*\(6,\), received shape \(7,\)"):
        generalized_force(robot, zero, zero, np.zeros(7))
    with pytest.raises(InputError, match=r"wrench_base: expected .*\(6,\), received shape \(3,\)"):
        generalized_force(robot, zero, zero, zero, np.zeros(3))
