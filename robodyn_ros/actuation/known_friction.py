# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The friction of a robot's joints and drives as laws know it, at any velocity and load."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.actuation.friction import Friction, FrictionModel
from robodyn_ros.actuation.gear_train import GearTrain
from robodyn_ros.actuation.joint_actuators import JointActuators
from robodyn_ros.description.model import Array, RobotModel


class ActuatedRobot(Protocol):
    """What `KnownFriction.from_robot` reads of a `Robot`."""

    model: RobotModel
    actuators: JointActuators | None
    friction: FrictionModel | None
    ignored: tuple[str, ...]


@dataclass(eq=False, repr=False)
class KnownFriction:
    """Friction of the joints, losses of the gears and friction of the motors' shafts; not to be changed.

    Attributes:
        viscous: Viscous friction of joints and shafts, shape (n, n), with elements beside the diagonal where a motor
            drives several joints [N m s/rad or N s/m].
        dry: Model of the joints' dry friction.
        actuators: Actuators of the joints.
    """

    viscous: Array
    dry: FrictionModel
    actuators: JointActuators

    @classmethod
    def from_robot(cls, robot: ActuatedRobot) -> KnownFriction | None:
        """Return the friction of a robot, of its description or of its actuators; None: it has none, or ignores it."""
        model = robot.model
        dry = Friction.from_model(model) if robot.friction is None else robot.friction
        actuators = JointActuators.ideal_sources(model.n) if robot.actuators is None else robot.actuators
        is_there = dry.has_dry.any() or actuators.has_gear_friction.any() or model.damping.any()
        shafts = actuators.motors.gear.joint_matrix(actuators.reflected_damping)
        viscous = shafts - np.diag(np.diag(shafts)) + np.diag(model.damping)
        return cls(viscous, dry, actuators) if is_there and "friction" not in robot.ignored else None

    @property
    def gear(self) -> GearTrain:
        """Gears, which convert motions of the joints to those of the gears' outputs."""
        return self.actuators.motors.gear

    @property
    def has_dry(self) -> NDArray[np.bool_]:
        """Which joints, or motors with the index of a joint, have friction that holds them at rest, shape (n,)."""
        return self.dry.has_dry | self.actuators.has_gear_friction

    def drive_effort(self, effort: NDArray[Any], v: NDArray[Any], joints: NDArray[Any], outputs: NDArray[Any],
                     least_passed: float = 0.0) -> NDArray[Any]:
        """Return the efforts of drives that give certain efforts on joints with dry friction; all may be traced.

        Args:
            effort: Efforts on the joints, shape (n,) [N m or N].
            v: Joint velocities, at which the friction is taken, shape (n,) [rad/s or m/s].
            joints: Direction of motion of the joints: 1, -1, or in between for a share of the friction, shape (n,).
            outputs: The same of the gears' outputs, see `gear`, shape (n,).
            least_passed: Least share of an effort that a gear passes; 0: the result is infinite if a gear passes
                nothing.

        Returns:
            Before the losses of the gears, shape (n,) [N m or N].
        """
        return self.actuators.effort_before_gears(effort + joints * self.dry.level(v), v, outputs, least_passed)

    def __repr__(self) -> str:
        return "friction of the robot"
