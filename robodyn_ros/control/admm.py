# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""A quadratic program with bounds, in matrix-vector products alone: the method of [Stellato], warm-started.

``control.qp`` solves programs of up to 40 variables exactly, and is compiled; this one is for the hundreds of variables
of a plan, to the accuracy that a plan needs.
"""

from __future__ import annotations

import numpy as np

from robodyn_ros.description.model import Array

SIGMA, RELAXATION = 1e-6, 1.6
"""Regularisation and over-relaxation, [Stellato] 3.1 and 5.3."""


class BoundedProgram:
    """Minimises x^T P x / 2 + g^T x with the rows of A x within bounds, each at a price.

    A row that is beyond its bound by d costs w d^2 / 2; so there is a solution also where bounds contradict each other.

    Args:
        n: Number of variables.
        m: Number of rows.

    Attributes:
        x: The solution so far, shape (n,).
    """

    def __init__(self, n: int, m: int) -> None:
        self.x, self._z, self._y = np.zeros(n), np.zeros(m), np.zeros(m)

    def set(self, p: Array, g: Array, a: Array, lower: Array, upper: Array, price: Array) -> None:
        """Give the numbers of the next program; it starts at the solution of the last one.

        Args:
            p: Positive definite, shape (n, n).
            g: Shape (n,).
            a: Shape (m, n).
            lower: Lower bounds of the rows, shape (m,).
            upper: Upper bounds.
            price: w of each row, shape (m,).
        """
        scale = len(g) / np.trace(p)  # of the cost
        self._p, self._g, self._a, self._lower, self._upper = scale * p, scale * g, a, lower, upper
        self._pull = RHO / (RHO + scale * price)

    def factorise(self) -> None:
        """Invert P + sigma I + rho A^T A of the first step, [Stellato] (22)."""
        self._inverse = np.linalg.inv(self._p + RHO * (self._a.T @ self._a) + SIGMA * np.eye(len(self._g)))

    def iterate(self, count: int) -> None:
        """Iterate, [Stellato] algorithm 1; its projection goes a part of the way only, as the price has it."""
        x, z, y = self.x, self._z, self._y
        for _ in range(count):
            solved = self._inverse @ (SIGMA * x - self._g + self._a.T @ (RHO * z - y))
            x = RELAXATION * solved + (1.0 - RELAXATION) * x
            mixed = RELAXATION * (self._a @ solved) + (1.0 - RELAXATION) * z
            free = mixed + y / RHO
            nearest = np.minimum(np.maximum(free, self._lower), self._upper)
            z = nearest + self._pull * (free - nearest)
            y = y + RHO * (mixed - z)
        self.x, self._z, self._y = x, z, y


RHO = 0.1
"""Step size, for a cost whose Hessian has a mean diagonal of 1."""
