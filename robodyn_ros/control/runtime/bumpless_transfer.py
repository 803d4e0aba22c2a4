# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Lets a law that comes in force begin with the efforts commanded before, see `control.contract.transfer`."""

from __future__ import annotations

from typing import Any

import numpy as np

from robodyn_ros.base.fields import Field
from robodyn_ros.control.contract.controller import Controller, JointReference, Law, State
from robodyn_ros.control.contract.transfer import (
    adds_transfer,
    joined_reference,
    no_transfer,
    transfer_from,
    transferred,
)
from robodyn_ros.description.model import Array

SWAP_TIME = Field(
    "swap_time", 0.5, "Time in which the efforts go from those of the law before to those of a law that is swapped in, "
    "released or given other gains, and its reference from the present positions to the motion; 0: at once", unit="s",
    minimum=0.0, maximum=10.0)
"""What people set of the transfer."""


class BumplessTransfer:
    """Adds to a law's reference and efforts offsets that decay; it belongs to the thread of the control loop.

    A law with limits in its program or behind it adds the offset itself, before these, so that the sum keeps them.

    Args:
        effort_limit: Effort limits of the joints, shape (n,) [N m or N].

    Attributes:
        duration: Time in which the next transfers take place [s]; 0: at once.
        under_way: Whether `reference` and `effort` are to be called at the next tick.
    """

    def __init__(self, effort_limit: Array) -> None:
        self.duration = SWAP_TIME.default
        self.under_way = False
        self._limit, self._transfer = effort_limit, no_transfer(len(effort_limit))
        self._limited: Law[Any, Any, Any] | None = None
        self._lead = np.zeros(len(effort_limit))  # of the positions before the reference, at the first tick

    def begin(self, controller: Controller, before: Array) -> None:
        """Begin a transfer at the next tick, because another law or other gains come in force.

        Args:
            controller: The law, activated.
            before: Efforts commanded at the last tick, shape (n,) [N m or N].
        """
        self._transfer = transfer_from(before, self.duration)
        self.under_way = self.duration > 0.0
        self._limited = None
        if isinstance(controller, Law) and adds_transfer(controller.memory):
            self._limited = controller
            self._give_to_law()

    def end(self) -> None:
        """End the transfer at once: the law in force alone answers the next state."""
        if self.under_way:
            self.under_way, self._transfer = False, no_transfer(len(self._limit))
            self._give_to_law()

    def reference(self, reference: Any, state: State) -> Any:
        """Return what the law follows at a tick; only references of joints are changed.

        Args:
            reference: The reference without the transfer.
            state: What the law sees.
        """
        if not isinstance(reference, JointReference):
            return reference
        joined, self._lead = joined_reference(self._transfer, self._lead, reference, state.q, state.period)
        return joined

    def effort(self, asked: Array, period: float) -> Array:
        """Return the efforts of a tick in the transfer, shape (n,) [N m or N]; they may exceed the limits.

        Args:
            asked: Those of the law, shape (n,) [N m or N].
            period: Time since the tick before [s].
        """
        effort, self._transfer = transferred(self._transfer, asked, self._limit, period)
        self.under_way = bool(self._transfer.duration[0] > 0.0)
        return effort if self._limited is None else asked

    def _give_to_law(self) -> None:
        if self._limited is not None:
            self._limited.memory = self._limited.memory._replace(transfer=self._transfer)
