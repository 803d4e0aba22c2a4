# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Parameters by instrumental variables, with deviations and bias from errors of the efforts and of the motion.

Noise of the positions enters the columns W of the regressor, so least squares underestimate inertias. The instruments Z
are the same columns of a narrowly filtered motion with much less noise [JanotVandanjonGautier]:
sum_j Z_j^T (tau_j - W_j beta) / phi_j = 0, where phi_j is the variance of the residuals of joint j. Deviations follow
from the measured spectrum of the residuals, which includes coloured noise of efforts and positions.

Friction is not linear in Stribeck's velocity, which a search over one number finds.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.optimize import minimize_scalar

from robodyn_ros.description.model import Array
from robodyn_ros.toolbox.identification.consistent_fit import LinearFit
from robodyn_ros.toolbox.identification.effort_model import EffortModel
from robodyn_ros.toolbox.identification.measured_motion import TINY, MeasuredMotion, MotionSamples

MIN_SIGNIFICANCE = 5.0
"""Stribeck's rise of the friction over its standard deviation, below which it is not identified."""

_REPETITIONS = 3  # of the weighting
_MIN_NOISE = 1e-6  # as a share of the greatest effort; simulated efforts may be free of noise
_SINGULAR = 1e-9
_WHITE_DRAWS = 12  # of white noise, to compare deviations with
_DRAWS = 4  # pairs of opposite noise, for the bias
_MAX_DRAWN = 3000  # samples of the motion, evenly spread
_SEED = 0
_MAX_STRIBECK_SHARE = 0.3  # of the greatest velocity
_STRIBECK_CANDIDATES = 25
_SMOOTHING = 20  # width of the bands in which the errors' spectrum is taken as even [1 / duration of the recording]
_MAX_GAP = 0.1  # share of the samples to which gaps are shortened: errors across longer ones are uncorrelated


def stribeck_velocity(columns: Array, instruments: Array, v: Array, effort: Array, slowest: float,
                      spectra: ErrorSpectra) -> float:
    """Find v_s of exp(-(v / v_s)^2) sign(v) that explains most of the residual effort; NaN: the rise is within errors.

    The rise is its own instrument, minus its projection on the other columns.

    Args:
        columns: All other columns of the joint's samples, 0 where they do not count, shape (K, p).
        instruments: Instruments of these columns, shape (K, p).
        v: Velocities of the joint, 0 where samples do not count, shape (K,) [rad/s or m/s].
        effort: Measured efforts, 0 where samples do not count, shape (K,) [N m or N].
        slowest: Velocity below which there are no samples [rad/s or m/s].
        spectra: Spectra of errors at the times of the samples.
    """
    greatest = _MAX_STRIBECK_SHARE * float(np.abs(v).max(initial=0.0))
    felt = np.flatnonzero(np.abs(columns).max(axis=0, initial=0.0) > 0.0)
    if np.count_nonzero(v) <= len(felt) or greatest <= 2.0 * slowest:
        return float("nan")
    w, z = (each[:, felt] / np.linalg.norm(columns[:, felt], axis=0) for each in (columns, instruments))
    inverse = np.linalg.pinv(z.T @ w, rcond=_SINGULAR)
    unexplained = effort - w @ (inverse @ (z.T @ effort))

    def fitted(logarithms: Array) -> tuple[Array, Array, Array, Array]:
        """Rises with each v_s and their orthogonal parts, (K, s); lengths of these, and rises of friction, (s,)."""
        rises = (np.sign(v) * np.exp(-((v / np.exp(logarithms)[:, None]) ** 2))).T
        own = rises - z @ (inverse.T @ (w.T @ rises))
        strength = (own * rises).sum(axis=0)
        found = strength > _SINGULAR * len(v)
        strength = np.where(found, strength, 1.0)
        return rises, own, strength, np.where(found, np.maximum(own.T @ unexplained / strength, 0.0), 0.0)

    def explained(logarithms: Array) -> Array:
        """Squared effort that a rise with each v_s explains, of the shape of ``logarithms``."""
        _, _, strength, rise = fitted(logarithms)
        return rise**2 * strength

    grid = np.linspace(np.log(slowest), np.log(greatest), _STRIBECK_CANDIDATES)
    best = int(np.argmax(explained(grid)))
    around = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
    logarithm = np.array([minimize_scalar(lambda each: -explained(np.array([each]))[0], bounds=around,
                                          method="bounded").x])
    rises, own, strength, rise = fitted(logarithm)
    residual = unexplained[:, None] - rise * (rises - w @ (inverse @ (z.T @ rises)))
    deviation = np.sqrt(spectra.variances(own[:, None], residual[None])[0]) / strength
    return float(np.exp(logarithm[0])) if rise[0] > MIN_SIGNIFICANCE * deviation[0] else float("nan")


