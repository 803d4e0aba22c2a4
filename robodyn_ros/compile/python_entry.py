"""Compiled code as a function of Python's own kind: CPython calls the machine code, without a wrapper in between.

The entry of a kernel checks that every argument is a float64 array as the code needs it, makes the result, and
computes. It hands any other call (a list, another dtype, a view with strides, a wrong shape, an argument by name) on,
unchanged, to a Python function. It holds the GIL throughout, touches no reference count, and keeps its intermediate
values on the stack, so that calls from several threads cannot meet. The entry of a bound procedure takes counts; its
``__self__`` is the array that holds the frame and, behind it, the counts.

Entries use the C interfaces of CPython and NumPy: of CPython documented functions; of NumPy the leading fields of
``PyArrayObject_fields`` and entries of its table of C functions, the binary interface of extension modules compiled
long ago. `unsupported_reason` compares each of these with what Python says about sample arrays. Where one differs
(another interpreter, a build without the GIL, a NumPy of the future), entries are not used.
"""

import ctypes
import functools
import sys
import sysconfig
from collections.abc import Callable
from typing import Any

import numpy as np

from robodyn_ros.compile.machine import Code
from robodyn_ros.compile.tape import Shape
from robodyn_ros.errors import InputError

DATA, DIMENSION_COUNT, DIMENSIONS, DESCRIPTION, FLAGS = 16, 24, 32, 56, 64
"""Offsets in an array object [bytes]."""

TYPE = 8
"""Offset of the type in every object [bytes]."""

C_CONTIGUOUS, ALIGNED = 0x1, 0x100
"""Bits of an array's flags."""

FLOAT64 = 12
"""NumPy's number for the type double."""

_METHOD_FLAGS = 0x80 | 0x2
"""METH_FASTCALL | METH_KEYWORDS: called with an array of arguments and a tuple of names."""

_KNOWN_INTERFACES = (0x01000009, 0x02000000)
"""NumPy's binary interface: that of 1.x and that of 2.x."""

_VERSION_ENTRY, _TYPE_ENTRY, _NEW_ENTRY = 0, 2, 93
"""Places in NumPy's table of C functions: its interface's version, the array type, PyArray_New."""


_PYTHON_FUNCTIONS = {
    "python_call": "PyObject_Vectorcall",
    "python_size": "PyNumber_AsSsize_t",
    "python_raise": "PyErr_SetString",
    "python_keep": "Py_IncRef",
}
"""CPython's documented functions that compiled code calls, by the name it uses."""


class _MethodDefinition(ctypes.Structure):
    """CPython's PyMethodDef."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


class Fallback:
    """Called by an entry that does not answer itself; it is the ``__self__`` of the entry's Python function.

    Being a slot, ``__call__`` is found by calls without a Python function in between.
    """

    __slots__ = ("__call__", "keeps")

    def __init__(self, function: Callable[..., Any]) -> None:
        self.__call__ = function
        self.keeps: tuple[Any, ...] = ()


def python_function(name: str, text: str, owner: Any, code: Code | None = None) -> Callable[..., Any]:
    """The Python function of an entry.

    Args:
        name: Name of the function.
        text: See `documentation`.
        owner: Its ``__self__``: a `Fallback`, or an array with an attribute ``keeps``.
        code: Code that exports ``entry``; None to hand every call on to the fallback.
    """
    address = symbols()["python_call"] if code is None else code["entry"]
    definition = _MethodDefinition(name.encode(), address, _METHOD_FLAGS, text.encode())
    owner.keeps = (code, definition)  # for as long as the function lives
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype = ctypes.py_object
    make.argtypes = [ctypes.POINTER(_MethodDefinition), ctypes.py_object, ctypes.c_void_p]
    return make(ctypes.byref(definition), owner, None)


def forwarding_function(name: str, text: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of Python's own kind that calls another one, with the name and documentation of its replacement.

    Python finds the signature of a compiled function in its documentation alone. With it here, too, help() and
    ``inspect.signature`` say the same before a function is compiled and after.

    Args:
        name: Name of the function.
        text: See `documentation`.
        function: Called with the same arguments.

    Returns:
        The function; ``function`` itself where entries are unsupported.
    """
    if unsupported_reason() is not None:
        return function
    # PyObject_Vectorcall takes what CPython hands to such a function: the callable, arguments, their count, names.
    return python_function(name, text, Fallback(function))


def documentation(name: str, signature: str, text: str) -> str:
    """Documentation as CPython reads it: the signature, which it tells on demand, then the text.

    Args:
        name: Name of the function.
        signature: As in Python, in brackets, without annotations.
        text: What help() prints.
    """
    return f"{name}{signature}\n--\n\n{text}"


