# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Outer state of functions: variables that they can reach besides their arguments, and impure calls.

`OuterState` finds the variables: globals, closures, default arguments, attributes of classes, objects and modules, and
their contents. It compares them between two calls, and restores them. `watched` reports calls of clocks, files and
random numbers.
"""

from __future__ import annotations

import dis
import functools
import itertools
import linecache
import operator
import random
import sys
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import date
from queue import Queue
from types import (
    CellType,
    CodeType,
    FrameType,
    FunctionType,
    GeneratorType,
    MethodType,
    ModuleType,
    SimpleNamespace,
)
from typing import Any, NamedTuple

import numpy as np

from robodyn_ros.compile.scalar import Scalar
from robodyn_ros.compile.traced_numpy import Namespace, TracedForm, names_read
from robodyn_ros.control.plugins.plugin_errors import place_of

RANDOM_INPUT = "take random numbers as an input of the law (Inputs)"

_MAX_PARTS = 20_000
_MAX_ELEMENTS = 1_000_000
_PLAIN = (bool, int, float, complex, str, bytes, type(None), np.generic)
_OWN_CLASSES = frozenset(sys.stdlib_module_names - {"__main__"} | {"numpy", "scipy", "robodyn_ros"})
"""Packages whose classes and functions hold no state of a plugin."""


class _Part(NamedTuple):
    """A mutable object: its path in the source, such as ``FILTER.y``, the object, and its contents by label."""

    path: str
    owner: Any
    contents: dict[Any, Any]


class OuterState:
    """The variables that functions can reach besides their arguments.

    Args:
        functions: The functions.
    """

    def __init__(self, functions: Iterable[Any]) -> None:
        self._functions = tuple(functions)

    def parts(self) -> dict[int, _Part]:
        """Return all reachable mutable objects with copies of their contents, by ``id``; the parts keep them alive."""
        found: dict[int, _Part] = {}
        seen: dict[Any, Any] = {}  # keeps objects alive, so that ids stay unique
        pending = deque[tuple[str, Any, Collection[str] | None]](("", function, None) for function in self._functions)
        while pending and len(seen) < _MAX_PARTS:
            path, owner, names = pending.popleft()
            key = (id(owner), frozenset(names or ())) if isinstance(owner, ModuleType) else id(owner)
            if key in seen:
                continue
            seen[key] = owner
            contents = _contents(owner, names)
            if contents is None:
                continue
            if id(owner) in found:  # a module of which another function reads other names
                contents = found[id(owner)].contents | contents
            found[id(owner)] = _Part(path, owner, contents)
            if isinstance(owner, FunctionType):
                names = set(names_read(owner.__code__))
            for label, value in contents.items():
                if not isinstance(value, _PLAIN):
                    pending.append((_joined(path, owner, label), value, names))
        return found

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Restore all variables afterwards."""
        before = self.parts()
        try:
            yield
        finally:
            for part in before.values():
                _restore(part)

    @staticmethod
    def changed(before: Mapping[int, _Part], after: Mapping[int, _Part]) -> str:
        """Return the path of the first variable that differs between two results of `parts`; empty: there is none."""
        for key, part in before.items():
            then = after.get(key)
            if then is None or then.owner is not part.owner:
                continue  # no longer reachable, so the object that referred to it has changed
            for label in {**part.contents, **then.contents}:
                if label not in part.contents or label not in then.contents or not _same(part.contents[label],
                                                                                        then.contents[label]):
                    return _joined(part.path, part.owner, label)
        return ""

    @staticmethod
    def holding_traced(parts: Mapping[int, _Part]) -> str:
        """Return the path of the first variable that holds a traced value; empty: there is none."""
        for part in parts.values():
            for label, value in part.contents.items():
                if isinstance(value, Scalar):
                    return _joined(part.path, part.owner, label)
        return ""

    def line_of(self, path: str) -> str:
        """Return file, line and code where this variable is assigned, or else first read; empty: nowhere."""
        name = path.partition(".")[0].partition(",")[0]
        functions = [part.owner for part in self.parts().values() if isinstance(part.owner, FunctionType)]
        used = [(not each.startswith(("STORE", "DELETE")), function.__code__.co_filename, line)
                for function in functions for each, line in _instructions(function.__code__, name)]
        if not used:
            return ""
        _, file, line = min(used, key=operator.itemgetter(0))
        return f"{file}, line {line}: {linecache.getline(file, line).strip()}"


def _instructions(code: CodeType, name: str) -> Iterator[tuple[str, int]]:
    """Yield the instructions of a function that use a variable, and their lines."""
    for instruction in dis.get_instructions(code):
        if isinstance(instruction.argval, str) and instruction.argval == name and instruction.positions is not None:
            yield instruction.opname, instruction.positions.lineno or 0
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _instructions(constant, name)


def _is_own(module: Any) -> bool:
    """Return whether a module belongs to Python, NumPy or this library; this library's laws count as plugins."""
    name = str(module)
    return name.partition(".")[0] in _OWN_CLASSES and not name.startswith("robodyn_ros.control.laws")


