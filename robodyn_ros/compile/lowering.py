"""A tape as LLVM assembly, with one number or a vector of them in the place of each traced value.

Text is written directly: an object per instruction would cost more time than LLVM takes to compile it.
"""

import math
from collections.abc import Callable

from robodyn_ros.compile import operations as op
from robodyn_ros.compile.tape import Tape
from robodyn_ros.compile.trigonometry import float_type, literal, mangled, sincos_function

ARITHMETIC = {op.ADD: "fadd", op.SUBTRACT: "fsub", op.MULTIPLY: "fmul", op.DIVIDE: "fdiv"}
COMPARISONS = {op.LESS: "olt", op.LESS_EQUAL: "ole", op.EQUAL: "oeq"}
INTRINSICS = {op.SQRT: "llvm.sqrt", op.ABSOLUTE: "llvm.fabs", op.MINIMUM: "llvm.minimum", op.MAXIMUM: "llvm.maximum"}
LIBRARY = {
    op.TAN: "tan",
    op.ARCSIN: "asin",
    op.ARCCOS: "acos",
    op.ARCTAN: "atan",
    op.ARCTAN2: "atan2",
    op.EXP: "exp",
    op.LOG: "log",
    op.TANH: "tanh",
    op.POWER: "pow",
}
"""Functions of the C library, called number by number."""

FAST_MATH = "reassoc nsz arcp contract"
"""What LLVM may do to sums and products: reorder, fuse, share reciprocals. Not assume that there is no NaN or infinity."""


class Body:
    """The instructions of one tape.

    Attributes:
        lines: The instructions, from loads to stores.
        functions: Text of the functions they call.
    """

    def __init__(
        self, tape: Tape, width: int, lanes: int, fused: bool, attributes: str, input_address: Callable[[int], str],
        alignment: int = 8,
    ) -> None:
        """Lower a tape.

        Args:
            tape: What to compute.
            width: Samples computed at once: 1, or a vector of as many.
            lanes: Angles whose sine and cosine a single sample gathers into one vector.
            fused: Whether the processor has a fused multiply-add.
            attributes: LLVM's attributes for the functions called.
            input_address: LLVM pointer expression of the input element at a position among all; its value is loaded
                with ``width`` numbers.
            alignment: Of the input elements in memory [bytes].
        """
        self.lines: list[str] = []
        self.functions: dict[str, str] = {}
        self._tape, self._width, self._lanes, self._fused = tape, width, lanes, fused
        self._attributes, self._alignment = attributes, alignment
        self._kind = float_type(width)
        self._names = [""] * len(tape)
        self._lower(input_address)

    def outputs(self) -> list[str]:
        """LLVM value of each element of the result."""
        return [self._names[entry] for entry in self._tape.outputs.tolist()]

    def _lower(self, input_address: Callable[[int], str]) -> None:
        tape, kind, names = self._tape, self._kind, self._names
        codes, operands = tape.codes.tolist(), tape.operands.tolist()
        for stage in _stages(tape):
            angles: dict[int, None] = {}
            for entry in stage:
                if codes[entry] in (op.SIN, op.COS):
                    angles[operands[entry][0]] = None
            sines, cosines = self._sincos(list(angles))
            for entry in stage:
                code, (a, b, c) = codes[entry], operands[entry]
                name = f"%v{entry}"
                if code in ARITHMETIC:
                    line = f"{ARITHMETIC[code]} {FAST_MATH} {kind} {names[a]}, {names[b]}"
                elif code == op.CONSTANT:
                    names[entry] = literal(float(tape.constants[a]), self._width)
                    continue
                elif code == op.INPUT:
                    line = f"load {kind}, ptr {input_address(a)}, align {self._alignment}"
                elif code in (op.SIN, op.COS):
                    names[entry] = (sines if code == op.SIN else cosines)[a]
                    continue
                elif code == op.NEGATE:
                    line = f"fneg {FAST_MATH} {kind} {names[a]}"
                elif code in INTRINSICS:
                    given = ", ".join(f"{kind} {names[operand]}" for operand in (a, b) if operand >= 0)
                    line = f"call {kind} @{INTRINSICS[code]}.{mangled(self._width)}({given})"
                elif code in LIBRARY:
                    given = ", ".join(f"{kind} {names[operand]}" for operand in (a, b) if operand >= 0)
                    line = f"call {kind} @{self._library_function(code)}({given})"
                else:
                    line = self._choice(code, name, *(names[operand] if operand >= 0 else "" for operand in (a, b, c)))
                names[entry] = name
                self.lines.append(f"  {name} = {line}")

    def _choice(self, code: int, name: str, a: str, b: str, c: str) -> str:
        """Comparisons, sign, and choice between values: the last instruction, those before it appended."""
        kind, width, append = self._kind, self._width, self.lines.append
        truth = "i1" if width == 1 else f"<{width} x i1>"
        zero, one, minus_one = (literal(value, width) for value in (0.0, 1.0, -1.0))
        if code in COMPARISONS:
            append(f"  {name}t = fcmp {COMPARISONS[code]} {kind} {a}, {b}")
            return f"select {truth} {name}t, {kind} {one}, {kind} {zero}"
        if code == op.SIGN:
            append(f"  {name}n = fcmp olt {kind} {a}, {zero}")
            append(f"  {name}p = fcmp ogt {kind} {a}, {zero}")
            append(f"  {name}s = select {truth} {name}n, {kind} {minus_one}, {kind} {a}")
            return f"select {truth} {name}p, {kind} {one}, {kind} {name}s"
        append(f"  {name}t = fcmp une {kind} {a}, {zero}")
        return f"select {truth} {name}t, {kind} {b}, {kind} {c}"

    def _sincos(self, angles: list[int]) -> tuple[dict[int, str], dict[int, str]]:
        """Compute sine and cosine of tape entries; for a single sample several at once."""
        names, append = self._names, self.lines.append
        sines: dict[int, str] = {}
        cosines: dict[int, str] = {}
        at_once = self._lanes if self._width == 1 else 1
        for start in range(0, len(angles), at_once):
            group = angles[start : start + at_once]
            if self._width > 1 or len(group) == 1:
                width, packed = self._width, names[group[0]]
            else:
                width = 1 << (len(group) - 1).bit_length()
                packed = literal(0.0, width)
                for lane, angle in enumerate(group):
                    append(
                        f"  %x{angle} = insertelement {float_type(width)} {packed}, double {names[angle]}, i32 {lane}"
                    )
                    packed = f"%x{angle}"
            kind, label = float_type(width), group[0]
            function = f"sincos{width}"
            if function not in self.functions:
                self.functions[function] = sincos_function(width, self._fused, self._attributes)
            append(f"  %sc{label} = call {{{kind}, {kind}}} @{function}({kind} {packed})")
            append(f"  %ss{label} = extractvalue {{{kind}, {kind}}} %sc{label}, 0")
            append(f"  %cc{label} = extractvalue {{{kind}, {kind}}} %sc{label}, 1")
            for lane, angle in enumerate(group):
                if width == self._width:
                    sines[angle], cosines[angle] = f"%ss{label}", f"%cc{label}"
                    continue
                sines[angle], cosines[angle] = f"%s{angle}", f"%c{angle}"
                append(f"  %s{angle} = extractelement {kind} %ss{label}, i32 {lane}")
                append(f"  %c{angle} = extractelement {kind} %cc{label}, i32 {lane}")
        return sines, cosines

    def _library_function(self, code: int) -> str:
        """Name of the function that calls the C library for each lane."""
        name, width, kind = LIBRARY[code], self._width, self._kind
        if width == 1:
            return name
        vector_name = f"{name}_lanes{width}"
        if vector_name not in self.functions:
            count = op.OPERATIONS[code].operand_count
            lines, result = [], "poison"
            for lane in range(width):
                given = []
                for operand in range(count):
                    lines.append(f"  %x{lane}_{operand} = extractelement {kind} %x{operand}, i32 {lane}")
                    given.append(f"double %x{lane}_{operand}")
                lines.append(f"  %y{lane} = call double @{name}({', '.join(given)})")
                lines.append(f"  %r{lane} = insertelement {kind} {result}, double %y{lane}, i32 {lane}")
                result = f"%r{lane}"
            parameters = ", ".join(f"{kind} %x{operand}" for operand in range(count))
            attributes = self._attributes.replace("alwaysinline", "noinline")
            self.functions[vector_name] = "\n".join(
                [
                    f"define internal {kind} @{vector_name}({parameters}) {attributes} {{",
                    *lines,
                    f"  ret {kind} {result}",
                    "}",
                    "",
                ]
            )
        return vector_name


