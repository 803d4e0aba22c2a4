# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""A tape as LLVM assembly: each traced value becomes a number, or a vector with a sample per lane."""

from typing import Any, NamedTuple

from robodyn_ros.compile import operations as op
from robodyn_ros.compile.llvm_text import float_type, function, literal, mangled, struct_type, truth_type
from robodyn_ros.compile.quadratic_program import Sizes
from robodyn_ros.compile.runtime import Runtime, program_memory
from robodyn_ros.compile.schedule import Step, schedule
from robodyn_ros.compile.tape import Tape, collector_paused

MAX_STORES = 250
"""Greatest number of results that are inputs or constants and are stored by one function."""

MAX_ANGLES_IN_STEP = 3
"""Greatest number of angles of a sample whose sines and cosines a batch computes in step: registers are few."""


class Place(NamedTuple):
    """The memory of a number or vector: an LLVM pointer and the distance from it, in numbers or vectors."""

    pointer: str
    offset: int

    def at(self, further: int) -> "Place":
        """The place at a further distance."""
        return Place(self.pointer, self.offset + further)


class Memory(NamedTuple):
    """LLVM pointers that functions take; places of all elements of inputs and results; the first spill slot."""

    pointers: tuple[str, ...]
    inputs: list[Place]
    outputs: list[Place]
    spill: Place


class Lowered(NamedTuple):
    """LLVM text of a tape: the body of a function that takes `Memory.pointers`, and the functions that it calls."""

    body: str
    functions: str
    spill_slots: int


@collector_paused()
def lower(tape: Tape, memory: Memory, runtime: Runtime, prefix: str = "", contracts: bool = True) -> Lowered:
    """Write a tape as LLVM assembly; a result may replace an input.

    The names of its pieces begin with ``prefix``. With ``contracts``, a product that is used by a single sum is rounded
    together with it.
    """
    writer = _Writer(tape.contracted(shared=False) if contracts else tape, memory, runtime)
    plan, outputs = writer.plan, writer.outputs
    uncomputed = [entry for entry in outputs if writer.codes[entry] <= op.CONSTANT]
    copies: list[tuple[Place, Place]] = []
    if len(plan.pieces) > 1 or sum(len(outputs[entry]) for entry in uncomputed) > MAX_STORES:
        copies = writer.defer_replacements()
    calls = writer.reserve_calls(plan.slot_count + len(copies))
    # The last of these stores (often the only ones) go into the first piece that computes.
    for stores in _chunks([(entry, place) for entry in uncomputed for place in outputs[entry]]) or [[]]:
        writer.begin()
        for entry, place in stores:
            writer.store_result(place, writer.value(entry))
    for number, steps in enumerate(plan.pieces):
        if number > 0:
            writer.begin()
        for step in steps:
            writer.add(step)
    for chunk in _chunks(copies):
        writer.begin()
        for number, (source, target) in enumerate(chunk):
            writer.store(target, writer.load(source, f"%deferred{number}"))
    slot_count, pieces = plan.slot_count + len(copies) + calls, writer.pieces
    if len(pieces) == 1:
        return Lowered("\n".join(pieces[0]), "", slot_count)
    parameters = ", ".join(f"ptr noalias %{pointer}" for pointer in memory.pointers)
    arguments = ", ".join(f"ptr %{pointer}" for pointer in memory.pointers)
    functions = [function(f"internal void @{prefix}piece{number}({parameters}) noinline {runtime.attributes}", lines)
                 for number, lines in enumerate(pieces)]
    body = "\n".join(f"  call void @{prefix}piece{number}({arguments})" for number in range(len(pieces)))
    return Lowered(body, "".join(functions), slot_count)


def _chunks(items: list[Any]) -> list[list[Any]]:
    return [items[start : start + MAX_STORES] for start in range(0, len(items), MAX_STORES)]


