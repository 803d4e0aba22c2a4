# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Generalised forces at the joints with friction and contact, [LagrangeNotes] "Generalized forces/torques"."""

from __future__ import annotations

from robodyn_ros.base.checks import as_array
from robodyn_ros.compile import sign
from robodyn_ros.description.model import Array, RobotModel
from robodyn_ros.kinematics.jacobian import twist_jacobian
from robodyn_ros.textbook import newton_euler


def generalized_force(model: RobotModel, q: Array, v: Array, tau: Array, wrench_base: Array | None = None) -> Array:
    """Right side of the equation of motion: xi = tau - F_v v - F_s sgn(v) - J^T h_e, [LagrangeNotes] after (46).

    F_v and F_s are the viscous and Coulomb friction of the robot's description. Coulomb friction is 0 at rest, because
    sgn(0) = 0; ``robodyn_ros.simulation`` models joints that friction holds still.

    Args:
        model: The robot.
        q: Joint positions, shape (n,) [rad or m].
        v: Joint velocities, shape (n,) [rad/s or m/s].
        tau: Motor efforts, shape (n,) [N m or N].
        wrench_base: h_e = (moment, force) that the tip link exerts on the environment, about its origin, in base axes,
            shape (6,) [N m, N]; None for none.

    Returns:
        Shape (n,) [N m or N].

    Raises:
        InputError: An array has another shape.
    """
    q, v, tau = (as_array(array, (model.n,), name) for name, array in (("q", q), ("v", v), ("tau", tau)))
    force = tau - model.damping * v - model.friction * sign(v)
    if wrench_base is not None:
        force = force - twist_jacobian(model, q).T @ as_array(wrench_base, (6,), "wrench_base")
    return force


def forward_dynamics(model: RobotModel, q: Array, v: Array, tau: Array, wrench_base: Array | None = None) -> Array:
    """Joint acceleration a from B a + C v + g = tau - J^T h_e - F_v v - F_s sgn(v), [LagrangeNotes] (44), (50).

    Args:
        model: The robot.
        q: Joint positions, shape (n,) [rad or m].
        v: Joint velocities, shape (n,) [rad/s or m/s].
        tau: Motor efforts, shape (n,) [N m or N].
        wrench_base: As for ``generalized_force``.

    Returns:
        Shape (n,) [rad/s^2 or m/s^2].

    Raises:
        InputError: An array has another shape; or a joint moves no inertia.
    """
    return newton_euler.forward_dynamics(model, q, v, generalized_force(model, q, v, tau, wrench_base))
