# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Drives that close a loop on their own encoder: stiffness and damping, with loops of position and velocity as cases.

    tau = tau_ff + K_p (q_d - q) + K_d (v_d - v),    within the effort limit

is sampled with the drive's own period T, acts after a delay of whole periods, and is held for one period. q and v are
those of the motor at the output of its gear.

The plant solves for v', the velocity at the end of a step h. Sample k of the N = h / T samples in a step sees

    v_k = v + k / N (v' - v),    q_k = q_0 + t v + t^2 / (2 h) (v' - v),    t = k T,

so the mean effort falls linearly with v', up to the limit. Hence damping is stable up to K_d = 2 J / T for a free
inertia J, as on the drive, and not only up to 2 J / h. q_0 is the position half a step before that of the state:
velocities of the method belong to the middle of the steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.actuation.current_loop import MAX_DELAY, check_period, shortened_period
from robodyn_ros.actuation.joint_values import is_limit
from robodyn_ros.base.errors import InputError
from robodyn_ros.base.fields import DAMPING, STIFFNESS, declare
from robodyn_ros.compile import clip, less, where
from robodyn_ros.description.model import Array

IMPEDANCE, POSITIONS, VELOCITIES = "impedance", "position", "velocity"

_GAINS = {IMPEDANCE: ("max_stiffness", "max_damping"), POSITIONS: ("stiffness", "damping"), VELOCITIES: ("damping",)}


@dataclass(frozen=True)
class DriveLoopSettings:
    """The loop of a drive."""

    kind: str = declare(IMPEDANCE, choices=tuple(_GAINS), description="Commands that the drive takes: `impedance`, "
                        "position, velocity, stiffness, damping and feed-forward effort; `position`; or `velocity`")
    stiffness: float | None = declare(None, unit=STIFFNESS, minimum=0.0, above=True, description="Gain K_p of a drive "
                                      "that takes positions")
    damping: float | None = declare(None, unit=DAMPING, minimum=0.0, above=True, description="Gain K_d of a drive that "
                                    "takes positions or velocities")
    max_stiffness: float | None = declare(None, unit=STIFFNESS, minimum=0.0, description="Greatest gain K_p that an "
                                          "impedance drive takes")
    max_damping: float | None = declare(None, unit=DAMPING, minimum=0.0, description="Greatest gain K_d that an "
                                        "impedance drive takes")
    period: float = declare(2e-4, unit="s", minimum=5e-5, maximum=1e-3, description="Period of the loop, of which a "
                            "step of the plant is a whole number")
    delay: int = declare(0, unit="periods", minimum=0, maximum=MAX_DELAY, description="Dead time, from the measured "
                         "motion to the effort")

    def check(self, place: str) -> None:
        """Check that the gains are those of the kind.

        Raises:
            InputError: One is missing, or belongs to another kind.
        """
        expected = _GAINS[self.kind]
        if missing := [name for name in expected if getattr(self, name) is None]:
            raise InputError(f"{place}: expected {' and '.join(expected)} of a drive that takes {self.kind} commands, "
                             f"received no {' and no '.join(missing)}")
        names = {name for each in _GAINS.values() for name in each}
        if other := sorted(name for name in names - set(expected) if getattr(self, name) is not None):
            raise InputError(f"{place}: expected a drive of one kind, received kind {self.kind} and {other[0]}; a "
                             f"drive of this kind has {' and '.join(expected)}")


class DriveCommand(NamedTuple):
    """Commands of the m drives that close a loop, besides the feed-forward effort; each array has shape (m,)."""

    position: NDArray[Any]  # q_d [rad or m]
    velocity: NDArray[Any]  # v_d [rad/s or m/s]
    stiffness: NDArray[Any]  # K_p [N m/rad or N/m]
    damping: NDArray[Any]  # K_d [N m s/rad or N s/m]


class JointLaw(NamedTuple):
    """A law of efforts about a measured motion, joint by joint; each array has shape (n,)."""

    effort: NDArray[Any]  # efforts at the measured motion [N m or N]
    by_position: NDArray[Any]  # derivatives of the efforts by the position of the same joint [N m/rad or N/m]
    by_velocity: NDArray[Any]  # their derivatives by its velocity [N m s/rad or N s/m]
    q: NDArray[Any]  # positions about which the derivatives act [rad or m]
    v: NDArray[Any]  # likewise, velocities [rad/s or m/s]


