# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Dry friction, stops and drive limits: one problem per time step, solved exactly.

Over one step, friction and stops exert an impulse on joint i that depends only on the velocity of the joint after the
step. The impulse falls with the velocity in five contact modes (f: friction times step; slowest <= 0 <= fastest:
velocities at which the joint reaches a stop at the end of the step):

    impulse    contact mode   velocity
    >= f       LOWER          slowest            pressed against the lower stop
    f          NEGATIVE       slowest to 0       sliding
    -f to f    STICKING       0
    -f         POSITIVE       0 to fastest       sliding
    <= -f      UPPER          fastest            pressed against the upper stop

The impulse of a motor falls linearly with the velocity up to the current limits: three more modes, called saturation.
The impulses determine the velocities after the step through the inertia matrix. This matrix is positive definite, hence
exactly one choice of modes is consistent [Stewart]. Pivoting finds it: solve for a choice, move each joint that
contradicts its mode to the neighbouring mode, repeat. After a few pivot steps only one joint moves at a time, which
cannot cycle [CottlePangStone]. The choice of the previous time step is nearly always right; then one solve suffices.

A motor that drives several joints acts along its row of B, which gives the velocity of its gear's output. So does the
dry friction of its shaft and gear, in addition to that of the joints. This friction is modelled as steep viscous
friction up to a limit, so that a sticking motor creeps by at most `CREEP`: three more modes for each such motor.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.actuation.joint_values import is_limit
from robodyn_ros.compile import clip, equal, greater, greater_equal, less, sign, where
from robodyn_ros.description.model import Array, joint_matrix
from robodyn_ros.dynamics.factorization import solve_mass, solve_mass_partly_given, solve_positive_definite
from robodyn_ros.simulation.pivoting import changed_modes

LOWER, NEGATIVE, STICKING, POSITIVE, UPPER = range(5)

CREEP = 1e-9
"""Speed at which the dry friction of a coupled motor's output reaches its limit [rad/s or m/s]; see `_COMPLIANCE`."""

_COMPLIANCE = 1e-10
"""Added to `CREEP`, as a share of the speed that this friction stops in a step: two motors may stick on one joint."""

_VELOCITY_TOLERANCE = 1e-12  # [rad/s or m/s]
_STOP_TOLERANCE = 1e-10  # likewise; of the velocity that reaches a stop
_IMPULSE_TOLERANCE = 1e-10  # relative to the friction


class Problem(NamedTuple):
    """matrix v' = momentum + impulses of friction and stops + impulse of the motors.

    Attributes:
        matrix: Inertia, plus damping times step where damping is implicit, shape (n, n). Motors of elastic joints
            follow the joints; they count as joints without stops here.
        momentum: Shape (n,) [N m s or N s].
        friction: Greatest impulse of dry friction, infinite for a brake that always holds, shape (n,) [N m s or N s].
        slowest: Velocity at which a joint reaches its lower stop, -infinite if it cannot, shape (n,).
        fastest: Velocity at which it reaches the upper stop, infinite if it cannot, shape (n,).
        drive: Impulse of the motors at their gears' outputs at velocity 0, shape (n,) [N m s or N s].
        drive_damping: Decrease of this impulse per velocity of the output, shape (n,) [N m s^2/rad or N s^2/m].
        motor_friction: Greatest impulse of dry friction of coupled motors, shape (coupled,) [N m s or N s].
    """

    matrix: NDArray[Any]
    momentum: NDArray[Any]
    friction: NDArray[Any]
    slowest: NDArray[Any]
    fastest: NDArray[Any]
    drive: NDArray[Any]
    drive_damping: NDArray[Any]
    motor_friction: NDArray[Any]


class PivotStep(NamedTuple):
    """The result of one pivot step.

    Attributes:
        velocity: Solution for the modes before the step, shape (n,) [rad/s or m/s].
        impulse: Impulse of friction and stops, shape (n,) [N m s or N s].
        contact_mode: Next modes of friction and stops, shape (n,).
        saturation: Next modes of the motors: 1 or -1 at the limit of that sign, else 0, shape (n,).
        motor_impulse: Impulse of the dry friction of coupled motors, shape (coupled,) [N m s or N s].
        motor_mode: Next modes of this friction: 1 or -1 where it slides that way, 0 where it sticks, shape (coupled,).
        moved: Positive if the next modes differ, 0 if the solution is consistent.
    """

    velocity: NDArray[Any]
    impulse: NDArray[Any]
    contact_mode: NDArray[Any]
    saturation: NDArray[Any]
    motor_impulse: NDArray[Any]
    motor_mode: NDArray[Any]
    moved: Any


