# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The current loop of a servo drive: a sampled PI controller between the commanded current and the motor's voltage.

    v = k_P (i* - i) + integral of k_I (i* - i),    within the voltage limit

once per period of the loop, held until the next one, and applied some periods later (dead time). At the limit, the
integral takes the error that corresponds to the limited voltage (back-calculation, [HarneforsNee]). For a bandwidth
omega, k_P = omega L_M and k_I = omega R_M cancel the pole of the armature, and the current follows with the transfer
function 1 / (1 + s / omega) (internal model control, [HarneforsNee]).

A step of the plant holds the motor's speed, and simulates each period in it with the exact solution of (6.1) for a
constant voltage. The mean current is then linear in the speed, as without a loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robodyn_ros.actuation.catalogue import Catalogue
from robodyn_ros.actuation.dc_motor import DCMotor
from robodyn_ros.base.checks import constants
from robodyn_ros.base.errors import InputError
from robodyn_ros.base.fields import declare
from robodyn_ros.compile import clip, less, maximum, where
from robodyn_ros.description.model import Array

MAX_DELAY = 8
"""Greatest dead time [periods of the loop]."""

MAX_PERIODS = 100
"""Most periods of a loop in a step."""

_MAX_LAG = np.pi / 6.0  # phase lag by dead time at the bandwidth, which leaves a margin of 60 degrees


PERIOD = 1e-4
"""Default period of a loop [s]."""


@dataclass(frozen=True)
class DriveData:
    """Data of a servo drive."""

    name: str = declare(kind=str, description="Manufacturer and type")
    source: str = declare(kind=str, description="Source of the data")
    period: float = declare(unit="s", minimum=1e-6, maximum=0.1, description="Period of the current loop")
    peak_current: float | None = declare(None, unit="A", minimum=0.0, above=True, description="Greatest current, which "
                                         "is the limit where the actuator gives none")


DRIVES = Catalogue("drives", "drive", DriveData)


@dataclass(frozen=True)
class CurrentLoopSettings:
    """A current loop, by its bandwidth or by its gains."""

    drive: str | None = declare(None, kind=str, description="Name of a drive in config/drives/, or path of a file like "
                                "those; none: no drive of the catalogue")
    bandwidth: float | None = declare(None, unit="Hz", minimum=0.0, above=True, description="Bandwidth, from which the "
                                      "gains follow; none: `proportional` and `integral` are the gains")
    proportional: float | None = declare(None, unit="V/A", minimum=0.0, description="Gain k_P")
    integral: float | None = declare(None, unit="V/(A s)", minimum=0.0, description="Gain k_I")
    period: float | None = declare(None, unit="s", minimum=1e-6, maximum=0.1, description="Period, of which a step of "
                                   "the plant is a whole number; none: of the drive, or else 0.0001 s")
    delay: int = declare(0, unit="periods", minimum=0, maximum=MAX_DELAY, description="Dead time, from the measured "
                         "current to the voltage")

    def gains(self, resistance: float, inductance: float, where_: str) -> tuple[float, float]:
        """Return k_P [V/A] and k_I [V/(A s)] for a motor.

        Raises:
            InputError: There are both a bandwidth and gains, or neither.
        """
        given = (self.proportional, self.integral)
        if self.bandwidth is not None and given == (None, None):
            rate = 2.0 * np.pi * self.bandwidth
            return rate * inductance, rate * resistance
        if self.bandwidth is None and (self.proportional or self.integral):
            return self.proportional or 0.0, self.integral or 0.0
        found = [name for name in ("bandwidth", "proportional", "integral") if getattr(self, name) is not None]
        raise InputError(f"{where_}: expected bandwidth, or else proportional and integral, received "
                         f"{' and '.join(found) or 'none of them'}")


class CurrentLoopState(NamedTuple):
    """State of the m current loops; may be traced."""

    integral: NDArray[Any]  # integral part, shape (m,) [V]
    voltage: NDArray[Any]  # applied voltage, shape (m,) [V]
    pending: NDArray[Any]  # computed voltages that are not yet applied, newest first, shape (D, m) [V]


