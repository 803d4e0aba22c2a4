# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Functions that test properties of the equation of motion ([Properties] 1 to 3, [LagrangeNotes] (47)-(50)).

A factorisation is any matrix C(q, v) whose product C v gives the Coriolis and centrifugal efforts. There are many
(property 1): ``christoffel.coriolis_matrix`` of Christoffel symbols or of Lagrange's coefficients, and
``gathered_coriolis_matrix`` of either. All of them conserve energy (property 2). Of these, dM/dt - 2 C is
skew-symmetric only for the C of Christoffel symbols (property 3). [LagrangeNotes] prove property 2, from which
property 3 does not follow.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robodyn_ros.base.checks import as_array
from robodyn_ros.description.model import Array, RobotModel
from robodyn_ros.kinematics.arguments import checks_joint_arrays
from robodyn_ros.textbook.christoffel import coriolis_matrix
from robodyn_ros.textbook.lagrange_jacobians import mass_matrix, mass_matrix_rate


def gathered_coriolis_matrix(coefficients: ArrayLike, v: ArrayLike) -> NDArray[Any]:
    """Another matrix C with the same C v, shape (n, n): column min(j, k) collects the products v_j v_k.

    [Properties], property 1, moves the term Gamma_121 v_1 v_2 of two joints in this way, in the last of its three
    lines.

    Args:
        coefficients: c_ijk or h_ijk of ``christoffel``, shape (n, n, n).
        v: Joint velocities, shape (n,) [rad/s or m/s].

    Raises:
        InputError: A shape differs.
    """
    coefficients = as_array(coefficients, (None, None, None), "coefficients")
    return coriolis_matrix(np.triu(coefficients) + np.swapaxes(np.tril(coefficients, -1), 1, 2), v)


def energy_defect(mass_rate: ArrayLike, coriolis: ArrayLike, v: ArrayLike) -> Any:
    """Number v^T (dM/dt - 2 C) v, which is 0 for every factorisation C(q, v) and the same v. [Properties], property 2.

    Args:
        mass_rate: dM/dt at q and v, shape (n, n).
        coriolis: C(q, v), shape (n, n).
        v: Joint velocities, shape (n,) [rad/s or m/s].

    Returns:
        A number, twice the power [W] that a wrong C v adds to the robot.

    Raises:
        InputError: A shape differs.
    """
    v = as_array(v, (None,), "v")
    return v @ _difference(mass_rate, coriolis, len(v)) @ v


def skew_symmetry_defect(mass_rate: ArrayLike, coriolis: ArrayLike) -> NDArray[Any]:
    """N + N^T with N = dM/dt - 2 C, shape (n, n): 0 for the C of Christoffel symbols. [Properties], property 3.

    Args:
        mass_rate: dM/dt at q and v, shape (n, n).
        coriolis: C(q, v), shape (n, n).

    Raises:
        InputError: A shape differs.
    """
    difference = _difference(mass_rate, coriolis, len(as_array(mass_rate, (None, None), "mass_rate")))
    return difference + difference.T


@checks_joint_arrays
def kinetic_energy_rate(model: RobotModel, q: Array, v: Array, a: Array) -> Any:
    """Rate dT/dt = v^T M a + v^T (dM/dt) v / 2 of the kinetic energy, a number [W]: [LagrangeNotes] (47).

    It equals v^T (xi - g), the power of the generalised forces and of gravity, [LagrangeNotes] (48), (49).

    Args:
        model: The robot.
        q: Joint positions, shape (n,) [rad or m].
        v: Joint velocities, shape (n,) [rad/s or m/s].
        a: Joint accelerations, shape (n,) [rad/s^2 or m/s^2].

    Raises:
        InputError: An array has another shape.
    """
    v, a = as_array(v, (model.n,), "v"), as_array(a, (model.n,), "a")
    return v @ mass_matrix(model, q) @ a + 0.5 * (v @ mass_matrix_rate(model, q, v) @ v)


def _difference(mass_rate: ArrayLike, coriolis: ArrayLike, n: int) -> NDArray[Any]:
    """Compute dM/dt - 2 C, shape (n, n)."""
    return as_array(mass_rate, (n, n), "mass_rate") - 2.0 * as_array(coriolis, (n, n), "coriolis")
