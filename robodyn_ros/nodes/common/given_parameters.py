# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The one reader of ROS parameters from outside: files, and the command line of a process, in order of precedence.

rcl merges all sources into one table with a place for each type, and rclpy then takes the first type that has a value.
So ``-p step:=fast`` had no effect after a file with ``step: 0.001``, and neither had a list after a number. This module
reads the same sources in rcl's order of precedence, with rcl's types. It ignores what rcl refuses.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from robodyn_ros.base.bounded_files import read_yaml, yaml_value
from robodyn_ros.base.errors import InputError

COMMAND_LINE, LAUNCH_ARGUMENTS = "command line", "launch arguments"
LARGEST_FILE = 32 * 2**20
"""Limit of a parameter file [bytes], which may contain a robot's description."""

EVERY_NODE = "/**"

_TRUE = frozenset("Y y yes Yes YES true True TRUE on On ON".split())
_FALSE = frozenset("N n no No NO false False FALSE off Off OFF".split())
_INTEGER = re.compile(r"[+-]?(0[xX][0-9a-fA-F]+|0[0-7]*|[1-9][0-9]*)")
_POINTED = re.compile(r"([+-]?)\.(inf|Inf|INF)|()\.(nan|NaN|NAN)")
_HEXADECIMAL = re.compile(r"[+-]?0[xX].+")
_NEAR_ZERO = 2.2250738585072014e-308  # rcl reads smaller numbers, which lose digits, as text
_STRING_TAG = "tag:yaml.org,2002:str"


class GivenValue(NamedTuple):
    """A value and its source, such as ``command line`` or the path of a file."""

    value: Any
    source: str


@dataclass(frozen=True)
class GivenParameters:
    """Values by node pattern and parameter name; patterns are in the order of their first appearance, as in rcl.

    Attributes:
        values: All values given to a parameter by one pattern; the last one counts.
    """

    values: dict[str, dict[str, list[GivenValue]]] = field(default_factory=dict)

    @classmethod
    def from_arguments(cls, arguments: Iterable[str]) -> GivenParameters:
        """Read the command line of a process, and the parameter files that it names.

        Raises:
            InputError: A file cannot be read.
        """
        given = cls()
        for option, word in ros_options(arguments):
            if option in ("-p", "--param"):
                name, _, text = word.partition(":=")
                node, _, name = name.rpartition(":")
                with suppress(InputError):
                    given._add(node or EVERY_NODE, name, yaml_value(text, name, construct=False), COMMAND_LINE)
            elif option == "--params-file":
                given._add_file(Path(word))
        return given

    @classmethod
    def from_file(cls, path: str | Path) -> GivenParameters:
        """Read one parameter file.

        Raises:
            InputError: It cannot be read.
        """
        given = cls()
        given._add_file(Path(path))
        return given

    def combined(self, patterns: Iterable[str]) -> dict[str, GivenValue]:
        """Return the values of node patterns by parameter name; that of a later pattern counts."""
        return {name: values[-1] for pattern in patterns for name, values in self.values.get(pattern, {}).items()}

    def for_node(self, full_name: str) -> dict[str, GivenValue]:
        """Return the values that count for a node, by parameter name.

        Args:
            full_name: Namespace and name of the node.
        """
        return self.combined(pattern for pattern in self.values if matches(pattern, full_name))

    def outranked(self, full_name: str) -> dict[str, GivenValue]:
        """Return values of the command line that a file overrides, because it names the node."""
        counting = self.for_node(full_name)
        return {name: values[-1] for pattern, names in self.values.items() if matches(pattern, full_name)
                for name, values in names.items()
                if values[-1].source == COMMAND_LINE and counting[name].source != COMMAND_LINE}

    def without_node(self, full_names: Sequence[str]) -> list[str]:
        """Return ``NODE:NAME`` of each value on the command line for a node that is not among these."""
        return [f"{pattern.lstrip('/')}:{name}" for pattern, names in self.values.items()
                if not any(matches(pattern, full_name) for full_name in full_names)
                for name, values in names.items() if values[-1].source == COMMAND_LINE]

    def file_patterns(self) -> dict[str, str]:
        """Return the file of each node pattern in parameter files."""
        return {pattern: source for pattern, names in self.values.items()
                for values in names.values() for _, source in values if source != COMMAND_LINE}

    def _add_file(self, path: Path) -> None:
        source = LAUNCH_ARGUMENTS if path.name.startswith("launch_params_") else str(path)
        for pattern, name, node in _file_parameters(read_yaml(path, construct=False, largest=LARGEST_FILE)):
            self._add(pattern, name, node, source)

    def _add(self, pattern: str, name: str, node: yaml.Node | None, source: str) -> None:
        names = self.values.setdefault(f"/{pattern.lstrip('/')}", {})
        names.setdefault(name, []).append(GivenValue(_typed(node), source))


