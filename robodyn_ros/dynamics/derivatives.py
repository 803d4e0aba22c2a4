# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Exact derivatives of inverse and forward dynamics; the robot near a state as a linear system."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from robodyn_ros.compile import derivative_at
from robodyn_ros.description.model import Array, RobotModel, read_only
from robodyn_ros.dynamics.coriolis import JointMotion, common_frame, coriolis_of, joint_motions
from robodyn_ros.dynamics.factorization import inverse_mass, solve_mass
from robodyn_ros.dynamics.second_moment_newton_euler import PointAccelerations
from robodyn_ros.dynamics.tree_system import TreeSystem
from robodyn_ros.kinematics.arguments import checks_joint_arrays
from robodyn_ros.kinematics.forward import path_to
from robodyn_ros.kinematics.jacobian import twist_jacobian
from robodyn_ros.kinematics.twists import ad_transpose, cross, lie_bracket


@checks_joint_arrays
def inverse_dynamics_derivatives(
    model: RobotModel, q: Array, v: Array, a: Array, applied: Sequence[tuple[str, Array]] = ()
) -> Array:
    """Derivatives of tau(q, v, a) with respect to q, v and a, in O(n depth): [SinghRussellWensing].

    A rotation of joint j rotates everything that it carries, including the wrenches there, and joints behind it notice
    no change. The velocity and acceleration of the link in front of it, however, do not rotate. Seen from the carried
    links, the front link therefore gains the velocity D_j = [V, S_j] and the acceleration E_j = [V', S_j] + [V, D_j],
    with its own V and V'. Summed over everything that joint j carries, in one frame at rest, the wrench changes by

        dF/dq_j = -ad_{S_j}^T F + G E_j + 2 B D_j,    dF/dv_j = 2 (G S_j' + B S_j),    dF/da_j = G S_j

    with G, B and S_j' as in ``coriolis_matrix``; D_j = S_j', dtau/dv = 2 C and dtau/da = M.

    Args:
        model: The robot.
        q: Joint positions, shape (n,) [rad or m].
        v: Joint velocities, shape (n,) [rad/s or m/s].
        a: Joint accelerations, shape (n,) [rad/s^2 or m/s^2].
        applied: Wrenches on links that keep their components in base axes while the links move: the link's name and
            (moment, force) about its origin, shape (6,) [N m, N].

    Returns:
        dtau/dq, dtau/dv and dtau/da, stacked, shape (3, n, n); element [., i, j] is the derivative of tau_i.

    Raises:
        InputError: An array has another shape.
    """
    motions, kind = joint_motions(model, q, v), np.result_type(q, v, a, float)
    by_position = _effort_by_position(model, motions, base_acceleration_of(model, q), v, a, kind)
    for link, wrench in applied:
        by_position = by_position - wrench_effort_derivative(model, q, wrench, link)
    return np.array([by_position, 2.0 * coriolis_of(model, motions, kind), _mass_of(model, motions, kind)])


@checks_joint_arrays
def forward_dynamics_derivatives(
    model: RobotModel, q: Array, v: Array, tau: Array, applied: Sequence[tuple[str, Array]] = ()
) -> Array:
    """Derivatives of the acceleration a(q, v, tau).

    From tau(q, v, a(q, v, tau)) = tau follow da/dq = -M^-1 dtau/dq, da/dv = -M^-1 dtau/dv and da/dtau = M^-1, with the
    derivatives of inverse dynamics at a = M^-1 (tau - C v - g). M and C are among these; g_j = S_j^T G V'_0, as if
    everything that joint j carries were accelerated with the base.

    Args:
        model: The robot.
        q: Joint positions, shape (n,) [rad or m].
        v: Joint velocities, shape (n,) [rad/s or m/s].
        tau: Joint efforts, shape (n,) [N m or N].
        applied: As for ``inverse_dynamics_derivatives``.

    Returns:
        da/dq, da/dv and da/dtau, stacked, shape (3, n, n).

    Raises:
        InputError: An array has another shape; or a joint moves no inertia.
    """
    motions, kind = joint_motions(model, q, v), np.result_type(q, v, tau, float)
    coriolis, mass = coriolis_of(model, motions, kind), _mass_of(model, motions, kind)
    base_acceleration = base_acceleration_of(model, q)
    for link, wrench in applied:
        tau = tau + twist_jacobian(model, q, link).T @ wrench
    a = solve_mass(mass, tau - coriolis @ v - _gravity_of(model, motions, base_acceleration, kind))
    by_position = _effort_by_position(model, motions, base_acceleration, v, a, kind)
    for link, wrench in applied:
        by_position = by_position - wrench_effort_derivative(model, q, wrench, link)
    solution = solve_mass(mass, np.concatenate([-by_position, -2.0 * coriolis], axis=1))
    return np.array([solution[:, : model.n], solution[:, model.n :], inverse_mass(mass)])


