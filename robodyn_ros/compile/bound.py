"""`Bound`: a procedure with memory of its own, for a hot loop."""

import ctypes
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robodyn_ros.compile import c_api
from robodyn_ros.compile.bound_text import counts_message
from robodyn_ros.compile.compiled_program import CompiledProgram
from robodyn_ros.compile.fast_call import METHOD_FLAGS, MethodDefinition
from robodyn_ros.compile.program import Program
from robodyn_ros.errors import InputError


class _Memory(np.ndarray):
    """Frame and counts, and what must live as long as the function that uses them."""

    keeps: tuple[Any, ...]


class Bound:
    """A procedure whose variables stay where they are from one run to the next.

    ``bound["q"]`` is the variable q as an array: the same one for good, to read, write in place and keep.
    ``bound["q"] = values`` writes it. ``bound.run(*counts)`` runs the program once. It makes no arrays, sets no
    variable to zero, and holds the GIL: for runs of more than milliseconds, call the procedure instead. Variables that
    the program neither reads nor has as outputs are not written. One thread at a time may use it.

    Args:
        program: What is done; it has neither sequences nor records.
        form: Its code for one sample.
        name: What error messages call it.

    Attributes:
        run: Runs the program; takes the counts in the order of `Program.counts`.
    """

    __slots__ = ("_views", "run")

    run: Callable[..., None]

    def __init__(self, program: Program, form: CompiledProgram, name: str) -> None:
        size = form.frame_size
        memory = np.zeros(size + max(1, form.word_count)).view(_Memory)
        plain = memory.view(np.ndarray)
        self._views = {variable: form.view(plain, variable) for variable in program.variables}
        if c_api.unsupported_reason() is None:
            definition = MethodDefinition(b"run", form.code["entry"], METHOD_FLAGS, b"run\n--\n\nRun the program once.")
            memory.keeps = (form.code, definition)
            make = ctypes.pythonapi.PyCFunction_NewEx
            make.restype = ctypes.py_object
            make.argtypes = [ctypes.POINTER(MethodDefinition), ctypes.py_object, ctypes.c_void_p]
            self.run = make(ctypes.byref(definition), memory, None)
        else:
            self.run = _plain_run(form, plain, counts_message(name, program.counts), len(program.counts))

    def __getitem__(self, variable: str) -> NDArray[np.float64]:
        """A variable, in place."""
        return self._views[variable]

    def __setitem__(self, variable: str, values: ArrayLike) -> None:
        """Write a variable."""
        self._views[variable][...] = values


def _plain_run(form: CompiledProgram, memory: NDArray[np.float64], message: str, count: int) -> Callable[..., None]:
    """``run`` by way of ctypes."""
    size = form.frame_size
    words = memory[size : size + count].view(np.int64)

    def run(*counts: int) -> None:
        try:
            given = [operator.index(value) for value in counts]
        except TypeError as error:
            raise InputError(message) from error
        if len(given) != count or not all(0 <= value < 2**63 for value in given):
            raise InputError(message)
        words[:] = given
        form.function(memory.ctypes.data, memory.ctypes.data + 8 * size)

    return run
