# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Linear-quadratic regulator: the optimal feedback for the robot linearised at one state."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from robodyn_ros.base.checks import MAX_MAGNITUDE
from robodyn_ros.base.errors import InputError
from robodyn_ros.base.timing import DEFAULT_PERIOD
from robodyn_ros.control import default_gains
from robodyn_ros.control.contract.controller import JointReference, Law, State
from robodyn_ros.control.contract.parameters import (
    DAMPING,
    EFFORT,
    POSITION,
    VELOCITY,
    Parameters,
    derived,
    per_joint,
    scalar,
)
from robodyn_ros.control.contract.terms import Terms, model_terms
from robodyn_ros.description.model import Array, read_only
from robodyn_ros.dynamics.robot_dynamics import Dynamics
from robodyn_ros.robot import Robot


def default_effort_weight(robot: Robot) -> Array:
    """The effort of `PD` at an error of 0.1 rad (m), without delay, shape (n,) [N m or N]."""
    return default_gains.SATURATION_ERROR * default_gains.stiffness(robot.with_timing(DEFAULT_PERIOD))


def operating_point(robot: Robot) -> Array:
    """The positions within the limits that are closest to zero, shape (n,) [rad or m]."""
    return np.clip(np.zeros(robot.n), robot.model.position_lower, robot.model.position_upper)


def period_with_delay(robot: Robot) -> float:
    """The control period, times 2 N + 1 for a delay of N periods: efforts held so long act as late, on average."""
    return robot.timing.period * (2 * robot.timing.delay + 1)


def gain_matrix(robot: Robot, parameters: LQRParameters) -> Array:
    """K = (R + B^T P B)^-1 B^T P A, P of the discrete algebraic Riccati equation, shape (n, 2n).

    A, B are those of dx' = A dx + B dtau at q_0 at rest under tau = g(q_0), viscous friction included, for efforts held
    over a period. The weights are Bryson's: Q and R diagonal, each error and effort over its tolerance, squared.

    Args:
        robot: The robot.
        parameters: Complete for the robot.

    Raises:
        InputError: No gain exists for these weights.
    """
    numbers = (parameters.q0, parameters.q_tolerance, parameters.v_tolerance, parameters.effort_tolerance,
               parameters.friction)
    return _gain_matrix(robot, parameters.period, np.stack(numbers).tobytes())


@lru_cache(maxsize=8)
def _gain_matrix(robot: Robot, period: float, numbers: bytes) -> Array:
    """Compute `gain_matrix`; cached, since parameters are completed several times during the set-up of a plugin."""
    from scipy.linalg import LinAlgError, expm, solve_discrete_are  # only this law should wait for SciPy

    n, dynamics, rest = robot.n, robot.dynamics(), np.zeros(robot.n)
    q, q_tolerance, v_tolerance, effort_tolerance, friction = np.frombuffer(numbers).reshape(5, n)
    state, effort = dynamics.linearization(q, rest, dynamics.gravity(q))
    continuous = np.zeros((3 * n, 3 * n))
    continuous[: 2 * n, : 2 * n], continuous[: 2 * n, 2 * n :] = state, effort
    continuous[n : 2 * n, n : 2 * n] -= effort[n:] * friction
    sampled = expm(period * continuous)
    a, b = sampled[: 2 * n, : 2 * n], sampled[: 2 * n, 2 * n :]
    weights = np.diag(np.concatenate([q_tolerance, v_tolerance]) ** -2.0)
    effort_weights = np.diag(effort_tolerance**-2.0)
    try:
        cost = solve_discrete_are(a, b, weights, effort_weights)
    except (LinAlgError, ValueError) as error:
        raise InputError(f"lqr: no gain for these tolerances and this period: {error}; choose tolerances closer to "
                         f"the robot's errors and efforts") from error
    return read_only(np.asarray(np.linalg.solve(effort_weights + b.T @ cost @ b, b.T @ cost @ a)))


@dataclass(frozen=True, eq=False)
class LQRParameters(Parameters):
    """Weights and operating point of `LQR`: each error and effort is divided by its tolerance.

    Attributes:
        q0: Positions at which the robot is linearised, shape (n,) [rad or m].
        q_tolerance: Position error that costs 1, shape (n,) [rad or m].
        v_tolerance: Velocity error that costs 1, shape (n,) [rad/s or m/s].
        effort_tolerance: Effort that costs 1, shape (n,) [N m or N].
        friction: D, viscous friction of the model, shape (n,) [N m s/rad or N s/m].
        period: Control period that the gain is for [s].
        gain: K = [K_q, K_v], shape (n, 2n).
    """

    q0: Array = per_joint(
        operating_point, unit=POSITION, minimum=-1e4, maximum=1e4,
        description="Position at which the robot is linearised",
    )
    q_tolerance: Array = per_joint(
        0.1, unit=POSITION, minimum=1e-4, maximum=1e4, description="Position error that costs 1"
    )
    v_tolerance: Array = per_joint(
        3.0, unit=VELOCITY, minimum=1e-4, maximum=1e4, description="Velocity error that costs 1"
    )
    effort_tolerance: Array = per_joint(
        default_effort_weight, unit=EFFORT, minimum=1e-6, maximum=MAX_MAGNITUDE, description="Effort that costs 1"
    )
    friction: Array = per_joint(
        default_gains.viscous_friction, unit=DAMPING, minimum=0.0, description="Viscous friction of the model, D"
    )
    period: float = scalar(
        period_with_delay, unit="s", minimum=1e-5, maximum=10.0,
        description="Control period that the gain is for"
    )
    gain: Array = derived(gain_matrix)


class LQR(Law[LQRParameters, JointReference, None]):
    """tau = tau_d + K_q (q_d - q) + K_v (v_d - v), tau_d = M(q_d) a_d + h(q_d, v_d) + g(q_d) + D v_d.

    At rest in q_0 the feedback minimises the sum over all ticks of x^T Q x + u^T R u for the linearised, sampled robot,
    x and u being the differences from state and effort of the reference (see `gain_matrix`). The gain couples the
    joints, and is stable near q_0 by construction. It is also used elsewhere, without that guarantee. Built from the
    linearisation of [LynchPark] (9.89) by ``dynamics.linearization``.
    """

    @staticmethod
    def law(
        dynamics: Dynamics, parameters: LQRParameters, state: State, reference: JointReference
    ) -> Terms:
        """As in `Law`; uses no memory."""
        error = np.concatenate([reference.q - state.q, reference.v - state.v])
        feedforward = model_terms(dynamics, *reference, lambda: {"inertia": reference.a})
        return feedforward + Terms(friction=parameters.friction * reference.v) + Terms(feedback=parameters.gain @ error)
