# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Damping of a robot that its safe controller swings, because its gains do not fit the period or the delay of the loop.

A damper that acts too late pushes instead of braking. Where the speeds of a joint change sign again and again and do
not fall, the safe controller is taken for unstable, and replaced step by step by what is stable with less:

1. the safe controller as if the robot rested where it is, which is gravity or nothing, and the default damping for the
   period measured and for the delay that the swing tells;
2. that damping alone, as delayed gravity compensation can swing a robot too;
3. a quarter of it, and a sixteenth;
4. no effort. It adds no energy and so cannot be unstable; only the friction of the joints brakes.

The swing of a delayed damper tells its delay: with N periods of delay a half-wave lasts 2 N + 1 periods, also while
efforts are cut to their limits, which changes the loop's gain and not its phase; stiffness only lengthens it. So N is
at most half of the half-wave's length.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.control import default_gains
from robodyn_ros.control.contract.state import State
from robodyn_ros.control.runtime.modes import Reason
from robodyn_ros.description.model import Array
from robodyn_ros.robot import Robot

LEAST_SPEED = 0.1
"""Speed from which a swing counts, relative to the velocity limit of the joint."""

HALF_WAVES = 3
"""Half-waves that are compared with as many before."""

DECAY = 0.9
"""A swing lasts if the greatest speed in the later half-waves is at least this share of that in the earlier ones."""

GROWTH = 1.5
"""A swing grows if each of the later half-waves is that much faster than the one before."""

LOSS = 0.1
"""A robot whose energy falls by more than this share of its kinetic energy loses speed, or only height."""

SHARES = (1.0, 1.0, 0.25, 0.0625, 0.0)
"""Share of the damping by level, from 1 on."""

_UNLIMITED = 3.0  # velocity limit of a joint without one [rad/s or m/s]
_SPEED, _TICKS, _TIME, _ENERGY, _KINETIC = range(5)


class Swing(NamedTuple):
    """A swing that does not fall.

    Attributes:
        joint: Index of the joint.
        speed: Its greatest speed lately [rad/s or m/s].
        period: Mean control period in it [s].
        length: Length of the longest of the last half-waves [control periods].
    """

    joint: int
    speed: float
    period: float
    length: int


def least_speeds(robot: Robot) -> Array:
    """Speeds from which a swing of a joint counts, shape (n,) [rad/s or m/s]."""
    limit = robot.model.velocity_limit
    least: Array = LEAST_SPEED * np.where((limit > 0.0) & np.isfinite(limit), limit, _UNLIMITED)
    return least


class SwingDetector:
    """Looks for joints whose velocity alternates in sign while neither their speed nor the robot's energy falls.

    The energy is kinetic and potential, so that an arm that sinks and swings under damping does not count.

    Args:
        robot: The robot.
    """

    def __init__(self, robot: Robot) -> None:
        self._least = least_speeds(robot)
        self._kinetic, self._potential = robot.dynamics().kinetic_energy, robot.dynamics().potential_energy
        rest = np.zeros(robot.n)
        self._kinetic(rest, rest), self._potential(rest)  # compiles here, not when the robot swings
        self.restart()

    def restart(self) -> None:
        """Forget the motion so far."""
        n = len(self._least)
        self._sign, self._wave = np.zeros(n), np.zeros((5, n))  # of the present half-wave; the last rows are sums
        self._waves = np.zeros((2 * HALF_WAVES, 5, n))  # the same of the last half-waves, the last one first

    def swing(self, state: State) -> Swing | None:
        """Look at a state; return the fastest swing, and forget the motion then.

        Args:
            state: The measured state.
        """
        v, found = state.v, None
        turned = np.flatnonzero(v * self._sign < 0.0)
        if turned.size:
            self._waves[1:, :, turned] = self._waves[:-1, :, turned]
            self._waves[0, :, turned] = self._wave[:, turned].T
            self._wave[:, turned] = 0.0
            found = self._lasting(turned)
        kinetic = self._kinetic(state.q, v)
        self._sign = np.where(v == 0.0, self._sign, np.sign(v))
        self._wave[_SPEED] = np.maximum(self._wave[_SPEED], np.abs(v))
        self._wave[_TICKS:] += np.array([1.0, state.period, kinetic + self._potential(state.q), kinetic])[:, None]
        if found is not None:
            self.restart()
        return found

    def _lasting(self, turned: NDArray[np.intp]) -> Swing | None:
        """The fastest lasting swing of joints whose half-wave has just ended."""
        excess, speed, time, ticks = swings(self._waves[:, :, turned], self._least[turned])
        joint = int(excess.argmax())
        if excess[joint] <= 0.0:
            return None
        return Swing(int(turned[joint]), float(speed[joint]), float(time[joint] / ticks[joint]), int(ticks[joint]))