MAX_SOLUTION_OPERATIONS = 100_000
"""Number of operations above which the derivatives of forward dynamics are solved in loops: written out, a chain of 40
joints would take four times as many operations and half a minute to compile."""


def solution_is_short(model: RobotModel) -> bool:
    """Whether to compile ``forward_dynamics_derivatives`` for this robot as a single formula.

    Each of 3 n columns takes at most a product and a sum for each entry of L, twice; L has one entry for each joint and
    each joint in front of it.
    """
    entries = sum(len(path_to(model, index)) - 1 for index in range(len(model.joints)))
    return 3 * model.n * 4 * entries < MAX_SOLUTION_OPERATIONS


SCALES = (-1.0, -1.0, 1.0)
"""Factors of M^-1 dtau/dq, M^-1 dtau/dv and M^-1 in the derivatives of forward dynamics."""


def forward_dynamics_derivatives_in_loops(efforts: Array, system: TreeSystem | None, factors: Array | None) -> Array:
    """Like ``forward_dynamics_derivatives``, on floats and for any number of samples.

    Args:
        efforts: dtau/dq, dtau/dv and dtau/da, stacked, C-contiguous, shape (3, n, n) or (N, 3, n, n); overwritten.
        system: Solves systems with the robot's mass matrix, scaled by `SCALES`; None if joints share a degree of
            freedom: LAPACK then solves them.
        factors: Factors of the mass matrix, shape (n, 13) or (N, n, 13); None without a system.

    Returns:
        Array of the shape of ``efforts``. For many samples it is ``efforts`` itself: providing a second array of this
        size would take the system longer than the solution.
    """
    identity = _identity(efforts.shape[-1])
    if system is not None and factors is not None:
        efforts[..., 2, :, :] = identity
        if efforts.ndim == 3:
            return system.solution(factors, efforts)
        system.solve(factors, efforts)
        return efforts
    samples = efforts.reshape(-1, *efforts.shape[-3:])
    samples[:, :2] *= -1.0
    right = np.concatenate([*samples[:, :2].swapaxes(0, 1), np.broadcast_to(identity, samples[:, 2].shape)], axis=2)
    samples[:] = np.stack(np.split(np.linalg.solve(samples[:, 2], right), 3, axis=2), axis=1)
    return efforts


@lru_cache(maxsize=4)
def _identity(size: int) -> Array:
    return read_only(np.eye(size))


def wrench_effort_derivative(model: RobotModel, q: Array, wrench: Array, link: str | None = None) -> Array:
    """The derivative of J(q)^T F with respect to q, for a wrench F with constant components in base axes.

    Args:
        model: The robot.
        q: Joint positions, shape (n,) [rad or m].
        wrench: F = (moment, force) about the link's origin, in base axes, shape (6,) [N m, N].
        link: Name of any link of the description; None for the tip link.

    Returns:
        Shape (n, n).

    Raises:
        InputError: No link has that name.
    """
    return derivative_at(lambda position, constant: twist_jacobian(model, position, link).T @ constant, (q, wrench))


def base_acceleration_of(model: RobotModel, q: Array) -> Array:
    """V'_0 of the base, which represents gravity, shape (6,)."""
    return np.concatenate([np.zeros(3), -common_frame(model, q).gravity])


def _mass_of(model: RobotModel, motions: list[JointMotion], kind: DTypeLike) -> Array:
    """M, shape (n, n): S_i^T G S_j if one of joints i and j carries the other, plus the rotors' inertia."""
    joints = model.joints
    matrix = model.rotor_inertia.astype(kind)
    for joint, motion in zip(joints, motions, strict=True):
        wrench = motion.body.inertia.momentum(motion.axis)
        matrix[joint.dof, joint.dof] += motion.axis @ wrench
        ancestor = joint.parent
        while ancestor >= 0:
            coupling, dof = motions[ancestor].axis @ wrench, joints[ancestor].dof
            matrix[dof, joint.dof] += coupling
            matrix[joint.dof, dof] += coupling
            ancestor = joints[ancestor].parent
    return matrix


def _gravity_of(
    model: RobotModel, motions: list[JointMotion], base_acceleration: Array, kind: DTypeLike
) -> Array:
    """g, shape (n,)."""
    effort = np.zeros(model.n, dtype=kind)
    for joint, motion in zip(model.joints, motions, strict=True):
        effort[joint.dof] += motion.axis @ motion.body.inertia.momentum(base_acceleration)
    return effort


