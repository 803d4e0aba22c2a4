# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

import numpy as np
from hypothesis import given, settings
from pin_reference import SEEDS, SHIPPED, PinReference, random_state, relative_error
from random_robots import urdf_robots

from robodyn_ros.description.model import skew
from robodyn_ros.description.resources import robot_file
from robodyn_ros.description.urdf import load_urdf, load_urdf_text
from robodyn_ros.kinematics.forward import forward_kinematics
from robodyn_ros.kinematics.jacobian import body_jacobians, twist_jacobian, twist_jacobian_derivative


def check_every_link(reference, seed):
    (q,) = random_state(reference.robot, seed, 1)
    for link in reference.robot.frames:
        expected = reference.jacobian(q, link)
        jacobian = twist_jacobian(reference.robot, q, link)
        assert relative_error(jacobian, np.vstack([expected[3:], expected[:3]]), at_least=1.0) < 1e-9, link


@SHIPPED
def test_shipped_robots_against_pinocchio(name):
    check_every_link(PinReference(name), 1)


@settings(deadline=None, max_examples=20)
@given(urdf_robots(), SEEDS)
def test_random_trees_against_pinocchio(urdf, seed):
    check_every_link(PinReference(urdf), seed)


@SHIPPED
def test_it_is_the_derivative_of_the_forward_kinematics(name):
    robot = PinReference(name).robot
    q, direction = random_state(robot, 4, 2)
    step = 1e-6
    ahead, behind = (forward_kinematics(robot, q + h * direction) for h in (step, -step))
    derivative = (ahead - behind) / (2 * step)
    twist = twist_jacobian(robot, q) @ direction
    rotation = forward_kinematics(robot, q)[:3, :3]
    np.testing.assert_allclose(derivative[:3, :3] @ rotation.T, skew(twist[:3]), atol=1e-8)
    np.testing.assert_allclose(derivative[:3, 3], twist[3:], atol=1e-8)


@settings(deadline=None, max_examples=10)
@given(urdf_robots(), SEEDS)
def test_body_jacobian_is_the_geometric_one_in_link_axes(urdf, seed):
    robot = PinReference(urdf).robot
    (q,) = random_state(robot, seed, 1)
    for joint, jacobian in zip(robot.joints, body_jacobians(robot, q), strict=True):
        rotation = forward_kinematics(robot, q, joint.link)[:3, :3]
        expected = np.kron(np.eye(2), rotation.T) @ twist_jacobian(robot, q, joint.link)
        np.testing.assert_allclose(jacobian, expected, atol=1e-11)


@settings(deadline=None, max_examples=40)
@given(urdf_robots())
def test_it_is_the_finite_difference_on_random_trees(xml):
    model = load_urdf_text(xml)
    q, v = np.random.default_rng(4).uniform(-1, 1, (2, model.n))
    h = 1e-6
    difference = twist_jacobian(model, q + h * v) - twist_jacobian(model, q - h * v)
    np.testing.assert_allclose(twist_jacobian_derivative(model, q, v), difference / (2 * h), atol=1e-7)


def check_every_derivative(reference, seed):
    robot = reference.robot
    q, v = random_state(robot, seed, 2)
    for link in robot.frames:
        expected = reference.jacobian_derivative(q, v, link)
        found = twist_jacobian_derivative(robot, q, v, link)
        assert relative_error(found, np.roll(expected, 3, axis=0), at_least=1.0) < 1e-9, link


@SHIPPED
def test_derivatives_of_shipped_robots_against_pinocchio(name):
    check_every_derivative(PinReference(name), 1)


@settings(deadline=None, max_examples=20)
@given(urdf_robots(), SEEDS)
def test_derivatives_of_random_trees_against_pinocchio(urdf, seed):
    check_every_derivative(PinReference(urdf), seed)


def test_links_that_stand_still():
    model = load_urdf(robot_file("arm6"))
    derivative = twist_jacobian_derivative(model, np.ones(6), np.ones(6), model.base_link)
    np.testing.assert_array_equal(derivative, np.zeros((6, 6)))
