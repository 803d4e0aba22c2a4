# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Lyapunov function of PD control with gravity compensation: [Yamamoto] 6.6 and conditions (H.2), (H.3).

The functions take one state, or several states if ``kinetic_energy`` takes several.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robodyn_ros.base.errors import InputError


def lyapunov_function(
    kinetic_energy: Callable[[ArrayLike, ArrayLike], Any],
    q: ArrayLike,
    v: ArrayLike,
    q_d: ArrayLike,
    p: ArrayLike,
    reflected_inertia: ArrayLike = 0.0,
) -> NDArray[np.float64]:
    """Lyapunov function {v^T (M(q) + Gamma^T J_M Gamma) v + (q - q_d)^T K_p (q - q_d)} / 2, [Yamamoto] (6.36).

    It is the sum of the kinetic energy of robot and rotors and the potential energy of springs of stiffness K_p. It is
    0 at rest at q_d. If all gains are positive, it is positive in every other state. Under ``PDGravity`` with a
    constant q_d it never increases.

    Args:
        kinetic_energy: Function of q and v, such as ``robot.dynamics().kinetic_energy`` or its batch form [J].
        q: Joint positions, shape (..., n) [rad or m].
        v: Joint velocities, shape (..., n) [rad/s or m/s].
        q_d: Desired joint positions, shape (n,) [rad or m].
        p: Diagonal of K_p for efforts, shape (n,) [N m/rad or N/m]. The book writes Gamma^T K_M R_M^-1 K_p, see
            ``Actuators.effort_gain``.
        reflected_inertia: Diagonal of Gamma^T J_M Gamma, shape (n,), or one number for all joints [kg m^2 or kg].

    Returns:
        The value for each state, shape (...) [J].

    Raises:
        InputError: q_d, p or reflected_inertia has another shape; or a gain or an inertia is negative or not finite.
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
    """Time derivative dV/dt = -v^T K_v v along the motions, [Yamamoto] (6.39), which lacks the sign.

    With positive d it is negative unless the robot stands still, at q_d or elsewhere. This proves stability, not
    convergence. LaSalle's invariance principle proves that the robot comes to rest at q_d only: a motion that stays at
    v = 0 has a = 0, and (6.35) leaves K_p (q - q_d) = 0.

    Args:
        v: Joint velocities, shape (..., n) [rad/s or m/s].
        d: Diagonal of the total damping, shape (n,) [N m s/rad or N s/m]: K_v for efforts, the ``damping`` of
            ``Actuators``, and D, which the book leaves out "for simplicity".

    Returns:
        The value for each state, shape (...) [W].

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