def array_entry(shapes: list[Shape], output_shape: Shape) -> str:
    """LLVM text of ``entry``, which takes arrays, calls ``program`` with their data, and returns a new array.

    Args:
        shapes: Shapes of the arguments.
        output_shape: Shape of the result.
    """
    lengths = output_shape or (0,)
    pointers = "".join(f"ptr %data{number}, " for number in range(len(shapes)))
    answer = f"""  %result = call ptr @numpy_new_array(ptr @numpy_array_type, i32 {len(output_shape)}, ptr @shape, \
i32 {FLOAT64}, ptr null, ptr null, i32 0, i32 0, ptr null)
  %failed = icmp eq ptr %result, null
  br i1 %failed, label %done, label %compute, !prof !0
compute:
{_field("%result", "ptr", DATA, "out")}
  call void @program({pointers}ptr %out)
  br label %done
done:
  ret ptr %result"""
    otherwise = """  %answer = call ptr @python_call(ptr %self, ptr %arguments, i64 %count, ptr %names)
  ret ptr %answer"""
    return f"""@numpy_array_type = external global i8
@numpy_float64 = external global i8
declare ptr @numpy_new_array(ptr, i32, ptr, i32, ptr, ptr, i32, i32, ptr)
declare ptr @python_call(ptr, ptr, i64, ptr)
@shape = private constant [{len(lengths)} x i64] [{", ".join(f"i64 {length}" for length in lengths)}]
{_entry([_array_check(number, shape) for number, shape in enumerate(shapes)], answer, otherwise)}"""


def counts_entry(message: str, count: int, frame_size: int) -> str:
    """LLVM text of ``entry``, which takes counts as integers, runs ``program`` and returns None.

    Args:
        message: Error message for other arguments.
        count: Number of the counts.
        frame_size: Where in the memory the counts are [float64].
    """
    characters = f"{message}\0".encode()
    escaped = "".join(f"\\{byte:02X}" for byte in characters)
    checks = [
        f"""  %size{number} = call i64 @python_size(ptr %argument{number}, ptr @error_type)
  %word{number} = getelementptr i64, ptr %words, i64 {number}
  store i64 %size{number}, ptr %word{number}
  %right{number} = icmp sge i64 %size{number}, 0"""
        for number in range(count)
    ]
    start = f"""{_field("%self", "ptr", DATA, "frame")}
  %words = getelementptr double, ptr %frame, i64 {frame_size}"""
    answer = """  call void @program(ptr %frame, ptr %words)
  call void @python_keep(ptr @python_none)
  ret ptr @python_none"""
    otherwise = """  call void @python_raise(ptr @error_type, ptr @message)
  ret ptr null"""
    return f"""@error_type = external global i8
@python_none = external global i8
declare i64 @python_size(ptr, ptr)
declare void @python_raise(ptr, ptr)
declare void @python_keep(ptr)
@message = private constant [{len(characters)} x i8] c"{escaped}"
{_entry(checks, answer, otherwise, start)}"""


def _entry(checks: list[str], answer: str, otherwise: str, start: str = "") -> str:
    """The function that CPython calls.

    Args:
        checks: For each argument, instructions that look at ``%argument<number>`` and end with ``%right<number>``.
        answer: Instructions for as many arguments by position as there are checks, each one right.
        otherwise: Instructions for all other calls.
        start: Instructions before everything else.
    """
    blocks = [
        f"""check{number}:
  %place{number} = getelementptr ptr, ptr %arguments, i64 {number}
  %argument{number} = load ptr, ptr %place{number}
{check}
  br i1 %right{number}, label %check{number + 1}, label %otherwise, !prof !1
"""
        for number, check in enumerate(checks)
    ]
    return f"""define ptr @entry(ptr %self, ptr %arguments, i64 %count, ptr %names) nounwind {{
{start}
  %enough = icmp eq i64 %count, {len(checks)}
  %unnamed = icmp eq ptr %names, null
  %expected = and i1 %enough, %unnamed
  br i1 %expected, label %check0, label %otherwise, !prof !1
{"".join(blocks)}check{len(checks)}:
{answer}
otherwise:
{otherwise}
}}
!1 = !{{!"branch_weights", i32 100000, i32 1}}
"""


def _array_check(i: int, shape: Shape) -> str:
    """Check argument ``i``; each field is read only once it must be there."""
    good = C_CONTIGUOUS | ALIGNED
    argument = f"%argument{i}"
    right = [*(f"%right{i}_{axis}" for axis in range(len(shape))), f"%right{i}"]
    lengths = [
        f"""  br i1 {right[axis]}, label %axis{i}_{axis}, label %otherwise, !prof !1
axis{i}_{axis}:
{_field(f"%lengths{i}", "i64", 8 * axis, f"length{i}_{axis}")}
  {right[axis + 1]} = icmp eq i64 %length{i}_{axis}, {length}"""
        for axis, length in enumerate(shape)
    ]
    return f"""{_field(argument, "ptr", TYPE, f"type{i}")}
  %is_array{i} = icmp eq ptr %type{i}, @numpy_array_type
  br i1 %is_array{i}, label %fields{i}, label %otherwise, !prof !1
fields{i}:
{_field(argument, "i32", DIMENSION_COUNT, f"ndim{i}")}
{_field(argument, "ptr", DESCRIPTION, f"dtype{i}")}
{_field(argument, "i32", FLAGS, f"flags{i}")}
{_field(argument, "ptr", DIMENSIONS, f"lengths{i}")}
{_field(argument, "ptr", DATA, f"data{i}")}
  %right_ndim{i} = icmp eq i32 %ndim{i}, {len(shape)}
  %right_dtype{i} = icmp eq ptr %dtype{i}, @numpy_float64
  %good_flags{i} = and i32 %flags{i}, {good}
  %right_flags{i} = icmp eq i32 %good_flags{i}, {good}
  %two{i} = and i1 %right_ndim{i}, %right_dtype{i}
  {right[0]} = and i1 %two{i}, %right_flags{i}
{chr(10).join(lengths)}"""


