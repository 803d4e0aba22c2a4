# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Adaptive control: estimates the robot's inertial parameters while it moves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from robodyn_ros.control import default_gains
from robodyn_ros.control.contract.controller import JointReference, Law, State
from robodyn_ros.control.contract.parameters import DAMPING, Parameters, derived, per_joint, scalar
from robodyn_ros.control.contract.terms import Terms
from robodyn_ros.description.model import Array
from robodyn_ros.dynamics.regressor import PARAMETERS, inertial_parameters
from robodyn_ros.dynamics.robot_dynamics import Dynamics
from robodyn_ros.dynamics.spatial_inertia import SpatialInertia
from robodyn_ros.robot import Robot

FRICTION_SHARE = 0.1
"""Least scale of viscous friction, as a share of the damping of `PD`."""


def parameter_names(robot: Robot) -> tuple[str, ...]:
    """Return names of the estimates: ``<link>.<parameter>`` as in `regressor.PARAMETERS`, ``<joint>.friction``."""
    inertial = [f"{joint.link}.{parameter}" for joint in robot.model.joints for parameter in PARAMETERS]
    return (*inertial, *(f"{joint}.friction" for joint in robot.joint_names))


def nominal_parameters(robot: Robot) -> Array:
    """Return the description's parameters, in the order of `parameter_names`, shape (10 links + n,)."""
    return np.concatenate([inertial_parameters(robot.model), robot.model.damping])


def parameter_scales(robot: Robot) -> Array:
    """Typical magnitude of each parameter, shape (10 links + n,).

    For a link of mass m and r^2 = (sum of m r^2) / m about its frame's origin: m, m r for first moments, m r^2 for the
    rotational inertia. They bound the absolute values of the link's own parameters.
    """
    scales = []
    for joint in robot.model.joints:
        body = SpatialInertia.from_inertia(joint.inertia)
        second = float(np.trace(body.second))
        scales.append([body.mass, *3 * [np.sqrt(body.mass * second)], *6 * [second]])
    friction = np.maximum(robot.model.damping, FRICTION_SHARE * default_gains.damping(robot))
    return np.concatenate([*scales, friction])


@dataclass(frozen=True, eq=False)
class AdaptiveParameters(Parameters):
    """Gains of `Adaptive`.

    Attributes:
        rate: Lambda, shape (n,) [1/s].
        d: K_D, shape (n,) [N m s/rad or N s/m].
        adaptation: Gamma over the squares of `scale` [1/J].
        bound: Greatest distance of the estimates from the description's values, in units of `scale`.
        lead: See `default_gains.model_lead` [s].
        nominal: The description's parameters, shape (10 links + n,).
        scale: See `parameter_scales`, shape (10 links + n,).
        rotors: Known inertia of the rotors, shape (n,), or (n, n) for coupled motors [kg m^2 or kg].
    """

    rate: Array = per_joint(
        lambda robot: default_gains.stiffness(robot) / default_gains.damping(robot), unit="1/s", minimum=0.0,
        description="Rate at which errors decay on the sliding surface, Lambda",
    )
    d: Array = per_joint(
        default_gains.damping, unit=DAMPING, minimum=0.0, description="Effort per distance from the surface, K_D"
    )
    adaptation: float = scalar(
        1.0, unit="1/J", minimum=0.0, description="How fast estimates change; 0: not at all"
    )
    bound: float = scalar(
        1.0, minimum=0.0, description="How far estimates may go from the description's, over the parameter's scale"
    )
    lead: float = default_gains.model_lead(default_gains.joint_gains)
    nominal: Array = derived(lambda robot, _: nominal_parameters(robot), of_inertias=True)
    scale: Array = derived(lambda robot, _: parameter_scales(robot))
    rotors: Array = derived(lambda robot, _: robot.model.armature if robot.model.coupling is None else
                            robot.model.rotor_inertia)


class Estimate(NamedTuple):
    """Memory of `Adaptive`.

    Attributes:
        pi: Inertial parameters of the links and viscous friction of the joints, named by `parameter_names`,
            shape (10 links + n,).
    """

    pi: Array


