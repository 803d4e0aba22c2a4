"""A compiled function as a function of Python's own kind, without a wrapper in between.

The machine code made here is what CPython calls: it looks whether every argument is a float64 array as it needs it,
makes the result, and computes. Anything else (a list, another dtype, a view with strides, a wrong shape, an argument by
name) it hands on, as it came, to a Python function. It holds the GIL throughout, touches no reference count, and keeps
its intermediate values on the stack: calls from several threads cannot meet.
"""

import ctypes
from collections.abc import Callable
from typing import Any

from robodyn_ros.compile import c_api
from robodyn_ros.compile.machine import Code
from robodyn_ros.compile.tape import Shape

METHOD_FLAGS = 0x80 | 0x2  # METH_FASTCALL | METH_KEYWORDS: called with an array of arguments and a tuple of names


class MethodDefinition(ctypes.Structure):
    """CPython's PyMethodDef."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


class _Otherwise:
    """What the compiled entry calls when it does not answer itself, and what it needs kept alive.

    It is the ``__self__`` of the Python function, which lives as long. Being a slot, ``__call__`` is found by calls
    without a Python function in between.
    """

    __slots__ = ("__call__", "code", "definition")

    def __init__(self, function: Callable[..., Any], code: Code | None, definition: MethodDefinition) -> None:
        self.__call__ = function
        self.code = code
        self.definition = definition


def entry_text(shapes: list[Shape], output_shape: Shape) -> str:
    """LLVM text of ``entry``, the CPython function that checks its arguments and calls ``program``."""
    dimensions = output_shape or (0,)
    lines = [
        "@numpy_array_type = external global i8",
        "@numpy_float64 = external global i8",
        "declare ptr @numpy_new_array(ptr, i32, ptr, i32, ptr, ptr, i32, i32, ptr)",
        "declare ptr @python_call(ptr, ptr, i64, ptr)",
        f"@shape = private constant [{len(dimensions)} x i64] [{', '.join(f'i64 {length}' for length in dimensions)}]",
        "define ptr @entry(ptr %self, ptr %arguments, i64 %count, ptr %names) nounwind {",
        f"  %enough = icmp eq i64 %count, {len(shapes)}",
        "  %unnamed = icmp eq ptr %names, null",
        "  %expected = and i1 %enough, %unnamed",
        f"  br i1 %expected, label %{'type0' if shapes else 'answer'}, label %otherwise, !prof !1",
    ]
    for number, shape in enumerate(shapes):
        after = f"type{number + 1}" if number + 1 < len(shapes) else "answer"
        lines += _argument_check(number, shape, after)
    pointers = "".join(f"ptr %data{number}, " for number in range(len(shapes)))
    lines += [
        "answer:",
        f"  %result = call ptr @numpy_new_array(ptr @numpy_array_type, i32 {len(output_shape)}, ptr @shape, "
        f"i32 {c_api.FLOAT64}, ptr null, ptr null, i32 0, i32 0, ptr null)",
        "  %failed = icmp eq ptr %result, null",
        "  br i1 %failed, label %done, label %compute, !prof !0",
        "compute:",
        *_field("result", "%result", "ptr", c_api.DATA, "out"),
        f"  call void @program({pointers}ptr %out)",
        "  br label %done",
        "done:",
        "  ret ptr %result",
        "otherwise:",
        "  %answer_of_other = call ptr @python_call(ptr %self, ptr %arguments, i64 %count, ptr %names)",
        "  ret ptr %answer_of_other",
        "}",
        '!1 = !{!"branch_weights", i32 100000, i32 1}',
        "",
    ]
    return "\n".join(lines)


def _field(prefix: str, pointer: str, kind: str, offset: int, name: str) -> list[str]:
    """Read a field of an object."""
    return [
        f"  %{prefix}_{name} = getelementptr i8, ptr {pointer}, i64 {offset}",
        f"  %{name} = load {kind}, ptr %{prefix}_{name}",
    ]


def _argument_check(number: int, shape: tuple[int, ...], after: str) -> list[str]:
    """Go on to ``after`` if the argument is what is needed, each field being read only once it must be there."""
    good = c_api.C_CONTIGUOUS | c_api.ALIGNED
    i = number
    lines = [
        f"type{i}:",
        f"  %place{i} = getelementptr ptr, ptr %arguments, i64 {i}",
        f"  %argument{i} = load ptr, ptr %place{i}",
        *_field(f"at{i}", f"%argument{i}", "ptr", c_api.TYPE, f"type_of{i}"),
        f"  %is_array{i} = icmp eq ptr %type_of{i}, @numpy_array_type",
        f"  br i1 %is_array{i}, label %fields{i}, label %otherwise, !prof !1",
        f"fields{i}:",
        *_field(f"at{i}", f"%argument{i}", "i32", c_api.DIMENSION_COUNT, f"ndim{i}"),
        *_field(f"at{i}", f"%argument{i}", "ptr", c_api.DESCRIPTION, f"dtype{i}"),
        *_field(f"at{i}", f"%argument{i}", "i32", c_api.FLAGS, f"flags{i}"),
        *_field(f"at{i}", f"%argument{i}", "ptr", c_api.DIMENSIONS, f"lengths{i}"),
        *_field(f"at{i}", f"%argument{i}", "ptr", c_api.DATA, f"data{i}"),
        f"  %right_ndim{i} = icmp eq i32 %ndim{i}, {len(shape)}",
        f"  %right_dtype{i} = icmp eq ptr %dtype{i}, @numpy_float64",
        f"  %good_flags{i} = and i32 %flags{i}, {good}",
        f"  %right_flags{i} = icmp eq i32 %good_flags{i}, {good}",
        f"  %two{i} = and i1 %right_ndim{i}, %right_dtype{i}",
        f"  %right{i} = and i1 %two{i}, %right_flags{i}",
        f"  br i1 %right{i}, label %shape{i}_0, label %otherwise, !prof !1",
    ]
    for axis, length in enumerate(shape):
        lines += [
            f"shape{i}_{axis}:",
            *_field(f"at{i}", f"%lengths{i}", "i64", 8 * axis, f"length{i}_{axis}"),
            f"  %right{i}_{axis} = icmp eq i64 %length{i}_{axis}, {length}",
            f"  br i1 %right{i}_{axis}, label %shape{i}_{axis + 1}, label %otherwise, !prof !1",
        ]
    return [*lines, f"shape{i}_{len(shape)}:", f"  br label %{after}"]


def python_function(
    code: Code, name: str, documentation: str, otherwise: Callable[..., Any]
) -> Callable[..., Any]:
    """The function that Python calls.

    Args:
        code: Code that exports ``entry``.
        name: Name of the function.
        documentation: See `documentation`.
        otherwise: Called with the same arguments when they are not what the code needs.
    """
    return _built_in(name, documentation, code["entry"], otherwise, code)


def forwarding_function(name: str, documentation: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of Python's own kind that calls another one, with the name and documentation of what will replace it.

    Python tells nobody the signature of a compiled function but by its documentation. With it here, too, help() and
    ``inspect.signature`` say the same before a function is compiled and after.

    Args:
        name: Name of the function.
        documentation: See `documentation`.
        function: Called with the same arguments.

    Returns:
        The function; ``function`` itself where `c_api.unsupported_reason` forbids it.
    """
    if c_api.unsupported_reason() is not None:
        return function
    # PyObject_Vectorcall takes what CPython hands to such a function: the callable, arguments, their count, names.
    return _built_in(name, documentation, c_api.symbols()["python_call"], function, None)


def documentation(name: str, signature: str, text: str) -> str:
    """Documentation as CPython reads it: the signature, which it tells on demand, then the text.

    Args:
        name: Name of the function.
        signature: As in Python, in brackets, without annotations.
        text: What help() prints.
    """
    return f"{name}{signature}\n--\n\n{text}"


def _built_in(name: str, text: str, address: int, otherwise: Callable[..., Any], code: Code | None) -> Any:
    definition = MethodDefinition(name.encode(), address, METHOD_FLAGS, text.encode())
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype = ctypes.py_object
    make.argtypes = [ctypes.POINTER(MethodDefinition), ctypes.py_object, ctypes.c_void_p]
    return make(ctypes.byref(definition), _Otherwise(otherwise, code, definition), None)
