"""The Coriolis matrix of Christoffel symbols, without a derivative."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robodyn_ros.description.model import Array, RobotModel
from robodyn_ros.dynamics.composite import Composite
from robodyn_ros.kinematics.forward import joint_twist, link_poses
from robodyn_ros.kinematics.twists import cross, lie_bracket, twist_in_parent


class CompositeMotion(NamedTuple):
    """A moving composite body in base axes about the base's origin: sums over its particles (m, r).

    Attributes:
        inertia: Moments of its mass.
        linear: Linear momentum p = sum m r', shape (3,) [kg m/s].
        turning: K = -sum m [r][r'], shape (3, 3) [kg m^2/s].
    """

    inertia: Composite
    linear: Array
    turning: Array

    @classmethod
    def of(cls, inertia: Composite, twist: Array) -> CompositeMotion:
        """Of a rigid body that moves with a twist: r' = v + w × r."""
        omega, v = twist[:3], twist[3:]
        rotational, first = inertia.rotational, inertia.first
        second = 0.5 * np.trace(rotational) * np.eye(3) - rotational  # sum m r r^T
        flow = np.outer(v, first) + np.array([cross(omega, column) for column in second.T]).T  # sum m r' r^T
        return cls(inertia, inertia.mass * v + cross(omega, first), np.trace(flow) * np.eye(3) - flow)

    def joined(self, other: CompositeMotion) -> CompositeMotion:
        """Both bodies as one."""
        return CompositeMotion(
            self.inertia.joined(other.inertia), self.linear + other.linear, self.turning + other.turning
        )


def coriolis_matrix(model: RobotModel, q: Array, v: Array) -> Array:
    """C(q, v) of Christoffel symbols [LynchPark] (9.87), in O(n depth) as [EcheandiaWensing] do it.

    For one particle at r(q), (9.87) is C_ij = m (dr/dq_i) · d/dt(dr/dq_j): the symbols of M_ij = m (dr/dq_i) ·
    (dr/dq_j) are m (dr/dq_i) · (d^2r/dq_j dq_k). A link's particles have dr/dq = J_v - [r] J_w with the base-axes
    Jacobian J = (J_w, J_v) of the link. Summed over them,

        C = sum over links of J^T (G J' + B J),    B = [[K, 0], [-[p], 0]],

    p = sum m r' being the link's linear momentum and K = -sum m [r][r']. For the joints i and j before a link the
    columns of J are their twists S_i, S_j in base axes, so one composite body per joint serves all its links.

    Args:
        model: The robot.
        q: Joint positions, shape (n,) [rad or m].
        v: Joint velocities, shape (n,) [rad/s or m/s].

    Returns:
        Shape (n, n); C v is the Coriolis and centrifugal effort, and dM/dt - 2 C is skew-symmetric.
    """
    joints = model.joints
    axes: list[Array] = []  # S_i
    rates: list[Array] = []  # dS_i/dt
    twists: list[Array] = []
    bodies: list[CompositeMotion] = []
    for joint, pose in zip(joints, link_poses(model, q), strict=True):
        axis = joint.multiplier * twist_in_parent(pose, joint_twist(joint))
        twist = axis * v[joint.dof] + (twists[joint.parent] if joint.parent >= 0 else np.zeros(6))
        axes.append(axis)
        twists.append(twist)
        rates.append(lie_bracket(twist, axis))
        bodies.append(CompositeMotion.of(Composite.of(joint.inertia).in_parent(pose), twist))

    matrix = np.zeros((model.n, model.n), dtype=np.result_type(q, v, float))
    for index in reversed(range(len(joints))):
        body, axis, dof = bodies[index], axes[index], joints[index].dof
        if joints[index].parent >= 0:
            bodies[joints[index].parent] = bodies[joints[index].parent].joined(body)
        omega, velocity = axis[:3], axis[3:]
        wrench = body.inertia.momentum(axis)  # G S
        # G S' + B S and B^T S; -[p] w = w × p
        wrench_column = body.inertia.momentum(rates[index]) + np.concatenate(
            [body.turning @ omega, cross(omega, body.linear)]
        )
        moment_row = body.turning.T @ omega + cross(body.linear, velocity)
        matrix[dof, dof] += axis @ wrench_column
        ancestor = joints[index].parent
        while ancestor >= 0:
            other, other_rate, other_dof = axes[ancestor], rates[ancestor], joints[ancestor].dof
            matrix[other_dof, dof] += other @ wrench_column
            matrix[dof, other_dof] += other_rate @ wrench + other[:3] @ moment_row
            ancestor = joints[ancestor].parent
    return matrix