class CurrentLoopRun(NamedTuple):
    """Result of a step of current loops at a motor speed; each array has shape (m,)."""

    current: NDArray[Any]  # current at the end [A]
    mean: NDArray[Any]  # mean current [A]
    mean_slope: NDArray[Any]  # derivative of the mean by the speed, not positive [A s/rad]
    mean_square: NDArray[Any]  # mean square of the current [A^2]
    state: CurrentLoopState  # state at the end


def check_period(place: str, step: float, period: float) -> None:
    """Check that a step of the plant is a whole number of periods of a loop.

    Args:
        place: The loop, for messages.
        step: h [s].
        period: T [s].

    Raises:
        InputError: It is not, or has more than `MAX_PERIODS`.
    """
    count = step / period
    if abs(count - round(count)) > 1e-6 * count or not 1 <= round(count) <= MAX_PERIODS:
        whole = min(max(round(count), 1), MAX_PERIODS)
        raise InputError(f"{place}: expected a step of the plant of 1 to {MAX_PERIODS} whole periods of the loop, "
                         f"received a step of {step:g} s and a period of {period:g} s; a period of {step / whole:.6g} "
                         f"s or a step of {whole * period:.6g} s would do")


def shortened_period(step: float, period: Array) -> Array:
    """Return periods [s] shortened so that a whole number of them fits into a step [s]."""
    found: Array = step / np.ceil(step / period - 1e-6)
    return found


class LoopGains(NamedTuple):
    """Gains of the current loops of n joints, 0 without one, shape (n,) each."""

    bandwidth: Array  # k_I / (2 pi R_M) [Hz]
    proportional: Array  # k_P [V/A]
    integral: Array  # k_I [V/(A s)]


