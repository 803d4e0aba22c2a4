# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Dynamics of all links in one matrix equation, with stacked twists and wrenches: [LynchPark] 9.4.

The frames are at the links' centres of mass, as in the book; ``newton_euler`` works in the description's link frames.
The two modules therefore share only the law of motion. This one serves for reading and for comparison: its matrices
are mostly zeros, and the recursion computes the same without them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from robodyn_ros.base.checks import as_array
from robodyn_ros.description.model import Array, RobotModel
from robodyn_ros.kinematics.twists import ad, adjoint, exponential, homogeneous, inverse_pose
from robodyn_ros.textbook.product_of_exponentials import home, joint_positions


class StackedDynamics(NamedTuple):
    """Stacked equations of a robot with m moving links and n degrees of freedom in one position. The book has m = n.

    The attributes are the coefficients of [LynchPark] (9.72) to (9.74); the methods are the solutions (9.77) to (9.79).

    If several joints share a degree of freedom, column j of A holds the twists of all of them, each multiplied by the
    joint's ``multiplier``.

    Attributes:
        A: Joint twists, shape (6m, n), (9.64).
        G: Spatial inertias, block diagonal, shape (6m, 6m), (9.65).
        Gamma: [Ad_{T_{i,i-1}}] in block (i, i-1), shape (6m, 6m), (9.68); link i-1 is the parent of link i.
        V_base_dot: Acceleration -g of the base, in the frames of the links attached to it, shape (6m,), (9.70). The
            base has no velocity (9.69) here.
        tip: [Ad_{T_{n+1,n}}]^T, stacked, shape (6m, 6), (9.71). It transforms a wrench from the tip link's frame to
            the frame of the moving link that the tip link is fixed to.
    """

    A: Array
    G: Array
    Gamma: Array
    V_base_dot: Array
    tip: Array

    @property
    def L(self) -> Array:
        """(I - Gamma)^-1 = I + Gamma + Gamma^2 + ..., shape (6m, 6m), (9.76): Gamma is nilpotent."""
        size = len(self.Gamma)
        inverse = np.eye(size) + np.zeros((size, size), dtype=self.Gamma.dtype)
        for block in range(0, size, 6):  # L = I + Gamma L, row by row: row i of Gamma uses only rows of L before i
            rows = slice(block, block + 6)
            inverse[rows] = inverse[rows] + self.Gamma[rows, :block] @ inverse[:block]
        return inverse

    def twists(self, v: Array) -> Array:
        """Twists V = L A v of all links, shape (6m,), (9.77): the solution of (9.72).

        Raises:
            InputError: v has another shape than (n,).
        """
        return self.L @ (self.A @ as_array(v, self.A.shape[1:], "v"))

    def accelerations(self, v: Array, a: Array) -> Array:
        """Accelerations V' = L (A a - [ad_{A v}] Gamma V + V'_base), shape (6m,), (9.78): the solution of (9.73).

        The book prints + [ad_{A v}] in both equations; (9.47) and (9.55) have the correct sign.

        Raises:
            InputError: v or a has another shape than (n,).
        """
        a = as_array(a, self.A.shape[1:], "a")
        return self.L @ (self.A @ a - self.ad_joints(v) @ self.Gamma @ self.twists(v) + self.V_base_dot)

    def wrenches(self, v: Array, a: Array, exerted_tip: Array | None = None) -> Array:
        """Wrenches F = L^T (G V' - [ad_V]^T G V + F_tip), shape (6m,), (9.79): the solution of (9.74)."""
        twists = self.twists(v)
        own = self.G @ self.accelerations(v, a) - self.ad_links(v).T @ self.G @ twists
        return self.L.T @ (own if exerted_tip is None else own + self.tip @ exerted_tip)

    def efforts(self, v: Array, a: Array, exerted_tip: Array | None = None) -> Array:
        """Joint efforts tau = A^T F, shape (n,), (9.75), (9.80); (9.81) is another form of the same equation.

        Args:
            v: Joint velocities, shape (n,) [rad/s or m/s].
            a: Joint accelerations, shape (n,) [rad/s^2 or m/s^2].
            exerted_tip: F_tip = (moment, force) that the tip link exerts on the environment, in the tip link's frame,
                shape (6,) [N m, N]; None for none.
        """
        return self.A.T @ self.wrenches(v, a, exerted_tip)

    def mass_matrix(self) -> Array:
        """Mass matrix M = A^T L^T G L A, shape (n, n), (9.82)."""
        jacobians = self.L @ self.A
        return jacobians.T @ self.G @ jacobians

    def coriolis_effort(self, v: Array) -> Array:
        """Coriolis and centrifugal efforts -A^T L^T (G L [ad_{A v}] Gamma + [ad_V]^T G) L A v, shape (n,), (9.83).

        The book prints the first term with the opposite sign, as in (9.78).
        """
        twists = self.twists(v)
        inertial = self.G @ self.L @ (self.ad_joints(v) @ self.Gamma @ twists)
        return -self.A.T @ self.L.T @ (inertial + self.ad_links(v).T @ (self.G @ twists))

    def gravity(self) -> Array:
        """Gravity A^T L^T G L V'_base, shape (n,), (9.84)."""
        return self.A.T @ self.L.T @ self.G @ self.L @ self.V_base_dot

    def tip_jacobian(self) -> Array:
        """Tip Jacobian J of (9.81) in the tip link's frame, shape (6, n): V_tip = J v."""
        return self.tip.T @ self.L @ self.A

    def ad_links(self, v: Array) -> Array:
        """[ad_V], shape (6m, 6m), (9.66)."""
        return _block_diagonal(ad(twist) for twist in self.twists(v).reshape(-1, 6))

    def ad_joints(self, v: Array) -> Array:
        """[ad_{A v}], shape (6m, 6m), (9.67)."""
        return _block_diagonal(ad(twist) for twist in (self.A @ v).reshape(-1, 6))


