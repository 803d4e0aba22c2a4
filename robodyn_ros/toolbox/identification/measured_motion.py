# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Prepares measured joint motion for identification: filtered positions, their derivatives, and the efforts.

Positions pass a low-pass filter forward and backward, without phase shift, and are differentiated [GautierPoignet].
Samples that are faster than the filter needs are decimated; efforts pass such a filter before.

In accelerations, noise of the positions grows with the square of the frequency. Therefore the same positions also pass
a narrower filter, which leaves hardly more than the motion itself: the instruments of the estimate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import cumulative_trapezoid
from scipy.ndimage import binary_dilation, correlate1d, maximum_filter1d, minimum_filter1d, uniform_filter1d
from scipy.signal import butter, detrend, sosfiltfilt, sosfreqz

from robodyn_ros.base.common_fields import CUTOFF
from robodyn_ros.base.errors import RecordingError
from robodyn_ros.description.model import Array, RobotModel
from robodyn_ros.kinematics.turns import unwrapped

MIN_DURATION = 5.0
"""Least total duration of a recording's parts [s]."""

MAX_LOST = 0.1
"""Greatest share of the time that gaps may take."""

MAX_SAMPLES, MAX_NUMBERS = 20_000, 20_000_000
"""Greatest number of samples, and of numbers in the regressor, which reduces the samples of robots with many joints."""

TINY = 1e-9
"""Speed that marks the direction of a joint that breaks away [rad/s or m/s]."""

_RATE = 20.0  # of the kept samples [cutoff frequencies]
_PASSED = 0.4  # cutoff of the filter before a decimation [rates of the kept samples]
_GAP = 1.5  # [sampling periods]
_UNEVEN = 0.25  # an interval farther from whole periods is uneven [sampling periods]
_ORDER = 4
_DIFFERENCES = np.array([-1.0, 9.0, -45.0, 0.0, 45.0, -9.0, 1.0]) / 60.0  # of sixth order [sampling periods]
_ENERGY = 0.95  # share of a joint's acceleration that the instruments keep
_ABOVE_ENERGY = 1.5  # cutoff of the instruments relative to the frequency with this energy
_NOISE_SHARE = 1e-3  # greatest noise of the instruments, relative to a joint's acceleration; so large is their bias
_ABOVE_NOISE = 4.0  # an acceleration counts as motion if its spectrum exceeds that of the noise by this factor
_SMOOTHING = 0.5  # width of the smoothing of spectra [Hz]
_MIN_CUTOFF = 0.05  # least cutoff of the instruments [cutoff frequencies]
_FREQUENCIES = 2000  # number of frequencies up to Nyquist's, for variances of the noise
_PADDING = 15  # least number of samples with which the filters begin
_SAME, _WHOLE = 1e-12, 0.05  # of positions: relative rounding error; distance from whole steps
_SETTLING = 3.0  # omitted at both ends of a part [periods of the cutoff frequency]
_NOISE_FACTOR = 4.0  # friction has no known direction at velocities below this multiple of their deviation
_MIN_SPEED_SHARE = 2e-3  # or below this share of the greatest velocity
_MARGIN = 0.25  # omitted before and after slow samples, and bridged in gaps [periods of the cutoff frequency]
_REST = 0.05  # a joint rests if it stays within `_REST_WIDTH` for this time [s]
_REST_WIDTH, _DEPARTURE = 8.0, 3.0  # [standard deviations of the positions' noise]
_SLOW_REVERSAL = 0.25  # least acceleration that distinguishes a reversal from rest [RMS of a joint's accelerations]
_BREAKAWAY = 0.004, 0.008  # the joint breaks away so long before the noise reveals its departure [s]
_START = 0.1  # within this time after the breakaway, a joint exceeds the slowest velocity that counts [s]
_AT_STOP = 1e-3  # [rad or m]
_MIN_MOTION, _MAX_SHARE = 0.01, 3.0  # least range of positions to check velocities [rad or m]; greatest ratio
_MAX_EFFORT = 10.0  # greater efforts have a wrong unit [limits]
_JUMP = 3.0  # [times the velocity limit]
_MAX_SPEED = 100.0  # without a velocity limit [rad/s or m/s]


