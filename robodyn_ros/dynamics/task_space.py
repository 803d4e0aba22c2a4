# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The dynamics in coordinates of a link: [LynchPark] 9.6, and for any number of joints [Khatib].

F = Lambda V' + eta describes how a link moves under a wrench on it with zero joint efforts; joint efforts are
equivalent to F = J^-T tau. The functions of matrices hold for the Jacobian of any frame, and for some of its
rows.
"""

from __future__ import annotations

import numpy as np

from robodyn_ros.base.errors import InputError
from robodyn_ros.description.model import Array
from robodyn_ros.dynamics.factorization import TreeFactors, solve_mass, solve_positive_definite


def task_space_inertia(mass_matrix: Array | TreeFactors, jacobian: Array) -> Array:
    """Lambda = (J M^-1 J^T)^-1 [Khatib]: for a square J that is J^-T M J^-1, [LynchPark] (9.98).

    Args:
        mass_matrix: M, shape (n, n), or its factors.
        jacobian: J, shape (m, n) with m <= n.

    Returns:
        Shape (m, m). It does not exist at a singular position of the robot; near one its elements grow without bound.

    Raises:
        InputError: There are more rows than joints, or rows depend on each other at every position.
    """
    rows, columns = jacobian.shape
    if rows > columns:
        raise InputError(
            f"task-space inertia: expected as many rows of the Jacobian as there are joints, {columns}, or fewer, "
            f"received {rows}; choose rows that the robot can move independently"
        )
    mobility = jacobian @ solve_mass(mass_matrix, jacobian.T)
    return solve_positive_definite(
        mobility,
        np.eye(rows),
        "task-space inertia: row {} of the Jacobian, counted from 0, is zero or depends on the rows after it wherever "
        "the robot is; choose rows that the robot can move independently",
    )


def task_space_bias(
    inertia: Array, mass_matrix: Array | TreeFactors, jacobian: Array, drift: Array, bias: Array
) -> Array:
    """eta = Lambda (J M^-1 b - J' v) [Khatib]: for a square J that is J^-T b - Lambda J' J^-1 V, [LynchPark] (9.99).

    Args:
        inertia: Lambda, shape (m, m).
        mass_matrix: M, shape (n, n), or its factors.
        jacobian: J, shape (m, n).
        drift: J' v, shape (m,): the link's acceleration at zero joint acceleration.
        bias: b(q, v) = c + g, shape (n,).

    Returns:
        Shape (m,).
    """
    return inertia @ (jacobian @ solve_mass(mass_matrix, bias) - drift)


def dynamically_consistent_inverse(inertia: Array, mass_matrix: Array | TreeFactors, jacobian: Array) -> Array:
    """J^+ = M^-1 J^T Lambda of [Khatib], the generalised inverse of J with the least kinetic energy.

    F = J^+T tau is the wrench at the link equivalent to tau; for a square J it is J^-T tau. Efforts (1 - J^T J^+T) tau
    do not accelerate the link.

    Args:
        inertia: Lambda, shape (m, m).
        mass_matrix: M, shape (n, n), or its factors.
        jacobian: J, shape (m, n).

    Returns:
        Shape (n, m).
    """
    return solve_mass(mass_matrix, jacobian.T) @ inertia