class _Writer:
    """Writes a tape piece by piece.

    Attributes:
        plan: The schedule.
        codes: Operation code of each entry.
        outputs: Places to store each entry at, except those that already hold it.
        pieces: The lines of each piece.
    """

    def __init__(self, tape: Tape, memory: Memory, runtime: Runtime) -> None:
        self._memory, self._runtime, self._width = memory, runtime, runtime.width
        self._kind, self._alignment = float_type(runtime.width), 8 * runtime.width
        self.plan = schedule(tape, runtime.lanes if runtime.width == 1 else MAX_ANGLES_IN_STEP)
        self.codes: list[int] = tape.codes.tolist()  # reading single elements of a list is faster than of an array
        self._operands: list[list[int]] = tape.operands.tolist()
        self._constants: list[float] = tape.constants.tolist()
        self._readers: dict[Place, list[int]] = {}  # input entries by their place
        for entry, code in enumerate(self.codes):
            if code == op.INPUT:
                self._readers.setdefault(memory.inputs[self._operands[entry][0]], []).append(entry)
        self.outputs: dict[int, list[Place]] = {}
        for place, entry in zip(memory.outputs, tape.outputs.tolist(), strict=True):
            if entry not in self._readers.get(place, ()):
                self.outputs.setdefault(entry, []).append(place)
        self.pieces: list[list[str]] = []

    def defer_replacements(self) -> list[tuple[Place, Place]]:
        """Store results that replace inputs in extra slots; return the copies to make at the end."""
        copies: list[tuple[Place, Place]] = []
        for places in self.outputs.values():
            for number, place in enumerate(places):
                if place in self._readers:
                    places[number] = self._memory.spill.at(self.plan.slot_count + len(copies))
                    copies.append((places[number], place))
        return copies

    def reserve_calls(self, first: int) -> int:
        """Reserve memory after the slots, from ``first`` on, for each quadratic program; return its size."""
        self._calls: dict[int, tuple[Sizes, Place]] = {}
        self._arguments: dict[int, list[Place]] = {}  # where a pair of arguments goes, for each program that uses it
        taken = 0
        for entry in [entry for entry, code in enumerate(self.codes) if code == op.QUADRATIC_PROGRAM]:
            pair, *given = self._operands[entry]
            sizes = Sizes(*(int(self._constants[self._operands[number][0]]) for number in given))
            memory = self._memory.spill.at(first + taken)
            self._calls[entry] = sizes, memory
            place = sizes.arguments
            while self.codes[pair] == op.ARGUMENTS:
                place -= 2
                self._arguments.setdefault(pair, []).append(memory.at(place))
                pair = self._operands[pair][0]
            taken += program_memory(sizes, self._width)
        return taken

    def begin(self) -> None:
        """Begin a piece."""
        self.pieces.append([])
        self.lines = self.pieces[-1]
        self._names: dict[int, str] = {}
        self._truths: dict[int, str] = {}  # comparisons, before they become numbers
        self._addresses = 0

    def add(self, step: Step) -> None:
        """Compute a step."""
        if isinstance(step, tuple):
            self._sincos(step)
        elif self.codes[step] in op.ROUTINE:
            self._call(step)
        else:
            name = f"%v{step}"
            self.lines.append(f"  {name} = {self._instruction(step, name)}")
            self._made(step, name)

    def value(self, entry: int) -> str:
        """LLVM value of an entry; loaded if another piece computed it."""
        name = self._names.get(entry)
        if name is None:
            code, number = self.codes[entry], self._operands[entry][0]
            if code == op.CONSTANT:
                name = literal(self._constants[number], self._width)
            else:
                memory = self._memory
                place = memory.inputs[number] if code == op.INPUT else memory.spill.at(self.plan.slots[entry])
                name = self.load(place, f"%v{entry}")
            self._names[entry] = name
        return name

    def load(self, place: Place, name: str) -> str:
        """Load a number or vector and name it."""
        address = self._address(place)
        self.lines.append(f"  {name} = load {self._kind}, ptr {address}, align {self._alignment}")
        return name

    def store(self, place: Place, name: str) -> None:
        """Store a number or vector."""
        address = self._address(place)
        self.lines.append(f"  store {self._kind} {name}, ptr {address}, align {self._alignment}")

    def store_result(self, place: Place, name: str) -> None:
        """Store a result after loading the input that it may replace."""
        for entry in self._readers.get(place, ()):
            self.value(entry)
        self.store(place, name)

    def _address(self, place: Place) -> str:
        self._addresses += 1
        name = f"%p{self._addresses}"
        self.lines.append(f"  {name} = getelementptr {self._kind}, ptr %{place.pointer}, i64 {place.offset}")
        return name

    def _made(self, entry: int, name: str) -> None:
        """Store the value of an entry in its spill slot and at its outputs."""
        self._names[entry] = name
        if entry in self.plan.slots:
            self.store(self._memory.spill.at(self.plan.slots[entry]), name)
        for place in self.outputs.get(entry, ()):
            self.store_result(place, name)

    def _call(self, entry: int) -> None:
        """Store a pair of arguments, call the solver of a quadratic program, or load a result."""
        code, (first, *others) = self.codes[entry], self._operands[entry]
        if code == op.ELEMENT:
            sizes, memory = self._calls[first]
            number = int(self._constants[self._operands[others[0]][0]])
            self._made(entry, self.load(memory.at(sizes.arguments + number), f"%v{entry}"))
            return
        if code == op.ARGUMENTS:
            for place in self._arguments.get(entry, ()):
                for number, operand in enumerate(others):
                    self.store(place.at(number), self.value(operand))
        else:
            sizes, memory = self._calls[entry]
            solver = self._runtime.program_solver(sizes.n, sizes.m)
            self.lines.append(f"  call void @{solver}(ptr {self._address(memory)})")
        self._made(entry, literal(0.0, self._width))

    def _instruction(self, entry: int, name: str) -> str:
        """Append the instructions of an entry and return its last one."""
        kind, row = self._kind, op.OPERATIONS[self.codes[entry]]
        values = [self.value(operand) for operand in self._operands[entry] if operand >= 0]
        if row.negated is not None:
            self.lines.append(f"  {name}n = fneg {kind} {values[row.negated]}")
            values[row.negated] = f"{name}n"
        if row.lowering == "instruction":
            return f"{row.llvm} {kind} {', '.join(values)}"
        given = ", ".join(f"{kind} {value}" for value in values)
        if row.lowering == "intrinsic":
            return f"call {kind} @{row.llvm}.{mangled(self._width)}({given})"
        if row.lowering == "library":
            return f"call {kind} @{self._runtime.library(row.llvm, self._width)}({given})"
        return self._choice(entry, name, values)

    def _choice(self, entry: int, name: str, values: list[str]) -> str:
        """A comparison, a sign or a selection."""
        code, kind, truth, append = self.codes[entry], self._kind, truth_type(self._width), self.lines.append
        zero, one, minus_one = (literal(value, self._width) for value in (0.0, 1.0, -1.0))
        if op.OPERATIONS[code].lowering == "comparison":
            self._truths[entry] = f"{name}t"
            append(f"  {name}t = fcmp {op.OPERATIONS[code].llvm} {kind} {', '.join(values)}")
            return f"select {truth} {name}t, {kind} {one}, {kind} {zero}"
        if code == op.SIGN:
            append(f"  {name}n = fcmp olt {kind} {values[0]}, {zero}")
            append(f"  {name}p = fcmp ogt {kind} {values[0]}, {zero}")
            append(f"  {name}s = select {truth} {name}n, {kind} {minus_one}, {kind} {values[0]}")
            return f"select {truth} {name}p, {kind} {one}, {kind} {name}s"
        condition = self._truths.get(self._operands[entry][0])
        if condition is None:
            condition = f"{name}t"
            append(f"  {condition} = fcmp une {kind} {values[0]}, {zero}")
        return f"select {truth} {condition}, {kind} {values[1]}, {kind} {values[2]}"

    def _sincos(self, angles: tuple[int, ...]) -> None:
        """Sines and cosines: of a single sample gathered in one vector, in a batch one vector each."""
        append, label, plan = self.lines.append, angles[0], self.plan
        gathers = self._width == 1 and len(angles) > 1
        width, given = self._width, [self.value(angle) for angle in angles]
        if gathers:
            width = 1 << (len(angles) - 1).bit_length()
            packed = literal(0.0, width)
            for lane, (angle, value) in enumerate(zip(angles, given, strict=True)):
                append(f"  %x{angle} = insertelement {float_type(width)} {packed}, double {value}, i32 {lane}")
                packed = f"%x{angle}"
            given = [packed]
        kind, pairs = float_type(width), struct_type(2 * len(given), width)
        # A single sample, and an arm's angles, need few of them, next to the code that uses them.
        name = self._runtime.sincos(width, len(given), self._width == 1 or len(plan.pieces) == 1)
        append(f"  %t{label} = call {pairs} @{name}({', '.join(f'{kind} {value}' for value in given)})")
        for number, angle in enumerate(angles):
            for place, (letter, of) in enumerate((("s", plan.sines), ("c", plan.cosines))):
                if gathers and number == 0:
                    append(f"  %{letter}{letter}{label} = extractvalue {pairs} %t{label}, {place}")
                if angle in of:
                    made = f"extractvalue {pairs} %t{label}, {2 * number + place}"
                    if gathers:
                        made = f"extractelement {kind} %{letter}{letter}{label}, i32 {number}"
                    append(f"  %{letter}{angle} = {made}")
                    self._made(of[angle], f"%{letter}{angle}")