class PositionColumns(NamedTuple):
    """Columns for one joint j; the elements of dtau/dq are scalar products of such columns."""

    gain: Array  # E_j, shape (6,)
    inertial: Array  # G S_j, shape (6,)
    moment: Array  # upper half of B^T S_j, shape (3,)
    carried: Array  # G E_j + 2 B D_j, shape (6,)
    turned: Array  # dF/dq_j, which is ``carried`` - ad_{S_j}^T F, shape (6,)


def position_columns(
    model: RobotModel, motions: list[JointMotion], base_acceleration: Array, v: Array, a: Array
) -> list[PositionColumns]:
    """The columns of every joint, in the order of ``model.joints``."""
    accelerations = _accelerations(model, motions, base_acceleration, v, a)
    wrenches = _wrenches(model, motions, accelerations)
    columns: list[PositionColumns] = []
    for index, (joint, motion) in enumerate(zip(model.joints, motions, strict=True)):
        axis, rate, inertia = motion.axis, motion.rate, motion.body.inertia
        at_base = joint.parent < 0
        gain = lie_bracket(base_acceleration if at_base else accelerations[joint.parent], axis)
        gain = gain if at_base else gain + lie_bracket(motions[joint.parent].twist, rate)
        carried = inertia.momentum(gain) + 2.0 * motion.body.times(rate)
        turned = carried - ad_transpose(axis, wrenches[index])
        columns.append(
            PositionColumns(gain, inertia.momentum(axis), motion.body.transposed_times(axis), carried, turned)
        )
    return columns


def _effort_by_position(
    model: RobotModel, motions: list[JointMotion], base_acceleration: Array, v: Array, a: Array, kind: DTypeLike
) -> Array:
    """dtau/dq, shape (n, n)."""
    joints, columns = model.joints, position_columns(model, motions, base_acceleration, v, a)
    result = np.zeros((model.n, model.n), dtype=kind)
    for joint, motion, column in zip(joints, motions, columns, strict=True):
        result[joint.dof, joint.dof] += motion.axis @ column.carried  # S^T ad_S^T F = 0
        ancestor = joint.parent
        while ancestor >= 0:
            other, gain, dof = motions[ancestor], columns[ancestor].gain, joints[ancestor].dof
            result[dof, joint.dof] += other.axis @ column.turned
            result[joint.dof, dof] += gain @ column.inertial + 2.0 * (other.rate[:3] @ column.moment)
            ancestor = joints[ancestor].parent
    return result


def _accelerations(
    model: RobotModel, motions: list[JointMotion], base_acceleration: Array, v: Array, a: Array
) -> list[Array]:
    """V' of every link, gravity included, shape (6,) each."""
    accelerations: list[Array] = []
    for joint, motion in zip(model.joints, motions, strict=True):
        before = base_acceleration if joint.parent < 0 else accelerations[joint.parent]
        accelerations.append(before + motion.rate * v[joint.dof] + motion.axis * a[joint.dof])
    return accelerations


def _wrenches(model: RobotModel, motions: list[JointMotion], accelerations: list[Array]) -> list[Array]:
    """F of every joint, [LynchPark] (9.56), about the frame's origin, shape (6,) each."""
    wrenches = []
    for motion, acceleration in zip(motions, accelerations, strict=True):
        omega, velocity = motion.twist[:3], motion.twist[3:]
        origin = acceleration[3:] + cross(omega, velocity)  # acceleration of the link's point at the frame's origin
        wrenches.append(PointAccelerations.from_motion(omega, acceleration[:3], origin).wrench(motion.link))
    for index in reversed(range(len(wrenches))):
        parent = model.joints[index].parent
        if parent >= 0:
            wrenches[parent] = wrenches[parent] + wrenches[index]
    return wrenches


class Linearization(NamedTuple):
    """The change of the state x = (q, v) with the effort u = tau, near a state and an effort: dx' = A dx + B du.

    The system is continuous in time; ``scipy.signal.cont2discrete`` converts it to a sampled one.

    Attributes:
        A: df/dx, shape (2n, 2n); (N, 2n, 2n) for a batch.
        B: df/du, shape (2n, n); (N, 2n, n) for a batch.
    """

    A: Array
    B: Array

    @classmethod
    def from_derivatives(cls, derivatives: Array) -> Linearization:
        """Build it from the derivatives of forward dynamics: x' = f(x, u) = (v, a(q, v, tau)).

        Args:
            derivatives: da/dq, da/dv and da/dtau, shape (..., 3, n, n).
        """
        n = derivatives.shape[-1]
        leading = derivatives.shape[:-3]
        state, effort = np.zeros((*leading, 2 * n, 2 * n)), np.zeros((*leading, 2 * n, n))
        state[..., :n, n:] = np.eye(n)
        state[..., n:, :n] = derivatives[..., 0, :, :]
        state[..., n:, n:] = derivatives[..., 1, :, :]
        effort[..., n:, :] = derivatives[..., 2, :, :]
        return cls(state, effort)
