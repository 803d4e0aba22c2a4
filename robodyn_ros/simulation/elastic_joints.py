# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Elastic joints: motors behind springs with backlash [Spong]; `transmission` has the springs.

The motor of such a joint has a position theta and a velocity of its own, at the output of its gear:

    M(q) q'' + ... = T + efforts on the link,    J theta'' = motor - T
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.actuation.joint_actuators import JointActuators
from robodyn_ros.actuation.transmission import SpringDeflection, SpringLine, SpringTorque, Transmission
from robodyn_ros.base.checks import is_traced
from robodyn_ros.base.errors import InputError
from robodyn_ros.description.model import Array, RobotModel
from robodyn_ros.dynamics.mass_matrix import mass_matrix
from robodyn_ros.simulation.joint_constraints import Problem
from robodyn_ros.simulation.plant_part import Losses, PartRound, PlantPart
from robodyn_ros.simulation.plant_state import MotorSide, PlantState

DEAD_ZONE_ROUNDS = 100
"""Bound of the rounds, which is never reached."""

FREQUENCY_ERROR = 0.02
"""Relative error of a spring's frequency above which the simulation warns."""


def resolving_step(rate: float) -> float:
    """Return the step that simulates an oscillation at (2 / h) atan(h omega / 2), with 1 % less than omega [s].

    Args:
        rate: omega [rad/s].
    """
    return float(np.sqrt(12.0 * 0.01) / rate)


