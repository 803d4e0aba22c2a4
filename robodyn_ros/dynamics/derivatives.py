"""Exact derivatives of inverse and forward dynamics."""

from __future__ import annotations

import numpy as np

from robodyn_ros.compile import derivative_at
from robodyn_ros.description.model import Array, RobotModel
from robodyn_ros.dynamics.coriolis import JointMotion, joint_motions
from robodyn_ros.dynamics.factorization import solve_mass
from robodyn_ros.kinematics.arguments import checks_joint_arrays
from robodyn_ros.kinematics.forward import path_to
from robodyn_ros.kinematics.jacobian import geometric_jacobian
from robodyn_ros.kinematics.twists import ad_transpose, lie_bracket


@checks_joint_arrays
def inverse_dynamics_derivatives(model: RobotModel, q: Array, v: Array, a: Array) -> Array:
    """Derivatives of tau(q, v, a) with respect to q, v and a, in O(n depth): [SinghRussellWensing].

    Turning joint j turns all that it carries, with it the wrenches there, and no joint behind it feels that. But the
    motion of the link before it does not turn along. Seen from what is carried, that link therefore gains the velocity
    D_j = [V, S_j] and the acceleration E_j = [V', S_j] + [V, D_j], V and V' being its own. Summed over what joint j
    carries, all in base axes, the wrench thus changes by

        dF/dq_j = -ad_{S_j}^T F + G E_j + 2 B D_j,    dF/dv_j = 2 (G S_j' + B S_j),    dF/da_j = G S_j

    with G, B and S_j' as in ``coriolis_matrix``; dtau/dv = 2 C and dtau/da = M.

    Args:
        model: The robot.
        q: Joint positions, shape (n,) [rad or m].
        v: Joint velocities, shape (n,) [rad/s or m/s].
        a: Joint accelerations, shape (n,) [rad/s^2 or m/s^2].

    Returns:
        dtau/dq, dtau/dv and dtau/da, stacked, shape (3, n, n); element [., i, j] is that of tau_i.

    Raises:
        InputError: An array has another shape.
    """
    joints, motions = model.joints, joint_motions(model, q, v)
    base_acceleration = np.concatenate([np.zeros(3), -model.gravity])
    accelerations = _accelerations(model, motions, v, a, base_acceleration)
    wrenches = _wrenches(model, motions, accelerations)
    result = np.zeros((3, model.n, model.n), dtype=np.result_type(q, v, a, float))
    by_position, by_velocity, by_acceleration = result
    velocity_gains: list[Array] = []  # D
    acceleration_gains: list[Array] = []  # E
    for index, (joint, motion) in enumerate(zip(joints, motions, strict=True)):
        axis, inertia = motion.axis, motion.body.inertia
        at_base = joint.parent < 0
        before = np.zeros(6) if at_base else motions[joint.parent].twist
        velocity_gain = lie_bracket(before, axis)
        acceleration_gain = lie_bracket(base_acceleration if at_base else accelerations[joint.parent], axis)
        acceleration_gain = acceleration_gain + lie_bracket(before, velocity_gain)
        velocity_gains.append(velocity_gain)
        acceleration_gains.append(acceleration_gain)

        inertial = inertia.momentum(axis)  # G S
        coriolis = inertia.momentum(motion.rate) + motion.body.times(axis)  # G S' + B S
        moment = motion.body.transposed_times(axis)  # B^T S
        carried = inertia.momentum(acceleration_gain) + 2.0 * motion.body.times(velocity_gain)
        turned = carried - ad_transpose(axis, wrenches[index])
        by_position[joint.dof, joint.dof] += axis @ carried  # S^T ad_S^T F = 0
        by_velocity[joint.dof, joint.dof] += 2.0 * (axis @ coriolis)
        by_acceleration[joint.dof, joint.dof] += axis @ inertial
        ancestor = joint.parent
        while ancestor >= 0:
            other, dof = motions[ancestor], joints[ancestor].dof
            by_position[dof, joint.dof] += other.axis @ turned
            by_position[joint.dof, dof] += acceleration_gains[ancestor] @ inertial
            by_position[joint.dof, dof] += 2.0 * (velocity_gains[ancestor][:3] @ moment)
            by_velocity[dof, joint.dof] += 2.0 * (other.axis @ coriolis)
            by_velocity[joint.dof, dof] += 2.0 * (other.rate @ inertial + other.axis[:3] @ moment)
            coupling = other.axis @ inertial
            by_acceleration[dof, joint.dof] += coupling
            by_acceleration[joint.dof, dof] += coupling
            ancestor = joints[ancestor].parent
    return result


