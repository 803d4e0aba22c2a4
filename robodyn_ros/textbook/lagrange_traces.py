# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Lagrange's equation from traces of 4×4 matrices, with the pseudo-inertia matrix H ([Yamamoto] 3.1 to 3.3.5).

The kinetic energy of a link is tr(T' H T'^T) / 2 with its pose T and its pseudo-inertia matrix H. The equations that
follow by differentiation contain no angular velocity. The book sums over the links k behind the joints i and j. Here
the sums run over all links, because the derivative of a pose by a joint that does not move the link is 0. The
functions therefore accept trees.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from robodyn_ros.base.checks import as_array
from robodyn_ros.description.model import Array, Inertia, RobotModel
from robodyn_ros.textbook.pose_derivatives import PoseDerivatives, pose_derivatives


def pseudo_inertia_matrix(inertia: Inertia) -> Array:
    """Matrix H: integral of p p^T over the mass of a link, p = (x, y, z, 1) in link frame. [Yamamoto] (3.8) to (3.15).

    The upper left 3×3 block S holds the second moments of mass. It is S = tr(I) / 2 - I, written out in (3.11), with
    the inertia tensor I about the frame's origin. Conversely, I = tr(S) - S, (3.17).

    Args:
        inertia: Inertia of the link in its link frame.

    Returns:
        Symmetric, shape (4, 4).
    """
    tensor, first = inertia.rotational_about_origin, inertia.mass * inertia.com
    second = 0.5 * np.trace(tensor) * np.eye(3) - tensor
    return np.block([[second, first[:, None]], [first, inertia.mass]])


def kinetic_energy(model: RobotModel, q: Array, v: Array) -> Any:
    """Kinetic energy K = sum of tr(T_k' H_k T_k'^T) / 2 over the links, a number [J]. [Yamamoto] (3.16).

    Args:
        model: The robot.
        q: Joint positions, shape (n,) [rad or m].
        v: Joint velocities, shape (n,) [rad/s or m/s].

    Raises:
        InputError: q or v has another shape.
    """
    v = as_array(v, (model.n,), "v")
    velocities = [(link.velocity(v), pseudo) for link, pseudo in _links(model, q)]
    return 0.5 * np.sum([_traces(velocity @ pseudo, velocity) for velocity, pseudo in velocities])


def mass_matrix(model: RobotModel, q: Array) -> Array:
    """M_ij = sum of tr(dT_k/dq_i H_k (dT_k/dq_j)^T) over the links, shape (n, n). [Yamamoto] (3.28), (3.29).

    Args:
        model: The robot.
        q: Joint positions, shape (n,) [rad or m].

    Raises:
        InputError: q has another shape.
    """
    return np.sum([_traces(link.first @ pseudo, link.first) for link, pseudo in _links(model, q)], axis=0)


def mass_matrix_derivatives(model: RobotModel, q: Array) -> Array:
    """Derivatives dM_ij/dq_k, shape (n, n, n) with indices i, j, k: product rule applied to [Yamamoto] (3.28).

    Args:
        model: The robot.
        q: Joint positions, shape (n,) [rad or m].

    Raises:
        InputError: q has another shape.
    """
    half = np.sum([_traces(link.first @ pseudo, link.second) for link, pseudo in _links(model, q)], axis=0)
    return half + np.swapaxes(half, 0, 1)


def coriolis_centrifugal(model: RobotModel, q: Array, v: Array) -> Array:
    """h_i = sum of tr(dT_k/dq_i H_k (d^2 T_k/dq_l dq_m)^T) v_l v_m, shape (n,) [N m or N]. [Yamamoto] (3.28), (3.29).

    Args:
        model: The robot.
        q: Joint positions, shape (n,) [rad or m].
        v: Joint velocities, shape (n,) [rad/s or m/s].

    Raises:
        InputError: q or v has another shape.
    """
    v = as_array(v, (model.n,), "v")
    at_rest = np.zeros(model.n)
    terms = [_traces(link.first @ pseudo, link.acceleration(v, at_rest)) for link, pseudo in _links(model, q)]
    return np.sum(terms, axis=0)


