# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Strictly convex quadratic programs of the size of a control law, solved by a dual active-set method.

    minimise 1/2 x^T H x + g^T x    subject to    l <= A x <= u, and bounds on x

The functions below are plain Python on flat arrays, written in the subset that `loops` turns into LLVM assembly and C.
Run by Python they are the reference for both, operation by operation.

With H = L L^T and u = L^T x + L^-1 g the program is the least-distance problem min 1/2 |u|^2, low <= M u <= high,
M = A L^-T, with rows scaled to length 1. [Arnström] solves its dual: a working set W of rows that hold with equality,
with multipliers from (M_W M_W^T) lambda = -d_W by a recursive L D L^T factorisation. Each iteration adds the most
violated row, or removes a row whose multiplier would change its sign, and no step lowers the dual objective.

A soft row may be violated by s at a cost of s^2 / (2 softness), which adds softness to its diagonal in M M^T.
"""

from math import sqrt
from typing import NamedTuple

import numpy as np

Array = np.ndarray

EPSILON = float(np.finfo(float).eps)
"""Rounding error of the numbers; that of float in single-precision C code."""

NO_BOUND = 1e30
"""Bounds of this magnitude or more count as no bound."""

OPTIMAL, INFEASIBLE, UNFINISHED, INVALID = 0.0, 1.0, 2.0, 3.0
"""Status of a result. Optimal: the solution. Infeasible: the solution with softened rows, because the rows contradict
each other or the hard program was not solved. Unfinished: the last iterate, because the iteration limit was reached
with softened rows too. Invalid: none, because H is not positive definite or a number is NaN."""

DEFAULT_SOFTNESS = 1e-8
"""Default softness of scaled rows in an infeasible program: the rows are then violated as little as possible in the
least-squares sense."""

MIN_SOFTNESS = 1e-11
"""Least softness of scaled rows in an infeasible program: above the pivots that count as 0."""

IMPLIED_MISMATCH = 1000.0
"""A dependent row that contradicts the rest by less than this multiple of the tolerance counts as implied by them:
where many rows meet in one point, rounding moves the point off one of them."""

DEPENDENT_RESIDUAL = 1e9
"""A working set whose rows are missed by more than this multiple of the tolerance is linearly dependent up to rounding.

