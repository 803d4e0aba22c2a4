# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The robot near a state, as a linear system."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robodyn_ros.description.model import Array


class Linearization(NamedTuple):
    """dx' = A dx + B du, the change of the state x = (q, v) with the effort u = tau, near a state and an effort.

    Continuous in time; ``scipy.signal.cont2discrete`` makes a sampled system of it.

    Attributes:
        A: df/dx, shape (2n, 2n); of a batch (N, 2n, 2n).
        B: df/du, shape (2n, n); of a batch (N, 2n, n).
    """

    A: Array
    B: Array

    @classmethod
    def from_derivatives(cls, derivatives: Array) -> Linearization:
        """From the derivatives of forward dynamics: x' = f(x, u) = (v, a(q, v, tau)).

        Args:
            derivatives: da/dq, da/dv and da/dtau, shape (..., 3, n, n).
        """
        n = derivatives.shape[-1]
        leading = derivatives.shape[:-3]
        state, effort = np.zeros((*leading, 2 * n, 2 * n)), np.zeros((*leading, 2 * n, n))
        state[..., :n, n:] = np.eye(n)
        state[..., n:, :n] = derivatives[..., 0, :, :]
        state[..., n:, n:] = derivatives[..., 1, :, :]
        effort[..., n:, :] = derivatives[..., 2, :, :]
        return cls(state, effort)