def _has_own_class(owner: Any) -> bool:
    return _is_own(type(owner).__module__) and not isinstance(owner, SimpleNamespace | Queue)


def _contents(owner: Any, names: Collection[str] | None) -> dict[Any, Any] | None:
    """Return the contents of an object by label; a name as label becomes part of the path. None: it is immutable.

    Args:
        owner: The object.
        names: Names that the referring function reads; other names of a module are ignored. None: it is one of the
            functions given to `OuterState`.
    """
    if isinstance(owner, FunctionType):
        return None if names is not None and _is_own(owner.__module__) else _contents_of_function(owner)
    if isinstance(owner, ModuleType):
        return {name: vars(owner)[name] for name in names or () if name in vars(owner)}
    if isinstance(owner, Namespace):  # the attributes that were set on it, and the original
        return dict(vars(owner))
    if isinstance(owner, type):
        return None if _is_own(owner.__module__) else dict(enumerate(owner.__bases__)) | {
            name: value for name, value in vars(owner).items() if not name.startswith("__") or name == "__call__"}
    for kind, contents in _KINDS:
        if isinstance(owner, kind):
            found: dict[Any, Any] | None = contents(owner)
            return found
    if _has_own_class(owner):  # functions and methods in C, caches
        inner = getattr(owner, "__wrapped__", getattr(owner, "__self__", None))
        return None if inner is None else {(): inner}
    fields = dict(getattr(owner, "__dict__", {}))
    for kind in type(owner).__mro__:
        slots = vars(kind).get("__slots__", ())
        fields |= {name: getattr(owner, name) for name in ((slots,) if isinstance(slots, str) else slots)
                   if hasattr(owner, name)}
    return fields | {(): type(owner)}


def _contents_of_function(function: FunctionType) -> dict[Any, Any]:
    """Globals and variables of outer functions by name, attributes by dotted name, default arguments by (name,)."""
    code, defaults = function.__code__, function.__defaults__ or ()
    found: dict[Any, Any] = {name: function.__globals__[name] for name in names_read(code)
                             if name in function.__globals__}
    cells = zip(code.co_freevars, function.__closure__ or (), strict=True)
    found |= {name: _cell_contents(cell) for name, cell in cells}
    last = code.co_varnames[code.co_argcount - len(defaults):code.co_argcount]
    found |= {(name,): value for name, value in (*zip(last, defaults, strict=True),
                                                 *(function.__kwdefaults__ or {}).items())}
    return found | {f"{function.__name__}.{name}": value for name, value in vars(function).items()}


