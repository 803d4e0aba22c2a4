"""`Kernel`: a traced function as machine code, called from Python."""

import ctypes
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from robodyn_ros.compile.lowering import single_module
from robodyn_ros.compile.machine import Code, compile_module, host
from robodyn_ros.compile.tape import Shape, Tape, trace
from robodyn_ros.errors import InputError


def compile_function(function: Callable[..., Any], inputs: Mapping[str, Shape], name: str | None = None) -> "Kernel":
    """Trace a function and compile what it does for this processor.

    Args:
        function: Takes one array per input, in this order, and returns an array; see `trace`.
        inputs: Shape of each input, by name.
        name: What error messages call it; the function's name if not given.

    Raises:
        CompileError: The function cannot be traced or compiled.
    """
    return Kernel(trace(function, inputs), name or getattr(function, "__name__", "function"))


class Kernel:
    """A compiled function of float64 arrays."""

    def __init__(self, tape: Tape, name: str) -> None:
        """Compile a tape."""
        self.tape = tape
        self.name = name
        image = compile_module(single_module(tape, host().lanes, host().fused))
        self._code = Code(image, ("single",), {})
        self._single = self._code.function("single", None, *[ctypes.c_void_p] * (len(tape.inputs) + 1))

    def __call__(self, *arrays: Any) -> np.ndarray:
        """Compute the function for one sample."""
        if len(arrays) != len(self.tape.inputs):
            raise InputError(f"{self.name} takes {len(self.tape.inputs)} arrays, received {len(arrays)}")
        checked = []
        for (name, shape), given in zip(self.tape.inputs.items(), arrays, strict=True):
            array = np.ascontiguousarray(given, dtype=np.float64)
            if array.shape != shape:
                raise InputError(f"{self.name}: {name}: expected shape {shape}, received {array.shape}")
            checked.append(array)
        result = np.empty(self.tape.output_shape)
        self._single(*(array.ctypes.data for array in checked), result.ctypes.data)
        return result

    def batch(self, *arrays: Any) -> np.ndarray:
        """Compute the function for each row of its arguments."""
        return np.stack([self(*row) for row in zip(*arrays, strict=True)])
