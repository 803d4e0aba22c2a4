# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Identifies the stiffness of elastic joints from the frequency response of their motors, without link sensors.

With the links' mass matrix M in one posture, the motion of motors and links [Spong] relates the accelerations of the
motors to their torques by tau = A a, with

    A(omega) = B + D_m / (j omega) + Z (Z + j omega D_l - omega^2 M)^-1 (M + D_l / (j omega)),   Z = K + j omega D

and friction D_m of the motors and D_l of the links. A joint alone has its antiresonance at sqrt(K / M), where its
motor stands still, and its resonance at sqrt(K (1 / B + 1 / M)).

The response is estimated from averaged spectra of torques and accelerations [Welch]. K, D, B, D_m, D_l, a factor of
each link's inertia and a delay are fitted to it; each frequency is weighted by its noise, from its coherence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares
from scipy.signal import get_window

from robodyn_ros.description.model import Array, joint_matrix
from robodyn_ros.toolbox.identification.measured_motion import EvenSamples
from robodyn_ros.toolbox.identification.spring_fit import MAX_SHARE, SpringFit

MIN_COHERENCE = 0.6
"""A frequency counts if torques explain at least this share of the motor's acceleration."""

MAX_VARIATION = 0.1
"""Greatest standard deviation of a link's inertia over the recording, relative to its mean."""

_AVERAGES, _AVERAGES_PER_JOINT = 24, 5  # least number of spectra
_FIRST_LINE = 3  # the window blurs lower frequencies
_MAX_FREQUENCY = 0.2  # [sampling rates]
_MIN_PHASE = -0.5  # sine of the phase from a motor's torque to its acceleration; mechanics keep it at 0 or above
_SINGULAR = 1e-6  # share of the greatest eigenvalue of the torques' spectrum
_BLUR = 1.5  # lines of a Hann window that carry the information of one
_SPREADS = {"stiffness": 3.0, "damping": 1.5, "motor": 1.5, "motor_viscous": 2.0, "link_viscous": 2.0, "inertia": 0.5}
"""Standard deviations of the logarithms of all parameters before the measurement."""

_DAMPING_RATIO, _COARSE_RATIO = 0.03, 0.15  # before the measurement; in the search, for modes of other joints
_CANDIDATES, _SWEEPS = 30, 3  # stiffnesses of the search for the start
_COARSE = 0.3  # assumed model error in the search, relative to the response, so that all lines have similar weight
_MISFIT = 0.15  # greatest RMS error of the model, relative to the response
_MIN_DEVIATION = 0.01  # least relative deviation, since the model simplifies friction and held torques
_SIGNIFICANCE = 25.0  # least drop of the sum of squares relative to a rigid joint


@dataclass(frozen=True, eq=False)
class MotorResponse:
    """Measured frequency response from the torques of the motors to their accelerations."""

    frequency: Array  # frequencies, shape (F,) [Hz]
    response: NDArray[np.complex128]  # responses, shape (F, n, n) [1/(kg m^2) or 1/kg]
    coherence: Array  # share of each acceleration that all torques explain, shape (F, n)
    whitened: NDArray[np.complex128]  # response to independent torques of unit power, shape (F, n, n)
    root: NDArray[np.complex128]  # factor with response @ root = whitened, shape (F, n, n)
    noise: Array  # power of the acceleration that no torque explains, shape (F, n)
    averages: int  # number of averaged spectra
    period: float  # period of the samples [s]

    @property
    def used(self) -> NDArray[np.bool_]:
        """Which frequencies reveal the mechanics of each joint, shape (F, n).

        If encoder noise drives the torques through the controller, torques and accelerations are coherent, too: the
        response is that of the inverse controller, in which accelerations lag behind torques. With links they never do
        [Spong], since a motor with links absorbs energy at every frequency.
        """
        turned = np.exp(1j * np.pi * self.frequency * self.period)[:, None] * np.einsum("fii->fi", self.response)
        return np.asarray((self.coherence >= MIN_COHERENCE)
                          & (turned.imag >= _MIN_PHASE * np.abs(turned)))


@dataclass(frozen=True, eq=False)
class ResponseFit:
    """Springs that fit a response."""

    springs: SpringFit  # stiffness, damping and motor inertia, without backlash
    measured: MotorResponse
    fitted: NDArray[np.complex128]  # response of the model, shape (F, n, n)
    antiresonance: Array  # antiresonance of each joint with the others at rest, shape (n,) [Hz]
    delay: float  # delay from torques to accelerations, including half a sampling period for held torques [s]


