"""What compiled code may rely on in CPython and NumPy, checked before it does.

Code that is called by Python without a wrapper reads arguments and makes results through the C interfaces of both. Of
CPython it uses documented functions. Of NumPy it uses the leading fields of ``PyArrayObject_fields`` and entries of its
table of C functions, which together are the binary interface that extension modules compiled long ago rely on. The
checks below compare each of these with what Python says about a sample array. Where one differs (another interpreter, a
build without the GIL, a NumPy of the future), nothing is assumed and `unsupported_reason` says why.
"""

import ctypes
import functools
import sys
import sysconfig

import numpy as np

from robodyn_ros.errors import InputError

DATA, DIMENSION_COUNT, DIMENSIONS, DESCRIPTION, FLAGS = 16, 24, 32, 56, 64
"""Offsets in an array object [bytes]."""

TYPE = 8
"""Offset of the type in every object [bytes]."""

C_CONTIGUOUS, ALIGNED = 0x1, 0x100
"""Bits of an array's flags."""

FLOAT64 = 12
"""NumPy's number for the type double."""

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


def _function_table() -> ctypes.Array:
    """NumPy's table of C functions."""
    core = getattr(np, "_core", None) or np.core
    capsule = core._multiarray_umath._ARRAY_API
    read = ctypes.pythonapi.PyCapsule_GetPointer
    read.restype, read.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return (ctypes.c_void_p * (_NEW_ENTRY + 1)).from_address(read(capsule, None))


def symbols() -> dict[str, int]:
    """Addresses of what compiled code calls or compares with, by the name it uses."""
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
    """Why compiled code must not use the C interfaces here; None if it may."""
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
    """How an array object in memory differs from what is assumed of it."""
    address, interface = id(array), array.__array_interface__
    count = ctypes.c_int.from_address(address + DIMENSION_COUNT).value
    if count != array.ndim:
        return "an array's number of dimensions is kept elsewhere"
    dimensions = ctypes.c_void_p.from_address(address + DIMENSIONS).value
    lengths = tuple((ctypes.c_ssize_t * count).from_address(dimensions)) if count and dimensions else ()
    flags = ctypes.c_int.from_address(address + FLAGS).value
    same = {
        "type": ctypes.c_void_p.from_address(address + TYPE).value == id(type(array)),
        "data": ctypes.c_void_p.from_address(address + DATA).value == interface["data"][0],
        "shape": lengths == array.shape,
        "dtype": ctypes.c_void_p.from_address(address + DESCRIPTION).value == id(array.dtype),
        "flags": flags == array.flags.num,
        "contiguity": bool(flags & C_CONTIGUOUS) == array.flags.c_contiguous,
        "alignment": bool(flags & ALIGNED) == array.flags.aligned,
    }
    return next((f"an array's {field} is kept elsewhere" for field, equal in same.items() if not equal), None)


def _new_array_difference() -> str | None:
    """How what NumPy's PyArray_New makes differs from what is assumed of it."""
    new = ctypes.PYFUNCTYPE(
        ctypes.py_object,
        *(ctypes.c_void_p, ctypes.c_int, ctypes.POINTER(ctypes.c_ssize_t), ctypes.c_int),
        *(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_int, ctypes.c_void_p),
    )(symbols()["numpy_new_array"])
    made = new(id(np.ndarray), 2, (ctypes.c_ssize_t * 2)(3, 5), FLOAT64, None, None, 0, 0, None)
    if type(made) is np.ndarray and made.dtype is np.dtype(np.float64) and made.shape == (3, 5) and made.flags.owndata:
        return None
    return "NumPy's PyArray_New makes another array than asked for"
