# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The simulated model as data: bodies, actuators, friction, step, method."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.actuation.driver_profile import DRIVERS
from robodyn_ros.actuation.friction import Friction, FrictionModel
from robodyn_ros.actuation.joint_actuators import JointActuators
from robodyn_ros.base.checks import Range, as_number
from robodyn_ros.base.errors import InputError
from robodyn_ros.base.timing import DEFAULT_STEP
from robodyn_ros.compile import compile_function
from robodyn_ros.description.model import Array, RobotModel
from robodyn_ros.dynamics.mass_matrix import check_mass_matrix, mass_matrix
from robodyn_ros.dynamics.second_moment_newton_euler import bias
from robodyn_ros.robot import Robot
from robodyn_ros.simulation.contact import Contacts
from robodyn_ros.simulation.contact_world import World
from robodyn_ros.simulation.driver import Driver
from robodyn_ros.simulation.elastic_joints import ElasticDrives
from robodyn_ros.simulation.integrator import IntegrationMethod, Integrator
from robodyn_ros.simulation.joint_constraints import STICKING, ConstraintLimits
from robodyn_ros.simulation.plant_part import PlantParts
from robodyn_ros.simulation.plant_state import EnergySums, MotorSide, PlantCommand, PlantState
from robodyn_ros.simulation.presliding import BristleFriction