class ErrorSpectra:
    """Spectra of errors along a recording, for the variances of estimates that are linear in them.

    Args:
        time: Times of the samples, evenly spaced in each part of the recording, shape (K,) [s].
    """

    def __init__(self, time: Array) -> None:
        steps = np.diff(time)
        counts = np.rint(steps / np.median(steps)) if len(steps) else steps
        counts = np.clip(counts, 1, max(1, int(_MAX_GAP * len(time))))
        self._place = np.concatenate([[0], np.cumsum(counts)]).astype(np.intp)
        self._length = 1 << int(self._place[-1] + 1).bit_length()
        self._width = max(1, round(_SMOOTHING * self._length / max(len(time), 1)))
        kept = np.arange(self._width * -(-(self._length // 2 + 1) // self._width)).reshape(-1, 1, self._width)
        self._sizes = np.count_nonzero(kept <= self._length // 2, axis=(1, 2))
        # Frequencies between the first and the last also represent the other half of the spectrum.
        self._halves = np.where((kept > 0) & (kept < self._length // 2), 2.0, 1.0)

    def variances(self, influence: Array, errors: Array) -> Array:
        """Variances of m sums of influence times error over samples and joints, for r series of errors, shape (r, m).

        Args:
            influence: Influence of each error on each sum, shape (K, n, m).
            errors: The errors, 0 where there are none, shape (r, K, n); errors of joints at one time may be correlated.
        """
        count = np.maximum(np.count_nonzero(errors, axis=1), 1)
        spectrum = self._bands(np.swapaxes(errors / np.sqrt(count)[:, None], 0, 1))
        density = spectrum.conj() @ np.swapaxes(spectrum, 2, 3) / self._sizes[:, None, None]
        factors = self._bands(influence.transpose(0, 2, 1))
        gain = (factors * self._halves) @ np.swapaxes(factors.conj(), 2, 3)
        return np.asarray(np.einsum("mbjk,rbjk->rm", gain, density, optimize=True).real / self._length)

    def _bands(self, series: Array) -> NDArray[np.complex128]:
        """Spectra in bands of frequency, shape (r, bands, n, frequencies), of series of shape (K, r, n)."""
        placed = np.zeros((*series.shape[1:], self._length))
        placed[..., self._place] = np.moveaxis(series, 0, -1)
        found = np.zeros((*series.shape[1:], len(self._sizes) * self._width), dtype=np.complex128)
        found[..., :self._length // 2 + 1] = np.fft.rfft(placed)
        return np.swapaxes(found.reshape(*series.shape[1:], -1, self._width), 1, 2)


class InstrumentalFit:
    """Base parameters of a model from a motion.

    Args:
        model: Effort model with the columns.
        motion: Measured motion and efforts.
        scale: Full scale of the efforts, shape (n,) [N m or N].

    Attributes:
        values: Base parameters, shape (b,).
        bias: Estimated bias of the values, shape (b,).
        measured: The values as a sum of squares; its curvature is the inverse covariance, including the bias.
    """

    def __init__(self, model: EffortModel, motion: MeasuredMotion, scale: Array) -> None:
        self._model, self._motion = model, motion
        self._given = MotionSamples(motion.q, motion.v, motion.a)
        self._instruments = motion.instruments or self._given
        self._w, self._z = self._both(slice(None), None)
        self._effort = np.where(motion.usable, motion.effort, 0.0)
        self._spectra = ErrorSpectra(motion.time)
        # For each joint: Z^T W, Z^T Z and Z^T tau.
        self._products = [tuple(z.T @ other for other in (w, z, effort)) for w, z, effort in zip(
            *(np.ascontiguousarray(np.swapaxes(each, 0, 1)) for each in (self._w, self._z, self._effort)), strict=True)]
        least = _MIN_NOISE * scale
        self._weights = np.maximum(scale, least) ** -2.0
        for _ in range(_REPETITIONS):
            self.values = self._solve()
            self._weights = np.maximum(self.residual_size(self.values), least) ** -2.0
        self.values = self._solve()
        self.measured, self.bias = self._spread(least)

    def _both(self, rows: slice, noise: Array | None) -> tuple[Array, Array]:
        """Columns and instruments of samples, shape (K, n, b) each; 0 where a joint's friction is not known.

        ``noise``, shape (6, K, n), is added to the motion.
        """
        usable, sliding = self._motion.usable[rows], self._given.v[rows]
        motions = [MotionSamples(*(values[rows] for values in each)) for each in (self._given, self._instruments)]
        if noise is not None:
            sliding = np.where(np.abs(sliding) > TINY, np.sign(sliding) * np.abs(sliding + noise[1]), sliding)
            motions = [MotionSamples(*(values + error for values, error in zip(each, errors, strict=True)))
                       for each, errors in zip(motions, (noise[:3], noise[3:]), strict=True)]
        found = [self._model.columns(*each, sliding)[:, :, self._model.base.independent] for each in motions]
        return found[0] * usable[:, :, None], found[1] * usable[:, :, None]

    def residual(self, values: Array) -> Array:
        """Measured minus predicted effort, 0 where a joint's friction is not known, shape (K, n) [N m or N].

        Args:
            values: Base parameters, shape (b,).
        """
        return np.asarray(self._effort - self._w @ values)

    def residual_size(self, values: Array) -> Array:
        """Root mean square of `residual`, shape (n,); 0 for joints without samples."""
        count = np.maximum(self._motion.usable.sum(axis=0), 1)
        return np.sqrt((self.residual(values)**2).sum(axis=0) / count)

    def _solve(self) -> Array:
        """Solve for the base parameters with the present weights; the shortest solution if it is not unique."""
        self._square, self._own, product = (
            sum(weight * each for weight, each in zip(self._weights, products, strict=True))
            for products in zip(*self._products, strict=True))
        size = np.sqrt(np.diagonal(self._own))
        self._size = np.where(size > 0.0, size, 1.0)
        left, values, right = np.linalg.svd(self._square / np.outer(self._size, self._size))
        resolved = values > _SINGULAR * values.max(initial=0.0)
        self._right = right[resolved]
        self._inverse = self._right.T / values[resolved] @ left[:, resolved].T
        return np.asarray(self._inverse @ (product / self._size) / self._size)

    def _spread(self, least: Array) -> tuple[LinearFit, Array]:
        """Compute `measured` and `bias`; residuals count as at least ``least``, shape (n,) [N m or N]."""
        values, axes = np.linalg.eigh(self._own / np.outer(self._size, self._size))
        spread = self._inverse @ (axes * np.sqrt(np.maximum(values, 0.0)))
        influence = self._z * self._weights[:, None] / self._size @ self._inverse.T
        # Correlations are those of white noise. Sizes are measured relative to white noise, since the fit absorbs part
        # of both.
        noise = np.random.default_rng(_SEED).normal(size=(_WHITE_DRAWS, *self._effort.shape))
        noise *= self._motion.usable / np.sqrt(self._weights)
        sums = np.tensordot(noise, influence, 2)
        noise -= np.moveaxis(self._w @ (sums / self._size).T, -1, 0)
        measured, *white = self._spectra.variances(influence, np.stack([self.residual(self.values), *noise]))
        white = np.mean(white, axis=0)
        floor = float((self._weights * least**2).max())
        ratio = np.sqrt(np.where(white > 0.0, np.maximum(measured / np.maximum(white, 1e-300), floor), 1.0))
        bias = self._inverse @ (self._bias_of_sums() / self._size)
        factor = np.linalg.qr((self._right @ np.column_stack([ratio[:, None] * spread, bias])).T, mode="r")
        matrix = solve_triangular(factor, self._right * self._size, trans="T")
        return LinearFit(matrix, matrix @ self.values), bias / self._size

    def _bias_of_sums(self) -> Array:
        """Contribution of noise of the motion to the sums that the fit makes 0, shape (b,).

        Noise like that of the recording is added with both signs, so that its linear effects cancel.
        """
        covariance, count = self._motion.noise_covariance, len(self._motion.time)
        if covariance is None:
            return np.zeros(len(self.values))
        rows = slice(None, None, max(1, count // _MAX_DRAWN))
        values, axes = np.linalg.eigh(covariance)
        factors, random = axes * np.sqrt(np.maximum(values, 0.0))[:, None], np.random.default_rng(_SEED)

        def sums(noise: Array | None) -> Array:
            w, z = self._both(rows, noise)
            residual = self._effort[rows] - w @ self.values
            return np.einsum("kjb,kj,j->b", z, residual, self._weights, optimize=True)

        used, drawn = len(self._effort[rows]), np.zeros(len(self.values))
        for _ in range(_DRAWS):
            noise = np.einsum("jxy,kjy->xkj", factors, random.normal(size=(used, *factors.shape[:2])))
            drawn += 0.5 * (sums(noise) + sums(-noise))
        return np.asarray((drawn / _DRAWS - sums(None)) * count / used)

    def stribeck_velocities(self) -> Array:
        """Stribeck's velocity of each joint, NaN if there is none, shape (n,) [rad/s or m/s]."""
        motion = self._motion
        return np.array([stribeck_velocity(self._w[:, j], self._z[:, j], np.where(motion.usable[:, j], motion.v[:, j],
                                                                                  0.0),
                                           self._effort[:, j], float(motion.slowest[j]), self._spectra)
                         for j in range(len(self._weights))])
