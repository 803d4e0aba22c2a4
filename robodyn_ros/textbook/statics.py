"""Forces at the tip and efforts at the joints in equilibrium ([Yamamoto] chapter 2).

A wrench is here (force, moment), linear part first, as in the book's m and the public ``wrench_tip``.

Which way: with the book's sign in (2.1) the efforts are those that the wrench *causes* when it acts on the tip,
equally those by which the tip exerts the wrench on its surroundings. The motors hold the robot still under a wrench
from outside with the negative of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robodyn_ros.checks import as_array, as_floats
from robodyn_ros.errors import InputError
from robodyn_ros.kinematics.twists import skew
from robodyn_ros.textbook.differential_kinematics import SINGULAR


def static_efforts(jacobian: ArrayLike, wrench: ArrayLike) -> NDArray[Any]:
    """Joint efforts tau = J_omega^T m, shape (n,) [N m or N]. [Yamamoto] (2.1), (2.2).

    Args:
        jacobian: Geometric Jacobian J_omega of the tip, shape (6, n), linear rows first, base axes.
        wrench: m = (force, moment about the tip's origin), base axes, shape (6,) [N, N m].

    Raises:
        InputError: A shape differs.
    """
    return as_array(jacobian, (6, None), "jacobian").T @ as_array(wrench, (6,), "wrench")


def static_wrench(jacobian: ArrayLike, tau: ArrayLike) -> NDArray[Any]:
    """The wrench m = (J_omega^T)^-1 tau that goes with joint efforts, shape (6,) [N, N m]. [Yamamoto] figure 2.2.

    With more than six joints the efforts must be those of some wrench; with fewer, or at a singular position, many
    wrenches go with them, and none is given.

    Args:
        jacobian: Geometric Jacobian of the tip, shape (6, n) with n >= 6, linear rows first, base axes, floats.
        tau: Joint efforts, shape (n,) [N m or N].

    Returns:
        (force, moment about the tip's origin), base axes.

    Raises:
        InputError: A shape differs, the Jacobian has not rank 6, or the efforts are those of no wrench.
    """
    jacobian = as_floats(jacobian, (6, None), "jacobian")
    tau = as_floats(tau, (jacobian.shape[1],), "tau")
    singular_values = np.linalg.svd(jacobian, compute_uv=False)
    if len(singular_values) < 6 or singular_values[-1] <= SINGULAR * singular_values[0]:
        raise InputError(
            f"jacobian: expected rank 6, received shape {jacobian.shape} with singular values "
            f"{np.array2string(singular_values, precision=3)}: wrenches exist that the joints do not feel, so the "
            "efforts do not determine the wrench"
        )
    wrench = np.linalg.lstsq(jacobian.T, tau, rcond=None)[0]
    residual = jacobian.T @ wrench - tau
    if np.abs(residual).max() > 1e-9 * max(1.0, np.abs(tau).max()):
        raise InputError(
            f"tau: expected efforts that a wrench at the tip balances, received {tau.tolist()}, which leave "
            f"{np.abs(residual).max():.3g} at a joint: part of them moves the robot with its tip at rest"
        )
    return wrench


def wrench_transform(rotation_a_b: ArrayLike, origin_a_b: ArrayLike) -> NDArray[Any]:
    """Gamma_ab, shape (6, 6), which takes a wrench from frame b to frame a. [Yamamoto] (2.3) to (2.6).

    Axes and reference point both change: the moment is about the origin of b before and about the origin of a after.
    With a zero origin only the axes change.

    Args:
        rotation_a_b: Axes of frame b in frame a, shape (3, 3).
        origin_a_b: Origin of frame b in frame a, shape (3,) [m].

    Raises:
        InputError: A shape differs.
    """
    rotation = as_array(rotation_a_b, (3, 3), "rotation_a_b")
    origin = as_array(origin_a_b, (3,), "origin_a_b")
    return np.block([[rotation, np.zeros((3, 3))], [skew(origin) @ rotation, rotation]])


def static_efforts_of_tip_wrench(
    jacobian: ArrayLike, pose_base_tip: ArrayLike, wrench_in_tip_axes: ArrayLike
) -> NDArray[Any]:
    """Joint efforts, shape (n,) [N m or N], of a wrench given in the tip's own frame. [Yamamoto] (2.7), corrected.

    The book multiplies J_omega^T, which wants the moment about the tip's origin, with Gamma of (2.6), which gives it
    about the base's. Only the axes may change: this is J_omega^T diag(R, R) m.

    Args:
        jacobian: Geometric Jacobian of the tip, shape (6, n), linear rows first, base axes.
        pose_base_tip: Pose of the tip in the base frame, shape (4, 4).
        wrench_in_tip_axes: (force, moment about the tip's origin), tip axes, shape (6,) [N, N m].

    Raises:
        InputError: A shape differs.
    """
    pose = as_array(pose_base_tip, (4, 4), "pose_base_tip")
    wrench = wrench_transform(pose[:3, :3], np.zeros(3)) @ as_array(wrench_in_tip_axes, (6,), "wrench_in_tip_axes")
    return static_efforts(jacobian, wrench)
