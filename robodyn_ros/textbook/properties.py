"""Properties of the equation of motion ([Properties] 1 to 3, [LagrangeNotes] (47)-(50)), as functions to test with.

A factorisation is any C(q, v) with C v the Coriolis and centrifugal efforts. There are many (property 1):
``christoffel.coriolis_matrix`` of Christoffel symbols or of Lagrange's coefficients, or ``gathered_coriolis_matrix`` of
either. All conserve energy (property 2); dM/dt - 2 C is skew-symmetric for that of Christoffel symbols only (property
3), which is why [LagrangeNotes], who show property 2, cannot conclude property 3 from it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robodyn_ros.checks import as_array
from robodyn_ros.description.model import Array, RobotModel
from robodyn_ros.kinematics.arguments import checks_joint_arrays
from robodyn_ros.textbook.christoffel import coriolis_matrix
from robodyn_ros.textbook.lagrange_jacobians import mass_matrix, mass_matrix_rate


def gathered_coriolis_matrix(coefficients: ArrayLike, v: ArrayLike) -> NDArray[Any]:
    """Another C with the same C v, shape (n, n): each product v_j v_k counts in the column of the first of both.

    [Properties], property 1, does so with Gamma_121 v_1 v_2 for two joints, in the last of its three lines.

    Args:
        coefficients: c_ijk or h_ijk of ``christoffel``, shape (n, n, n).
        v: Joint velocities, shape (n,) [rad/s or m/s].

    Raises:
        InputError: A shape differs.
    """
    coefficients = as_array(coefficients, (None, None, None), "coefficients")
    return coriolis_matrix(np.triu(coefficients) + np.swapaxes(np.tril(coefficients, -1), 1, 2), v)


def energy_defect(mass_rate: ArrayLike, coriolis: ArrayLike, v: ArrayLike) -> Any:
    """v^T (dM/dt - 2 C) v: 0 for every factorisation C(q, v) and this v. [Properties], property 2.

    Args:
        mass_rate: dM/dt at q and v, shape (n, n).
        coriolis: C(q, v), shape (n, n).
        v: Joint velocities, shape (n,) [rad/s or m/s].

    Returns:
        A number; twice the power [W] that C v wrongly adds.

    Raises:
        InputError: A shape differs.
    """
    v = as_array(v, (None,), "v")
    return v @ _difference(mass_rate, coriolis, len(v)) @ v


def skew_symmetry_defect(mass_rate: ArrayLike, coriolis: ArrayLike) -> NDArray[Any]:
    """N + N^T with N = dM/dt - 2 C, shape (n, n): 0 if C is that of Christoffel symbols. [Properties], property 3.

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
    """dT/dt = v^T M a + v^T (dM/dt) v / 2, a number [W]: [LagrangeNotes] (47).

    It equals v^T (xi - g), the power of all generalised forces and of gravity, [LagrangeNotes] (48), (49).

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
    """The matrix dM/dt - 2 C."""
    return as_array(mass_rate, (n, n), "mass_rate") - 2.0 * as_array(coriolis, (n, n), "coriolis")