def forward_dynamics_derivatives(by_position: Array, by_velocity: Array, mass_matrix: Array) -> Array:
    """Derivatives of the acceleration a(q, v, tau), from those of inverse dynamics at that acceleration.

    tau(q, v, a(q, v, tau)) = tau, so that da/dq = -M^-1 dtau/dq, da/dv = -M^-1 dtau/dv and da/dtau = M^-1.

    Args:
        by_position: dtau/dq, shape (n, n); with external wrenches, what they cause taken from tau.
        by_velocity: dtau/dv, shape (n, n).
        mass_matrix: dtau/da = M, shape (n, n).

    Returns:
        da/dq, da/dv and da/dtau, stacked, shape (3, n, n).

    Raises:
        InputError: A joint moves no inertia.
    """
    n = len(mass_matrix)
    solution = solve_mass(mass_matrix, np.concatenate([-by_position, -by_velocity, np.eye(n)], axis=1))
    return np.array([solution[:, :n], solution[:, n : 2 * n], solution[:, 2 * n :]])


LONGEST_SOLUTION = 100_000
"""Operations above which the solution for forward dynamics' derivatives is left to LAPACK: compiled, a chain of 40
joints would take four times as many and half a minute to compile, and run no faster."""


def solution_is_short(model: RobotModel) -> bool:
    """Whether ``forward_dynamics_derivatives`` is worth compiling for this robot.

    Each of 3 n columns takes a product and a sum for each entry of L, twice; L has one for each joint and each of those
    before it.
    """
    entries = sum(len(path_to(model, index)) - 1 for index in range(len(model.joints)))
    return 3 * model.n * 4 * entries < LONGEST_SOLUTION


def forward_dynamics_derivatives_by_lapack(efforts: Array) -> Array:
    """As ``forward_dynamics_derivatives``, on floats and for any number of samples.

    Args:
        efforts: dtau/dq, dtau/dv and dtau/da, stacked, shape (..., 3, n, n).

    Returns:
        Shape (..., 3, n, n).
    """
    by_position, by_velocity, mass_matrix = np.moveaxis(efforts, -3, 0)
    inverse = np.linalg.inv(mass_matrix)
    return np.stack([-inverse @ by_position, -inverse @ by_velocity, inverse], axis=-3)


def wrench_effort_derivative(model: RobotModel, q: Array, wrench: Array, link: str | None = None) -> Array:
    """The derivative of J(q)^T F with respect to q, for a wrench F that stays what it is in base axes.

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
    return derivative_at(lambda position, constant: geometric_jacobian(model, position, link).T @ constant, (q, wrench))


def _accelerations(
    model: RobotModel, motions: list[JointMotion], v: Array, a: Array, base_acceleration: Array
) -> list[Array]:
    """V' of every link in base axes, with that of the base, shape (6,) each."""
    accelerations: list[Array] = []
    for joint, motion in zip(model.joints, motions, strict=True):
        before = base_acceleration if joint.parent < 0 else accelerations[joint.parent]
        accelerations.append(before + motion.rate * v[joint.dof] + motion.axis * a[joint.dof])
    return accelerations


def _wrenches(model: RobotModel, motions: list[JointMotion], accelerations: list[Array]) -> list[Array]:
    """F of every joint, [LynchPark] (9.56), in base axes about the base's origin, shape (6,) each."""
    wrenches = [
        motion.link.momentum(acceleration) - ad_transpose(motion.twist, motion.link.momentum(motion.twist))
        for motion, acceleration in zip(motions, accelerations, strict=True)
    ]
    for index in reversed(range(len(wrenches))):
        parent = model.joints[index].parent
        if parent >= 0:
            wrenches[parent] = wrenches[parent] + wrenches[index]
    return wrenches
