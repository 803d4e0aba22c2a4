# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""How errors of the robot's model, declared as parameters, widen the margins of the safety filter."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from robodyn_ros.base.errors import InputError
from robodyn_ros.control.default_gains import largest_inertia, sampled_mass_matrices, sampled_positions
from robodyn_ros.description.model import Array
from robodyn_ros.dynamics.regressor import inertial_parameters
from robodyn_ros.robot import Robot

UNLIMITED = 1e6
_MIN_BRAKING, _MAX_BRAKING = 0.1, 20.0  # decelerations [rad/s^2 or m/s^2]
_BRAKING_SHARE = 0.5  # share of the effort left after gravity that a joint may use to brake
_TOGETHER_SHARE = 0.75  # likewise if all joints brake at once, in the worst directions
_TINY = 1e-12


class DeclaredErrors(NamedTuple):
    """Declared differences between the robot and the filter's model.

    Attributes:
        mass: Share of the mass and inertia of each link.
        payload: Greatest point mass at the tip link [kg].
        friction: Unknown friction at full speed, as a share of the effort limits.
    """

    mass: float
    payload: float
    friction: float

    @classmethod
    def from_parameters(cls, complete: Any) -> DeclaredErrors:
        """Return the declared errors of complete parameters."""
        return cls(complete.safety_mass_error, complete.safety_payload, complete.safety_friction_error)


def braking(robot: Robot) -> Array:
    """By half of the effort beside gravity, or less for all joints at once, shape (n,) [rad/s^2 or m/s^2].

    That of a joint at its largest inertia, between 0.1 and 20; in all joints at once, in the worst directions, three
    quarters of the efforts beside gravity.
    """
    _, room = efforts_to_brake(robot, np.zeros(robot.n))
    alone = np.clip(_BRAKING_SHARE * room.min(axis=0) / largest_inertia(robot), _MIN_BRAKING, _MAX_BRAKING)
    needed, room = efforts_to_brake(robot, alone)
    together = (room / np.maximum(needed, _TINY)).min()
    return np.maximum(alone * min(1.0, _TOGETHER_SHARE * together), _MIN_BRAKING)


def finite_effort_limit(robot: Robot) -> Array:
    """Return the effort limits, `UNLIMITED` where there is none, shape (n,) [N m or N]."""
    return np.where(robot.effort_limit > 0.0, np.minimum(robot.effort_limit, UNLIMITED), UNLIMITED)


def efforts_to_brake(robot: Robot, decelerations: Array, errors: DeclaredErrors | None = None
                      ) -> tuple[Array, Array]:
    """Return the efforts needed to brake all joints at once, in the worst directions, and those left after gravity.

    Args:
        robot: The robot.
        decelerations: Of the joints, shape (n,) [rad/s^2 or m/s^2].
        errors: Errors of the model; None: none.

    Returns:
        Each at random positions, shape (64, n) [N m or N]; what is left is negative where gravity exceeds the limit.
    """
    mass = np.abs(sampled_mass_matrices(robot))
    gravity = np.abs(robot.dynamics().batch.gravity(sampled_positions(robot)))
    if errors is not None:
        payload = _payload(robot, errors.payload)
        mass = (1.0 + errors.mass) * mass + np.abs(payload.mass)
        gravity = (1.0 + errors.mass) * gravity + np.abs(payload.gravity)
    return mass @ decelerations, finite_effort_limit(robot) - gravity


class Payload(NamedTuple):
    """Additions of a load at the tip link at `sampled_positions`: to M, shape (64, n, n), and to gravity, (64, n)."""

    mass: Array
    gravity: Array


def _payload(robot: Robot, mass: float) -> Payload:
    jacobians = robot.dynamics().batch.jacobian(sampled_positions(robot))[:, :3]
    return Payload(mass * np.swapaxes(jacobians, 1, 2) @ jacobians, -mass * robot.model.gravity @ jacobians)


def _mass_matrices_of_links(robot: Robot) -> Array:
    """Return the contribution of each link to M at `sampled_positions`, shape (links, 64, n, n)."""
    q, n, regressor = sampled_positions(robot), robot.n, robot.dynamics().batch.regressor
    rest, inertias = np.zeros_like(q), inertial_parameters(robot.model).reshape(-1, 10)
    by_acceleration = np.stack([regressor(q, rest, np.tile(unit, (len(q), 1))) - regressor(q, rest, rest)
                                for unit in np.eye(n)], axis=-1)
    return np.einsum("kilpj,lp->lkij", by_acceleration.reshape(len(q), n, -1, 10, n), inertias)


