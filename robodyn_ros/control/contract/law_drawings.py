# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Drawings of a controller: paths, arrows and frames in the base frame, for displays.

A controller declares them in a named tuple, its class `Drawing`, and fills it in `draw`:

    class Shown(NamedTuple):
        plan: Array = declare_drawing(DrawnShape.PATH, "Where the tip will be")

    class Planner(Controller):
        Drawing = Shown

        def draw(self, state):
            return Shown(plan=self._points)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np

from robodyn_ros.base.checks import Range, as_floats
from robodyn_ros.base.errors import InputError, list_names, shown
from robodyn_ros.description.model import Array

MAX_ITEMS = 1000
"""Limit of points, arrows or frames in one drawing."""

COORDINATES = Range(-1e4, 1e4, "m")


class DrawnShape(Enum):
    """Kind of a drawing's field; the value is the shape of one item.

    Attributes:
        PATH: A line through k points, shape (k, 3) [m].
        ARROWS: k arrows, each from its first point to its second, shape (k, 2, 3) [m].
        FRAMES: k poses, shape (k, 4, 4) [m].
    """

    PATH = (3,)
    ARROWS = (2, 3)
    FRAMES = (4, 4)


@dataclass(frozen=True)
class Drawn:
    """Declaration of a field of a drawing: see `declare_drawing`."""

    shape: DrawnShape
    description: str
    color: tuple[float, float, float]


def declare_drawing(shape: DrawnShape, description: str = "",
                    color: tuple[float, float, float] = (0.3, 0.0, 0.8)) -> Any:
    """Declare a field of a drawing; used as the default of a named tuple's field.

    Args:
        shape: Kind of its items.
        description: What it shows.
        color: Red, green and blue, each from 0 to 1; frames have colors of their own. The default is
            violet, since the path of the tip in the view is orange.

    Raises:
        InputError: An argument does not fit.
    """
    if not isinstance(shape, DrawnShape):
        raise InputError(f"drawing: expected one of {list_names(map(str, DrawnShape))}, received {shown(shape)}")
    try:
        fits = len(color) == 3 and all(0.0 <= float(part) <= 1.0 for part in color)
    except (TypeError, ValueError):
        fits = False
    if not fits:
        raise InputError(f"drawing: expected a color of red, green and blue from 0 to 1, received {shown(color)}")
    return Drawn(shape, str(description), (float(color[0]), float(color[1]), float(color[2])))


def drawn_fields(record: Any) -> Mapping[str, Drawn]:
    """Return the declarations of a class of drawings by name; empty for None.

    Raises:
        InputError: It is not a named tuple class whose fields are all declared.
    """
    if record is None:
        return {}
    names, declared = getattr(record, "_fields", None), getattr(record, "_field_defaults", {})
    if not isinstance(record, type) or not names:
        raise InputError(f"Drawing: expected a class of named tuples, received {record!r}")
    for name in names:
        if not isinstance(declared.get(name), Drawn):
            raise InputError(f"Drawing: {record.__name__}.{name}: expected '{name}: Array = declare_drawing(...)', "
                             f"received {declared.get(name)!r}")
    return dict(declared)


def checked_drawing(record: Any, drawing: Any) -> dict[str, Array]:
    """Return the arrays of a drawing by name; fields that were not filled are empty.

    Args:
        record: The class of drawings.
        drawing: An instance of it.

    Raises:
        InputError: It is of another class, or an array has another shape, too many items, or a number that is not
            finite or beyond 10 km.
    """
    if not isinstance(drawing, record):
        raise InputError(f"drawing: expected an instance of {record.__name__}, received {type(drawing).__name__}")
    found = {}
    for name, declared in drawn_fields(record).items():
        value, item = getattr(drawing, name), declared.shape.value
        array = np.zeros((0, *item)) if value is declared else as_floats(value, (None, *item), f"drawing: {name}")
        if len(array) > MAX_ITEMS or not COORDINATES.holds(array).all():
            raise InputError(f"drawing: {name}: expected at most {MAX_ITEMS} items with coordinates {COORDINATES}, "
                             f"received {len(array)}, up to {np.abs(array).max(initial=0.0):g}")
        found[name] = array
    return found
