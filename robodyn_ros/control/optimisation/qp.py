# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Quadratic programs inside a law: `solve` is a function of arrays, compiled, rolled out and exported with the law.

    minimise 1/2 x^T H x + g^T x    subject to    lower <= A x <= upper and x_lower <= x <= x_upper

The method is in `robodyn_ros.compile.quadratic_program`. On floats it runs as Python code, which is slow but can be
debugged; `Solver` calls its machine code from Python.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from robodyn_ros.base.errors import InputError
from robodyn_ros.compile import compile_function
from robodyn_ros.compile import operations as op
from robodyn_ros.compile.quadratic_program import INFEASIBLE, INVALID, OPTIMAL, ROUNDS, UNFINISHED, Sizes
from robodyn_ros.description.model import Array

__all__ = ["INFEASIBLE", "INVALID", "LARGEST", "OPTIMAL", "ROUNDS", "UNFINISHED", "ProgramSolution", "Solver", "solve"]

LARGEST = 60, 180
"""Greatest numbers of variables and rows of a program."""


class ProgramSolution(NamedTuple):
    """The solution of a program with n variables and m rows.

    Attributes:
        x: Shape (n,); finite, and within its bounds, whatever the status.
        multipliers: Multipliers of the rows, then of the bounds of x, shape (m + n,): positive at an active upper
            bound, negative at an active lower one, otherwise 0. H x + g + A^T z_rows + z_x = 0. Pass them as `warm` at
            the next tick.
        status: `OPTIMAL`. `INFEASIBLE`: the rows contradict each other, or depend so nearly on each other that rounding
            or `ROUNDS` (n + m) iterations leave the program unsolved; they are violated according to `yielding`,
            otherwise as little as possible in least squares (of rows scaled to length 1 in the metric of H^-1), while
            the bounds of x hold. `UNFINISHED`: that relaxed program is not solved, either. `INVALID`: H is not positive
            definite, or a number is NaN or too large; x is the point within its bounds nearest to 0.
        iterations: How often a row was added to the active set or removed from it, shape ().
        violation: Greatest violation of a row, including soft ones, shape ().
    """

    x: Array
    multipliers: Array
    status: Any
    iterations: Any
    violation: Any


def solve(h: Any, g: Any, a: Any = None, lower: Any = None, upper: Any = None, x_lower: Any = None, x_upper: Any = None,
          *, softness: Any = None, yielding: Any = None, warm: Any = None) -> ProgramSolution:
    """Solve a strictly convex quadratic program of floats or traced values.

    Args:
        h: H, positive definite, shape (n, n); its lower triangle is read.
        g: Shape (n,).
        a: A, shape (m, n); None for no rows.
        lower: Lower bounds of the rows, shape (m,) or one number; None, or -1e30 and below: no bound. Equal to
            ``upper``: an equation.
        upper: Upper bounds of the rows, likewise.
        x_lower: Lower bounds of x, shape (n,) or one number; None: no bound.
        x_upper: Upper bounds of x, likewise.
        softness: Softness of the rows, shape (m,) or one number: violating a row by s costs s^2 / (2 softness); None or
            0: hard rows.
        yielding: Softness of the rows if they contradict each other; None or 0: least squares of rows scaled to length
            1.
        warm: `ProgramSolution.multipliers` of a similar program, such as the last tick's; None: from scratch. The
            solution is the same, the iterations are fewer.

    Returns:
        The solution, in floats or traced values as given.

    Raises:
        InputError: A shape does not fit, or the program is larger than `LARGEST`.
    """
    g = np.asanyarray(g)
    if g.ndim != 1:
        raise InputError(f"qp: g: expected shape (n,), received {g.shape}")
    n = len(g)
    rows = np.zeros((0, n)) if a is None else np.asanyarray(a)
    m = len(rows) if rows.ndim == 2 else 0
    if not 0 < n <= LARGEST[0] or m > LARGEST[1]:
        raise InputError(f"qp: expected 1 to {LARGEST[0]} variables and at most {LARGEST[1]} rows, "
                         f"received {n} and {m}")
    below = np.concatenate([_array("lower", lower, m, -np.inf), _array("x_lower", x_lower, n, -np.inf)])
    above = np.concatenate([_array("upper", upper, m, np.inf), _array("x_upper", x_upper, n, np.inf)])
    given = [_matrix("H", h, n, n)[np.tril_indices(n)], g, _matrix("A", rows, m, n).reshape(-1), below, above,
             _array("softness", softness, m, 0.0), _array("yielding", yielding, m, 0.0),
             _array("warm", warm, m + n, 0.0)]
    sizes = Sizes(n, m)
    numbers = [number for array in given for number in np.asarray(array, dtype=object).tolist()]
    numbers += [0.0] * (sizes.arguments - len(numbers))
    arguments: Any = 0.0
    for first, second in zip(numbers[::2], numbers[1::2], strict=True):
        arguments = op.apply(op.ARGUMENTS, arguments, first, second)
    results = op.apply(op.QUADRATIC_PROGRAM, arguments, float(n), float(m))
    found = [op.apply(op.ELEMENT, results, float(place)) for place in range(sizes.results)]
    return ProgramSolution(np.array(found[:n]), np.array(found[n : 2 * n + m]), *found[2 * n + m :])


