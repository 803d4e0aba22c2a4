# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Measured joint motion, prepared for identification: positions without noise, their derivatives, and the efforts.

Positions pass a low-pass filter forward and backward, which shifts no phase, and are differentiated [GautierPoignet].
Where samples come faster than the filter needs, they are decimated: efforts pass such a filter before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import cumulative_trapezoid
from scipy.ndimage import binary_dilation, maximum_filter1d, minimum_filter1d
from scipy.signal import butter, detrend, sosfiltfilt

from robodyn_ros.common_fields import CUTOFF
from robodyn_ros.description.model import Array, RobotModel
from robodyn_ros.errors import RecordingError
from robodyn_ros.kinematics.turns import unwrapped

SHORTEST = 5.0
"""Least duration of a recording, all its parts together [s]."""

MOST_LOST = 0.1
"""Greatest share of the time that gaps may take."""

MOST_SAMPLES, MOST_NUMBERS = 20_000, 20_000_000
"""Samples that are kept, evenly spaced; fewer for robots with many joints, whose regressor would have more numbers."""

TINY = 1e-9
"""Speed of a joint that breaks away, of which only the direction counts [rad/s or m/s]."""

_RATE = 20.0  # of the samples that are kept [cutoff frequencies]
_PASSED = 0.4  # by the filter before a decimation [rates of the samples that are kept]
_GAP = 1.5  # [sampling periods]
_UNEVEN = 0.25  # distance of an interval from whole periods, where the rate varies [sampling periods]
_ORDER = 4
_SETTLING = 3.0  # left out at both ends of a part [periods of the cutoff frequency]
_NOISE_FACTOR = 4.0  # of the deviation of velocities, below which the direction of friction is not known
_SLOWEST = 2e-3  # likewise, as a share of the greatest velocity
_BESIDE = 0.25  # left out before and after slow samples, and bridged in gaps [periods of the cutoff frequency]
_REST = 0.05  # in which a joint at rest stays within `_REST_WIDTH` [s]
_REST_WIDTH, _DEPARTURE = 8.0, 3.0  # [standard deviations of the positions' noise]
_BREAKAWAY = 0.004, 0.008  # before a departure is seen in the noise, the joint breaks away [s]
_START = 0.1  # until a joint that broke away is faster than the slowest sample that counts [s]
_AT_STOP = 1e-3  # [rad or m]
_LEAST_MOTION, _MOST_SHARE = 0.01, 3.0  # of positions, for velocities to be compared [rad or m]; of either one
_MOST_EFFORT = 10.0  # [limits], above which the unit is another one
_JUMP = 3.0  # [times the velocity limit]
_FASTEST = 100.0  # [rad/s or m/s], where there is no limit