class SampleTimes(NamedTuple):
    """Times from a measurement to the middle of a drive's samples in a control period, shape (n,) each [s]."""

    q: Array  # for positions
    v: Array  # for velocities


class DriveLoopState(NamedTuple):
    """State of the m drives that close a loop; may be traced."""

    effort: NDArray[Any]  # mean effort in the last step, shape (m,) [N m or N]
    pending: NDArray[Any]  # computed efforts that do not yet act, newest first, shape (D, m) [N m or N]


class DriveMotion(NamedTuple):
    """Motion of the m motors of such drives about a step, at the outputs of their gears; each array has shape (m,)."""

    position: NDArray[Any]  # position of the state [rad or m]
    velocity: NDArray[Any]  # velocity at the beginning of the step [rad/s or m/s]
    after: NDArray[Any]  # velocity at its end [rad/s or m/s]


class DriveLoopRun(NamedTuple):
    """Result of a step."""

    mean: NDArray[Any]  # mean effort, shape (m,) [N m or N]
    slope: NDArray[Any]  # its derivative by the velocity at the end, not positive, shape (m,) [N m s/rad or N s/m]
    pending: NDArray[Any]  # as in `DriveLoopState`


@dataclass(frozen=True, eq=False)
class DriveLoops:
    """Drives of m joints that close a loop.

    Attributes:
        joints: Indices of the joints, shape (m,).
        kinds: Kind of each drive.
        stiffness: K_p of drives that take positions, or the greatest K_p, shape (m,) [N m/rad or N/m].
        damping: K_d, likewise, shape (m,) [N m s/rad or N s/m].
        period: T, shape (m,) [s].
        delay: Dead time, whole numbers, shape (m,) [periods].
    """

    joints: NDArray[np.intp]
    kinds: tuple[str, ...]
    stiffness: Array
    damping: Array
    period: Array
    delay: NDArray[np.intp]

    @classmethod
    def none(cls) -> Self:
        """Return no drives."""
        return cls.from_settings({})

    @classmethod
    def from_settings(cls, found: dict[int, DriveLoopSettings]) -> Self:
        """Return the drives of joints, given by their indices."""
        drives = tuple(found.values())
        return cls(np.array(list(found), dtype=np.intp), tuple(each.kind for each in drives),
                   np.array([each.max_stiffness or each.stiffness or 0.0 for each in drives]),
                   np.array([each.max_damping or each.damping or 0.0 for each in drives]),
                   np.array([each.period for each in drives]), np.array([each.delay for each in drives], dtype=np.intp))

    def __len__(self) -> int:
        """Number of drives."""
        return len(self.joints)

    def check(self, step: float, joint_names: Sequence[str], coupled: NDArray[np.bool_]) -> None:
        """Check that the drives fit a step of the plant.

        Args:
            step: h [s].
            joint_names: Names of all joints.
            coupled: Joints whose motors drive several joints, shape (n,).

        Raises:
            InputError: A period does not fit, see `check_period`; or a joint is coupled.
        """
        for joint, period in zip(self.joints, self.period, strict=True):
            place = f"drive_loop of joint '{joint_names[joint]}'"
            check_period(place, step, period)
            if coupled[joint]:
                raise InputError(f"{place}: expected a motor that drives this joint alone, received one of a coupling")

    def within_step(self, step: float) -> Self:
        """Return the drives with periods shortened so that a whole number of them fits into a step."""
        return replace(self, period=shortened_period(step, self.period))

    def no_command(self) -> DriveCommand:
        """Return commands without gains, under which the drives pass the feed-forward effort."""
        return DriveCommand(*np.zeros((4, len(self))))

    def at_rest(self) -> DriveLoopState:
        """Return the state without efforts."""
        return DriveLoopState(np.zeros(len(self)), np.zeros((int(np.max(self.delay, initial=0)), len(self))))

    def sample_times(self, n: int, period: float, step: float) -> SampleTimes:
        """Return when the drives of n joints sample the motion; velocities of the method are half a step h older.

        Args:
            n: Number of joints.
            period: Control period [s].
            step: h [s].
        """
        times = np.full(n, 0.5 * period)
        times[self.joints] -= (0.5 + self.delay) * self.period
        return SampleTimes(times - 0.5 * step, times)

    def follow(self, law: JointLaw) -> tuple[NDArray[Any], DriveCommand]:
        """Hand a law over to impedance drives for a control period, with the gains that they take.

        Returns:
            Feed-forward efforts, shape (n,) [N m or N], and the commands.
        """
        own = JointLaw(*(values[self.joints] for values in law))
        return law.effort, DriveCommand(own.q, own.v, clip(-own.by_position, 0.0, self.stiffness),
                                        clip(-own.by_velocity, 0.0, self.damping))

    def check_law(self, joint_names: Sequence[str]) -> None:
        """Check that a law of efforts can run on the drives.

        Raises:
            InputError: A drive takes positions or velocities only.
        """
        for joint, kind in zip(self.joints, self.kinds, strict=True):
            if kind != IMPEDANCE:
                raise InputError(f"drive_loop of joint '{joint_names[joint]}': expected kind {IMPEDANCE} for a law of "
                                 f"efforts, received {kind}")

    def servo(self, position: NDArray[Any], velocity: NDArray[Any]) -> DriveCommand:
        """Return the commands of drives with gains of their own; impedance drives get none.

        Args:
            position: Commanded positions, shape (n,) [rad or m]; for drives of positions.
            velocity: Commanded velocities, shape (n,) [rad/s or m/s].
        """
        own, by_position = (np.array([each in kinds for each in self.kinds], dtype=bool)
                            for kinds in ((POSITIONS, VELOCITIES), (POSITIONS,)))
        return DriveCommand(position[self.joints], velocity[self.joints], np.where(by_position, self.stiffness, 0.0),
                            np.where(own, self.damping, 0.0))

    def run(self, command: DriveCommand, effort: NDArray[Any], motion: DriveMotion, state: DriveLoopState,
            limit: Array, step: float) -> DriveLoopRun:
        """Simulate the drives over a step.

        Args:
            command: The commands.
            effort: Feed-forward efforts, shape (m,) [N m or N].
            motion: Motion of the motors.
            state: State at the beginning.
            limit: Effort limits, infinite or 0 where there is none, shape (m,) [N m or N].
            step: h [s].
        """
        columns = [self._run_one(command, effort[k], motion, state.pending[:, k], float(limit[k]), step, k)
                   for k in range(len(self))]
        mean, slope, pending = zip(*columns, strict=True)
        return DriveLoopRun(np.array(mean), np.array(slope), np.array(pending).T.reshape(state.pending.shape))

    def _run_one(self, command: DriveCommand, effort: Any, motion: DriveMotion, pending: NDArray[Any], limit: float,
                 step: float, k: int) -> tuple[Any, Any, list[Any]]:
        """Like :meth:`run` for one drive."""
        period, delay = float(self.period[k]), int(self.delay[k])
        count, stiffness, damping = round(step / period), command.stiffness[k], command.damping[k]
        v, change = motion.velocity[k], motion.after[k] - motion.velocity[k]
        start = motion.position[k] - 0.5 * step * v
        line, slopes = list(pending), [np.float64(0.0)] * len(pending)
        total = d_total = np.float64(0.0)
        for number in range(count):
            time = number * period
            share, moved = number / count, 0.5 * time * time / step
            wanted = (effort + stiffness * (command.position[k] - (start + time * v + moved * change))
                      + damping * (command.velocity[k] - (v + share * change)))
            slope = -(stiffness * moved + damping * share)
            if is_limit(np.array(limit)) and limit > 0.0:
                slope = where(less(abs(wanted), limit), slope, 0.0)
                wanted = clip(wanted, -limit, limit)
            line, slopes = [wanted, *line], [slope, *slopes]
            total, d_total = total + line[delay], d_total + slopes[delay]
            line, slopes = line[:len(pending)], slopes[:len(pending)]
        return total / count, d_total / count, line
