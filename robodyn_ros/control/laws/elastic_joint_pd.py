# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""PD control on the motors' side of elastic joints, also with torque feedback that shapes the motors' inertia."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from robodyn_ros.control.controller import JointReference, Law, State
from robodyn_ros.control.default_gains import sampled_positions, stiffness
from robodyn_ros.control.elastic_joints import (
    ElasticJoints,
    MotorFeedback,
    comes_to_rest,
    described_inertia,
    greatest_share,
    inertia_of_links,
)
from robodyn_ros.control.parameters import DAMPING, STIFFNESS, per_joint
from robodyn_ros.description.drivetrain import JointSprings
from robodyn_ros.description.model import Array
from robodyn_ros.dynamics.robot_dynamics import Dynamics
from robodyn_ros.errors import InputError
from robodyn_ros.robot import Robot

_DIFFERENCE = 1e-5  # of positions, for derivatives of gravity [rad or m]


def motor_stiffness(robot: Robot) -> Array:
    """Stiffness of `PD`, and at least 2.5 times the slope of gravity, shape (n,) [N m/rad or N/m]."""
    return np.maximum(stiffness(robot), 2.5 * gravity_slope(robot))


def motor_damping(robot: Robot) -> Array:
    """0.7 of the critical damping of motor and link together, shape (n,) [N m s/rad or N s/m]."""
    return 1.4 * np.sqrt(motor_stiffness(robot) * (described_inertia(robot) + inertia_of_links(robot)))


def gravity_slope(robot: Robot) -> float:
    """Greatest norm of the derivative of gravity by the positions, over random positions [N m/rad or N/m]."""
    q, gravity = sampled_positions(robot), robot.dynamics().batch.gravity
    steps = np.eye(robot.n) * _DIFFERENCE
    slopes = np.stack([(gravity(q + step) - gravity(q - step)) / (2.0 * _DIFFERENCE) for step in steps], axis=2)
    return float(np.linalg.norm(slopes, 2, axis=(1, 2)).max())


@dataclass(frozen=True, eq=False)
class ElasticJointParameters(ElasticJoints):
    """Gains of `ElasticJointPD`, and the joints that it is for.

    Attributes:
        p: Effort per position error of the motor, shape (n,) [N m/rad or N/m].
        d: Effort per velocity error of the motor, shape (n,) [N m s/rad or N s/m].
    """

    p: Array = per_joint(motor_stiffness, unit=STIFFNESS, minimum=0.0,
                         description="Effort per position error of the motor")
    d: Array = per_joint(motor_damping, unit=DAMPING, minimum=0.0,
                         description="Effort per velocity error of the motor")

    @property
    def shaping(self) -> Array:
        """B / B_theta, how much lighter torque feedback makes the motors, shape (n,)."""
        return np.ones(len(self.p))

    def for_robot(self, robot: Robot) -> Self:
        """As in `ElasticJoints`.

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
    for_elastic_joints = True

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
    for_elastic_joints = True

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
    """Check that each joint alone comes to rest when sampled with the control period.

    Raises:
        InputError: One swings; the message has the gains, or the shaping, below which it does not. Or a rigid joint,
            which has no torque to feed back, has a lighter motor.
    """
    for joint, (name, link) in enumerate(zip(robot.joint_names, inertia_of_links(robot), strict=True)):
        springs = JointSprings(*(values[joint:joint + 1] for values in parameters.springs))
        gains = tuple(float(values[joint]) for values in (parameters.p, parameters.d, parameters.shaping))
        if parameters.is_rigid[joint] and gains[2] > 1.0:
            raise InputError(f"lighter of '{name}': expected 1, as this joint is rigid, received {gains[2]:g}")
        _check_joint(robot, name, float(link), springs, *gains)


def _check_joint(robot: Robot, name: str, link: float, springs: JointSprings, p: float, d: float, shaping: float
                 ) -> None:
    motor, spring = float(springs.motor_inertia[0]), float(springs.stiffness[0])

    def rests(p: float, d: float, shaping: float) -> bool:
        return comes_to_rest(robot.timing, np.array([[link]]), springs, pd_feedback(p, d, spring, shaping))

    if rests(p, d, shaping):
        return
    why = (f"above which a motor of {motor:.4g} kg m^2 on a spring of {spring:.4g} N m/rad swings with "
           f"{robot.timing}")
    if shaping > 1.0 and rests(p, d, 1.0):
        most = 1.0 + greatest_share(lambda share: rests(p, d, 1.0 + share * (shaping - 1.0))) * (shaping - 1.0)
        raise InputError(f"lighter of '{name}': expected at most {most:.4g}, {why}, received {shaping:.4g}")
    factor = greatest_share(lambda share: rests(share * p, share * d, shaping))
    raise InputError(f"p and d of '{name}': expected a p below {factor * p:.4g} and a d below {factor * d:.4g}, "
                     f"{why}, received {p:.4g} and {d:.4g}")


def pd_feedback(p: float, d: float, spring: float, shaping: float = 1.0) -> MotorFeedback:
    """Return the feedback of the law at one joint.

    Args:
        p: Effort per position error of the motor.
        d: Effort per velocity error of the motor.
        spring: Stiffness between motor and link, whose torque is fed back [N m/rad or N/m].
        shaping: B / B_theta.
    """
    torque = (1.0 - shaping) * spring if shaping > 1.0 else 0.0
    return MotorFeedback(*(np.array([[gain]]) for gain in (torque - shaping * p, -torque, -shaping * d, 0.0)))
