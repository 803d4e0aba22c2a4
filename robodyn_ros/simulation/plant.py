# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The simulated robot: its state, and one fixed time step after another."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.actuation.friction import Friction
from robodyn_ros.actuation.joint_actuators import JointActuators
from robodyn_ros.checks import as_floats
from robodyn_ros.compile.kernel import compile_function
from robodyn_ros.compile.procedure import Bound, Procedure, compile_procedure
from robodyn_ros.compile.program import Repeat
from robodyn_ros.description.model import Array
from robodyn_ros.errors import InputError, SimulationError, shown
from robodyn_ros.kinematics.forward import path_to
from robodyn_ros.kinematics.twists import cross
from robodyn_ros.robot import Robot
from robodyn_ros.simulation.adaptive import AdaptiveMotion
from robodyn_ros.simulation.commands import Drive
from robodyn_ros.simulation.contact import contact_geometry, contact_wrench, surface_energy
from robodyn_ros.simulation.contact_world import World
from robodyn_ros.simulation.engine import SimulatedRobot
from robodyn_ros.simulation.motion import SmoothRow
from robodyn_ros.simulation.plant_model import CommandRow, Integrator, PlantModel, ReportRow, StateRow
from robodyn_ros.simulation.plant_step import EVERYTHING, UNDER_EFFORTS, Scope, plant_program, report_statement
from robodyn_ros.simulation.readings import Energy, energy
from robodyn_ros.timing import DEFAULT_STEP

