# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Euler integration of forward dynamics, [LynchPark] 9.5."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.base.checks import as_floats
from robodyn_ros.base.errors import InputError
from robodyn_ros.description.model import Array


class Motion(NamedTuple):
    """Positions and velocities at the times 0, h, 2h, ..., N h.

    Attributes:
        positions: Shape (N + 1, n) [rad or m].
        velocities: Shape (N + 1, n) [rad/s or m/s].
    """

    positions: Array
    velocities: Array


def euler_integration(
    joint_acceleration: Callable[[Array, Array, Array], Array],
    q_start: ArrayLike,
    v_start: ArrayLike,
    efforts: ArrayLike,
    step: float,
) -> Motion:
    """Euler Integration Algorithm for Forward Dynamics, [LynchPark] 9.5: q += h v, v += h a, with a at the old state.

    The error over a given time is proportional to h, and the method adds energy to a freely swinging robot. Use
    ``robodyn_ros.simulation`` for simulation and ``textbook.state_space.runge_kutta`` for accuracy. The book prints
    "for k = 1 to N" but starts at k = 0.

    Args:
        joint_acceleration: GetJointAccel(q, v, tau), such as ``robot.dynamics().forward_dynamics``.
        q_start: Joint positions at the beginning, shape (n,) [rad or m].
        v_start: Joint velocities at the beginning, shape (n,) [rad/s or m/s].
        efforts: Joint efforts at the times 0, h, ..., (N - 1) h, shape (N, n) [N m or N].
        step: h [s].

    Returns:
        The motion.

    Raises:
        InputError: A shape differs, a number is not finite, or the step is not positive.
    """
    q = as_floats(q_start, (None,), "q_start")
    v = as_floats(v_start, q.shape, "v_start")
    efforts = as_floats(efforts, (None, len(q)), "efforts")
    if not 0.0 < step < np.inf:
        raise InputError(f"step: expected a positive time in seconds, received {step}")
    positions, velocities = [q], [v]
    for tau in efforts:
        a = joint_acceleration(q, v, tau)
        q, v = q + step * v, v + step * a
        positions.append(q)
        velocities.append(v)
    return Motion(np.array(positions), np.array(velocities))
