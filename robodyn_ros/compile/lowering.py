# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""A tape as LLVM assembly: each traced value becomes one number, or a vector with a sample per lane.

Text is written directly: an object per instruction would take longer than LLVM takes to compile it.
"""

from typing import NamedTuple

from robodyn_ros.compile import operations as op
from robodyn_ros.compile.llvm_text import float_type, function, literal, mangled, struct_type, truth_type
from robodyn_ros.compile.runtime import Runtime
from robodyn_ros.compile.schedule import Step, schedule
from robodyn_ros.compile.tape import Tape, collector_paused

STORES = 250
"""Most results that are inputs or constants stored in one function."""

IN_STEP = 3
"""Most angles of a sample whose sines and cosines a batch computes in step; more do not fit into the registers."""


class Place(NamedTuple):
    """The memory of a number or vector: its distance from an LLVM pointer, in numbers or vectors."""

    pointer: str
    offset: int

    def at(self, further: int) -> "Place":
        """The place so much further."""
        return Place(self.pointer, self.offset + further)


class Memory(NamedTuple):
    """The memory of inputs, results and spilled values.

    Attributes:
        pointers: The LLVM pointers of these places; they are parameters of the functions.
        inputs: Place of each input element.
        outputs: Place of each element of the result.
        spill: Place of the first spill slot.
    """

    pointers: tuple[str, ...]
    inputs: list[Place]
    outputs: list[Place]
    spill: Place


class Lowered(NamedTuple):
    """LLVM text of a tape.

    Attributes:
        body: The instructions, for a function with the parameters `Memory.pointers`.
        functions: The pieces that these instructions call.
        spill_slots: Number of spill slots [numbers, or vectors].
    """

    body: str
    functions: str
    spill_slots: int


@collector_paused()
def lower(tape: Tape, memory: Memory, runtime: Runtime, prefix: str = "", contracts: bool = True) -> Lowered:
    """Write a tape as LLVM assembly.

    Args:
        tape: The tape.
        memory: Its memory; a result may replace an input.
        runtime: The fixed functions of the module, for the module's number of samples.
        prefix: Prefix of the names of this tape's pieces.
        contracts: Whether a product that one sum alone needs is rounded together with it.
    """
    context = _Context(tape.contracted(shared=False) if contracts else tape, memory, runtime)
    uncomputed = [entry for entry in context.outputs if context.codes[entry] <= op.CONSTANT]
    store_count = sum(len(context.outputs[entry]) for entry in uncomputed)
    copies: list[tuple[Place, Place]] = []
    if len(context.plan.pieces) > 1 or store_count > STORES:
        copies = context.defer_replacements()
    stores = [(entry, place) for entry in uncomputed for place in context.outputs[entry]]
    pieces = []
    # The last of these stores, often the only ones, go into the first piece that computes.
    for start in range(0, max(1, len(stores)), STORES):
        pieces.append(_Piece(context))
        pieces[-1].store_uncomputed(stores[start : start + STORES])
    for number, steps in enumerate(context.plan.pieces):
        if number > 0:
            pieces.append(_Piece(context))
        for step in steps:
            pieces[-1].add(step)
    for start in range(0, len(copies), STORES):
        pieces.append(_Piece(context))
        pieces[-1].copy(copies[start : start + STORES])
    slot_count = context.plan.slot_count + len(copies)
    if len(pieces) == 1:
        return Lowered("\n".join(pieces[0].lines), "", slot_count)
    parameters = ", ".join(f"ptr noalias %{pointer}" for pointer in memory.pointers)
    arguments = ", ".join(f"ptr %{pointer}" for pointer in memory.pointers)
    functions = [
        function(f"internal void @{prefix}piece{number}({parameters}) noinline {runtime.attributes}", piece.lines)
        for number, piece in enumerate(pieces)
    ]
    body = "\n".join(f"  call void @{prefix}piece{number}({arguments})" for number in range(len(pieces)))
    return Lowered(body, "".join(functions), slot_count)


class _Context:
    """A tape, its memory and its schedule, which all pieces share; results may replace inputs.

    Attributes:
        plan: The schedule.
        readers: Input entries by their place.
        outputs: Places to store at, by entry; without places that already hold the entry.
    """

    def __init__(self, tape: Tape, memory: Memory, runtime: Runtime) -> None:
        self.memory, self.runtime = memory, runtime
        self.plan = schedule(tape, runtime.lanes if runtime.width == 1 else IN_STEP)
        self.codes: list[int] = tape.codes.tolist()  # lists are faster to read one by one than arrays
        self.operands: list[list[int]] = tape.operands.tolist()
        self.constants: list[float] = tape.constants.tolist()
        self.readers: dict[Place, list[int]] = {}
        for entry, code in enumerate(self.codes):
            if code == op.INPUT:
                self.readers.setdefault(memory.inputs[self.operands[entry][0]], []).append(entry)
        self.outputs: dict[int, list[Place]] = {}
        for place, entry in zip(memory.outputs, tape.outputs.tolist(), strict=True):
            if entry not in self.readers.get(place, ()):
                self.outputs.setdefault(entry, []).append(place)

    def defer_replacements(self) -> list[tuple[Place, Place]]:
        """Store results that replace inputs in slots behind the others; return the copies to make in the end."""
        copies: list[tuple[Place, Place]] = []
        for places in self.outputs.values():
            for number, place in enumerate(places):
                if place in self.readers:
                    places[number] = self.memory.spill.at(self.plan.slot_count + len(copies))
                    copies.append((places[number], place))
        return copies


class _Piece:
    """The instructions of one piece."""

    def __init__(self, context: _Context) -> None:
        self.lines: list[str] = []
        self._context, self._memory, self._runtime = context, context.memory, context.runtime
        self._codes, self._operands, self._slots = context.codes, context.operands, context.plan.slots
        self._width, self._kind = self._runtime.width, float_type(self._runtime.width)
        self._alignment = 8 * self._width
        self._names: dict[int, str] = {}
        self._truths: dict[int, str] = {}  # of comparisons, before they become numbers
        self._addresses = 0

    def store_uncomputed(self, results: list[tuple[int, Place]]) -> None:
        """Store results that are inputs or constants: entries and their places."""
        for entry, place in results:
            self._store_result(place, self._value(entry))

    def copy(self, places: list[tuple[Place, Place]]) -> None:
        """Copy numbers from the first place to the second of each pair."""
        for number, (source, target) in enumerate(places):
            address, name = self._address(source), f"%deferred{number}"
            self.lines.append(f"  {name} = load {self._kind}, ptr {address}, align {self._alignment}")
            self._store(target, name)

    def add(self, step: Step) -> None:
        """Compute a step."""
        if isinstance(step, tuple):
            self._sincos(step)
        else:
            name = f"%v{step}"
            self.lines.append(f"  {name} = {self._instruction(step, name)}")
            self._made(step, name)

    def _address(self, place: Place) -> str:
        self._addresses += 1
        name = f"%p{self._addresses}"
        self.lines.append(f"  {name} = getelementptr {self._kind}, ptr %{place.pointer}, i64 {place.offset}")
        return name

    def _value(self, entry: int) -> str:
        """LLVM value of an entry; loaded if another piece computed it."""
        name = self._names.get(entry)
        if name is None:
            code, memory = self._codes[entry], self._memory
            if code == op.CONSTANT:
                name = literal(self._context.constants[self._operands[entry][0]], self._width)
            else:
                if code == op.INPUT:
                    place = memory.inputs[self._operands[entry][0]]
                else:
                    place = memory.spill.at(self._slots[entry])
                address, name = self._address(place), f"%v{entry}"
                self.lines.append(f"  {name} = load {self._kind}, ptr {address}, align {self._alignment}")
            self._names[entry] = name
        return name

    def _made(self, entry: int, name: str) -> None:
        """Store the value of an entry in its spill slot and its outputs."""
        self._names[entry] = name
        if entry in self._slots:
            self._store(self._memory.spill.at(self._slots[entry]), name)
        for place in self._context.outputs.get(entry, ()):
            self._store_result(place, name)

    def _store_result(self, place: Place, name: str) -> None:
        for entry in self._context.readers.get(place, ()):  # load the input before the result replaces it
            self._value(entry)
        self._store(place, name)

    def _store(self, place: Place, name: str) -> None:
        address = self._address(place)
        self.lines.append(f"  store {self._kind} {name}, ptr {address}, align {self._alignment}")

    def _instruction(self, entry: int, name: str) -> str:
        """Append the instructions of an entry, and return the last one."""
        code, kind = self._codes[entry], self._kind
        values = [self._value(operand) for operand in self._operands[entry] if operand >= 0]
        row = op.OPERATIONS[code]
        if row.lowering == "instruction":
            return f"{row.llvm} {kind} {', '.join(values)}"
        if code in (op.MULTIPLY_ADD, op.MULTIPLY_SUBTRACT, op.SUBTRACT_PRODUCT):
            return self._sum_of_product(code, name, *values)
        if row.lowering == "intrinsic" or row.lowering == "library":
            given = ", ".join(f"{kind} {value}" for value in values)
            if row.lowering == "library":
                return f"call {kind} @{self._runtime.library(code)}({given})"
            return f"call {kind} @{row.llvm}.{mangled(self._width)}({given})"
        if row.lowering == "comparison":
            self._truths[entry] = f"{name}t"
        truth = self._truths.get(self._operands[entry][0]) if code == op.WHERE else None
        return self._choice(code, name, truth, *values)

    def _sum_of_product(self, code: int, name: str, a: str, b: str, c: str) -> str:
        """A sum or difference of a product and a number, rounded once where the processor can."""
        kind = self._kind
        if not self._runtime.fused:
            self.lines.append(f"  {name}p = fmul {kind} {a}, {b}")
            instruction = "fadd" if code == op.MULTIPLY_ADD else "fsub"
            operands = (c, f"{name}p") if code == op.SUBTRACT_PRODUCT else (f"{name}p", c)
            return f"{instruction} {kind} {', '.join(operands)}"
        if code != op.MULTIPLY_ADD:
            self.lines.append(f"  {name}n = fneg {kind} {c if code == op.MULTIPLY_SUBTRACT else a}")
            a, c = (a, f"{name}n") if code == op.MULTIPLY_SUBTRACT else (f"{name}n", c)
        return f"call {kind} @llvm.fma.{mangled(self._width)}({kind} {a}, {kind} {b}, {kind} {c})"

    def _choice(self, code: int, name: str, condition: str | None, a: str, b: str = "", c: str = "") -> str:
        """A comparison, a sign or a choice; ``condition`` is the truth of ``a``, if a comparison made it."""
        kind, append = self._kind, self.lines.append
        truth = truth_type(self._width)
        zero, one, minus_one = (literal(value, self._width) for value in (0.0, 1.0, -1.0))
        if op.OPERATIONS[code].lowering == "comparison":
            append(f"  {name}t = fcmp {op.OPERATIONS[code].llvm} {kind} {a}, {b}")
            return f"select {truth} {name}t, {kind} {one}, {kind} {zero}"
        if code == op.SIGN:
            append(f"  {name}n = fcmp olt {kind} {a}, {zero}")
            append(f"  {name}p = fcmp ogt {kind} {a}, {zero}")
            append(f"  {name}s = select {truth} {name}n, {kind} {minus_one}, {kind} {a}")
            return f"select {truth} {name}p, {kind} {one}, {kind} {name}s"
        if condition is None:
            condition = f"{name}t"
            append(f"  {condition} = fcmp une {kind} {a}, {zero}")
        return f"select {truth} {condition}, {kind} {b}, {kind} {c}"

    def _sincos(self, angles: tuple[int, ...]) -> None:
        """Sines and cosines of entries: of a single sample gathered in a vector, in a batch each a vector."""
        append, label, plan = self.lines.append, angles[0], self._context.plan
        gathers = self._width == 1 and len(angles) > 1
        width, given = self._width, [self._value(angle) for angle in angles]
        if gathers:
            width = 1 << (len(angles) - 1).bit_length()
            packed = literal(0.0, width)
            for lane, (angle, value) in enumerate(zip(angles, given, strict=True)):
                append(f"  %x{angle} = insertelement {float_type(width)} {packed}, double {value}, i32 {lane}")
                packed = f"%x{angle}"
            given = [packed]
        kind, pairs = float_type(width), struct_type(2 * len(given), width)
        # Of a single sample, and of the angles of an arm, there are few, in a row with what needs them.
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
