# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Pinocchio as the reference: the same URDF, answers in the order and at the door's conventions of robodyn_ros.

Pinocchio orders joints its own way, writes a continuous joint's position as (cos, sin), and is built here without
mimic joints, so that each moves on its own: the constant matrix from our v to its joint velocities projects the rest.
"""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import strategies as st
from shipped import few

from robodyn_ros.description.model import Array, RobotModel
from robodyn_ros.description.resources import robot_file, shipped_robots
from robodyn_ros.description.urdf import load_urdf_text

pin = pytest.importorskip("pinocchio", reason="the reference dynamics; install the test extra (pin)")


# tx40 has a chain as arm6 has, and friction, which most of these formulas do not: test_shipped_robots.py checks it.
SHIPPED = pytest.mark.parametrize("name", few(sorted({*shipped_robots()} - {"tx40"})))
"""Runs a test once for each of these robots in urdf/, for most of them if it is asked for long tests."""

SEEDS = st.integers(0, 2**32 - 1)
"""Of random states."""


def relative_error(ours: Array, reference: Array, at_least: float = 0.0) -> float:
    """Greatest difference, by the greatest entry of the reference or by ``at_least`` if that is more.

    Where all entries of a result may cancel to zero, ``at_least`` is the size of what cancels.
    """
    assert ours.shape == reference.shape
    return float(np.max(np.abs(ours - reference)) / max(np.max(np.abs(reference)), at_least))


def random_state(model: RobotModel, seed: int, count: int = 3) -> Array:
    """Arrays of shape (n,) with entries of the order of 1, as many as asked for."""
    return np.random.default_rng(seed).uniform(-3.0, 3.0, (count, model.n))


def _mirrored(matrix: Array) -> Array:
    """A symmetric matrix from its upper triangle, all that Pinocchio fills."""
    return np.triu(matrix) + np.triu(matrix, 1).T


class PinReference:
    """Rigid-body dynamics of a robot by Pinocchio.

    Args:
        urdf: The URDF as XML, or the name of a shipped robot.

    Attributes:
        robot: The same robot as robodyn_ros loads it.
    """

    def __init__(self, urdf: str) -> None:
        if not urdf.startswith("<"):
            urdf = robot_file(urdf).read_text(encoding="utf-8")
        model = self.robot = load_urdf_text(urdf)
        urdf = re.sub(r"<\?xml[^>]*\?>", "", urdf)
        self.model = pin.buildModelFromXML(re.sub(r"<mimic\b[^>]*?(/>|>\s*</mimic>)", "", urdf))
        self.model.gravity.linear = np.asarray(model.gravity)
        self.data = self.model.createData()
        assert self.model.nv == len(model.joints)
        self.projection = np.zeros((self.model.nv, model.n))
        for joint in model.joints:
            self.projection[self._joint(joint.name).idx_v, joint.dof] = joint.multiplier

    def _joint(self, name: str):
        return self.model.joints[self.model.getJointId(name)]

    def position(self, q: Array) -> Array:
        """Pinocchio's configuration vector."""
        configuration = pin.neutral(self.model)
        for joint in self.robot.joints:
            place = self._joint(joint.name)
            theta = joint.multiplier * q[joint.dof] + joint.offset
            configuration[place.idx_q : place.idx_q + place.nq] = (
                theta if place.nq == 1 else (np.cos(theta), np.sin(theta))
            )
        return configuration

    def inverse_dynamics(self, q: Array, v: Array, a: Array) -> Array:
        """tau, shape (n,)."""
        p = self.projection
        return p.T @ pin.rnea(self.model, self.data, self.position(q), p @ v, p @ a)

    def bias(self, q: Array, v: Array) -> Array:
        """c + g, shape (n,)."""
        return self.projection.T @ pin.nonLinearEffects(self.model, self.data, self.position(q), self.projection @ v)

    def gravity(self, q: Array) -> Array:
        """g, shape (n,)."""
        return self.projection.T @ pin.computeGeneralizedGravity(self.model, self.data, self.position(q))

    def mass_matrix(self, q: Array) -> Array:
        """M, shape (n, n)."""
        return self.projection.T @ _mirrored(pin.crba(self.model, self.data, self.position(q))) @ self.projection

    def kinetic_energy(self, q: Array, v: Array) -> Array:
        """T, shape ()."""
        return np.array(pin.computeKineticEnergy(self.model, self.data, self.position(q), self.projection @ v))

    def potential_energy(self, q: Array) -> Array:
        """U, shape ()."""
        return np.array(pin.computePotentialEnergy(self.model, self.data, self.position(q)))

    def center_of_mass(self, q: Array) -> Array:
        """Of the moving links, shape (3,)."""
        return pin.centerOfMass(self.model, self.data, self.position(q)).copy()

    def coriolis_matrix(self, q: Array, v: Array) -> Array:
        """C of Christoffel symbols, shape (n, n)."""
        p = self.projection
        return p.T @ pin.computeCoriolisMatrix(self.model, self.data, self.position(q), p @ v) @ p

    def mass_matrix_derivatives(self, q: Array) -> Array:
        """dM_ij/dq_k, shape (n, n, n): the slopes of the efforts of unit accelerations, without gravity's."""
        p, zero = self.projection, np.zeros(self.model.nv)
        slopes = [
            pin.computeRNEADerivatives(self.model, self.data, self.position(q), zero, acceleration)[0].copy()
            for acceleration in [zero, *np.eye(self.model.nv)]
        ]
        return np.einsum("jab,ai,jJ,bk->iJk", np.array(slopes[1:]) - slopes[0], p, p, p)

    def forward_dynamics(self, q: Array, v: Array, tau: Array) -> Array:
        """a, shape (n,); by articulated bodies where each joint has a degree of freedom of its own."""
        if np.array_equal(self.projection @ self.projection.T, np.eye(self.model.nv)):
            efforts = self.projection @ tau
            return self.projection.T @ pin.aba(self.model, self.data, self.position(q), self.projection @ v, efforts)
        return np.linalg.solve(self.mass_matrix(q), tau - self.bias(q, v))

    def inverse_dynamics_derivatives(self, q: Array, v: Array, a: Array) -> Array:
        """dtau/dq, dtau/dv, dtau/da, shape (3, n, n)."""
        p = self.projection
        found = pin.computeRNEADerivatives(self.model, self.data, self.position(q), p @ v, p @ a)
        by_q, by_v, by_a = (p.T @ slope @ p for slope in (*found[:2], _mirrored(found[2])))
        return np.array([by_q, by_v, by_a])

    def forward_dynamics_derivatives(self, q: Array, v: Array, tau: Array) -> Array:
        """da/dq, da/dv, da/dtau, shape (3, n, n), where each joint has a degree of freedom of its own."""
        p = self.projection
        assert len(self.robot.joints) == self.robot.n
        by_q, by_v, _ = pin.computeABADerivatives(self.model, self.data, self.position(q), p @ v, p @ tau)
        inverse = pin.computeMinverse(self.model, self.data, self.position(q))
        return np.array([p.T @ slope @ p for slope in (by_q, by_v, _mirrored(inverse))])

    def regressor(self, q: Array, v: Array, a: Array) -> Array:
        """Y, shape (n, 10 * number of joints), its columns put into the order of robodyn_ros."""
        p = self.projection
        found = pin.computeJointTorqueRegressor(self.model, self.data, self.position(q), p @ v, p @ a)
        found = p.T @ found.reshape(self.model.nv, -1)
        own_order = [0, 1, 2, 3, 4, 5, 7, 6, 8, 9]  # Pinocchio has Iyy before Ixz
        first = [10 * (self.model.getJointId(joint.name) - 1) for joint in self.robot.joints]
        return found[:, [start + place for start in first for place in own_order]]

    def wrench_effort(self, q: Array, wrench: Array, link: str) -> Array:
        """Effort of a wrench (force, torque) that acts on a link about its origin, in base axes: J^T wrench, (n,)."""
        zero, position = np.zeros(self.model.nv), self.position(q)
        place = pin.SE3(np.eye(3), self.forward_kinematics(q, link)[:3, 3])
        carrier = self.robot.frame(link).joint
        joint = 0 if carrier < 0 else self.model.getJointId(self.robot.joints[carrier].name)
        forces = [pin.Force.Zero() for _ in range(self.model.njoints)]
        forces[joint] = self.data.oMi[joint].actInv(place.act(pin.Force(wrench)))
        pushed = pin.rnea(self.model, self.data, position, zero, zero, forces)
        return self.projection.T @ (pin.rnea(self.model, self.data, position, zero, zero) - pushed)

    def jacobian_derivative(self, q: Array, v: Array, link: str) -> Array:
        """Time derivative of ``jacobian``, shape (6, n)."""
        p = self.projection
        pin.computeJointJacobiansTimeVariation(self.model, self.data, self.position(q), p @ v)
        pin.updateFramePlacements(self.model, self.data)
        frame = self.model.getFrameId(link, pin.FrameType.BODY)
        place = (self.model, self.data, frame, pin.ReferenceFrame.WORLD)
        # About the base's origin, where all versions of Pinocchio agree, then brought to the link's.
        angular = pin.getFrameJacobian(*place).reshape(6, -1)[3:]
        slope = pin.getFrameJacobianTimeVariation(*place).reshape(6, -1)
        origin = self.data.oMf[frame].translation.copy()
        velocity = self.jacobian(q, link)[:3] @ v
        moved = np.cross(slope[3:].T, origin).T + np.cross(angular.T, velocity).T
        return np.vstack([slope[:3] + moved, slope[3:]]) @ p

    def forward_kinematics(self, q: Array, link: str) -> Array:
        """T_base_link, shape (4, 4)."""
        pin.framesForwardKinematics(self.model, self.data, self.position(q))
        return self.data.oMf[self.model.getFrameId(link, pin.FrameType.BODY)].homogeneous.copy()

    def jacobian(self, q: Array, link: str) -> Array:
        """Of the link's origin in base axes, linear rows first, shape (6, n)."""
        frame = self.model.getFrameId(link, pin.FrameType.BODY)
        jacobian = pin.computeFrameJacobian(
            self.model, self.data, self.position(q), frame, pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        )
        return jacobian.reshape(6, -1) @ self.projection
