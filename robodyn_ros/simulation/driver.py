# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The simulated driver of an arm: it delays, limits and supplements commands, the same way for every engine."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.actuation.driver_profile import DriverProfile, EffortReport
from robodyn_ros.actuation.friction import FrictionModel
from robodyn_ros.base.checks import constants
from robodyn_ros.base.errors import InputError
from robodyn_ros.compile import clip
from robodyn_ros.description.model import Array, RobotModel
from robodyn_ros.dynamics.robot_dynamics import InlineDynamics
from robodyn_ros.simulation.sensing import delayed, encoded

COULOMB_VELOCITY = 0.01
"""Velocity up to which the compensation of dry friction grows [rad/s or m/s]; manuals of drivers do not specify it."""


class DriverMemory(NamedTuple):
    """Memory of a driver between control periods; may be traced."""

    last: Any  # last effort after delay and rate limit, before compensation, shape (n,) [N m or N]
    line: Any  # delay line: the last commands, newest first, shape (D, n) [N m or N]; None without a delay
    taken: Any  # number of commands so far; None without a delay


class Driven(NamedTuple):
    """Output of a driver for one control period."""

    effort: NDArray[Any]  # effort for the drives, before the effort limits, shape (n,) [N m or N]
    memory: DriverMemory  # memory for the next period


@dataclass(frozen=True, eq=False)
class Driver:
    """A driver with its model of the robot.

    Attributes:
        profile: Properties of the driver.
        model: The driver's model of the robot: the description.
        friction: The driver's model of the joints' friction.
        delay: Delay of commands, a whole number, may be traced [control periods]; None: from the profile.
        resolution: Step to which commands are rounded, shape (n,), may be traced [N m or N]; None: from the profile.

    Raises:
        InputError: A value of the profile is out of its range.
    """

    profile: DriverProfile
    model: RobotModel
    friction: FrictionModel
    delay: Any = None
    resolution: Any = None

    def __post_init__(self) -> None:
        """Check the values."""
        _ = self._viscous, self._coulomb, self._effort_rate
        if self.delay is None:
            object.__setattr__(self, "delay", float(self.profile.delay))
        if self.resolution is None:
            object.__setattr__(self, "resolution", self.profile.per_joint("effort_resolution", self.model.n))

    @cached_property
    def _viscous(self) -> Array:
        return self.profile.per_joint("viscous_compensation", self.model.n)

    @cached_property
    def _coulomb(self) -> Array:
        return self.profile.per_joint("coulomb_compensation", self.model.n)

    @cached_property
    def _effort_rate(self) -> Array | None:
        return None if self.profile.effort_rate is None else self.profile.per_joint("effort_rate", self.model.n)

    def first_memory(self, longest_delay: int | None = None) -> DriverMemory:
        """Return the memory before the first command.

        Args:
            longest_delay: Length of the delay line [control periods]; None: the delay of the profile.
        """
        n, delay = self.model.n, self.profile.delay if longest_delay is None else longest_delay
        return DriverMemory(np.zeros(n), np.zeros((delay, n)) if delay else None, 0.0 if delay else None)

    def gravity(self, q: NDArray[Any]) -> NDArray[Any]:
        """Return the gravity that the driver adds, shape (n,) [N m or N]; q may be traced, shape (n,) [rad or m]."""
        if not self.profile.compensates_gravity:
            return np.zeros(self.model.n)
        result: NDArray[Any] = InlineDynamics(self.model).gravity(q)
        return result

    def drive(self, command: NDArray[Any], q: NDArray[Any], v: NDArray[Any], memory: DriverMemory, period: float
              ) -> Driven:
        """Return the efforts for the drives in a control period; can be compiled.

        The driver has its own sensors: positions and velocities are exact.

        Args:
            command: Commanded efforts, shape (n,) [N m or N].
            q: Joint positions, shape (n,) [rad or m].
            v: Joint velocities, shape (n,) [rad/s or m/s].
            memory: Memory after the previous period.
            period: Control period [s].

        Returns:
            Efforts for the drives, and the new memory.
        """
        passed, line, taken = command, memory.line, memory.taken
        if line is not None:
            passed, line = delayed(command, line, taken, self.delay)
            taken = taken + 1.0
        if constants(self.resolution, traced=1.0).any():
            passed = encoded(passed, self.resolution)
        if self._effort_rate is not None:  # as libfranka's limitRate
            most = period * self._effort_rate
            passed = memory.last + clip(passed - memory.last, -most, most)
        effort = passed + self.gravity(q) if self.profile.compensates_gravity else passed
        if self._viscous.any():
            effort = effort + self._viscous * self.friction.viscous * v
        if self._coulomb.any() and self.friction.has_dry.any():
            effort = effort + self._coulomb * self.friction.level(v) * clip(v / COULOMB_VELOCITY, -1.0, 1.0)
        return Driven(effort, DriverMemory(passed, line, taken))

    def check_effort_report(self, is_motor: NDArray[np.bool_]) -> None:
        """Check that the simulation can compute the effort of joint states.

        Args:
            is_motor: Which joints have a motor, shape (n,).

        Raises:
            InputError: The driver reports motor currents, and a joint has no motor.
        """
        if (self.profile.effort == EffortReport.MOTOR_CURRENT and self.profile.torque_per_current is None
                and not is_motor.all()):
            raise InputError(f"driver '{self.profile.name}': effort {EffortReport.MOTOR_CURRENT}: expected a motor at "
                             "each joint (see `actuators`), or torque_per_current in the driver's file")
