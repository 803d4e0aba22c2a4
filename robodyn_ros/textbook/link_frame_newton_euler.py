# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Newton-Euler inverse dynamics with forces and moments in link frames: [Yamamoto] chapter 4.

The recursion computes accelerations of points, as an accelerometer at the point measures them. ``newton_euler``
computes derivatives of twists instead. The linear accelerations of the two recursions therefore differ; angular
velocities, angular accelerations and joint efforts are equal.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robodyn_ros.base.checks import as_array
from robodyn_ros.description.model import Array, Joint, RobotModel
from robodyn_ros.kinematics.forward import joint_poses
from robodyn_ros.kinematics.twists import cross


class PointMotion(NamedTuple):
    """Motion of a link, in its own axes."""

    omega: Array  # angular velocity, shape (3,) [rad/s]
    omega_dot: Array  # angular acceleration, shape (3,) [rad/s^2]
    v_dot: Array  # acceleration of the frame's origin minus the gravitational acceleration, shape (3,) [m/s^2]

    def acceleration_of(self, point: Array) -> Array:
        """Acceleration v' + w' × p + w × (w × p) of a point fixed to the link, shape (3,) [m/s^2]: (4.28), (4.35).

        Args:
            point: p in the link's frame, shape (3,) [m].
        """
        return self.v_dot + cross(self.omega_dot, point) + cross(self.omega, cross(self.omega, point))


def link_frame_inverse_dynamics(
    model: RobotModel, q: Array, v: Array, a: Array, force_tip: Array | None = None, moment_tip: Array | None = None
) -> Array:
    """Compute the joint efforts for a joint acceleration, [Yamamoto] (4.29)-(4.40).

    In the book, joint axes are along z of their frames, and each link carries one other link. Here, axes have any
    direction, links have any number of children, and mimic joints act on the degree of freedom that they follow.
    ^{i-1}p_{i0} is the position of link i's origin in the frame of its parent link; the book computes it from
    Denavit-Hartenberg parameters (4.40).

    Args:
        model: The robot.
        q: Joint positions, shape (n,) [rad or m].
        v: Joint velocities, shape (n,) [rad/s or m/s].
        a: Joint accelerations, shape (n,) [rad/s^2 or m/s^2].
        force_tip: ^{n+1}f_{n+1}, the force that the tip link exerts on the environment at its origin, in its axes,
            shape (3,) [N]; None for none. The book says "added to end-effector", but its equations have this sign.
        moment_tip: ^{n+1}n_{n+1}, the moment that the tip link exerts on the environment about its origin, in its
            axes, shape (3,) [N m]; None for none.

    Returns:
        Joint efforts, shape (n,) [N m or N].

    Raises:
        InputError: An array has another shape.
    """
    q, v, a = (as_array(array, (model.n,), name) for array, name in ((q, "q"), (v, "v"), (a, "a")))
    joints = model.joints
    poses = joint_poses(model, q)
    at_rest = PointMotion(np.zeros(3), np.zeros(3), -model.gravity)  # step 1
    motions: list[PointMotion] = []
    forces: list[Array] = []
    moments: list[Array] = []
    for joint, pose in zip(joints, poses, strict=True):
        rate, rate_dot = joint.multiplier * v[joint.dof], joint.multiplier * a[joint.dof]
        motion = link_motion(joint, pose, at_rest if joint.parent < 0 else motions[joint.parent], rate, rate_dot)
        motions.append(motion)
        force, moment = link_force_and_moment(joint, motion)
        forces.append(force)
        moments.append(moment)
    tip = model.frame(model.tip_link)
    if tip.joint >= 0:
        force = np.zeros(3) if force_tip is None else as_array(force_tip, (3,), "force_tip")
        moment = np.zeros(3) if moment_tip is None else as_array(moment_tip, (3,), "moment_tip")
        _pass_on(tip.pose_link_frame, force, moment, forces, moments, tip.joint)

    tau = np.zeros(model.n, dtype=np.result_type(q, v, a, float))
    for index in reversed(range(len(joints))):
        joint = joints[index]
        driven = forces[index] if joint.kind == "prismatic" else moments[index]
        tau[joint.dof] += joint.multiplier * (joint.axis @ driven)  # (4.38), (4.39)
        if joint.parent >= 0:
            _pass_on(poses[index], forces[index], moments[index], forces, moments, joint.parent)
    return tau


def link_motion(joint: Joint, pose: Array, before: PointMotion, rate: Array, rate_dot: Array) -> PointMotion:
    """Compute the motion of a link from the motion of its parent link, (4.29)-(4.34).

    The scan lacks (4.31) and (4.32); they are (4.14) and (4.15) in the link's own axes.

    Args:
        joint: The joint between the two links.
        pose: ^{i-1}T_i, shape (4, 4).
        before: Motion of the parent link i-1.
        rate: Joint velocity [rad/s or m/s].
        rate_dot: Joint acceleration [rad/s^2 or m/s^2].
    """
    to_own_axes = pose[:3, :3].T
    omega, omega_dot = to_own_axes @ before.omega, to_own_axes @ before.omega_dot
    v_dot = to_own_axes @ before.acceleration_of(pose[:3, 3])
    if joint.kind == "prismatic":
        v_dot = v_dot + 2.0 * cross(omega, joint.axis * rate) + joint.axis * rate_dot  # (4.34)
        return PointMotion(omega, omega_dot, v_dot)  # (4.30), (4.32)
    omega_dot = omega_dot + cross(omega, joint.axis * rate) + joint.axis * rate_dot  # (4.31)
    return PointMotion(omega + joint.axis * rate, omega_dot, v_dot)  # (4.29), (4.33)


def link_force_and_moment(joint: Joint, motion: PointMotion) -> tuple[Array, Array]:
    """Force and moment that accelerate one link, about its frame's origin, from (4.24) and (4.25).

    They are the link's own terms of (4.36) and (4.37).

    Args:
        joint: The joint that moves the link; it holds the link's inertia.
        motion: Motion of the link.

    Returns:
        Force [N] and moment [N m], shape (3,) each, in the link's axes.
    """
    inertia, omega = joint.inertia, motion.omega
    force = inertia.mass * motion.acceleration_of(inertia.com)
    moment = inertia.rotational @ motion.omega_dot + cross(omega, inertia.rotational @ omega)
    return force, moment + cross(inertia.com, force)


def _pass_on(pose: Array, force: Array, moment: Array, forces: list[Array], moments: list[Array], link: int) -> None:
    """Add force and moment that a link exerts on a child link, (4.22), (4.23), the other terms of (4.36), (4.37)."""
    rotation, position = pose[:3, :3], pose[:3, 3]
    force = rotation @ force
    forces[link] = forces[link] + force
    moments[link] = moments[link] + rotation @ moment + cross(position, force)