class MotionSamples(NamedTuple):
    """Positions, velocities and accelerations, each of shape (K, n)."""

    q: Array
    v: Array
    a: Array


@dataclass(frozen=True, eq=False)
class MeasuredMotion:
    """Motion and efforts of a robot at K samples.

    Attributes:
        time: Shape (K,) [s].
        q: Filtered positions, shape (K, n) [rad or m].
        v: Velocities, shape (K, n) [rad/s or m/s]; at a breakaway `TINY`, in the direction of the motion.
        a: Accelerations, shape (K, n) [rad/s^2 or m/s^2].
        effort: Measured efforts of the drives, shape (K, n) [N m or N].
        usable: Where the effort of a joint shows its friction: it moves or breaks away, and is not at a stop, shape (K,
            n).
        slowest: Velocities below which the direction of friction is not known, shape (n,) [rad/s or m/s].
        notes: Sentences on omitted samples.
        processing: Sentences on filters and decimation.
        instruments: The same motion after narrower filters; None: the motion itself.
        noise_covariance: Covariance of the remaining noise in q, v and a, and in those of the instruments, for white
            noise of the measured positions (and velocities), shape (n, 6, 6); None: no noise.
    """

    time: Array
    q: Array
    v: Array
    a: Array
    effort: Array
    usable: NDArray[np.bool_]
    slowest: Array
    notes: tuple[str, ...]
    processing: str = ""
    instruments: MotionSamples | None = None
    noise_covariance: Array | None = None

    @property
    def position_noise(self) -> Array:
        """Standard deviation of the noise in the filtered positions, shape (n,) [rad or m]."""
        return np.zeros(self.q.shape[1]) if self.noise_covariance is None else np.sqrt(self.noise_covariance[:, 0, 0])


class EvenPart(NamedTuple):
    """Measured samples at even times, without gap or jump."""

    time: Array  # times, shape (K,) [s]
    position: Any  # positions, shape (K, n) [rad or m]
    effort: Any  # efforts, shape (K, n) [N m or N]
    velocity: Any  # velocities, shape (K, n) [rad/s or m/s]; None: not measured


@dataclass(frozen=True, eq=False)
class EvenSamples:
    """Measured parts of a recording without gaps and jumps."""

    period: float  # period of the samples [s]
    parts: tuple[EvenPart, ...]  # the parts, in order of time
    notes: tuple[str, ...]  # sentences on omitted samples


