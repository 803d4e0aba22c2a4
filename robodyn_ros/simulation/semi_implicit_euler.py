"""One step of the robot by the semi-implicit Euler method, as a function that can be compiled."""

from __future__ import annotations

import numpy as np

from robodyn_ros.description.model import Array, RobotModel
from robodyn_ros.dynamics.composite import mass_matrix
from robodyn_ros.dynamics.factorization import solve_mass
from robodyn_ros.dynamics.newton_euler import bias


def state_step(model: RobotModel, step: float, q: Array, v: Array, tau: Array, damping: Array,
               constraints: Array) -> Array:
    """The state after one step, and the impulses that the joints get from friction and stops meanwhile.

    With the step h and the damping D, semi-implicit in v and implicit in the damping (stable for any D),

        (M(q) + h D) v' = M(q) v + h (tau - b(q, v)) + impulse,    q' = q + h v',

    where each joint has either its impulse given or its velocity v'. A method of order 1: over a given time the energy
    of a robot that swings freely is wrong by an error proportional to h. For constant M and no damping it is the
    symplectic Euler method [HairerLubichWanner], whose energy error does not grow with time.

    Args:
        model: The robot.
        step: h [s].
        q: Joint positions, shape (n,) [rad or m].
        v: Joint velocities, shape (n,) [rad/s or m/s].
        tau: Joint efforts, those of external wrenches included, shape (n,) [N m or N].
        damping: Diagonal of D, shape (n,) [N m s/rad or N s/m].
        constraints: For each joint 1 if its impulse is given, 0 if its velocity is; the velocity v' given; the impulse
            given; shape (3, n) [-, rad/s or m/s, N m s or N s].

    Returns:
        Positions q', velocities v' and impulses, shape (3, n).
    """
    free, velocity, impulse = constraints
    inertia = mass_matrix(model, q)
    momentum = inertia @ v + step * (tau - bias(model, q, v))
    damped = inertia + np.diag(step * damping)
    given = (1.0 - free) * velocity
    right = free * (momentum + impulse - damped @ given) + given
    next_velocity = solve_mass(damped * np.outer(free, free) + np.diag(1.0 - free), right)
    return np.stack([q + step * next_velocity, next_velocity, damped @ next_velocity - momentum])
