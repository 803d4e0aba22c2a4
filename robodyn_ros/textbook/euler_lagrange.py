# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Lagrange's equation for any system, with exact derivatives of its Lagrangian."""

from __future__ import annotations

from collections.abc import Callable

from robodyn_ros.compile import derivative_at
from robodyn_ros.description.model import Array


def euler_lagrange_force(lagrangian: Callable[[Array, Array], Array], q: Array, v: Array, a: Array) -> Array:
    """Generalised force f = d/dt dL/dv - dL/dq, [LynchPark] (9.3), (9.8), (9.11).

    The L of (9.5) gives the force (9.6) on a particle; the L of (9.7) gives the worked example of 9.1.1.

    The chain rule yields the time derivative: d/dt dL/dv = (d^2L/dv dv) a + (d^2L/dv dq) v. With L = K - P of a
    robot, f equals inverse dynamics, (9.9)-(9.12), at a higher cost; the function needs nothing but L.

    Args:
        lagrangian: Function L(q, v) that returns a number [J] and can be traced.
        q: Generalised coordinates, shape (n,).
        v: Their velocities, shape (n,).
        a: Their accelerations, shape (n,).

    Returns:
        Shape (n,).

    Raises:
        CompileError: The Lagrangian cannot be traced.
    """

    def momentum(position: Array, velocity: Array) -> Array:
        return derivative_at(lagrangian, (position, velocity), wrt=1)

    inertial = derivative_at(momentum, (q, v), wrt=1) @ a + derivative_at(momentum, (q, v), wrt=0) @ v
    return inertial - derivative_at(lagrangian, (q, v), wrt=0)
