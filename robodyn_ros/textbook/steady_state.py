# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Rest position and stability of PD and PID joint control under gravity: [Yamamoto] 6.3 to 6.5.

Gains command efforts: tau = K_p e + K_v e' + K_i (integral of e) with e = q_d - q, as in ``PD`` and ``PID``. The
book's gains command volts; ``Actuators.effort_gain`` converts them. The formulas here are (6.27) and (6.32) with their
brackets multiplied by Gamma^T J_M Gamma. The book neglects M(q) and h(q, v), which is accurate for high gear ratios.
The rest position depends on neither. The poles here include M(q).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize, root

from robodyn_ros.base.checks import as_floats
from robodyn_ros.base.errors import InputError
from robodyn_ros.description.model import Array, RobotModel
from robodyn_ros.textbook.center_of_mass_jacobians import link_jacobian_derivatives
from robodyn_ros.textbook.energy import potential_energy
from robodyn_ros.textbook.lagrange_jacobians import gravity, mass_matrix


class RestPosition(NamedTuple):
    """Position where a robot under PD or PID control stands still.

    Attributes:
        q: Joint positions, shape (n,) [rad or m].
        error: e = q_d - q, shape (n,) [rad or m].
        effort: Effort g(q) of the controller at q, shape (n,) [N m or N].
    """

    q: Array
    error: Array
    effort: Array


def gravity_stiffness(model: RobotModel, q: ArrayLike) -> Array:
    """Matrix C = dg/dq of [Yamamoto] (6.24): -sum of m g^T dJ_P/dq over the links, the derivative of (3.46).

    C is symmetric, because g is the gradient of the potential energy.

    Args:
        model: The robot.
        q: Joint positions, shape (n,) [rad or m].

    Returns:
        Shape (n, n) [N m/rad, N/rad or N m/m; 0 between prismatic joints].

    Raises:
        InputError: q has another shape or is not finite.
    """
    q = _joints(model, q, "q")
    slopes = [
        joint.inertia.mass * np.tensordot(model.gravity, slope.linear, 1)
        for joint, slope in zip(model.joints, link_jacobian_derivatives(model, q), strict=True)
    ]
    return -np.sum(slopes, axis=0)


def steady_state_error(model: RobotModel, q_d: ArrayLike, p: ArrayLike, i: ArrayLike = 0.0) -> Array:
    """Steady-state error e = (K_p + C)^-1 g(q_d) with C = dg/dq at q_d: [Yamamoto] (6.27), (6.33).

    The formula linearises gravity in e; its deviation decreases with the cube of K_p. It deviated by 0.5 % for an
    error of 0.1 rad on arm6, and by 10 % for an error of 0.14 rad on arm7; ``rest_position`` computes the exact error.
    Joints with an integral gain have no steady-state error. The error of the other joints follows from the same
    formula with their rows and columns only.

    Args:
        model: The robot.
        q_d: Desired joint positions, shape (n,) [rad or m].
        p: Diagonal of K_p, shape (n,) or one number for all [N m/rad or N/m].
        i: Diagonal of K_i, 0 for PD, likewise [N m/(rad s) or N/(m s)].

    Returns:
        Shape (n,) [rad or m].

    Raises:
        InputError: An argument has another shape or is not finite; a gain is negative; or K_p is too small to hold the
            robot near q_d against gravity (K_p + C is not positive definite).
    """
    q_d, p, i = _joints(model, q_d, "q_d"), _gains(model, p, "p"), _gains(model, i, "i")
    held = np.flatnonzero(i == 0.0)
    stiffness = (np.diag(p) + gravity_stiffness(model, q_d))[np.ix_(held, held)]
    if len(held) and np.linalg.eigvalsh(stiffness).min() <= 0.0:
        raise InputError(
            f"steady_state_error of '{model.name}': expected K_p stiffer than gravity (K_p + dg/dq positive definite) "
            f"at {q_d.tolist()}, received p = {p.tolist()}; rest_position computes where the robot comes to rest"
        )
    error = np.zeros(model.n)
    error[held] = np.linalg.solve(stiffness, gravity(model, q_d)[held])
    return error


def rest_position(model: RobotModel, q_d: ArrayLike, p: ArrayLike, i: ArrayLike = 0.0) -> RestPosition:
    """Compute the stable rest position under gravity, a solution q of K_p (q_d - q) = g(q).

    The rest position is a minimum of the potential energy of robot and springs, U(q) + e^T K_p e / 2. The function
    descends from q_d to such a minimum, which is stable. It ignores limits of positions and efforts and dry friction;
    compare ``RestPosition.q`` and ``RestPosition.effort`` with the limits.

    Args:
        model: The robot.
        q_d: Desired joint positions, shape (n,) [rad or m].
        p: As for ``steady_state_error``.
        i: As for ``steady_state_error``; joints with an integral gain rest at q_d.

    Returns:
        The rest position.

    Raises:
        InputError: An argument has another shape or is not finite; a gain is negative; a joint has neither p nor i; or
            the search found no rest position.
    """
    q_d, p, i = _joints(model, q_d, "q_d"), _gains(model, p, "p"), _gains(model, i, "i")
    held = np.flatnonzero(i == 0.0)
    if not (p[held] > 0.0).all():
        raise InputError(f"rest_position of '{model.name}': expected p positive for each joint without i, "
                         f"received p = {p.tolist()}, i = {i.tolist()}")

    def position(error: Array) -> Array:
        q = q_d.copy()
        q[held] -= error
        return q

    def energy(error: Array) -> float:
        return float(potential_energy(model, position(error)) + 0.5 * error @ (p[held] * error))

    def slope(error: Array) -> Array:
        return p[held] * error - gravity(model, position(error))[held]

    def curvature(error: Array) -> Array:
        return np.diag(p[held]) + gravity_stiffness(model, position(error))[np.ix_(held, held)]

    error = np.zeros(len(held))
    if len(held):
        scale = np.abs(slope(error)).max()
        error = minimize(energy, error, jac=slope, hess=curvature, method="trust-exact",
                         options={"gtol": 1e-6 * scale + 1e-12}).x
        found = root(slope, error, jac=curvature, options={"xtol": 1e-14})  # refines beyond the energy's resolution
        if not np.abs(found.fun).max() <= 1e-9 * max(scale, 1.0):
            raise InputError(f"rest_position of '{model.name}': no rest position found from q_d = {q_d.tolist()}; the "
                             f"remaining efforts are {found.fun.tolist()}; use a larger p, received {p.tolist()}")
        error = found.x
    q = position(error)
    return RestPosition(q, q_d - q, gravity(model, q))


