# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Parses numbers with units as people type them: ``elbow=0.5``, ``elbow=30deg``, ``slide=120mm``."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

from robodyn_ros.base.errors import InputError, unknown

ANGLES = {"rad": 1.0, "deg": math.pi / 180.0}
LENGTHS = {"m": 1.0, "cm": 0.01, "mm": 0.001}
_NUMBER = re.compile(r"([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*([a-zA-Z/][a-zA-Z/0-9]*|)\s*", re.ASCII)


def parse_quantity(text: str, units: Mapping[str, float], name: str) -> float:
    """Return a number in SI units.

    Args:
        text: A number, with a unit if not in SI units.
        units: Factor of each unit to the SI unit.
        name: Name of the number, for messages.

    Raises:
        InputError: The text is not a finite number, or its unit is unknown.
    """
    match = _NUMBER.fullmatch(text)
    if match is None or not math.isfinite(number := float(match[1])):
        raise InputError(f"{name}: expected a number, alone or with a unit ({', '.join(units)}), received '{text}'")
    if match[2] and match[2] not in units:
        raise InputError(f"{name}: expected a unit among {', '.join(units)}, received '{match[2]}' in '{text}'")
    return number * units.get(match[2], 1.0)


def parse_joint_values(words: Sequence[str], kinds: Mapping[str, str], per: str = "") -> dict[str, float]:
    """Return values of joints by name, in rad or m, or those per second or per second squared.

    Args:
        words: ``joint=value`` each, some or all joints; or one bare value for each joint, in the robot's order.
        kinds: The robot's joints in order, each ``revolute`` or ``prismatic``.
        per: Suffix of the units: ``/s`` for velocities, ``/s2`` for accelerations.

    Raises:
        InputError: A name is unknown or repeated, a value is not a number, a unit does not fit the kind of the joint,
            or the number of bare values differs from the joints.
    """
    if not any("=" in word for word in words):
        if len(words) != len(kinds):
            raise InputError(f"expected one value for each of the {len(kinds)} joints ({', '.join(kinds)}), or "
                             f"joint=value for some, received {len(words)} values")
        words = [f"{name}={word}" for name, word in zip(kinds, words, strict=True)]
    values: dict[str, float] = {}
    for word in words:
        name, equals, text = word.partition("=")
        if not equals:
            raise InputError(f"expected joint=value, received '{word}' beside such pairs")
        if name not in kinds:
            raise InputError(unknown("joint", name, kinds))
        if name in values:
            raise InputError(f"joint '{name}' has two values")
        units = LENGTHS if kinds[name] == "prismatic" else ANGLES
        units = {f"{unit}{per}": factor for unit, factor in units.items()}
        values[name] = parse_quantity(text, units, f"joint '{name}'")
    return values
