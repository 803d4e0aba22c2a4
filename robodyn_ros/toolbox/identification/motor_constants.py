# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Constants of DC motors from recorded currents, voltages and joint efforts.

v_M = R_M i + K_e gamma v        [Yamamoto] (6.1), (6.7), without inductance
tau = gamma K_M i                 (6.4), (6.10)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.description.model import Array

MIN_SAMPLES = 100
"""Least number of samples with current to identify a motor."""


@dataclass(frozen=True, eq=False)
class MotorConstants:
    """Constants of the motors with recorded currents, at the joints; NaN for other joints; shape (n,) each."""

    effort_per_current: Array  # gamma K_M [N m/A or N/A]
    resistance: Array  # R_M [ohm]
    back_emf: Array  # gamma K_e [V s/rad or V s/m]
    effort_deviation: Array  # standard deviation of `effort_per_current`
    resistance_deviation: Array  # standard deviation of `resistance`
    back_emf_deviation: Array  # standard deviation of `back_emf`

    @property
    def known(self) -> NDArray[np.bool_]:
        """Which joints have an identified torque constant, shape (n,)."""
        return np.isfinite(self.effort_per_current)


def motor_constants(v: Array, effort: Array, current: Array, voltage: Array) -> MotorConstants:
    """Identify motors by least squares.

    Args:
        v: Velocities of the gears' outputs, which are those of the joints except for coupled motors, at K samples,
            shape (K, n) [rad/s or m/s].
        effort: Efforts of the drives on the outputs, shape (K, n) [N m or N].
        current: Currents, NaN for joints without a motor, shape (K, n) [A].
        voltage: Voltages at the terminals, NaN if not measured, shape (K, n) [V].
    """
    rows = np.full((6, v.shape[1]), np.nan)
    for j in range(v.shape[1]):
        there = np.isfinite(current[:, j]) & np.isfinite(effort[:, j]) & np.isfinite(v[:, j])
        if there.sum() < MIN_SAMPLES or not np.ptp(current[there, j]):
            continue
        rows[[0, 3], [j, j]] = np.ravel(_least_squares(current[there, j][:, None], effort[there, j]))
        there &= np.isfinite(voltage[:, j])
        if there.sum() >= MIN_SAMPLES and np.ptp(v[there, j]):
            values, deviations = _least_squares(np.column_stack([current[there, j], v[there, j]]), voltage[there, j])
            rows[[1, 2], j], rows[[4, 5], j] = values, deviations
    return MotorConstants(*rows)


def _least_squares(columns: Array, target: Array) -> tuple[Array, Array]:
    """Coefficients and their standard deviations."""
    values: Array = np.linalg.lstsq(columns, target, rcond=None)[0].astype(np.float64)
    error = target - columns @ values
    variance = float(error @ error) / max(len(target) - columns.shape[1], 1)
    return values, np.sqrt(variance * np.diagonal(np.linalg.inv(columns.T @ columns)))
