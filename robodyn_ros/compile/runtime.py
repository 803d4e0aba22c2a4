"""The fixed parts of every module, as LLVM assembly: sine and cosine, the C library, and moving rows into vectors.

**Sine and cosine** of several angles at once, without a call or a branch per angle. An angle x is brought to
r = x - k pi/2 with abs(r) <= pi/4 by subtracting k times three parts of pi/2 (Cody and Waite); with a fused
multiply-add the first subtraction is exact, since x and k C1 are multiples of 2^-53 and r < 1. Sine and cosine of r are
minimax polynomials, exchanged and negated by the two lowest bits of k. The C library takes angles beyond 2^30 rad,
where k no longer has room, and all angles on processors without a fused multiply-add.

**Rows and vectors.** A block holds ``width`` samples, one vector per element of a row. ``pack`` moves rows into
vectors and ``unpack`` moves them back, for any strides: arrays in C and Fortran order, views and single columns are
used in place. Rows of adjacent elements are transposed in registers, a square of ``width`` by ``width`` at a time;
columns of adjacent elements are read and written as vectors; all others, and the last, incomplete block, go number by
number. Large results are written by ``stream`` with non-temporal stores, which need whole cache lines: an ordinary
store first reads the line that it changes, and that takes longer than the computation.
"""

import struct
from collections.abc import Callable

from robodyn_ros.compile import operations as op

LARGEST_ANGLE = float(2**30)

HALF_PI_PARTS = (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33)
"""pi/2 = the sum of these, to 160 bits."""

TWO_OVER_PI = 0.6366197723675814

SINE = (
    -0.1666666666666663,
    0.008333333333322005,
    -0.00019841269829495533,
    2.75573135876344e-06,
    -2.5050742310457733e-08,
    1.589590489763986e-10,
)
"""(sin r - r) / r^3 in powers of r^2 on |r| <= pi/4: minimax by Remez' exchange, relative error of sin r 2^-57.9."""

COSINE = (
    0.041666666666666595,
    -0.0013888888888872895,
    2.4801587288748223e-05,
    -2.755731414863447e-07,
    2.087569657415078e-09,
    -1.1358310574836342e-11,
)
"""(cos r - 1 + r^2/2) / r^4 in powers of r^2 on |r| <= pi/4: the same, relative error of cos r 2^-63.9."""

_ROUND = 1.5 * 2.0**52  # adding this rounds to an integer, which then stands in the lowest bits

DECLARATIONS = "".join(
    f"declare double @{name}({', '.join(['double'] * count)}) nounwind\n"
    for name, count in [
        ("sin", 1),
        ("cos", 1),
        *((row.llvm, row.operand_count) for row in op.OPERATIONS if row.lowering == "library"),
    ]
) + '!0 = !{!"branch_weights", i32 1, i32 100000}\n!2 = !{i32 1}\n'
"""What every module may refer to."""


def float_type(width: int) -> str:
    """LLVM type of ``width`` float64 numbers."""
    return "double" if width == 1 else f"<{width} x double>"


def mangled(width: int) -> str:
    """That type in the name of an LLVM intrinsic."""
    return "f64" if width == 1 else f"v{width}f64"


def literal(value: float, width: int) -> str:
    """An LLVM constant; the same number in each lane."""
    bits = f"0x{struct.pack('>d', value).hex().upper()}"
    return bits if width == 1 else f"splat (double {bits})"