_new = tuple.__new__
"""Creates a named tuple in half the time of its class; the difference is a tenth of a call of `Solver`."""


class Solver:
    """`solve` as machine code called from Python, for programs of one size; warm-started from the last call.

    Args:
        n: Number of variables.
        m: Number of rows.

    Raises:
        InputError: The program is larger than `LARGEST`.
    """

    def __init__(self, n: int, m: int) -> None:
        def flat(h: Array, g: Array, a: Array, lower: Array, upper: Array, x_lower: Array, x_upper: Array,
                 softness: Array, warm: Array) -> Array:
            found = solve(h, g, a, lower, upper, x_lower, x_upper, softness=softness, warm=warm)
            return np.concatenate([found.x, found.multipliers, found[2:]])

        self._warm, self._softness = np.zeros(n + m), np.zeros(m)
        self._x, self._multipliers, self._told = slice(n), slice(n, -3), slice(-3, None)
        self._none = np.full(n, -np.inf), np.full(n, np.inf)
        self._call = compile_function(flat, {"h": (n, n), "g": (n,), "a": (m, n), "lower": (m,), "upper": (m,),
                                             "x_lower": (n,), "x_upper": (n,), "softness": (m,), "warm": (n + m,)},
                                      name="qp").call

    def __call__(self, h: Array, g: Array, a: Array, lower: Array, upper: Array, x_lower: Array | None = None,
                 x_upper: Array | None = None, softness: Array | None = None) -> ProgramSolution:
        """Solve a program of float64 arrays; see `solve`."""
        found = self._call(h, g, a, lower, upper, self._none[0] if x_lower is None else x_lower,
                           self._none[1] if x_upper is None else x_upper,
                           self._softness if softness is None else softness, self._warm)
        self._warm = warm = found[self._multipliers]
        return _new(ProgramSolution, (found[self._x], warm, *found[self._told].tolist()))

    def reset(self) -> None:
        """Begin the next call from scratch."""
        self._warm = np.zeros(len(self._warm))


def _array(name: str, value: Any, size: int, otherwise: float) -> Array:
    """Return a vector of this size; a single number is repeated."""
    array = np.asanyarray(otherwise if value is None else value)
    if array.shape not in ((), (size,)):
        raise InputError(f"qp: {name}: expected shape ({size},) or one number, received {array.shape}")
    return np.broadcast_to(array, (size,))


def _matrix(name: str, value: Any, rows: int, columns: int) -> Array:
    matrix = np.asanyarray(value)
    if matrix.shape != (rows, columns):
        raise InputError(f"qp: {name}: expected shape ({rows}, {columns}), received {matrix.shape}")
    return matrix
