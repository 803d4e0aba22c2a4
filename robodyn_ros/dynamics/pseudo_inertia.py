# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Pseudo-inertia of a link: its ten inertial parameters as a symmetric 4x4 matrix, and its distance from another one.

    J = [[S, h], [h^T, m]],    S = sum m_k r_k r_k^T = tr(I) / 2 1 - I

A distribution of positive mass has these ten parameters if and only if J is positive definite [WensingKimSlotine].
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import eigh

from robodyn_ros.description.model import Array
from robodyn_ros.dynamics.spatial_inertia import SpatialInertia, trace_minus

SIZE, PARAMETER_COUNT = 4, 10
"""Rows of the matrix, and the number of parameters."""

MIN_THICKNESS_SHARE = 1e-3
"""Least second moment about the centre of mass along any axis, as a share of the mean square distance from the origin;
a thinner body, such as a rod without thickness, is given this thickness."""

_UPPER = np.triu_indices(3)


def pseudo_inertia(parameters: ArrayLike) -> Array:
    """J of the parameters of one link, shape (4, 4) [kg m^2, kg m, kg].

    Args:
        parameters: Parameters of a link in the order of `dynamics.regressor.PARAMETERS`, shape (10,).
    """
    mass, *rest = np.asarray(parameters, dtype=np.float64)
    rotational = np.zeros((3, 3))
    rotational[_UPPER] = rest[3:]
    rotational += np.triu(rotational, 1).T
    body = SpatialInertia(float(mass), np.array(rest[:3]), rotational)
    return np.block([[body.second, body.first[:, None]], [body.first, np.array([[body.mass]])]])


def link_parameters(matrix: Array) -> Array:
    """The ten parameters of a pseudo-inertia, shape (10,); the inverse of `pseudo_inertia`."""
    return np.concatenate([[matrix[3, 3]], matrix[:3, 3], trace_minus(matrix[:3, :3])[_UPPER]])


BASIS = np.stack([pseudo_inertia(unit) for unit in np.eye(PARAMETER_COUNT)])
"""J of each parameter alone, shape (10, 4, 4); J is linear in the parameters."""


def definite_pseudo_inertia(parameters: ArrayLike) -> Array:
    """J of a link from a description, made positive definite if the description has no thickness, shape (4, 4).

    Args:
        parameters: Shape (10,); the mass is positive.
    """
    matrix = pseudo_inertia(parameters)
    mass, first = matrix[3, 3], matrix[:3, 3]
    central = matrix[:3, :3] - np.outer(first, first) / mass
    values, axes = np.linalg.eigh(central)
    scale = max(float(np.abs(np.trace(matrix[:3, :3]))), 1e-9 * mass)
    raised = axes @ np.diag(np.maximum(values, MIN_THICKNESS_SHARE * scale)) @ axes.T
    matrix[:3, :3] = raised + np.outer(first, first) / mass
    return matrix


class PriorLink:
    """Distance of a link from its description: the log-determinant divergence [LeeWensingPark].

        d(J) = tr(J_0^-1 J) - log det(J_0^-1 J) - 4

    It is the same in every frame, 0 for the description, convex, and infinite where J stops being positive definite.
    Near the description it is half the square of |L^-1 J L^-T - 1|, with J_0 = L L^T.

    Args:
        parameters: Parameters of the description, shape (10,); the mass is positive.

    Attributes:
        parameters: Parameters with the thickness that `definite_pseudo_inertia` adds, shape (10,).
        curvature: Second derivative of the divergence at the description, shape (10, 10).
    """

    def __init__(self, parameters: ArrayLike) -> None:
        matrix = definite_pseudo_inertia(parameters)
        inverse = np.linalg.inv(np.linalg.cholesky(matrix))
        self.parameters = link_parameters(matrix)
        self._basis = inverse @ BASIS @ inverse.T
        self._traces = np.trace(self._basis, axis1=1, axis2=2)
        self.curvature = np.einsum("kab,lba->kl", self._basis, self._basis)

    def divergence(self, parameters: Array) -> float:
        """Divergence d of parameters, shape (10,); infinite if no body can have them."""
        try:
            factor = np.linalg.cholesky(np.tensordot(parameters, self._basis, 1))
        except np.linalg.LinAlgError:
            return float("inf")
        return float(self._traces @ parameters - 2.0 * np.log(np.diagonal(factor)).sum() - SIZE)

    def gradient_and_hessian(self, parameters: Array) -> tuple[Array, Array]:
        """First and second derivatives of d, shapes (10,) and (10, 10), at parameters where d is finite."""
        ratios = np.linalg.solve(np.tensordot(parameters, self._basis, 1), self._basis)
        return self._traces - np.trace(ratios, axis1=1, axis2=2), np.einsum("kab,lba->kl", ratios, ratios)

    def steps_to_border(self, parameters: Array, step: Array) -> float:
        """Multiple of a step, shape (10,), that leads from parameters to the border of possible bodies."""
        here, along = (np.tensordot(values, self._basis, 1) for values in (parameters, step))
        return float(1.0 / max(-eigh(along, here, eigvals_only=True)[0], 1e-300))