class ConstraintSolution(NamedTuple):
    """Solution of a problem, for the integrators; each array has shape (n,), the last one (coupled,)."""

    velocity: NDArray[Any]  # velocity after the step [rad/s or m/s]
    impulse: NDArray[Any]  # impulse of friction and stops [N m s or N s]
    friction: NDArray[Any]  # greatest impulse of dry friction [N m s or N s]
    contact_mode: NDArray[Any]  # mode of friction and stops
    saturation: NDArray[Any]  # mode of the motors
    motor_impulse: NDArray[Any]  # impulse of the dry friction of coupled motors [N m s or N s]

    @property
    def friction_part(self) -> NDArray[Any]:
        """Impulses of friction, shape (n,) [N m s or N s]; the rest of `impulse` is that of the stops."""
        return clip(self.impulse, -self.friction, self.friction)


class ConstraintLimits(NamedTuple):
    """Stops and motor limits, constant for a robot.

    Attributes:
        lower: Positions of the lower stops, -infinite where there is none, shape (n,) [rad or m].
        upper: Positions of the upper stops, infinite where there is none, shape (n,) [rad or m].
        drive: Greatest impulse of the motors, infinite without a limit, shape (n,) [N m s or N s].
        coupling: B, velocities of the gears' outputs per joint velocity, shape (n, n + m); None: the unit matrix.
        sliding: Rows of B of the coupled motors with dry friction, shape (coupled, n).
    """

    lower: Array
    upper: Array
    drive: Array
    coupling: Array | None
    sliding: Array

    def reach(self, q: NDArray[Any], time: float) -> tuple[NDArray[Any], NDArray[Any]]:
        """Velocities that reach the lower and the upper stops in a given time, infinite where there is no stop.

        Args:
            q: Positions of links and motors, shape (n + m,), may be traced [rad or m].
            time: The time [s].

        Returns:
            Shape (n + m,) each [rad/s or m/s].
        """
        return (np.where(np.isfinite(self.lower), (self.lower - q) / time, -np.inf),
                np.where(np.isfinite(self.upper), (self.upper - q) / time, np.inf))

    def motor_modes(self, v: NDArray[Any]) -> NDArray[Any]:
        """First guess for the modes of the dry friction of coupled motors, from joint velocities, shape (coupled,)."""
        speed = self.sliding @ v
        return where(greater(abs(speed), 2.0 * CREEP), sign(speed), 0.0)

    def output_velocity(self, v: NDArray[Any]) -> NDArray[Any]:
        """B v: velocities of the gears' outputs, shape (n,)."""
        return v if self.coupling is None else self.coupling @ v

    def on_joints(self, drive: NDArray[Any]) -> NDArray[Any]:
        """B^T u: impulses u at the gears' outputs as impulses on the joints, shape (n,)."""
        return drive if self.coupling is None else self.coupling.T @ drive


def admissible(contact_mode: NDArray[Any], friction: NDArray[Any]) -> NDArray[Any]:
    """Correct a first guess: a joint without friction has one sliding mode, with infinite friction it only sticks."""
    sliding = where(equal(contact_mode, STICKING) + equal(contact_mode, POSITIVE), NEGATIVE, contact_mode)
    return where(equal(friction, 0.0), sliding, where(equal(friction, np.inf), STICKING, contact_mode))


def within_reach(contact_mode: NDArray[Any], problem: Problem) -> NDArray[Any]:
    """Correct a first guess: a joint that cannot reach its stop in this step slides."""
    contact_mode = where(equal(contact_mode, LOWER) * equal(problem.slowest, -np.inf), NEGATIVE, contact_mode)
    return where(equal(contact_mode, UPPER) * equal(problem.fastest, np.inf), POSITIVE, contact_mode)


