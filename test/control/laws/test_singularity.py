"""Inverses away from singular positions and at them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robodyn_ros import Robot
from robodyn_ros.control.laws.singularity import damped_inverse, damped_task_inertia, damping_near_singularity
from robodyn_ros.control.laws.task_space import singular_manipulability
from robodyn_ros.dynamics.task_space import task_space_inertia
from robodyn_ros.resources import robot_file


@settings(max_examples=30)
@given(st.integers(0, 10**6), st.integers(1, 6), st.integers(0, 3))
def test_away_from_singular_positions_the_inverse_is_the_pseudo_inverse(seed, rows, more):
    rng = np.random.default_rng(seed)
    jacobian = rng.normal(size=(rows, rows + more))
    values = np.linalg.svd(jacobian, compute_uv=False)
    singular, most = 0.5 * values.prod(), 0.3
    assert damping_near_singularity(jacobian, singular, most) == 0.0
    np.testing.assert_allclose(damped_inverse(jacobian, 0.0), np.linalg.pinv(jacobian), atol=1e-9 / values[-1] ** 2)
    square = rng.normal(size=(rows + more,) * 2)
    mass_matrix = square @ square.T + np.eye(rows + more)
    mobility = jacobian @ np.linalg.solve(mass_matrix, jacobian.T)
    np.testing.assert_allclose(damped_task_inertia(mobility, jacobian, list(range(rows)), 0.0),
                               task_space_inertia(mass_matrix, jacobian), rtol=1e-6, atol=1e-9 / values[-1] ** 2)
    damping = damping_near_singularity(jacobian, 2.0 * values.prod(), most)
    assert damping == pytest.approx((0.5 * most) ** 2, rel=1e-6)
    assert np.linalg.norm(damped_inverse(jacobian, damping), 2) <= 1.0 / (2.0 * np.sqrt(damping)) + 1e-9


def test_at_a_singular_position_the_inverse_is_bounded():
    robot = Robot.from_urdf(robot_file("planar_2r"))
    jacobian = robot.dynamics().jacobian(np.array([0.4, 0.0]))[[0, 2]]
    damping = damping_near_singularity(jacobian, singular_manipulability(robot), 0.1)
    assert damping == pytest.approx(0.01, rel=1e-6)
    assert np.linalg.norm(damped_inverse(jacobian, damping), 2) <= 5.0
    mobility = jacobian @ np.linalg.solve(robot.dynamics().mass_matrix(np.array([0.4, 0.0])), jacobian.T)
    assert np.isfinite(damped_task_inertia(mobility, jacobian, [0, 2], damping)).all()