def motor_response(samples: EvenSamples) -> MotorResponse:
    """Estimate the response of motors by Welch's method with Hann windows that overlap by half.

    Args:
        samples: Positions and torques of the motors, at the outputs of their gears.
    """
    n = samples.parts[0].position.shape[1]
    averages = max(_AVERAGES, _AVERAGES_PER_JOINT * n)
    size = 2 * (sum(len(part.time) for part in samples.parts) // (averages + 1))
    window, period = get_window("hann", size)[:, None], samples.period
    spectra: tuple[list[NDArray[np.complex128]], list[NDArray[np.complex128]]] = [], []
    for part in samples.parts:
        # Differences avoid leakage from slow motion; their gain is known.
        a = (np.diff(part.position, 2, axis=0) / period**2 if part.velocity is None
             else (part.velocity[2:] - part.velocity[:-2]) / (2.0 * period))
        for begin in range(0, len(a) - size + 1, size // 2):
            for found, values in zip(spectra, (a, part.effort[1:-1]), strict=True):
                piece = values[begin:begin + size]
                found.append(np.fft.rfft((piece - piece.mean(axis=0)) * window, axis=0))
    frequency = np.fft.rfftfreq(size, period)
    lines = slice(_FIRST_LINE, int(_MAX_FREQUENCY / period / frequency[1]) + 1)
    frequency = frequency[lines]
    has_velocity = samples.parts[0].velocity is not None
    gain = np.sinc(2.0 * frequency * period) if has_velocity else np.sinc(frequency * period)**2
    a, tau = np.stack(spectra[0])[:, lines] / gain[:, None], np.stack(spectra[1])[:, lines]
    count = len(a)
    torques, cross = (np.einsum("kfi,kfj->fij", left, tau.conj()) / count for left in (tau, a))
    power = np.einsum("kfi,kfi->fi", a, a.conj()).real / count
    scale = np.maximum(np.sqrt(np.einsum("fii->fi", torques).real), 1e-300)
    values, vectors = np.linalg.eigh(torques / (scale[:, :, None] * scale[:, None, :]))
    resolved = values > _SINGULAR * values[:, -1:]
    roots = np.sqrt(np.where(resolved, values, 1.0))
    whitening = vectors * np.where(resolved, 1.0 / roots, 0.0)[:, None, :] / scale[:, :, None]
    whitened = cross @ whitening
    noise = np.maximum(power - (np.abs(whitened)**2).sum(axis=2), 1e-12 * power)
    noise *= (count / np.maximum(count - resolved.sum(axis=1), 1))[:, None]
    return MotorResponse(frequency.astype(np.float64), whitened @ whitening.conj().transpose(0, 2, 1),
                         np.clip(1.0 - noise / np.maximum(power, 1e-300), 0.0, 1.0), whitened,
                         scale[:, :, None] * vectors * np.where(resolved, roots, 0.0)[:, None, :], noise, count, period)


def fit_response(names: Sequence[str], response: MotorResponse, mass_matrix: Array, variation: Array,
                 motor_inertia: Array, coupling: Array | None = None, stiffness: Array | None = None) -> ResponseFit:
    """Fit the springs of all joints to a response.

    Args:
        names: Names of the joints, for the reasons.
        response: Response of the motors.
        mass_matrix: Mass matrix of the links only, in the posture of the recording, shape (n, n) [kg m^2 or kg].
        variation: Relative standard deviation of its diagonal over the recording, shape (n,).
        motor_inertia: Motor inertias at the outputs of their gears; NaN: unknown; shape (n,) [kg m^2 or kg].
        coupling: Coupling of motors that turn with several joints, see `EffortModel`, shape (n, n); None: none.
        stiffness: Known stiffnesses, for the reasons; NaN: unknown; shape (n,) [N m/rad or N/m].
    """
    model = _Model(response, mass_matrix, motor_inertia, coupling)
    parameters, deviations = model.fit()
    found = {kind: (values, values * np.hypot(deviation, _MIN_DEVIATION)) for kind, values, deviation in zip(
        _SPREADS, np.exp(parameters[:-1]).reshape(len(_SPREADS), -1), deviations[:-1].reshape(len(_SPREADS), -1),
        strict=True)}
    fitted, reasons = model.response(parameters), []
    explained = (np.abs(response.whitened)**2).sum(axis=2)
    missed = (np.abs(response.whitened - fitted @ response.root)**2).sum(axis=2)
    misfit = np.array([np.sqrt(missed[used, j].sum() / explained[used, j].sum()) if used.any() else 0.0
                       for j, used in enumerate(response.used.T)])
    inertia = found["inertia"][0] * np.diag(mass_matrix)
    antiresonances = np.sqrt(found["stiffness"][0] / inertia) / (2.0 * np.pi)
    for j, name in enumerate(names):
        used, peak = response.used[:, j], float(response.coherence[:, j].max())
        value, deviation = (each[j] for each in found["stiffness"])
        if not used.any():
            reasons.append(f"joint '{name}': the torques explain at most {peak:.0%} of its motor's acceleration at any "
                           f"frequency: expected {MIN_COHERENCE:.0%}; excite it more, by a chirp or a multisine")
            continue
        if variation[j] > MAX_VARIATION:
            reasons.append(f"joint '{name}': the inertia of its links varies by {variation[j]:.0%} over the recording: "
                           f"expected {MAX_VARIATION:.0%} at most; excite it in one posture")
            continue
        top = float(response.frequency[used].max())
        if (antiresonances[j] <= top and deviation <= MAX_SHARE * value
                and misfit[j] <= _MISFIT and model.drop_by_spring(parameters, j) >= _SIGNIFICANCE):
            reasons.append("")
            continue
        if misfit[j] > _MISFIT:
            reasons.append(f"joint '{name}': the model of elastic joints misses its response by {misfit[j]:.0%}: "
                           f"expected {_MISFIT:.0%} at most; excite one joint at a time, or correct the inertias of "
                           "the description")
            continue
        by_rate = top >= 0.95 * float(response.frequency[-1])
        limit = "the sampling rate" if by_rate else "the coherence of torque and acceleration"
        known = np.nan if stiffness is None else stiffness[j]
        where = (f"its antiresonance would be at {np.sqrt(known / inertia[j]) / (2.0 * np.pi):.3g} Hz" if known > 0.0
                 else "it moves as a rigid joint")
        reasons.append(f"joint '{name}': {where}; the recording resolves up to {top:.3g} Hz, by {limit}, hence "
                       f"stiffnesses up to {inertia[j] * (2.0 * np.pi * top)**2:.3g}; "
                       f"{'sample' if by_rate else 'excite it'} faster")
    resolved = np.array([not reason for reason in reasons])

    def identified(kind: str) -> tuple[Array, Array]:
        value, deviation = found[kind]
        return np.where(resolved, value, np.nan), np.where(resolved, deviation, np.nan)

    nothing = np.full(len(names), np.nan)
    springs = SpringFit(*identified("stiffness"), *identified("motor"), nothing, nothing, tuple(reasons),
                        *identified("damping"))
    return ResponseFit(springs, response, fitted, antiresonances, float(parameters[-1]))


class _Model:
    """Response of a model, and its distance from the measured one.

    Its parameters are the logarithms of the arrays named in `_SPREADS`, and the delay [s].
    """

    def __init__(self, measured: MotorResponse, mass_matrix: Array, motor_inertia: Array, coupling: Array | None
                 ) -> None:
        self._measured, self._mass_matrix, self._coupling = measured, mass_matrix, coupling
        self._omega, self._used = 2.0 * np.pi * measured.frequency, measured.used
        explained = (np.abs(measured.whitened)**2).sum(axis=2)
        self._coarse, self._fine = (np.sqrt(measured.averages / np.maximum(
            measured.noise + measured.averages * share**2 * explained, 1e-300))[:, :, None]
            for share in (_COARSE, 0.0))
        inertia = np.diag(mass_matrix)
        highest = np.array([self._omega[used].max() if used.any() else self._omega[-1] for used in self._used.T])
        top = np.median(np.abs(np.einsum("fii->fi", measured.response))[-(-len(self._omega) // 2):], axis=0)
        motors = np.where(np.isfinite(motor_inertia), motor_inertia, np.clip(1.0 / np.maximum(top, 1e-12),
                                                                            0.05 * inertia, 20.0 * inertia))
        stiffness = 0.1 * inertia * highest**2
        self._grid = np.linspace(np.log(inertia * self._omega[0]**2), np.log(2.0 * inertia * highest**2), _CANDIDATES)
        viscous = 0.05 * inertia * self._omega[0]
        self._prior = np.log(np.stack([stiffness, 2.0 * _DAMPING_RATIO * np.sqrt(stiffness * inertia), motors, viscous,
                                       viscous, np.ones_like(inertia)]))
        spreads = np.repeat(np.array(list(_SPREADS.values()))[:, None], len(inertia), axis=1)
        self._spreads = np.where(np.isfinite(motor_inertia), np.where(np.arange(len(spreads))[:, None] == 2, 0.2,
                                                                      spreads), spreads)

    def response(self, parameters: Array) -> NDArray[np.complex128]:
        """Accelerations for torques at all frequencies, shape (F, n, n)."""
        n = len(self._mass_matrix)
        k, d, b, d_m, d_l, factor = np.exp(parameters[:-1]).reshape(-1, n)
        root = np.sqrt(factor)
        links = root[:, None] * self._mass_matrix * root
        jw = 1j * self._omega[:, None, None]
        z = (k + jw[:, 0] * d)[:, :, None]
        loads = links + np.diag(d_l) / jw
        motors = joint_matrix(self._coupling, b) + joint_matrix(self._coupling, d_m) / jw
        inverse = motors + z * np.linalg.solve(z * np.eye(n) + jw**2 * loads, loads)
        delay, frequency = parameters[-1], self._measured.frequency[:, None, None]
        # Holding a torque delays it by half of the time, and smooths it.
        held = np.sinc(2.0 * frequency * np.clip(delay, 0.0, 0.5 * self._measured.period))
        return np.asarray(np.linalg.inv(inverse) * held * np.exp(-jw * delay))

    def errors(self, parameters: Array, weights: Array | None = None) -> Array:
        """Errors relative to the measured response, then to the prior, in standard deviations."""
        measured = self._measured
        error = measured.whitened - self.response(parameters) @ measured.root
        error = ((self._fine if weights is None else weights) * error)[self._used]
        before = (parameters[:-1] - self._prior.ravel()) / self._spreads.ravel()
        late = (parameters[-1] / measured.period - 0.5) / 2.0
        return np.concatenate([error.real.ravel(), error.imag.ravel(), np.sqrt(0.5) * before, [np.sqrt(0.5) * late]])

    def fit(self) -> tuple[Array, Array]:
        """Return the parameters and their standard deviations, which include errors of the model."""
        n, inertia = len(self._mass_matrix), np.diag(self._mass_matrix)
        start = np.append(self._prior.ravel(), 0.5 * self._measured.period)
        scale = np.append(np.ones(len(start) - 1), self._measured.period)

        def coarse(parameters: Array) -> Array:
            return self.errors(parameters, self._coarse)

        for _ in range(_SWEEPS):  # the sum of squares has a minimum at each antiresonance
            for j in range(n):
                trials = np.repeat(start[None], _CANDIDATES, axis=0)
                trials[:, j] = self._grid[:, j]
                trials[:, n + j] = np.log(2.0 * _COARSE_RATIO) + 0.5 * (self._grid[:, j] + np.log(inertia[j]))
                start = min(trials, key=lambda each: float((coarse(each)**2).sum()))
        start = least_squares(coarse, start, x_scale=scale, max_nfev=20).x
        found = least_squares(self.errors, start, x_scale=scale, max_nfev=40)
        # Real and imaginary parts each have half of the variance of a complex error.
        freedoms = max(2 * self._used.sum() * n - len(start), 1)
        share = max(1.0, 2.0 * 2.0 * float(found.cost) / freedoms) * _BLUR * 0.5
        covariance = np.linalg.pinv((found.jac * scale).T @ (found.jac * scale)) * share
        return found.x, np.sqrt(np.diagonal(covariance)) * scale

    def drop_by_spring(self, parameters: Array, j: int) -> float:
        """Decrease of the sum of squares by the spring of a joint, relative to the remaining mean square."""
        rigid = parameters.copy()
        rigid[j] += np.log(1e4)
        squares = [float((self.errors(each)[:2 * self._used.sum() * len(self._mass_matrix)]**2).sum())
                   for each in (parameters, rigid)]
        return (squares[1] - squares[0]) / max(0.5, squares[0] / max(2 * self._used.sum() * len(self._mass_matrix), 1))
