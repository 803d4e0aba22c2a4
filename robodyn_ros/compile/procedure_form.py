"""A program compiled for one sample, or for blocks of samples."""

import ctypes
import math

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.compile import c_api
from robodyn_ros.compile.bound_text import entry_text
from robodyn_ros.compile.fusion import TracedProgram
from robodyn_ros.compile.kernel import SINGLE_LANES
from robodyn_ros.compile.layout_text import ROW_WORDS
from robodyn_ros.compile.lowering import Helpers
from robodyn_ros.compile.machine import Code, compile_module, host
from robodyn_ros.compile.procedure_text import ProcedureText
from robodyn_ros.compile.program import Program


class Form:
    """Machine code of a program.

    Args:
        program: What is done.
        traced: Its statements, with what their computations do.
        width: Samples in a block; 1 for one sample.
        name: What error messages call it.

    Attributes:
        text: How the frame and the words are laid out.
        code: The machine code; for one sample it has an ``entry`` for `Bound` where `c_api.obstacle` is None.
        function: ``function(frame, words)``, or for blocks ``function(first, end, words, frame)``, all addresses.
        word_count: How many words there are.
    """

    def __init__(self, program: Program, traced: TracedProgram, width: int, name: str) -> None:
        self._program = program
        lanes = min(host().lanes, SINGLE_LANES) if width == 1 else width
        self.text = ProcedureText(program, traced, Helpers(width, lanes, host().fused))
        self.word_count = len(program.counts) + ROW_WORDS * len(self.text.arrays)
        word, address = ctypes.c_int64, ctypes.c_void_p
        text = self.text.text
        if width > 1:
            self.code = Code(compile_module(text), ("batch",), {})
            self.function = self.code.function("batch", None, word, word, address, address)
            return
        if c_api.obstacle() is None:
            text += entry_text(name, program.counts, self.text.frame_size)
            self.code = Code(compile_module(text), ("program", "entry"), c_api.symbols())
        else:
            self.code = Code(compile_module(text), ("program",), {})
        self.function = self.code.function("program", None, address, address)

    def array_word(self, role: str, name: str) -> int:
        """Position of the first word of an array."""
        return len(self._program.counts) + ROW_WORDS * self.text.arrays.index((role, name))

    def view(self, frame: NDArray[np.float64], name: str) -> NDArray[np.float64]:
        """A variable of one sample, in its frame."""
        shape, start = self._program.variables[name], self.text.starts[name]
        return frame[start : start + math.prod(shape)].reshape(shape)
