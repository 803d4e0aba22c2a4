# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Next modes in pivoting: of friction, stops and motors in `joint_constraints`, of bristles in `presliding`.

After `BLOCK_STEPS` only the first mode that does not fit changes, which cannot cycle [CottlePangStone].
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.compile import equal, less, where

BLOCK_STEPS = 10
"""Pivot steps in which all joints move at once."""


def max_pivot_steps(n: int) -> int:
    """Return a bound of the pivot steps for n joints and coupled motors; only rounding errors could reach it."""
    return BLOCK_STEPS + 60 * n


class ModeChange(NamedTuple):
    """The next choice of modes."""

    choice: NDArray[Any]  # the modes, shape (k,)
    moved: Any  # 1 if any mode changed, else 0


def changed_modes(before: NDArray[Any], after: NDArray[Any], number: Any, moved: Any = 0.0) -> ModeChange:
    """Apply all changes of modes in the first pivot steps, later only the first change; report whether there is any.

    Args:
        before: Modes, shape (k,).
        after: Modes that fit the solution, shape (k,).
        number: Number of pivot steps before this one.
        moved: 1 if modes that come earlier in the order change, else 0.
    """
    count = float(len(before))
    places = where(equal(before, after), count, np.arange(count))
    first = _least(list(places))
    chosen = less(number, BLOCK_STEPS) + (1.0 - moved) * equal(np.arange(count), first)
    return ModeChange(where(chosen, after, before), where(less(first, count), 1.0, moved))


def _least(values: list[Any]) -> Any:
    """Minimum of numbers, pairwise: a chain of comparisons would wait for each result."""
    while len(values) > 1:
        pairs = [where(less(a, b), a, b) for a, b in zip(values[::2], values[1::2], strict=False)]
        values = pairs + values[2 * len(pairs):]
    return values[0]
