# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The drivetrains that dynamics and laws know: rotors, friction and springs of a robot's actuators."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

from robodyn_ros.actuation.friction import Friction, FrictionModel
from robodyn_ros.actuation.joint_actuators import JointActuators
from robodyn_ros.base.errors import InputError
from robodyn_ros.description.drivetrain import Drivetrain
from robodyn_ros.description.model import RobotModel


def known_drivetrain(model: RobotModel, actuators: JointActuators | None, friction: FrictionModel | None,
                     ignored: Collection[str] = ()) -> Drivetrain | None:
    """Return the drivetrains for `RobotModel.drivetrain`; None: those of the description.

    The friction of coupled motors is assigned to each joint as if it moved alone.

    Args:
        model: The described robot.
        actuators: Actuators of its joints; None: ideal sources of effort.
        friction: Friction of its joints; None: that of the description.
        ignored: Some of `PARTS_OF_DRIVETRAINS`.

    Raises:
        InputError: The numbers of joints differ, or an ignored part is unknown.
    """
    friction = Friction.from_model(model) if friction is None else friction
    if friction.n != model.n:
        raise InputError(f"robot '{model.name}': expected friction of {model.n} joints, received {friction.n}")
    found = Drivetrain(model.armature, model.coupling, friction.viscous, friction.level(np.zeros(model.n)), None)
    if actuators is not None:
        actuators.check(model)
        own = actuators.is_motor | actuators.is_elastic  # these have rotors of their own
        rows = np.eye(model.n) if model.coupling is None else model.coupling
        rows = np.where(own[:, None], actuators.motors.gear.joint_rows, rows)
        dry = np.where(actuators.is_motor, actuators.losses.of_shaft(actuators.motors.gear.ratio), 0.0)
        found = Drivetrain(np.where(own, actuators.reflected_inertia, model.armature),
                           None if (rows == np.eye(model.n)).all() else rows,
                           found.viscous + np.diag(actuators.motors.gear.joint_matrix(actuators.reflected_damping)),
                           found.dry + abs(rows.T) @ dry, actuators.springs)
    found = found.without(ignored)
    described: tuple[Any, ...] = (model.armature, model.coupling, model.damping, model.friction, None)
    parts: tuple[Any, ...] = found
    return None if all(map(np.array_equal, parts, described)) else found
