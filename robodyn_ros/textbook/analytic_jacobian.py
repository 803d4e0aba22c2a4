"""The analytic Jacobian, of position and Euler angles, from the geometric one ([Yamamoto] 1.14).

Rows and vectors here have the linear part first, as the book's r = (p, eta) and the robot's ``jacobian`` have them.
The geometric Jacobian is the book's J_omega, with r_omega' = (p', omega) = J_omega q'; the analytic one is its J,
with r' = (p', eta') = J q'. ``convention`` says which angles eta are; the book's are ZYZ.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robodyn_ros.checks import as_array, as_floats
from robodyn_ros.textbook.euler_angles import ZYZ, EulerConvention


def tip_coordinates(pose: ArrayLike, convention: EulerConvention = ZYZ) -> NDArray[np.float64]:
    """The tip's r = f(q) = (position, angles), shape (6,) [m, rad], of its pose. [Yamamoto] (1.20), before (1.36).

    Of the two sets of angles it is the first.

    Args:
        pose: Pose of the tip in the base frame, shape (4, 4), floats.
        convention: Which angles.

    Raises:
        InputError: Not of shape (4, 4), or its rotation is none.
    """
    pose = as_floats(pose, (4, 4), "pose")
    return np.concatenate([pose[:3, 3], convention.angles(pose[:3, :3])[0]])


def geometric_from_analytic(
    analytic_jacobian: ArrayLike, angles: ArrayLike, convention: EulerConvention = ZYZ
) -> NDArray[Any]:
    """J_omega = diag(E, Omega) J, shape (6, n). [Yamamoto] (1.37).

    Args:
        analytic_jacobian: J, shape (6, n).
        angles: eta, shape (3,) [rad].
        convention: Which angles.

    Raises:
        InputError: A shape differs.
    """
    jacobian = as_array(analytic_jacobian, (6, None), "analytic_jacobian")
    return np.concatenate([jacobian[:3], convention.rate_matrix(angles) @ jacobian[3:]])


def analytic_from_geometric(
    geometric_jacobian: ArrayLike, angles: ArrayLike, convention: EulerConvention = ZYZ
) -> NDArray[Any]:
    """J = diag(E, Omega^-1) J_omega, shape (6, n): [Yamamoto] (1.36) by way of (1.35) and (1.37).

    Args:
        geometric_jacobian: J_omega, shape (6, n).
        angles: eta, shape (3,) [rad].
        convention: Which angles.

    Raises:
        InputError: A shape differs, or (floats only) Omega is singular at these angles.
    """
    jacobian = as_array(geometric_jacobian, (6, None), "geometric_jacobian")
    return np.concatenate([jacobian[:3], convention.inverse_rate_matrix(angles) @ jacobian[3:]])


def analytic_jacobian_derivative(
    geometric_jacobian: ArrayLike,
    geometric_jacobian_derivative: ArrayLike,
    v: ArrayLike,
    angles: ArrayLike,
    convention: EulerConvention = ZYZ,
) -> NDArray[Any]:
    """Time derivative of the analytic Jacobian, shape (6, n).

    (1.37) differentiated: J_omega' = diag(0, Omega') J + diag(E, Omega) J', solved for J'.

    Args:
        geometric_jacobian: J_omega, shape (6, n).
        geometric_jacobian_derivative: J_omega', shape (6, n).
        v: Joint velocities, shape (n,) [rad/s or m/s].
        angles: eta, shape (3,) [rad].
        convention: Which angles.

    Raises:
        InputError: A shape differs, or (floats only) Omega is singular at these angles.
    """
    jacobian = analytic_from_geometric(geometric_jacobian, angles, convention)
    derivative = as_array(geometric_jacobian_derivative, jacobian.shape, "geometric_jacobian_derivative")
    rates = jacobian[3:] @ as_array(v, (jacobian.shape[1],), "v")
    remainder = derivative[3:] - convention.rate_matrix_derivative(angles, rates) @ jacobian[3:]
    return np.concatenate([derivative[:3], convention.inverse_rate_matrix(angles) @ remainder])