class Runtime:
    """The functions that a module's instructions call; each is written when it is first needed.

    Attributes:
        width: Samples computed at once: 1, or as many as a vector has lanes.
        lanes: Angles whose sine and cosine a single sample gathers into one vector.
        fused: Whether the processor has a fused multiply-add.
        attributes: LLVM's attributes for all functions; they allow vectors of ``lanes`` numbers also where LLVM would
            prefer narrower ones.
    """

    def __init__(self, width: int, lanes: int, fused: bool) -> None:
        self.width, self.lanes = width, lanes
        self.attributes = f'nounwind "prefer-vector-width"="{64 * lanes}" "min-legal-vector-width"="{64 * lanes}"'
        self.fused = fused
        self._functions: dict[str, str] = {}

    def text(self) -> str:
        """All functions needed so far, and the declarations that modules refer to."""
        return DECLARATIONS + "".join(self._functions.values())

    def sincos(self, width: int) -> str:
        """Name of the function for sine and cosine of so many angles."""
        # A single sample has few, in a row with what needs them; in a batch the call is shared by all lanes.
        inlined = "alwaysinline" if self.width == 1 else "noinline"
        return self._need(f"sincos{width}", lambda: sincos_function(width, self.fused, inlined, self.attributes))

    def library(self, code: int) -> str:
        """Name of the function that calls the C library for each lane."""
        name, operand_count = op.OPERATIONS[code].llvm, op.OPERATIONS[code].operand_count
        if self.width == 1:
            return name
        return self._need(f"{name}_lanes", lambda: _lanes_function(name, operand_count, self.width, self.attributes))

    def mover(self, name: str) -> str:
        """Name of ``pack``, ``unpack``, ``stream`` or ``merge``, for vectors.

        ``@pack(rows, distance of rows, table, row count, column count, vectors)`` and ``@unpack`` likewise: the table
        holds the distance of each element from its row's first in bytes, or is null if elements are adjacent. Of an
        incomplete block, ``pack`` repeats the last row and ``unpack`` leaves out the rest. The vectors have room for
        whole squares. ``@stream(the same arguments, aside, streamed)`` is ``unpack``, with non-temporal stores if
        ``streamed`` is not 0; ``aside`` has room for the block's rows. ``@merge(now, before, vector count, active)``
        restores the lanes that are not active.
        """
        attributes = self.attributes
        if name == "merge":
            return self._need(name, lambda: _merge(self.width, attributes))
        self._need("skip", lambda: _skip(attributes))
        if name == "stream":
            self.mover("unpack")
            return self._need(name, lambda: _stream(self.width, attributes))
        return self._need(name, lambda: _pack_or_unpack(name, self.width, attributes))

    def _need(self, name: str, write: Callable[[], str]) -> str:
        if name not in self._functions:
            self._functions[name] = write()
        return name


def _library_calls(functions: tuple[str, ...], parameters: list[str], width: int) -> tuple[list[str], list[str]]:
    """Call functions of numbers for each lane: the instructions, and each function's results."""
    if width == 1:
        given = ", ".join(f"double %{name}" for name in parameters)
        calls = [f"  %{function} = call double @{function}({given})" for function in functions]
        return calls, [f"%{function}" for function in functions]
    kind, lines, results = float_type(width), [], ["poison"] * len(functions)
    for lane in range(width):
        for name in parameters:
            lines.append(f"  %{name}_{lane} = extractelement {kind} %{name}, i32 {lane}")
        given = ", ".join(f"double %{name}_{lane}" for name in parameters)
        for number, function in enumerate(functions):
            lines.append(f"  %{function}{lane} = call double @{function}({given})")
            value = f"{kind} {results[number]}, double %{function}{lane}, i32 {lane}"
            lines.append(f"  %{function}s{lane} = insertelement {value}")
            results[number] = f"%{function}s{lane}"
    return lines, results


def _lanes_function(name: str, operand_count: int, width: int, attributes: str) -> str:
    """``@<name>_lanes``: a function of the C library for each lane."""
    kind, parameters = float_type(width), [f"x{operand}" for operand in range(operand_count)]
    lines, (result,) = _library_calls((name,), parameters, width)
    given = ", ".join(f"{kind} %{name}" for name in parameters)
    head = f"define internal {kind} @{name}_lanes({given}) noinline {attributes} {{"
    return "\n".join([head, *lines, f"  ret {kind} {result}", "}", ""])


def _return_pair(kind: str, sines: str, cosines: str) -> list[str]:
    return [
        f"  %pair = insertvalue {{{kind}, {kind}}} poison, {kind} {sines}, 0",
        f"  %result = insertvalue {{{kind}, {kind}}} %pair, {kind} {cosines}, 1",
        f"  ret {{{kind}, {kind}}} %result",
        "}",
        "",
    ]


