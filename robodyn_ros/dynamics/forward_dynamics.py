# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Forward dynamics by the mass matrix, or by articulated bodies if these are faster."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from robodyn_ros.description.model import Array, RobotModel
from robodyn_ros.dynamics.articulated_body import articulated_body_forward_dynamics, is_faster
from robodyn_ros.dynamics.factorization import solve_mass
from robodyn_ros.dynamics.mass_matrix import mass_matrix
from robodyn_ros.dynamics.second_moment_newton_euler import inverse_dynamics
from robodyn_ros.kinematics.arguments import checks_joint_arrays


def forward_dynamics(
    model: RobotModel,
    q: Array,
    v: Array,
    tau: Array,
    exerted: Mapping[str, Array] | None = None,
) -> Array:
    """The acceleration a of M(q) a = tau - b(q, v) - J^T F_tip, by the faster form for this robot.

    Arguments, result and errors are those of ``mass_matrix_forward_dynamics``.
    """
    if is_faster(model):
        return articulated_body_forward_dynamics(model, q, v, tau, exerted)
    return mass_matrix_forward_dynamics(model, q, v, tau, exerted)


@checks_joint_arrays
def mass_matrix_forward_dynamics(
    model: RobotModel,
    q: Array,
    v: Array,
    tau: Array,
    exerted: Mapping[str, Array] | None = None,
) -> Array:
    """GetJointAccel of [LynchPark] 9.5: a of M(q) a = tau - b(q, v) - J^T F_tip (9.89).

    Args:
        model: The robot.
        q: Joint positions, shape (n,) [rad or m].
        v: Joint velocities, shape (n,) [rad/s or m/s].
        tau: Joint efforts, shape (n,) [N m or N].
        exerted: (moment, force) that links exert on the environment, by the link's name, each in its link's frame,
            shape (6,) [N m, N]; None for none.

    Returns:
        Joint accelerations, shape (n,) [rad/s^2 or m/s^2].

    Raises:
        InputError: An array has another shape; a joint moves no inertia, so that no effort determines its
            acceleration; or no link has a name of ``exerted``.
    """
    efforts_at_rest = inverse_dynamics(model, q, v, np.zeros(model.n), exerted)
    return solve_mass(mass_matrix(model, q), tau - efforts_at_rest)