@dataclass(frozen=True, eq=False)
class CurrentLoops:
    """Current loops of m motors."""

    joints: NDArray[np.intp]  # indices of the joints with a current loop, shape (m,)
    proportional: Array  # k_P, shape (m,) [V/A]
    integral: Array  # k_I, shape (m,) [V/(A s)]
    period: Array  # period of each loop, shape (m,) [s]
    delay: NDArray[np.intp]  # dead time, whole numbers, shape (m,) [periods]

    @classmethod
    def none(cls) -> Self:
        """Return no loops."""
        nothing, nowhere = np.zeros(0), np.zeros(0, dtype=np.intp)
        return cls(nowhere, nothing, nothing, nothing, nowhere)

    def by_joint(self, motor: DCMotor) -> LoopGains:
        """Return the gains of all joints.

        Args:
            motor: Motors of all joints.
        """
        proportional, integral = np.zeros((2, *np.shape(motor.resistance)))
        proportional[self.joints], integral[self.joints] = self.proportional, self.integral
        return LoopGains(integral / (2.0 * np.pi * motor.resistance), proportional, integral)

    def check(self, motor: DCMotor, step: float, joint_names: Sequence[str]) -> None:
        """Check that loops fit a step of the plant, and are stable with motors at rest.

        Args:
            motor: Motors of all joints.
            step: h [s].
            joint_names: Names of all joints.

        Raises:
            InputError: A period is longer than the step, does not divide it, or divides it into too many; or a loop is
                unstable.
        """
        figures = (constants(each, traced=np.nan) for each in (
            self.proportional, self.integral, motor.resistance[self.joints], motor.inductance[self.joints]))
        for joint, period, delay, gain, rate, resistance, inductance in zip(
                self.joints, self.period, self.delay, *figures, strict=True):
            place = f"current_loop of joint '{joint_names[joint]}'"
            check_period(place, step, period)
            size = _spectral_radius(gain, rate, period, int(delay), resistance, inductance)
            if size >= 1.0:
                raise InputError(f"{place}: expected gains that are stable with its period and delay, received "
                                 f"proportional {gain:g} V/A and integral {rate:g} V/(A s), with which errors of the "
                                 f"current grow {size:.3g} times in a period; a bandwidth of "
                                 f"{_stable_bandwidth(period, delay):.4g} Hz would do, or a shorter period")

    def growth(self, motor: DCMotor, resistance: Array) -> Array:
        """Return the growth of the slowest error of each current in a period, with motors at rest.

        A loop is unstable if it is 1 or more.

        Args:
            motor: Motors of all joints.
            resistance: Resistances of the m motors of N robots, shape (N, m) or (m,) [ohm]; ``proportional`` and
                ``integral`` may have this shape, too.

        Returns:
            Growth, of the shape of ``resistance``.
        """
        shape = np.broadcast_shapes(self.proportional.shape, self.integral.shape, resistance.shape)
        gains, rates, resistances = (np.broadcast_to(each, shape) for each in (self.proportional, self.integral,
                                                                              resistance))
        return np.stack([_spectral_radius(gains[..., k], rates[..., k], self.period[k], int(self.delay[k]),
                                          resistances[..., k], motor.inductance[joint])
                         for k, joint in enumerate(self.joints)], axis=-1)

    def stable_bandwidths(self) -> Array:
        """Return bandwidths that are stable with the periods and delays, shape (m,) [Hz]."""
        return np.array([_stable_bandwidth(*each) for each in zip(self.period, self.delay, strict=True)])

    def within_step(self, step: float) -> Self:
        """Return the loops with periods shortened so that a whole number of them fits into a step."""
        return replace(self, period=shortened_period(step, self.period))

    def with_bandwidth(self, bandwidth: NDArray[Any], motor: DCMotor) -> Self:
        """Return the loops with the gains of given bandwidths, shape (..., n), may be traced [Hz], for n motors."""
        rate = 2.0 * np.pi * bandwidth[..., self.joints]
        return replace(self, proportional=rate * motor.inductance[self.joints],
                       integral=rate * motor.resistance[self.joints])

    def at_rest(self) -> CurrentLoopState:
        """Return the state without voltages."""
        none = np.zeros(len(self.joints))
        return CurrentLoopState(none, none, np.zeros((int(np.max(self.delay, initial=0)), len(none))))

    def run(self, motor: DCMotor, target: NDArray[Any], current: NDArray[Any], speed: NDArray[Any],
            state: CurrentLoopState, limit: Array, step: float, target_slope: NDArray[Any] | None = None
            ) -> CurrentLoopRun:
        """Simulate the loops over a step.

        Args:
            motor: Motors of the m joints.
            target: Commanded currents, shape (m,) [A].
            current: Currents at the beginning, shape (m,) [A].
            speed: Speeds of the motors, held, shape (m,) [rad/s].
            state: State at the beginning.
            limit: Limits of the voltages, may be infinite, shape (m,) [V].
            step: h [s].
            target_slope: Derivatives of the commanded currents by the speeds, shape (m,) [A s/rad]; None: 0.
        """
        parts = [self._run_one(_one(motor, k), target[k], current[k], speed[k], state, limit[k], step, k,
                               None if target_slope is None else target_slope[k]) for k in range(len(self.joints))]
        if not parts:
            return CurrentLoopRun(target, target, target, target, state)
        at_end, mean, slope, square = (np.array(column) for column in zip(*(part[:-1] for part in parts),
                                                                            strict=True))
        ends = [part[-1] for part in parts]
        lines = np.array([each.pending for each in ends]).T.reshape(state.pending.shape)
        after = CurrentLoopState(np.array([each.integral for each in ends]), np.array([each.voltage for each in ends]),
                                 lines)
        return CurrentLoopRun(at_end, mean, slope, square, after)

    def _run_one(self, motor: DCMotor, target: Any, current: Any, speed: Any, state: CurrentLoopState, limit: Any,
                 step: float, k: int, target_slope: Any) -> tuple[Any, ...]:
        """Like :meth:`run` for one motor, with the derivatives of all results by the speed."""
        period, gain, rate, delay = float(self.period[k]), self.proportional[k], self.integral[k], int(self.delay[k])
        count, shares = round(step / period), motor.current_shares(period)
        end, mean, square = shares.end[0], shares.mean[0], shares.mean_square[0]
        resistance, back_emf = motor.resistance[0], motor.back_emf_constant[0]
        share = where(less(period * rate, gain), period * rate / where(gain, gain, 1.0), 1.0)
        integral, line, applied = state.integral[k], list(state.pending[:, k]), state.voltage[k]
        none = np.float64(0.0)
        d_current = d_integral = none
        d_line: list[Any] = [none] * len(line)
        total = d_total = squares = none
        bounded = np.isfinite(constants(np.asarray(limit), traced=0.0))
        for _ in range(count):
            error, fall = target - current, d_current if target_slope is None else d_current - target_slope
            wanted, d_wanted = gain * error + integral, d_integral - gain * fall
            voltage = clip(wanted, -limit, limit) if bounded else wanted
            d_voltage = where(less(abs(wanted), limit), d_wanted, 0.0) if bounded else d_wanted
            integral = integral + period * rate * error + share * (voltage - wanted)
            d_integral = d_integral - period * rate * fall + share * (d_voltage - d_wanted)
            line, d_line = [voltage, *line], [d_voltage, *d_line]
            applied, d_applied = line[delay], d_line[delay]
            line, d_line = line[:len(state.pending)], d_line[:len(state.pending)]
            settled, d_settled = (applied - back_emf * speed) / resistance, (d_applied - back_emf) / resistance
            excess, d_excess = current - settled, d_current - d_settled
            total, d_total = total + settled + mean * excess, d_total + d_settled + mean * d_excess
            squares = squares + settled * (settled + 2.0 * mean * excess) + square * excess * excess
            current, d_current = settled + end * excess, d_settled + end * d_excess
        slope = -maximum(-d_total / count, 0.0)
        return current, total / count, slope, squares / count, CurrentLoopState(integral, applied, np.array(line))


