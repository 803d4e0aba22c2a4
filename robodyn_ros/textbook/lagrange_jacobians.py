# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Lagrange's equation from Jacobians of the links' centres of mass.

[LagrangeNotes] (27)-(42), [Yamamoto] 3.3.6 and [ManipulatorNotes] 4.3 derive the same equations. M(q) is B(q) in
[LagrangeNotes]; h(q, v) is V(q, v) in [ManipulatorNotes]. The functions accept trees with mimic joints. All
derivatives are exact.
"""

from __future__ import annotations

import numpy as np

from robodyn_ros.base.checks import as_array
from robodyn_ros.description.model import Array, RobotModel
from robodyn_ros.textbook.center_of_mass_jacobians import link_jacobian_derivatives, link_jacobians


def mass_matrix(model: RobotModel, q: Array) -> Array:
    """Mass matrix M = sum of m J_P^T J_P + J_O^T R I R^T J_O over the links.

    It is B(q) of [LagrangeNotes] (37), M of [Yamamoto] (3.36) to (3.40) and of [ManipulatorNotes] 4.3.4, 4.3.5. The
    kinetic energy is v^T M v / 2, [LagrangeNotes] (36).

    Args:
        model: The robot.
        q: Joint positions, shape (n,) [rad or m].

    Returns:
        Symmetric and positive definite, shape (n, n).

    Raises:
        InputError: q has another shape.
    """
    terms = [
        link.mass * (link.linear.T @ link.linear) + link.angular.T @ link.inertia @ link.angular
        for link in link_jacobians(model, q)
    ]
    return np.sum(terms, axis=0)


def mass_matrix_derivatives(model: RobotModel, q: Array) -> Array:
    """Derivatives dM_ij/dq_k of the mass matrix, by the product rule applied to ``mass_matrix``.

    [Yamamoto] (3.47), [LagrangeNotes] (41) and (46), and [ManipulatorNotes] 4.3.7 (there m_ijk) use these derivatives.

    Args:
        model: The robot.
        q: Joint positions, shape (n,) [rad or m].

    Returns:
        Shape (n, n, n), with indices i, j, k.

    Raises:
        InputError: q has another shape.
    """
    terms = []
    for link, slope in zip(link_jacobians(model, q), link_jacobian_derivatives(model, q), strict=True):
        momentum = np.concatenate([link.mass * link.linear, link.inertia @ link.angular])
        bent = np.tensordot(momentum.T, np.concatenate([slope.linear, slope.angular]), 1)
        turned = np.tensordot(link.angular.T, np.tensordot(link.angular, slope.inertia, axes=(0, 1)), axes=(1, 1))
        terms.append(bent + bent.swapaxes(0, 1) + turned)
    return np.sum(terms, axis=0)


def mass_matrix_rate(model: RobotModel, q: Array, v: Array) -> Array:
    """Rate dM/dt = sum of dM/dq_k v_k, shape (n, n): [Yamamoto] (3.45), [LagrangeNotes] (39), [ManipulatorNotes] 4.3.6.

    Args:
        model: The robot.
        q: Joint positions, shape (n,) [rad or m].
        v: Joint velocities, shape (n,) [rad/s or m/s].

    Raises:
        InputError: q or v has another shape.
    """
    return mass_matrix_derivatives(model, q) @ as_array(v, (model.n,), "v")


def kinetic_energy_gradient(model: RobotModel, q: Array, v: Array) -> Array:
    """Gradient dK/dq_i = v^T (dM/dq_i) v / 2, shape (n,) [J/rad or J/m]: [Yamamoto] (3.45), [LagrangeNotes] (39).

    Args:
        model: The robot.
        q: Joint positions, shape (n,) [rad or m].
        v: Joint velocities, shape (n,) [rad/s or m/s].

    Raises:
        InputError: q or v has another shape.
    """
    v = as_array(v, (model.n,), "v")
    return 0.5 * (v @ (v @ mass_matrix_derivatives(model, q)))


def coriolis_centrifugal(model: RobotModel, q: Array, v: Array) -> Array:
    """Coriolis and centrifugal efforts h(q, v) = dM/dt v - dK/dq, shape (n,) [N m or N].

    This is h of [Yamamoto] (3.47), V of [ManipulatorNotes] 4.3.6, and n(q, v) of [LagrangeNotes] (39) without gravity.
    ``christoffel`` computes the same by elements, with [LagrangeNotes] (41) and (46).

    Args:
        model: The robot.
        q: Joint positions, shape (n,) [rad or m].
        v: Joint velocities, shape (n,) [rad/s or m/s].

    Raises:
        InputError: q or v has another shape.
    """
    return mass_matrix_rate(model, q, v) @ v - kinetic_energy_gradient(model, q, v)


def gravity(model: RobotModel, q: Array) -> Array:
    """Gravity efforts g(q) = dU/dq = -sum of J_P^T m g over the links, shape (n,) [N m or N].

    [LagrangeNotes] (42), [ManipulatorNotes] 4.3.8, [Yamamoto] (3.46).

    Args:
        model: The robot.
        q: Joint positions, shape (n,) [rad or m].

    Raises:
        InputError: q has another shape.
    """
    return -np.sum([link.linear.T @ (link.mass * model.gravity) for link in link_jacobians(model, q)], axis=0)


def vector_form(model: RobotModel, q: Array, v: Array) -> Array:
    """Efforts n(q, v) = dB/dt v - (d(v^T B v)/dq)^T / 2 + (dU/dq)^T, [LagrangeNotes] (39), shape (n,) [N m or N].

    Args:
        model: The robot.
        q: Joint positions, shape (n,) [rad or m].
        v: Joint velocities, shape (n,) [rad/s or m/s].

    Raises:
        InputError: q or v has another shape.
    """
    return coriolis_centrifugal(model, q, v) + gravity(model, q)


def inverse_dynamics(model: RobotModel, q: Array, v: Array, a: Array) -> Array:
    """Joint efforts tau = M(q) a + h(q, v) + g(q), shape (n,) [N m or N].

    [Yamamoto] (3.42) to (3.46), (5.1); [LagrangeNotes] (39), where the generalised force stands for tau;
    [ManipulatorNotes] 4.3.6.

    Args:
        model: The robot.
        q: Joint positions, shape (n,) [rad or m].
        v: Joint velocities, shape (n,) [rad/s or m/s].
        a: Joint accelerations, shape (n,) [rad/s^2 or m/s^2].

    Raises:
        InputError: An array has another shape.
    """
    return mass_matrix(model, q) @ as_array(a, (model.n,), "a") + vector_form(model, q, v)