def prepare(model: RobotModel, time: Array, position: Array, effort: Array, where: str,
            cutoff: float = CUTOFF.default, velocity: Array | None = None,
            shortest: float = MIN_DURATION) -> MeasuredMotion:
    """Check recorded joint states and prepare them.

    Args:
        model: The robot.
        time: Stamps, shape (N,) [s].
        position: Measured positions, shape (N, n) [rad or m].
        effort: Measured efforts, shape (N, n) [N m or N].
        where: Name of the recording, for messages.
        cutoff: Cutoff frequency of the low-pass filter on positions [Hz].
        velocity: Measured velocities, filtered like positions, shape (N, n) [rad/s or m/s]; None: differentiate the
            positions.
        shortest: Least total duration of the parts [s].

    Raises:
        RecordingError: Values are missing or not finite, samples are missing, the recording is too short, or sampled
            too slowly.
    """
    samples = even_samples(model, time, position, effort, where, velocity, cutoff, shortest)
    parts, period = samples.parts, samples.period
    most = min(MAX_SAMPLES, MAX_NUMBERS // (model.n * (10 * len(model.joints) + 4 * model.n)))
    keep = max(1, -(-sum(len(part.time) for part in parts) // most), int(1.0 / (_RATE * cutoff * period)))
    end = max(2, round(_SETTLING / cutoff / period))
    inner = [slice(end, len(part.time) - end) for part in parts]
    wide = [_kinematics(part, period, np.full(model.n, cutoff)) for part in parts]
    q, v, a = _kept(wide, inner, keep)
    stamps, efforts = (np.concatenate([values[within][::keep] for values, within in zip(each, inner, strict=True)])
                       for each in ([part.time for part in parts], [_decimated(part, period, keep) for part in parts]))
    pairs = list(zip(parts, wide, inner, strict=True))
    residual = np.concatenate([(part.position - one.q)[within] for part, one, within in pairs])
    of_velocity = None if velocity is None else np.concatenate(
        [(part.velocity - one.v)[within] for part, one, within in pairs])
    # White noise has the share 2 cutoff period of its variance below the cutoff, where the filter keeps it.
    above = np.sqrt(1.0 - 2.0 * cutoff * period)
    noise = np.maximum(np.sqrt(np.mean(residual ** 2, axis=0)) / above, encoder_steps(position) / np.sqrt(12.0))
    velocity_noise = None if of_velocity is None else np.sqrt(np.mean(of_velocity ** 2, axis=0)) / above
    typical = 1.4826 * np.median(np.abs(residual), axis=0)  # robust against jumps, which the filter rounds off
    slow_reversal = _SLOW_REVERSAL * np.sqrt(np.mean(a**2, axis=0))
    leaving = np.concatenate([breakaways(part.position[within], period, typical, slow_reversal)[::keep]
                              for part, within in zip(parts, inner, strict=True)])
    spectra = _NoiseSpectra(period, noise, velocity_noise)
    cutoffs = _instrument_cutoffs([one.a[within] for one, within in zip(wide, inner, strict=True)], cutoff, spectra)
    instruments = _kept([_kinematics(part, period, cutoffs) for part in parts], inner, keep)
    # White noise on positions up to the cutoff, differentiated.
    share = np.sqrt(2.0 * cutoff * period / 3.0) * 2.0 * np.pi * cutoff
    noisy = _NOISE_FACTOR * share * above * noise
    slowest = np.maximum(noisy, _MIN_SPEED_SHARE * np.abs(v).max(axis=0))
    at_stop = (q < model.position_lower + _AT_STOP) | (q > model.position_upper - _AT_STOP)
    # Near a reversal, the filter blends friction of both directions.
    beside = round(_MARGIN / cutoff / (period * keep))
    # The instruments select samples: a selection by noisy velocities would bias the noise.
    slow = (np.abs(v) <= slowest) | (np.abs(instruments.v) <= noisy)
    usable = ~binary_dilation(slow | at_stop, np.ones((2 * beside + 1, 1)))
    soon = 2 * round(_START / (period * keep)) + 1
    starts = maximum_filter1d(usable.astype(np.int8), soon, axis=0, origin=-(soon // 2)) > 0
    leaving = np.where(starts & ~at_stop, leaving, 0)
    usable |= leaving != 0
    v = np.where(leaving != 0, TINY * leaving, v)
    return MeasuredMotion(stamps, q, v, a, efforts, usable, slowest, samples.notes,
                          _processing(period, cutoff, keep, velocity is not None, cutoffs), instruments,
                          spectra.covariance(cutoff, cutoffs))


def encoder_steps(position: Array) -> Array:
    """Encoder step of each joint: all differences of its positions are multiples of it, shape (n,); 0: no steps.

    Args:
        position: Measured positions, shape (N, n) [rad or m].
    """
    steps = np.zeros(position.shape[1])
    for j, column in enumerate(position.T):
        differences = np.diff(np.unique(column))
        differences = differences[differences > _SAME * np.abs(column).max(initial=0.0)]
        if len(differences):
            counts = differences / differences.min()
            steps[j] = differences.min() if (np.abs(counts - np.rint(counts)) < _WHOLE).all() else 0.0
    return steps


def even_samples(model: RobotModel, time: Array, position: Array, effort: Array, where: str,
                 velocity: Array | None = None, cutoff: float = CUTOFF.default,
                 shortest: float = MIN_DURATION) -> EvenSamples:
    """Check recorded joint states, and return them at even times; arguments and errors as for `prepare`."""
    fresh = np.concatenate([[True], np.diff(time) > 0.0])  # a paused simulation repeats its state
    time, position, effort = time[fresh], position[fresh], effort[fresh]
    velocity = None if velocity is None else velocity[fresh]
    _check_values(model.joint_names, time, position, effort, velocity, where)
    position = unwrapped(position, model.continuous)
    period = _check_times(time, where, cutoff, shortest)
    parts, notes = _parts(model, time, position, period, cutoff, where, shortest)
    found = []
    for part in parts:
        stamps = time[part]
        even = stamps[0] + period * np.arange(int((stamps[-1] - stamps[0]) / period + 0.5) + 1)
        even = even[even <= stamps[-1]]
        found.append(EvenPart(even, *(None if values is None else np.stack(
            [np.interp(even, stamps, column) for column in values[part].T], axis=1)
            for values in (position, effort, velocity))))
    return EvenSamples(period, tuple(found), tuple(notes))


def _processing(period: float, cutoff: float, keep: int, has_velocity: bool, cutoffs: Array) -> str:
    """Sentences on filters and decimation."""
    butterworth = f"a Butterworth low-pass of order {_ORDER}, forward and backward (zero phase)"
    text = (f"Positions{' and velocities' if has_velocity else ''} at {1.0 / period:.4g} Hz passed {butterworth}, with "
            f"a cutoff of {cutoff:g} Hz; {'velocities' if has_velocity else 'they'} were differentiated by central "
            f"differences of order {len(_DIFFERENCES) - 1}. Instruments passed filters of {cutoffs.min():.2g} to "
            f"{cutoffs.max():.2g} Hz.")
    if keep > 1:
        text += (f" Efforts passed such a filter of {_PASSED / (period * keep):.4g} Hz, and one sample of {keep} was "
                 f"kept: {1.0 / (period * keep):.4g} Hz.")
    return text


def check_units(model: RobotModel, time: Array, position: Array, effort: Array, where: str, remedy: str) -> None:
    """Raise if positions, speeds or efforts exceed the limits so far that their unit must be wrong.

    Args:
        model: The robot.
        time: Stamps, shape (N,) [s].
        position: Measured positions, shape (N, n) [rad or m].
        effort: Measured efforts, shape (N, n) [N m or N].
        where: Name of the recording, for messages.
        remedy: End of the message.

    Raises:
        RecordingError: They do.
    """
    lower, upper = model.position_lower, model.position_upper
    range_ = upper - lower
    for j, joint in enumerate(model.leaders):
        name, metres = model.joint_names[j], joint.kind == "prismatic"
        values = position[:, j][np.isfinite(position[:, j])]
        beyond = np.maximum(values - upper[j], lower[j] - values)
        if len(values) and np.isfinite(range_[j]) and beyond.max() > range_[j]:
            raise RecordingError(f"{where}: positions of joint '{name}' reach {values[np.argmax(beyond)]:.4g}, its "
                                 f"limits are {lower[j]:.4g} and {upper[j]:.4g} {joint.unit}: {remedy}")
        fresh = np.diff(time) > 0.0
        speed = float(np.median(np.abs(np.diff(position[:, j])[fresh]) / np.diff(time)[fresh])) if fresh.any() else 0.0
        if speed > model.velocity_limit[j] > 0.0:
            raise RecordingError(f"{where}: joint '{name}' moves at {speed:.4g} in the median, its limit is "
                                 f"{model.velocity_limit[j]:.4g} {joint.unit}/s: {remedy}")
        greatest = np.nanmax(np.abs(effort[:, j]), initial=0.0)
        if greatest > _MAX_EFFORT * model.effort_limit[j] > 0.0:
            raise RecordingError(f"{where}: efforts of joint '{name}' reach {greatest:.4g}, its limit is "
                                 f"{model.effort_limit[j]:.4g} {'N' if metres else 'N m'}: {remedy}, currents "
                                 "in A, not in mA")


def check_velocities(names: Sequence[str], time: Array, position: Array, velocity: Array, where: str) -> None:
    """Raise if the integral of a velocity does not match the motion of the position.

    Args:
        names: Names of the joints.
        time: Stamps, shape (N,) [s].
        position: Positions, shape (N, n) [rad or m].
        velocity: Velocities, shape (N, n) [rad/s or m/s].
        where: Name of the recording, for the message.

    Raises:
        RecordingError: A velocity does not.
    """
    moved = cumulative_trapezoid(velocity, time, axis=0, initial=0.0)
    for name, q, integral in zip(names, *(detrend(np.where(np.isfinite(each), each, 0.0), axis=0).T
                                          for each in (position, moved)), strict=True):
        if np.ptp(q) > _MIN_MOTION and np.ptp(integral) > 0.0:
            share = float(q @ integral) / float(q @ q)
            if not 1.0 / _MAX_SHARE < share < _MAX_SHARE:
                raise RecordingError(f"{where}: velocities of joint '{name}': their integral is {share:.3g} of the "
                                     "motion of its positions: expected about 1; name its own column, in rad/s or m/s "
                                     "(--degrees for deg and deg/s), or leave --velocities out")


def breakaways(position: Array, period: float, noise: Array, acceleration: Array) -> NDArray[np.int8]:
    """Return where joints break away from rest: the direction of the motion, 1 or -1, shape (K, n); else 0.

    At a breakaway, the drive overcomes the static friction. The filter blends this sample with later ones, so that the
    other usable samples hardly show the static friction of a joint that starts quickly.

    A joint that reverses with an acceleration a stays within a width w for 2 sqrt(2 w / a). Under noise or encoder
    steps, only a longer standstill counts as rest.

    Args:
        position: Measured positions, not filtered, shape (K, n) [rad or m].
        period: Period of the samples [s].
        noise: Standard deviation of the positions, shape (n,) [rad or m].
        acceleration: Acceleration of a slow reversal, shape (n,) [rad/s^2 or m/s^2].
    """
    found = np.zeros(position.shape, dtype=np.int8)
    last, first = (round(each / period) for each in _BREAKAWAY)
    reversal = np.sqrt(2.0 * _REST_WIDTH * noise / np.maximum(acceleration, 1e-9))
    for j, (q, deviation) in enumerate(zip(position.T, noise, strict=True)):
        width = 2 * min(len(q), max(2, round(max(0.5 * _REST, reversal[j]) / period))) + 1
        narrow = maximum_filter1d(q, width) - minimum_filter1d(q, width) <= _REST_WIDTH * deviation
        rest = np.diff(maximum_filter1d(narrow.astype(np.int8), width), prepend=0)
        for begin, end in zip(np.flatnonzero(rest == 1), np.flatnonzero(rest == -1), strict=False):
            place = np.median(q[begin:end - width // 2])
            still = np.flatnonzero(np.abs(q[begin:end] - place) <= _DEPARTURE * deviation)
            if len(still):
                seen = begin + int(still[-1])
                found[max(begin, seen - first):max(begin, seen + 1 - last), j] = np.sign(q[end] - place)
    return found


def _check_values(names: Sequence[str], time: Array, position: Array, effort: Array, velocity: Array | None,
                  where: str) -> None:
    if np.isnan(effort).all():
        raise RecordingError(f"{where}: the states have no efforts, which identification compares with the model; "
                             "record a driver that publishes measured efforts or motor currents as efforts")
    for label, values in (("position", position), ("effort", effort), ("velocity", velocity)):
        if values is None:
            continue
        bad = ~np.isfinite(values)
        for index, joint in np.argwhere(bad)[:1]:
            share = bad.any(axis=1).mean()
            raise RecordingError(f"{where}: states at {time[index]:.3f} s: {label} of joint '{names[joint]}': "
                                 f"expected a finite number, received {values[index, joint]:g} ({share:.1%} of the "
                                 "states have such values); record again, with a driver that measures all joints")


def _check_times(time: Array, where: str, cutoff: float, shortest: float) -> float:
    """Return the sampling period [s]."""
    duration = float(time[-1] - time[0]) if len(time) else 0.0
    if duration < shortest:
        raise RecordingError(f"{where}: expected {shortest:g} s of motion or more, received {duration:.3g} s; record "
                             "the whole of a motion such as robodyn excite writes")
    period = float(np.median(np.diff(time)))
    if 1.0 / period < 4.0 * cutoff:
        raise RecordingError(f"{where}: states come at {1.0 / period:.3g} Hz: expected at least four times the "
                             f"cutoff frequency of {cutoff:g} Hz; record them faster, or give a smaller --cutoff"
                             f"{'; are the stamps in seconds?' if period > 1.0 else ''}")
    return period


def _parts(model: RobotModel, time: Array, position: Array, period: float, cutoff: float,
           where: str, shortest: float) -> tuple[list[slice], list[str]]:
    """Parts without gaps and jumps that are long enough for the filter, and notes on the rest.

    Gaps shorter than a quarter of the filter's period are bridged, since positions change little in them.
    """
    steps = np.diff(time)
    gaps = np.flatnonzero(steps > max(_GAP * period, _MARGIN / cutoff))
    lost = float((steps[gaps] - period).sum())
    notes = []
    if len(gaps):
        first = f"the first of {1e3 * steps[gaps[0]]:.3g} ms at {time[gaps[0]]:.3f} s"
        share = lost / float(time[-1] - time[0])
        if share > MAX_LOST:
            _check_rate(steps, period, where)
            raise RecordingError(f"{where}: {share:.0%} of the states are missing in {len(gaps)} gaps, {first}: "
                                 f"expected {MAX_LOST:.0%} at most; record again with less load on computer and "
                                 "network, or a simulation with --speed-limit 1; intervals vary from "
                                 f"{1e3 * steps.min():.3g} ms to {1e3 * steps.max():.3g} ms")
        notes.append(f"{where}: states are missing in {len(gaps)} gaps ({share:.2%} of the time, {first}); the "
                     "parts between them are used")
    limit = _JUMP * np.where(np.isfinite(model.velocity_limit), model.velocity_limit, _MAX_SPEED)
    jumps = np.flatnonzero((np.abs(np.diff(position, axis=0)) / steps[:, None] > limit).any(axis=1)
                           & (np.abs(np.diff(position, axis=0)) > _AT_STOP).any(axis=1))
    if len(jumps):
        notes.append(f"{where}: positions jump {len(jumps)} times, first at {time[jumps[0]]:.3f} s; the parts between "
                     "the jumps are used")
    ends = [0, *(np.union1d(gaps, jumps) + 1).tolist(), len(time)]
    parts = [slice(begin, end) for begin, end in zip(ends, ends[1:], strict=False)
             if (end - begin) * period >= 1.0]
    total = sum(part.stop - part.start for part in parts) * period
    if total < shortest:
        if len(gaps):
            _check_rate(steps, period, where)
        raise RecordingError(f"{where}: expected {shortest:g} s in parts of 1 s or more without gaps and jumps, "
                             f"received {total:.3g} s; record again with less load on computer and network")
    return parts, notes


def _check_rate(steps: Array, period: float, where: str) -> None:
    """Raise if many intervals are not whole numbers of periods, so that missing states do not explain them."""
    whole = np.maximum(np.rint(steps / period), 1.0)
    if np.mean(np.abs(steps / period - whole) > _UNEVEN) > MAX_LOST:
        raise RecordingError(f"{where}: the rate of the states varies: intervals of {1e3 * steps.min():.3g} ms to "
                             f"{1e3 * steps.max():.3g} ms; record at a steady rate, or give a smaller --cutoff")


def _low_passed(values: Array, cutoffs: Array, period: float) -> Array:
    """Low-pass filter columns, shape (K, n), with cutoff frequencies, shape (n,) [Hz]."""
    passed = np.empty_like(values)
    for cutoff in np.unique(cutoffs):
        columns, padding = cutoffs == cutoff, max(_PADDING, round(1.0 / (cutoff * period)))
        sections = butter(_ORDER, cutoff, fs=1.0 / period, output="sos")
        passed[:, columns] = sosfiltfilt(sections, values[:, columns], axis=0, padlen=min(padding, len(values) - 1))
    return passed


def _kinematics(part: EvenPart, period: float, cutoffs: Array) -> MotionSamples:
    """Filtered positions and their derivatives."""
    q = _low_passed(part.position, cutoffs, period)
    v = _differentiated(q, period) if part.velocity is None else _low_passed(part.velocity, cutoffs, period)
    return MotionSamples(q, v, _differentiated(v, period))


def _kept(motions: Sequence[MotionSamples], inner: Sequence[slice], keep: int) -> MotionSamples:
    """Concatenate the inner samples of all parts, one of every ``keep``."""
    return MotionSamples(*(np.concatenate([values[within][::keep] for values, within in zip(each, inner, strict=True)])
                           for each in zip(*motions, strict=True)))


def _differentiated(values: Array, period: float) -> Array:
    """Derivatives by central differences of sixth order, shape of `values`, (K, n).

    At 100 Hz, differences of second order underestimate accelerations of 3 Hz by 1.2 %. Three samples at either end are
    wrong, fewer than the filter needs to settle.
    """
    return np.asarray(correlate1d(values, _DIFFERENCES / period, axis=0, mode="nearest"))


def _decimated(part: EvenPart, period: float, keep: int) -> Array:
    """The efforts, shape (K, n), filtered if samples are decimated."""
    effort: Array = part.effort
    return effort if keep == 1 else _low_passed(effort, np.full(effort.shape[1], _PASSED / (period * keep)), period)


@dataclass(frozen=True, eq=False)
class _NoiseSpectra:
    """White noise of measured positions and velocities.

    Attributes:
        period: Period of the samples [s].
        position: Standard deviations of positions, shape (n,) [rad or m].
        velocity: Standard deviations of velocities, shape (n,) [rad/s or m/s]; None: positions are differentiated.
    """

    period: float
    position: Array
    velocity: Array | None

    def acceleration(self, frequency: Array, cutoffs: Array) -> Array:
        """One-sided spectral density of the accelerations' noise, shape (n, F), at frequencies of shape (F,) [Hz]."""
        rate = 2.0 * np.pi * frequency
        density = (self.position[:, None] * rate**2 if self.velocity is None else self.velocity[:, None] * rate) ** 2
        return np.asarray(2.0 * self.period * density * self._gains(frequency, cutoffs) ** 2)

    def covariance(self, cutoff: float, cutoffs: Array) -> Array:
        """Covariance of noise in q, v, a after the filter `cutoff`, and after filters `cutoffs`, shape (n, 6, 6)."""
        width = 0.5 / self.period / _FREQUENCIES
        frequency: Array = width * (np.arange(_FREQUENCIES, dtype=np.float64) + 0.5)
        slope = 2.0j * np.pi * frequency
        chain = np.stack([np.ones_like(slope), slope, slope**2])
        gains = np.stack([self._gains(frequency, np.full(len(cutoffs), cutoff)), self._gains(frequency, cutoffs)], 1)
        of_position = chain if self.velocity is None else chain * [[1.0], [0.0], [0.0]]
        responses = [(self.position, of_position)]
        if self.velocity is not None:
            responses.append((self.velocity, np.stack([np.zeros_like(slope), np.ones_like(slope), slope])))
        found = np.zeros((len(cutoffs), 6, 6))
        for deviation, response in responses:
            passed = (gains[:, :, None] * response).reshape(len(cutoffs), 6, -1)
            variance = 2.0 * self.period * width * deviation**2
            found += variance[:, None, None] * (passed @ passed.conj().transpose(0, 2, 1)).real
        return found

    def _gains(self, frequency: Array, cutoffs: Array) -> Array:
        """Gains of the filters, applied forward and backward, shape (n, F)."""
        return np.stack([np.abs(sosfreqz(butter(_ORDER, cutoff, fs=1.0 / self.period, output="sos"), frequency,
                                         fs=1.0 / self.period)[1]) ** 2 for cutoff in cutoffs])


def _instrument_cutoffs(accelerations: Sequence[Array], cutoff: float, noise: _NoiseSpectra) -> Array:
    """Cutoff frequencies that keep most of the energy of each joint's acceleration, shape (n,) [Hz]."""
    longest = max(len(part) for part in accelerations)
    frequency: Array = np.fft.rfftfreq(longest, noise.period).astype(np.float64)
    power, size = np.zeros((len(frequency), accelerations[0].shape[1])), 0.0
    for part in accelerations:
        window = np.hanning(len(part) + 2)[1:-1]
        power += np.abs(np.fft.rfft(window[:, None] * part, longest, axis=0)) ** 2
        size += float(window @ window)
    density = uniform_filter1d(2.0 * noise.period / size * power.T, max(1, round(_SMOOTHING / frequency[1])), axis=1)
    floor = noise.acceleration(frequency, np.full(len(density), cutoff))
    energy = np.cumsum(np.where(density > _ABOVE_NOISE * floor, density - floor, 0.0), axis=1)
    reached = frequency[np.argmax(energy >= _ENERGY * energy[:, -1:], axis=1)]
    # Wider where the noise allows it: narrow instruments discard fast motion.
    quiet = frequency[np.count_nonzero(np.cumsum(floor, axis=1) <= _NOISE_SHARE * energy[:, -1:], axis=1) - 1]
    return np.clip(np.maximum(_ABOVE_ENERGY * reached, quiet), _MIN_CUTOFF * cutoff, cutoff)