def _cell_contents(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not assigned yet
        return cell


def _array_contents(array: np.ndarray) -> dict[Any, Any] | None:
    if array.dtype == object:
        return {(): tuple(array.ravel().tolist())}
    return {(): array.tobytes()} if array.flags.writeable and array.size <= _MAX_ELEMENTS else None


def _generator_contents(generator: GeneratorType[Any, Any, Any]) -> dict[Any, Any]:
    frame = generator.gi_frame
    return {} if frame is None else {(): frame.f_lasti} | {(name,): value for name, value in frame.f_locals.items()}


_KINDS: tuple[tuple[Any, Callable[[Any], dict[Any, Any] | None]], ...] = (
    (dict, lambda owner: {(key if isinstance(key, str) else (id(key), key)): value for key, value in owner.items()}),
    ((list, tuple, deque), lambda owner: {(place,): value for place, value in enumerate(owner)}),
    (set, lambda owner: {(id(element),): element for element in owner}),
    (bytearray, lambda owner: {(): bytes(owner)}),
    (np.ndarray, _array_contents),
    (random.Random, lambda owner: {"state": owner.getstate()}),
    (np.random.Generator, lambda owner: {"state": owner.bit_generator.state}),
    (np.random.RandomState, lambda owner: {"state": owner.get_state(legacy=False)}),
    (itertools.count, lambda owner: {(): repr(owner)}),
    (GeneratorType, _generator_contents),
    ((MethodType, staticmethod, classmethod), lambda owner: {
        (): owner.__func__, ("self",): getattr(owner, "__self__", None)}),
    (property, lambda owner: {(): owner.fget}),
    (functools.partial, lambda owner: {(): owner.func, ("arguments",): owner.args, ("named",): owner.keywords}),
    (TracedForm, lambda owner: {(): owner.function}),
)


def _joined(path: str, owner: Any, label: Any) -> str:
    """Return the path of an object's part, in source notation."""
    if isinstance(owner, FunctionType):
        return f"{label[0]}, a default argument of {owner.__name__}," if isinstance(label, tuple) else label
    return path if not isinstance(label, str) else f"{path}.{label}" if path else str(label)


def _same(a: Any, b: Any) -> bool:
    """Return whether two contents are identical objects or equal values; traced values never are equal."""
    if isinstance(a, Scalar) or type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        return a.shape == b.shape and all(map(_same, a.ravel().tolist(), b.ravel().tolist()))
    if a is b:
        return True
    if isinstance(a, list | tuple | deque):
        return len(a) == len(b) and all(map(_same, a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(map(_same, a.values(), b.values()))
    return isinstance(a, _PLAIN) and bool(a == b or (a != a and b != b))


def _restore(part: _Part) -> None:
    """Restore the saved contents of an object."""
    owner, contents = part.owner, part.contents
    values = list(contents.values())
    if isinstance(owner, FunctionType):
        named = {name: value for name, value in contents.items() if isinstance(name, str)}
        for name, cell in zip(owner.__code__.co_freevars, owner.__closure__ or (), strict=True):
            if (value := named.pop(name)) is not cell:
                cell.cell_contents = value
        owner.__globals__.update({name: value for name, value in named.items() if "." not in name})
        vars(owner).clear()
        vars(owner).update({name.partition(".")[2]: value for name, value in named.items() if "." in name})
    elif isinstance(owner, ModuleType):
        vars(owner).update(contents)
    elif isinstance(owner, type):
        now = _contents(owner, ()) or {}
        for name in now.keys() - contents.keys():
            delattr(owner, name)
        for name in (name for name, value in contents.items() if now.get(name, owner) is not value):
            setattr(owner, str(name), contents[name])
    elif isinstance(owner, dict):
        saved = {key if isinstance(key, str) else key[1]: value for key, value in contents.items()}
        owner.clear()
        owner.update(saved)
    elif isinstance(owner, list):
        owner[:] = values
    elif isinstance(owner, deque | set):
        owner.clear()
        (owner.extend if isinstance(owner, deque) else owner.update)(values)
    elif isinstance(owner, bytearray):
        owner[:] = values[0]
    elif isinstance(owner, np.ndarray):
        flat = np.empty(owner.size, dtype=object) if owner.dtype == object else np.frombuffer(values[0], owner.dtype)
        if owner.dtype == object:
            flat[:] = values[0]
        if owner.flags.writeable:
            owner[...] = flat.reshape(owner.shape)
    elif isinstance(owner, random.Random):
        owner.setstate(values[0])
    elif isinstance(owner, np.random.Generator):
        owner.bit_generator.state = values[0]
    elif isinstance(owner, np.random.RandomState):
        owner.set_state(values[0])
    elif not isinstance(owner, _FIXED) and not _has_own_class(owner):
        for name in getattr(owner, "__dict__", {}).keys() - contents.keys():
            object.__delattr__(owner, name)
        for name in (name for name, value in contents.items() if isinstance(name, str)
                     and getattr(owner, name, contents) is not value):
            object.__setattr__(owner, name, contents[name])


_FIXED = (tuple, Namespace, TracedForm, itertools.count, GeneratorType, MethodType, staticmethod, classmethod, property,
          functools.partial)


_CLOCKS = frozenset(name for name in vars(time) if name.startswith((
    "time", "monotonic", "perf_counter", "process_time", "thread_time", "clock_get", "localtime", "gmtime")))
_FILES = frozenset(("open", "stat", "lstat", "listdir", "scandir", "read", "readline", "readlines", "readinto", "write",
                    "writelines", "input", "recv", "send", "recvfrom", "sendto"))
_RANDOM = frozenset(("urandom", "getrandbits", "random"))
_PYTHON_FILES = ("linecache.py", "warnings.py", "importlib", "traceback.py")


class ForeignCall(NamedTuple):
    """An impure call: it depends on more than its arguments, or has a side effect.

    Attributes:
        name: Name of the called function.
        instead: Advice what to write instead.
        place: File, line and code of the caller.
    """

    name: str
    instead: str
    place: str


@contextmanager
def watched(calls: list[ForeignCall]) -> Iterator[None]:
    """Record in a list the calls of clocks, files, terminal and random numbers that plugins make in this thread."""
    def profile(frame: FrameType, event: str, function: Any) -> None:
        if event != "c_call":
            return
        name, module = getattr(function, "__name__", ""), getattr(function, "__module__", None)
        owner = getattr(function, "__self__", None)
        if module == "time" and name in _CLOCKS:
            found = f"time.{name}", "use state.time and state.period"
        elif name in ("now", "utcnow", "today") and isinstance(owner, type) and issubclass(owner, date):
            found = f"{owner.__name__}.{name}", "use state.time and state.period"
        elif name in _RANDOM and (isinstance(owner, random.Random) or module in ("posix", "nt")):
            found = f"{'random' if isinstance(owner, random.Random) else 'os'}.{name}", RANDOM_INPUT
        elif name in _FILES and (module in ("_io", "io", "posix", "nt", "builtins")
                                 or type(owner).__module__ in ("_io", "_socket", "socket")):
            found = name, "read files once, in __init__ or for a derived parameter, and return what is to be shown"
        else:
            return
        inner: FrameType | None = frame
        while inner is not None and inner.f_code.co_filename != __file__:
            if any(part in inner.f_code.co_filename for part in _PYTHON_FILES):
                return
            inner = inner.f_back
        if place := place_of(frame, outermost):
            calls.append(ForeignCall(*found, place))

    before, outermost = sys.getprofile(), sys._getframe(2)
    sys.setprofile(profile)
    try:
        yield
    finally:
        sys.setprofile(before)
