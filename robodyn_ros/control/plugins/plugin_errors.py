# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Errors in plugins: whatever plugin code raises becomes a `PluginError` that names the plugin's own line."""

from __future__ import annotations

import difflib
import linecache
import signal
import threading
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import FrameType, TracebackType
from typing import NamedTuple, TypeVar

from robodyn_ros.base.errors import PluginError, RobodynError

FAULTS = BaseException
"""Exceptions that plugin code can raise; a script without a main guard raises SystemExit."""

_Failure = TypeVar("_Failure", bound=RobodynError)

_LIBRARY = Path(__file__).parents[2]
_LAWS = _LIBRARY / "control" / "laws"
_PYTHON = Path(traceback.__file__).parent


class _Line(NamedTuple):
    """A line of a traceback."""

    file: str
    number: int

    def is_foreign(self) -> bool:
        """Whether it is outside this library (except its laws, which are plugins) and outside Python's own."""
        file = Path(self.file)
        if self.file.startswith("<") or file.is_relative_to(_LIBRARY) and not file.is_relative_to(_LAWS):
            return False
        return not file.is_relative_to(_PYTHON) or not {"site-packages", "dist-packages"}.isdisjoint(file.parts)


def plugin_error(what: str, error: BaseException) -> PluginError:
    """Return the error of this library for an exception that a plugin caused.

    Args:
        what: What failed, such as ``controller 'spring' fails``; empty: the message begins with the exception's text.
        error: The exception.

    Raises:
        KeyboardInterrupt: Ctrl-C in a program that ends by it; never in nodes.
    """
    if isinstance(error, KeyboardInterrupt) and threading.current_thread() is threading.main_thread() \
            and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        raise error
    failure = PluginError(f"{what and f'{what}: '}{describe(error)}")
    failure.__cause__ = error
    return failure


def detached(failure: _Failure) -> _Failure:
    """Return the error without references to plugin objects, which can then be freed; its traceback becomes a note."""
    failure.add_note(full_traceback(failure.__cause__ or failure))
    failure.__cause__ = failure.__context__ = None
    return failure.with_traceback(None)


def describe(error: BaseException) -> str:
    """Return type and text of an exception that a plugin caused, with the plugin's file, line and code.

    The plugin's line is the innermost one in the folder of the first file that the library called. An error of this
    library without such a line, raised by a check, is described by its text alone. Errors in the exception's own
    methods are ignored.
    """
    try:
        if isinstance(error, SyntaxError) and error.filename:
            code = (error.text or "").strip()
            return f"{type(error).__name__}: {error.msg} ({error.filename}, line {error.lineno}: {code})"
        place = _place(list(_lines(error.__traceback__)))
        return f"{text_of(error)}{place and f' ({place})'}"
    except BaseException:
        return "an exception that cannot be described"


def place_of(frame: FrameType | None, outermost: FrameType | None = None) -> str:
    """Return file, line and code of the plugin that a thread executes; empty: it executes none.

    Args:
        frame: Of the thread.
        outermost: Frame at which to begin; None: the first one.
    """
    lines: list[_Line] = []
    while frame is not outermost and frame is not None:
        lines.insert(0, _Line(frame.f_code.co_filename, frame.f_lineno))
        frame = frame.f_back
    return _place(lines)


def full_traceback(error: BaseException) -> str:
    """Return the traceback of an exception and of the exceptions that caused it."""
    try:
        return "".join(traceback.format_exception(error))
    except BaseException:
        return "a traceback that cannot be shown"


def text_of(error: BaseException) -> str:
    """Return type and text of an exception; for a missing field of a record, also the fields that it has."""
    try:
        if isinstance(error, RobodynError):
            return str(error)
        return f"{type(error).__name__}: {error}{_attributes(error) if isinstance(error, AttributeError) else ''}"
    except BaseException as other:
        return f"{type(error).__name__}, whose text cannot be shown ({type(other).__name__})"


def _attributes(error: AttributeError) -> str:
    """Return the fields of a record, or the attribute with the closest name; empty: there is none."""
    fields = getattr(error.obj, "_fields", ()) or tuple(getattr(error.obj, "__dataclass_fields__", ()))
    if fields:
        return f"; it has {', '.join(fields)}"
    near = difflib.get_close_matches(str(error.name), dir(error.obj), n=1)
    return f"; did you mean '{near[0]}'?" if near else ""


def _place(lines: list[_Line]) -> str:
    """Return file, number and code of the plugin's own line among these, outermost first; empty: there is none."""
    folder = next((Path(line.file).parent for line in lines if line.is_foreign()), None)
    own = [line for line in lines if Path(line.file).parent == folder]
    if not own:
        return ""
    file, number = own[-1]
    linecache.checkcache(file)
    return f"{file}, line {number}: {linecache.getline(file, number).strip()}"


def _lines(trace: TracebackType | None) -> Iterator[_Line]:
    while trace is not None:
        yield _Line(trace.tb_frame.f_code.co_filename, trace.tb_lineno)
        trace = trace.tb_next
