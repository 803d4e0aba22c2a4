"""Lagrange's equation as it stands: the derivatives of a Lagrangian, exact, for any system."""

from __future__ import annotations

from collections.abc import Callable

from robodyn_ros.compile import derivative_at
from robodyn_ros.description.model import Array


def euler_lagrange_force(lagrangian: Callable[[Array, Array], Array], q: Array, v: Array, a: Array) -> Array:
    """The generalised force f = d/dt dL/dv - dL/dq, [LynchPark] (9.3), (9.8), (9.11).

    Of a particle with the L of (9.5) it is (9.6); with that of (9.7) the worked example of 9.1.1.

    The time derivative by the chain rule: d/dt dL/dv = (d^2L/dv dv) a + (d^2L/dv dq) v. With L = K - P of a robot, f is
    what inverse dynamics gives, (9.9)-(9.12), after more work: here L alone says what moves.

    Args:
        lagrangian: L(q, v), a number [J]; it can be traced.
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