@dataclass(frozen=True, eq=False)
class ElasticDrives(PlantPart):
    """The m elastic joints of a robot, and the order of links and their motors in arrays of shape (n + m,).

    Attributes:
        model: The rigid bodies.
        actuators: Actuators of all n joints.
        step: h [s].
        in_problem: Whether the springs act in the problem of a step; else they are smooth efforts.
    """

    model: RobotModel
    actuators: JointActuators
    step: float
    in_problem: bool

    def __len__(self) -> int:
        """Number of elastic joints."""
        return len(self.joints)

    @cached_property
    def n(self) -> int:
        """Number of joints."""
        return self.model.n

    @cached_property
    def joints(self) -> NDArray[np.intp]:
        """Indices of the m joints with a spring between motor and link, shape (m,)."""
        return np.flatnonzero(self.actuators.is_elastic)

    @cached_property
    def springs(self) -> Transmission:
        """Their springs."""
        return self.actuators.transmission.at(self.joints)

    @cached_property
    def inertia(self) -> Array:
        """J of their motors, at the outputs of the gears, shape (m,) [kg m^2 or kg]."""
        return self.actuators.reflected_inertia[self.joints]

    @cached_property
    def slack(self) -> NDArray[np.intp]:
        """Indices into `joints` of the springs with backlash in the problem of a step, shape (slack,)."""
        return np.flatnonzero(self.springs.has_backlash & self.in_problem)

    @cached_property
    def _slack_springs(self) -> Transmission:
        return self.springs.at(self.slack)

    @property
    def more_rounds(self) -> int:  # type: ignore[override]  # depends on the plant
        """As in `PlantPart`."""
        return DEAD_ZONE_ROUNDS if len(self.slack) else 0

    def joined(self, of_joints: NDArray[Any], of_motors: NDArray[Any]) -> NDArray[Any]:
        """Concatenate values of links and of motors of elastic joints, shape (n + m,).

        Args:
            of_joints: Shape (n,).
            of_motors: Shape (m,).
        """
        return np.concatenate([of_joints, of_motors]) if len(self) else of_joints

    def position(self, state: PlantState) -> NDArray[Any]:
        """Return the positions of links and motors, shape (n + m,) [rad or m]."""
        return self.joined(state.q, state.motor_side.q)

    def velocity(self, state: PlantState) -> NDArray[Any]:
        """Return the velocities of links and motors, shape (n + m,) [rad/s or m/s]."""
        return self.joined(state.v, state.motor_side.v)

    def split(self, of_link: NDArray[Any], *of_motor: NDArray[Any]) -> NDArray[Any]:
        """Add values of link and motor for rigid joints, and keep them apart for elastic joints, shape (n + m,).

        Args:
            of_link: Shape (n,).
            of_motor: Shape (n,) each.
        """
        whole, motor = of_link, np.zeros(self.n)
        for each in of_motor:
            whole, motor = whole + each, motor + each
        if not len(self):
            return whole
        return np.concatenate([np.where(self.actuators.is_elastic, of_link, whole), motor[self.joints]])

    def at_motors(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return values at the motors: those of links, and for elastic joints those of motors, shape (n,).

        Args:
            values: Shape (n + m,).
        """
        if not len(self):
            return values
        seen = values[:self.n].copy()
        seen[self.joints] = values[self.n:]
        return seen

    def per_joint(self, values: NDArray[Any]) -> NDArray[Any]:
        """Add values of link and motor for each joint, shape (n,); argument as for :meth:`at_motors`."""
        if not len(self):
            return values
        sums = values[:self.n].copy()
        sums[self.joints] += values[self.n:]
        return sums

    def spread(self, values: NDArray[Any]) -> NDArray[Any]:
        """Expand values of elastic joints, shape (m,), to all joints, 0 for rigid ones, shape (n,)."""
        spread = np.zeros(self.n, dtype=values.dtype)
        spread[self.joints] = values
        return spread

    def at_rest(self, q: NDArray[Any], gravity: NDArray[Any]) -> NDArray[Any]:
        """Return the motor positions at which the springs bear the links' weights, shape (m,) [rad or m].

        Args:
            q: Joint positions, shape (n,), may be traced [rad or m].
            gravity: Efforts that hold the robot against gravity, shape (n,), may be traced [N m or N].
        """
        return self.springs.motors_at_rest(q[self.joints], gravity[self.joints])

    def deflection(self, q: NDArray[Any], v: NDArray[Any], motors: MotorSide) -> SpringDeflection:
        """Return the deflections, and their rates, at positions and velocities of joints, shape (n,), and of motors."""
        return SpringDeflection(motors.q - q[self.joints], motors.v - v[self.joints])

    def torque(self, q: NDArray[Any], v: NDArray[Any], motors: MotorSide) -> SpringTorque:
        """Return the torques at an instant; arguments as for :meth:`deflection`."""
        return self.springs.torque(self.deflection(q, v, motors))

    def add_linear(self, state: PlantState, problem: Problem) -> Problem:
        """Add the springs without backlash."""
        firm = np.setdiff1d(np.arange(len(self)), self.slack)
        if not len(firm):
            return problem
        start = self._start(state, firm)
        line = self.springs.at(firm).impulse(self.step, start, start.rate).tangent(start.rate)
        return self._with_springs(firm, line, problem)

    def _start(self, state: PlantState, springs: NDArray[Any]) -> SpringDeflection:
        return self.deflection(state.q, state.v, state.motor_side).at(springs)

    def _with_springs(self, springs: NDArray[Any], line: SpringLine, problem: Problem) -> Problem:
        """Return a problem with the impulses of springs, given by indices into `joints`, shape (springs,)."""
        if not len(springs):
            return problem
        matrix = problem.matrix.astype(np.result_type(problem.matrix, line.slope))
        momentum = problem.momentum.astype(np.result_type(problem.momentum, line.at_rest))
        for slope, impulse, joint, place in zip(line.slope, line.at_rest, self.joints[springs], springs, strict=True):
            motor = self.n + place
            matrix[joint, joint] += slope
            matrix[motor, motor] += slope
            matrix[joint, motor] -= slope
            matrix[motor, joint] -= slope
            momentum[joint] += impulse
            momentum[motor] -= impulse
        return problem._replace(matrix=matrix, momentum=momentum)

    def example(self) -> tuple[Any, Any, Any]:
        """As in `PlantPart`."""
        none = np.zeros(len(self.slack))
        return SpringDeflection(none, none), SpringLine(none, none), None

    def start(self, state: PlantState, _bending: NDArray[Any]) -> tuple[Any, Any]:
        """Return the deflections of the springs with backlash; the first guess is that each stays on its face."""
        start = self._start(state, self.slack)
        return start, self._slack_springs.loaded_line(self.step, start)

    def add(self, _given: Any, guess: Any, problem: Problem, _rounds: Any) -> Problem:
        """Add the springs with backlash."""
        return self._with_springs(self.slack, guess, problem)

    def _rates(self, velocity: NDArray[Any]) -> NDArray[Any]:
        return velocity[self.n + self.slack] - velocity[self.joints[self.slack]]

    def compare(self, given: Any, guess: Any, velocity: NDArray[Any], rounds: Any, moved: Any) -> PartRound:
        """As in `PlantPart`."""
        if not len(self.slack):
            return PartRound(None, guess, moved)
        line, differs = self._slack_springs.next_line(self.step, given, guess, self._rates(velocity), rounds)
        return PartRound(None, line, moved + differs)

    def add_undisturbed(self, guess: Any, problem: Problem) -> Problem:
        """Add springs that stay on their faces."""
        return self._with_springs(self.slack, guess, problem)

    def undisturbed(self, _state: PlantState, given: Any, guess: Any, velocity: NDArray[Any], moved: Any) -> PartRound:
        """As in `PlantPart`."""
        if not len(self.slack):
            return PartRound(None, guess, moved)
        leaves = self._slack_springs.leaves_face(self.step, given, guess, self._rates(velocity))
        return PartRound(None, guess, moved + leaves)

    def add_losses(self, losses: Losses, state: PlantState, _result: Any, velocity: NDArray[Any]) -> Losses:
        """Add the energy that the dampers dissipate."""
        if not len(self):
            return losses
        start = self.deflection(state.q, state.v, state.motor_side)
        rate = velocity[self.n:] - velocity[self.joints]
        line = self.springs.impulse(self.step, start, rate)
        lost = (line.impulse - line.elastic) * (0.5 * (start.rate + rate))
        return losses._replace(viscous=losses.viscous + self.spread(lost))

    def add_smooth(self, effort: NDArray[Any] | float, q: NDArray[Any], v: NDArray[Any], motors: MotorSide
                   ) -> NDArray[Any] | float:
        """Add the torques of the springs."""
        if not len(self):
            return effort
        torque = self.torque(q, v, motors).whole
        return self.joined(effort + self.spread(torque), -torque)

    def add_smooth_loss(self, loss: NDArray[Any], q: NDArray[Any], v: NDArray[Any], motors: MotorSide) -> NDArray[Any]:
        """Add the power of the dampers."""
        return loss + self.spread(self.torque(q, v, motors).loss) if len(self) else loss

    def energy(self, state: PlantState) -> NDArray[Any]:
        """Return the energy of the springs, shape (m,) [J]."""
        return self.springs.energy(self.deflection(state.q, state.v, state.motor_side).value)

    @property
    def _has_known_modes(self) -> bool:
        return len(self) > 0 and not is_traced(self.springs.stiffness, self.inertia)

    def modes_at_zero(self) -> tuple[Array, Array]:
        """Return the angular frequencies of free oscillations about positions 0, rising, and their modes.

        Without damping and backlash: K (B M^-1 B^T) x = omega^2 x for the deflections x.

        Returns:
            Frequencies, shape (m,) [rad/s]; and modes in the columns of a matrix, shape (m, m).
        """
        of_links = np.linalg.inv(mass_matrix(self.model, np.zeros(self.n)) + self.actuators.rotor_inertia)
        mobility = of_links[np.ix_(self.joints, self.joints)] + np.diag(1.0 / self.inertia)
        root = np.sqrt(self.springs.stiffness)
        squares, modes = np.linalg.eigh(root[:, None] * mobility * root)
        return np.sqrt(np.maximum(squares, 0.0)), modes

    def fastest_mode(self) -> tuple[float, str]:
        """Return the frequency of the fastest mode [rad/s], and the joint with the greatest share in it."""
        frequencies, modes = self.modes_at_zero()
        return float(frequencies[-1]), self.model.joint_names[self.joints[int(np.argmax(np.abs(modes[:, -1])))]]

    def check(self, plant: Any) -> None:
        """Refuse springs that are too fast for an explicit method; `varied_state` checks those of varied plants."""
        stable, integrator = plant.method.stable_angle, plant.integrator
        if not np.isfinite(stable) or not self._has_known_modes:
            return
        names = ", ".join(self.model.joint_names[joint] for joint in self.joints)
        if stable == 0.0:
            raise InputError(f"integrator {integrator}: expected rigid joints, since it gives energy to springs, "
                             f"received elastic ones at {names}; use {type(integrator).SEMI_IMPLICIT_EULER}")
        fastest, joint = self.fastest_mode()
        if self.step * fastest > stable:
            raise InputError(f"integrator {integrator}: expected steps of at most {stable / fastest:.3g} s "
                             f"for the spring of joint '{joint}', which swings at {fastest / (2.0 * np.pi):.4g} Hz, "
                             f"received {self.step:g} s; use {type(integrator).SEMI_IMPLICIT_EULER}, or smaller steps")

    def unresolved_mode(self) -> str:
        """Return a sentence on a spring that is too fast for the step of an implicit method; "" if none is.

        The step's frequency is (2 / h) atan(h omega / 2), see `transmission`. If it is off by more than
        `FREQUENCY_ERROR`, laws of elastic joints may be stable in the simulation and unstable on the robot, or vice
        versa. The sentence says which step the spring needs.
        """
        if not (self.in_problem and self._has_known_modes):
            return ""
        (fastest, joint), step = self.fastest_mode(), self.step
        seen = 2.0 / step * np.arctan(0.5 * step * fastest)
        if seen >= (1.0 - FREQUENCY_ERROR) * fastest:
            return ""
        return (f"spring of joint '{joint}': a step of {step:g} s is too long for its mode of "
                f"{fastest / (2.0 * np.pi):.4g} Hz, which swings at {seen / (2.0 * np.pi):.4g} Hz in it; a step of "
                f"{resolving_step(fastest):.3g} s has it within 1 %")
