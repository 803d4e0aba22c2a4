# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Coriolis and centrifugal efforts by elements: h_ijk, Christoffel symbols, and the matrices built from them.

The argument ``slopes`` holds the derivatives dM_ij/dq_k of any mass matrix, shape (n, n, n) with indices i, j, k.
``lagrange_jacobians.mass_matrix_derivatives`` and ``lagrange_traces.mass_matrix_derivatives`` compute them. The
compiled form, ``dynamics.coriolis.coriolis_matrix``, needs no derivatives.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robodyn_ros.base.checks import as_array
from robodyn_ros.description.model import Array, RobotModel
from robodyn_ros.textbook.lagrange_jacobians import mass_matrix_derivatives


def lagrange_coefficients(slopes: ArrayLike) -> NDArray[Any]:
    """h_ijk = dM_ij/dq_k - dM_jk/dq_i / 2, shape (n, n, n): the coefficients as Lagrange's equation yields them.

    [LagrangeNotes] (41), [Yamamoto] (3.47), Gamma_ijk of [Properties], property 1.

    Args:
        slopes: dM_ij/dq_k, shape (n, n, n).

    Raises:
        InputError: Not of shape (n, n, n).
    """
    slopes = _cube(slopes, "slopes")
    return slopes - 0.5 * np.moveaxis(slopes, 2, 0)


def christoffel_symbols(slopes: ArrayLike) -> NDArray[Any]:
    """Christoffel symbols of the first kind, shape (n, n, n): c_ijk = (dM_ij/dq_k + dM_ik/dq_j - dM_jk/dq_i) / 2.

    They are symmetric in the last two indices: c_ijk = c_ikj.

    [LagrangeNotes] (46), [Properties] property 3, b_ijk of [ManipulatorNotes] 4.3.7, [LynchPark] (9.86).

    Args:
        slopes: dM_ij/dq_k, shape (n, n, n).

    Raises:
        InputError: Not of shape (n, n, n).
    """
    slopes = _cube(slopes, "slopes")
    return 0.5 * (slopes + np.swapaxes(slopes, 1, 2) - np.moveaxis(slopes, 2, 0))


def coriolis_matrix(coefficients: ArrayLike, v: ArrayLike) -> NDArray[Any]:
    """C_ij = sum of c_ijk v_k, shape (n, n): [LagrangeNotes] (45), [LynchPark] (9.87), [Properties].

    C v are the Coriolis and centrifugal efforts for every choice of coefficients: Christoffel symbols, Lagrange's
    h_ijk, or either of them with j and k exchanged in some or all elements ([Properties], property 1).
    dM/dt - 2 C is skew-symmetric for Christoffel symbols, in general not for the others (property 3).

    Args:
        coefficients: c_ijk or h_ijk, shape (n, n, n).
        v: Joint velocities, shape (n,) [rad/s or m/s].

    Raises:
        InputError: A shape differs.
    """
    coefficients = _cube(coefficients, "coefficients")
    return coefficients @ as_array(v, coefficients.shape[:1], "v")


def robot_coriolis_matrix(model: RobotModel, q: Array, v: Array) -> Array:
    """Coriolis matrix C(q, v) of a robot from Christoffel symbols, [LynchPark] (9.86), (9.87), shape (n, n).

    Args:
        model: The robot.
        q: Joint positions, shape (n,) [rad or m].
        v: Joint velocities, shape (n,) [rad/s or m/s].

    Raises:
        InputError: An array has another shape.
    """
    return coriolis_matrix(christoffel_symbols(mass_matrix_derivatives(model, q)), as_array(v, (model.n,), "v"))


def centrifugal_matrix(symbols: ArrayLike) -> NDArray[Any]:
    """Matrix C(q) of [ManipulatorNotes] 4.3.7 with elements b_ijj, shape (n, n).

    Its product with the squares v_j^2 gives the centrifugal efforts. It is not the matrix C(q, v) of the other texts.

    Args:
        symbols: b_ijk, shape (n, n, n). Lagrange's h_ijk give the same result, because h_ijj = b_ijj.

    Raises:
        InputError: Not of shape (n, n, n).
    """
    return np.array([np.diagonal(row) for row in _cube(symbols, "symbols")])


def coriolis_product_matrix(symbols: ArrayLike) -> NDArray[Any]:
    """Matrix B(q) of [ManipulatorNotes] 4.3.7 with elements 2 b_ijk, j < k, shape (n, n(n-1)/2).

    Its product with ``velocity_products`` gives the Coriolis efforts; the columns have the order of those products.

    Args:
        symbols: b_ijk, shape (n, n, n). Lagrange's h_ijk give the same result, because h_ijk + h_ikj = 2 b_ijk.

    Raises:
        InputError: Not of shape (n, n, n).
    """
    symbols = _cube(symbols, "symbols")
    first, second = np.triu_indices(len(symbols), 1)
    return symbols[:, first, second] + symbols[:, second, first]


def velocity_products(v: ArrayLike) -> NDArray[Any]:
    """Products [v_j v_k], j < k, of [ManipulatorNotes] 4.3.7: v_1 v_2, v_1 v_3, ..., v_{n-1} v_n, shape (n(n-1)/2,).

    Args:
        v: Joint velocities, shape (n,) [rad/s or m/s].

    Raises:
        InputError: Not of shape (n,).
    """
    v = as_array(v, (None,), "v")
    first, second = np.triu_indices(len(v), 1)
    return v[first] * v[second]


def _cube(value: ArrayLike, name: str) -> NDArray[Any]:
    """Return ``value`` as an array of shape (n, n, n)."""
    array = as_array(value, (None, None, None), name)
    return as_array(array, array.shape[:1] * 3, name)