_POSITION, _VELOCITY = int(StateRow.POSITION), int(StateRow.VELOCITY)  # plain integers index faster


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
        friction: Of the joints; None: that of the robot's description.
        integrator: Method of integration, one of ``Integrator``.
        tolerance: Relative and absolute, of ``Integrator.ADAPTIVE``.
        world: Surfaces that the robot can touch; None: there are none.

    Attributes:
        model: The simulated model.
        q: Joint positions, shape (n,) [rad or m]; never altered, only replaced.
        v: Joint velocities, shape (n,) [rad/s or m/s]; likewise.
        steps: Steps taken since the start.

    Raises:
        InputError: The position is not one of the robot or inside a surface, the step is not positive, actuators or
            friction are those of another number of joints, or no integrator is called so, or it has no contacts.
    """

    def __init__(self, robot: Robot, step: float = DEFAULT_STEP, position: ArrayLike | None = None,
                 compiled: bool = True, *, actuators: JointActuators | None = None,
                 friction: Friction | None = None,
                 integrator: Integrator | str = Integrator.SEMI_IMPLICIT_EULER, tolerance: float = 1e-9,
                 world: World | None = None) -> None:
        self.robot = robot
        self.model = model = PlantModel.from_description(robot.model, step, actuators, friction, integrator, world)
        self.step = step
        self.joint_names = robot.joint_names
        self.steps = 0
        self._dynamics = (robot if model.model is robot.model else Robot(model.model)).dynamics()
        self._wrenches: dict[str, Array] = {}
        self._wrench_kernels: dict[str, Callable[..., Array]] = {}
        self.q: Array
        self.v: Array
        self._state: Array
        self._adaptive = (AdaptiveMotion(model, tolerance, compiled)
                          if model.integrator is Integrator.ADAPTIVE else None)
        self._compiled = compiled
        self._programs: dict[Scope, tuple[Procedure, Bound | None]] = {}
        self._state = np.zeros((len(StateRow), robot.n))
        self._command, self._report = np.zeros((len(CommandRow), robot.n)), np.zeros((len(ReportRow), robot.n))
        self._smooth = np.zeros((len(SmoothRow), robot.n))
        self._forces = np.zeros((0 if model.world is None else model.world.pairs, 3))
        self._scope: Scope | None = None
        self._take_over(Drive(*np.zeros((3, robot.n))))
        self.initial_position = default_position(robot) if position is None else start_position(robot, position)
        model.check_start(self.initial_position)
        self.reset()

    @property
    def has_surroundings(self) -> bool:
        """Whether there is a surface that the robot could touch."""
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
        return self._dynamics.mass_matrix(self.q).diagonal() + self.model.actuators.reflected_inertia

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
        """Apply an external wrench to a link from now on.

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
            self._command[CommandRow.EXTERNAL] = 0.0
        self._choose_program()

    def environment_wrench(self, link: str) -> Array:
        """Return the wrench of surfaces and external wrenches on a link and on all links that it carries.

        Args:
            link: Name of any link.

        Returns:
            (force, torque) about the link's origin in base axes, shape (6,) [N, N m]: the mean over the last step for
            surfaces, and the present value for external wrenches.

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
        """Set the state of the robot, without currents and with its present temperatures.

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
        self._begin(self._state_at(position, v))

    def continue_from(self, other: Plant) -> None:
        """Take over the time and state of a plant with the same joints and motors but another payload.

        Energies start from zero; wrenches are not taken over.

        Args:
            other: The plant.
        """
        state = other._state.copy()
        state[StateRow.DRIVE_WORK:] = 0.0
        self._begin(state)
        self.steps = other.steps

    def advance(self, drive: Drive, steps: int = 1) -> None:
        """Take steps under the same drive.

        Args:
            drive: Command of the drives; efforts are limited to the effort limits.
            steps: Number of steps.

        Raises:
            InputError: A voltage is asked of a joint without a motor, or the number of efforts is wrong.
            SimulationError: The state is no longer finite; the last good one is kept.
        """
        last = self._drive
        if (drive.damping is not last.damping or drive.brake is not last.brake
                or drive.by_voltage is not last.by_voltage):
            self._take_over(drive)
        try:
            self._asked_effort[:] = drive.effort
        except ValueError:
            raise InputError(f"plant: effort: expected {self.model.n} numbers, "
                             f"received {shown(drive.effort)}") from None
        if drive.voltage is not None:
            self._asked_voltage[:] = drive.voltage
        if self._wrenches or self._adaptive is not None:
            for _ in range(steps):
                self._prepare_step()
                self._run(1)
        else:
            self._run(steps)

    def prepare(self) -> None:
        """Compile for every kind of command now; else each is compiled when the first command of its kind comes."""
        for scope in (UNDER_EFFORTS, EVERYTHING):
            self._program(scope)

    def _program(self, scope: Scope) -> tuple[Procedure, Bound | None]:
        """The program for a scope, made when first needed, and its memory if it is compiled."""
        if scope not in self._programs:
            variables, statements = plant_program(self.model, scope)
            inputs = ["state", "command"] + ["smooth"] * (self._adaptive is not None)
            outputs = ["state", "report", "health"] + ["contact_force"] * (self.model.world is not None)
            procedure = compile_procedure(variables, [Repeat("steps", statements), report_statement(self.model)],
                                          inputs, outputs, name="plant")
            self._programs[scope] = procedure, procedure.bind() if self._compiled else None
        return self._programs[scope]

    def _choose_program(self) -> None:
        """Run the program for efforts alone wherever it does: it takes less time, and is what rollouts run."""
        rows = CommandRow.BY_VOLTAGE, CommandRow.DAMPING, CommandRow.BRAKE
        efforts_alone = not (self._wrenches or self._adaptive or self._command[list(rows)].any())
        scope = UNDER_EFFORTS if efforts_alone else EVERYTHING
        if scope is self._scope:
            return
        self._scope, (self._procedure, bound) = scope, self._program(scope)
        if bound is not None:
            bound["state"], bound["command"], bound["report"] = self._state, self._command, self._report
            self._bound_state, self._health = bound["state"], bound["health"]
            self._command, self._report = bound["command"], bound["report"]
            self._smooth = self._smooth if self._adaptive is None else bound["smooth"]
            if self.model.world is not None:
                bound["contact_force"] = self._forces
                self._forces = bound["contact_force"]
        self._bound = bound
        self._asked_effort, self._asked_voltage = self._command[CommandRow.EFFORT], self._command[CommandRow.VOLTAGE]

    def _prepare_step(self) -> None:
        """Compute the parts outside of the compiled step: efforts of wrenches, and the adaptive motion."""
        command = self._command
        command[CommandRow.EXTERNAL] = 0.0
        for link, wrench in self._wrenches.items():
            command[CommandRow.EXTERNAL] += self._dynamics.jacobian(self.q, link).T @ wrench
        if self._adaptive is not None:
            self._smooth[:] = self._adaptive.step(self._state, command)

    def _run(self, steps: int) -> None:
        """Take steps under constant external efforts."""
        if self._bound is None:
            given = {} if self._adaptive is None else {"smooth": self._smooth}
            try:
                result = self._procedure.interpret(state=self._state, command=self._command, steps=steps, **given)
            except InputError:  # the book's motors take finite numbers only
                self._diverged(np.full_like(self._state, np.nan))
            state, health = result["state"], result["health"]
            self._report = result["report"]
            self._forces = result.get("contact_force", self._forces)
        else:
            self._bound.run(steps)
            state, health = self._bound_state.copy(), self._health
        if not math.isfinite(health):
            self._diverged(state)
        self._state = state
        self.q, self.v = state[_POSITION], state[_VELOCITY]
        self.steps += steps

    def _diverged(self, state: Array) -> None:
        """Restore the last good state, and raise."""
        if self._bound is not None:
            self._bound["state"] = self._state
        raise SimulationError(
            f"the simulation of '{self.robot.name}' diverged at {self.time:.6g} s: positions became "
            f"{state[StateRow.POSITION].tolist()} from velocities {self.v.tolist()} under efforts "
            f"{self._command[CommandRow.EFFORT].tolist()}; use a smaller step (now {self.step} s) or reset")

    def _begin(self, state: Array) -> None:
        """Set the state of the simulation."""
        self._state = state
        self.q, self.v = state[StateRow.POSITION], state[StateRow.VELOCITY]
        if self._bound is not None:
            self._bound["state"] = state
        self._report[:] = 0.0
        self._forces[:] = 0.0

    def _take_over(self, drive: Drive) -> None:
        """Write what stays the same as long as damping, brakes and the kind of the commands do."""
        by_voltage = np.zeros(self.robot.n) if drive.by_voltage is None else drive.by_voltage
        self.model.check_voltages(by_voltage)
        self._drive, command = drive, self._command
        command[CommandRow.DAMPING], command[CommandRow.BRAKE] = drive.damping, drive.brake
        command[CommandRow.BY_VOLTAGE] = by_voltage
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
