"""The Lyapunov function of PD control with gravity compensation, [Yamamoto] 6.6, and as (H.2) and (H.3) ask.

Functions of one state, or of many with the batch form of the kinetic energy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robodyn_ros.errors import InputError


def lyapunov_function(
    kinetic_energy: Callable[[ArrayLike, ArrayLike], Any],
    q: ArrayLike,
    v: ArrayLike,
    q_d: ArrayLike,
    p: ArrayLike,
    reflected_inertia: ArrayLike = 0.0,
) -> NDArray[np.float64]:
    """V = {v^T (M(q) + Gamma^T J_M Gamma) v + (q - q_d)^T K_p (q - q_d)} / 2, [Yamamoto] (6.36).

    The kinetic energy of robot and rotors and that of springs as stiff as K_p: 0 at rest at q_d, positive everywhere
    else. Under ``PDGravity``, q_d being constant, it never rises.

    Args:
        kinetic_energy: Function of q and v, such as ``robot.dynamics().kinetic_energy`` or its batch form [J].
        q: Joint positions, shape (..., n) [rad or m].
        v: Joint velocities, shape (..., n) [rad/s or m/s].
        q_d: Desired joint positions, shape (n,) [rad or m].
        p: Diagonal of K_p, in efforts (the book's Gamma^T K_M R_M^-1 K_p, see ``Actuators.effort_gain``), shape (n,)
            [N m/rad or N/m].
        reflected_inertia: Diagonal of Gamma^T J_M Gamma, shape (n,), or one number for all [kg m^2 or kg].

    Returns:
        A number, or one for each state, shape (...) [J].

    Raises:
        InputError: An array has another shape or holds no numbers; or a gain is negative.
    """
    q, v, q_d = (np.asarray(array, dtype=np.float64) for array in (q, v, q_d))
    p, rotors = _not_negative("p", p), _not_negative("reflected_inertia", reflected_inertia)
    kinetic = kinetic_energy(q, v)
    n = q.shape[-1]
    for name, array, shapes in (("q_d", q_d, [(n,)]), ("p", p, [(n,)]), ("reflected_inertia", rotors, [(n,), ()])):
        if array.shape not in shapes:
            raise InputError(f"lyapunov_function: {name}: expected shape ({n},), received {array.shape}")
    energy: NDArray[np.float64] = kinetic + 0.5 * np.sum(rotors * v**2 + p * (q - q_d) ** 2, axis=-1)
    return energy


def lyapunov_rate(v: ArrayLike, d: ArrayLike) -> Any:
    """dV/dt = -v^T K_v v along the motions, [Yamamoto] (6.39), where the sign is missing.

    Negative unless the robot stands still, be it at q_d or not: this alone shows stability. That the robot does come to
    rest at q_d, and nowhere else, follows from LaSalle's invariance principle: a motion that stays at v = 0 has a = 0,
    and (6.35) leaves K_p (q - q_d) = 0.

    Args:
        v: Joint velocities, shape (..., n) [rad/s or m/s].
        d: Diagonal of all that damps: K_v in efforts, the ``damping`` of ``Actuators``, and D, which the book leaves
            out "for simplicity"; shape (n,) [N m s/rad or N s/m].

    Returns:
        A number, or one for each state, shape (...) [W].

    Raises:
        InputError: The shapes do not fit; or a value of d is negative or not finite.
    """
    v, d = np.asarray(v, dtype=np.float64), _not_negative("d", d)
    if d.shape != v.shape[-1:]:
        raise InputError(f"lyapunov_rate: d: expected shape {v.shape[-1:]}, received {d.shape}")
    return -np.sum(d * v**2, axis=-1)


def _not_negative(name: str, value: ArrayLike) -> NDArray[np.float64]:
    array = np.asarray(value, dtype=np.float64)
    if not (np.isfinite(array) & (array >= 0.0)).all():
        raise InputError(f"{name}: expected finite numbers that are not negative, received {array.tolist()}")
    return array