def _stages(tape: Tape) -> list[list[int]]:
    """Entries by how many sines and cosines lie before them, so that those of a stage can be computed together."""
    depth: list[int] = []
    stages: list[list[int]] = []
    for entry, (code, operands) in enumerate(zip(tape.codes.tolist(), tape.operands.tolist(), strict=True)):
        own = 0
        if code > op.CONSTANT:
            own = max(depth[operand] for operand in operands if operand >= 0)
            own += code in (op.SIN, op.COS)
        depth.append(own)
        while own >= len(stages):
            stages.append([])
        stages[own].append(entry)
    return stages


DECLARATIONS = "".join(
    [
        "declare double @sin(double) nounwind\ndeclare double @cos(double) nounwind\n",
        *(
            f"declare double @{name}({', '.join(['double'] * op.OPERATIONS[code].operand_count)}) nounwind\n"
            for code, name in LIBRARY.items()
        ),
        '!0 = !{!"branch_weights", i32 1, i32 100000}\n',
    ]
)
"""What every module may refer to."""


def vector_attributes(lanes: int) -> str:
    """Attributes that let a function use vectors of ``lanes`` float64, also where LLVM would prefer narrower ones."""
    bits = 64 * lanes
    return f'nounwind "prefer-vector-width"="{bits}" "min-legal-vector-width"="{bits}"'


def single_module(tape: Tape, lanes: int, fused: bool) -> str:
    """A module with ``void @single(input pointers…, output pointer)``, all contiguous float64 in C order."""
    elements = [
        (number, element)
        for number, shape in enumerate(tape.inputs.values())
        for element in range(math.prod(shape))
    ]
    attributes = vector_attributes(lanes)
    pointers: list[str] = []

    def address(position: int) -> str:
        number, element = elements[position]
        pointers.append(f"  %p{position} = getelementptr double, ptr %in{number}, i64 {element}")
        return f"%p{position}"

    body = Body(tape, 1, lanes, fused, f"alwaysinline {attributes}", address)
    stores = []
    for position, value in enumerate(body.outputs()):
        stores.append(f"  %o{position} = getelementptr double, ptr %out, i64 {position}")
        stores.append(f"  store double {value}, ptr %o{position}, align 8")
    parameters = ", ".join(
        [*(f"ptr noalias readonly %in{number}" for number in range(len(tape.inputs))), "ptr noalias %out"]
    )
    return "\n".join(
        [
            DECLARATIONS,
            *body.functions.values(),
            f"define void @single({parameters}) {attributes} {{",
            *pointers,
            *body.lines,
            *stores,
            "  ret void",
            "}",
            "",
        ]
    )