def _one(motor: DCMotor, k: int) -> DCMotor:
    return DCMotor(*(np.asarray(figure)[k:k + 1] for figure in vars(motor).values()))


def _stable_bandwidth(period: float, delay: int) -> float:
    """Bandwidth at which the lag of period and delay leaves the phase margin [Hz]."""
    return float(_MAX_LAG / (2.0 * np.pi * period * (delay + 0.5)))


def _spectral_radius(gain: ArrayLike, rate: ArrayLike, period: float, delay: int, resistance: ArrayLike,
                     inductance: float) -> Array:
    """Growth of the slowest error of current, integral and pending voltages in a period, at rest.

    It has the shape of the gains and resistances, and is 0 where one is traced.
    """
    gain, rate, resistance = np.broadcast_arrays(*(np.asarray(each, float) for each in (gain, rate, resistance)))
    known = ~np.isnan(gain + rate + resistance + inductance)
    gain, rate, resistance = (np.where(known, each, 1.0) for each in (gain, rate, resistance))
    end = np.exp(-period * resistance / inductance) if inductance > 0.0 else np.zeros(gain.shape)
    matrix = np.zeros((*gain.shape, 2 + delay, 2 + delay))  # of current, integral, and voltages, newest first
    law = np.zeros((*gain.shape, 2 + delay))
    law[..., 0], law[..., 1] = -gain, 1.0
    matrix[..., 0, :] = ((1.0 - end) / resistance)[..., None] * (np.eye(2 + delay)[-1] if delay else law)
    matrix[..., 0, 0] += end
    matrix[..., 1, 0], matrix[..., 1, 1] = -period * rate, 1.0
    if delay:
        matrix[..., 2, :] = law
        matrix[..., 3:, 2:-1] = np.eye(delay - 1)
    return np.where(known, np.abs(np.linalg.eigvals(matrix)).max(axis=-1), 0.0)
