# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Commands per joint, their age, and what joints do without a command or with one that is too old.

Ages count simulated time: a pause does not age commands, and lockstep stays deterministic.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.actuation.drive_loop import DriveCommand
from robodyn_ros.description.model import Array

MOVING_SPEED = 0.01
"""A joint faster than this moves, so that a working law changes its efforts [rad/s or m/s]."""

_NEVER = -1  # time of a command that never came

LATE_AGE = 2
"""Age at which a command that answers a state is late: controllers answer every state [control periods]."""

LATE_SPEED = 0.2
"""Greatest rise of a joint's speed under a late command, relative to its velocity limit.

Default gains are stable if each command lasts one control period. If a busy computer delays the controller, the effort
that should damp a light joint makes it swing ever faster instead: `pd` at rest reached 1000 rad/s.
"""

LATE_TIME_CONSTANT = 0.005
"""Time constant of the damping that follows such a command [s]."""


class SafeBehaviour(StrEnum):
    """Behaviour of a joint whose command is too old."""

    DAMPING = "damping"
    """Passive viscous damping up to the effort limit: the joint slows down, and sinks under load."""
    HOLD = "hold"
    """The brake: dry friction as strong as the effort limit."""
    ZERO = "zero"
    """No effort."""


class Drive(NamedTuple):
    """Commands to the drives for the next control period.

    Attributes:
        effort: Commanded effort, shape (n,) [N m or N].
        damping: Damping by the drives, shape (n,) [N m s/rad or N s/m].
        brake: Dry friction of the brakes, infinite for a brake that always holds, shape (n,) [N m or N].
        voltage: Commanded voltage, shape (n,) [V]; None: all joints are driven by effort.
        by_voltage: 1 where the voltage is the command, 0 where the effort is, shape (n,); None: all 0.
        loops: Commands of drives that close a loop; None: none, so that they pass the efforts on.
    """

    effort: Array
    damping: Array
    brake: Array
    voltage: Array | None = None
    by_voltage: Array | None = None
    loops: DriveCommand | None = None


