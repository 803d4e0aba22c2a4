# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Linear algebra of small matrices of traced values, with the same results as NumPy's functions on floats.

Rows are exchanged by selections instead of branches, so the code is the same for all values.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from robodyn_ros.base.errors import CompileError

MAX_ROWS = 32
"""Greatest number of rows: the amount of code grows with its cube."""

Matrix = np.ndarray[Any, Any]


def solve(a: Matrix, b: Matrix) -> Matrix:
    """Solution of A x = b by elimination with row pivoting, for A of shape (..., n, n), as `np.linalg.solve`."""
    a, b = np.asanyarray(a), np.asanyarray(b)
    if b.ndim == 1:
        return solve(a, b[:, None])[..., 0]
    leading = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    n = _rows("solve", a)
    if b.shape[-2] != n:
        raise CompileError(f"np.linalg.solve: expected as many rows in b as in a, {n}, received {b.shape[-2]}")
    if leading:
        a, b = np.broadcast_to(a, leading + a.shape[-2:]), np.broadcast_to(b, leading + b.shape[-2:])
        return _each(solve, a, b)
    upper, right, _ = _eliminated(a, b)
    rows: list[Any] = [None] * n
    for k in reversed(range(n)):
        rest = right[k]
        for j in range(k + 1, n):
            rest = rest - upper[k, j] * rows[j]
        rows[k] = rest / upper[k, k]
    return _stacked(rows, b.shape)


def inverse(a: Matrix) -> Matrix:
    """Like `np.linalg.inv`."""
    a = np.asanyarray(a)
    return solve(a, np.eye(_rows("inv", a), dtype=object))


def determinant(a: Matrix) -> Any:
    """Like `np.linalg.det`."""
    a = np.asanyarray(a)
    _rows("det", a)
    if a.ndim > 2:
        return _each(determinant, a)
    upper, _, sign = _eliminated(a, a[:, :0])
    return np.prod(np.diagonal(upper)) * sign


def cholesky(a: Matrix, /, *, upper: bool = False) -> Matrix:
    """Like `np.linalg.cholesky`; NaN if A is not positive definite. Only the lower triangle is read."""
    a = np.asanyarray(a)
    n = _rows("cholesky", a)
    if a.ndim > 2:
        return _each(lambda each: cholesky(each, upper=upper), a)
    if upper:
        return cholesky(a.T).T
    lower = np.zeros(a.shape, dtype=object)
    for j in range(n):
        lower[j, j] = np.sqrt(a[j, j] - lower[j, :j] @ lower[j, :j])
        for i in range(j + 1, n):
            lower[i, j] = (a[i, j] - lower[i, :j] @ lower[j, :j]) / lower[j, j]
    return lower


def _eliminated(a: Matrix, b: Matrix) -> tuple[Matrix, Matrix, Any]:
    """Upper triangle, right sides, and the sign of the row exchanges."""
    n, sign = len(a), np.ones(())
    both = np.concatenate([a, b], axis=1).view(type(a))
    for k in range(n):
        for i in range(k + 1, n):
            larger = np.absolute(both[i, k]) > np.absolute(both[k, k])
            upper, lower = both[k].copy(), both[i].copy()
            both[k, k:] = np.where(larger, lower, upper)[k:]
            both[i, k:] = np.where(larger, upper, lower)[k:]
            sign = np.where(larger, -sign, sign)
        for i in range(k + 1, n):
            both[i, k + 1:] = both[i, k + 1:] - both[i, k] / both[k, k] * both[k, k + 1:]
    return both[:, :n], both[:, n:], sign


def _each(function: Any, *stacks: Matrix) -> Matrix:
    """Apply a function to each matrix in stacks of matrices."""
    return np.stack([np.asanyarray(function(*each)) for each in zip(*stacks, strict=True)])


def _stacked(rows: list[Any], shape: tuple[int, ...]) -> Matrix:
    result = np.empty(shape, dtype=object)
    for k, row in enumerate(rows):
        result[k] = row
    return result


def _rows(name: str, a: Matrix) -> int:
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise CompileError(f"np.linalg.{name}: expected a square matrix, received shape {a.shape}")
    if a.shape[-1] > MAX_ROWS:
        raise CompileError(f"np.linalg.{name} of traced values: expected at most {MAX_ROWS} rows, received "
                           f"{a.shape[-1]}: the code grows with their cube")
    return int(a.shape[-1])
