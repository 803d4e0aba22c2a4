# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""PD control on the motors' side of elastic joints, also with torque feedback that shapes the motors' inertia."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Self

import numpy as np

from robodyn_ros.control.controller import JointReference, Law, State
from robodyn_ros.control.default_gains import largest_inertia, sampled_positions, stiffness
from robodyn_ros.control.parameters import DAMPING, STIFFNESS, Parameters, per_joint
from robodyn_ros.control.sampled_loop import matrix_exponential
from robodyn_ros.description.model import Array
from robodyn_ros.dynamics.robot_dynamics import Dynamics
from robodyn_ros.errors import InputError
from robodyn_ros.robot import Robot

_AT_REST = 1.0 + 1e-9  # spectral radius of a joint that comes to rest, up to rounding
_DIFFERENCE = 1e-5  # of positions, for derivatives of gravity [rad or m]


def described_inertia(robot: Robot) -> Array:
    """Inertia of each motor at the output of its gear by the description, or else 0.1, shape (n,) [kg m^2 or kg]."""
    return np.where(robot.model.armature > 0.0, robot.model.armature, 0.1)


def motor_stiffness(robot: Robot) -> Array:
    """Default of p: that of other laws, and 2.5 times the slope of gravity, shape (n,) [N m/rad or N/m]."""
    return np.maximum(stiffness(robot), 2.5 * gravity_slope(robot))


def motor_damping(robot: Robot) -> Array:
    """Default of d: 0.7 of the critical damping of motor and link together, shape (n,) [N m s/rad or N s/m]."""
    return 1.4 * np.sqrt(motor_stiffness(robot) * (described_inertia(robot) + largest_inertia(robot)))


def gravity_slope(robot: Robot) -> float:
    """Greatest norm of the derivative of gravity by the positions, over random positions [N m/rad or N/m]."""
    q, gravity = sampled_positions(robot), robot.dynamics().batch.gravity
    steps = np.eye(robot.n) * _DIFFERENCE
    slopes = np.stack([(gravity(q + step) - gravity(q - step)) / (2.0 * _DIFFERENCE) for step in steps], axis=2)
    return float(np.linalg.norm(slopes, 2, axis=(1, 2)).max())


@dataclass(frozen=True, eq=False)
class ElasticJointParameters(Parameters):
    """Gains of `ElasticJointPD`, and the joints that it is for.

    Attributes:
        p: Effort per position error of the motor, shape (n,) [N m/rad or N/m].
        d: Effort per velocity error of the motor, shape (n,) [N m s/rad or N s/m].
        joint_stiffness: K of the springs between motors and links, shape (n,) [N m/rad or N/m].
        motor_inertia: B of the motors at the outputs of their gears, shape (n,) [kg m^2 or kg].
    """

    p: Array = per_joint(motor_stiffness, unit=STIFFNESS, minimum=0.0,
                         description="Effort per position error of the motor")
    d: Array = per_joint(motor_damping, unit=DAMPING, minimum=0.0,
                         description="Effort per velocity error of the motor")
    joint_stiffness: Array = per_joint(1e4, unit=STIFFNESS, minimum=1e-6, maximum=1e12, structural=True,
                                       description="Stiffness between motor and link")
    motor_inertia: Array = per_joint(described_inertia, unit="kg m^2", minimum=1e-9, structural=True,
                                     description="Inertia of the motor at the output of its gear")

    @property
    def shaping(self) -> Array:
        """B / B_theta, how much lighter torque feedback makes the motors, shape (n,)."""
        return np.ones(len(self.p))

    def for_robot(self, robot: Robot) -> Self:
        """As in `Parameters`.

        Raises:
            InputError: As there, gravity can pull the arm away, or a joint swings at this period.
        """
        complete = super().for_robot(robot)
        check_gravity(robot, complete)
        check_period(robot, complete)
        return complete


class ElasticJointPD(Law[ElasticJointParameters, JointReference, None]):
    """tau = K_P (theta_d - theta) + K_D (v_d - theta') + g(q_d), with theta_d = q_d + K^-1 g(q_d).

    The law of [Tomei] on the motors' side of elastic joints: where the links rest at q_d, the motors are at theta_d.
    Towards a resting q_d it is stable from any state if the least eigenvalue of ((K, -K), (-K, K + K_P)) is greater
    than the greatest slope of gravity, which `check_gravity` checks. A PD law of the links' positions, as rigid robots
    have it, is not: the spring between motor and link delays its damping.
    """

    senses = ("motor_q", "motor_v")

    @staticmethod
    def law(dynamics: Dynamics, parameters: ElasticJointParameters, state: State, reference: JointReference) -> Array:
        """As in `Law`; uses no memory."""
        return motor_effort(dynamics, parameters, state, reference)


@dataclass(frozen=True, eq=False)
class TorqueFeedbackParameters(ElasticJointParameters):
    """Gains of `TorqueFeedback`.

    Attributes:
        lighter: B / B_theta, how much lighter the motors become, shape (n,).
    """

    lighter: Array = per_joint(1.0, minimum=1.0, maximum=100.0, description="Inertia of the motor, over the one that "
                               "torque feedback makes of it")

    @property
    def shaping(self) -> Array:
        """As in `ElasticJointParameters`."""
        return self.lighter


