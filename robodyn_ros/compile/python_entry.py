# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Compiled code as a built-in Python function: CPython calls the machine code directly, without a wrapper.

The entry of a kernel checks that every argument is a float64 array in the form that the code needs, creates the result,
and computes. It passes any other call (a list, another dtype, a strided view, a wrong shape, an argument by name)
unchanged to a Python function. It holds the GIL throughout, touches no reference count, and keeps intermediate values
on the stack, so that calls from several threads do not interfere. The entry of a bound procedure takes counts; its
``__self__`` is the array that holds the frame followed by the counts. Entries use the C interfaces of CPython and
NumPy, as extension modules do, without the headers that would follow a new layout:

| part | why the public interface does not do | in a release without it |
| --- | --- | --- |
| `PyArrayObject_fields`, `PyArray_New` | ctypes takes 4 us, all of inverse dynamics 0.4 us | an error names the NumPy |
| `PyMethodDef`, `ob_type`, the lock | the same | an error names the Python |

``robot.dynamics(compiled=False)`` runs the formulas without entries.
"""

import ctypes
import functools
import sys
import sysconfig
from collections.abc import Callable
from typing import Any

import numpy as np

from robodyn_ros.base.errors import CompileError, InputError
from robodyn_ros.compile.llvm_text import FunctionText, function, table
from robodyn_ros.compile.machine import Code
from robodyn_ros.compile.tape import Shape

TYPE, DATA, DIMENSION_COUNT, DIMENSIONS, DESCRIPTION, FLAGS = 8, 16, 24, 32, 56, 64
"""Offsets of the type in every object, and of the first fields of NumPy's PyArrayObject_fields [bytes]."""

C_CONTIGUOUS, ALIGNED = 0x1, 0x100
"""Bits of an array's flags."""

FLOAT64 = 12
"""NumPy's number of the type double."""

_METHOD_FLAGS = 0x80 | 0x2
"""METH_FASTCALL | METH_KEYWORDS: called with an array of arguments and a tuple of names."""

_SUPPORTED_INTERFACES = (0x01000009, 0x02000000)
"""NumPy's binary interfaces that are supported: those of 1.x and 2.x."""

_VERSION_ENTRY, _NEW_ENTRY = 0, 93
"""Indices in NumPy's table of C functions: PyArray_GetNDArrayCVersion, PyArray_New."""

_DECLARATIONS = """@numpy_array_type = external global i8
@numpy_float64 = external global i8
@python_none = external global i8
@error_type = external global i8
declare ptr @numpy_new_array(ptr, i32, ptr, i32, ptr, ptr, i32, i32, ptr)
declare ptr @PyObject_Vectorcall(ptr, ptr, i64, ptr)
declare i64 @PyNumber_AsSsize_t(ptr, ptr)
declare void @PyErr_Clear()
declare void @Py_IncRef(ptr)
!1 = !{!"branch_weights", i32 100000, i32 1}
"""
"""Symbols that entries use: those of `symbols`, and documented functions of CPython, which the process exports."""


class _MethodDefinition(ctypes.Structure):
    """CPython's PyMethodDef."""

    _fields_ = (("name", ctypes.c_char_p), ("function", ctypes.c_void_p), ("flags", ctypes.c_int),
                ("doc", ctypes.c_char_p))


class Fallback:
    """Handles the calls that an entry does not compute; it is the ``__self__`` of the entry's Python function."""

    __slots__ = ("__call__", "keeps")  # Python calls a function in this slot directly

    def __init__(self, function: Callable[..., Any] | None) -> None:
        self.__call__ = function
        self.keeps: tuple[Any, ...] = ()


def python_function(name: str, text: str, owner: Any, code: Code | None = None) -> Callable[..., Any]:
    """The Python function for the ``entry`` that code exports; without code, the owner gets every call.

    ``text`` is its `documentation`; ``owner`` its ``__self__``: a `Fallback`, or an array with an attribute ``keeps``.
    """
    # PyObject_Vectorcall takes what CPython passes to such a function: the callable, arguments, their count, names.
    address = code["entry"] if code else ctypes.cast(ctypes.pythonapi.PyObject_Vectorcall, ctypes.c_void_p).value
    definition = _MethodDefinition(name.encode(), address, _METHOD_FLAGS, text.encode())
    owner.keeps = (code, definition)  # they must live as long as the function
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype = ctypes.py_object
    make.argtypes = [ctypes.POINTER(_MethodDefinition), ctypes.py_object, ctypes.c_void_p]
    return make(ctypes.byref(definition), owner, None)