def stacked_dynamics(model: RobotModel, q: Array) -> StackedDynamics:
    """Compute the matrices of (9.64) to (9.71) at a position.

    Args:
        model: The robot.
        q: Joint positions, shape (n,) [rad or m].

    Returns:
        The stacked matrices; their blocks have the order of ``model.joints``.

    Raises:
        InputError: q has another shape.
    """
    q = as_array(q, (model.n,), "q")
    joints, count = model.joints, len(model.joints)
    zero = home(model, at_centers_of_mass=True)
    twists = zero.joint_twists()
    dtype = np.result_type(q, float)
    joint_matrix = np.zeros((6 * count, model.n))
    gamma = np.zeros((6 * count, 6 * count), dtype=dtype)
    base_dot = np.zeros(6 * count, dtype=dtype)
    positions = joint_positions(model, q)
    for index, (joint, between) in enumerate(zip(joints, zero.relative_poses(model), strict=True)):
        rows = slice(6 * index, 6 * index + 6)
        joint_matrix[rows, joint.dof] = joint.multiplier * twists[index]
        pose = between @ exponential(twists[index], positions[index])  # (9.50)
        to_child = adjoint(inverse_pose(pose))
        if joint.parent < 0:
            base_dot[rows] = to_child @ np.concatenate([np.zeros(3), -model.gravity])
        else:
            gamma[rows, 6 * joint.parent : 6 * joint.parent + 6] = to_child
    inertias = _block_diagonal(
        np.block([[joint.inertia.rotational, np.zeros((3, 3))], [np.zeros((3, 3)), joint.inertia.mass * np.eye(3)]])
        for joint in joints  # (9.52)
    )
    tip = np.zeros((6 * count, 6))
    frame = model.frame(model.tip_link)
    if frame.joint >= 0:
        center = homogeneous(np.eye(3), joints[frame.joint].inertia.com)
        from_center = inverse_pose(frame.pose_link_frame) @ center  # T_{n+1,n}
        tip[6 * frame.joint : 6 * frame.joint + 6] = adjoint(from_center).T
    return StackedDynamics(joint_matrix, inertias, gamma, base_dot, tip)


def _block_diagonal(blocks: Iterable[Array]) -> Array:
    """Build a block-diagonal matrix from 6×6 blocks."""
    blocks = list(blocks)
    matrix = np.zeros((6 * len(blocks), 6 * len(blocks)), dtype=np.result_type(*blocks))
    for index, block in enumerate(blocks):
        matrix[6 * index : 6 * index + 6, 6 * index : 6 * index + 6] = block
    return matrix
