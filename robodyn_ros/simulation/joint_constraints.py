"""Dry friction that sticks, stops that do not give, drives at their limit: one problem per step, solved exactly.

Over one step, joint i gets an impulse from friction and stops that depends on its velocity after the step only, by a
staircase that falls from left to right (f: friction times step; slowest <= 0 <= fastest: the velocities of a joint that
has reached a stop by the end of the step):

    impulse    piece      velocity
    >= f       LOWER      slowest            pressed against the lower stop
    f          NEGATIVE   slowest to 0       sliding
    -f to f    STICKING   0
    -f         POSITIVE   0 to fastest       sliding
    <= -f      UPPER      fastest            pressed against the upper stop

A motor adds a line that falls with the velocity and is cut off where its current would pass its limit: another
staircase, of three pieces. The velocities after the step follow from the impulses through the inertia matrix, which is
positive definite, so that exactly one choice of pieces is consistent [Stewart]. It is found by pivoting: solve for a
choice, move each joint that contradicts its piece to the neighbouring one, repeat; after a few rounds only one joint at
a time, which cannot cycle [CottlePangStone]. The choice of the step before is nearly always the right one, and costs
one solve.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.compile import clip, equal, greater, less, maximum, where
from robodyn_ros.description.model import Array
from robodyn_ros.dynamics.factorization import solve_mass, solve_mass_partly_given

LOWER, NEGATIVE, STICKING, POSITIVE, UPPER = range(5)

BLOCK_ROUNDS = 10
"""Rounds in which all joints move at once."""

_VELOCITY_TOLERANCE = 1e-12  # [rad/s or m/s]
_STOP_TOLERANCE = 1e-10  # likewise; of the velocity that reaches a stop
_IMPULSE_TOLERANCE = 1e-10  # relative to the friction


class Problem(NamedTuple):
    """matrix v' = momentum + impulses of friction and stops + impulse of the motors.

    Attributes:
        matrix: Inertia, and damping times step where it is taken implicitly, shape (n, n).
        momentum: Shape (n,) [N m s or N s].
        friction: Greatest impulse of dry friction, infinite for a brake that always holds, shape (n,) [N m s or N s].
        slowest: Velocity of a joint that has reached its lower stop, -infinite where it cannot, shape (n,).
        fastest: Likewise for the upper stop, infinite where it cannot.
        drive: The motors' impulse at velocity 0, shape (n,) [N m s or N s].
        drive_damping: By how much it falls per velocity, shape (n,) [N m s^2/rad or N s^2/m].
    """

    matrix: NDArray[Any]
    momentum: NDArray[Any]
    friction: NDArray[Any]
    slowest: NDArray[Any]
    fastest: NDArray[Any]
    drive: NDArray[Any]
    drive_damping: NDArray[Any]


class Round(NamedTuple):
    """What one round found.

    Attributes:
        velocity: Solution for the choice that it began with, shape (n,) [rad/s or m/s].
        impulse: Of friction and stops, shape (n,) [N m s or N s].
        piece: Next choice, shape (n,).
        saturation: Next choice: 1 or -1 where the motor's impulse is at its limit of that sign, else 0, shape (n,).
        moved: Positive if the next choice is another one, 0 if the solution is consistent.
    """

    velocity: NDArray[Any]
    impulse: NDArray[Any]
    piece: NDArray[Any]
    saturation: NDArray[Any]
    moved: Any


class Limits(NamedTuple):
    """What is constant for a robot.

    Attributes:
        lower: Positions of the lower stops, -infinite where there is none, shape (n,) [rad or m].
        upper: Likewise.
        drive: Greatest impulse of the motors, infinite where there is no limit, shape (n,) [N m s or N s].
    """

    lower: Array
    upper: Array
    drive: Array


def most_rounds(n: int) -> int:
    """More rounds than n joints can need; only guards against rounding."""
    return BLOCK_ROUNDS + 60 * n


def admissible(piece: NDArray[Any], friction: NDArray[Any]) -> NDArray[Any]:
    """Pieces to start from: without friction a joint has one sliding piece, with an endless one it only sticks."""
    sliding = where(equal(piece, STICKING) + equal(piece, POSITIVE), NEGATIVE, piece)
    return where(equal(friction, 0.0), sliding, where(equal(friction, np.inf), STICKING, piece))


def within_reach(piece: NDArray[Any], problem: Problem) -> NDArray[Any]:
    """Pieces to start from, sliding instead of at a stop that cannot be reached in this step."""
    piece = where(equal(piece, LOWER) * equal(problem.slowest, -np.inf), NEGATIVE, piece)
    return where(equal(piece, UPPER) * equal(problem.fastest, np.inf), POSITIVE, piece)


def one_round(limits: Limits, problem: Problem, piece: NDArray[Any], saturation: NDArray[Any], number: Any) -> Round:
    """Solve for a choice of pieces, and choose again.

    Args:
        limits: What is constant.
        problem: The step's.
        piece: Piece of each joint's friction and stops, shape (n,).
        saturation: Piece of each joint's motor, shape (n,).
        number: Rounds before this one.

    Returns:
        The solution, and the next choice.
    """
    limited = np.isfinite(limits.drive)
    drive_limit = np.where(limited, limits.drive, 0.0)
    linear = np.where(limited, 1.0 - saturation * saturation, 1.0)
    matrix = problem.matrix + np.diag(linear * problem.drive_damping)
    drive = np.where(limited, where(linear, problem.drive, saturation * drive_limit), problem.drive)
    now = _Pieces.of(limits, piece)
    free = now.negative + now.positive
    dry = where(now.negative, problem.friction, where(now.positive, -problem.friction, 0.0))
    held = where(now.lower, problem.slowest, where(now.upper, problem.fastest, 0.0))
    velocity, reaction = solve_mass_partly_given(matrix, problem.momentum + drive + dry, free, held)
    impulse = dry + reaction

    line = problem.drive - problem.drive_damping * velocity
    slack = _IMPULSE_TOLERANCE * drive_limit
    beyond = greater(line, drive_limit + slack) - less(line, -drive_limit - slack)
    within = less(saturation * line, drive_limit - slack)
    change = _choice(
        np.concatenate([piece, saturation[limited]]),
        np.concatenate([_next_piece(problem, piece, now, velocity, impulse),
                        where(linear, beyond, where(within, 0.0, saturation))[limited]]), number)
    next_saturation = np.zeros(len(piece), dtype=np.result_type(change.choice, float))
    next_saturation[limited] = change.choice[len(piece):]
    return Round(velocity, impulse, change.choice[:len(piece)], next_saturation, change.moved)


def unhindered(limits: Limits, problem: Problem) -> Round:
    """The solution of a problem without friction, if no joint is at a stop and no motor at its limit.

    It costs less than half of a round, and is right wherever it is consistent, there being only one solution.

    Args:
        limits: What is constant.
        problem: The step's; its friction is not looked at.

    Returns:
        The solution, and its choice; ``moved``: it is not consistent.
    """
    limited = np.isfinite(limits.drive)
    velocity = solve_mass(problem.matrix + np.diag(problem.drive_damping), problem.momentum + problem.drive)
    line = problem.drive - problem.drive_damping * velocity
    hindered = [
        *less(velocity, problem.slowest - _STOP_TOLERANCE)[np.isfinite(limits.lower)],
        *greater(velocity, problem.fastest + _STOP_TOLERANCE)[np.isfinite(limits.upper)],
        *greater(abs(line[limited]), (1.0 + _IMPULSE_TOLERANCE) * limits.drive[limited]),
    ]
    nothing = np.zeros(len(velocity))
    return Round(velocity, nothing, np.full(len(velocity), float(NEGATIVE)), nothing, sum(hindered, np.float64(0.0)))


def friction_part(friction: NDArray[Any], impulse: NDArray[Any]) -> NDArray[Any]:
    """What of the impulses is friction's; the rest is the stops', shape (n,) [N m s or N s]."""
    return clip(impulse, -friction, friction)


class _Pieces(NamedTuple):
    """Which piece each joint is on, 1 or 0, shape (n,)."""

    lower: NDArray[Any]
    negative: NDArray[Any]
    positive: NDArray[Any]
    upper: NDArray[Any]

    @classmethod
    def of(cls, limits: Limits, piece: NDArray[Any]) -> _Pieces:
        return cls(np.where(np.isfinite(limits.lower), equal(piece, LOWER), 0.0), equal(piece, NEGATIVE),
                   equal(piece, POSITIVE), np.where(np.isfinite(limits.upper), equal(piece, UPPER), 0.0))


def _next_piece(problem: Problem, piece: NDArray[Any], now: _Pieces, velocity: NDArray[Any],
                impulse: NDArray[Any]) -> NDArray[Any]:
    """The piece itself where the solution fits it, else the neighbour on the side where it does not.

    A piece is a range of velocities, or of impulses; these fall from piece to piece, so that it is their negative that
    leads upwards. Without friction NEGATIVE slides either way, and UPPER is next to it.
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
    up = piece + where(slides_both_ways, float(UPPER - NEGATIVE), 1.0)
    down = piece - where(now.upper * equal(friction, 0.0), float(UPPER - NEGATIVE), 1.0)
    return where(greater(value, most), up, where(less(value, least), down, piece))


class _Change(NamedTuple):
    choice: NDArray[Any]
    moved: Any


def _choice(before: NDArray[Any], after: NDArray[Any], number: Any) -> _Change:
    """All changes in the first rounds, later only the first; and whether there is any."""
    all_at_once, moved = less(number, BLOCK_ROUNDS), 0.0
    choice = []
    for old, new in zip(before, after, strict=True):
        choice.append(where(maximum(all_at_once, 1.0 - moved), new, old))
        moved = maximum(moved, 1.0 - equal(old, new))
    return _Change(np.array(choice), moved)
