# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Forward dynamics as a first-order differential equation, and its solution ([Yamamoto] chapter 5).

The following code computes a motion step by step::

    f = compile_function(partial(state_derivative, model), {"x": (2 * n,), "tau": (n,)})
    states = runge_kutta(lambda time, x: f(x, effort(time)), x_start, times)

The derivative is a function of time and state, as SciPy's ``solve_ivp`` takes it; use ``solve_ivp`` to meet a given
tolerance. Static friction and joint stops make the derivative discontinuous; use ``robodyn_ros.simulation`` for them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robodyn_ros.base.checks import as_array, as_floats
from robodyn_ros.base.errors import InputError, SimulationError
from robodyn_ros.description.model import Array, RobotModel
from robodyn_ros.textbook.newton_euler import forward_dynamics

Derivative = Callable[[Any, NDArray[Any]], NDArray[Any]]
"""f(time, x) = dx/dt, of the shape of x."""


def state_derivative(model: RobotModel, x: Array, tau: Array) -> Array:
    """State derivative x' = f(x, tau) = (v, M^-1 (tau - h - g)) for x = (q, v). [Yamamoto] (5.2) to (5.4).

    (5.3) prints the opposite sign; (5.2) has the correct sign.

    Args:
        model: The robot.
        x: State (q, v), shape (2n,) [rad or m, rad/s or m/s].
        tau: Joint efforts, shape (n,) [N m or N].

    Returns:
        (v, a), shape (2n,).

    Raises:
        InputError: An array has another shape; or a joint moves no inertia.
    """
    x, tau = as_array(x, (2 * model.n,), "x"), as_array(tau, (model.n,), "tau")
    q, v = x[: model.n], x[model.n :]
    return np.concatenate([v, forward_dynamics(model, q, v, tau)])


def runge_kutta_step(derivative: Derivative, time: Any, x: NDArray[Any], step: Any) -> NDArray[Any]:
    """Compute one step of the classical Runge-Kutta method of order 4, [HairerLubichWanner] II.1.

    [Yamamoto] names the method after (5.4).

    Args:
        derivative: f(time, x).
        time: Time at the beginning of the step [s].
        x: State at the beginning of the step.
        step: h [s].

    Returns:
        The state at ``time + step``, with an error proportional to h^5.
    """
    k1 = derivative(time, x)
    k2 = derivative(time + 0.5 * step, x + 0.5 * step * k1)
    k3 = derivative(time + 0.5 * step, x + 0.5 * step * k2)
    k4 = derivative(time + step, x + step * k3)
    return x + step / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)


def runge_kutta(derivative: Derivative, x_start: ArrayLike, times: ArrayLike) -> NDArray[np.float64]:
    """Solve x' = f(time, x) at given times with one ``runge_kutta_step`` from each time to the next.

    With f of [Yamamoto] (5.4) the solution is the robot's motion.

    Args:
        derivative: f(time, x).
        x_start: The state at the first time, shape (m,).
        times: Ascending or descending times, shape (N,) [s]; their spacing determines the accuracy.

    Returns:
        The states, shape (N, m).

    Raises:
        InputError: The state or the times have the wrong shape, or the times neither ascend nor descend throughout.
        SimulationError: The solution is no longer finite.
    """
    x = as_floats(x_start, (None,), "x_start")
    times = as_floats(times, (None,), "times")
    steps = np.diff(times)
    if len(times) == 0 or not ((steps > 0.0).all() or (steps < 0.0).all()):
        raise InputError(f"times: expected one or more that ascend or descend throughout, received {times.tolist()}")
    states = np.empty((len(times), len(x)))
    states[0] = x
    for index, step in enumerate(steps):
        x = runge_kutta_step(derivative, times[index], x, step)
        if not np.isfinite(x).all():
            raise SimulationError(
                f"the solution diverged between {times[index]:g} s and {times[index + 1]:g} s: expected finite "
                f"numbers, received {x.tolist()} from {states[index].tolist()}; use smaller steps (now {step:g} s)"
            )
        states[index + 1] = x
    return states


class Motion(NamedTuple):
    """Positions and velocities at the times 0, h, 2h, ..., N h."""

    positions: Array  # shape (N + 1, n) [rad or m]
    velocities: Array  # shape (N + 1, n) [rad/s or m/s]


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
