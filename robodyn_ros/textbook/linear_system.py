# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Solution of the linear system M a = b of forward dynamics, for floats and for traced scalars."""

from __future__ import annotations

from numbers import Real

import numpy as np

from robodyn_ros.base.errors import InputError
from robodyn_ros.description.model import Array

NO_INERTIA = (
    "the mass matrix is singular: joint {}, counted from 0, moves no inertia while the joints before it are free, so "
    "that no effort determines its acceleration; give the links it carries an inertia"
)


def solve_symmetric(matrix: Array, right: Array, singular: str = NO_INERTIA) -> Array:
    """Solve M x = b by Gaussian elimination without row exchange, which a positive definite M does not need.

    [LynchPark] prescribes no solver for (9.89).

    Args:
        matrix: M, symmetric and positive definite, shape (n, n).
        right: b, shape (n,), or several right sides as the columns of an array of shape (n, m).
        singular: Error message for a pivot of 0; {} stands for the row of the pivot.

    Returns:
        x, of the shape of b.

    Raises:
        InputError: A pivot is exactly 0, for example because a joint moves no inertia.
    """
    kind = np.result_type(matrix, right, float)
    m, x = np.array(matrix, dtype=kind), np.array(right, dtype=kind)
    for k in range(len(m)):
        if isinstance(m[k, k], Real) and m[k, k] == 0.0:  # a traced scalar has no value to compare
            raise InputError(singular.format(k))
        for row in range(k + 1, len(m)):
            factor = m[row, k] / m[k, k]
            m[row, k:] = m[row, k:] - factor * m[k, k:]
            x[row] = x[row] - factor * x[k]
    for k in reversed(range(len(m))):
        x[k] = (x[k] - m[k, k + 1 :] @ x[k + 1 :]) / m[k, k]
    return x
