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
from pin_reference import SEEDS, SHIPPED, PinReference, random_state, relative_error
from random_robots import urdf_robots

from robodyn_ros import Robot
from robodyn_ros.base.errors import InputError
from robodyn_ros.dynamics.mass_matrix import mass_matrix
from robodyn_ros.dynamics.robot_dynamics import Dynamics, InlineDynamics
from robodyn_ros.dynamics.task_space import (
    dynamically_consistent_inverse,
    task_space_bias,
    task_space_inertia,
)
from robodyn_ros.textbook.newton_euler import bias, inverse_dynamics


def independent_rows(jacobian):
    """The rows, from the first on, that do not depend on those before; at most as many as there are joints."""
    rows = np.zeros(6, dtype=bool)
    for row in range(6):
        rows[row] = True
        rows[row] = np.linalg.matrix_rank(jacobian[rows], tol=0.05) == rows.sum()
    return rows


def check_against_pinocchio(reference, seed):
    robot = reference.robot
    q, v, _ = random_state(robot, seed)
    jacobian = reference.jacobian(q, robot.tip_link)
    rows = independent_rows(jacobian)
    jacobian, drift = jacobian[rows], reference.jacobian_derivative(q, v, robot.tip_link)[rows] @ v
    inertia = reference.mass_matrix(q)
    inverse = np.linalg.inv(inertia)
    expected = np.linalg.inv(jacobian @ inverse @ jacobian.T)
    tolerance = max(1e-9, 1e-14 * np.linalg.cond(inertia) * np.linalg.cond(jacobian) ** 2)
    option = {"rows": rows}
    assert relative_error(InlineDynamics(robot).task_space_inertia(q, **option), expected) < tolerance
    force = expected @ (jacobian @ inverse @ reference.bias(q, v) - drift)
    size = np.max(np.abs(expected)) * max(1.0, np.max(np.abs(drift)))
    assert relative_error(InlineDynamics(robot).task_space_bias(q, v, **option), force, size) < tolerance
    right_inverse = inverse @ jacobian.T @ expected
    assert relative_error(InlineDynamics(robot).dynamically_consistent_inverse(q, **option), right_inverse) < tolerance


@SHIPPED
def test_shipped_robots_against_pinocchio(name):
    check_against_pinocchio(PinReference(name), 5)


@settings(deadline=None, max_examples=10)
@given(urdf_robots(), SEEDS)
def test_random_trees_against_pinocchio(urdf, seed):
    reference = PinReference(urdf)
    q = random_state(reference.robot, seed)[0]
    assume(independent_rows(reference.jacobian(q, reference.robot.tip_link)).any())
    check_against_pinocchio(reference, seed)


@settings(deadline=None, max_examples=10)
@given(urdf_robots(), SEEDS)
def test_random_trees(urdf, seed):
    """Random rows of a Jacobian represent the directions in which a random robot can move."""
    robot = PinReference(urdf).robot
    q, v, tau = random_state(robot, seed)
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, robot.n + 1))
    jacobian, motion = rng.normal(size=(count, robot.n)), rng.normal(size=count)
    inertia = mass_matrix(robot, q)
    tolerance = 1e-13 * np.linalg.cond(inertia) * np.linalg.cond(jacobian) ** 2 + 1e-9
    at_task = task_space_inertia(inertia, jacobian)
    expected = np.linalg.inv(jacobian @ np.linalg.inv(inertia) @ jacobian.T)
    assert relative_error(at_task, expected) < tolerance
    inverse = dynamically_consistent_inverse(at_task, inertia, jacobian)
    np.testing.assert_allclose(jacobian @ inverse, np.eye(count), atol=10 * tolerance * np.max(np.abs(inverse)))
    # Efforts that it projects away do not accelerate the task.
    free = tau - jacobian.T @ (inverse.T @ tau)
    pushed = jacobian @ np.linalg.solve(inertia, free)
    scale = np.max(np.abs(jacobian @ np.linalg.solve(inertia, tau))) + 1.0
    assert np.max(np.abs(pushed)) < 10 * tolerance * scale * np.max(np.abs(tau))
    b = bias(robot, q, v)
    found = task_space_bias(at_task, inertia, jacobian, motion, b)
    expected = inverse.T @ b - at_task @ motion
    assert relative_error(found, expected, at_least=1.0) < 100 * tolerance * (1 + np.max(np.abs(at_task)))


def test_what_a_robot_cannot_move_is_said():
    planar = PinReference("planar_2r").robot
    with pytest.raises(InputError, match="2, or fewer, received 6.*rows"):
        InlineDynamics(planar).task_space_inertia(np.zeros(2))
    for dyn in (Dynamics(planar), Robot(planar).dynamics(False, "textbook")):
        with pytest.raises(InputError, match=r"row \d .*zero or depends.*choose rows"):
            dyn.task_space_inertia(
                np.ones(2), rows=[True, True, False, False, False, False]
            )


def test_a_planar_robot_has_a_planar_task_space():
    robot = PinReference("planar_2r").robot
    dyn = Dynamics(robot)
    q, v, a = np.array([[0.3, 1.2], [0.5, -0.4], [0.2, 0.7]])
    plane = [bool(np.any(row)) and index < 3 for index, row in enumerate(dyn.jacobian(q))]
    assert sum(plane) == 2
    jacobian = dyn.jacobian(q)[plane]
    acceleration = jacobian @ a + dyn.jacobian_derivative(q, v)[plane] @ v
    wrench = dyn.task_space_inertia(q, rows=plane) @ acceleration + dyn.task_space_bias(q, v, rows=plane)
    np.testing.assert_allclose(jacobian.T @ wrench, inverse_dynamics(robot, q, v, a), atol=1e-12)