def _field(pointer: str, kind: str, offset: int, name: str) -> str:
    """Read a field of an object."""
    return f"  %{name}_at = getelementptr i8, ptr {pointer}, i64 {offset}\n  %{name} = load {kind}, ptr %{name}_at"


def _function_table() -> ctypes.Array:
    """NumPy's table of C functions."""
    core = getattr(np, "_core", None) or np.core
    capsule = core._multiarray_umath._ARRAY_API
    read = ctypes.pythonapi.PyCapsule_GetPointer
    read.restype, read.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return (ctypes.c_void_p * (_NEW_ENTRY + 1)).from_address(read(capsule, None))


def symbols() -> dict[str, int]:
    """Addresses of the functions that entries call and the objects they compare with, by the names they use."""
    table = _function_table()
    python = {
        name: int(ctypes.cast(getattr(ctypes.pythonapi, function), ctypes.c_void_p).value or 0)
        for name, function in _PYTHON_FUNCTIONS.items()
    }
    return python | {
        "numpy_array_type": id(np.ndarray),
        "numpy_float64": id(np.dtype(np.float64)),
        "numpy_new_array": int(table[_NEW_ENTRY]),
        "python_none": id(None),
        "error_type": id(InputError),
    }


@functools.cache
def unsupported_reason() -> str | None:
    """The reason against entries in this process; None if they are supported."""
    if sys.implementation.name != "cpython":
        return f"the interpreter is {sys.implementation.name}, not CPython"
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        return "this build of Python has no global interpreter lock"
    if ctypes.sizeof(ctypes.c_void_p) != 8:
        return "pointers are not of 64 bits"
    try:
        table = _function_table()
        version = ctypes.CFUNCTYPE(ctypes.c_uint)(table[_VERSION_ENTRY])()
        if version not in _KNOWN_INTERFACES:
            return f"NumPy's binary interface is {version:#x}, of which nothing is known"
        if table[_TYPE_ENTRY] != id(np.ndarray):
            return "NumPy's table of C functions is arranged differently"
        if not all(symbols().values()):
            return "a C function is missing"
    except (AttributeError, ValueError, ctypes.ArgumentError) as error:
        return f"NumPy's table of C functions cannot be read ({error})"
    samples = (np.zeros((2, 3)), np.zeros((3, 2)).T, np.zeros(4)[::2], np.zeros(()), np.zeros(3, dtype=np.int32))
    differences = [_array_difference(sample) for sample in samples]
    return next((difference for difference in differences if difference), None) or _new_array_difference()


def _array_difference(array: np.ndarray) -> str | None:
    """The first difference of an array object in memory from the assumptions; None if there is none."""
    address = id(array)

    def pointer(offset: int) -> int | None:
        return ctypes.c_void_p.from_address(address + offset).value

    count = ctypes.c_int.from_address(address + DIMENSION_COUNT).value
    if count != array.ndim:
        return "an array's number of dimensions is kept elsewhere"
    dimensions = pointer(DIMENSIONS)
    lengths = tuple((ctypes.c_ssize_t * count).from_address(dimensions)) if count and dimensions else ()
    flags = ctypes.c_int.from_address(address + FLAGS).value
    same = {
        "type": pointer(TYPE) == id(type(array)),
        "data": pointer(DATA) == array.__array_interface__["data"][0],
        "shape": lengths == array.shape,
        "dtype": pointer(DESCRIPTION) == id(array.dtype),
        "flags": flags == array.flags.num,
        "contiguity": bool(flags & C_CONTIGUOUS) == array.flags.c_contiguous,
        "alignment": bool(flags & ALIGNED) == array.flags.aligned,
    }
    return next((f"an array's {field} is kept elsewhere" for field, equal in same.items() if not equal), None)


def _new_array_difference() -> str | None:
    """The difference of an array made by NumPy's PyArray_New from the assumptions; None if there is none."""
    new = ctypes.PYFUNCTYPE(
        ctypes.py_object,
        *(ctypes.c_void_p, ctypes.c_int, ctypes.POINTER(ctypes.c_ssize_t), ctypes.c_int),
        *(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_int, ctypes.c_void_p),
    )(symbols()["numpy_new_array"])
    made = new(id(np.ndarray), 2, (ctypes.c_ssize_t * 2)(3, 5), FLOAT64, None, None, 0, 0, None)
    if type(made) is np.ndarray and made.dtype is np.dtype(np.float64) and made.shape == (3, 5) and made.flags.owndata:
        return None
    return "NumPy's PyArray_New makes another array than asked for"
