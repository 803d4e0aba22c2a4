# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Parts of the actuators: numbers of the joints that belong together, each declared once, with their formulas.

A part is a frozen dataclass of arrays of shape (n,). Its fields are declared by `joint_value`, which says everything
about a number that people give: the key of YAML files and its default there, unit, range and meaning, and the name by
which studies vary it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.base.checks import constants
from robodyn_ros.base.fields import MAX_MAGNITUDE, Field, Range, declare_as, declared
from robodyn_ros.compile import clip
from robodyn_ros.description.model import Array


@dataclass(frozen=True)
class JointValue(Field):
    """Declaration of a number that every joint has.

    Attributes:
        quantity: Name by which studies vary it; empty: they do not.
        only: Attribute of `JointActuators` that selects the joints on which it has an effect.
    """

    quantity: str = ""
    only: str = "is_motor"


_OWN = object()


def joint_value(default: float | bool, *, description: str, yaml: Any = _OWN, **options: Any) -> Any:
    """Declare a field of a part.

    Args:
        default: Value of a joint without this effect.
        description: See `Field`.
        yaml: Default in YAML files; omitted: ``default``; `dataclasses.MISSING`: it must be given.
        **options: Other attributes of `JointValue`.
    """
    return declare_as(JointValue("", default if yaml is _OWN else yaml, description, **options), default)


def ranges_of(kind: type) -> dict[str, Range]:
    """Return the numbers that the fields of a part may have, by name: those declared, and the default."""
    found = {}
    for name, own in declared(kind).items():
        default = getattr(kind, name)
        unlimited = default == math.inf
        found[name] = Range(own.minimum if own.minimum > -MAX_MAGNITUDE else -math.inf,
                            own.maximum if own.maximum < MAX_MAGNITUDE and not unlimited else math.inf,
                            above=own.above and default != own.minimum, or_infinite=unlimited)
    return found


def within(value: NDArray[Any], limit: Array) -> NDArray[Any]:
    """Limit the magnitudes of values, shape (n,); infinite limits add no operations."""
    finite = is_limit(limit)
    bound = np.where(finite, limit, 0.0)
    return np.where(finite, clip(value, -bound, bound), value)


def is_limit(limit: NDArray[Any]) -> NDArray[np.bool_]:
    """Whether a limit is finite; a traced one may be, for some samples."""
    return np.isfinite(constants(limit, traced=0.0))
