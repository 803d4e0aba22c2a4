# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The simulated robot: its state, advanced by fixed time steps."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.actuation.friction import FrictionModel
from robodyn_ros.actuation.joint_actuators import JointActuators
from robodyn_ros.base.checks import as_floats
from robodyn_ros.base.errors import InputError, SimulationError, shown
from robodyn_ros.base.timing import DEFAULT_STEP
from robodyn_ros.compile import maximum
from robodyn_ros.compile.kernel import compile_function
from robodyn_ros.compile.procedure import Bound, Procedure, compile_procedure
from robodyn_ros.compile.program import Compute, Repeat
from robodyn_ros.compile.records import form_of, from_numbers, places, to_numbers
from robodyn_ros.description.model import Array
from robodyn_ros.kinematics.forward import path_to
from robodyn_ros.kinematics.twists import cross
from robodyn_ros.robot import Robot
from robodyn_ros.simulation.commands import Drive
from robodyn_ros.simulation.contact import CONTACT_FORCE, contact_geometry, contact_wrench, surface_energy
from robodyn_ros.simulation.contact_world import World
from robodyn_ros.simulation.driver import Driver
from robodyn_ros.simulation.engine import SimulatedRobot
from robodyn_ros.simulation.fast_motion import (
    angular_speed_sum,
    divided_step_program,
    max_speed,
    resolved_speed,
    with_divided_steps,
)
from robodyn_ros.simulation.integrator import Integrator
from robodyn_ros.simulation.outputs import report_at_rest
from robodyn_ros.simulation.plant_model import PlantModel
from robodyn_ros.simulation.plant_state import PlantState
from robodyn_ros.simulation.plant_step import report_statement, step_program
from robodyn_ros.simulation.readings import Energy, energy


class _Kind(NamedTuple):
    """Kind of a program: whether it takes efforts only, and whether it divides steps."""

    under_efforts: bool
    divides: bool


