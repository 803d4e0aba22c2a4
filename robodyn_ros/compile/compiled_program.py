# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Machine code of a traced program: its statements as LLVM assembly, compiled and linked.

All variables live in one block of memory, the frame, behind the LLVM pointer ``block``: one number per element, or one
vector with a sample per lane. A second block, the words, holds loop counts and descriptions of the caller's arrays. A
program with a single computation can instead work in place, on the caller's arrays.
"""

import ctypes
import math
from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.compile import python_entry
from robodyn_ros.compile.batch_abi import ROW_WORDS, row_words, share_samples
from robodyn_ros.compile.llvm_text import FunctionText, function, literal
from robodyn_ros.compile.lowering import Lowered, Memory, Place, lower
from robodyn_ros.compile.machine import Code, compile_module, host
from robodyn_ros.compile.products import ProductsTape, products_text
from robodyn_ros.compile.program import Arrays, Compute, Repeat, Statement, TracedProgram, walk
from robodyn_ros.compile.runtime import Runtime
from robodyn_ros.compile.tape import Tape

MAX_SINGLE_LANES = 4
"""Greatest number of lanes for the angles of a single call: after 512-bit vectors scalar code runs at half the rate."""

PAGE = 4096
"""Alignment of the stack of a batch [bytes]: its position within a page can change the speed by a fifth."""


class ProgramText:
    """A module with the exported function of a program, for blocks of ``width`` samples or for one sample.

    - One sample: ``program(block, words)``; the words are the counts, then sequences and records as `ROW_WORDS`.
    - One sample in place, for a program of one computation: ``program(in0, in1, ..., out0)``.
    - Blocks: ``batch(first, end, words, block)``; the words also describe inputs and outputs.

    Attributes:
        text: The module.
        routines: Modules of algorithms that it calls.
        places: Position of each variable in the frame.
        frame_size: Size of the frame [numbers or vectors].
        arrays: Role (sequence, record, input or output) and name of each array in the words.
    """

    def __init__(self, traced: TracedProgram, width: int, in_place: bool = False) -> None:
        self._traced, self._program, self._width = traced, traced.program, width
        lanes = min(host().lanes, MAX_SINGLE_LANES) if width == 1 else width
        self._runtime, self._text = Runtime(width, lanes, host().fused), FunctionText(width)
        self._sizes = {name: math.prod(shape) for name, shape in traced.variables.items()}
        self.frame_size = 0
        self.arrays: list[tuple[str, str]] = []
        body = self._in_place() if in_place else self._in_frame()
        self.text, self.routines = self._runtime.text() + body, tuple(self._runtime.routines.values())

    def _in_place(self) -> str:
        ((statement, tape),) = self._traced.tapes.items()
        self.places = {name: Place(f"in{number}", 0) for number, name in enumerate(self._program.inputs)}
        self.places |= {name: Place("out0", 0) for name in self._program.outputs}
        pointers = [place.pointer for place in self.places.values()]
        lowered = self._lower(statement, tape, (*pointers, "spill"), Place("spill", 0), "")
        given = ", ".join(f"ptr noalias %{name}" for name in pointers)
        spill = f"  %spill = alloca [{lowered.spill_slots} x double], align 64"
        return lowered.functions + self._function(f"void @program({given})", [spill, lowered.body])

    def _in_frame(self) -> str:
        program = self._program
        self.places = {name: self._reserve(size) for name, size in self._sizes.items()}
        described = {"sequence": tuple(program.sequences), "record": tuple(program.records)}
        if self._width > 1:
            described |= {"input": program.inputs, "output": program.outputs}
        self.arrays = [(role, name) for role, names in described.items() for name in names]
        # One function per computation; they share one section of the frame for their spill slots.
        self._functions = {statement: f"compute{number}" for number, statement in enumerate(self._traced.tapes)}
        spill, largest, texts = Place("block", self.frame_size), 0, []
        for statement, tape in self._traced.tapes.items():
            name = self._functions[statement]
            lowered = self._lower(statement, tape, ("block",), spill, f"{name}_")
            largest = max(largest, lowered.spill_slots)
            head = f"internal void @{name}(ptr noalias %block) noinline"
            texts += [lowered.functions, self._function(head, [lowered.body])]
        self.frame_size += largest
        if self._width == 1:
            self._statements(self._traced.statements)
            head = "void @program(ptr noalias %block, ptr noalias %words)"
        else:
            self._batch()
            head = "void @batch(i64 %first, i64 %end, ptr noalias %words, ptr noalias %block)"
        return "".join([*texts, self._function(head, self._text.lines)])

    def _function(self, head: str, lines: list[str]) -> str:
        return function(f"{head} {self._runtime.attributes}", lines)

    def _reserve(self, size: int) -> Place:
        """Add a section to the frame; sections are whole squares of vectors, as `Runtime.mover` needs them."""
        start = self.frame_size
        self.frame_size += -(-size // self._width) * self._width
        return Place("block", start)

    def _lower(self, statement: Compute, tape: Tape, pointers: tuple[str, ...], spill: Place, prefix: str) -> Lowered:
        inputs = [self.places[name].at(element) for name in statement.inputs for element in range(self._sizes[name])]
        outputs = [self.places[name].at(element) for name, element in self._traced.results[statement]]
        memory = Memory(pointers, inputs, outputs, spill)
        if statement in self._traced.invariants:
            return lower(tape, memory, self._runtime, prefix, contracts=False)
        if not isinstance(statement.function, Tape):  # a formula is rounded alike whatever else the program computes
            tape = tape.contracted(shared=True)
        return (self._lower_products(tape, memory, prefix) if isinstance(tape, ProductsTape) else
                lower(tape, memory, self._runtime, prefix))

    def _lower_products(self, tape: ProductsTape, memory: Memory, prefix: str) -> Lowered:
        """The factors, stored in the first spill slots, and then the loops."""
        runtime, size, name, spill = self._runtime, len(tape.outputs), f"{prefix}products", memory.spill
        kept = memory._replace(outputs=[spill.at(element) for element in range(size)], spill=spill.at(size))
        lowered = lower(tape.factors, kept, runtime, prefix)
        call = [f"  %{label} = getelementptr {self._text.kind}, ptr %{place.pointer}, i64 {place.offset}"
                for label, place in (("factors", spill), ("result", memory.outputs[0]))]
        call.append(f"  call void @{name}(ptr %factors, ptr %result)")
        loops = products_text(name, tape.pattern, self._width, runtime.lanes, runtime.attributes)
        return Lowered("\n".join([lowered.body, *call]), lowered.functions + loops, size + lowered.spill_slots)

    def _at(self, place: Place) -> str:
        """The pointer to a place in the frame."""
        return self._text.at(f"%{place.pointer}", place.offset, self._text.kind)

    def _statements(self, statements: Iterable[Statement]) -> None:
        for statement in statements:
            if isinstance(statement, Compute):
                self._text.line(f"call void @{self._functions[statement]}(ptr %block)")
                continue
            count: int | str = statement.count
            if isinstance(count, str):
                count = self._text.read("%words", self._program.counts.index(count), "i64")
            if statement.flag is None:
                self._text.loop("0", count, 1, partial(self._round, statement))
            else:
                self._repeat_while(statement, statement.flag, count)

    def _round(self, loop: Repeat, number: str) -> None:
        for variable, sequence in loop.read.items():
            self._move("sequence", sequence, variable, number)
        self._statements(loop.statements)
        for record, variable in loop.record.items():
            self._move("record", record, variable, number)

    def _repeat_while(self, statement: Repeat, flag: str, most: int | str) -> None:
        """Finished lanes are restored after each round, except a first round that every lane executes."""
        text, align = self._text, 8 * self._width
        head, done, round_, active = text.new("head"), text.new("done"), text.new("%round"), text.new("%active")
        begin = "zeroinitializer"
        if statement.at_least:
            text.jump(head)
        else:
            begin, any_ = self._flag(flag)
            text.branch(any_, head, done)
        before = text.block
        text.label(head)
        place = len(text.lines)
        changed = {name for inner in walk(statement.statements) if isinstance(inner, Compute)
                   for name, _ in self._traced.results[inner]} if self._width > 1 else ()
        kept = [(self.places[name], self._reserve(size), size) for name, size in self._sizes.items() if name in changed]

        def keep() -> None:
            for now, old, size in kept:
                text.copy(self._at(old), self._at(now), align * size, align)

        def restore() -> None:
            merge = self._runtime.mover("merge")
            for now, old, size in kept:
                given = f"ptr {self._at(now)}, ptr {self._at(old)}, i64 {size}, {text.truth} {active}"
                text.line(f"call void @{merge}({given})")

        if kept:
            first = text.let(f"icmp eq i64 {round_}, {0 if statement.at_least else -1}")  # every lane executes it
            text.when(first, None, keep)
        self._statements(statement.statements)
        if kept:
            text.when(first, None, restore)
        positive, any_ = self._flag(flag)
        following = text.let(f"add i64 {round_}, 1")
        room = text.let(f"icmp slt i64 {following}, {most}")
        again = text.let(f"and i1 {any_}, {room}")
        text.phi(place, active, text.truth, (begin, before), (positive, text.block))
        text.phi(place, round_, "i64", ("0", before), (following, text.block))
        text.branch(again, head, done)
        text.label(done)

    def _flag(self, name: str) -> tuple[str, str]:
        """Compare a flag with 0: whether it is positive in each lane, and whether in any."""
        text = self._text
        value = text.load(self._at(self.places[name]), align=8 * self._width)
        positive = text.let(f"fcmp ogt {text.kind} {value}, {literal(0.0, self._width)}")
        return positive, text.any(positive)

    def _move(self, role: str, name: str, variable: str, step: str = "0") -> None:
        """Move a row between a caller's array and a variable."""
        text, size, here = self._text, self._sizes[variable], self._at(self.places[variable])
        first = len(self._program.counts) + ROW_WORDS * self.arrays.index((role, name))
        base = text.read("%words", first, "ptr")
        distance, later, streamed = (text.read("%words", first + place, "i64") for place in (1, 2, 3))
        row = text.at(base, text.let(f"mul i64 {step}, {later}"), "i8")
        if self._width == 1:
            target, source = (here, row) if role == "sequence" else (row, here)
            text.copy(target, source, 8 * size)
            return
        row = text.at(row, text.let(f"mul i64 {self._row}, {distance}"), "i8")
        mover = {"sequence": "pack", "input": "pack", "record": "unpack", "output": "stream"}[role]
        more = f", ptr {self._aside}, i64 {streamed}" if mover == "stream" else ""
        text.line(f"call void @{self._runtime.mover(mover)}(ptr {row}, i64 {distance}, i64 {size}, ptr {here}{more})")

    def _batch(self) -> None:
        """The loop over blocks of samples: inputs in, the statements, outputs out."""
        text, align = self._text, 8 * self._width
        text.line(f"%page = alloca i8, align {PAGE}")  # aligns the stack, once something is stored there
        text.line("store volatile i8 0, ptr %page")
        last = text.let(f"sub i64 %end, {self._width}")  # the last block is full and may recompute some rows
        rows = self._reserve(max((self._sizes[name] for name in self._program.outputs), default=0))
        self._aside = self._at(rows)
        first = next(iter(self._traced.statements), None)  # variables that it only writes need no zeros before
        overwritten = set(first.output_names) - set(first.inputs) if isinstance(first, Compute) else ()

        def block(row: str) -> None:
            self._row = text.let(f"call i64 @llvm.smin.i64(i64 {row}, i64 {last})")
            for name, size in self._sizes.items():
                if name in self._program.inputs:
                    self._move("input", name, name)
                elif name not in overwritten:
                    text.clear(self._at(self.places[name]), align * size, align)
            self._statements(self._traced.statements)
            for name in self._program.outputs:
                self._move("output", name, name)

        text.loop("%first", "%end", self._width, block, at_least_once=True)
        text.line("fence seq_cst")


