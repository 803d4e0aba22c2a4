# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Messages about a robot description: place, problem and remedy. Errors are raised at once, warnings at the end."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping
from pathlib import Path
from shlex import quote
from types import FrameType

from lxml import etree

from robodyn_ros.base.errors import DescriptionError, DescriptionWarning, shown
from robodyn_ros.description.robot_sources import TEXT

MAX_WARNINGS = 100
_PACKAGE = str(Path(__file__).parents[1])
_MJCF = (".xml", ".mjcf")
_URDF_WORDS: Mapping[str, str] = {}
_MJCF_WORDS: Mapping[str, str] = {"robot": "mujoco", "link": "body", "limit": "joint"}


class Report:
    """Writes and collects the messages about one description.

    Args:
        source: Name of the description in messages: the path of its file, or `TEXT`. A URDF generated from another file
            is named after that file, see `robot_sources.source_of`.
        is_made: Whether the URDF was generated, so that its line numbers are not those of the source.

    Attributes:
        source: As given.
        warnings: The warnings so far.
    """

    def __init__(self, source: str, is_made: bool = False) -> None:
        self.source, self._is_made = source, is_made
        self._words = _MJCF_WORDS if is_made and source.endswith(_MJCF) else _URDF_WORDS
        self.warnings: list[str] = []
        self._left_out = 0

    @property
    def file(self) -> str:
        """Path of the description's file; empty if there is none."""
        return "" if self.source == TEXT else self.source

    @property
    def repair(self) -> str:
        """The command that repairs impossible inertias."""
        return f"robodyn complete {quote(self.file) if self.file else 'FILE'} --repair"

    def error(self, where: etree._Element | None, problem: str, remedy: str) -> DescriptionError:
        """Make an exception whose message names the file, the line and the element.

        Args:
            where: The wrong element; None for the whole file.
            problem: The received value, and the expected one.
            remedy: How to correct it.

        Returns:
            The exception; the caller raises it.
        """
        return DescriptionError(self._message(where, problem, remedy))

    def warn(self, where: etree._Element | None, problem: str, remedy: str) -> None:
        """Note a physically implausible value that can be computed; arguments as for ``error``.

        After `MAX_WARNINGS` messages, further ones are only counted.
        """
        self._left_out += len(self.warnings) >= MAX_WARNINGS
        if not self._left_out:
            self.warnings.append(self._message(where, problem, remedy))

    def close(self, *, strict: bool) -> None:
        """Issue the warnings, attributed to the line outside this package that called it.

        Args:
            strict: Whether to raise all warnings as one error instead.

        Raises:
            DescriptionError: There are warnings, and ``strict`` is set.
        """
        if self._left_out:
            self.warnings.append(f"{self.source}: {self._left_out} further warnings; correct the first ones")
        if strict and self.warnings:
            raise DescriptionError("\n".join([*self.warnings, "(an error because strict=True)"]))
        for number, message in enumerate(self.warnings):
            warning = DescriptionWarning(message, self.file, number, len(self.warnings))
            warnings.warn(warning, stacklevel=_depth_in_package() + 1)

    def _message(self, where: etree._Element | None, problem: str, remedy: str) -> str:
        place = self.source
        if where is not None:
            line = "" if self._is_made else f"line {where.sourceline}, "
            place = f"{place}, {line}{label(where, self._words)}"
        return f"{place}: {problem}; {remedy}"


def tag_of(element: etree._Element) -> str:
    """Return the tag of an element as in its file, with the prefix of its namespace."""
    tag: str = element.tag.rpartition("}")[2]  # an undeclared prefix is part of the tag
    return tag if element.prefix is None else f"{element.prefix}:{tag}"


def label(element: etree._Element, words: Mapping[str, str] = _URDF_WORDS) -> str:
    """Return the text for an element in messages: its tag and name, and the named element around it.

    Args:
        element: The element.
        words: Tags of the source that replace those of a URDF.
    """
    name, tag = element.get("name"), tag_of(element)
    tag = words.get(tag, tag)
    own = f"<{tag} name={shown(name)}>" if name is not None else f"<{tag}>"
    parent = element.getparent()
    if name is None and parent is not None and parent.tag != "robot":
        return f"{own} in {label(parent, words)}"
    return own


def _depth_in_package() -> int:
    """Count the stack frames of this package up to the caller outside it."""
    depth = 0
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        depth, frame = depth + 1, frame.f_back
    return depth