GIVEN: ContextVar[GivenParameters] = ContextVar("given parameters", default=GivenParameters())  # noqa: B039
"""The values given to this process; `runtime.run_nodes` sets them before it makes nodes."""


def ros_options(arguments: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield each word between ``--ros-args`` and ``--`` with the word after it."""
    words = list(arguments)
    inside = False
    for option, word in zip(words, [*words[1:], ""], strict=False):
        if option in ("--ros-args", "--"):
            inside = option == "--ros-args"
        elif inside:
            yield option, word


def namespace_rule(arguments: Iterable[str]) -> str:
    """Return the namespace from a remapping rule ``__ns:=`` for all nodes; empty: there is none.

    Raises:
        InputError: Two rules rename the same thing differently; rcl would ignore the second one.
    """
    rules: dict[str, str] = {}
    for option, word in ros_options(arguments):
        left, separator, right = word.partition(":=")
        if option in ("-r", "--remap") and separator and rules.setdefault(left, right) != right:
            raise InputError(f"remapping rule '{left}': expected one, received '{rules[left]}' and '{right}'")
    return rules.get("__ns", "")


def matches(pattern: str, full_name: str) -> bool:
    """Whether a node pattern, in which ``*`` is one part and ``**`` any number of parts, fits the name of a node."""
    parts = re.escape(pattern).replace(r"/\*\*", r"(/\w+)*").replace(r"/\*", r"/\w+")
    return re.fullmatch(parts, full_name) is not None


def _typed(node: yaml.Node | None) -> Any:
    """Return the value of a YAML node as rcl reads it: bool, int, float, text, or a list of them."""
    if isinstance(node, yaml.SequenceNode):
        return [_typed(element) for element in node.value]
    if node is None:
        return ""
    text = str(node.value)
    if node.style in ("'", '"') or node.tag == _STRING_TAG:
        return text
    if text in _TRUE or text in _FALSE:
        return text in _TRUE
    if whole := _INTEGER.fullmatch(text):
        digits = whole[1].lower()
        value = int(text, 16 if digits.startswith("0x") else 8 if digits.startswith("0") else 10)
        if -(2**63) <= value < 2**63:
            return value
    return _as_float(text)


def _as_float(text: str) -> float | str:
    """Return the text as a float; the text itself if it is no number or out of range."""
    if text[-1:].isspace():
        return text
    if pointed := _POINTED.fullmatch(text):
        text = "".join(filter(None, pointed.groups()))
    try:
        value = float.fromhex(text) if _HEXADECIMAL.fullmatch(text) else float(text.replace("_", "?"))
    except (ValueError, OverflowError):
        return text
    in_range = value == 0.0 or _NEAR_ZERO <= abs(value) < math.inf
    return value if in_range or "n" in text.lower() else text  # the n of inf and nan


def _file_parameters(node: yaml.Node | None, path: tuple[str, ...] = ()) -> Iterator[tuple[str, str, yaml.Node]]:
    """Return node pattern, parameter name and value of each parameter of a file."""
    for key, value in _pairs(node):
        if key == "ros__parameters":
            yield from (("/".join(path), name, leaf) for name, leaf in _leaves(value))
        else:
            yield from _file_parameters(value, (*path, key.strip("/") if path else key))


def _leaves(node: yaml.Node, front: str = "") -> Iterator[tuple[str, yaml.Node]]:
    for key, value in _pairs(node):
        if isinstance(value, yaml.MappingNode):
            yield from _leaves(value, f"{front}{key}.")
        else:
            yield f"{front}{key}", value


def _pairs(node: yaml.Node | None) -> Iterator[tuple[str, yaml.Node]]:
    if isinstance(node, yaml.MappingNode):
        yield from ((str(key.value), value) for key, value in node.value)
