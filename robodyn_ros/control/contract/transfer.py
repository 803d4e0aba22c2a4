# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Bumpless transfer: a new law, or a law with new gains, begins with the efforts commanded before.

The new law finds errors that the law before left, and would react to them at once. Therefore a law of joints gets a
reference that begins at the present positions q(0), and joins its reference q_r; the difference of the efforts that is
left decays likewise:

    q_r(t) + s(t / T) (q(0) - q_r(0)),    s(x) = (1 - x)^3 (1 + 3 x + 6 x^2)
    tau(t) = sat(tau_new(t)) + s(t / T) d,    d = tau(0-) - sat(tau_new(0))

sat cuts efforts to the limits of the joints. s is the quintic from 1 to 0 whose first and second derivatives are 0 at
both ends: neither the efforts, nor their slope, nor the acceleration of the reference has a jump beside that of the
laws.

The closed loop of the new law gets a disturbance of its input that is at most |d|, at most twice the limits, and 0
after T. If the new law by itself is stable, the swap cannot make it unstable. An offset that stayed would move a joint
by d / K_p; one that decays moves it by less.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from robodyn_ros.control.contract.state import JointReference
from robodyn_ros.description.model import Array


class Transfer(NamedTuple):
    """A transfer of efforts, or none; of numbers or traced scalars.

    Attributes:
        offset: d, shape (n,) [N m or N]; before the first tick tau(0-).
        elapsed: t, shape (1,) [s]; negative before the first tick.
        duration: T, shape (1,) [s]; 0: there is no transfer.
    """

    offset: Array
    elapsed: Array
    duration: Array


def decay(share: Any) -> tuple[Any, Any, Any]:
    """Return s, s' and s'' at a share of the transfer, from 0 to 1."""
    left = 1.0 - share
    return (left**3 * (1.0 + 3.0 * share + 6.0 * share**2), -30.0 * (share * left) ** 2,
            -60.0 * share * left * (1.0 - 2.0 * share))


def no_transfer(n: int) -> Transfer:
    """Return the transfer of a law that goes on, for n joints."""
    return Transfer(np.zeros(n), np.zeros(1), np.zeros(1))


def transfer_from(before: Array, duration: float) -> Transfer:
    """Return a transfer that begins at the next tick.

    Args:
        before: Efforts commanded at the tick before, shape (n,) [N m or N].
        duration: Of the transfer [s]; 0: none.
    """
    return Transfer(before, np.array([-1.0]), np.array([duration])) if duration else no_transfer(len(before))


def adds_transfer(memory: Any) -> bool:
    """Whether a law with this memory adds the offset itself, before its limits: its last field is the transfer."""
    return isinstance(getattr(memory, "transfer", None), Transfer)


def joined_reference(transfer: Transfer, lead: Array, reference: JointReference, q: Array, period: Any
                     ) -> tuple[JointReference, Array]:
    """Return what a law follows at a tick in a transfer, before `transferred`.

    Args:
        transfer: The transfer.
        lead: q(0) - q_r(0), shape (n,) [rad or m]; before the first tick anything.
        reference: q_r with its derivatives.
        q: Positions that the law sees, shape (n,) [rad or m].
        period: Time since the tick before [s].

    Returns:
        The reference of the law, and the lead.
    """
    begins, _, _, share = _progress(transfer, period)
    lead = np.where(begins, q - reference.q, lead)
    duration = np.where(transfer.duration > 0.0, transfer.duration, 1.0)
    place, slope, curvature = decay(share)
    return JointReference(reference.q + place * lead, reference.v + slope / duration * lead,
                          reference.a + curvature / duration**2 * lead), lead


def transferred(transfer: Transfer, effort: Array, limit: Array, period: Any) -> tuple[Array, Transfer]:
    """Return the efforts of a tick, and the transfer after it; without a transfer, the law's efforts as they are.

    Args:
        transfer: The transfer.
        effort: Of the law, shape (n,) [N m or N].
        limit: Effort limits of the joints, shape (n,) [N m or N].
        period: Time since the tick before [s].

    Returns:
        Efforts, shape (n,) [N m or N], which may exceed the limits; and the transfer, which is none after the end.
    """
    within = np.minimum(np.maximum(effort, -limit), limit)  # costs less than np.clip
    offset, after = decayed(transfer, within, period)
    return np.where(after.duration > 0.0, within + offset, effort), after


def decayed(transfer: Transfer, begin: Array, period: Any) -> tuple[Array, Transfer]:
    """Return what is left of an offset at a tick, and the transfer after the tick.

    Args:
        transfer: The transfer.
        begin: At the first tick, what its offset counts from, shape (n,); later anything.
        period: Time since the tick before [s].
    """
    begins, elapsed, is_over, share = _progress(transfer, period)
    offset = np.where(begins, transfer.offset - begin, transfer.offset)
    return decay(share)[0] * offset, Transfer(*(np.where(is_over, 0.0, each)
                                                for each in (offset, elapsed, transfer.duration)))


def _progress(transfer: Transfer, period: Any) -> tuple[Any, Any, Any, Any]:
    """Return whether a transfer begins at this tick, t, whether it is over, and t / T (at most 1); of shape (1,)."""
    begins = transfer.elapsed < 0.0
    elapsed = np.where(begins, 0.0, transfer.elapsed + period)
    is_over = elapsed >= transfer.duration - 0.5 * period
    return begins, elapsed, is_over, np.where(is_over, 1.0, elapsed / np.where(is_over, 1.0, transfer.duration))