def sincos_function(width: int, fused: bool, inlined: str, attributes: str) -> str:
    """LLVM text of ``{sines, cosines} @sincos<width>(angles)``, and of the function it calls for very large angles.

    Args:
        width: Number of angles.
        fused: Whether the processor has a fused multiply-add.
        inlined: ``alwaysinline`` or ``noinline``.
        attributes: LLVM's other function attributes.
    """
    kind = float_type(width)
    calls, called = _library_calls(("sin", "cos"), ["x"], width)
    library = [  # out of the way of the rest
        f"define internal {{{kind}, {kind}}} @sincos_library{width}({kind} %x) noinline cold {attributes} {{",
        *calls,
        *_return_pair(kind, *called),
        f"define internal {{{kind}, {kind}}} @sincos{width}({kind} %x) {inlined} {attributes} {{",
    ]
    call_library = [
        f"  %called = call {{{kind}, {kind}}} @sincos_library{width}({kind} %x)",
        f"  ret {{{kind}, {kind}}} %called",
    ]
    if not fused:
        return "\n".join([*library, *call_library, "}", ""])
    lanes = "" if width == 1 else f"<{width} x "
    close = "" if width == 1 else ">"
    integer, truth = f"{lanes}i64{close}", f"{lanes}i1{close}"
    suffix = mangled(width)

    def integer_literal(value: int) -> str:
        return str(value) if width == 1 else f"splat (i64 {value})"

    def fma(name: str, a: str, b: str, c: str) -> str:
        return f"  %{name} = call {kind} @llvm.fma.{suffix}({kind} {a}, {kind} {b}, {kind} {c})"

    def horner(name: str, coefficients: tuple[float, ...]) -> list[str]:
        lines, value = [], literal(coefficients[-1], width)
        for power in range(len(coefficients) - 2, -1, -1):
            lines.append(fma(f"{name}{power}", value, "%t", literal(coefficients[power], width)))
            value = f"%{name}{power}"
        return lines

    any_far = (
        "  %any = or i1 %far, false"
        if width == 1
        else f"  %any = call i1 @llvm.vector.reduce.or.v{width}i1({truth} %far)"
    )
    first, second, third = (literal(-part, width) for part in HALF_PI_PARTS)
    one, half, shift = literal(1.0, width), literal(0.5, width), literal(_ROUND, width)
    lines = [
        *library,
        f"  %size = call {kind} @llvm.fabs.{suffix}({kind} %x)",
        f"  %far = fcmp ogt {kind} %size, {literal(LARGEST_ANGLE, width)}",
        any_far,
        "  br i1 %any, label %library, label %near, !prof !0",
        "library:",
        *call_library,
        "near:",
        fma("shifted", "%x", literal(TWO_OVER_PI, width), shift),
        f"  %bits = bitcast {kind} %shifted to {integer}",
        f"  %k = fsub {kind} %shifted, {shift}",
        fma("r1", "%k", first, "%x"),
        fma("r2", "%k", second, "%r1"),
        fma("r", "%k", third, "%r2"),
        f"  %t = fmul {kind} %r, %r",
        *horner("p", SINE),
        f"  %cube = fmul {kind} %t, %r",
        fma("s", "%p0", "%cube", "%r"),
        # sin(-0.0) is -0.0, which the sums above lose
        f"  %sine = call {kind} @llvm.copysign.{suffix}({kind} %s, {kind} %r2)",
        *horner("q", COSINE),
        f"  %h = fmul {kind} %t, {half}",
        f"  %w = fsub {kind} {one}, %h",
        f"  %lost = fsub {kind} {one}, %w",
        f"  %rest = fsub {kind} %lost, %h",
        f"  %square = fmul {kind} %t, %t",
        fma("tail", "%q0", "%square", "%rest"),
        f"  %cosine = fadd {kind} %w, %tail",
        f"  %odd = and {integer} %bits, {integer_literal(1)}",
        f"  %swap = icmp ne {integer} %odd, {integer_literal(0)}",
        f"  %ss = select {truth} %swap, {kind} %cosine, {kind} %sine",
        f"  %cc = select {truth} %swap, {kind} %sine, {kind} %cosine",
        f"  %next = add {integer} %bits, {integer_literal(1)}",
    ]
    for name, quadrant, value in (("sin", "%bits", "%ss"), ("cos", "%next", "%cc")):
        lines += [
            f"  %{name}_two = and {integer} {quadrant}, {integer_literal(2)}",
            f"  %{name}_sign = shl {integer} %{name}_two, {integer_literal(62)}",
            f"  %{name}_raw = bitcast {kind} {value} to {integer}",
            f"  %{name}_flipped = xor {integer} %{name}_raw, %{name}_sign",
            f"  %{name} = bitcast {integer} %{name}_flipped to {kind}",
        ]
    return "\n".join([*lines, *_return_pair(kind, "%sin", "%cos")])


