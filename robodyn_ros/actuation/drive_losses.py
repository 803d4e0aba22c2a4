# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Friction between a motor's torque and the joint: of the motor's shaft, and of the gear under load."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.actuation.friction import stribeck_decay
from robodyn_ros.actuation.joint_values import joint_value
from robodyn_ros.base.checks import constants
from robodyn_ros.base.fields import VELOCITY
from robodyn_ros.description.model import Array


@dataclass(frozen=True, eq=False)
class DriveLosses:
    """Friction of shafts and gears; every array has shape (n,)."""

    efficiency: Array = joint_value(
        1.0, yaml=None, minimum=0.0, above=True, maximum=1.0, quantity="gear.efficiency",
        description="Efficiency of the gear; none: of the motor's data")
    static_loss: Array = joint_value(
        0.0, minimum=0.0, maximum=1.0, quantity="gear.static_loss",
        description="Rise of the loss of the gear towards rest, as a share of the load")
    loss_velocity: Array = joint_value(
        0.1, unit=VELOCITY, minimum=0.0, above=True, quantity="gear.loss_velocity",
        description="Velocity of the joint at which `gear_static_loss` has fallen to 1/e")
    motor_damping: Array = joint_value(
        0.0, unit="N m s/rad", minimum=0.0, quantity="motor.damping",
        description="Viscous friction at the motor's shaft")
    motor_friction: Array = joint_value(
        0.0, yaml=None, unit="N m", minimum=0.0, quantity="motor.friction",
        description="Coulomb friction at the motor's shaft; none: of the motor's data")

    @property
    def has_dry(self) -> NDArray[np.bool_]:
        """Whether shaft or gear have friction that holds a resting joint, shape (n,)."""
        return ((constants(self.efficiency, traced=0.0) < 1.0) | (constants(self.motor_friction, traced=1.0) > 0.0)
                | (constants(self.static_loss, traced=1.0) > 0.0))

    def of_shaft(self, ratio: Array) -> Array:
        """Return the Coulomb friction of the shafts at the outputs of gears with a ratio, shape (n,) [N m or N]."""
        return abs(ratio) * self.motor_friction

    def level(self, effort: NDArray[Any], speed: NDArray[Any], ratio: Array) -> NDArray[Any]:
        """Return (1 - eta + s e^(-(w / w_s)^2)) |gamma tau_M|, and the friction of shafts: the greatest friction.

        The second part is Stribeck's rise towards rest. In the joints of robots it grows with the load, like the first
        part [Bittencourt]; s is ``static_loss``.

        A driving motor delivers eta gamma tau_M, a driven motor resists with (2 - eta) gamma tau_M, and in between the
        gear sticks.

        Args:
            effort: gamma tau_M of the motors before the gears' losses, shape (n,) [N m or N].
            speed: w of the gears' outputs, shape (n,) [rad/s or m/s].
            ratio: gamma, shape (n,).

        Returns:
            Friction at the gears' outputs, shape (n,) [N m or N].
        """
        share = 1.0 - self.efficiency
        if (constants(self.static_loss, traced=1.0) > 0.0).any():
            share = share + self.static_loss * stribeck_decay(speed, self.loss_velocity)
        losses: NDArray[Any] = share * abs(effort)
        if (constants(self.motor_friction, traced=1.0) > 0.0).any():
            losses = losses + self.of_shaft(ratio)
        return losses