class Plant(SimulatedRobot):
    """Rigid bodies with motors, viscous and dry friction, effort limits and stops at the position limits.

    Stops and dry friction (see :mod:`robodyn_ros.simulation.joint_constraints`) only dissipate energy: a stop is
    inelastic, and a joint below its breakaway effort does not creep.

    Args:
        robot: The robot.
        step: Time step [s].
        position: Positions at the start and after :meth:`reset`, shape (n,) [rad or m]; None: see
            :func:`default_position`.
        compiled: Whether to compile the step for this robot; False: interpret it, as the reference for tests.
        actuators: One for each joint; None: ideal sources of effort.
        friction: Friction of the joints; None: that of the robot, or else of its description.
        integrator: Method of integration, one of ``Integrator``.
        tolerance: Relative and absolute tolerance of a method without fixed steps.
        world: Surfaces that the robot can touch; None: there are none.
        driver: Driver, kept in the model for the control loop; steps do not use it.

    Attributes:
        model: The simulated model.
        q: Joint positions, shape (n,) [rad or m]; never altered, only replaced.
        v: Joint velocities, shape (n,) [rad/s or m/s]; likewise.
        steps: Steps taken since the start.

    Raises:
        InputError: The position is beyond limits or inside a surface, the step is not positive, actuators or friction
            have another number of joints, or the integrator is unknown or has no contacts.
    """

    def __init__(self, robot: Robot, step: float = DEFAULT_STEP, position: ArrayLike | None = None,
                 compiled: bool = True, *, actuators: JointActuators | None = None,
                 friction: FrictionModel | None = None,
                 integrator: Integrator | str = Integrator.SEMI_IMPLICIT_EULER, tolerance: float = 1e-9,
                 world: World | None = None, driver: Driver | None = None) -> None:
        self.robot = robot
        self.model = model = PlantModel.from_robot(robot, step, actuators, friction, integrator=integrator,
                                                        world=world, driver=driver)
        self.step = step
        self.joint_names = robot.joint_names
        self.steps, self._n = 0, robot.n
        self._dynamics = (robot if model.model is robot.model else Robot(model.model)).dynamics()
        self._wrenches: dict[str, Array] = {}
        self._wrench_kernels: dict[str, Callable[..., Array]] = {}
        self.q: Array
        self.v: Array
        self._stepper = model.method.stepper(model, tolerance, compiled)
        self._compiled = compiled
        self._programs: dict[_Kind, tuple[Procedure, Bound | None]] = {}
        rest = model.state(*np.zeros((2, robot.n)))
        form: Any = form_of(rest)
        self._form, self._numbers = form, to_numbers(form, rest, "state")  # q and v first
        self._rest, self._places = self._numbers, places(form)
        self._command, self._report = model.command(np.zeros(robot.n)), report_at_rest(model, rest)
        self._no_loops, self._closes_loops = self._command.drives, len(model.actuators.drive_loops) > 0
        self._forces = np.zeros((model.parts.contacts.world.pairs, 3))
        self._kind: _Kind | None = None
        self._angular_speed = 0.0  # sum of angular speeds [rad/s]
        self._resolved, self._greatest = resolved_speed(model), max_speed(model)
        self._take_over(Drive(*np.zeros((3, robot.n))))
        self.initial_position = default_position(robot) if position is None else start_position(robot, position)
        model.check_start(self.initial_position)
        self.reset()

    @property
    def _state(self) -> PlantState:  # type: ignore[override]  # built on request
        state: PlantState = from_numbers(self._form, self._numbers)
        return state

    @property
    def has_surroundings(self) -> bool:
        """Whether there is a surface that the robot can touch."""
        return self.model.world is not None

    @property
    def energy(self) -> Energy:
        """Stored energy, and work and losses since the last reset or new state."""
        return energy(self.model, self._dynamics, self._state)

    @property
    def contact_forces(self) -> Array:
        """Mean forces of the surfaces on the contact points in the last step, in base axes, shape (pairs, 3) [N]."""
        return self._forces.copy()

    @property
    def surface_energy(self) -> float:
        """Energy that the surfaces store [J]."""
        world = self.model.world
        return 0.0 if world is None else float(
            surface_energy(world, contact_geometry(world, self.model.model, self.q).penetration))

    def joint_inertia(self) -> Array:
        """Return the inertia of each joint moving alone, with rotors, shape (n,) [kg m^2 or kg]."""
        return self._dynamics.mass_matrix(self.q).diagonal() + self.model.rotor_shares

    def reset(self) -> None:
        """Return to the initial position at rest, without current, at ambient temperature; time continues."""
        self._begin(self.model.state(self.initial_position, np.zeros(self.robot.n)))

    def check_link(self, link: str) -> None:
        """Check that wrenches can act on a link, and compile its Jacobian.

        Raises:
            InputError: No link has that name.
        """
        self._dynamics.jacobian(self.initial_position, link)

    def set_wrench(self, link: str, wrench: ArrayLike) -> None:
        """Apply an external wrench to a link until it is replaced.

        Args:
            link: Name of any link.
            wrench: (force, torque) on the link, about its origin in base axes, shape (6,) [N, N m].

        Raises:
            InputError: No link has that name, the shape is wrong or a value not finite.
        """
        self.robot.model.frame(link)
        array = as_floats(wrench, (6,), f"wrench on '{link}'").copy()
        if array.any():
            self._wrenches[link] = array
        elif self._wrenches.pop(link, None) is not None:
            self._command.external[:] = 0.0
        self._choose_program()

    def environment_wrench(self, link: str) -> Array:
        """Return the wrench of surfaces and external wrenches on a link and all links that it carries.

        Args:
            link: Name of any link.

        Returns:
            (force, torque) about the link's origin in base axes, shape (6,) [N, N m]: the mean over the last step of
            the surfaces, plus the present external wrenches.

        Raises:
            InputError: No link has that name.
        """
        model, world = self.robot.model, self.model.world
        total = np.zeros(6)
        if world is not None:
            if link not in self._wrench_kernels:
                shapes = {"q": (model.n,), "force": self._forces.shape}
                self._wrench_kernels[link] = compile_function(
                    lambda q, force: contact_wrench(world, model, q, force, link), shapes, name="contact_wrench").call
            total = total + self._wrench_kernels[link](self.q, self._forces)
        carrier, origin = model.frame(link).joint, None
        for other, wrench in self._wrenches.items():
            if carrier in (-1, *path_to(model, model.frame(other).joint)):
                origin = self._origin(link) if origin is None else origin
                total = total + wrench
                total[3:] += cross(self._origin(other) - origin, wrench[:3])
        return total

    def _origin(self, link: str) -> Array:
        origin: Array = self._dynamics.forward_kinematics(self.q, link)[:3, 3]
        return origin

    def set_wrench_tip(self, wrench: ArrayLike) -> None:
        """Apply an external wrench to the tip link; see :meth:`set_wrench`."""
        self.set_wrench(self.robot.tip_link, wrench)

    def set_state(self, q: ArrayLike | None = None, v: ArrayLike | None = None) -> None:
        """Set the state of the robot; currents become 0, temperatures stay.

        Args:
            q: Joint positions, shape (n,) [rad or m]; None: kept.
            v: Joint velocities, shape (n,) [rad/s or m/s]; None: zeros.

        Raises:
            InputError: A shape is wrong, a value not finite, or a position beyond its limits or inside a surface;
                nothing changes then.
        """
        position = self.q if q is None else start_position(self.robot, q)
        if q is not None:
            self.model.check_start(position)
        velocity = np.zeros(self.robot.n) if v is None else as_floats(v, (self.robot.n,), "velocities")
        numbers, warm = self._rest.copy(), self._places["temperature"]
        numbers[warm] = self._numbers[warm]
        given = {"q": position, "v": velocity}
        if len(self.model.elastic):
            side = self.model.motors_at(position, velocity)
            given |= {"motor_side.q": side.q, "motor_side.v": side.v}
        for path, values in given.items():
            numbers[self._places[path]] = values
        self._begin_with(numbers)

    def continue_from(self, other: Plant) -> None:
        """Take over time and state of a plant with the same joints and motors and another payload.

        Energies start from zero; wrenches are not taken over.

        Args:
            other: The plant.
        """
        self._begin(other._state.without_energies())
        self.steps = other.steps

    def advance(self, drive: Drive, steps: int = 1) -> None:
        """Take steps under the same drive.

        Args:
            drive: Command of the drives; efforts are limited to the effort limits.
            steps: Number of steps.

        Raises:
            InputError: A voltage is commanded for a joint without a motor, or the number of efforts is wrong.
            SimulationError: The state is no longer finite, or the joints are faster than `fast_motion.max_speed`;
                the last good state is kept.
        """
        last = self._drive
        if (drive.damping is not last.damping or drive.brake is not last.brake
                or drive.by_voltage is not last.by_voltage):
            self._take_over(drive)
        try:
            self._command.effort[:] = drive.effort
        except ValueError:
            raise InputError(f"plant: effort: expected {self.model.n} numbers, "
                             f"received {shown(drive.effort)}") from None
        if self._closes_loops:
            for own, given in zip(self._command.drives, drive.loops or self._no_loops, strict=True):
                own[:] = given
        if drive.voltage is not None and not (self._kind and self._kind.under_efforts):
            self._command.voltage[:] = drive.voltage
        if self._wrenches or self._stepper is not None:
            for _ in range(steps):
                self._run(1, **self._prepare_step())
        else:
            self._run(steps)

    def prepare(self) -> None:
        """Compile for every kind of command now, instead of at the first command of its kind."""
        for under_efforts in (True, False):
            self._program(_Kind(under_efforts, divides=False))

    def prepare_further(self) -> bool:
        """Compile one program for fast motions; return whether one was left."""
        if not math.isfinite(self._resolved):
            return False
        for under_efforts in (True, False):
            kind = _Kind(under_efforts, divides=True)
            if kind not in self._programs:
                self._program(kind)
                return True
        return False

    def _program(self, kind: _Kind) -> tuple[Procedure, Bound | None]:
        """The program for a kind of steps, made on first use, and its memory if compiled."""
        if kind not in self._programs:
            make, model = ((divided_step_program, with_divided_steps(self.model)) if kind.divides
                           else (step_program, self.model))
            step = make(self.model, under_efforts=kind.under_efforts)
            variables = {"peak": (), "report": self._report, "health": (), "angular_speed": ()} | step.variables
            start = Compute(lambda: np.float64(0.0), (), "peak")
            end = Compute(lambda v, peak: maximum(peak, angular_speed_sum(model, v)), ("state.v", "peak"),
                          "angular_speed")
            outputs = report_statement(model, with_health=True)
            procedure = compile_procedure(
                variables, [start, Repeat("steps", step.statements), outputs, end], step.inputs,
                ["state", "report", "health", "angular_speed", CONTACT_FORCE], name="plant")
            program = procedure, procedure.bind() if self._compiled else None
            self._programs.setdefault(kind, program)  # another thread may have stored it first
        return self._programs[kind]

    def _choose_program(self) -> None:
        """Choose the program for efforts only where it suffices: it is faster, and the one that rollouts run.

        Steps that are too long for the speed are divided.
        """
        command = self._command
        under_efforts = not (self._wrenches or self._stepper or command.by_voltage.any() or command.damping.any()
                             or command.brake.any())
        kind = _Kind(under_efforts, self._angular_speed > self._resolved)
        if kind == self._kind:
            return
        self._kind, (self._procedure, bound) = kind, self._program(kind)
        if bound is not None:
            bound["command"], bound["report"], bound[CONTACT_FORCE] = command, self._report, self._forces
            self._command, self._report = bound["command"], bound["report"]
            self._forces, self._health = bound[CONTACT_FORCE], bound["health"]
            self._bound_angular_speed = bound["angular_speed"]
            self._bound_numbers = bound.numbers("state")
            self._bound_numbers[:] = self._numbers
        self._bound = bound

    def _prepare_step(self) -> dict[str, Any]:
        """Compute what the compiled step takes as inputs: efforts of wrenches, and the smooth motion."""
        command = self._command
        command.external[:] = 0.0
        for link, wrench in self._wrenches.items():
            command.external[:] += self._dynamics.jacobian(self.q, link).T @ wrench
        return {} if self._stepper is None else {"smooth": self._stepper.step(self._state, command)}

    def _run(self, steps: int, **more: Any) -> None:
        """Take steps under constant external efforts, with further inputs of the program."""
        numbers, health, speed = self._take(steps, more)
        if not speed <= self._resolved and self._angular_speed <= self._resolved < math.inf:  # false for NaN
            self._restore()  # to take the same steps again, divided
            self._angular_speed = math.inf
            self._choose_program()
            numbers, health, speed = self._take(steps, more)
        if not (math.isfinite(health) and speed <= self._greatest):
            self._diverged(numbers, speed)
        self._set_numbers(numbers)
        self.steps += steps
        if self._angular_speed > self._resolved:
            self._angular_speed = float(angular_speed_sum(self.model, self.v))
            self._choose_program()

    def _take(self, steps: int, more: Mapping[str, Any]) -> tuple[Array, float, float]:
        """Take steps; return the state's numbers, a number that is finite if they are, and `angular_speed_sum`."""
        if self._bound is None:
            return self._interpret(steps, **more)
        for name, value in more.items():
            self._bound[name] = value
        self._bound.run(steps)
        return self._bound_numbers.copy(), self._health.item(), self._bound_angular_speed.item()

    def _interpret(self, steps: int, **more: Any) -> tuple[Array, float, float]:
        """Like :meth:`_take`, on floats."""
        under_efforts = self._kind is not None and self._kind.under_efforts
        command: dict[str, Any] = {"command": self._command}
        if under_efforts:
            command = {"command.effort": self._command.effort} | (
                {"command.drives": self._command.drives} if self._closes_loops else {})
        try:
            result = self._procedure.interpret(state=self._state, steps=steps, **command, **more)
        except InputError:  # the motor formulas accept finite numbers only
            return np.full_like(self._numbers, np.nan), np.nan, np.nan
        self._report, self._forces = result["report"], result[CONTACT_FORCE]
        return (to_numbers(self._form, result["state"], "state"), float(result["health"]),
                float(result["angular_speed"]))

    def _restore(self) -> None:
        """Return to the last good state."""
        if self._bound is not None:
            self._bound_numbers[:] = self._numbers

    def _diverged(self, numbers: Array, speed: float) -> None:
        """Restore the last good state, and raise."""
        self._restore()
        start, efforts = self.v.tolist(), self._command.effort.tolist()
        if np.isfinite(numbers).all():
            raise SimulationError(
                f"the simulation of '{self.robot.name}' ends at {self.time:.6g} s, too fast for steps of {self.step} "
                f"s: expected angular speeds of at most {self._greatest:g} rad/s in sum, received {speed:.6g} rad/s "
                f"after velocities {start} under efforts {efforts}; use smaller efforts or a smaller step, or reset")
        raise SimulationError(
            f"the simulation of '{self.robot.name}' diverged at {self.time:.6g} s: positions became "
            f"{numbers[:self.robot.n].tolist()} from velocities {start} under efforts {efforts}; use a smaller step "
            f"(now {self.step} s) or reset")

    def _begin(self, state: PlantState) -> None:
        """Set the state of the simulation."""
        self._begin_with(to_numbers(self._form, state, "state"))

    def _begin_with(self, numbers: Array) -> None:
        """Set the numbers of the state."""
        self._set_numbers(numbers)
        self._angular_speed = float(angular_speed_sum(self.model, self.v))
        self._restore()
        self._choose_program()
        self._forces[...] = 0.0
        for array, at_rest in zip(self._report, report_at_rest(self.model, self._state), strict=True):
            array[...] = at_rest

    def _set_numbers(self, numbers: Array) -> None:
        n = self._n
        self._numbers, self.q, self.v = numbers, numbers[:n], numbers[n : 2 * n]

    def _take_over(self, drive: Drive) -> None:
        """Write damping, brakes and voltages into the program, and choose the program for this kind of command."""
        by_voltage = np.zeros(self.robot.n) if drive.by_voltage is None else drive.by_voltage
        self.model.check_voltages(by_voltage)
        self._drive, command = drive, self._command
        command.damping[:], command.brake[:], command.by_voltage[:] = drive.damping, drive.brake, by_voltage
        self._choose_program()


def start_position(robot: Robot, q: ArrayLike) -> Array:
    """Return a copy of joint positions to start from, shape (n,) [rad or m].

    Raises:
        InputError: The shape is wrong, or a position is not finite or beyond its limits.
    """
    array = as_floats(q, (robot.n,), f"positions of '{robot.name}'").copy()
    lower, upper = robot.model.position_lower, robot.model.position_upper
    for name, value, low, high in zip(robot.joint_names, array, lower, upper, strict=True):
        if not low <= value <= high:
            raise InputError(f"position of joint '{name}': expected {low:g} to {high:g}, its limits, "
                             f"received {value:g}")
    return array


def default_position(robot: Robot) -> Array:
    """Return the default position of a robot, shape (n,) [rad or m].

    Zero where the limits of a joint allow it, else the middle between the limits, or the only limit.
    """
    lower, upper = robot.model.position_lower, robot.model.position_upper
    bounded = np.isfinite(lower) & np.isfinite(upper)
    middle = 0.5 * (np.where(bounded, lower, 0.0) + np.where(bounded, upper, 0.0))
    within = (lower <= 0.0) & (upper >= 0.0)
    return np.where(within, 0.0, np.where(bounded, middle, np.clip(0.0, lower, upper)))
