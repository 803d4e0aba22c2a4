# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Plain text on the page: markup in names and messages of the graph is escaped."""

from __future__ import annotations

import html

COLORS = ("#1f77b4", "#e4801a", "#2a9d4a", "#d03a3a", "#8a5fc0", "#8c564b", "#d45fb0", "#6f6f6f", "#a5a61d", "#12a4b6")
"""Colours of joints in the robot's order; they repeat for more joints than colours."""


def plain(text: str, color: str = "inherit", bold: bool = False) -> str:
    """Return an HTML paragraph with literal text."""
    weight = "600" if bold else "400"
    return (f'<div style="font-size:0.85em;color:{color};font-weight:{weight};padding:0.1em 0.9em;'
            f'overflow-wrap:anywhere">{html.escape(text)}</div>')


def color_key(names: tuple[str, ...]) -> str:
    """Return an HTML paragraph with the colour of each joint."""
    entries = "".join(
        f'<span style="white-space:nowrap;margin-right:0.8em"><span style="color:{color_of(index)}">&#9632;</span> '
        f"{html.escape(name)}</span> " for index, name in enumerate(names))
    return f'<div style="font-size:0.75em;padding:0.2em 0.9em;line-height:1.5">{entries}</div>'


def color_of(index: int) -> str:
    """Colour of a joint."""
    return COLORS[index % len(COLORS)]