class Adaptive(Law[AdaptiveParameters, JointReference, Estimate]):
    """tau = Y(q, v, v_r, a_r) pi + K_D s, dpi/dt = Gamma Y^T s, s = v_r - v, v_r = v_d + Lambda (q_d - q), a_r = v_r'.

    [SlotineLi]. Y pi = M(q) a_r + C(q, v) v_r + g(q) + D v_r with C of Christoffel symbols, for the estimates pi of the
    links' inertial parameters and of the joints' viscous friction. With pi~ = pi - pi_true the function
    (s^T M s + pi~^T Gamma^-1 pi~) / 2 falls by s^T (K_D + D) s: s, and with it the error, goes to 0 for any true
    parameters. The estimates converge to the true ones only if the motion excites all of them. A projection keeps them
    within a box about the description's values; this only decreases the function further.
    """

    @staticmethod
    def law(
        dynamics: Dynamics, parameters: AdaptiveParameters, state: State, reference: JointReference,
        memory: Estimate
    ) -> tuple[Terms, Estimate]:
        """As in `Law`."""
        v_r = reference.v + parameters.rate * (reference.q - state.q)
        a_r = reference.a + parameters.rate * (reference.v - state.v)
        s = v_r - state.v
        ahead = state.q + parameters.lead * state.v
        inertial = slotine_li_regressor(dynamics, ahead, state.v, v_r, a_r)
        split = inertial.shape[1]
        rotors = parameters.rotors * a_r if parameters.rotors.ndim == 1 else parameters.rotors @ a_r
        known = rotors + parameters.d * s
        effort = inertial @ memory.pi[:split] + v_r * memory.pi[split:] + known
        slope = np.concatenate([inertial.T @ s, v_r * s])
        estimate = memory.pi + state.period * parameters.adaptation * parameters.scale**2 * slope
        reach = parameters.bound * parameters.scale

        def parts() -> dict[str, Array]:
            rest = np.zeros(len(state.q))
            still, accelerated = (dynamics.regressor(ahead, rest, a) @ memory.pi[:split] for a in (rest, a_r))
            return {"feedback": parameters.d * s, "inertia": accelerated - still + rotors,
                    "coriolis": inertial @ memory.pi[:split] - accelerated, "gravity": still,
                    "friction": v_r * memory.pi[split:]}

        estimate = np.clip(estimate, parameters.nominal - reach, parameters.nominal + reach)
        return Terms.split(effort, parts), Estimate(estimate)

    def initial_memory(self, state: State) -> Estimate:
        """The description's parameters."""
        return Estimate(np.array(self.parameters.nominal))

    def memory_names(self) -> tuple[str, ...]:
        """Names of the estimates."""
        return parameter_names(self.robot)


def slotine_li_regressor(dynamics: Any, q: Array, v: Array, v_r: Array, a_r: Array) -> Array:
    """Y(q, v, v_r, a_r) with Y pi = M(q) a_r + C(q, v) v_r + g(q), C of Christoffel symbols, shape (n, 10 links).

    Christoffel symbols are symmetric: C(q, v) v_r = C(q, v_r) v. Hence C(q, v) v_r is the polar form of the quadratic
    c(q, v) = C(q, v) v, (c(q, v + v_r) - c(q, v - v_r)) / 4. It follows from two regressors of inverse dynamics;
    gravity cancels in their difference.

    Args:
        dynamics: The robot's dynamics.
        q: Joint positions, shape (n,) [rad or m].
        v: Joint velocities, shape (n,) [rad/s or m/s].
        v_r: Reference velocities, shape (n,) [rad/s or m/s].
        a_r: Reference accelerations, shape (n,) [rad/s^2 or m/s^2].
    """
    rest = np.zeros(len(q))
    mixed = dynamics.regressor(q, v + v_r, rest) - dynamics.regressor(q, v - v_r, rest)
    return dynamics.regressor(q, rest, a_r) + 0.25 * mixed