def gravity(model: RobotModel, q: Array) -> Array:
    """g_i = dP/dq_i = -sum of m_k g^T (dT_k/dq_i s_k), shape (n,) [N m or N]. [Yamamoto] (3.27), (3.28).

    Args:
        model: The robot.
        q: Joint positions, shape (n,) [rad or m].

    Raises:
        InputError: q has another shape.
    """
    # m s = m (com, 1) is the last column of H, and gravity has no fourth component.
    moments = np.sum([link.first @ pseudo[:, 3] for link, pseudo in _links(model, q)], axis=0)
    return -(moments[:, :3] @ model.gravity)


def inverse_dynamics(model: RobotModel, q: Array, v: Array, a: Array) -> Array:
    """Joint efforts tau = M(q) a + h(q, v) + g(q), shape (n,) [N m or N]. [Yamamoto] (3.29).

    Args:
        model: The robot.
        q: Joint positions, shape (n,) [rad or m].
        v: Joint velocities, shape (n,) [rad/s or m/s].
        a: Joint accelerations, shape (n,) [rad/s^2 or m/s^2].

    Raises:
        InputError: An array has another shape.
    """
    a = as_array(a, (model.n,), "a")
    return mass_matrix(model, q) @ a + coriolis_centrifugal(model, q, v) + gravity(model, q)


def lagrange_equation(model: RobotModel, q: Array, v: Array, a: Array) -> Array:
    """Joint efforts tau_i = d/dt (dK/dv_i) - dK/dq_i + dP/dq_i, shape (n,) [N m or N]. [Yamamoto] (3.1), (3.2).

    [LagrangeNotes] (27), (28) state the same equation. The function adds the terms as [Yamamoto] derives them, before
    (3.28) collects them.

    Args:
        model: The robot.
        q: Joint positions, shape (n,) [rad or m].
        v: Joint velocities, shape (n,) [rad/s or m/s].
        a: Joint accelerations, shape (n,) [rad/s^2 or m/s^2].

    Raises:
        InputError: An array has another shape.
    """
    return momentum_rate(model, q, v, a) - kinetic_energy_gradient(model, q, v) + gravity(model, q)


def momentum_rate(model: RobotModel, q: Array, v: Array, a: Array) -> Array:
    """d/dt (dK/dv_i) = sum of tr(dT_k'/dq_i H T_k'^T + dT_k/dq_i H T_k''^T), shape (n,). [Yamamoto] (3.18), (3.23).

    Args:
        model: The robot.
        q: Joint positions, shape (n,) [rad or m].
        v: Joint velocities, shape (n,) [rad/s or m/s].
        a: Joint accelerations, shape (n,) [rad/s^2 or m/s^2].

    Raises:
        InputError: An array has another shape.
    """
    v, a = as_array(v, (model.n,), "v"), as_array(a, (model.n,), "a")
    terms = [
        _traces(link.velocity_gradient(v) @ pseudo, link.velocity(v))
        + _traces(link.first @ pseudo, link.acceleration(v, a))
        for link, pseudo in _links(model, q)
    ]
    return np.sum(terms, axis=0)


def kinetic_energy_gradient(model: RobotModel, q: Array, v: Array) -> Array:
    """dK/dq_i = sum of tr(dT_k'/dq_i H_k T_k'^T), shape (n,) [J/rad or J/m]. [Yamamoto] (3.25).

    Args:
        model: The robot.
        q: Joint positions, shape (n,) [rad or m].
        v: Joint velocities, shape (n,) [rad/s or m/s].

    Raises:
        InputError: q or v has another shape.
    """
    v = as_array(v, (model.n,), "v")
    terms = [_traces(link.velocity_gradient(v) @ pseudo, link.velocity(v)) for link, pseudo in _links(model, q)]
    return np.sum(terms, axis=0)


def _links(model: RobotModel, q: Array) -> list[tuple[PoseDerivatives, Array]]:
    """Pose derivatives and matrix H of every moving link."""
    derivatives = pose_derivatives(model, q)
    return [(link, pseudo_inertia_matrix(joint.inertia)) for link, joint in zip(derivatives, model.joints, strict=True)]


def _traces(first: Array, second: Array) -> Array:
    """Compute tr(A B^T) for all pairs from two arrays of 4×4 matrices; the result has the leading axes of both."""
    return np.tensordot(first, second, axes=((-2, -1), (-2, -1)))
