import numpy as np
import pytest
from hypothesis import assume, given, settings
from pin_reference import SEEDS, SHIPPED, PinReference, random_state, relative_error
from random_robots import urdf_robots

from robodyn_ros.dynamics import public_conventions as door
from robodyn_ros.dynamics.forward_dynamics import forward_dynamics
from robodyn_ros.dynamics.mass_matrix import mass_matrix
from robodyn_ros.dynamics.robot_dynamics import Dynamics
from robodyn_ros.dynamics.task_space import (
    dynamically_consistent_inverse,
    task_space_bias,
    task_space_dynamics,
    task_space_inertia,
)
from robodyn_ros.errors import InputError
from robodyn_ros.kinematics.forward import forward_kinematics
from robodyn_ros.kinematics.jacobian import body_jacobians
from robodyn_ros.kinematics.twists import adjoint, inverse_pose
from robodyn_ros.textbook.newton_euler import bias, inverse_dynamics


def tip_jacobian(robot, q):
    """In the tip's own frame."""
    frame = robot.frame(robot.tip_link)
    return adjoint(inverse_pose(frame.pose_link_frame)) @ body_jacobians(robot, q)[frame.joint]


def drift(robot, q, v, step=1e-6):
    """J' v by differences."""
    return (tip_jacobian(robot, q + step * v) - tip_jacobian(robot, q - step * v)) @ v / (2 * step)


@pytest.mark.parametrize("seed", range(5))
def test_six_joints_as_the_book_has_it(seed):
    """(9.97)-(9.99), with the inverse of J."""
    robot = PinReference("arm6").robot
    q, v, tau = random_state(robot, seed)
    jacobian, inertia = tip_jacobian(robot, q), mass_matrix(robot, q)
    inverse = np.linalg.inv(jacobian)
    found = task_space_dynamics(robot, q, v)
    expected = inverse.T @ inertia @ inverse
    size = 1e-8 * np.linalg.cond(jacobian)
    np.testing.assert_allclose(found.inertia, expected, rtol=size, atol=size * np.max(np.abs(expected)))
    expected = inverse.T @ bias(robot, q, v) - expected @ drift(robot, q, v)  # J' J^-1 V = J' v
    np.testing.assert_allclose(found.bias, expected, rtol=size, atol=size * np.max(np.abs(expected)))
    # The motion under tau, seen at the tip.
    acceleration = jacobian @ forward_dynamics(robot, q, v, tau) + drift(robot, q, v)
    expected = inverse.T @ tau
    np.testing.assert_allclose(found.inertia @ acceleration + found.bias, expected, rtol=size, atol=size * 100)


@pytest.mark.parametrize("link", [None, "link6"])
def test_seven_joints_move_under_a_wrench_as_lambda_says(link):
    """No joint efforts, a wrench on the link alone: F = Lambda V' + eta."""
    robot = PinReference("arm7").robot
    q, v, _ = random_state(robot, 3)
    wrench = np.random.default_rng(3).normal(size=6)
    name = link or robot.tip_link
    a = forward_dynamics(robot, q, v, np.zeros(7), exerted={name: -wrench})
    frame = robot.frame(name)
    jacobian = adjoint(inverse_pose(frame.pose_link_frame)) @ body_jacobians(robot, q)[frame.joint]
    step = 1e-6

    def twist(time):
        position = q + v * time + 0.5 * a * time**2
        return (
            adjoint(inverse_pose(frame.pose_link_frame)) @ body_jacobians(robot, position)[frame.joint] @ (v + a * time)
        )

    acceleration = (twist(step) - twist(-step)) / (2 * step)
    found = task_space_dynamics(robot, q, v, link)
    np.testing.assert_allclose(found.inertia @ acceleration + found.bias, wrench, atol=1e-6)
    np.testing.assert_allclose(
        found.inertia @ (jacobian @ np.linalg.solve(mass_matrix(robot, q), jacobian.T)), np.eye(6), atol=1e-9
    )


def test_the_doors_frame_is_the_same_dynamics():
    robot = PinReference("arm7").robot
    q, v, _ = random_state(robot, 4)
    rotation = forward_kinematics(robot, q)[:3, :3]
    swap = np.roll(np.eye(6), 3, axis=0)
    to_tip = np.kron(np.eye(2), rotation.T) @ swap  # from base axes, linear first
    book = task_space_dynamics(robot, q, v)
    np.testing.assert_allclose(door.task_space_inertia(robot, q), to_tip.T @ book.inertia @ to_tip, atol=1e-9)
    # In base axes V' is the acceleration of the point itself, in the link's the derivative of components.
    velocity = door.jacobian(robot, q) @ v
    turning = to_tip @ np.concatenate([np.cross(velocity[3:], velocity[:3]), np.zeros(3)])
    expected = to_tip.T @ (book.bias - book.inertia @ turning)
    np.testing.assert_allclose(door.task_space_bias(robot, q, v), expected, atol=1e-8)


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
    assert relative_error(door.task_space_inertia(robot, q, **option), expected) < tolerance
    force = expected @ (jacobian @ inverse @ reference.bias(q, v) - drift)
    size = np.max(np.abs(expected)) * max(1.0, np.max(np.abs(drift)))
    assert relative_error(door.task_space_bias(robot, q, v, **option), force, size) < tolerance
    right_inverse = inverse @ jacobian.T @ expected
    assert relative_error(door.dynamically_consistent_inverse(robot, q, **option), right_inverse) < tolerance


@SHIPPED
def test_shipped_robots_against_pinocchio(name):
    check_against_pinocchio(PinReference(name), 5)


@settings(deadline=None, max_examples=20)
@given(urdf_robots(), SEEDS)
def test_random_trees_against_pinocchio(urdf, seed):
    reference = PinReference(urdf)
    q = random_state(reference.robot, seed)[0]
    assume(independent_rows(reference.jacobian(q, reference.robot.tip_link)).any())
    check_against_pinocchio(reference, seed)


@settings(deadline=None, max_examples=20)
@given(urdf_robots(), SEEDS)
def test_random_trees(urdf, seed):
    """Random rows of a Jacobian stand for what a random robot can move."""
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
    planar, arm = PinReference("planar_2r").robot, PinReference("arm6").robot
    with pytest.raises(InputError, match="2, or fewer, received 6.*rows"):
        door.task_space_inertia(planar, np.zeros(2))
    for compiled in (True, False):
        with pytest.raises(InputError, match=r"row 1 .*zero or depends.*choose rows"):
            Dynamics(planar, compiled=compiled).task_space_inertia(
                np.ones(2), rows=[True, True, False, False, False, False]
            )
    with pytest.raises(InputError, match=r"v.*\(6,\).*\(5,\)"):
        task_space_dynamics(arm, np.zeros(6), np.zeros(5))
    with pytest.raises(InputError, match="base_link.*does not move"):
        task_space_dynamics(arm, np.zeros(6), np.zeros(6), arm.base_link)


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