class JointCommands:
    """The last valid command of each joint, an effort or a voltage.

    Before its first command, and after :meth:`clear`, a joint is held by its brake, as on a real arm before it is
    enabled. A joint whose command is older than the timeout shows the safe behaviour until the next command.

    A late command may speed up a joint by at most `LATE_SPEED`. Beyond that, damping brakes the joint until the next
    command.

    Args:
        n: Number of joints.
        effort_limit: Effort limits, shape (n,) [N m or N]; infinite, or 0, where there is none.
        velocity_limit: Velocity limits, shape (n,) [rad/s or m/s]; likewise.

    Attributes:
        effort: The last valid efforts, shape (n,) [N m or N]; never altered, only replaced.
        voltage: The last valid voltages, shape (n,) [V]; likewise.
        by_voltage: 1 where the last command was a voltage, else 0, shape (n,); likewise.
        missed: Control periods without a new command for any joint, since the first command.
        sped_up: Joints that a late command has sped up too much, shape (n,); None: none.
    """

    def __init__(self, n: int, effort_limit: Array, velocity_limit: Array) -> None:
        self._none = np.zeros(n)
        self._all = np.ones(n)
        self._brake = np.where(effort_limit > 0.0, effort_limit, np.inf)
        self._late_speed = LATE_SPEED * np.where(velocity_limit > 0.0, velocity_limit, np.inf)
        self._speed = self._none  # velocities at the arrival of the newest command
        self.sped_up: NDArray[np.bool_] | None = None
        self._now = 0  # time in control periods
        self.missed = 0
        self.configure(0, SafeBehaviour.DAMPING, 1.0)
        self.clear()

    def configure(self, timeout: int, behaviour: SafeBehaviour, time_constant: float, unchanged_timeout: int = 0
                  ) -> None:
        """Change the settings; commands and their ages stay.

        Args:
            timeout: Age at which a command is too old [control periods]; 0: never.
            behaviour: Behaviour of joints whose command is too old.
            time_constant: Time in which damping slows a joint, moving alone and without load, to 1/e of its speed [s].
            unchanged_timeout: Control periods with motion after which commands that are equal to the last bit count as
                too old, because nothing computes them any more; 0: never.
        """
        self._unchanged_timeout = unchanged_timeout
        self._timeout, self._behaviour, self._time_constant = timeout, behaviour, time_constant

    def clear(self) -> None:
        """Forget all commands."""
        self.effort = self.voltage = self.by_voltage = self._none
        self._times = [_NEVER] * len(self._none)  # of the last command for each joint
        self._oldest = self._newest = _NEVER
        self._answers, self.sped_up = False, None
        self._unchanged = 0

    def accept(self, effort: Array, columns: Sequence[int] | None = None, answers: bool = False) -> None:
        """Take commanded efforts.

        Args:
            effort: Efforts of all joints; those outside of ``columns`` as before, shape (n,) [N m or N].
            columns: Commanded joints; None: all.
            answers: Whether the command answers a state, so that the next one is expected after the next state.
        """
        if self._unchanged_timeout and (effort != self.effort).any():
            self._unchanged = 0
        self.effort = effort
        self._note(columns, self._none, answers)

    def accept_voltage(self, voltage: Array, columns: Sequence[int] | None = None) -> None:
        """Take commanded voltages.

        Args:
            voltage: Voltages of all joints; those outside of ``columns`` as before, shape (n,) [V].
            columns: Commanded joints; None: all.
        """
        if self._unchanged_timeout and (voltage != self.voltage).any():
            self._unchanged = 0
        self.voltage = voltage
        self._note(columns, self._all)

    def _note(self, columns: Sequence[int] | None, by_voltage: Array, answers: bool = False) -> None:
        """Record the time of a command, and whether it is an effort or a voltage."""
        self._newest, self._answers, self.sped_up = self._now, answers, None
        if columns is None:
            self.by_voltage = by_voltage
            self._times, self._oldest = [self._now] * len(self._times), self._now
            return
        if columns:
            self.by_voltage = self.by_voltage.copy()
            self.by_voltage[columns] = by_voltage[columns]
        for column in columns:
            self._times[column] = self._now
        self._oldest = min(self._times)

    def note_motion(self, v: Array) -> None:
        """Count control periods in which the robot moves under unchanged commands.

        Args:
            v: Joint velocities, shape (n,) [rad/s or m/s].
        """
        self._unchanged += bool((np.abs(v) > MOVING_SPEED).any())

    def advance(self, periods: int = 1) -> None:
        """Increase the age of the commands by some control periods."""
        if self._newest != _NEVER:
            self.missed += periods - (self._newest == self._now)
        self._now += periods

    def stale(self) -> NDArray[np.bool_]:
        """Joints whose command is too old, shape (n,)."""
        times = np.array(self._times)
        too_old = (self._timeout != 0) & (self._now - times >= self._timeout)
        return (times != _NEVER) & (too_old | self.stuck())

    def stuck(self) -> bool:
        """Whether the commands have not changed at all for too long, although the robot moves."""
        return self._unchanged_timeout != 0 and self._unchanged >= self._unchanged_timeout

    def waiting(self) -> NDArray[np.bool_]:
        """Joints without any command yet, shape (n,)."""
        return np.array(self._times) == _NEVER

    def fresh(self) -> bool:
        """Return whether every joint has a command that is not too old."""
        return (self._oldest != _NEVER and (self._timeout == 0 or self._now - self._oldest < self._timeout)
                and not (self._unchanged_timeout and self.stuck()))

    def drive(self, joint_inertia: Callable[[], Array], v: Array) -> Drive:
        """Return the present commands to the drives.

        Args:
            joint_inertia: Returns the inertia of each joint moving alone, shape (n,) [kg m^2 or kg]; called only if
                damping acts.
            v: Joint velocities, shape (n,) [rad/s or m/s].
        """
        if self.fresh():
            if self._newest == self._now:
                self._speed = v
            elif self._answers and self._now - self._newest >= LATE_AGE and (late := self._sped_up(v)) is not None:
                damping = joint_inertia() / min(self._time_constant, LATE_TIME_CONSTANT)
                return Drive(np.where(late, 0.0, self.effort), np.where(late, damping, 0.0), self._none, self.voltage,
                             self.by_voltage)
            return Drive(self.effort, self._none, self._none, self.voltage, self.by_voltage)
        stale, waiting = self.stale(), self.waiting()
        idle = stale | waiting
        effort, by_voltage = np.where(idle, 0.0, self.effort), np.where(idle, 0.0, self.by_voltage)
        damping, brake = self._none, np.where(waiting, np.inf, 0.0)
        if self._behaviour is SafeBehaviour.DAMPING:
            damping = np.where(stale, joint_inertia() / self._time_constant, 0.0)
        elif self._behaviour is SafeBehaviour.HOLD:
            brake = np.where(stale, self._brake, brake)
        return Drive(effort, damping, brake, self.voltage, by_voltage)

    def _sped_up(self, v: Array) -> NDArray[np.bool_] | None:
        """Joints that the late command has sped up too much, now or earlier; None: none."""
        fast = np.abs(v) > np.abs(self._speed) + self._late_speed
        if fast.any():
            self.sped_up = fast if self.sped_up is None else fast | self.sped_up
        return self.sped_up