def pivot_step(limits: ConstraintLimits, problem: Problem, contact_mode: NDArray[Any], saturation: NDArray[Any],
               motor_mode: NDArray[Any], number: Any) -> PivotStep:
    """Solve for one choice of modes, and choose the next.

    Args:
        limits: Stops and motor limits of the robot.
        problem: The problem of this time step.
        contact_mode: Mode of friction and stops of each joint, shape (n,).
        saturation: Mode of the motor of each joint: -1, 0 or 1, shape (n,).
        motor_mode: Mode of the dry friction of coupled motors: -1, 0 or 1, shape (coupled,).
        number: Number of pivot steps before this one.

    Returns:
        The solution for this choice, and the next choice.
    """
    limited = is_limit(limits.drive)
    drive_limit = np.where(limited, limits.drive, 0.0)
    linear = np.where(limited, 1.0 - saturation * saturation, 1.0)
    matrix = problem.matrix + joint_matrix(limits.coupling, linear * problem.drive_damping)
    drive = np.where(limited, where(linear, problem.drive, saturation * drive_limit), problem.drive)
    now = _ContactModes.from_choice(limits, contact_mode)
    free = now.negative + now.positive
    dry = where(now.negative, problem.friction, where(now.positive, -problem.friction, 0.0))
    held = where(now.lower, problem.slowest, where(now.upper, problem.fastest, 0.0))
    velocity, reaction = solve_mass_partly_given(matrix, problem.momentum + limits.on_joints(drive) + dry, free, held)
    motor_impulse = slowest = np.zeros(0)
    if len(limits.sliding):
        slowest = CREEP + _COMPLIANCE * problem.motor_friction * (limits.sliding**2 @ (1.0 / problem.matrix.diagonal()))
        solved = [solve_mass_partly_given(matrix, row, free, np.zeros(len(row))) for row in limits.sliding]
        velocities, reactions = (np.array(each).T for each in zip(*solved, strict=True))
        motor_impulse = _motor_impulses(problem.motor_friction, slowest, motor_mode, limits.sliding @ velocities,
                                        limits.sliding @ velocity)
        velocity, reaction = velocity + velocities @ motor_impulse, reaction + reactions @ motor_impulse
    impulse = dry + reaction

    line = problem.drive - problem.drive_damping * limits.output_velocity(velocity)
    slack = _IMPULSE_TOLERANCE * drive_limit
    beyond = greater(line, drive_limit + slack) - less(line, -drive_limit - slack)
    within = less(saturation * line, drive_limit - slack)
    most = (1.0 + _IMPULSE_TOLERANCE) * problem.motor_friction
    slides = where(greater(abs(motor_impulse), most), -sign(motor_impulse), 0.0)
    stays = greater_equal(motor_mode * (limits.sliding @ velocity), slowest - _VELOCITY_TOLERANCE)
    changed = changed_modes(
        np.concatenate([contact_mode, saturation[limited], motor_mode]),
        np.concatenate([_next_contact_mode(problem, contact_mode, now, velocity, impulse),
                        where(linear, beyond, where(within, 0.0, saturation))[limited],
                        where(motor_mode, where(stays, motor_mode, 0.0), slides)]), number)
    n, ends = len(contact_mode), len(contact_mode) + int(np.sum(limited))
    next_saturation = np.zeros(len(limited), dtype=np.result_type(changed.choice, float))
    next_saturation[limited] = changed.choice[n:ends]
    return PivotStep(velocity, impulse, changed.choice[:n], next_saturation, motor_impulse, changed.choice[ends:],
                     changed.moved)


def _motor_impulses(friction: NDArray[Any], slowest: NDArray[Any], mode: NDArray[Any], response: NDArray[Any],
                    speed: NDArray[Any]) -> NDArray[Any]:
    """Return the impulses of the dry friction of coupled motors, shape (coupled,).

    Args:
        friction: Greatest impulses.
        slowest: Speed of an output at which its friction reaches the greatest impulse.
        mode: 1 or -1 where a motor slides that way, 0 where it sticks.
        response: Velocity of each output per impulse on each other, shape (coupled, coupled).
        speed: Velocity of the outputs without these impulses.
    """
    sticks = where(mode, 0.0, greater(friction, 0.0))
    known = -mode * friction
    unknown = np.outer(sticks, sticks)
    compliance = slowest / where(greater(friction, 0.0), friction, 1.0)
    matrix = where(unknown, response + np.diag(compliance), np.eye(len(mode)))
    right = where(sticks, -speed - response @ known, known)
    impulses: NDArray[Any] = solve_positive_definite(matrix, right, _UNSOLVABLE)
    return impulses


