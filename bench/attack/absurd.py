# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Absurd messages and bytes: every field of any type gets a value that no sensible sender gives."""

from __future__ import annotations

import importlib
import random
import re
from contextlib import suppress
from typing import Any

from rclpy.serialization import serialize_message

_FLOATS = (0.0, -1.0, 1.0, 1e300, -1e300, 1e308, 1e-308, float("nan"), float("inf"), float("-inf"))
_TEXTS = ("", "joint1", "joint2", "base_link", "a" * 5000, "\x1b[2J\n\r", "/", "~", "\u202e")


def fill(message: Any, chance: random.Random, depth: int = 0) -> Any:
    """Give the fields of a message absurd values, half of them; return the message."""
    for name, kind in message.get_fields_and_field_types().items():
        if chance.random() < 0.5:
            with suppress(AssertionError, OverflowError, ValueError, TypeError, AttributeError):
                setattr(message, name, _value(kind, getattr(message, name), chance, depth))
    return message


def _value(kind: str, present: Any, chance: random.Random, depth: int) -> Any:
    sequence = re.fullmatch(r"sequence<([^,>]+)(?:, *\d+)?>", kind)
    if sequence:
        count = chance.choice((0, 1, 2, 3, 7, 300)) if depth < 2 else chance.choice((0, 1, 2))
        return [_value(sequence[1], None, chance, depth + 1) for _ in range(count)]
    if kind.endswith("]"):
        element, _, length = kind[:-1].partition("[")
        return [_value(element, None, chance, depth + 1) for _ in range(int(length))]
    if kind in ("double", "float"):
        return chance.choice(_FLOATS) if chance.random() < 0.7 else chance.gauss(0.0, 1.0)
    if kind.startswith(("string", "wstring")):
        return chance.choice(_TEXTS)
    if kind == "boolean":
        return chance.random() < 0.5
    if "/" in kind:
        package, _, name = kind.partition("/")
        made = present if present is not None else getattr(importlib.import_module(f"{package}.msg"), name)()
        return fill(made, chance, depth + 1)
    signed, bits = kind.startswith("int"), int(re.sub(r"\D", "", kind) or 8)  # octet, char and byte have none
    lowest, highest = (-2**(bits - 1), 2**(bits - 1) - 1) if signed else (0, 2**bits - 1)
    return chance.choice((lowest, highest, 0, 1))


class _Largest(random.Random):
    """Chooses the longest text and sequence, and gives every field a value."""

    def random(self) -> float:
        return 0.0

    def choice(self, options: Any) -> Any:
        return max(options, key=lambda option: len(option) if isinstance(option, str) else option)


def largest(message_type: type[Any]) -> Any:
    """Return a message as large as any of the absurd ones."""
    return fill(message_type(), _Largest())


def bytes_of(message_type: type[Any], chance: random.Random) -> bytes:
    """Return a serialized message that is absurd, cut off, changed or random."""
    data = bytes(serialize_message(fill(message_type(), chance)))
    way = chance.randrange(4)
    if way == 0:
        return data
    if way == 1:
        return data[:chance.randrange(len(data) + 1)]
    if way == 2:
        changed = bytearray(data)
        for _ in range(chance.randint(1, 8)):
            changed[chance.randrange(len(changed))] = chance.randrange(256)
        return bytes(changed)
    return b"\x00\x01\x00\x00" + chance.randbytes(chance.randrange(400))
