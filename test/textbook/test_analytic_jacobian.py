# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

import numpy as np
import pytest
from hypothesis import assume, given, settings
from pin_reference import SEEDS, SHIPPED, PinReference, pin, random_state, relative_error
from random_robots import urdf_robots

from robodyn_ros.base.errors import InputError
from robodyn_ros.description.resources import robot_file
from robodyn_ros.description.urdf import load_urdf
from robodyn_ros.kinematics.forward import forward_kinematics
from robodyn_ros.kinematics.jacobian import twist_jacobian, twist_jacobian_derivative
from robodyn_ros.textbook.analytic_jacobian import (
    analytic_from_geometric,
    analytic_jacobian_derivative,
    geometric_from_analytic,
    tip_coordinates,
)
from robodyn_ros.textbook.differential_kinematics import joint_acceleration, tip_acceleration
from robodyn_ros.textbook.euler_angles import ROLL_PITCH_YAW, ZYZ

conventions = pytest.mark.parametrize("convention", [ZYZ, ROLL_PITCH_YAW], ids=["zyz", "rpy"])
robots = pytest.mark.parametrize("name", ["arm6", "arm7"])
H = 1e-6


def linear_first(array):
    return np.roll(array, 3, axis=0)


class Arm:
    """An arm away from where its hand's angles are singular or jump."""

    def __init__(self, name):
        self.model = load_urdf(robot_file(name))
        self.q = np.linspace(0.3, 0.9, self.model.n)
        self.v, self.a = np.random.default_rng(6).uniform(-1, 1, (2, self.model.n))

    def coordinates(self, q, convention):
        return tip_coordinates(forward_kinematics(self.model, q), convention)

    def geometric(self, q):
        return linear_first(twist_jacobian(self.model, q))

    def analytic(self, q, convention):
        return analytic_from_geometric(self.geometric(q), self.coordinates(q, convention)[3:], convention)

    def analytic_derivative(self, convention):
        return analytic_jacobian_derivative(
            self.geometric(self.q),
            linear_first(twist_jacobian_derivative(self.model, self.q, self.v)),
            self.v,
            self.coordinates(self.q, convention)[3:],
            convention,
        )


@conventions
@robots
def test_analytic_jacobian_is_the_derivative_of_the_hands_coordinates(name, convention):  # (1.23), (1.36)
    arm = Arm(name)
    columns = [
        (arm.coordinates(arm.q + step, convention) - arm.coordinates(arm.q - step, convention)) / (2 * H)
        for step in H * np.eye(arm.model.n)
    ]
    np.testing.assert_allclose(arm.analytic(arm.q, convention), np.transpose(columns), atol=1e-7)


@conventions
@robots
def test_geometric_jacobian_comes_back_through_omega(name, convention):  # (1.37)
    arm = Arm(name)
    angles = arm.coordinates(arm.q, convention)[3:]
    back = geometric_from_analytic(arm.analytic(arm.q, convention), angles, convention)
    np.testing.assert_allclose(back, arm.geometric(arm.q), atol=1e-13)


@conventions
@robots
def test_derivative_is_the_finite_difference(name, convention):
    arm = Arm(name)
    ahead, behind = (arm.analytic(arm.q + step * arm.v, convention) for step in (H, -H))
    np.testing.assert_allclose(arm.analytic_derivative(convention), (ahead - behind) / (2 * H), atol=1e-7)


@conventions
@robots
def test_accelerations_there_and_back(name, convention):  # summary 1.15
    arm = Arm(name)
    jacobian, derivative = arm.analytic(arm.q, convention), arm.analytic_derivative(convention)
    acceleration = tip_acceleration(jacobian, derivative, arm.v, arm.a)

    def velocity_at(time):
        q, v = arm.q + time * arm.v + time**2 / 2 * arm.a, arm.v + time * arm.a
        return arm.analytic(q, convention) @ v

    np.testing.assert_allclose(acceleration, (velocity_at(H) - velocity_at(-H)) / (2 * H), atol=1e-7)
    a = joint_acceleration(jacobian, derivative, jacobian @ arm.v, acceleration)
    if arm.model.n == 6:
        np.testing.assert_allclose(a, arm.a, atol=1e-9)
    least_v = np.linalg.pinv(jacobian) @ jacobian @ arm.v
    np.testing.assert_allclose(jacobian @ a + derivative @ least_v, acceleration, atol=1e-12)


def check_against_pinocchio(reference, seed):
    """The hand's position with roll, pitch, yaw."""
    robot, link = reference.robot, reference.robot.tip_link
    q, v = random_state(robot, seed)[:2]
    pose, jacobian = reference.forward_kinematics(q, link), reference.jacobian(q, link)
    angles = pin.rpy.matrixToRpy(pose[:3, :3])
    rates = pin.rpy.computeRpyJacobianInverse(angles, pin.ReferenceFrame.LOCAL_WORLD_ALIGNED)
    expected = np.vstack([jacobian[:3], rates @ jacobian[3:]])
    coordinates = tip_coordinates(forward_kinematics(robot, q), ROLL_PITCH_YAW)
    angle_difference = (coordinates[3:] - angles + np.pi) % (2 * np.pi) - np.pi
    np.testing.assert_allclose(angle_difference, 0.0, atol=1e-9)
    found = analytic_from_geometric(linear_first(twist_jacobian(robot, q)), coordinates[3:], ROLL_PITCH_YAW)
    assert relative_error(found, expected, at_least=1.0) < 1e-9

    omega_dot = pin.rpy.computeRpyJacobianTimeDerivative(
        angles, (found @ v)[3:], pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
    )
    slope = reference.jacobian_derivative(q, v, link)
    turning = rates @ (slope[3:] - omega_dot @ rates @ jacobian[3:])
    derivative = analytic_jacobian_derivative(
        linear_first(twist_jacobian(robot, q)), linear_first(twist_jacobian_derivative(robot, q, v)), v,
        coordinates[3:], ROLL_PITCH_YAW,
    )
    assert relative_error(derivative, np.vstack([slope[:3], turning]), at_least=1.0) < 1e-9


@SHIPPED
def test_shipped_robots_against_pinocchio(name):
    check_against_pinocchio(PinReference(name), 1)


@settings(deadline=None, max_examples=10)
@given(urdf_robots(), SEEDS)
def test_random_trees_against_pinocchio(urdf, seed):
    reference = PinReference(urdf)
    robot = reference.robot
    assume(np.abs(forward_kinematics(robot, random_state(robot, seed)[0])[2, 0]) < 0.999)  # the sine of the pitch
    check_against_pinocchio(reference, seed)


def test_hand_coordinates_of_a_pose():
    pose = np.eye(4)
    pose[:3, 3] = [1.0, 2.0, 3.0]
    pose[:3, :3] = ZYZ.rotation([0.4, 0.5, 0.6])
    np.testing.assert_allclose(tip_coordinates(pose), [1, 2, 3, 0.4, 0.5, 0.6], atol=1e-15)


def test_aligned_axes_have_no_analytic_jacobian():
    with pytest.raises(InputError, match="ZYZ Euler angle rates are determined"):
        analytic_from_geometric(np.ones((6, 6)), [0.3, 0.0, 0.1])


def test_bad_shapes_say_what_was_expected():
    with pytest.raises(InputError, match=r"geometric_jacobian: expected an array of shape \(6, any\)"):
        analytic_from_geometric(np.ones((3, 6)), [0.3, 0.2, 0.1])