Rows with very different weights, as in `task_priority`, are missed by up to a thousandth of this.
"""

SMALL_PIVOT = 1e-4
"""Element of D below which its rounding error is estimated."""

ROUNDS = 10
"""Greatest number of iterations, as a multiple of the number of variables and rows (bounds included)."""


class Sizes:
    """Numbers of elements of a program with n variables and m rows.

    Attributes:
        n: Variables.
        m: Rows.
        arguments: Elements of H (its lower triangle, row by row), g, A, lower and upper (rows, then bounds of x), the
            softness of the rows, that in an infeasible program (0: default), and the multipliers of the last solution;
            an even number.
        results: Elements of x, the multipliers (of rows, then of the bounds of x), status, iterations and greatest
            violation.
        work: Elements of scratch memory.
    """

    def __init__(self, n: int, m: int) -> None:
        every = n + m
        self.n, self.m = n, m
        self.arguments = n * (n + 1) // 2 + n + m * n + 2 * every + 2 * m + every
        self.arguments += self.arguments % 2
        self.results = n + every + 3
        self.work = n * n + 2 * n + every * n + every * (every + 1) // 2 + 10 * every


class ScaledRows(NamedTuple):
    """The rows and then the bounds of x of the least-distance problem, scaled to length 1; N in total."""

    matrix: Array  # M, N n elements
    low: Array  # N elements; -`NO_BOUND` for no bound
    high: Array  # N elements; `NO_BOUND` for no bound
    norm: Array  # lengths before scaling; 0 for a row that is left out
    soft: Array  # softness of the rows


class WorkingSet(NamedTuple):
    """Rows that hold with equality, in the order in which they were added."""

    side: Array  # for each row: 1 at its upper bound, -1 at its lower one, 0 outside the set
    order: Array  # indices of the rows
    triangle: Array  # L of M_W M_W^T + soft = L D L^T, below its diagonal
    diagonal: Array  # D
    multiplier: Array  # multipliers of the rows in the set


class Scratch(NamedTuple):
    """Memory of an iteration."""

    target: Array  # multipliers that the iteration leads to
    column: Array  # a column of the factorisation
    u: Array  # the primal point, n elements


def dot(n: int, a: Array, b: Array) -> float:
    """Scalar product, with four partial sums so that additions do not wait for each other."""
    first, second, third, fourth = 0.0, 0.0, 0.0, 0.0
    for i in range(n // 4):
        first += a[4 * i] * b[4 * i]
        second += a[4 * i + 1] * b[4 * i + 1]
        third += a[4 * i + 2] * b[4 * i + 2]
        fourth += a[4 * i + 3] * b[4 * i + 3]
    for i in range(n // 4 * 4, n):
        first += a[i] * b[i]
    return first + second + (third + fourth)


def factorize(n: int, h: Array, factor: Array) -> int:
    """Write L^T of H = L L^T, with the reciprocals of its diagonal; return 0 if H is not positive definite."""
    for i in range(n):
        for j in range(i + 1):
            factor[j * n + i] = h[i * (i + 1) // 2 + j]
    for k in range(n):
        pivot = factor[k * n + k]
        if not (pivot > 8.0 * EPSILON * h[k * (k + 1) // 2 + k] and pivot < NO_BOUND):
            return 0
        scale = 1.0 / sqrt(pivot)
        factor[k * n + k] = scale
        for i in range(k + 1, n):
            factor[k * n + i] *= scale
        for i in range(k + 1, n):
            take(n - i, factor[k * n + i], factor[k * n + i:], factor[i * n + i:])
    return 1


def take(n: int, scale: float, a: Array, b: Array) -> None:
    """Subtract a scaled array from b."""
    for i in range(n):
        b[i] -= scale * a[i]


def forward(n: int, first: int, factor: Array, b: Array) -> None:
    """Replace b by L^-1 b; the elements of b before ``first`` are 0."""
    for k in range(first, n):
        b[k] *= factor[k * n + k]
        take(n - k - 1, b[k], factor[k * n + k + 1:], b[k + 1:])


def backward(n: int, factor: Array, b: Array) -> None:
    """Replace b by L^-T b."""
    for back in range(n):
        i = n - 1 - back
        b[i] = (b[i] - dot(back, factor[i * n + i + 1:], b[i + 1:])) * factor[i * n + i]


def scale_rows(n: int, m: int, arguments: Array, factor: Array, shift: Array, scaled: ScaledRows,
               columns: Array) -> int:
    """Write M and its bounds; return 1 if a row contradicts itself (its bounds are then replaced by their mean).

    Rows without bounds and rows of zeros get norm 0 and are left out. The rows of A are divided by L^T together, column
    by column, so that loops over rows are long enough for vector instructions. ``columns`` is scratch of n m elements.
    """
    rows, contradiction = n + m, 0
    matrix = arguments[n * (n + 1) // 2 + n:]
    lower = matrix[m * n:]
    upper = lower[rows:]
    for i in range(m):
        for k in range(n):
            columns[k * m + i] = matrix[i * n + k]
    for k in range(n):
        column = columns[k * m:]
        for i in range(m):
            column[i] *= factor[k * n + k]
        for j in range(k + 1, n):
            take(m, factor[k * n + j], column, columns[j * m:])
    for i in range(rows):
        scaled.norm[i] = 0.0
        if lower[i] > -NO_BOUND or upper[i] < NO_BOUND:
            row = scaled.matrix[i * n:]
            if i < m:
                for k in range(n):
                    row[k] = columns[k * m + i]
            else:
                for k in range(n):
                    row[k] = 0.0
                row[i - m] = 1.0
                forward(n, i - m, factor, row)
            length = sqrt(dot(n, row, row))
            least, most = lower[i], upper[i]
            if least > most:
                contradiction = 1
                least = 0.5 * (least + most)
                most = least
            if length > 1.0 / NO_BOUND:
                scaled.norm[i] = length
                share = 1.0 / length
                for k in range(n):
                    row[k] *= share
                middle = dot(n, row, shift)
                scaled.low[i] = least * share + middle if least > -NO_BOUND else -NO_BOUND
                scaled.high[i] = most * share + middle if most < NO_BOUND else NO_BOUND
            elif least > 0.0 or most < 0.0:
                contradiction = 1
    return contradiction


def append(n: int, count: int, row: int, scaled: ScaledRows, held: WorkingSet, products: Array) -> float:
    """Add a row to the working set and its factorisation; return the new element of D, 0 for a dependent row.

    The element is v^T (M_W M_W^T + soft) v with the direction v in which the multipliers of the rows cancel; rounding
    causes an error of |v|^2 in it.
    """
    new = held.triangle[count * (count + 1) // 2:]
    pivot = dot(n, scaled.matrix[row * n:], scaled.matrix[row * n:]) + scaled.soft[row]
    for j in range(count):
        total = dot(n, scaled.matrix[int(held.order[j]) * n:], scaled.matrix[row * n:])
        for k in range(j):
            total -= held.triangle[j * (j + 1) // 2 + k] * products[k]
        products[j] = total
        new[j] = total / held.diagonal[j]
        pivot -= total * new[j]
    size = 1.0
    if pivot < SMALL_PIVOT:
        for j in range(count):
            products[j] = -new[j]
        solve_transposed(count, held.triangle, products)
        size += dot(count, products, products)
    if not pivot > 1e4 * EPSILON or not pivot > 100.0 * EPSILON * size:
        pivot = 0.0
    held.order[count] = float(row)
    held.diagonal[count] = pivot
    return pivot


def remove(count: int, place: int, held: WorkingSet, column: Array) -> None:
    """Remove a row from the working set; its column updates the rest of the factorisation."""
    alpha = held.diagonal[place]
    for i in range(place + 1, count):
        old = held.triangle[i * (i + 1) // 2:]
        new = held.triangle[(i - 1) * i // 2:]
        column[i - 1] = old[place]
        for k in range(place):
            new[k] = old[k]
        for k in range(place + 1, i):
            new[k - 1] = old[k]
        held.order[i - 1] = held.order[i]
        held.diagonal[i - 1] = held.diagonal[i]
        held.multiplier[i - 1] = held.multiplier[i]
    for j in range(place, count - 1):
        w = column[j]
        d = held.diagonal[j] + alpha * w * w
        if d > 0.0:
            beta = w * alpha / d
            alpha = held.diagonal[j] * alpha / d
            for i in range(j + 1, count - 1):
                element = held.triangle[i * (i + 1) // 2 + j]
                column[i] -= w * element
                held.triangle[i * (i + 1) // 2 + j] = element + beta * column[i]
        held.diagonal[j] = d


def solve_factored(count: int, triangle: Array, diagonal: Array, b: Array) -> None:
    """Replace b by (L D L^T)^-1 b."""
    for i in range(count):
        b[i] -= dot(i, triangle[i * (i + 1) // 2:], b)
    for i in range(count):
        b[i] = b[i] / diagonal[i]
    solve_transposed(count, triangle, b)


def solve_transposed(count: int, triangle: Array, b: Array) -> None:
    """Replace b by L^-T b."""
    for back in range(count):
        i = count - 1 - back
        for k in range(i):
            b[k] -= triangle[i * (i + 1) // 2 + k] * b[i]


def nearest(n: int, count: int, scaled: ScaledRows, held: WorkingSet, u: Array) -> None:
    """The primal point of the multipliers, u = -M_W^T lambda."""
    for k in range(n):
        u[k] = 0.0
    for j in range(count):
        row = scaled.matrix[int(held.order[j]) * n:]
        for k in range(n):
            u[k] -= row[k] * held.multiplier[j]


def residuals(n: int, count: int, scaled: ScaledRows, held: WorkingSet, u: Array, b: Array) -> None:
    """M_W u - soft lambda - d_W, which is 0 if the rows of the working set hold."""
    for j in range(count):
        row = int(held.order[j])
        wanted = scaled.high[row] if held.side[row] > 0.0 else scaled.low[row]
        b[j] = dot(n, scaled.matrix[row * n:], u) - scaled.soft[row] * held.multiplier[j] - wanted


def iterate(n: int, m: int, limit: int, tolerance: float, warm: Array, scaled: ScaledRows, held: WorkingSet,
            scratch: Scratch, counted: Array) -> float:
    """Run the dual active-set method from the working set of given multipliers; return the status.

    ``counted`` receives the number of iterations and the size of the working set.
    """
    rows, count = n + m, 0
    target, column, u = scratch.target, scratch.column, scratch.u
    for start in range(2):  # first equations, then the rows that were active
        for i in range(rows):
            if start == 0:
                held.side[i] = 0.0
            equation = scaled.norm[i] > 0.0 and scaled.low[i] == scaled.high[i]
            bounded = warm[i] > 0.0 and scaled.high[i] < NO_BOUND or warm[i] < 0.0 and scaled.low[i] > -NO_BOUND
            active = scaled.norm[i] > 0.0 and bounded
            if (equation and start == 0 or active and not equation and start == 1) and count < rows:
                if append(n, count, i, scaled, held, column) > 0.0:
                    held.side[i] = 1.0 if warm[i] > 0.0 else -1.0
                    held.multiplier[count] = warm[i] * scaled.norm[i]
                    count += 1
    iterations, singular, violation = 0, 0, 0.0
    while iterations < limit:
        iterations += 1
        for k in range(n):  # the target has M_W u = d_W; for a dependent row, a direction that keeps M_W u
            u[k] = 0.0
        if singular == 0:
            for j in range(count):
                row = int(held.order[j])
                target[j] = -scaled.high[row] if held.side[row] > 0.0 else -scaled.low[row]
            solve_factored(count, held.triangle, held.diagonal, target)
        else:
            last = count - 1
            for j in range(last):
                target[j] = -held.triangle[last * (last + 1) // 2 + j]
            target[last] = 1.0
            solve_transposed(last, held.triangle, target)
            if held.side[int(held.order[last])] < 0.0:
                for j in range(count):
                    target[j] = -target[j]
        blocking, step, largest = -1, NO_BOUND, 0.0
        for j in range(count):
            row = int(held.order[j])
            change = target[j] if singular == 1 else target[j] - held.multiplier[j]
            falls = -held.side[row] * change
            beyond = -held.side[row] * target[j]
            if scaled.low[row] < scaled.high[row] and beyond > (1e-9 if singular == 1 else tolerance) and falls > 0.0:
                room = held.side[row] * held.multiplier[j] / falls
                if room < step or room == step and falls > largest:
                    blocking, step, largest = j, room, falls
        if blocking >= 0:
            step = step if step > 0.0 else 0.0
            for j in range(count):
                held.multiplier[j] += step * (target[j] if singular == 1 else target[j] - held.multiplier[j])
            held.side[int(held.order[blocking])] = 0.0
            remove(count, blocking, held, column)
            count -= 1
            if singular == 1 and held.diagonal[count - 1] > 1e4 * EPSILON:
                singular = 0
            continue
        if singular == 1:  # no multiplier stops the growth of the dual objective
            count -= 1
            if violation > IMPLIED_MISMATCH * tolerance:
                counted[0], counted[1] = float(iterations), float(count)
                return INFEASIBLE
            scaled.norm[int(held.order[count])] = 0.0
            singular = 0
            continue
        for j in range(count):
            held.multiplier[j] = target[j]
        nearest(n, count, scaled, held, u)
        entering, violation, sign = -1, tolerance, 1.0
        for i in range(rows):
            if scaled.norm[i] > 0.0 and held.side[i] == 0.0:
                value = dot(n, scaled.matrix[i * n:], u)
                above, below = value - scaled.high[i], scaled.low[i] - value
                if above > violation:
                    entering, violation, sign = i, above, 1.0
                if below > violation:
                    entering, violation, sign = i, below, -1.0
        if entering < 0:
            for j in range(count):
                target[j] = 0.0
            residuals(n, count, scaled, held, u, target)  # one step of iterative refinement
            solve_factored(count, held.triangle, held.diagonal, target)
            for j in range(count):
                held.multiplier[j] += target[j]
            nearest(n, count, scaled, held, u)
            residuals(n, count, scaled, held, u, target)
            counted[0], counted[1] = float(iterations), float(count)
            for j in range(count):
                if not (-DEPENDENT_RESIDUAL * tolerance < target[j] and target[j] < DEPENDENT_RESIDUAL * tolerance):
                    return INFEASIBLE
            return OPTIMAL
        held.multiplier[count] = 0.0
        held.side[entering] = sign
        if append(n, count, entering, scaled, held, column) == 0.0:
            singular = 1
        count += 1
    counted[0], counted[1] = float(iterations), float(count)
    return UNFINISHED


def solve_program(n: int, m: int, arguments: Array, results: Array, work: Array) -> None:
    """Solve a program; see `Sizes` for the arrays."""
    rows = n + m
    gradient = arguments[n * (n + 1) // 2:]
    matrix = gradient[n:]
    lower = matrix[m * n:]
    upper = lower[rows:]
    softness = upper[rows:]
    yielding = softness[m:]
    warm = yielding[m:]
    multipliers = results[n:]
    told = multipliers[rows:]
    factor = work[0:]
    shift = factor[n * n:]
    u = shift[n:]
    entries = u[n:]
    triangle = entries[rows * n:]
    low = triangle[rows * (rows + 1) // 2:]
    high = low[rows:]
    norm = high[rows:]
    soft = norm[rows:]
    side = soft[rows:]
    order = side[rows:]
    diagonal = order[rows:]
    multiplier = diagonal[rows:]
    target = multiplier[rows:]
    scaled = ScaledRows(entries, low, high, norm, soft)
    held = WorkingSet(side, order, triangle, diagonal, multiplier)
    scratch = Scratch(target, target[rows:], u)
    status, iterations = INVALID, 0.0
    for i in range(n + rows):
        results[i] = 0.0
    if factorize(n, arguments, factor) == 1:
        for k in range(n):
            shift[k] = gradient[k]
        forward(n, 0, factor, shift)
        contradiction = scale_rows(n, m, arguments, factor, shift, scaled, triangle)
        for i in range(rows):
            soft[i] = softness[i] / (norm[i] * norm[i]) if i < m and norm[i] > 0.0 else 0.0
        tolerance = 4096.0 * EPSILON * (1.0 + sqrt(dot(n, shift, shift)))
        limit = ROUNDS * rows
        status = iterate(n, m, limit, tolerance, warm, scaled, held, scratch, told)
        iterations = told[0]
        if status != OPTIMAL:
            for i in range(m):
                least = DEFAULT_SOFTNESS
                if yielding[i] > 0.0 and norm[i] > 0.0:
                    least = yielding[i] / (norm[i] * norm[i])
                    least = least if least > MIN_SOFTNESS else MIN_SOFTNESS
                soft[i] = soft[i] if soft[i] > least else least
            status = iterate(n, m, limit, tolerance, multipliers, scaled, held, scratch, told)
            iterations += told[0]
            status = INFEASIBLE if status == OPTIMAL else UNFINISHED
        elif contradiction == 1 and status == OPTIMAL:
            status = INFEASIBLE
        for j in range(int(told[1])):
            row = int(order[j])
            multipliers[row] = multiplier[j] / norm[row]
        if status == UNFINISHED:
            nearest(n, int(told[1]), scaled, held, u)
        for k in range(n):
            results[k] = u[k] - shift[k]
        backward(n, factor, results)
    for k in range(n):
        if not (results[k] > -NO_BOUND and results[k] < NO_BOUND):
            status = INVALID
    for k in range(n):  # a bound holds exactly; without a solution, x is the value within the bounds nearest to 0
        value = results[k] if status != INVALID else 0.0
        if value < lower[m + k]:
            value = lower[m + k]
        if value > upper[m + k]:
            value = upper[m + k]
        if not (value > -NO_BOUND and value < NO_BOUND):
            value, status = 0.0, INVALID
        results[k] = value
    violation = 0.0
    for i in range(m):
        value = dot(n, matrix[i * n:], results)
        if not (value > -NO_BOUND and value < NO_BOUND):
            status = INVALID
        violation = max(violation, lower[i] - value, value - upper[i])
    for i in range(rows):
        if not (multipliers[i] > -NO_BOUND and multipliers[i] < NO_BOUND):
            multipliers[i] = 0.0
            status = INVALID
        if not (lower[i] == lower[i] and upper[i] == upper[i]):
            status = INVALID
    told[0], told[1], told[2] = status, iterations, violation


def solve_flat(n: int, m: int, arguments: Array) -> Array:
    """Results of programs, computed in Python by the functions above.

    Args:
        n: Variables.
        m: Rows.
        arguments: Arguments of each program (see `Sizes`), shape (number of arguments, ...).

    Returns:
        Shape (number of results, ...).
    """
    sizes = Sizes(n, m)
    results = np.zeros((sizes.results, *arguments.shape[1:]))
    with np.errstate(all="ignore"):
        for index in np.ndindex(arguments.shape[1:]):
            one = np.zeros(sizes.results)
            solve_program(n, m, arguments[:, *index].copy(), one, np.zeros(sizes.work))
            results[:, *index] = one
    return results
