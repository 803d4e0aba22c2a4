# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The simulated model as data: bodies, actuators, friction, step and method; the rows of the arrays."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, StrEnum
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.actuation.friction import Friction
from robodyn_ros.actuation.joint_actuators import JointActuators
from robodyn_ros.checks import Range, as_number, constants
from robodyn_ros.description.model import Array, RobotModel
from robodyn_ros.errors import InputError
from robodyn_ros.simulation.contact_world import World
from robodyn_ros.simulation.joint_constraints import STICKING, ConstraintLimits
from robodyn_ros.timing import DEFAULT_STEP


class Integrator(StrEnum):
    """Methods of integration."""

    SEMI_IMPLICIT_EULER = "semi_implicit_euler"
    """q' = q + h v', damping and motors implicit: stable, order 1."""
    EXPLICIT_EULER = "explicit_euler"
    """q' = q + h v, v' = v + h a, as in the books: order 1, gains energy."""
    RUNGE_KUTTA = "runge_kutta"
    """The classical method of order 4."""
    ADAPTIVE = "adaptive"
    """SciPy's solve_ivp with a given tolerance: a slow reference."""


class StateRow(IntEnum):
    """Rows of the state, an array of shape (len(StateRow), n); energies are sums since the start [J]."""

    POSITION = 0
    VELOCITY = 1
    CURRENT = 2
    TEMPERATURE = 3
    CONTACT_MODE = 4
    SATURATION = 5
    DRIVE_WORK = 6
    EXTERNAL_WORK = 7
    VISCOUS_LOSS = 8
    WINDING_HEAT = 9
    FRICTION_LOSS = 10
    STOP_LOSS = 11


class CommandRow(IntEnum):
    """Rows of the commands during some steps, an array of shape (len(CommandRow), n)."""

    EFFORT = 0
    """Commanded effort [N m or N]."""
    VOLTAGE = 1
    """Commanded voltage [V]."""
    BY_VOLTAGE = 2
    """1: the voltage is the command; 0: the effort."""
    DAMPING = 3
    """Passive, by the drive [N m s/rad or N s/m]."""
    BRAKE = 4
    """Dry friction of the brake, infinite for one that always holds [N m or N]."""
    EXTERNAL = 5
    """Effort of external wrenches [N m or N]."""


class ReportRow(IntEnum):
    """Rows of the report at the end of a step, an array of shape (len(ReportRow), n)."""

    VOLTAGE = 0
    """At the motor's terminals [V]."""
    CURRENT = 1
    """Of the armature [A]."""
    EFFORT = 2
    """Of the drive on the joint: gamma tau_0 of a motor, and its passive damping [N m or N]."""
    FRICTION = 3
    """Viscous and dry, of joint, gear and brake, on the joint [N m or N]."""
    STOP = 4
    """Of the stops on the joint [N m or N]."""
    VOLTAGE_SATURATED = 5
    CURRENT_SATURATED = 6
    EFFORT_SATURATED = 7


