# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Lagrange's equation: for any Lagrangian, and derived from Newton's law for mass points ([Yamamoto] appendix G)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robodyn_ros.base.checks import as_array
from robodyn_ros.compile import derivative_at
from robodyn_ros.description.model import Array


def euler_lagrange_force(lagrangian: Callable[[Array, Array], Array], q: Array, v: Array, a: Array) -> Array:
    """Generalised force f = d/dt dL/dv - dL/dq, [LynchPark] (9.3), (9.8), (9.11).

    The L of (9.5) gives the force (9.6) on a particle; the L of (9.7) gives the worked example of 9.1.1.

    The chain rule yields the time derivative: d/dt dL/dv = (d^2L/dv dv) a + (d^2L/dv dq) v. With L = K - P of a
    robot, f equals inverse dynamics, (9.9)-(9.12), at a higher cost; the function needs nothing but L.

    Args:
        lagrangian: Function L(q, v) that returns a number [J] and can be traced.
        q: Generalised coordinates, shape (n,).
        v: Their velocities, shape (n,).
        a: Their accelerations, shape (n,).

    Returns:
        Shape (n,).

    Raises:
        CompileError: The Lagrangian cannot be traced.
    """

    def momentum(position: Array, velocity: Array) -> Array:
        return derivative_at(lagrangian, (position, velocity), wrt=1)

    inertial = derivative_at(momentum, (q, v), wrt=1) @ a + derivative_at(momentum, (q, v), wrt=0) @ v
    return inertial - derivative_at(lagrangian, (q, v), wrt=0)


Points = Callable[[NDArray[Any], NDArray[Any]], NDArray[Any]]
"""x(q, t): function of generalised coordinates q, shape (n,), and time t, shape (), to N positions, shape (N, 3)."""


def degrees_of_freedom(points: int, constraints: int) -> int:
    """Number n = 3 N - h of degrees of freedom of N mass points with h independent constraints. [Yamamoto] (G.2).

    Args:
        points: Number N of mass points.
        constraints: Number h of constraints.
    """
    return 3 * points - constraints


def point_velocities(points: Points, q: ArrayLike, v: ArrayLike, time: Any) -> NDArray[Any]:
    """Velocities x_j' = sum of dx_j/dq_i q_i' + dx_j/dt of all points, shape (N, 3) [m/s]. [Yamamoto] (G.1), (G.4).

    Args:
        points: Function of the positions that can be traced.
        q: Generalised coordinates, shape (n,).
        v: Their velocities, shape (n,).
        time: t [s].

    Raises:
        InputError: A shape differs.
        CompileError: The function of the positions cannot be traced.
    """
    arguments = (as_array(q, (None,), "q"), np.asarray(time))
    by_position, by_time = (derivative_at(points, arguments, place) for place in (0, 1))
    velocities: NDArray[Any] = by_position @ as_array(v, arguments[0].shape, "v") + by_time
    return velocities


def force_of_accelerations(
    points: Points, masses: ArrayLike, q: ArrayLike, v: ArrayLike, a: ArrayLike, time: float
) -> NDArray[Any]:
    """Generalised force Q_i = sum of F_j^T dx_j/dq_i with F_j = m_j x_j'', shape (n,). [Yamamoto] (G.3), (G.9).

    Args:
        points: As for ``point_velocities``.
        masses: m_j, shape (N,) [kg].
        q: Generalised coordinates, shape (n,).
        v: Their velocities, shape (n,).
        a: Their accelerations, shape (n,).
        time: t [s].

    Raises:
        InputError: A shape differs.
        CompileError: The function of the positions cannot be traced.
    """
    q, v = as_array(q, (None,), "q"), as_array(v, (None,), "v")
    a, instant = as_array(a, q.shape, "a"), np.asarray(time)

    velocities = partial(point_velocities, points)
    by_position, by_velocity, by_time = (derivative_at(velocities, (q, v, instant), place) for place in range(3))
    accelerations = by_position @ v + by_velocity @ a + by_time
    forces = as_array(masses, (len(accelerations),), "masses")[:, None] * accelerations
    return np.tensordot(forces, derivative_at(points, (q, instant)), axes=2)


def force_of_kinetic_energy(
    points: Points, masses: ArrayLike, q: ArrayLike, v: ArrayLike, a: ArrayLike, time: float
) -> NDArray[Any]:
    """Generalised force Q_i = d/dt (dK/dq_i') - dK/dq_i, shape (n,). [Yamamoto] (G.10) to (G.12).

    The kinetic energy is K = sum of m_j x_j'^T x_j' / 2. The result equals ``force_of_accelerations`` because of
    dx_j'/dq_i' = dx_j/dq_i (G.5), dx_j'/dq_i = d/dt (dx_j/dq_i) (G.6) and the derivatives of x_j'^T x_j' (G.7), (G.8).
    Q_i includes the forces of a potential U. With L = K - U instead of K in both terms, Q_i excludes them.

    Args:
        points: As for ``point_velocities``.
        masses: As for ``force_of_accelerations``.
        q: Generalised coordinates, shape (n,).
        v: Their velocities, shape (n,).
        a: Their accelerations, shape (n,).
        time: t [s].

    Raises:
        InputError: A shape differs.
        CompileError: The function of the positions cannot be traced.
    """
    q, v = as_array(q, (None,), "q"), as_array(v, (None,), "v")
    a, m, instant = as_array(a, q.shape, "a"), as_array(masses, (None,), "masses"), np.asarray(time)

    def kinetic_energy(q: NDArray[Any], v: NDArray[Any], t: NDArray[Any]) -> Any:
        return 0.5 * np.sum(m[:, None] * point_velocities(points, q, v, t) ** 2)

    def momentum(q: NDArray[Any], v: NDArray[Any], t: NDArray[Any]) -> NDArray[Any]:
        return derivative_at(kinetic_energy, (q, v, t), 1)

    by_position, by_velocity, by_time = (derivative_at(momentum, (q, v, instant), place) for place in range(3))
    momentum_rate = by_position @ v + by_velocity @ a + by_time
    result: NDArray[Any] = momentum_rate - derivative_at(kinetic_energy, (q, v, instant), 0)
    return result
