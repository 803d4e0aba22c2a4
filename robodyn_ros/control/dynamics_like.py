# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The dynamics that a law may call, as a type."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from numpy.typing import ArrayLike

from robodyn_ros.description.model import Array
from robodyn_ros.dynamics.linearization import Linearization


class DynamicsLike(Protocol):
    """All functions of ``Dynamics``, for floats (a law that runs uncompiled) and traced scalars (one that is compiled).

    `robodyn_ros.dynamics` documents each function: shapes, units, frames and sources.
    """

    def inverse_dynamics(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, wrench_tip: ArrayLike | None = None,
        wrenches: Mapping[str, ArrayLike] | None = None,
    ) -> Array:
        """Joint efforts tau of M(q) a + c(q, v) + g(q) = tau + J(q)^T wrench_tip, shape (n,) [N m or N]."""

    def forward_dynamics(
        self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, wrench_tip: ArrayLike | None = None,
        wrenches: Mapping[str, ArrayLike] | None = None,
    ) -> Array:
        """Joint accelerations under efforts tau, shape (n,) [rad/s^2 or m/s^2]."""

    def mass_matrix(self, q: ArrayLike) -> Array:
        """M(q), shape (n, n)."""

    def coriolis_matrix(self, q: ArrayLike, v: ArrayLike) -> Array:
        """C(q, v) of Christoffel symbols, shape (n, n)."""

    def gravity(self, q: ArrayLike) -> Array:
        """g(q), shape (n,) [N m or N]."""

    def bias(self, q: ArrayLike, v: ArrayLike) -> Array:
        """C(q, v) v + g(q), shape (n,) [N m or N]."""

    def kinetic_energy(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Kinetic energy, shape () [J]."""

    def potential_energy(self, q: ArrayLike) -> Array:
        """Potential energy under gravity, shape () [J]."""

    def center_of_mass(self, q: ArrayLike) -> Array:
        """Centre of mass of the moving links in the base frame, shape (3,) [m]."""

    def forward_kinematics(self, q: ArrayLike, link: str | None = None) -> Array:
        """Pose of a link in the base frame, shape (4, 4)."""

    def jacobian(self, q: ArrayLike, link: str | None = None) -> Array:
        """Geometric Jacobian of a link in base axes, linear rows first, shape (6, n)."""

    def jacobian_derivative(self, q: ArrayLike, v: ArrayLike, link: str | None = None) -> Array:
        """Time derivative of the Jacobian, shape (6, n)."""

    def inverse_dynamics_derivatives(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, wrench_tip: ArrayLike | None = None,
        wrenches: Mapping[str, ArrayLike] | None = None,
    ) -> Array:
        """Derivatives of inverse dynamics by q, v and a, shape (3, n, n)."""

    def forward_dynamics_derivatives(
        self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, wrench_tip: ArrayLike | None = None,
        wrenches: Mapping[str, ArrayLike] | None = None,
    ) -> Array:
        """Derivatives of forward dynamics by q, v and tau, shape (3, n, n)."""

    def linearization(
        self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, wrench_tip: ArrayLike | None = None,
        wrenches: Mapping[str, ArrayLike] | None = None,
    ) -> Linearization:
        """A and B of dx' = A dx + B dtau, x = (q, v)."""

    def regressor(self, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> Array:
        """Y of tau = Y pi, shape (n, 10 * moving links)."""

    def task_space_inertia(self, q: ArrayLike, link: str | None = None, rows: Sequence[bool] | None = None) -> Array:
        """(J M^-1 J^T)^-1, shape (m, m)."""

    def task_space_bias(
        self, q: ArrayLike, v: ArrayLike, link: str | None = None, rows: Sequence[bool] | None = None
    ) -> Array:
        """Task-space Coriolis, centrifugal and gravity wrench, shape (m,)."""

    def dynamically_consistent_inverse(
        self, q: ArrayLike, link: str | None = None, rows: Sequence[bool] | None = None
    ) -> Array:
        """M^-1 J^T (J M^-1 J^T)^-1, shape (n, m)."""