@dataclass(frozen=True, eq=False)
class PlantModel:
    """A robot with its actuators and friction, and the method of simulation.

    Attributes:
        model: The rigid bodies, limits, and the rotors of the joints without motors; its friction is ignored.
        actuators: One for each joint.
        friction: Of the joints.
        step: h [s].
        integrator: The method.
        world: Surfaces that the robot can touch; None: there are none.

    Raises:
        InputError: Actuators or friction are of another type, the numbers of joints differ, the step is not positive,
            a motor is too fast for an explicit method, the world names an unknown link, or the method has no contacts.
    """

    model: RobotModel
    actuators: JointActuators
    friction: Friction
    step: float
    integrator: Integrator = Integrator.SEMI_IMPLICIT_EULER
    world: World | None = None

    def __post_init__(self) -> None:
        """Check that the parts fit together."""
        as_number(self.step, Range(0.0, unit="s", above=True), "step of the plant")
        for given, kind in ((self.actuators, JointActuators), (self.friction, Friction)):
            if not isinstance(given, kind):
                raise InputError(f"plant: expected {kind.__name__}, received {type(given).__name__} {given!r}; "
                                 "HardwareSettings of robodyn_ros.actuation.configuration reads both from YAML")
        self.actuators.check(self.model)
        if (self.model.armature[self.actuators.is_motor] != 0.0).any():  # the motors have rotors of their own
            kept = np.where(self.actuators.is_motor, 0.0, 1.0)
            object.__setattr__(self, "model", self.model.with_scaled_armature(kept))
        if self.friction.n != self.model.n:
            raise InputError(f"robot '{self.model.name}': expected friction of {self.model.n} joints, received "
                             f"{self.friction.n}")
        known = [str(integrator) for integrator in Integrator]
        if self.integrator not in known:
            raise InputError(f"integrator: expected {', '.join(known[:-1])} or {known[-1]}, received "
                             f"{self.integrator!r}")
        object.__setattr__(self, "integrator", Integrator(self.integrator))
        self._check_electrical_time_constants()
        if self.world is not None and self.world.pairs == 0:
            object.__setattr__(self, "world", None)
        if self.world is not None:
            self.world.check(self.model)
            if self.integrator is not Integrator.SEMI_IMPLICIT_EULER:
                raise InputError(f"{self.world.where}: expected the integrator {Integrator.SEMI_IMPLICIT_EULER}, the "
                                 f"only one with contacts, received {self.integrator}; set the integrator, or leave "
                                 "out the world")

    @classmethod
    def from_description(cls, model: RobotModel, step: float = DEFAULT_STEP, actuators: JointActuators | None = None,
                       friction: Friction | None = None,
                       integrator: Integrator | str = Integrator.SEMI_IMPLICIT_EULER,
                       world: World | None = None) -> Self:
        """Make a model from a robot description and defaults for everything else.

        Args:
            model: The robot.
            step: h [s].
            actuators: One for each joint; None: ideal sources of effort.
            friction: Of the joints; None: that of the description.
            integrator: The method, or its name.
            world: Surfaces that the robot can touch; None: there are none.

        Raises:
            InputError: As in the class.
        """
        return cls(model, JointActuators.ideal_sources(model.n) if actuators is None else actuators,
                   Friction.from_model(model) if friction is None else friction, step,
                   integrator,  # type: ignore[arg-type]  # a name will do
                   world)

    def _check_electrical_time_constants(self) -> None:
        stable = {Integrator.EXPLICIT_EULER: 2.0, Integrator.RUNGE_KUTTA: 2.785}.get(self.integrator)
        times = constants(self.actuators.motors.motor.electrical_time_constant, traced=np.inf)
        for name, states, time in zip(self.model.joint_names, self.actuators.has_inductance, times, strict=True):
            if stable is not None and states and self.step > stable * time:
                raise InputError(
                    f"integrator {self.integrator}: expected steps up to {stable} L/R = {stable * time:.3g} s, beyond "
                    f"which the current of the motor at '{name}' is unstable, received {self.step} s; use "
                    f"{Integrator.SEMI_IMPLICIT_EULER}, smaller steps, or neglect the inductance")

    def check_voltages(self, by_voltage: Array) -> None:
        """Check that only joints with motors are driven by voltage.

        Args:
            by_voltage: Not 0 where a voltage is the command, shape (n,).

        Raises:
            InputError: A joint without a motor is.
        """
        wrong = (by_voltage != 0.0) & ~self.actuators.is_motor
        if wrong.any():
            names = ", ".join(name for name, bad in zip(self.model.joint_names, wrong, strict=True) if bad)
            raise InputError(f"voltage of '{self.model.name}': expected for joints with motors, received for {names}: "
                             "command an effort there, or configure a motor")

    @property
    def n(self) -> int:
        """Number of joints."""
        return self.model.n

    @cached_property
    def has_dry_friction(self) -> NDArray[np.bool_]:
        """Whether joint or gear have dry friction, shape (n,)."""
        return (constants(self.friction.static, traced=1.0) > 0.0) | self.actuators.has_gear_friction

    @cached_property
    def limits(self) -> ConstraintLimits:
        """Stops, and the greatest impulse of the motors in a step."""
        drive = self.step * self.actuators.effort_limit
        return ConstraintLimits(self.model.position_lower, self.model.position_upper, drive)

    def check_start(self, q: Array) -> None:
        """Check joint positions at the start, shape (n,) [rad or m].

        Raises:
            InputError: A contact point is inside a surface.
        """
        if self.world is not None:
            self.world.check_start(self.model, q)

    def state(self, q: Array, v: Array) -> Array:
        """Return the state with given positions and velocities, no current, ambient temperature and energies 0.

        Args:
            q: Shape (n,) [rad or m].
            v: Shape (n,) [rad/s or m/s].

        Returns:
            Shape (len(StateRow), n).
        """
        state = np.zeros((len(StateRow), self.n))
        state[StateRow.POSITION], state[StateRow.VELOCITY], state[StateRow.CONTACT_MODE] = q, v, STICKING
        state[StateRow.TEMPERATURE] = self.actuators.ambient_temperature
        return state
