# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""An arm that is not as its description says, and what a driver measures of it, to show identification with."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from robodyn_ros.actuation.friction import Friction
from robodyn_ros.control import default_gains
from robodyn_ros.control.contract.controller import JointReference
from robodyn_ros.control.plugins.registry import make_controller
from robodyn_ros.control.references.joint_trajectory import JointTrajectory, Points
from robodyn_ros.description.model import Array, Inertia
from robodyn_ros.description.resources import robot_file
from robodyn_ros.robot import Robot
from robodyn_ros.simulation.plant_model import PlantModel
from robodyn_ros.simulation.rollout import ClosedLoop
from robodyn_ros.simulation.score import Rollout
from robodyn_ros.toolbox.identification.identified_model import drive_efforts
from robodyn_ros.toolbox.identification.measured_motion import MeasuredMotion, prepare

ENCODER = 2.0 * np.pi / 2**16
POSITION_NOISE, VELOCITY_NOISE, EFFORT_NOISE = 3e-5, 5e-3, 0.005
"""Standard deviations [rad, rad/s, share of the effort limit]."""
STATIC, STRIBECK_VELOCITY = 1.5, 0.03
"""Breakaway friction over Coulomb friction; [rad/s]."""


def described_arm(name: str = "arm6") -> Robot:
    """A shipped robot with friction that its default gains overcome: they make errors of 0.02 rad of it."""
    robot = Robot.from_urdf(robot_file(name))
    viscous, coulomb = 0.1 * default_gains.damping(robot), 0.02 * default_gains.stiffness(robot)
    joints = tuple(replace(joint, damping=float(viscous[joint.dof]), friction=float(coulomb[joint.dof]))
                   for joint in robot.model.joints)
    return Robot(replace(robot.model, joints=joints))


class WrongArm:
    """The robot itself: each mass, each coordinate of a centre and each friction is wrong by a share, up or down.

    Args:
        described: The robot of the description.
        share: By how much.
        seed: Of the signs.
        static: Breakaway friction over Coulomb friction.

    Attributes:
        described: The robot of the description.
        robot: The robot itself.
        friction: Its friction, with Stribeck's effect.
    """

    def __init__(self, described: Robot, share: float = 0.2, seed: int = 5, static: float = STATIC) -> None:
        random = np.random.default_rng(seed)
        joints = []
        for joint in described.model.joints:
            mass, viscous, coulomb, *center = (1.0 + share * random.choice([-1.0, 1.0], 6)).tolist()
            inertia = Inertia(mass * joint.inertia.mass, np.array(center) * joint.inertia.com,
                              mass * joint.inertia.rotational)
            joints.append(replace(joint, inertia=inertia, damping=viscous * joint.damping,
                                  friction=coulomb * joint.friction))
        self.described = described
        self.robot = Robot(replace(described.model, joints=tuple(joints), description=""))
        model = self.robot.model
        self.friction = Friction(model.damping, model.friction, static * model.friction, np.full(model.n,
                                                                                                 STRIBECK_VELOCITY))
        self._plant = PlantModel.from_description(model, friction=self.friction)

    def follow(self, motion: JointTrajectory, law: str = "pd_gravity", known: Robot | None = None,
               seed: int = 0) -> tuple[Rollout, Array]:
        """Follow a motion.

        Args:
            motion: The motion.
            law: Name of the controller.
            known: The robot that the law knows; None: the described one.
            seed: Of the noise.

        Returns:
            The rollout, and the noise of the measured positions, shape (K, n) [rad or m].
        """
        loop = ClosedLoop(make_controller(law, known or self.described), self._plant)
        scenario = loop.scenario([motion], q=motion.sample(0.0).q, position_noise=POSITION_NOISE,
                                 velocity_noise=VELOCITY_NOISE, seed=seed)
        return loop.run(scenario), scenario.noises[:, 0]

    def record(self, motion: JointTrajectory, seed: int = 0) -> tuple[Array, Array, Array]:
        """Times, positions in steps of the encoder, and efforts of the control period before, as joint states have."""
        done, noise = self.follow(motion, seed=seed)
        effort = np.vstack([done.effort[:1], done.effort[:-1]])
        limit = self.described.model.effort_limit
        effort = effort + EFFORT_NOISE * limit * np.random.default_rng(seed).normal(size=effort.shape)
        return done.time, np.rint((done.q + noise) / ENCODER) * ENCODER, effort

    def measure(self, motion: JointTrajectory, seed: int = 0) -> MeasuredMotion:
        """The prepared recording of a motion."""
        return prepare(self.described.model, *self.record(motion, seed), "run")

    def effort(self, q: Array, v: Array, a: Array) -> Array:
        """The efforts that a motion needs, each array of shape (K, n) [N m or N]."""
        return drive_efforts(self.robot, self.friction, q, v, a)


def trajectory(points: Points) -> JointTrajectory:
    """The motion through points, from rest at the first one, whose time it takes as 0."""
    rest = np.zeros(points.q.shape[1])
    return JointTrajectory(JointReference(points.q[0], rest, rest), 0.0,
                           replace(points, times=points.times - points.times[0]))


def sampled(motion: JointTrajectory, step: float = 0.01) -> tuple[Array, Array, Array]:
    """Positions, velocities and accelerations of a motion, each of shape (K, n)."""
    rows = [motion.sample(time) for time in np.arange(0.0, motion.end_time, step).tolist()]
    return np.stack([row.q for row in rows]), np.stack([row.v for row in rows]), np.stack([row.a for row in rows])
