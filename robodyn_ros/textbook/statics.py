# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Forces at the tip and efforts at the joints in equilibrium ([Yamamoto] chapter 2).

A wrench is (force, moment) here, linear part first, like the book's m and the public ``wrench_tip``.

With the book's sign in (2.1), the efforts are those that the wrench *causes* at the joints when it acts on the tip.
Motors that exert these efforts make the tip exert the wrench on its surroundings. Motors that hold the robot still
against the wrench exert the negative efforts.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robodyn_ros.base.checks import as_array, as_floats
from robodyn_ros.base.errors import InputError
from robodyn_ros.description.model import skew
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
    """Wrench m = (J_omega^T)^-1 tau that causes given joint efforts, shape (6,) [N, N m]. [Yamamoto] figure 2.2.

    With more than six joints, not all efforts correspond to a wrench at the tip; the function refuses those that do
    not. With fewer than six joints, or at a singular position, the efforts do not determine the wrench, and the
    function refuses the Jacobian.

    Args:
        jacobian: Geometric Jacobian of the tip, shape (6, n) with n >= 6, linear rows first, base axes, floats.
        tau: Joint efforts, shape (n,) [N m or N].

    Returns:
        (force, moment about the tip's origin), base axes.

    Raises:
        InputError: A shape differs, the rank of the Jacobian is less than 6, or no wrench causes the efforts.
    """
    jacobian = as_floats(jacobian, (6, None), "jacobian")
    tau = as_floats(tau, (jacobian.shape[1],), "tau")
    singular_values = np.linalg.svd(jacobian, compute_uv=False)
    if len(singular_values) < 6 or singular_values[-1] <= SINGULAR * singular_values[0]:
        raise InputError(
            f"jacobian: expected rank 6, received shape {jacobian.shape} with singular values "
            f"{np.array2string(singular_values, precision=3)}: some wrenches cause no efforts, so the efforts do not "
            "determine the wrench"
        )
    wrench = np.linalg.lstsq(jacobian.T, tau, rcond=None)[0]
    residual = jacobian.T @ wrench - tau
    if np.abs(residual).max() > 1e-9 * max(1.0, np.abs(tau).max()):
        raise InputError(
            f"tau: expected efforts that a wrench at the tip balances, received {tau.tolist()}, which leave "
            f"{np.abs(residual).max():.3g} at a joint: a part of them moves the joints without the tip"
        )
    return wrench


def wrench_transform(rotation_a_b: ArrayLike, origin_a_b: ArrayLike) -> NDArray[Any]:
    """Matrix Gamma_ab, shape (6, 6), that transforms a wrench from frame b to frame a. [Yamamoto] (2.3) to (2.6).

    The matrix changes axes and reference point: the moment about the origin of b becomes the moment about the origin
    of a. With a zero origin only the axes change.

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
    """Joint efforts of a wrench in the tip's own frame, shape (n,) [N m or N]. [Yamamoto] (2.7), corrected.

    The book multiplies J_omega^T by Gamma of (2.6). J_omega^T needs the moment about the tip's origin, but Gamma gives
    the moment about the base's origin. Only the axes must change, so the function computes J_omega^T diag(R, R) m.

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
