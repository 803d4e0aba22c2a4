# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Requests for control periods of a paused simulation, and how they end."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from robodyn_ros.base.checks import Range
from robodyn_ros.base.errors import InputError

PERIODS = Range(1, 100_000, "control periods")
"""Periods of one request: at most 200 s at 500 Hz."""


class _Request(NamedTuple):
    """A request that is under way."""

    periods: int
    end: int
    on_end: Callable[[str], None]


class StepRequests:
    """The requests that are under way. All of it belongs to the control path's thread."""

    def __init__(self) -> None:
        self._requests: list[_Request] = []

    def __bool__(self) -> bool:
        """Return whether a request is under way."""
        return bool(self._requests)

    def add(self, periods: int, end: int, on_end: Callable[[str], None]) -> None:
        """Add a request.

        Args:
            periods: Number of periods.
            end: Count of periods at which they are done.
            on_end: Called once, with why they were not all done; empty: they are done.
        """
        self._requests.append(_Request(periods, end, on_end))

    def advance(self, done: int) -> None:
        """End the requests that are done at a count of periods."""
        finished = [request for request in self._requests if request.end <= done]
        self._requests = [request for request in self._requests if request.end > done]
        for request in finished:
            request.on_end("")

    def interrupt(self, done: int, reason: str) -> None:
        """End all requests at a count of periods, for a reason."""
        requests, self._requests = self._requests, []
        for request in requests:
            request.on_end(f"step: {request.periods - (request.end - done)} of {request.periods} control periods done, "
                           f"then {reason}")


def check_periods(periods: int) -> None:
    """Check the number of periods of a request.

    Raises:
        InputError: It is out of range.
    """
    if not PERIODS.minimum <= periods <= PERIODS.maximum:
        raise InputError(f"step: expected at least 1 control period and at most {PERIODS.maximum}, received {periods}")
