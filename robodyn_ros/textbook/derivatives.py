# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Derivatives of inverse and forward dynamics, by exact differentiation of the Newton-Euler recursion."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from robodyn_ros.compile import derivative_at
from robodyn_ros.description.model import Array, RobotModel
from robodyn_ros.kinematics.arguments import checks_joint_arrays
from robodyn_ros.textbook.linear_system import solve_symmetric
from robodyn_ros.textbook.newton_euler import forward_dynamics, inverse_dynamics
from robodyn_ros.textbook.twist_jacobian import twist_jacobian

Applied = Sequence[tuple[str, Array]]
"""Wrenches on links: link name and (moment, force) about the link's origin in base axes, constant while links move."""


@checks_joint_arrays
def inverse_dynamics_derivatives(model: RobotModel, q: Array, v: Array, a: Array, applied: Applied = ()) -> Array:
    """Derivatives dtau/dq, dtau/dv, dtau/da of tau = M a + c + g - J^T F, from [LynchPark] (9.53)-(9.57).

    Args:
        model: The robot.
        q: Joint positions, shape (n,) [rad or m].
        v: Joint velocities, shape (n,) [rad/s or m/s].
        a: Joint accelerations, shape (n,) [rad/s^2 or m/s^2].
        applied: Wrenches F that the environment exerts on links.

    Returns:
        Shape (3, n, n); element [., i, j] is the derivative of tau_i.

    Raises:
        InputError: An array has another shape; or no link has a name of ``applied``.
    """

    def efforts(q: Array, v: Array, a: Array, *wrenches: Array) -> Array:
        return inverse_dynamics(model, q, v, a) - _effort_of(model, q, applied, wrenches)

    arguments = (q, v, a, *(wrench for _, wrench in applied))
    return np.array([derivative_at(efforts, arguments, position) for position in range(3)])


@checks_joint_arrays
def forward_dynamics_derivatives(model: RobotModel, q: Array, v: Array, tau: Array, applied: Applied = ()) -> Array:
    """Derivatives da/dq, da/dv, da/dtau of the acceleration a of [LynchPark] (9.89).

    Differentiating tau(q, v, a(q, v, tau)) = tau yields da/dq = -M^-1 dtau/dq, da/dv = -M^-1 dtau/dv, da/dtau = M^-1.

    Args:
        model: The robot.
        q: Joint positions, shape (n,) [rad or m].
        v: Joint velocities, shape (n,) [rad/s or m/s].
        tau: Joint efforts, shape (n,) [N m or N].
        applied: As for ``inverse_dynamics_derivatives``.

    Returns:
        Shape (3, n, n); element [., i, j] is the derivative of a_i.

    Raises:
        InputError: An array has another shape; a joint moves no inertia; or no link has a name of ``applied``.
    """
    a = forward_dynamics(model, q, v, tau + _effort_of(model, q, applied, [wrench for _, wrench in applied]))
    by_position, by_velocity, mass_matrix = inverse_dynamics_derivatives(model, q, v, a, applied)
    return np.array([
        -solve_symmetric(mass_matrix, by_position),
        -solve_symmetric(mass_matrix, by_velocity),
        solve_symmetric(mass_matrix, np.eye(model.n)),
    ])


def _effort_of(model: RobotModel, q: Array, applied: Applied, wrenches: Sequence[Array]) -> Array:
    """Sum of J^T F over the wrenches, shape (n,)."""
    effort = np.zeros(model.n)
    for (link, _), wrench in zip(applied, wrenches, strict=True):
        effort = effort + twist_jacobian(model, q, link).T @ wrench
    return effort
