# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Periodic joint motion as a finite Fourier series that begins and ends at rest [Swevers]."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import null_space

from robodyn_ros.description.model import Array


@dataclass(frozen=True)
class FourierSeries:
    """Basis of motions q(t) = q_0 + sum_k a_k sin(k w t) / (k w) - b_k cos(k w t) / (k w) with v(0) = a(0) = 0.

    The sums of a_k and of k b_k are 0, so that each joint has 2 N - 2 free amplitudes for N harmonics.

    Attributes:
        period: 2 pi / w [s].
        harmonics: N, 2 or more.
    """

    period: float
    harmonics: int

    @property
    def amplitudes(self) -> int:
        """Number of free amplitudes of a joint."""
        return 2 * self.harmonics - 2

    def basis(self, times: Array) -> tuple[Array, Array, Array]:
        """Position, velocity and acceleration at K times [s] per unit of each amplitude, each of shape (K, 2 N - 2)."""
        order = np.arange(1, self.harmonics + 1)
        rates = 2.0 * np.pi / self.period * order
        phase = np.outer(times, rates)
        sine, cosine = np.sin(phase), np.cos(phase)
        q = np.hstack([sine / rates, (1.0 - cosine) / rates])  # the offset is the position at time 0
        v, a = np.hstack([cosine, sine]), np.hstack([-sine * rates, cosine * rates])
        ones = np.zeros((2, 2 * self.harmonics))
        ones[0, :self.harmonics], ones[1, self.harmonics:] = 1.0, order
        free = null_space(ones)
        return q @ free, v @ free, a @ free