@dataclass(frozen=True, eq=False)
class MeasuredMotion:
    """Motion and efforts of a robot at K samples.

    Attributes:
        time: Shape (K,) [s].
        q: Filtered positions, shape (K, n) [rad or m].
        v: Velocities, shape (K, n) [rad/s or m/s]; at a breakaway, a tiny one in the direction of the motion.
        a: Accelerations, shape (K, n) [rad/s^2 or m/s^2].
        effort: Measured efforts of the drives, shape (K, n) [N m or N].
        usable: Where the effort of a joint tells its friction: it moves or breaks away, and is not at a stop, shape
            (K, n).
        slowest: Velocities below which the direction of friction is not known, shape (n,) [rad/s or m/s].
        notes: Sentences on what was left out.
        processing: Sentences on filters and decimation.
        position_noise: Standard deviation of the noise that is left in the filtered positions, if it is white, shape
            (n,) [rad or m].
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
    position_noise: Array = field(default_factory=lambda: np.zeros(0))


class EvenPart(NamedTuple):
    """Measured samples at even times, without gap or jump.

    Attributes:
        time: Shape (K,) [s].
        position: Shape (K, n) [rad or m].
        effort: Shape (K, n) [N m or N].
        velocity: Shape (K, n) [rad/s or m/s]; None: not measured.
    """

    time: Array
    position: Any
    effort: Any
    velocity: Any


@dataclass(frozen=True, eq=False)
class EvenSamples:
    """The parts of a recording without gap or jump, as measured.

    Attributes:
        period: Of the samples [s].
        parts: In their order.
        notes: Sentences on what was left out.
    """

    period: float
    parts: tuple[EvenPart, ...]
    notes: tuple[str, ...]


def prepare(model: RobotModel, time: Array, position: Array, effort: Array, where: str,
            cutoff: float = CUTOFF.default, velocity: Array | None = None,
            shortest: float = SHORTEST) -> MeasuredMotion:
    """Check recorded joint states and prepare them.

    Args:
        model: The robot.
        time: Stamps, shape (N,) [s].
        position: Measured positions, shape (N, n) [rad or m].
        effort: Measured efforts, shape (N, n) [N m or N].
        where: Name of the recording, for messages.
        cutoff: Of the low-pass filter on positions [Hz].
        velocity: Measured velocities, which are filtered likewise, shape (N, n) [rad/s or m/s]; None: the positions
            are differentiated.
        shortest: Least duration, all parts together [s].

    Raises:
        RecordingError: Values are missing or not finite, samples are missing, the recording is too short, or sampled
            too slowly.
    """
    samples = even_samples(model, time, position, effort, where, velocity, cutoff, shortest)
    parts, period = samples.parts, samples.period
    most = min(MOST_SAMPLES, MOST_NUMBERS // (model.n * (10 * len(model.joints) + 4 * model.n)))
    keep = max(1, -(-sum(len(part.time) for part in parts) // most), int(1.0 / (_RATE * cutoff * period)))
    filtered = [_filtered(part, period, cutoff, keep) for part in parts]
    stamps, q, v, a, efforts = (np.concatenate([one[index][::keep] for one in filtered]) for index in range(5))
    residual = np.concatenate([one[5] for one in filtered])
    noise = np.sqrt(np.mean(residual ** 2, axis=0))
    typical = 1.4826 * np.median(np.abs(residual), axis=0)  # without the jumps that the filter rounds off
    leaving = np.concatenate([breakaways(one[1] + one[5], period, typical)[::keep] for one in filtered])
    # White noise on positions, of which the filter lets pass up to the cutoff, differentiated.
    share = np.sqrt(2.0 * cutoff * period / 3.0) * 2.0 * np.pi * cutoff
    slowest = np.maximum(_NOISE_FACTOR * share * noise, _SLOWEST * np.abs(v).max(axis=0))
    at_stop = (q < model.position_lower + _AT_STOP) | (q > model.position_upper - _AT_STOP)
    # Near a reversal, the filter mixes friction of both directions.
    beside = round(_BESIDE / cutoff / (period * keep))
    usable = ~binary_dilation((np.abs(v) <= slowest) | at_stop, np.ones((2 * beside + 1, 1)))
    soon = 2 * round(_START / (period * keep)) + 1
    starts = maximum_filter1d(usable.astype(np.int8), soon, axis=0, origin=-(soon // 2)) > 0
    leaving = np.where(starts & ~at_stop, leaving, 0)
    usable |= leaving != 0
    v = np.where(leaving != 0, TINY * leaving, v)
    return MeasuredMotion(stamps, q, v, a, efforts, usable, slowest, samples.notes,
                          _processing(period, cutoff, keep, velocity is not None),
                          np.sqrt(2.0 * cutoff * period) * noise)


def even_samples(model: RobotModel, time: Array, position: Array, effort: Array, where: str,
                 velocity: Array | None = None, cutoff: float = CUTOFF.default,
                 shortest: float = SHORTEST) -> EvenSamples:
    """Check recorded joint states, and return them at even times; arguments and errors as of `prepare`."""
    fresh = np.concatenate([[True], np.diff(time) > 0.0])  # a paused simulation repeats its last state
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


def _processing(period: float, cutoff: float, keep: int, has_velocity: bool) -> str:
    """Sentences on filters and decimation."""
    butterworth = f"a Butterworth low-pass of order {_ORDER}, forward and backward (zero phase)"
    text = (f"Positions{' and velocities' if has_velocity else ''} at {1.0 / period:.4g} Hz passed {butterworth}, with "
            f"a cutoff of {cutoff:g} Hz; {'velocities' if has_velocity else 'they'} were differentiated by central "
            "differences.")
    if keep > 1:
        text += (f" Efforts passed such a filter of {_PASSED / (period * keep):.4g} Hz, and every {keep}th sample was "
                 f"kept: {1.0 / (period * keep):.4g} Hz.")
    return text


def check_units(model: RobotModel, time: Array, position: Array, effort: Array, where: str, remedy: str) -> None:
    """Raise if positions, speeds or efforts are so far beyond the limits of the joints that a unit must be another one.

    Args:
        model: The robot.
        time: Stamps, shape (N,) [s].
        position: Measured positions, shape (N, n) [rad or m].
        effort: Measured efforts, shape (N, n) [N m or N].
        where: Name of the recording, for messages.
        remedy: End of the message.

    Raises:
        RecordingError: They are.
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
        if greatest > _MOST_EFFORT * model.effort_limit[j] > 0.0:
            raise RecordingError(f"{where}: efforts of joint '{name}' reach {greatest:.4g}, its limit is "
                                 f"{model.effort_limit[j]:.4g} {'N' if metres else 'N m'}: {remedy}, currents "
                                 "in A, not in mA")


