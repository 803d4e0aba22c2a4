# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Errors in plugins: which exceptions count as a plugin's, and messages that name the plugin's own line."""

from __future__ import annotations

import linecache
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

from robodyn_ros.errors import RobodynError

FAULTS = (Exception, SystemExit)
"""Exceptions that the code of a plugin can raise; a script without a main guard raises SystemExit."""

_LIBRARY = Path(__file__).parents[1]
_LAWS = _LIBRARY / "control" / "laws"
_PYTHON = Path(traceback.__file__).parent


class _Line(NamedTuple):
    """A line that was running."""

    file: str
    number: int

    def is_foreign(self) -> bool:
        """Whether it is neither in this library, whose laws are plugins too, nor in Python's own."""
        file = Path(self.file)
        if self.file.startswith("<") or file.is_relative_to(_LIBRARY) and not file.is_relative_to(_LAWS):
            return False
        return not file.is_relative_to(_PYTHON) or not {"site-packages", "dist-packages"}.isdisjoint(file.parts)


def describe(error: BaseException) -> str:
    """Return type and text of an exception that a plugin caused, with the plugin's file, line and code.

    The plugin's line is the innermost one in the folder of the first file that the library called. An error without
    such a line, as the checks of this library raise them, is described by its text if it is of this library's family.
    """
    if isinstance(error, SyntaxError) and error.filename:
        code = (error.text or "").strip()
        return f"{type(error).__name__}: {error.msg} ({error.filename}, line {error.lineno}: {code})"
    lines = list(_lines(error.__traceback__))
    folder = next((Path(line.file).parent for line in lines if line.is_foreign()), None)
    own = [line for line in lines if Path(line.file).parent == folder]
    text = str(error) if isinstance(error, RobodynError) else f"{type(error).__name__}: {error}"
    if not own:
        return text
    file, number = own[-1]
    linecache.checkcache(file)
    return f"{text} ({file}, line {number}: {linecache.getline(file, number).strip()})"


def full_traceback(error: BaseException) -> str:
    """Return the traceback of an exception, of those that led to it, and of none that was raised from them."""
    return "".join(traceback.format_exception(error))


def _lines(trace: TracebackType | None) -> Iterator[_Line]:
    while trace is not None:
        yield _Line(trace.tb_frame.f_code.co_filename, trace.tb_lineno)
        trace = trace.tb_next
