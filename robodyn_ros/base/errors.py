# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The exceptions of robodyn_ros, with a common base class.

Every message says what is wrong and where, the expected and the received value, and the remedy.
"""


import reprlib
from collections.abc import Iterable, Sequence
from shlex import quote

MAX_MESSAGE_LENGTH = 4000
"""Characters of a message; a longer one loses its middle."""

MAX_LINE_LENGTH = 1000
"""Characters of a line in a log or an answer; a longer one loses its middle."""

_END_LENGTH = 1000
_MAX_NAMES = 12
"""Greatest number of names in a message."""


class RobodynError(Exception):
    """Base class of every exception that robodyn_ros raises on purpose.

    Args:
        message: Cut to `MAX_MESSAGE_LENGTH`, with control characters escaped, since it may quote a file or a message.
    """

    def __init__(self, message: object = "") -> None:
        super().__init__(printable(str(message)))


class DescriptionError(RobodynError):
    """A robot description (URDF, Denavit-Hartenberg table) cannot be used."""


class InputError(RobodynError, ValueError):
    """An argument, a message field or a parameter has the wrong shape, name or value."""


class PluginError(RobodynError):
    """A controller plugin cannot be found, imported, constructed or run."""


class CompileError(RobodynError):
    """A function cannot be traced or turned into machine code."""


class SimulationError(RobodynError):
    """The simulation cannot continue; the robot keeps its last good state."""


class RecordingError(RobodynError):
    """A recording cannot be read or written."""


class ClusterError(RobodynError):
    """A cluster cannot be reached, has no worker that can take part, or fails to compute."""


class DescriptionWarning(UserWarning):
    """A robot description is physically implausible but can be computed; an error with ``strict=True``.

    Args:
        message: As for `RobodynError`.
        source: File of the description; empty if it came as data.
        number: Index of this warning among those about the description, from 0.
        count: Number of warnings about the description.
    """

    def __init__(self, message: object = "", source: str = "", number: int = 0, count: int = 1) -> None:
        super().__init__(printable(str(message)))
        self.source, self._number, self._count = source, number, count

    @property
    def summary(self) -> str:
        """All warnings about a description in one line, returned by the first of them; empty for the others."""
        if self._number:
            return ""
        if self._count == 1:
            return str(self)
        if not self.source:
            return f"{self._count} warnings about the robot description; the first: {self}"
        return (f"{self.source}: {self._count} warnings: robodyn check {quote(self.source)}; the first: "
                f"{str(self).removeprefix(self.source).removeprefix(', ').removeprefix(': ')}")


class DescriptionRemark(DescriptionWarning):
    """A fact about a robot description that users have to know, though it is no fault."""


def printable(text: str, longest: int = MAX_MESSAGE_LENGTH) -> str:
    """Return a text that is safe to print: cut in its middle, with control characters except newlines escaped."""
    return "\n".join(map(escaped, shortened(text, longest).split("\n")))


def one_line(text: str, longest: int = MAX_LINE_LENGTH) -> str:
    """Return a text on one line: cut in its middle, with control characters and line breaks escaped."""
    return escaped(shortened(text, longest))


def shortened(text: str, longest: int, end: int | None = None) -> str:
    """Return a text without its middle if it is too long.

    Args:
        text: The text.
        longest: Number of characters that are kept.
        end: How many of them are the last ones; None: a quarter, and at most 1000.
    """
    if len(text) <= longest:
        return text
    end = min(_END_LENGTH, longest // 4) if end is None else end
    return f"{text[:longest - end]} … ({len(text) - longest} characters left out) … {text[-end:]}"


def escaped(line: str) -> str:
    """Return a line with its nonprintable characters, newlines included, escaped."""
    if line.isprintable():
        return line
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in line)


def with_escaped_arguments(message: str, arguments: Iterable[str]) -> str:
    """Return a message in which quoted command-line arguments contain no line breaks.

    Args:
        message: The message; its own line breaks stay.
        arguments: The arguments; of ``name=value`` and ``name:=value``, the value may be quoted alone.
    """
    for argument in arguments:
        for text in (argument, argument.partition("=")[2]):
            if "\n" in text.strip("\n"):
                message = message.replace(printable(text), escaped(text))
    return message


def error_text(error: BaseException) -> str:
    """Return why something failed, on one line: the text of the system, of the error, or its type's name."""
    return getattr(error, "strerror", None) or " ".join(str(error).split()) or type(error).__name__


def shown(value: object) -> str:
    """Return a short ``repr`` of a value from outside, whatever its size and depth, for a message."""
    return _Shown().repr(value)


def suggest(name: str, names: Iterable[str]) -> str:
    """Return the end of a message about an unknown name: the closest known names, or all of them.

    Args:
        name: The unknown name.
        names: The known names.

    Returns:
        Such as ``"did you mean 'joint1'?"``.
    """
    import difflib  # most programs need no suggestion

    known = list(names)
    matches = difflib.get_close_matches(str(name), known, n=3, cutoff=0.5)
    if matches:
        return "did you mean " + " or ".join(f"'{match}'" for match in matches) + "?"
    return f"known are {list_names(known)}"


def unknown(kind: str, name: object, known: Iterable[str]) -> str:
    """Return the message about a name that does not exist.

    Args:
        kind: What the name stands for, such as ``"key"``.
        name: The name.
        known: The names that exist.

    Returns:
        Such as ``"unknown key 'joint': did you mean 'joint1'?"``.
    """
    return f"unknown {kind} {shown(str(name))}: {suggest(str(name), known)}"


def list_names(names: Iterable[str]) -> str:
    """Return names in quotes for a message; of many, the first ones and how many more there are."""
    return first_of([f"'{name}'" for name in names], _MAX_NAMES) or "none"


def first_of(names: Sequence[str], most: int = 5, others: str = "more") -> str:
    """Return the first names, separated by commas, and how many others there are, such as ``"a, b and 3 more"``."""
    return ", ".join(names[:most]) + (f" and {len(names) - most} {others}" if len(names) > most else "")


class _Shown(reprlib.Repr):

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel = 4
        self.maxlist = self.maxtuple = self.maxdict = self.maxset = self.maxarray = 16
        self.maxstring = self.maxother = self.maxlong = 160

    def repr_int(self, x: int, level: int) -> str:
        return super().repr_int(x, level) if x.bit_length() < 4000 else f"an integer of {x.bit_length()} bits"

    def repr_dict(self, x: dict, level: int) -> str:  # type: ignore[type-arg]
        """In the order of the dictionary, unlike reprlib, which sorts the keys."""
        if level <= 0:
            return "{...}"
        pairs = [f"{self.repr1(key, level - 1)}: {self.repr1(value, level - 1)}"
                 for key, value in list(x.items())[:self.maxdict]]
        return "{" + ", ".join(pairs + ["..."] * (len(x) > self.maxdict)) + "}"
