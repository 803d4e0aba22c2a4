# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Identifies stiffness and backlash of elastic joints, and motor inertia, from encoders on both sides of the springs.

    tau = B theta'' + K (e - b/2 sign(e)) + D e' + F sign(theta') + D_m theta',    e = theta - q - c

is the motion of a motor [Spong] with its own friction F and D_m, outside of the dead zone of width b. It is linear in
B, K, K b, D, F, D_m and K c, and independent of the links. The offset c of the encoders and the samples in the dead
zone are found iteratively.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.description.model import Array
from robodyn_ros.toolbox.identification.measured_motion import MeasuredMotion

MAX_SHARE = 0.2
"""Greatest standard deviation of an identified stiffness, relative to the stiffness."""

_MIN_SAMPLES = 100
_MIN_SHARE = 0.05  # least share of samples with deflections of each sign, to identify the backlash
_REPETITIONS = 4


@dataclass(frozen=True, eq=False)
class SpringFit:
    """Springs of the joints; NaN if they are not identified; each array has shape (n,)."""

    stiffness: Array  # K [N m/rad or N/m]
    stiffness_deviation: Array  # its standard deviation
    motor_inertia: Array  # B at the outputs of the gears [kg m^2 or kg]
    motor_inertia_deviation: Array  # its standard deviation
    backlash: Array  # b, total width of the dead zone; NaN also where the spring bends to one side only [rad or m]
    backlash_deviation: Array  # its standard deviation
    reasons: tuple[str, ...]  # why a joint is not identified; empty if it is; length n
    damping: Array | None = None  # D, if it was identified [N m s/rad or N s/m]; None: not identified
    damping_deviation: Array | None = None  # its standard deviation

    @property
    def identified(self) -> NDArray[np.bool_]:
        """Which joints are identified, shape (n,)."""
        return np.isfinite(self.stiffness)


def fit_springs(names: Sequence[str], motion: MeasuredMotion, motors: MeasuredMotion) -> SpringFit:
    """Fit the spring of each joint by least squares.

    Args:
        names: Names of the joints, for the reasons.
        motion: Motion of the links, with the efforts of the drives.
        motors: Motion of the motors at the outputs of their gears, at the same times.
    """
    rows, reasons = np.full((6, len(names)), np.nan), []
    for j, name in enumerate(names):
        used = motors.usable[:, j] & motion.usable[:, j]
        if used.sum() < _MIN_SAMPLES:
            reasons.append(f"joint '{name}': expected {_MIN_SAMPLES} samples in motion, received {used.sum()}; "
                           "record a motion such as robodyn excite writes")
            continue
        deflection = (motors.q - motion.q)[used, j]
        rate = (motors.v - motion.v)[used, j]
        found = _fit(deflection, rate, motors.v[used, j], motors.a[used, j], motion.effort[used, j])
        # Encoder noise in the deflection lowers the estimated stiffness.
        noise = np.hypot(motion.position_noise[j], motors.position_noise[j])
        attenuation = abs(found[0]) * min(1.0, float(noise**2 / max(deflection.var(), 1e-300)))
        found[1] = np.hypot(found[1], attenuation)
        if found[0] <= 0.0 or found[1] > MAX_SHARE * found[0]:
            reasons.append(f"joint '{name}': the deflection of {deflection.std():.2g} rad or m, with a noise of "
                           f"{noise:.2g}, does not identify its stiffness; load the joint more, or measure with finer "
                           "encoders on both sides")
            continue
        rows[:, j] = found
        reasons.append("")
    return SpringFit(rows[0], rows[1], rows[2], rows[3], rows[4], rows[5], tuple(reasons))


def _fit(deflection: Array, rate: Array, v: Array, a: Array, effort: Array) -> Array:
    """Return K, B and b of a joint, each followed by its deviation, shape (6,); arguments have shape (K,)."""
    offset, play, result = 0.0, 0.0, np.full(6, np.nan)
    for _ in range(_REPETITIONS):
        centred = deflection - offset
        kept = np.abs(centred) >= 0.5 * play
        bends_both_ways = min((centred[kept] > 0.0).mean(), (centred[kept] < 0.0).mean()) >= _MIN_SHARE
        columns = np.stack([centred, a, rate, np.sign(v), v, np.ones_like(v),
                            *([-0.5 * np.sign(centred)] if bends_both_ways else [])], axis=1)[kept]
        values, deviations = least_squares(columns, effort[kept])
        result[:4] = values[0], deviations[0], values[1], deviations[1]
        if not bends_both_ways or values[0] <= 0.0:
            break
        result[4:] = values[6] / values[0], deviations[6] / values[0]
        play, offset = max(float(result[4]), 0.0), offset - float(values[5] / values[0])
    return result


def least_squares(columns: Array, target: Array) -> tuple[Array, Array]:
    """Return coefficients and their standard deviations, corrected for correlated errors of neighbouring samples.

    Args:
        columns: The columns, shape (K, p).
        target: Values at evenly spaced times, shape (K,).
    """
    scale = np.maximum(np.linalg.norm(columns, axis=0), 1e-300)
    values = np.linalg.lstsq(columns / scale, target, rcond=None)[0]
    error = target - columns @ (values / scale)
    variance = float(error @ error) / max(len(target) - len(scale), 1) * correlated_samples(error)
    covariance = variance * np.linalg.pinv((columns / scale).T @ (columns / scale))
    return values / scale, np.sqrt(np.diagonal(covariance)) / scale


def correlated_samples(errors: Array) -> float:
    """Number of samples that count as one: 1 plus twice the sum of autocorrelations before the first negative one.

    Args:
        errors: Errors at evenly spaced times, shape (K,).
    """
    if len(errors) < 2 or not errors.any():
        return 1.0
    centred = errors - errors.mean()
    spectrum = np.fft.rfft(centred, 2 * len(centred))
    correlation = np.fft.irfft(np.abs(spectrum) ** 2)[:len(centred)]
    if correlation[0] <= 0.0:
        return 1.0
    negative = np.flatnonzero(correlation < 0.0)
    end = int(negative[0]) if len(negative) else len(correlation)
    return float(1.0 + 2.0 * correlation[1:end].sum() / correlation[0])