def forwarding_function(name: str, text: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """A built-in function that calls a Python function; help() shows the same text as for the compiled one."""
    return python_function(name, text, Fallback(function))


def documentation(name: str, signature: str, text: str) -> str:
    """Documentation in CPython's form: name and signature, which inspect reads, then the text that help() prints."""
    return f"{name}{signature}\n--\n\n{text}"


def array_entry(shapes: list[Shape], output_shape: Shape) -> str:
    """LLVM text of ``entry``: takes arrays of these shapes, calls ``program`` with their data, returns a new array."""
    text = FunctionText(1)
    _require_count(text, len(shapes))
    pointers = [_array_data(text, number, shape) for number, shape in enumerate(shapes)]
    given = f"i32 {len(output_shape)}, ptr @shape, i32 {FLOAT64}, ptr null, ptr null, i32 0, i32 0, ptr null"
    result = text.let(f"call ptr @numpy_new_array(ptr @numpy_array_type, {given})")
    text.branch(text.let(f"icmp eq ptr {result}, null"), "done", "compute", ", !prof !0")
    text.label("compute")
    pointers.append(_field(text, result, "ptr", DATA))
    text.line(f"call void @program({', '.join(f'ptr {pointer}' for pointer in pointers)})")
    text.jump("done")
    text.label("done")
    text.line(f"ret ptr {result}")
    return table("shape", "i64", output_shape or (0,)) + _entry(text)


def counts_entry(count: int, frame_size: int) -> str:
    """LLVM text of ``entry``: takes counts, stores them after the frame, runs ``program``, returns None."""
    text = FunctionText(1)
    frame = _field(text, "%self", "ptr", DATA)
    words = text.at(frame, frame_size)
    _require_count(text, count)
    for number in range(count):
        argument = text.read("%arguments", number, "ptr")
        size = text.let(f"call i64 @PyNumber_AsSsize_t(ptr {argument}, ptr @error_type)")
        text.line(f"store i64 {size}, ptr {text.at(words, number, 'i64')}")
        _require(text, text.let(f"icmp sge i64 {size}, 0"))
    text.line(f"call void @program(ptr {frame}, ptr {words})")
    text.line("call void @Py_IncRef(ptr @python_none)")
    text.line("ret ptr @python_none")
    return _entry(text)


def _entry(text: FunctionText) -> str:
    """The function that CPython calls; its last block, ``otherwise``, calls its ``self``."""
    text.label("otherwise")
    text.line("call void @PyErr_Clear()")  # the error of an argument that is no integer
    answer = text.let("call ptr @PyObject_Vectorcall(ptr %self, ptr %arguments, i64 %count, ptr %names)")
    head = "ptr @entry(ptr %self, ptr %arguments, i64 %count, ptr %names) nounwind"
    return _DECLARATIONS + function(head, text.lines, f"ret ptr {answer}")


def _require(text: FunctionText, condition: str) -> None:
    """Continue if the condition holds, else at the block ``otherwise``."""
    following = text.new("right")
    text.branch(condition, following, "otherwise", ", !prof !1")
    text.label(following)


def _require_count(text: FunctionText, count: int) -> None:
    """Require this number of arguments, all by position."""
    enough, unnamed = text.let(f"icmp eq i64 %count, {count}"), text.let("icmp eq ptr %names, null")
    _require(text, text.let(f"and i1 {enough}, {unnamed}"))


def _array_data(text: FunctionText, number: int, shape: Shape) -> str:
    """The data of an argument, which must be an array in the form that the code needs; fields are checked in order."""
    argument = text.read("%arguments", number, "ptr")
    _require(text, text.let(f"icmp eq ptr {_field(text, argument, 'ptr', TYPE)}, @numpy_array_type"))
    count, kind = _field(text, argument, "i32", DIMENSION_COUNT), _field(text, argument, "ptr", DESCRIPTION)
    flags, lengths = _field(text, argument, "i32", FLAGS), _field(text, argument, "ptr", DIMENSIONS)
    data, good = _field(text, argument, "ptr", DATA), C_CONTIGUOUS | ALIGNED
    same_count = text.let(f"icmp eq i32 {count}, {len(shape)}")
    same_kind = text.let(f"icmp eq ptr {kind}, @numpy_float64")
    same_flags = text.let(f"icmp eq i32 {text.let(f'and i32 {flags}, {good}')}, {good}")
    _require(text, text.let(f"and i1 {text.let(f'and i1 {same_count}, {same_kind}')}, {same_flags}"))
    for axis, length in enumerate(shape):
        _require(text, text.let(f"icmp eq i64 {_field(text, lengths, 'i64', 8 * axis)}, {length}"))
    return data


def _field(text: FunctionText, pointer: str, kind: str, offset: int) -> str:
    """A field of an object, at an offset in bytes."""
    return text.let(f"load {kind}, ptr {text.at(pointer, offset, 'i8')}")


@functools.cache
def symbols() -> dict[str, int]:
    """Addresses of the objects that entries refer to, and of NumPy's function, by symbol.

    Raises:
        CompileError: Entries do not support this interpreter or this NumPy.
    """
    has_lock = not sysconfig.get_config_var("Py_GIL_DISABLED")
    if sys.implementation.name != "cpython" or not has_lock or ctypes.sizeof(ctypes.c_void_p) != 8:
        raise CompileError("compiled code: expected CPython of 64 bits with a global interpreter lock, received "
                           f"{sys.version} on {sys.platform}")
    read = ctypes.pythonapi.PyCapsule_GetPointer
    read.restype, read.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    core = getattr(np, "_core", None) or np.core
    functions = (ctypes.c_void_p * (_NEW_ENTRY + 1)).from_address(read(core._multiarray_umath._ARRAY_API, None))
    version, new_array = (int(functions[entry] or 0) for entry in (_VERSION_ENTRY, _NEW_ENTRY))
    interface = ctypes.CFUNCTYPE(ctypes.c_uint)(version)()
    if interface not in _SUPPORTED_INTERFACES:
        raise CompileError(f"compiled code: expected NumPy 1 or 2, received {np.__version__} with the binary interface "
                           f"{interface:#x}")
    objects = {"numpy_array_type": np.ndarray, "numpy_float64": np.dtype(np.float64), "python_none": None,
               "error_type": InputError}
    return {name: id(each) for name, each in objects.items()} | {"numpy_new_array": new_array}
