# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""PD control on the motor side of elastic joints, optionally with torque feedback that shapes the motor inertia."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from robodyn_ros.base.errors import InputError
from robodyn_ros.control.contract.controller import JointReference, Law, State
from robodyn_ros.control.contract.parameters import DAMPING, STIFFNESS, per_joint
from robodyn_ros.control.contract.terms import Terms
from robodyn_ros.control.default_gains import Postures, rigid_joint_gains, sampled_postures
from robodyn_ros.control.gains.elastic_arm import MotorFeedback
from robodyn_ros.control.gains.elastic_joints import (
    ElasticJoints,
    described_inertia,
    inertia_of_links,
    values_text,
)
from robodyn_ros.description.model import Array
from robodyn_ros.dynamics.robot_dynamics import Dynamics
from robodyn_ros.robot import Robot

_RESERVE = 1.05  # ratio of the least gains to those that gravity needs


def motor_stiffness(robot: Robot) -> Array:
    """Stiffness of `PD`, and at least 2.5 times the slope of gravity, or the nearest that hold the arm."""
    return np.maximum(rigid_joint_gains(robot)[0], 2.5 * gravity_slope(robot))


def motor_damping(robot: Robot) -> Array:
    """0.7 of the critical damping of motor and link together, or the nearest that holds the arm."""
    return 1.4 * np.sqrt(motor_stiffness(robot) * (described_inertia(robot) + inertia_of_links(robot)))


def gravity_slope(robot: Robot) -> float:
    """Return the greatest destabilising slope of gravity over random positions [N m/rad or N/m]."""
    return max(0.0, -float(np.linalg.eigvalsh(sampled_postures(robot).gravity)[:, 0].min()))


def stiffness_for_gravity(robot: Robot, springs: Array) -> Array:
    """Return a stiffness of springs and gains in series that outweighs gravity, distributed by what each joint needs.

    Args:
        robot: The robot.
        springs: K, shape (n,).

    Returns:
        Stiffness, shape (n,); below K if K outweighs gravity.
    """
    gravity = sampled_postures(robot).gravity

    def pull(weights: Array) -> float:
        root = np.sqrt(weights)
        return max(0.0, -float(np.linalg.eigvalsh(gravity / root[:, None] / root)[:, 0].min()))

    felt = np.abs(gravity).sum(axis=2).max(axis=0)
    felt = np.maximum(felt, 1e-6 * felt.max() + 1e-9)
    alike = _RESERVE * pull(felt) * felt
    return alike if (alike < 0.9 * springs).all() else pull(springs) ** 0.9 * springs


@dataclass(frozen=True, eq=False)
class ElasticJointParameters(ElasticJoints):
    """Gains of `ElasticJointPD`, and data of its elastic joints.

    Attributes:
        p: Effort per position error of the motor, shape (n,) [N m/rad or N/m].
        d: Effort per velocity error of the motor, shape (n,) [N m s/rad or N s/m].
    """

    p: Array = per_joint(motor_stiffness, unit=STIFFNESS, minimum=0.0,
                         description="Effort per position error of the motor")
    d: Array = per_joint(motor_damping, unit=DAMPING, minimum=0.0,
                         description="Effort per velocity error of the motor")

    gains = (("p", "d"),)

    @property
    def shaping(self) -> Array:
        """B / B_theta, how much lighter torque feedback makes the motors, shape (n,)."""
        return np.ones(len(self.p))

    def feedback(self, robot: Robot, postures: Postures) -> MotorFeedback:
        """As in `ElasticJoints`."""
        torque = 1.0 - self.shaping
        position, velocity = (np.diag(np.where(self.is_rigid, 0.0, torque * gain))
                              for gain in (self.joint_stiffness, self.joint_damping))
        return MotorFeedback(position - np.diag(self.shaping * self.p), -position,
                             velocity - np.diag(self.shaping * self.d), -velocity)

    def least_gains(self, robot: Robot) -> Mapping[str, Array]:
        """As in `ElasticJoints`: the stiffness that gravity needs, and a small damping."""
        spring = stiffness_for_gravity(robot, self.joint_stiffness)
        p = spring * self.joint_stiffness / (self.joint_stiffness - spring)
        return {"p": p, "d": 1e-3 * np.sqrt(p * self.motor_inertia)}

    def check_springs(self, robot: Robot) -> None:
        """As in `ElasticJoints`: springs must outweigh gravity, and only motors behind springs can be made lighter."""
        slope, weakest = gravity_slope(robot), int(self.joint_stiffness.argmin())
        if not _outweighs(self.joint_stiffness, robot):
            raise InputError(f"joint_stiffness of '{robot.joint_names[weakest]}': expected more than {slope:.4g} N "
                             f"m/rad, the greatest slope of gravity on '{robot.name}', received "
                             f"{self.joint_stiffness[weakest]:.4g} N m/rad")
        for name, is_rigid, shaping in zip(robot.joint_names, self.is_rigid, self.shaping, strict=True):
            if is_rigid and shaping > 1.0:
                raise InputError(f"lighter of '{name}': expected 1, as this joint is rigid, received {shaping:g}")

    def fault(self, robot: Robot) -> str:
        """As in `ElasticJoints`; gravity can also pull the arm away, see `ElasticJointPD`."""
        if not _outweighs(self.p * self.joint_stiffness / (self.p + self.joint_stiffness), robot):
            return f"gravity, whose greatest slope is {gravity_slope(robot):.4g} N m/rad, can pull it away"
        return super().fault(robot)


