"""The dynamics as the door of the library speaks of them: the one place where conventions change.

Inside, twists and wrenches have their angular part first and F_tip is what the robot exerts on the environment, in
tip axes, as [LynchPark] has it. At the door, as at the ROS boundary (geometry_msgs), the linear part comes first, and
``wrench_tip`` is what the environment exerts on the robot, in base axes, about the tip link's origin. The effort it
causes is ``jacobian(q).T @ wrench_tip``.

The methods of ``Dynamics`` that have these functions' names say what they take, give and raise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from robodyn_ros.description.model import Array, RobotModel
from robodyn_ros.dynamics import articulated_body, derivatives, second_moment_newton_euler, task_space
from robodyn_ros.dynamics import forward_dynamics as mass_matrix_form
from robodyn_ros.dynamics.mass_matrix import mass_matrix
from robodyn_ros.kinematics.arguments import as_rows, checks_joint_arrays
from robodyn_ros.kinematics.forward import forward_kinematics
from robodyn_ros.kinematics.jacobian import geometric_jacobian
from robodyn_ros.kinematics.jacobian_derivative import geometric_jacobian_derivative

Wrenches = Mapping[str, Array]
"""Wrenches as ``wrench_tip``, on other links, by their names: each in base axes about its link's origin."""


@checks_joint_arrays
def inverse_dynamics(
    model: RobotModel, q: Array, v: Array, a: Array, wrench_tip: Array | None = None, wrenches: Wrenches | None = None
) -> Array:
    """``second_moment_newton_euler.inverse_dynamics`` with the door's wrenches: tau = M a + c + g - J^T wrench_tip."""
    return second_moment_newton_euler.inverse_dynamics(model, q, v, a, _exerted(model, q, wrench_tip, wrenches))


@checks_joint_arrays
def forward_dynamics(
    model: RobotModel, q: Array, v: Array, tau: Array, wrench_tip: Array | None = None, wrenches: Wrenches | None = None
) -> Array:
    """Forward dynamics with the door's wrenches, by what takes less time: M a = tau + J^T wrench_tip - c - g."""
    exerted = _exerted(model, q, wrench_tip, wrenches)
    if articulated_body.pays(model):
        return articulated_body.articulated_body_forward_dynamics(model, q, v, tau, exerted)
    return mass_matrix_form.forward_dynamics(model, q, v, tau, exerted)


@checks_joint_arrays
def inverse_dynamics_derivatives(
    model: RobotModel, q: Array, v: Array, a: Array, wrench_tip: Array | None = None, wrenches: Wrenches | None = None
) -> Array:
    """``derivatives.inverse_dynamics_derivatives`` with the door's wrenches, which stay what they are in base axes."""
    result = derivatives.inverse_dynamics_derivatives(model, q, v, a)
    for link, wrench in _by_link(model, wrench_tip, wrenches):
        by_position = result[0] - derivatives.wrench_effort_derivative(model, q, _other_part_first(wrench), link)
        result = np.array([by_position, result[1], result[2]])
    return result


@checks_joint_arrays
def forward_dynamics_derivatives(
    model: RobotModel, q: Array, v: Array, tau: Array, wrench_tip: Array | None = None, wrenches: Wrenches | None = None
) -> Array:
    """``derivatives.forward_dynamics_derivatives`` with the door's wrenches, which stay what they are in base axes."""
    by_position = None
    for link, wrench in _by_link(model, wrench_tip, wrenches):
        moment_force = _other_part_first(wrench)
        tau = tau + geometric_jacobian(model, q, link).T @ moment_force
        slope = derivatives.wrench_effort_derivative(model, q, moment_force, link)
        by_position = slope if by_position is None else by_position + slope
    return derivatives.forward_dynamics_derivatives(model, q, v, tau, by_position)


def jacobian(model: RobotModel, q: Array, link: str | None = None) -> Array:
    """``geometric_jacobian`` with its linear rows first."""
    return _other_part_first(geometric_jacobian(model, q, link))


def jacobian_derivative(model: RobotModel, q: Array, v: Array, link: str | None = None) -> Array:
    """``geometric_jacobian_derivative`` with its linear rows first."""
    return _other_part_first(geometric_jacobian_derivative(model, q, v, link))


def task_space_inertia(
    model: RobotModel, q: Array, link: str | None = None, rows: Sequence[bool] | None = None
) -> Array:
    """``task_space.task_space_inertia`` with the door's Jacobian."""
    return task_space.task_space_inertia(mass_matrix(model, q), jacobian(model, q, link)[_chosen(rows)])


def task_space_bias(
    model: RobotModel, q: Array, v: Array, link: str | None = None, rows: Sequence[bool] | None = None
) -> Array:
    """``task_space.task_space_bias`` with the door's Jacobian."""
    chosen, joint_inertia = _chosen(rows), mass_matrix(model, q)
    rates_to_task = jacobian(model, q, link)[chosen]
    inertia = task_space.task_space_inertia(joint_inertia, rates_to_task)
    drift = jacobian_derivative(model, q, v, link)[chosen] @ v
    bias = second_moment_newton_euler.bias(model, q, v)
    return task_space.task_space_bias(inertia, joint_inertia, rates_to_task, drift, bias)


def dynamically_consistent_inverse(
    model: RobotModel, q: Array, link: str | None = None, rows: Sequence[bool] | None = None
) -> Array:
    """``task_space.dynamically_consistent_inverse`` with the door's Jacobian."""
    joint_inertia, rates_to_task = mass_matrix(model, q), jacobian(model, q, link)[_chosen(rows)]
    inertia = task_space.task_space_inertia(joint_inertia, rates_to_task)
    return task_space.dynamically_consistent_inverse(inertia, joint_inertia, rates_to_task)


def _other_part_first(rows: Array) -> Array:
    """(angular, linear) from (linear, angular), and back."""
    return np.concatenate([rows[3:], rows[:3]])


def _chosen(rows: Sequence[bool] | None) -> list[int]:
    """Indices of the rows of the door's Jacobian that count."""
    if rows is None:
        return list(range(6))
    return [index for index, row in enumerate(as_rows(rows)) if row]


def _by_link(model: RobotModel, wrench_tip: Array | None, wrenches: Wrenches | None) -> list[tuple[str, Array]]:
    """All of the door's wrenches, each with its link."""
    tip = [] if wrench_tip is None else [(model.tip_link, wrench_tip)]
    return tip + list((wrenches or {}).items())


def _exerted(
    model: RobotModel, q: Array, wrench_tip: Array | None, wrenches: Wrenches | None
) -> dict[str, Array] | None:
    """The door's wrenches as the book's F_tip: exerted by the links, in their axes, angular part first."""
    exerted: dict[str, Array] = {}
    for link, wrench in _by_link(model, wrench_tip, wrenches):
        rotation = forward_kinematics(model, q, link)[:3, :3]
        moment_force = _other_part_first(wrench)
        in_link = -np.concatenate([rotation.T @ moment_force[:3], rotation.T @ moment_force[3:]])
        exerted[link] = exerted[link] + in_link if link in exerted else in_link
    return exerted or None
