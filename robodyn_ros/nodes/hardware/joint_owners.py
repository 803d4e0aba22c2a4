# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Who commands which joint: the first commander keeps a joint until its commands stop."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.nodes.common.participants import participant

SILENT_AFTER = 1.0
"""Time without a command after which a commander has left [s]."""

_LONG_AGO = -np.inf


class Refusal(NamedTuple):
    """Why the commands of one commander are refused.

    Attributes:
        sender: GID of the publisher whose commands are refused.
        owner: GID of the publisher whose commands the joints follow.
        columns: The joints.
    """

    sender: bytes
    owner: bytes
    columns: tuple[int, ...]


class JointOwners:
    """Admits or refuses the commands of publishers, each as a whole; for the thread of the control path.

    A joint belongs to the process that commanded it first, until the joint's command is too old or nothing came for
    ``SILENT_AFTER`` (where commands do not age: in a pause, in lockstep, without a time-out). Several processes may
    command different joints. A refusal stands until its joints are free or the refused publisher has left.

    Args:
        n: Number of joints.
        stale: Returns which joints have too old a command, shape (n,).

    Attributes:
        refusals: Refusals that stand, by participant; replaced as a whole, so that any thread may read them.
    """

    def __init__(self, n: int, stale: Callable[[], NDArray[np.bool_]]) -> None:
        self._all, self._stale = range(n), stale
        self._owners, self._heard = [b""] * n, [_LONG_AGO] * n
        self._owner_of_all, self._heard_of_all = b"", _LONG_AGO
        self.refusals: dict[bytes, Refusal] = {}

    def admit(self, sender: bytes, columns: Sequence[int] | None = None) -> bool:
        """Return whether a command may be followed; if so, its joints belong to its sender.

        Args:
            sender: GID of the publisher.
            columns: Joints that it commands; None: all.
        """
        if sender == self._owner_of_all and columns is None:
            self._heard_of_all = time.monotonic()
            return True
        self._tell_joints()
        now, process = time.monotonic(), participant(sender)
        if columns is None:
            columns = self._all
        others = [column for column in columns if self._owners[column] and participant(self._owners[column]) != process]
        if others:
            stale = self._stale()
            others = [column for column in others
                      if not stale[column] and now - self._heard[column] < SILENT_AFTER]
        if others:
            refusal = Refusal(sender, self._owners[others[0]], tuple(others))
            if self.refusals.get(process) != refusal:
                self.refusals = {**self.refusals, process: refusal}
            return False
        for column in columns:
            self._owners[column], self._heard[column] = sender, now
        if columns is self._all:
            self._owner_of_all, self._heard_of_all = sender, now
        if process in self.refusals:
            self._lift({process})
        return True

    def release(self, present: set[bytes]) -> None:
        """Free the joints of owners that have left, and lift refusals of free joints and of publishers that have left.

        Args:
            present: GIDs of all publishers of commands.
        """
        self._tell_joints()
        now = time.monotonic()
        self._heard = [heard if owner in present else _LONG_AGO
                       for owner, heard in zip(self._owners, self._heard, strict=True)]
        self._lift({process for process, refusal in self.refusals.items() if refusal.sender not in present
                    or all(now - self._heard[column] >= SILENT_AFTER for column in refusal.columns)})

    def _tell_joints(self) -> None:
        """Note for each joint when the owner of all of them was heard."""
        if self._owner_of_all:
            self._heard = [self._heard_of_all] * len(self._heard)
            self._owner_of_all = b""

    def _lift(self, processes: set[bytes]) -> None:
        if processes:
            self.refusals = {process: refusal for process, refusal in self.refusals.items()
                             if process not in processes}
