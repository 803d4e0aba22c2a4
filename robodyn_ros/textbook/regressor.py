# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Regressor of the joint efforts in the inertial parameters, column by column from a body's equation of motion."""

from __future__ import annotations

import numpy as np

from robodyn_ros.description.model import Array, RobotModel, skew
from robodyn_ros.kinematics.arguments import checks_joint_arrays
from robodyn_ros.kinematics.forward import joint_poses
from robodyn_ros.kinematics.jacobian import body_jacobians
from robodyn_ros.kinematics.link_motions import link_motions
from robodyn_ros.kinematics.twists import ad


def unit_inertias() -> list[Array]:
    """Spatial inertias G that have 1 in one parameter and 0 in all others, [LynchPark] (9.23) about any origin.

    Returns:
        One matrix of shape (6, 6) for each of m, h_x, h_y, h_z, I_xx, I_xy, I_xz, I_yy, I_yz, I_zz.
    """
    inertias = [np.diag([0.0, 0.0, 0.0, 1.0, 1.0, 1.0])]
    for axis in np.eye(3):
        inertia = np.zeros((6, 6))
        inertia[:3, 3:], inertia[3:, :3] = skew(axis), -skew(axis)
        inertias.append(inertia)
    for row, column in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)):
        inertia = np.zeros((6, 6))
        inertia[row, column] = inertia[column, row] = 1.0
        inertias.append(inertia)
    return inertias


@checks_joint_arrays
def regressor(model: RobotModel, q: Array, v: Array, a: Array) -> Array:
    """Regressor Y(q, v, a) with tau = Y pi; its columns are J_ib^T (G V' - [ad_V]^T G V), [LynchPark] (9.33).

    Args:
        model: The robot.
        q: Joint positions, shape (n,) [rad or m].
        v: Joint velocities, shape (n,) [rad/s or m/s].
        a: Joint accelerations, shape (n,) [rad/s^2 or m/s^2].

    Returns:
        Shape (n, 10 * number of moving links), ten columns for each link, in the order of ``model.joints``.

    Raises:
        InputError: An array has another shape.
    """
    base_acceleration = np.concatenate([np.zeros(3), -model.gravity])
    motions = link_motions(model, joint_poses(model, q), v, a, base_acceleration)
    columns = [
        jacobian.T @ (inertia @ motion.acceleration - ad(motion.twist).T @ (inertia @ motion.twist))
        for jacobian, motion in zip(body_jacobians(model, q), motions, strict=True)
        for inertia in unit_inertias()
    ]
    return np.array(columns).T