_UNSOLVABLE = "the friction of coupled motor {}, counted from 0, cannot be solved for"


def without_constraints(limits: ConstraintLimits, problem: Problem) -> PivotStep:
    """Solve a problem without dry friction, assuming that no joint is at a stop and no motor at its limit.

    This costs less than half of a pivot step. The solution is unique, so a consistent result is the right one.

    Args:
        limits: Stops and motor limits of the robot.
        problem: The problem of this time step; its friction is ignored.

    Returns:
        The solution and its modes; ``moved`` is positive if the assumption does not hold.
    """
    limited = is_limit(limits.drive)
    velocity = solve_mass(problem.matrix + joint_matrix(limits.coupling, problem.drive_damping),
                          problem.momentum + limits.on_joints(problem.drive))
    line = problem.drive - problem.drive_damping * limits.output_velocity(velocity)
    hindered = [
        *less(velocity, problem.slowest - _STOP_TOLERANCE)[np.isfinite(limits.lower)],
        *greater(velocity, problem.fastest + _STOP_TOLERANCE)[np.isfinite(limits.upper)],
        *greater(abs(line[limited]), (1.0 + _IMPULSE_TOLERANCE) * limits.drive[limited]),
    ]
    nothing = np.zeros(len(velocity))
    modes = np.full(len(velocity), float(NEGATIVE))
    none = np.zeros(len(limits.sliding))
    return PivotStep(velocity, nothing, modes, np.zeros(len(limited)), none, none, sum(hindered, np.float64(0.0)))


class _ContactModes(NamedTuple):
    """1 where a joint is in the mode, else 0, shape (n,) each; all are 0 for a sticking joint."""

    lower: NDArray[Any]
    negative: NDArray[Any]
    positive: NDArray[Any]
    upper: NDArray[Any]

    @classmethod
    def from_choice(cls, limits: ConstraintLimits, contact_mode: NDArray[Any]) -> _ContactModes:
        return cls(np.where(np.isfinite(limits.lower), equal(contact_mode, LOWER), 0.0), equal(contact_mode, NEGATIVE),
                   equal(contact_mode, POSITIVE), np.where(np.isfinite(limits.upper), equal(contact_mode, UPPER), 0.0))


def _next_contact_mode(problem: Problem, contact_mode: NDArray[Any], now: _ContactModes, velocity: NDArray[Any],
                       impulse: NDArray[Any]) -> NDArray[Any]:
    """Keep each mode that fits the solution, else move to the neighbouring mode on the violated side.

    A mode is a range of velocities or of impulses. Impulses fall from mode to mode, so their negatives rise. Without
    friction, NEGATIVE slides either way, and UPPER is its neighbour.
    """
    friction = problem.friction
    tight, loose = (1.0 - _IMPULSE_TOLERANCE) * friction, (1.0 + _IMPULSE_TOLERANCE) * friction
    slides_both_ways = now.negative * equal(friction, 0.0)
    free = now.negative + now.positive
    least = where(free, where(now.negative, problem.slowest - _STOP_TOLERANCE, -_VELOCITY_TOLERANCE),
                  where(now.lower, -np.inf, where(now.upper, tight, -loose)))
    most = where(free, where(now.positive + slides_both_ways, problem.fastest + _STOP_TOLERANCE, _VELOCITY_TOLERANCE),
                 where(now.upper, np.inf, where(now.lower, -tight, loose)))
    value = where(free, velocity, -impulse)
    up = contact_mode + where(slides_both_ways, float(UPPER - NEGATIVE), 1.0)
    down = contact_mode - where(now.upper * equal(friction, 0.0), float(UPPER - NEGATIVE), 1.0)
    return where(greater(value, most), up, where(less(value, least), down, contact_mode))