def _stream(width: int, attributes: str) -> str:
    """``@stream``, for rows that follow each other from a whole vector's address; other rows are unpacked as usual."""
    kind = float_type(width)
    parameters = "ptr %rows, i64 %distance, ptr %table, i64 %count, i64 %columns, ptr %vectors"
    return f"""define internal void @stream({parameters}, ptr %aside, i64 %streamed) noinline {attributes} {{
start:
  %wanted = icmp ne i64 %streamed, 0
  br i1 %wanted, label %check, label %plain
check:
  %complete = icmp eq i64 %count, {width}
  %followed = icmp eq ptr %table, null
  %length = mul i64 %columns, 8
  %adjacent = icmp eq i64 %distance, %length
  %address = ptrtoint ptr %rows to i64
  %beyond = and i64 %address, {8 * width - 1}
  %aligned = icmp eq i64 %beyond, 0
  %some = icmp sgt i64 %columns, 0
  %streams1 = and i1 %complete, %followed
  %streams2 = and i1 %adjacent, %aligned
  %streams3 = and i1 %streams1, %streams2
  %streams = and i1 %streams3, %some
  br i1 %streams, label %together, label %plain
plain:
  call void @unpack(ptr %rows, i64 %distance, ptr %table, i64 %count, i64 %columns, ptr %vectors)
  ret void
together:
  call void @unpack(ptr %aside, i64 %distance, ptr null, i64 {width}, i64 %columns, ptr %vectors)
  br label %line
line:
  %l = phi i64 [0, %together], [%l_next, %line]
  %source = getelementptr {kind}, ptr %aside, i64 %l
  %target = getelementptr {kind}, ptr %rows, i64 %l
  %value = load {kind}, ptr %source, align {8 * width}
  store {kind} %value, ptr %target, align {8 * width}, !nontemporal !2
  %l_next = add i64 %l, 1
  %more = icmp slt i64 %l_next, %columns
  br i1 %more, label %line, label %done
done:
  ret void
}}
"""


def _merge(width: int, attributes: str) -> str:
    """``@merge``, see `Runtime.mover`."""
    kind, truth, align = float_type(width), f"<{width} x i1>", 8 * width
    return f"""define internal void @merge(ptr %now, ptr %before, i64 %count, {truth} %active) noinline {attributes} {{
start:
  %some = icmp sgt i64 %count, 0
  br i1 %some, label %loop, label %done
loop:
  %k = phi i64 [0, %start], [%next, %loop]
  %to = getelementptr {kind}, ptr %now, i64 %k
  %from = getelementptr {kind}, ptr %before, i64 %k
  %new = load {kind}, ptr %to, align {align}
  %old = load {kind}, ptr %from, align {align}
  %chosen = select {truth} %active, {kind} %new, {kind} %old
  store {kind} %chosen, ptr %to, align {align}
  %next = add i64 %k, 1
  %more = icmp slt i64 %next, %count
  br i1 %more, label %loop, label %done
done:
  ret void
}}
"""


def _pack_or_unpack(name: str, width: int, attributes: str) -> str:
    kind = float_type(width)
    packs = name == "pack"
    parameters = "ptr %rows, i64 %distance, ptr %table, i64 %count, i64 %columns, ptr %vectors"
    # The lanes beyond an incomplete block's last row repeat it when read, and are not written.
    last_row = "call i64 @llvm.umin.i64(i64 %lane, i64 %last)" if packs else "add i64 %lane, 0"
    return f"""define internal void @{name}({parameters}) noinline {attributes} {{
start:
  %last = sub i64 %count, 1
  %complete = icmp eq i64 %count, {width}
  %followed = icmp eq ptr %table, null
  %by_squares = and i1 %complete, %followed
  %adjacent = icmp eq i64 %distance, 8
  %by_columns = and i1 %complete, %adjacent
  %some = icmp sgt i64 %columns, 0
  br i1 %some, label %choose, label %done
choose:
  br i1 %by_columns, label %column, label %not_columns
not_columns:
  br i1 %by_squares, label %square, label %number

column:
  %c = phi i64 [0, %choose], [%c_next, %column]
  %c_skip = call i64 @skip(ptr %table, i64 %c)
  %c_row = getelementptr i8, ptr %rows, i64 %c_skip
  %c_vector = getelementptr {kind}, ptr %vectors, i64 %c
{_move(kind, "c", packs, 8, 8 * width)}
  %c_next = add i64 %c, 1
  %c_more = icmp slt i64 %c_next, %columns
  br i1 %c_more, label %column, label %done

square:
  %s = phi i64 [0, %not_columns], [%s_next, %square]
  %corner = getelementptr double, ptr %rows, i64 %s
  %target = getelementptr {kind}, ptr %vectors, i64 %s
{_square(width, packs)}
  %s_next = add i64 %s, {width}
  %s_more = icmp slt i64 %s_next, %columns
  br i1 %s_more, label %square, label %done

number:
  %n = phi i64 [0, %not_columns], [%n_next, %after]
  %n_skip = call i64 @skip(ptr %table, i64 %n)
  %element = getelementptr i8, ptr %rows, i64 %n_skip
  %vector = getelementptr {kind}, ptr %vectors, i64 %n
  br label %one
one:
  %lane = phi i64 [0, %number], [%lane_next, %one]
  %row = {last_row}
  %l_skip = mul i64 %row, %distance
  %l_row = getelementptr i8, ptr %element, i64 %l_skip
  %l_vector = getelementptr double, ptr %vector, i64 %lane
{_move("double", "l", packs, 8, 8)}
  %lane_next = add i64 %lane, 1
  %lane_more = icmp slt i64 %lane_next, {width if packs else "%count"}
  br i1 %lane_more, label %one, label %after
after:
  %n_next = add i64 %n, 1
  %n_more = icmp slt i64 %n_next, %columns
  br i1 %n_more, label %number, label %done
done:
  ret void
}}
"""


