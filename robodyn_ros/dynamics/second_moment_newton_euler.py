# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Newton-Euler inverse dynamics with the fewest operations, for compilation.

The recursion of [Yamamoto] chapter 4, with accelerations of points in the links' own axes, and two changes that keep
the joint efforts. The bodies are those of ``regrouped_bodies``. Forces and moments are not those of (4.24) and (4.25),
but sums over particles: with r'' = a + U r, U = [w'] + [w][w],

    force = sum m r'' = m a + U h,    moment = sum m r × r'', the skew-symmetric part of sum m r'' r^T = a h^T + U S,

with the first and second moments h and S of the mass. U also serves (4.28), (4.33) and (4.35).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from robodyn_ros.description.model import Array, Joint, RobotModel, skew
from robodyn_ros.dynamics.base_parameters import regrouped_bodies
from robodyn_ros.dynamics.link_wrenches import add_exerted_wrenches, joint_efforts
from robodyn_ros.dynamics.spatial_inertia import SpatialInertia
from robodyn_ros.kinematics.arguments import checks_joint_arrays
from robodyn_ros.kinematics.forward import joint_poses
from robodyn_ros.kinematics.twists import cross


@checks_joint_arrays
def inverse_dynamics(
    model: RobotModel,
    q: Array,
    v: Array,
    a: Array,
    exerted: Mapping[str, Array] | None = None,
) -> Array:
    """Joint efforts for an acceleration, tau = M(q) a + c(q, v) + g(q) + J^T F_tip, (4.29) to (4.39).

    The rotors of ``model.armature`` need efforts too.

    Args:
        model: The robot.
        q: Joint positions, shape (n,) [rad or m].
        v: Joint velocities, shape (n,) [rad/s or m/s].
        a: Joint accelerations, shape (n,) [rad/s^2 or m/s^2].
        exerted: (moment, force) that links exert on the environment, by the link's name, each in its link's frame,
            shape (6,) [N m, N]; None for none.

    Returns:
        Joint efforts, shape (n,) [N m or N].

    Raises:
        InputError: An array has another shape; or no link has a name of ``exerted``.
    """
    poses = joint_poses(model, q)
    base = PointAccelerations.from_motion(np.zeros(3), np.zeros(3), -model.gravity)
    links: list[PointAccelerations] = []
    wrenches_passed_on: list[Array] = []
    for joint, pose, body in zip(model.joints, poses, regrouped_bodies(model), strict=True):
        before = base if joint.parent < 0 else links[joint.parent]
        links.append(_link_accelerations(joint, pose, before, v[joint.dof], a[joint.dof]))
        wrenches_passed_on.append(links[-1].wrench(body))
    add_exerted_wrenches(model, wrenches_passed_on, exerted)
    return joint_efforts(model, poses, wrenches_passed_on, a, np.result_type(q, v, a, float))


@checks_joint_arrays
def bias(model: RobotModel, q: Array, v: Array) -> Array:
    """b(q, v) = c(q, v) + g(q), the joint efforts at zero acceleration.

    Args:
        model: The robot.
        q: Joint positions, shape (n,) [rad or m].
        v: Joint velocities, shape (n,) [rad/s or m/s].

    Returns:
        Joint efforts, shape (n,) [N m or N].

    Raises:
        InputError: An array has another shape.
    """
    return inverse_dynamics(model, q, v, np.zeros(model.n))


def gravity(model: RobotModel, q: Array) -> Array:
    """g(q), the joint efforts that hold the robot at rest.

    Args:
        model: The robot.
        q: Joint positions, shape (n,) [rad or m].

    Returns:
        Joint efforts, shape (n,) [N m or N].

    Raises:
        InputError: q has another shape.
    """
    return inverse_dynamics(model, q, np.zeros(model.n), np.zeros(model.n))


class PointAccelerations(NamedTuple):
    """Accelerations of the points r of a rigid body, r'' = origin + gradient r, in the axes of one frame."""

    omega: Array  # angular velocity w, shape (3,) [rad/s]
    omega_dot: Array  # w', shape (3,) [rad/s^2]
    origin: Array  # a, acceleration of the frame's origin, shape (3,) [m/s^2]
    gradient: Array  # U = [w'] + [w][w], shape (3, 3) [1/s^2]

    @classmethod
    def from_motion(cls, omega: Array, omega_dot: Array, origin: Array) -> PointAccelerations:
        """Build from angular velocity and acceleration, and the acceleration of the origin, each of shape (3,)."""
        return cls(omega, omega_dot, origin, skew(omega_dot) + skew(omega) @ skew(omega))

    def at(self, point: Array) -> Array:
        """Acceleration a + w' × r + w × (w × r) of the body's point r, (4.28), (4.35), shape (3,) [m/s^2]."""
        return self.origin + self.gradient @ point

    def wrench(self, body: SpatialInertia) -> Array:
        """Wrench for these accelerations: (moment, force) about the frame's origin, shape (6,) [N m, N]."""
        force = body.mass * self.origin + self.gradient @ body.first
        # As S is symmetric, the skew-symmetric part of U S takes 15 products instead of 18.
        (u00, u01, u02), (u10, u11, u12), (u20, u21, u22) = self.gradient
        (xx, xy, xz), (_, yy, yz), (_, _, zz) = body.second
        turned = [
            u21 * yy - u12 * zz + (u22 - u11) * yz + u20 * xy - u10 * xz,
            u02 * zz - u20 * xx + (u00 - u22) * xz + u01 * yz - u21 * xy,
            u10 * xx - u01 * yy + (u11 - u00) * xy + u12 * xz - u02 * yz,
        ]
        return np.concatenate([np.array(turned) + cross(body.first, self.origin), force])


def _link_accelerations(
    joint: Joint, pose: Array, before: PointAccelerations, velocity: Array, acceleration: Array
) -> PointAccelerations:
    """(4.29) to (4.34): accelerations of a joint's link, from those of the previous link and the joint's motion."""
    to_own_axes = pose[:3, :3].T
    along, along_dot = joint.axis * (joint.multiplier * velocity), joint.axis * (joint.multiplier * acceleration)
    omega, omega_dot = to_own_axes @ before.omega, to_own_axes @ before.omega_dot
    origin = to_own_axes @ before.at(pose[:3, 3])
    if joint.kind == "prismatic":
        return PointAccelerations.from_motion(omega, omega_dot, origin + 2.0 * cross(omega, along) + along_dot)
    return PointAccelerations.from_motion(omega + along, omega_dot + cross(omega, along) + along_dot, origin)