class TorqueFeedback(Law[TorqueFeedbackParameters, JointReference, None]):
    """tau = (B / B_theta) u + (1 - B / B_theta) tau_J, with u of `ElasticJointPD`.

    [Ott]: feedback of the measured torques tau_J in the joints makes motors of inertia B move as those of B_theta would
    under u. Lighter motors follow the links, and their friction counts for as much less.
    """

    senses = ("motor_q", "motor_v", "joint_torque")

    @staticmethod
    def law(dynamics: Dynamics, parameters: TorqueFeedbackParameters, state: State, reference: JointReference) -> Array:
        """As in `Law`; uses no memory."""
        shaping = parameters.lighter
        return (shaping * motor_effort(dynamics, parameters, state, reference)
                + (1.0 - shaping) * state.joint_torque)


def motor_effort(dynamics: Dynamics, parameters: ElasticJointParameters, state: State, reference: JointReference
                 ) -> Array:
    """Return the effort of `ElasticJointPD`, shape (n,) [N m or N]."""
    gravity = dynamics.gravity(reference.q)
    wanted = reference.q + gravity / parameters.joint_stiffness
    return parameters.p * (wanted - state.motor_q) + parameters.d * (reference.v - state.motor_v) + gravity


def check_gravity(robot: Robot, parameters: ElasticJointParameters) -> None:
    """Check the condition of [Tomei] for one rest position.

    Raises:
        InputError: It does not hold.
    """
    slope = gravity_slope(robot)

    def least(factor: float) -> float:
        spring, gain = np.diag(parameters.joint_stiffness), np.diag(factor * parameters.p)
        return float(np.linalg.eigvalsh(np.block([[spring, -spring], [-spring, spring + gain]]))[0])

    if least(1.0) > slope:
        return
    if parameters.joint_stiffness.min() <= slope or least(1e9) <= slope:
        joint = robot.joint_names[int(parameters.joint_stiffness.argmin())]
        raise InputError(f"joint_stiffness of '{joint}': expected more than {slope:.4g} N m/rad, the greatest slope of "
                         f"gravity on '{robot.name}', received {parameters.joint_stiffness.min():.4g} N m/rad")
    low, high = 1.0, 2.0
    while least(high) <= slope:
        low, high = high, 2.0 * high
    for _ in range(30):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if least(middle) > slope else (middle, high)
    raise InputError(f"p: expected gains above {high:.3g} times these, with which gravity, whose greatest slope on "
                     f"'{robot.name}' is {slope:.4g} N m/rad, cannot pull the arm away")


def check_period(robot: Robot, parameters: ElasticJointParameters) -> None:
    """Check that each joint alone, without damping of its own, comes to rest when sampled with the control period.

    Raises:
        InputError: One swings; the message has the gains, or the shaping, below which it does not.
    """
    for joint, (name, link) in enumerate(zip(robot.joint_names, largest_inertia(robot), strict=True)):
        p, d, motor, spring, shaping = (float(values[joint]) for values in (
            parameters.p, parameters.d, parameters.motor_inertia, parameters.joint_stiffness, parameters.shaping))
        _check_joint(name, robot.timing.period, float(link), motor, spring, p, d, shaping)


def _check_joint(name: str, period: float, link: float, motor: float, spring: float, p: float, d: float, shaping: float
                 ) -> None:
    two_masses = partial(sampled_radius, period, link, motor, spring)
    if two_masses(p, d, shaping) <= _AT_REST:
        return
    why = (f"above which a motor of {motor:.4g} kg m^2 on a spring of {spring:.4g} N m/rad swings at a period of "
           f"{1e3 * period:g} ms")
    if shaping > 1.0 and two_masses(p, d, 1.0) <= _AT_REST:
        most = 1.0 + _greatest(lambda share: two_masses(p, d, 1.0 + share * (shaping - 1.0))) * (shaping - 1.0)
        raise InputError(f"lighter of '{name}': expected at most {most:.4g}, {why}, received {shaping:.4g}")
    factor = _greatest(lambda share: two_masses(share * p, share * d, shaping))
    raise InputError(f"p and d of '{name}': expected a p below {factor * p:.4g} and a d below {factor * d:.4g}, "
                     f"{why}, received {p:.4g} and {d:.4g}")


def _greatest(radius: Callable[[float], float]) -> float:
    """Return the greatest share, from 0 to 1, at which a joint comes to rest."""
    low, high = 0.0, 1.0
    for _ in range(30):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if radius(middle) <= _AT_REST else (low, middle)
    return low


def sampled_radius(period: float, link: float, motor: float, spring: float, p: float, d: float, shaping: float = 1.0
                   ) -> float:
    """Return the spectral radius of two masses on a spring under the law, from one control period to the next.

    Args:
        period: Control period [s].
        link: Inertia of the link [kg m^2 or kg].
        motor: Of the motor.
        spring: Stiffness between them [N m/rad or N/m].
        p: Effort per position error of the motor.
        d: Effort per velocity error of the motor.
        shaping: B / B_theta.
    """
    motion = np.zeros((5, 5))  # of theta, q, theta', q' and the effort of the motor
    motion[0, 2] = motion[1, 3] = 1.0
    motion[2, :2], motion[2, 4] = [-spring / motor, spring / motor], 1.0 / motor
    motion[3, :2] = [spring / link, -spring / link]
    over_period = matrix_exponential((period * motion)[None])[0]
    feedback = shaping * np.array([-p, 0.0, -d, 0.0]) + (1.0 - shaping) * np.array([spring, -spring, 0.0, 0.0])
    return float(np.abs(np.linalg.eigvals(over_period[:4, :4] + np.outer(over_period[:4, 4], feedback))).max())