def check_velocities(names: Sequence[str], time: Array, position: Array, velocity: Array, where: str) -> None:
    """Raise if the integral of a velocity is not a motion like that of the position.

    Args:
        names: Of the joints.
        time: Stamps, shape (N,) [s].
        position: Shape (N, n) [rad or m].
        velocity: Shape (N, n) [rad/s or m/s].
        where: Name of the recording, for the message.

    Raises:
        RecordingError: One is not.
    """
    moved = cumulative_trapezoid(velocity, time, axis=0, initial=0.0)
    for name, q, integral in zip(names, *(detrend(np.where(np.isfinite(each), each, 0.0), axis=0).T
                                          for each in (position, moved)), strict=True):
        if np.ptp(q) > _LEAST_MOTION and np.ptp(integral) > 0.0:
            share = float(q @ integral) / float(q @ q)
            if not 1.0 / _MOST_SHARE < share < _MOST_SHARE:
                raise RecordingError(f"{where}: velocities of joint '{name}': their integral is {share:.3g} of the "
                                     "motion of its positions: expected about 1; name its own column, in rad/s or m/s "
                                     "(--degrees for deg and deg/s), or leave --velocities out")


def breakaways(position: Array, period: float, noise: Array) -> NDArray[np.int8]:
    """Return where joints break away from rest: 1 or -1, the direction of the motion that begins, shape (K, n); or 0.

    There the drive overcomes the static friction. The filter mixes such a sample with those after it, so that the
    samples that it leaves usable hardly tell the static friction of a joint that starts quickly.

    Args:
        position: Measured, not filtered, shape (K, n) [rad or m].
        period: Of the samples [s].
        noise: Standard deviation of the positions, shape (n,) [rad or m].
    """
    found = np.zeros(position.shape, dtype=np.int8)
    width = 2 * max(2, round(0.5 * _REST / period)) + 1
    last, first = (round(each / period) for each in _BREAKAWAY)
    for j, (q, deviation) in enumerate(zip(position.T, noise, strict=True)):
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
    """Parts without a gap or a jump that are long enough to be filtered, and notes on the rest.

    Gaps shorter than a quarter of the filter's period are bridged, since positions change little in between.
    """
    steps = np.diff(time)
    gaps = np.flatnonzero(steps > max(_GAP * period, _BESIDE / cutoff))
    lost = float((steps[gaps] - period).sum())
    notes = []
    if len(gaps):
        first = f"the first of {1e3 * steps[gaps[0]]:.3g} ms at {time[gaps[0]]:.3f} s"
        share = lost / float(time[-1] - time[0])
        if share > MOST_LOST:
            _check_rate(steps, period, where)
            raise RecordingError(f"{where}: {share:.0%} of the states are missing in {len(gaps)} gaps, {first}: "
                                 f"expected {MOST_LOST:.0%} at most; record again with less load on computer and "
                                 "network, or a simulation with --speed-limit 1; intervals vary from "
                                 f"{1e3 * steps.min():.3g} ms to {1e3 * steps.max():.3g} ms")
        notes.append(f"{where}: states are missing in {len(gaps)} gaps ({share:.2%} of the time, {first}); the "
                     "parts between them are used")
    limit = _JUMP * np.where(np.isfinite(model.velocity_limit), model.velocity_limit, _FASTEST)
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
    """Raise if many intervals are not whole numbers of periods, as they are where single states are missing."""
    whole = np.maximum(np.rint(steps / period), 1.0)
    if np.mean(np.abs(steps / period - whole) > _UNEVEN) > MOST_LOST:
        raise RecordingError(f"{where}: the rate of the states varies: intervals of {1e3 * steps.min():.3g} ms to "
                             f"{1e3 * steps.max():.3g} ms; record at a steady rate, or give a smaller --cutoff")


def _filtered(part: EvenPart, period: float, cutoff: float, keep: int
              ) -> tuple[Array, Array, Array, Array, Array, Array]:
    """Times, positions, velocities, accelerations and efforts of a part, and the positions' noise."""
    even, q, effort = part.time, part.position, part.effort

    def smoothed(values: Array, frequency: float) -> Array:
        return np.asarray(sosfiltfilt(butter(_ORDER, frequency, fs=1.0 / period, output="sos"), values, axis=0))

    smooth = smoothed(q, cutoff)
    v = np.gradient(smooth, period, axis=0) if part.velocity is None else smoothed(part.velocity, cutoff)
    a = np.gradient(v, period, axis=0)
    if keep > 1:
        effort = smoothed(effort, _PASSED / (period * keep))
    end = max(2, round(_SETTLING / cutoff / period))
    inner = slice(end, len(even) - end)
    return even[inner], smooth[inner], v[inner], a[inner], effort[inner], (q - smooth)[inner]