@dataclass(frozen=True, eq=False)
class PlantModel:
    """A robot with its actuators and friction, and the method of simulation.

    Attributes:
        model: The rigid bodies, limits, and the rotors of joints without motors; its friction is ignored. Its couplings
            apply to these rotors only; ``actuators`` has those of motors.
        actuators: One for each joint.
        friction: Friction of the joints.
        step: h [s].
        integrator: The method of integration.
        world: Surfaces that the robot can touch; None: there are none.
        driver: Driver between commands and drives. It acts once per control period, outside of the step. None: the
            drives get the commands unchanged.

    Raises:
        InputError: Actuators or friction have a wrong type or number of joints, the step is not positive, a motor is
            too fast for an explicit method, the world names an unknown link, or the method has no contacts.
        DescriptionError: The robot has no inertia, or efforts do not determine its accelerations.
    """

    model: RobotModel
    actuators: JointActuators
    friction: FrictionModel
    step: float
    integrator: Integrator = Integrator.SEMI_IMPLICIT_EULER
    world: World | None = None
    driver: Driver | None = None

    def __post_init__(self) -> None:
        """Check that the parts fit together."""
        as_number(self.step, Range(0.0, unit="s", above=True), "step of the plant")
        for given, kind in ((self.actuators, JointActuators), (self.friction, FrictionModel)):
            if not isinstance(given, kind):
                raise InputError(f"plant: expected {kind.__name__}, received {type(given).__name__} {given!r}; "
                                 "HardwareSettings of robodyn_ros.actuation.configuration reads both from YAML")
        object.__setattr__(self, "model", self.model.described)  # the plant has actuators of its own
        self.actuators.check(self.model)
        apart = self.actuators.is_motor | self.actuators.is_elastic
        if (self.model.armature[apart] != 0.0).any():  # these have rotors of their own
            kept = np.where(apart, 0.0, 1.0)
            object.__setattr__(self, "model", self.model.with_scaled_armature(kept))
        check_mass_matrix(self.model, self.actuators.rotor_inertia)
        if self.friction.n != self.model.n:
            raise InputError(f"robot '{self.model.name}': expected friction of {self.model.n} joints, received "
                             f"{self.friction.n}")
        if self.driver is not None and self.driver.model.n != self.model.n:
            raise InputError(f"robot '{self.model.name}': expected a driver of {self.model.n} joints, received one of "
                             f"{self.driver.model.n}")
        known = [str(integrator) for integrator in Integrator]
        if self.integrator not in known:
            raise InputError(f"integrator: expected {', '.join(known[:-1])} or {known[-1]}, received "
                             f"{self.integrator!r}")
        object.__setattr__(self, "integrator", Integrator(self.integrator))
        if np.isfinite(stable := self.method.stable_decay):
            self.actuators.circuits.check(self.step, stable, self.model.joint_names, f"integrator {self.integrator}")
        if self.actuators.follows_temperature and not self.method.has_fixed_steps:
            raise InputError(f"integrator {self.integrator}: expected motors that do not depend on the temperature; "
                             "use another integrator, or leave out temperature_effects and derating")
        self._check_implicit(self.actuators.has_ripple, "motors without torque_ripple")
        actuators = self.actuators
        actuators.cogging.check(actuators.motors.motor, actuators.is_motor, self.step, self.model.joint_names)
        loops = actuators.current_loops
        self._check_implicit(len(loops.joints) > 0, "motors without current_loop")
        loops.check(actuators.motors.motor, self.step, self.model.joint_names)
        drives = actuators.drive_loops
        self._check_implicit(len(drives) > 0, "drives without drive_loop")
        drives.check(self.step, self.model.joint_names, actuators.is_coupled)
        if len(drives) and self.driver is not None:
            raise InputError(f"robot '{self.model.name}': expected a driver, or drives with drive_loop, received both")
        if self.world is not None and self.world.pairs == 0:
            object.__setattr__(self, "world", None)
        for part in self.parts:
            part.check(self)

    @classmethod
    def from_description(cls, model: RobotModel, step: float = DEFAULT_STEP, actuators: JointActuators | None = None,
                       friction: FrictionModel | None = None,
                       integrator: Integrator | str = Integrator.SEMI_IMPLICIT_EULER,
                       world: World | None = None, driver: Driver | str | None = None) -> Self:
        """Make a model from a robot description and defaults for everything else.

        Args:
            model: The robot.
            step: h [s].
            actuators: One for each joint; None: ideal sources of effort.
            friction: Friction of the joints; None: that of the description.
            integrator: The method, or its name.
            world: Surfaces that the robot can touch; None: there are none.
            driver: Driver between commands and drives; or the name or file of one, which then knows this robot and
                friction; None: the drives get the commands unchanged.

        Raises:
            InputError: As in the class.
        """
        model = model.described
        model.check_inertia()
        friction = Friction.from_model(model) if friction is None else friction
        return cls(model, JointActuators.ideal_sources(model.n) if actuators is None else actuators, friction, step,
                   integrator,  # type: ignore[arg-type]  # a name will do
                   world, Driver(DRIVERS.load(driver), model, friction) if isinstance(driver, str) else driver)

    @classmethod
    def from_robot(cls, robot: Robot, step: float = DEFAULT_STEP, actuators: JointActuators | None = None,
                   friction: FrictionModel | None = None, **options: Any) -> Self:
        """Make a model of a robot with its actuators and friction, even those that its laws ignore.

        Args:
            robot: The robot.
            step: h [s].
            actuators: One for each joint; None: those of the robot, or else ideal sources of effort.
            friction: Friction of the joints; None: that of the robot, or else of its description.
            **options: As for `from_description`.

        Raises:
            InputError: As in the class.
        """
        return cls.from_description(robot.model, step, robot.actuators if actuators is None else actuators,
                                    robot.friction if friction is None else friction, **options)

    def known_to(self, robot: Robot) -> Robot:
        """Return a robot with the actuators and friction of this plant, unless it has actuators itself.

        Args:
            robot: The robot as laws know it; it still ignores the same parts, see `Robot.ignoring`.
        """
        return robot.with_actuators(self.actuators, self.friction) if robot.actuators is None else robot

    def _check_implicit(self, there: bool, expected: str, remedy: str = "leave it out") -> None:
        """Refuse a part that needs an implicit method, if another one is chosen."""
        if there and not self.method.is_implicit:
            raise InputError(f"integrator {self.integrator}: expected {expected}; use "
                             f"{Integrator.SEMI_IMPLICIT_EULER}, or {remedy}")

    @property
    def method(self) -> IntegrationMethod:
        """The method of integration."""
        return self.integrator.method

    @property
    def follows_state(self) -> bool:
        """Whether motor constants depend on the temperature of the windings, or on the motor angles."""
        return self.actuators.follows_temperature or self.actuators.has_ripple

    def at_state(self, temperature: NDArray[Any], q: NDArray[Any], v: NDArray[Any], motor_side: MotorSide) -> Self:
        """Return the plant with the motor constants of a state; all arguments may be traced.

        Args:
            temperature: Temperatures of the windings, shape (n,) [degrees Celsius].
            q: Joint positions, shape (n,) [rad or m].
            v: Joint velocities, shape (n,) [rad/s or m/s].
            motor_side: Motors of elastic joints.
        """
        actuators = self.actuators
        if actuators.follows_temperature:
            actuators = actuators.at(temperature)
        if actuators.has_ripple:
            actuators = actuators.at_angle(self.elastic.at_motors(self.elastic.joined(q, motor_side.q)),
                                           self.step * self.elastic.at_motors(self.elastic.joined(v, motor_side.v)))
        return self if actuators is self.actuators else replace(self, actuators=actuators)

    def check_voltages(self, by_voltage: Array) -> None:
        """Check that only joints with motors are commanded by voltage.

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

    @property
    def drifts_first(self) -> bool:
        """Whether positions move for half a step before forces act: with springs, see `semi_implicit_euler`."""
        return self.method.is_implicit and len(self.elastic) > 0

    @property
    def drift(self) -> float:
        """Time in a step for which positions move with the new velocities [s]."""
        return 0.5 * self.step if self.drifts_first else self.step

    @cached_property
    def has_dry_friction(self) -> NDArray[np.bool_]:
        """Whether joint, motor or gear have dry friction, shape (n,)."""
        return self.friction.has_dry | self.actuators.has_gear_friction

    @cached_property
    def limits(self) -> ConstraintLimits:
        """Stops, greatest impulse of the motors in a step, and their coupling to joints or motor sides."""
        drive, gear, m = self.step * self.actuators.circuits.effort_limit, self.actuators.motors.gear, len(self.elastic)
        coupling, nowhere = gear.coupling, np.full(m, np.inf)
        if m:
            coupling = np.hstack([gear.joint_rows, np.zeros((self.n, m))])
            coupling[self.elastic.joints, self.elastic.joints] = 0.0
            coupling[self.elastic.joints, self.n + np.arange(m)] = 1.0
        sliding = np.zeros((0, self.n + m)) if coupling is None else coupling[self.sliding_motors]
        return ConstraintLimits(self.elastic.joined(self.model.position_lower, -nowhere),
                                self.elastic.joined(self.model.position_upper, nowhere), drive, coupling, sliding)

    @cached_property
    def elastic(self) -> ElasticDrives:
        """The m joints with a spring between motor and link, and the order of arrays of links and motors."""
        return ElasticDrives(self.model, self.actuators, self.step, self.method.is_implicit)

    @cached_property
    def parts(self) -> PlantParts:
        """The parts that act in the problem of a step, or have a state."""
        world = World((), ()) if self.world is None else self.world
        return PlantParts(self.elastic, Contacts(world, self.model, self.step, self.drift),
                     BristleFriction(self.friction.bristles, self.n, self.step))

    @cached_property
    def measured_at_motors(self) -> NDArray[np.bool_] | None:
        """Which joints are measured on the motor's side of a spring, shape (n,); None: none."""
        at_motors: NDArray[np.bool_] = self.actuators.transmission.motor_encoder & self.actuators.is_elastic
        return at_motors if at_motors.any() else None

    @cached_property
    def sliding_motors(self) -> NDArray[np.intp]:
        """Indices of the motors that drive several joints and have dry friction, shape (coupled,)."""
        return np.flatnonzero(self.actuators.is_coupled & self.actuators.has_gear_friction)

    @cached_property
    def coupled_damping(self) -> Array:
        """Viscous friction of the shafts of coupled motors at their gears' outputs, else 0, shape (n,)."""
        return np.where(self.actuators.is_coupled, self.actuators.reflected_damping, 0.0)

    def friction_work(self, motor_impulse: NDArray[Any], v: NDArray[Any]) -> NDArray[Any] | float:
        """Return the work of the dry friction of coupled motors, shape (n,) [J]; 0 where there is none.

        Args:
            motor_impulse: Shape (coupled,) [N m s or N s].
            v: Mean velocities of links and motors in the step, shape (n + m,) [rad/s or m/s].
        """
        if not len(self.sliding_motors):
            return 0.0
        work = motor_impulse * (self.limits.sliding @ v)
        spread = np.zeros(self.n, dtype=work.dtype)
        spread[self.sliding_motors] = work
        return spread

    def check_start(self, q: Array) -> None:
        """Check joint positions at the start, shape (n,) [rad or m].

        Raises:
            InputError: A contact point is inside a surface.
        """
        if self.world is not None:
            self.world.check_start(self.model, q)

    @cached_property
    def speed_weights(self) -> Array:
        """Square roots of the joints' shares in the inertia at positions 0; 0 for prismatic joints, shape (n,)."""
        inertias = np.diag(mass_matrix(self.model, np.zeros(self.n))) + self.rotor_shares
        turns = np.array([joint.kind != "prismatic" for joint in self.model.leaders])
        return np.sqrt(np.where(turns, inertias, 0.0) / max(np.max(inertias, where=turns, initial=0.0), 1e-300))

    @property
    def rotor_shares(self) -> Array:
        """Inertia that the motors add to a joint moving alone and slowly, shape (n,) [kg m^2 or kg]."""
        own = np.where(self.actuators.is_elastic, self.actuators.reflected_inertia, 0.0)
        shares: Array = np.diag(self.actuators.rotor_inertia) + own
        return shares

    def state(self, q: Array, v: Array) -> PlantState:
        """Return a state with given positions and velocities, no current, ambient temperature and energies 0.

        Motors of elastic joints start where their springs bear the links' weights, with the velocities of the links.

        Args:
            q: Shape (n,) [rad or m].
            v: Shape (n,) [rad/s or m/s].
        """
        none, q, v = np.zeros(self.n), np.array(q, dtype=np.float64), np.array(v, dtype=np.float64)
        return PlantState(q, v, none, np.broadcast_to(self.actuators.winding.ambient_temperature, self.n) + 0.0,
                          np.full(self.n + len(self.elastic), float(STICKING)), none,
                          EnergySums(*np.zeros((6, self.n))), self.parts.presliding.at_rest(),
                          self.actuators.current_loops.at_rest(), self.actuators.drive_loops.at_rest(),
                          self.motors_at(q, v))

    def command(self, effort: NDArray[Any]) -> PlantCommand:
        """Return commands of efforts only, shape (n,) [N m or N]; drives with a loop of their own pass them on."""
        return PlantCommand.from_effort(effort, self.actuators.drive_loops.no_command())

    def motors_at(self, q: Array, v: Array) -> MotorSide:
        """Return motors of elastic joints whose springs bear the links' weights; arguments as for :meth:`state`."""
        motor_q = self.elastic.at_rest(q, self._gravity(q)) if len(self.elastic) else np.zeros(0)
        return MotorSide(motor_q, v[self.elastic.joints].copy())

    @cached_property
    def _gravity(self) -> Callable[..., Array]:
        return compile_function(lambda q: bias(self.model, q, np.zeros(self.n)), {"q": (self.n,)}, name="gravity").call