def closed_loop_poles(
    model: RobotModel,
    q: ArrayLike,
    p: ArrayLike,
    d: ArrayLike,
    i: ArrayLike = 0.0,
    reflected_inertia: ArrayLike = 0.0,
) -> NDArray[np.complex128]:
    """Poles s of the error near a rest position: {s^2 M + s (K_v + D) + K_p + C + K_i / s} e(s) = g / s.

    The braces are those of [Yamamoto] (6.26) and (6.32) multiplied by Gamma^T J_M Gamma, but they keep M(q) and the
    description's damping D. If all real parts are negative, the final value theorem holds, and so do (6.27) and (6.33).

    Args:
        model: The robot.
        q: Joint positions at rest, shape (n,) [rad or m].
        p: Diagonal of K_p, shape (n,) or one number for all [N m/rad or N/m].
        d: Diagonal of K_v, plus the ``damping`` of ``Actuators`` for a robot with motors, shape (n,) or one number for
            all [N m s/rad or N s/m].
        i: Diagonal of K_i, 0 for PD, shape (n,) or one number for all [N m/(rad s) or N/(m s)].
        reflected_inertia: Reflected inertia of the rotors, see ``Actuators.reflected_inertia``, shape (n,) or one
            number for all [kg m^2 or kg].

    Returns:
        Two poles for each joint, and a third one for each joint with an integral gain, shape (2n to 3n,) [1/s].

    Raises:
        InputError: An argument has another shape or is not finite; a gain is negative.
    """
    q = _joints(model, q, "q")
    p, d, i, inertia = (_gains(model, value, name) for name, value in
                        (("p", p), ("d", d), ("i", i), ("reflected_inertia", reflected_inertia)))
    n, integrating = model.n, np.flatnonzero(i)
    inverse = np.linalg.inv(mass_matrix(model, q) + np.diag(inertia))
    system = np.zeros((2 * n + len(integrating), 2 * n + len(integrating)))  # of (e, e', integral of e)
    system[:n, n : 2 * n] = np.eye(n)
    system[n : 2 * n, :n] = -inverse @ (np.diag(p) + gravity_stiffness(model, q))
    system[n : 2 * n, n : 2 * n] = -inverse * (d + model.damping)
    system[n : 2 * n, 2 * n :] = -(inverse * i)[:, integrating]
    system[2 * n :, :n] = np.eye(n)[integrating]
    return np.linalg.eigvals(system).astype(np.complex128)


def error_transform(
    model: RobotModel,
    s: complex,
    q_d: ArrayLike,
    p: ArrayLike,
    d: ArrayLike,
    i: ArrayLike = 0.0,
    reflected_inertia: ArrayLike = 0.0,
) -> NDArray[np.complex128]:
    """Laplace transform e(s) of the error of a robot released at rest at q_d, [Yamamoto] (6.26), (6.32).

    e(s) = {s^2 M + s (K_v + D) + K_p + C + K_i / s}^-1 g(q_d) / s. As in ``closed_loop_poles``, the formula includes
    the terms that the book neglects. It also includes K_i, which is missing in (6.32).

    Args:
        model: The robot.
        s: Complex frequency, neither 0 nor a pole [1/s].
        q_d: Desired joint positions, shape (n,) [rad or m].
        p: As for ``closed_loop_poles``.
        d: As for ``closed_loop_poles``.
        i: As for ``closed_loop_poles``.
        reflected_inertia: As for ``closed_loop_poles``.

    Returns:
        Shape (n,) [rad s or m s].

    Raises:
        InputError: An argument has another shape or is not finite; a gain is negative; s is 0.
    """
    q_d = _joints(model, q_d, "q_d")
    if s == 0.0:
        raise InputError("error_transform: expected s other than 0; s e(s) for s -> 0 is steady_state_error")
    p, d, i, inertia = (_gains(model, value, name) for name, value in
                        (("p", p), ("d", d), ("i", i), ("reflected_inertia", reflected_inertia)))
    diagonal: Any = s**2 * inertia + s * (d + model.damping) + p + i / s
    system = s**2 * mass_matrix(model, q_d) + gravity_stiffness(model, q_d) + np.diag(diagonal)
    return np.linalg.solve(system, gravity(model, q_d) / s).astype(np.complex128)


def _joints(model: RobotModel, value: ArrayLike, name: str) -> Array:
    return as_floats(value, (model.n,), f"{name} of '{model.name}'")


def _gains(model: RobotModel, value: ArrayLike, name: str) -> Array:
    values = np.full(model.n, value) if np.ndim(value) == 0 else value
    array = as_floats(values, (model.n,), f"{name} of '{model.name}'")
    if not (array >= 0.0).all():
        raise InputError(f"{name} of '{model.name}': expected numbers that are not negative, received {array.tolist()}")
    return array