def _move(kind: str, name: str, packs: bool, row_align: int, vector_align: int) -> str:
    """Copy from ``%<name>_row`` to ``%<name>_vector``, or back."""
    row, vector = f"ptr %{name}_row, align {row_align}", f"ptr %{name}_vector, align {vector_align}"
    source, target = (row, vector) if packs else (vector, row)
    return f"  %{name}_value = load {kind}, {source}\n  store {kind} %{name}_value, {target}"


def _square(width: int, packs: bool) -> str:
    """Transpose a square between rows at ``%corner`` and vectors at ``%target``; what is beyond the columns stays."""
    kind, mask_kind, suffix = float_type(width), f"<{width} x i1>", f"v{width}f64"
    words, numbers = f"<{width} x i64>", ", ".join(f"i64 {lane}" for lane in range(width))
    lines = [
        "  %left = sub i64 %columns, %s",
        f"  %left0 = insertelement {words} poison, i64 %left, i32 0",
        f"  %lefts = shufflevector {words} %left0, {words} poison, <{width} x i32> zeroinitializer",
        f"  %mask = icmp slt {words} <{numbers}>, %lefts",
    ]
    for lane in range(width):
        lines += [
            f"  %away{lane} = mul i64 %distance, {lane}",
            f"  %row{lane} = getelementptr i8, ptr %corner, i64 %away{lane}",
            f"  %vector{lane} = getelementptr {kind}, ptr %target, i64 {lane}",
        ]
    for lane in range(width):
        if packs:
            given = f"ptr align 8 %row{lane}, {mask_kind} %mask, {kind} zeroinitializer"
            lines.append(f"  %x{lane} = call {kind} @llvm.masked.load.{suffix}.p0({given})")
        else:
            lines.append(f"  %x{lane} = load {kind}, ptr %vector{lane}, align {8 * width}")
    instructions, transposed = _transpose([f"%x{lane}" for lane in range(width)])
    lines += instructions
    for lane, name in enumerate(transposed):
        if packs:
            lines.append(f"  store {kind} {name}, ptr %vector{lane}, align {8 * width}")
        else:
            given = f"{kind} {name}, ptr align 8 %row{lane}, {mask_kind} %mask"
            lines.append(f"  call void @llvm.masked.store.{suffix}.p0({given})")
    return "\n".join(lines)


def _skip(attributes: str) -> str:
    """``i64 @skip(table, element)``: the element's distance from its row's first."""
    return f"""define internal i64 @skip(ptr %table, i64 %element) alwaysinline {attributes} {{
  %followed = icmp eq ptr %table, null
  br i1 %followed, label %follow, label %look
follow:
  %bytes = mul i64 %element, 8
  ret i64 %bytes
look:
  %at = getelementptr i64, ptr %table, i64 %element
  %found = load i64, ptr %at
  ret i64 %found
}}
"""


def _transpose(names: list[str]) -> tuple[list[str], list[str]]:
    """Transpose a square of row vectors: its quarters exchanged, then theirs, down to single numbers.

    Returns:
        The instructions, and the names of the columns.
    """
    width = len(names)
    kind, lines, distance = float_type(width), [], 1
    while distance < width:
        after = list(names)
        for row in range(width):
            if row & distance:
                continue
            partner = row + distance
            first = [width + lane - distance if lane & distance else lane for lane in range(width)]
            second = [width + lane if lane & distance else lane + distance for lane in range(width)]
            for target, order in ((row, first), (partner, second)):
                after[target] = f"%y{distance}_{target}"
                lanes = ", ".join(f"i32 {lane}" for lane in order)
                pair = f"{kind} {names[row]}, {kind} {names[partner]}"
                lines.append(f"  {after[target]} = shufflevector {pair}, <{width} x i32> <{lanes}>")
        names = after
        distance *= 2
    return lines, names