def _outweighs(springs: Array, robot: Robot) -> bool:
    return float(np.linalg.eigvalsh(np.diag(springs) + sampled_postures(robot).gravity)[:, 0].min()) > 0.0


class ElasticJointPD(Law[ElasticJointParameters, JointReference, None]):
    """tau = K_P (theta_d - theta) + K_D (v_d - theta') + g(q_d), with theta_d = q_d + K^-1 g(q_d).

    The law of [Tomei] on the motors' side of elastic joints: where the links rest at q_d, the motors are at theta_d.
    For a constant q_d it is stable from any state if springs and gains in series outweigh gravity in all postures:
    diag(K K_P / (K + K_P)) + dg/dq is positive definite. This is checked in sampled postures. PD control of the link
    positions, as for rigid robots, can be unstable: the spring between motor and link delays its damping.
    """

    senses = ("motor_q", "motor_v")
    for_elastic_joints = True

    @staticmethod
    def law(dynamics: Dynamics, parameters: ElasticJointParameters, state: State, reference: JointReference) -> Terms:
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

    def advice(self, robot: Robot, fault: str) -> str:
        """As in `ElasticJoints`; if only the motor inertia is at fault, it suggests a possible one."""
        if (self.lighter == 1.0).all():
            return super().advice(robot, fault)
        lightest = self.weaker(robot, ("lighter",))
        if lightest is None:
            own = replace(self, lighter=np.ones(robot.n))
            return f"lighter: expected 1; {super(TorqueFeedbackParameters, own).advice(robot, own.fault(robot))}"
        most = lightest.text(["lighter"]).removeprefix("lighter: ")
        return (f"lighter: expected at most {most}, with which '{robot.name}' comes to rest with {robot.timing}; "
                f"received {values_text(self.lighter)}, with which {fault}")


class TorqueFeedback(Law[TorqueFeedbackParameters, JointReference, None]):
    """tau = (B / B_theta) u + (1 - B / B_theta) tau_J, with u of `ElasticJointPD`.

    [Ott]: feedback of the measured joint torques tau_J makes motors of inertia B move under u like motors of inertia
    B_theta. Lighter motors follow the links, and their friction counts correspondingly less.
    """

    senses = ("motor_q", "motor_v", "joint_torque")
    for_elastic_joints = True

    @staticmethod
    def law(dynamics: Dynamics, parameters: TorqueFeedbackParameters, state: State, reference: JointReference) -> Terms:
        """As in `Law`; uses no memory."""
        shaping = parameters.lighter
        pd, measured = motor_effort(dynamics, parameters, state, reference), (1.0 - shaping) * state.joint_torque
        return Terms.split(shaping * pd.effort + measured, lambda: {
            **{name: shaping * part for name, part in pd.parts().items()}, "joint_torque": measured})


def motor_effort(dynamics: Dynamics, parameters: ElasticJointParameters, state: State, reference: JointReference
                 ) -> Terms:
    """Return the effort of `ElasticJointPD`."""
    gravity = dynamics.gravity(reference.q)
    wanted = reference.q + gravity / parameters.joint_stiffness
    return Terms(feedback=parameters.p * (wanted - state.motor_q) + parameters.d * (reference.v - state.motor_v),
                 gravity=gravity)