class CompiledProgram:
    """Machine code of a program, see `ProgramText`.

    Attributes:
        program: The program.
        frame_size: Size of the frame [numbers or vectors].
        code: The machine code; for one sample, it exports ``entry``, which Python calls.
        function: ``program`` or ``batch`` as a ctypes function, which releases the GIL.
    """

    def __init__(self, traced: TracedProgram, width: int, in_place: bool = False) -> None:
        self.program = program = traced.program
        layout = ProgramText(traced, width, in_place)  # not kept: for a large robot the text takes megabytes
        self._places, self._arrays, self.frame_size = layout.places, layout.arrays, layout.frame_size
        self._width = width
        text, exports, symbols = layout.text, ["batch" if width > 1 else "program"], {}
        if width == 1:
            shapes = program.variables
            text += (python_entry.array_entry([shapes[each] for each in program.inputs], shapes[program.outputs[0]])
                     if in_place else python_entry.counts_entry(len(program.counts), self.frame_size))
            exports.append("entry")
            symbols = python_entry.symbols()
        self.code = Code(compile_module(text, layout.routines), tuple(exports), symbols)
        word, address = ctypes.c_int64, ctypes.c_void_p
        arguments = [word, word, address, address] if width > 1 else [address, address]
        self.function = self.code.function(exports[0], None, *arguments)

    def view(self, frame: NDArray[np.float64], variable: str) -> NDArray[np.float64]:
        """A variable of one sample, as a view of its frame."""
        shape, start = self.program.variables[variable], self._places[variable].offset
        return frame[start : start + math.prod(shape)].reshape(shape)

    def run(self, frame: NDArray[np.float64], counts: Iterable[int], sequences: Arrays, records: Arrays) -> None:
        """Run the program once on a frame; sequences and records have a first axis of length 1."""
        words, _kept = self.words(counts, sequences, records)
        self.function(frame.ctypes.data, words.ctypes.data)

    def run_batch(self, samples: int, threads: int, counts: Iterable[int], given: Arrays, results: Arrays) -> None:
        """Run the program for many samples, divided among threads; the first axis of every array numbers the samples.

        ``given`` has inputs and sequences; ``results`` receives outputs and records, and has contiguous rows.
        """
        if 0 < samples < self._width:  # a block must be full: copy the last sample
            places = np.minimum(np.arange(self._width), samples - 1)
            complete = {name: np.empty((self._width, *array.shape[1:])) for name, array in results.items()}
            copies = {name: array[places] if samples > 1 and array.strides[0] else
                      np.broadcast_to(array[:1], (self._width, *array.shape[1:])) for name, array in given.items()}
            self.run_batch(self._width, threads, counts, copies, complete)
            for name, array in results.items():
                array[...] = complete[name][:samples]
            return
        words, _kept = self.words(counts, given, results)

        def compute(first: int, end: int, memory: int) -> None:
            self.function(first, end, words.ctypes.data, memory)

        share_samples(samples, self._width, threads, self.frame_size * self._width, compute)

    def words(self, counts: Iterable[int], given: Arrays, results: Arrays) -> tuple[NDArray[np.int64], Any]:
        """The words, and the arrays to keep alive while the words are used."""
        arrays = {"input": given, "sequence": given, "output": results, "record": results}
        rows, kept = row_words((arrays[role][name], role) for role, name in self._arrays)
        return np.array([*counts, *rows], dtype=np.int64), kept
