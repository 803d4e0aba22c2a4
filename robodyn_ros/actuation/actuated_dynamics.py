# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The robot with its motors and gears: from motor voltage to motion, [Yamamoto] (6.16), (6.17).

D is the viscous friction of the description. As in the book, there is no Coulomb friction; ``robodyn_ros.simulation``
has it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robodyn_ros.actuation.actuators import Actuators
from robodyn_ros.base.checks import as_array
from robodyn_ros.base.errors import InputError
from robodyn_ros.description.model import Array, RobotModel
from robodyn_ros.dynamics import mass_matrix as composite
from robodyn_ros.dynamics import second_moment_newton_euler
from robodyn_ros.dynamics.factorization import solve_mass


def mass_matrix(model: RobotModel, actuators: Actuators, q: Array) -> Array:
    """M'(q) = M(q) + Gamma^T J_M Gamma, (6.17).

    Args:
        model: The robot.
        actuators: Its motors and gears.
        q: Joint positions, shape (n,) [rad or m].

    Returns:
        Shape (n, n) [kg m^2, kg m or kg].

    Raises:
        InputError: There is not one actuator for each joint.
    """
    _check(model, actuators)
    return composite.mass_matrix(model, q) + actuators.gear.joint_matrix(actuators.reflected_inertia)


def damping(model: RobotModel, actuators: Actuators) -> Array:
    """The diagonal of D' = D + Gamma^T K_M R_M^-1 K_e Gamma, (6.17), shape (n,) [N m s/rad or N s/m].

    Args:
        model: The robot.
        actuators: Its motors and gears.

    Raises:
        InputError: There is not one actuator for each joint, or motors drive several joints together.
    """
    _check(model, actuators)
    actuators.check_uncoupled("a diagonal D'")
    return model.damping + actuators.damping


def forward_dynamics(model: RobotModel, actuators: Actuators, q: Array, v: Array, voltage: Array) -> Array:
    """The acceleration a of M'(q) a + h(q, v) + g(q) + D' v = K v_M, (6.17).

    Args:
        model: The robot.
        actuators: Its motors and gears.
        q: Joint positions, shape (n,) [rad or m].
        v: Joint velocities, shape (n,) [rad/s or m/s].
        voltage: v_M, shape (n,) [V].

    Returns:
        Shape (n,) [rad/s^2 or m/s^2].

    Raises:
        InputError: There is not one actuator for each joint; or a joint moves no inertia.
    """
    _check(model, actuators)
    effort = actuators.joint_effort(voltage, v, np.zeros(model.n)) - model.damping * v
    return solve_mass(mass_matrix(model, actuators, q), effort - second_moment_newton_euler.bias(model, q, v))


def inverse_dynamics(model: RobotModel, actuators: Actuators, q: Array, v: Array, a: Array) -> Array:
    """Return the voltages v_M of a motion: (6.17) solved for them.

    Args:
        model: The robot.
        actuators: Its motors and gears.
        q: Joint positions, shape (n,) [rad or m].
        v: Joint velocities, shape (n,) [rad/s or m/s].
        a: Joint accelerations, shape (n,) [rad/s^2 or m/s^2].

    Returns:
        Shape (n,) [V].

    Raises:
        InputError: There is not one actuator for each joint.
    """
    _check(model, actuators)
    effort = second_moment_newton_euler.inverse_dynamics(model, q, v, a) + model.damping * v
    return actuators.voltage(effort, v, a)


def state_derivative(model: RobotModel, actuators: Actuators, x: ArrayLike, voltage: ArrayLike) -> NDArray[Any]:
    """f of x' = f(x, v_M) with inductance, which makes the currents states: x = (q, v, i_M).

        M'(q) a = Gamma^T K_M i_M - h - g - D v,    L_M di_M/dt = v_M - R_M i_M - K_e Gamma v

    (6.1), (6.3), (6.4), (6.10) and (6.16), without the step from (6.1) to (6.2).

    Args:
        model: The robot.
        actuators: Its motors and gears.
        x: Joint positions, velocities and motor currents, shape (3n,) [rad or m, rad/s or m/s, A].
        voltage: v_M, shape (n,) [V].

    Returns:
        Shape (3n,).

    Raises:
        InputError: There is not one actuator for each joint; an array has a wrong shape; a motor has no inductance; or
            a joint moves no inertia.
    """
    q, v, current = np.split(as_array(x, (3 * model.n,), "x"), 3)
    mass = mass_matrix(model, actuators, q)
    effort = actuators.gear.joint_effort(actuators.motor.torque(current)) - model.damping * v
    a = solve_mass(mass, effort - second_moment_newton_euler.bias(model, q, v))
    current_rate = actuators.motor.current_rate(current, voltage, actuators.gear.motor_motion(v))
    return np.concatenate([v, a, current_rate])


def _check(model: RobotModel, actuators: Actuators) -> None:
    if actuators.n != model.n:
        raise InputError(f"robot '{model.name}': expected {model.n} actuators, one for each joint, "
                         f"received {actuators.n}")
