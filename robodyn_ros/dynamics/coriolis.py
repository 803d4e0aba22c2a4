# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The Coriolis matrix of Christoffel symbols, without a derivative."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from robodyn_ros.description.model import Array, RobotModel, skew
from robodyn_ros.dynamics.base_parameters import regrouped_bodies
from robodyn_ros.dynamics.spatial_inertia import SpatialInertia, trace_minus
from robodyn_ros.kinematics.arguments import checks_joint_arrays
from robodyn_ros.kinematics.forward import joint_poses, joint_twist
from robodyn_ros.kinematics.twists import cross, lie_bracket, twist_in_parent


class CompositeMotion(NamedTuple):
    """A moving composite body in a frame at rest, about its origin: sums over its particles (m, r)."""

    inertia: SpatialInertia  # moments of its mass
    linear: Array  # linear momentum p = sum m r', shape (3,) [kg m/s]
    velocity_moment: Array  # K = -sum m [r][r'], shape (3, 3) [kg m^2/s]

    @classmethod
    def from_twist(cls, inertia: SpatialInertia, twist: Array) -> CompositeMotion:
        """Motion of a rigid body with a twist: r' = v + w × r."""
        omega, v = twist[:3], twist[3:]
        flow = np.outer(v, inertia.first) + skew(omega) @ inertia.second  # sum m r' r^T
        return cls(inertia, inertia.mass * v + cross(omega, inertia.first), trace_minus(flow))

    def joined(self, other: CompositeMotion) -> CompositeMotion:
        """Both bodies joined to one."""
        return CompositeMotion(
            self.inertia.joined(other.inertia), self.linear + other.linear, self.velocity_moment + other.velocity_moment
        )

    def times(self, twist: Array) -> Array:
        """B V with B = [[K, 0], [-[p], 0]], shape (6,)."""
        return np.concatenate([self.velocity_moment @ twist[:3], cross(twist[:3], self.linear)])

    def transposed_times(self, twist: Array) -> Array:
        """Upper half of B^T V, shape (3,); the lower half is 0."""
        return self.velocity_moment.T @ twist[:3] + cross(self.linear, twist[3:])


class JointMotion(NamedTuple):
    """A joint and the links that it carries, in a frame at rest, about its origin."""

    axis: Array  # twist S of the joint per velocity of its degree of freedom, shape (6,)
    rate: Array  # dS/dt, shape (6,)
    twist: Array  # twist of the joint's link, shape (6,)
    link: SpatialInertia  # inertia of the link alone
    body: CompositeMotion  # motion of the link joined with all links behind it


@checks_joint_arrays
def joint_motions(model: RobotModel, q: Array, v: Array) -> list[JointMotion]:
    """Motion of each joint and of the composite body behind it; bodies are those of ``regrouped_bodies``.

    Args:
        model: The robot.
        q: Joint positions, shape (n,) [rad or m].
        v: Joint velocities, shape (n,) [rad/s or m/s].

    Returns:
        In the order of ``model.joints``, all in the frame of ``common_frame``.

    Raises:
        InputError: An array has another shape.
    """
    joints = model.joints
    motions: list[JointMotion] = []
    for joint, pose, body in zip(joints, common_frame(model, q).poses, regrouped_bodies(model), strict=True):
        axis = joint.multiplier * twist_in_parent(pose, joint_twist(joint))
        twist = axis * v[joint.dof] + (motions[joint.parent].twist if joint.parent >= 0 else np.zeros(6))
        link = body.in_parent(pose)
        body_motion = CompositeMotion.from_twist(link, twist)
        motions.append(JointMotion(axis, lie_bracket(twist, axis), twist, link, body_motion))
    for index in reversed(range(len(joints))):
        parent = joints[index].parent
        if parent >= 0:
            motions[parent] = motions[parent]._replace(body=motions[parent].body.joined(motions[index].body))
    return motions


class CommonFrame(NamedTuple):
    """A frame for all links, at rest, with its pose at this instant."""

    poses: list[Array]  # pose of each link in it, in the order of ``model.joints``, shape (4, 4) each
    gravity: Array  # gravitational acceleration in its axes, shape (3,) [m/s^2]


def common_frame(model: RobotModel, q: Array) -> CommonFrame:
    """The frame of the link that carries all other links, if there is one, else that of the base.

    Sums over links that are projected on twists do not depend on the frame. In the frame of the first link, only
    gravity depends on the position of the first joint, and every axis depends on one position less. Formulas get
    shorter.

    Args:
        model: The robot.
        q: Joint positions, shape (n,) [rad or m].
    """
    steps, roots = joint_poses(model, q), [joint for joint in model.joints if joint.parent < 0]
    gravity = model.gravity
    if len(roots) == 1:
        gravity, steps[0] = steps[0][:3, :3].T @ gravity, np.eye(4)
    poses: list[Array] = []
    for joint, step in zip(model.joints, steps, strict=True):
        poses.append(step if joint.parent < 0 else poses[joint.parent] @ step)
    return CommonFrame(poses, gravity)


@checks_joint_arrays
def coriolis_matrix(model: RobotModel, q: Array, v: Array) -> Array:
    """C(q, v) of Christoffel symbols [LynchPark] (9.87), in O(n depth) as in [EcheandiaWensing].

    For one particle at r(q), (9.87) is C_ij = m (dr/dq_i) · d/dt(dr/dq_j): the symbols of M_ij = m (dr/dq_i) ·
    (dr/dq_j) are m (dr/dq_i) · (d^2r/dq_j dq_k). A link's particles have dr/dq = J_v - [r] J_w with the Jacobian
    J = (J_w, J_v) of the link in a frame at rest. Summed over them,

        C = sum over links of J^T (G J' + B J),    B = [[K, 0], [-[p], 0]],

    with the link's linear momentum p = sum m r' and K = -sum m [r][r']. For joints i and j on the path to a link, the
    columns of J are their twists S_i, S_j, so one composite body per joint serves all links behind it.

    Args:
        model: The robot.
        q: Joint positions, shape (n,) [rad or m].
        v: Joint velocities, shape (n,) [rad/s or m/s].

    Returns:
        Shape (n, n); C v is the Coriolis and centrifugal effort, and dM/dt - 2 C is skew-symmetric.

    Raises:
        InputError: An array has another shape.
    """
    return coriolis_of(model, joint_motions(model, q, v), np.result_type(q, v, float))


def coriolis_of(model: RobotModel, motions: list[JointMotion], kind: DTypeLike) -> Array:
    """``coriolis_matrix`` from joint motions.

    Args:
        model: The robot.
        motions: Result of ``joint_motions``.
        kind: dtype of the result.

    Returns:
        Shape (n, n).
    """
    joints = model.joints
    matrix = np.zeros((model.n, model.n), dtype=kind)
    for joint, motion in zip(joints, motions, strict=True):
        wrench = motion.body.inertia.momentum(motion.axis)  # G S
        wrench_column = motion.body.inertia.momentum(motion.rate) + motion.body.times(motion.axis)  # G S' + B S
        moment_row = motion.body.transposed_times(motion.axis)
        matrix[joint.dof, joint.dof] += motion.axis @ wrench_column
        ancestor = joint.parent
        while ancestor >= 0:
            other, other_dof = motions[ancestor], joints[ancestor].dof
            matrix[other_dof, joint.dof] += other.axis @ wrench_column
            matrix[joint.dof, other_dof] += other.rate @ wrench + other.axis[:3] @ moment_row
            ancestor = joints[ancestor].parent
    return matrix
