# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Sections of the report: a title, a text, and a table that is printed row by row."""

from __future__ import annotations

import os
import platform
import textwrap
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bench.timing import Comparison

DOCS = Path(__file__).resolve().parents[1] / "docs"


@dataclass(frozen=True)
class Section:
    """A benchmark, as ``python -m bench`` runs and writes it.

    Attributes:
        title: Heading.
        text: The comparison and its conditions.
        head: Heads of the table's columns.
        rows: Runs the benchmark and yields the table row by row.
        image: File below docs/ that the rows draw; empty for none.
        limits: Returns a text on the limits of the times, printed after the rows.
    """

    title: str
    text: str
    head: Sequence[str]
    rows: Callable[[], Iterable[Sequence[str]]]
    image: str = ""
    limits: Callable[[], str] = str

    def run(self, name: str) -> str:
        """Run the benchmark, print its rows one by one, and return the section in Markdown."""
        print(f"\n{name}: {self.title}", flush=True)
        lines = [line(self.head), line(["---"] * len(self.head))]
        print(lines[0])
        for row in self.rows():
            lines.append(line(row))
            print(lines[-1], flush=True)
        image = f"\n\n![{self.title}]({self.image})" if self.image else ""
        texts = [f"`python -m bench {name}`. {self.text}", self.limits()]
        notes = [textwrap.fill(text, 120, break_on_hyphens=False) for text in texts if text]
        return "\n\n".join([f"## {self.title}", notes[0], "\n".join(lines) + image, *notes[1:]])


def line(cells: Iterable[str]) -> str:
    """Return a line of a table in Markdown."""
    return f"| {' | '.join(cells)} |"


RATIO_HEAD = ("ratio", "quartiles", "aim", "")


def ratio_cells(result: Comparison, aim: float, least: bool = False) -> list[str]:
    """Return the cells under ``RATIO_HEAD``: the ratio, its quartiles, the aim, and whether it is met.

    Args:
        result: The times.
        aim: The largest ratio aimed at.
        least: Whether the aim is the smallest ratio instead.
    """
    low, high = result.spread
    met = result.ratio >= aim if least else result.ratio <= aim
    goal = f"1/{1.0 / aim:.0f}" if aim < 0.2001 else f"{aim:g}"
    return [f"{result.ratio:.3g}", f"{low:.3g} to {high:.3g}", goal, "met" if met else "**missed**"]


def time_cells(result: Comparison, unit: float, digits: int) -> list[str]:
    """Return two cells: our median and the peer's, in units of 1 / ``unit`` seconds."""
    return [f"{np.median(times) * unit:.{digits}f}" for times in (result.ours, result.peer)]


def machine() -> str:
    """Describe processor, cores, load and Python of this machine in one line."""
    names = [each.split(":")[1].strip() for each in Path("/proc/cpuinfo").read_text().splitlines()
             if each.startswith("model name")]
    return (f"{names[0] if names else platform.processor()}, {os.cpu_count()} cores, {platform.system()} "
            f"{platform.release().split('-')[0]}, Python {platform.python_version()}, "
            f"load average at the start {os.getloadavg()[0]:.1f}")