class ErrorMargins(NamedTuple):
    """How far declared errors carry the robot beyond the model's limits, see `error_margins`.

    Attributes:
        position: Shape (n,) [rad or m].
        velocity: Shape (n,) [rad/s or m/s].
        tip_position: [m].
        tip_speed: [m/s].
    """

    position: Array
    velocity: Array
    tip_position: float
    tip_speed: float


def error_margins(robot: Robot, complete: Any) -> ErrorMargins:
    """Return the margins for declared errors of mass, payload and friction, with the period and delay of the loop.

    The filter lets an acceleration jump by at most 2 k v_max. Links lighter by a share r respond with an excess
    acceleration x = r / (1 - r) sum_l |M^-1 M_l| 2 k v_max, until the observer has learned it after tau = T / s + N T,
    with its share s per tick and the delay of N periods. A payload changes M to M + P. The observer is then slower by
    the ratio of both, and x is half of |(M + P)^-1 P| 2 k v_max in a settling motion, or that of the weight at a start.
    Unmodelled viscous friction D_f acts as T D_f in P; friction below the model's acts as a lighter link by T D_f. The
    speed error is the response of the filter's rate k to x exp(-t / tau), at most x tau (k tau)^(k tau / (1 - k tau));
    the position error is 1 / (e k) of it. Near a limit D_f brakes less and less, and the observer lags behind: that
    adds a D_f tau / (M k^2) to the position.

    Args:
        robot: The robot.
        complete: Parameters of the filter.
    """
    errors, n = DeclaredErrors.from_parameters(complete), robot.n
    if not any(errors):
        return ErrorMargins(np.zeros(n), np.zeros(n), 0.0, 0.0)
    timing, k = robot.timing, complete.safety_rate
    share = 1.0 - np.exp(-complete.safety_observer * timing.period)
    if not share > 0.0:
        raise InputError("safety_observer: expected a rate above 0 with declared errors of the model, received 0")
    tau = timing.period / share + timing.delay * timing.period
    speeds = np.minimum(robot.velocity_limit, UNLIMITED)
    damping = errors.friction * finite_effort_limit(robot) / speeds
    mass = sampled_mass_matrices(robot) + np.diag(timing.period * complete.safety_friction)
    inverses = np.linalg.inv(mass)
    jump = np.minimum(2.0 * k * speeds, np.abs(inverses) @ (2.0 * finite_effort_limit(robot)))[:, :, None]
    lighter = np.abs(inverses * timing.period * np.minimum(damping, complete.safety_friction)) @ jump
    if errors.mass:
        lighter = lighter + errors.mass / (1.0 - errors.mass) * sum(
            np.abs(inverses @ of_link) @ jump for of_link in _mass_matrices_of_links(robot))
    payload = _payload(robot, errors.payload)
    more = payload.mass + np.diag(timing.period * damping)
    loaded, mobility = np.linalg.inv(mass + more), np.diagonal(inverses, axis1=1, axis2=2)
    slower = mobility / np.diagonal(loaded, axis1=1, axis2=2)
    answer = np.maximum(0.5 * np.abs(loaded @ more) @ jump, np.abs(loaded @ payload.gravity[:, :, None]))
    velocity = lighter[:, :, 0] * _peak_response(k, tau) + answer[:, :, 0] * _peak_response(k, tau * slower)
    position = velocity / (np.e * k) + complete.safety_braking * damping * mobility * tau / k**2
    sizes = np.linalg.norm(robot.dynamics().batch.jacobian(sampled_positions(robot))[:, :3], axis=1)
    return ErrorMargins(position.max(axis=0), velocity.max(axis=0), float((sizes * position).sum(axis=1).max()),
                        float((sizes * velocity).sum(axis=1).max()))


def _peak_response(k: float, tau: Any) -> Any:
    """Return the peak of x in x' = -k x + exp(-t / tau), [s]."""
    ratio = np.where(np.abs(k * tau - 1.0) < 1e-6, 1.0 + 1e-6, k * tau)
    return tau * ratio ** (ratio / (1.0 - ratio))
