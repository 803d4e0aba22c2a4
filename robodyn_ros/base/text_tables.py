# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Tables of text that fit the terminal."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable, Sequence


def terminal_width() -> int | None:
    """Columns of the terminal that shows the output, or of the variable COLUMNS; None if neither is known."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() or os.environ.get("COLUMNS") else None


def aligned(rows: Iterable[Sequence[str]], *widths: int, gap: str = "  ") -> list[str]:
    """Return a table: the first column is as wide as its cells, the others have given widths.

    Args:
        rows: Cells of the headings, and of each further line; a line may end early.
        widths: Widths of the columns after the first one, right-aligned; negative: left-aligned. The last width is that
            of all further columns.
        gap: Text between columns.
    """
    table = list(rows)
    first = max(len(row[0]) for row in table)
    sizes = (-first, *widths, *[widths[-1]] * max(map(len, table)))
    return [gap.join(cell.ljust(-size) if size < 0 else cell.rjust(size)
                     for cell, size in zip(row, sizes, strict=False)) for row in table]


def side_by_side(names: Sequence[str], blocks: Sequence[Sequence[str]]) -> list[str]:
    """Return a table with as many blocks of columns side by side as the terminal is wide; the rest follows below.

    Args:
        names: The first column, with its headings; repeated for each part of the table.
        blocks: Columns that stay together, each with as many lines as `names`.
    """
    room, first = terminal_width(), aligned([[name] for name in names], 0)
    width = len(first[0])
    lines, rows, used = list[str](), first, width
    for number, block in enumerate(blocks):
        added = 2 + max(map(len, block))
        if number and room is not None and used + added > room:
            lines += [*(row.rstrip() for row in rows), ""]
            rows, used = first, width
        rows, used = [f"{row}  {cells:<{added - 2}}" for row, cells in zip(rows, block, strict=True)], used + added
    return lines + [row.rstrip() for row in rows]