def swings(waves: NDArray[Any], least: NDArray[Any]) -> NDArray[Any]:
    """Look at the last half-waves of joints; may be traced.

    Args:
        waves: Their greatest speeds, numbers of control periods and times, and the sums of the robot's energy and
            kinetic energy in them, the last half-wave first, shape (2 HALF_WAVES, 5, k).
        least: Speeds from which a swing counts, shape (k,).

    Returns:
        Shape (4, k): the last greatest speed relative to ``least``, or 0 where no swing lasts; the greatest speed; time
        and number of periods of the longest half-wave.
    """
    peaks, counts, times = waves[:, _SPEED], waves[:, _TICKS], waves[:, _TIME]
    ticks = np.maximum(counts, 1.0)
    energy, kinetic = waves[:, _ENERGY] / ticks, waves[:, _KINETIC] / ticks
    late, early = peaks[:HALF_WAVES].max(axis=0), peaks[HALF_WAVES:].max(axis=0)
    lasts = (peaks.min(axis=0) > 0.0) & (early > least) & (late >= DECAY * early) & (
        energy[:HALF_WAVES].mean(axis=0)
        > energy[HALF_WAVES:].mean(axis=0) - LOSS * kinetic[:HALF_WAVES].mean(axis=0))
    grows = (peaks[:HALF_WAVES] > GROWTH * peaks[1 : HALF_WAVES + 1]).all(axis=0) & (
        peaks[HALF_WAVES] > 0.0) & (peaks[0] > least) & (energy[0] > energy[HALF_WAVES])
    longest, time = counts.max(axis=0), times[-1]  # noise about a standstill makes short ones
    for count, duration in zip(counts[-2::-1], times[-2::-1], strict=True):
        time = np.where(count == longest, duration, time)
    return np.stack([np.where(lasts | grows, peaks[0] / least, 0.0), peaks.max(axis=0), time, longest])


class Calming:
    """Notices that the safe controller swings the robot, and damps it in its place.

    Args:
        robot: The robot.

    Attributes:
        level: How far the safe controller is replaced, from 0: not at all; see the module.
    """

    def __init__(self, robot: Robot) -> None:
        self._robot, self._detector = robot, SwingDetector(robot)
        self.restart()

    def restart(self, keep_level: bool = False) -> None:
        """Forget the motion so far, and trust the safe controller again unless the level is kept."""
        self._detector.restart()
        if not keep_level:
            self.level = 0
            self._damping = np.zeros(self._robot.n)

    @property
    def holds(self) -> bool:
        """Whether the safe controller, as if the robot rested, is part of the efforts."""
        return self.level == 1

    def watch(self, state: State) -> Reason | None:
        """Look at a state under the safe controller; go to the next level and say so where the robot swings.

        Args:
            state: The measured state.
        """
        if self.level == len(SHARES) or (swing := self._detector.swing(state)) is None:
            return None
        self.level += 1
        if self.level == 1:
            delay = max(self._robot.timing.delay, (swing.length + 1) // 2)
            self._damping = default_gains.damping(self._robot.with_timing(swing.period, delay))
        share = SHARES[self.level - 1]
        instead = ("no effort" if not share else f"{'gravity and ' if self.holds else ''}damping"
                   f"{f' times {share:g}' if share < 1.0 else ''} for {swing.period:.3g} s a period")
        name = self._robot.joint_names[swing.joint]
        return Reason("swing", f"joint '{name}' swings at {swing.speed:.3g} under it: {instead} instead", (name,))

    def effort(self, v: Array) -> Array:
        """The damping of the present level, shape (n,) [N m or N]; v: joint velocities, shape (n,) [rad/s or m/s]."""
        effort: Array = -SHARES[self.level - 1] * self._damping * v
        return effort
