# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The book's formulas give the same compiled as on floats; functions that branch say that they cannot be traced."""

import numpy as np
import pytest

from robodyn_ros.base.errors import InputError
from robodyn_ros.compile import compile_function
from robodyn_ros.description.denavit_hartenberg import dh_transform
from robodyn_ros.description.resources import robot_file
from robodyn_ros.description.urdf import load_urdf
from robodyn_ros.kinematics.jacobian import twist_jacobian_derivative
from robodyn_ros.textbook.analytic_jacobian import analytic_jacobian_derivative
from robodyn_ros.textbook.angular_velocity import point_velocity
from robodyn_ros.textbook.differential_kinematics import tip_acceleration
from robodyn_ros.textbook.euler_angles import ROLL_PITCH_YAW, ZYZ, zyz_from_rotation
from robodyn_ros.textbook.homogeneous import homogeneous_inverse, transform_point
from robodyn_ros.textbook.planar_2r import planar_2r_position
from robodyn_ros.textbook.quaternions import (
    quaternion_from_axis_angle,
    quaternion_from_rotation_elements,
    rotate_by_quaternion,
    rotation_from_quaternion,
)
from robodyn_ros.textbook.rigid_body import eulers_moment, inertia_in_outer_axes, inertia_tensor, parallel_axes
from robodyn_ros.textbook.rotations import rotate_about_axis, rotation_about_axis, rotation_x, rotation_y, rotation_z
from robodyn_ros.textbook.statics import static_efforts_of_tip_wrench

AXIS = np.array([2.0, -1.0, 2.0]) / 3.0
ARM = load_urdf(robot_file("arm6"))


def pose(x):
    matrix = np.array([[0.0, 0.0, 0.0, x[0]], [0.0, 0.0, 0.0, x[1]], [0.0, 0.0, 0.0, x[2]], [0.0, 0.0, 0.0, 1.0]])
    matrix = matrix.astype(np.asarray(x).dtype)
    matrix[:3, :3] = ZYZ.rotation(x)
    return matrix


def jacobians(x):
    return np.outer(x, x)[[0, 1, 2, 0, 1, 2]], np.outer(x, 2.0 * x)[[2, 1, 0, 2, 1, 0]]


FUNCTIONS = {
    "rotations": lambda x: rotation_x(x[0]) @ rotation_y(x[1]) @ rotation_z(x[2]),
    "about_axis": lambda x: rotation_about_axis(AXIS, x[0]),
    "about_traced_axis": lambda x: rotation_about_axis(x, x[0]),
    "vector_about_axis": lambda x: rotate_about_axis(x, AXIS, x[0]),
    "quaternion_axis_angle": lambda x: quaternion_from_axis_angle(AXIS, x[1]),
    "quaternion_rotation": lambda x: rotation_from_quaternion(quaternion_from_axis_angle(AXIS, x[1])),
    "quaternion_vector": lambda x: rotate_by_quaternion(quaternion_from_axis_angle(AXIS, x[1]), x),
    "quaternion_elements": lambda x: quaternion_from_rotation_elements(rotation_about_axis(AXIS, x[0])),
    "zyz": ZYZ.rotation,
    "zyz_velocity": lambda x: ZYZ.angular_velocity(x, 2.0 * x),
    "zyz_rates": lambda x: ZYZ.rates(x, 2.0 * x),
    "zyz_derivative": lambda x: ZYZ.rate_matrix_derivative(x, 2.0 * x),
    "rpy": ROLL_PITCH_YAW.rotation,
    "rpy_velocity": lambda x: ROLL_PITCH_YAW.angular_velocity(x, 2.0 * x),
    "rpy_rates": lambda x: ROLL_PITCH_YAW.rates(x, 2.0 * x),
    "rpy_derivative": lambda x: ROLL_PITCH_YAW.rate_matrix_derivative(x, 2.0 * x),
    "inverse": lambda x: homogeneous_inverse(pose(x)),
    "point": lambda x: transform_point(pose(x), 2.0 * x),
    "point_velocity": lambda x: point_velocity(x, 2.0 * x + 1.0),
    "denavit_hartenberg": lambda x: dh_transform(x[0], x[1], x[2], x[0]),
    "acceleration": lambda x: tip_acceleration(*jacobians(x), x, 2.0 * x),
    "analytic_derivative": lambda x: analytic_jacobian_derivative(*jacobians(x), x, 2.0 * x),
    "jacobian_derivative": lambda x: twist_jacobian_derivative(
        ARM, np.concatenate([x, x]), np.concatenate([2.0 * x, x])
    ),
    "statics": lambda x: static_efforts_of_tip_wrench(jacobians(x)[0], pose(x), np.concatenate([x, 2.0 * x])),
    "planar_2r": lambda x: planar_2r_position(x[:2], 0.5, 0.3),
    "inertia_tensor": lambda x: inertia_tensor(np.outer(x, x), x),
    "rotated_inertia": lambda x: inertia_in_outer_axes(rotation_x(x[0]), np.outer(x, x)),
    "parallel_axes": lambda x: parallel_axes(np.outer(x, x), x[0], x),
    "eulers_moment": lambda x: eulers_moment(np.outer(x, x) + np.eye(3), x, 2.0 * x + 1.0),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_compiled_is_the_formula(name):
    x = np.array([0.6, 0.5, 0.4]) / np.linalg.norm([0.6, 0.5, 0.4])
    kernel = compile_function(FUNCTIONS[name], {"x": (3,)}, name=name)
    np.testing.assert_allclose(kernel(x), FUNCTIONS[name](x), rtol=1e-12, atol=1e-13)


def test_functions_that_branch_say_so():
    with pytest.raises(InputError, match="rotation: expected floats, received objects"):
        compile_function(lambda x: zyz_from_rotation(ZYZ.rotation(x)), {"x": (3,)}, name="angles")
