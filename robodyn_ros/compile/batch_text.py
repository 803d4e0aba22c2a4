"""A tape for many samples at once, as LLVM assembly: a block of samples side by side in the lanes of vectors.

A block's inputs are first laid out one vector per input element, then the tape is computed on vectors, then the results
are laid back. ``pack`` and ``unpack`` do the laying out for any strides, so that arrays in C and Fortran order, views
and single columns are read in place. They have three ways: rows whose elements follow each other are transposed in
registers, a square of ``width`` by ``width`` at a time; columns whose elements follow each other are read and written
as vectors; everything else, and the last, incomplete block, goes number by number.
"""

import math

from robodyn_ros.compile.lowering import DECLARATIONS, Body, vector_attributes
from robodyn_ros.compile.tape import Tape
from robodyn_ros.compile.trigonometry import float_type

INLINED_ANGLES = 16
"""Above so many angles their sine and cosine are computed by a function call each, to keep the code small."""


def section_starts(tape: Tape, width: int) -> list[int]:
    """Where in the block each input begins, then where the result does, then the block's end, in vectors.

    Each section is rounded up to whole squares, as `pack` writes those.
    """
    starts = [0]
    for shape in [*tape.inputs.values(), tape.output_shape]:
        starts.append(starts[-1] + -(-math.prod(shape) // width) * width)
    return starts


def batch_module(tape: Tape, width: int, fused: bool) -> str:
    """A module with ``void @batch(first row, last row + 1, arrays, block)``.

    ``arrays`` holds for each input and then for the result three words: the address of row 0, the distance of rows in
    bytes, and the address of a table with the distance of each element from its row's first in bytes, or 0 where they
    simply follow each other. ``block`` is working memory of `section_starts` vectors, aligned to one.

    Args:
        tape: What to compute.
        width: Samples per block.
        fused: Whether the processor has a fused multiply-add.
    """
    attributes = vector_attributes(width)
    kind, size = float_type(width), 8 * width
    sizes = [math.prod(shape) for shape in tape.inputs.values()]
    starts = section_starts(tape, width)
    places = [starts[number] + element for number, count in enumerate(sizes) for element in range(count)]
    pointers: list[str] = []

    def address(position: int) -> str:
        pointers.append(f"  %p{position} = getelementptr {kind}, ptr %block, i64 {places[position]}")
        return f"%p{position}"

    inlined = "alwaysinline" if tape.angle_count <= INLINED_ANGLES else "noinline"
    body = Body(tape, width, width, fused, f"{inlined} {attributes}", address, alignment=size)
    stores = []
    for position, value in enumerate(body.outputs()):
        stores.append(f"  %o{position} = getelementptr {kind}, ptr %block, i64 {starts[-2] + position}")
        stores.append(f"  store {kind} {value}, ptr %o{position}, align {size}")
    lines = [
        DECLARATIONS,
        *body.functions.values(),
        _transpose(width, attributes),
        _layout("pack", width, attributes),
        _layout("unpack", width, attributes),
        f"define internal void @block(ptr noalias %block) noinline {attributes} {{",
        *pointers,
        *body.lines,
        *stores,
        "  ret void",
        "}",
        f"define void @batch(i64 %first, i64 %last, ptr noalias %arrays, ptr noalias %block) {attributes} {{",
        "start:",
        "  %some = icmp slt i64 %first, %last",
        "  br i1 %some, label %loop, label %done",
        "loop:",
        "  %row = phi i64 [%first, %start], [%next, %loop]",
        "  %left = sub i64 %last, %row",
        f"  %rows = call i64 @llvm.smin.i64(i64 %left, i64 {width})",
        *_sections("pack", range(len(sizes)), sizes, starts, kind),
        "  call void @block(ptr %block)",
        *_sections("unpack", [len(sizes)], [*sizes, math.prod(tape.output_shape)], starts, kind),
        f"  %next = add i64 %row, {width}",
        "  %more = icmp slt i64 %next, %last",
        "  br i1 %more, label %loop, label %done",
        "done:",
        "  ret void",
        "}",
        "",
    ]
    return "\n".join(lines)


def _sections(function: str, numbers: "list[int] | range", sizes: list[int], starts: list[int], kind: str) -> list[str]:
    """Calls that lay out arrays, by their number in ``arrays``."""
    lines = []
    for number in numbers:
        for place, (name, word) in enumerate((("base", "ptr"), ("distance", "i64"), ("table", "ptr"))):
            lines.append(f"  %{name}{number}_at = getelementptr i64, ptr %arrays, i64 {3 * number + place}")
            lines.append(f"  %{name}{number} = load {word}, ptr %{name}{number}_at")
        lines += [
            f"  %skip{number} = mul i64 %row, %distance{number}",
            f"  %from{number} = getelementptr i8, ptr %base{number}, i64 %skip{number}",
            f"  %section{number} = getelementptr {kind}, ptr %block, i64 {starts[number]}",
            f"  call void @{function}(ptr %from{number}, i64 %distance{number}, ptr %table{number}, i64 %rows, "
            f"i64 {sizes[number]}, ptr %section{number})",
        ]
    return lines


def _layout(name: str, width: int, attributes: str) -> str:
    """``pack`` or ``unpack``: rows at ``%rows_at`` to or from vectors at ``%vectors``."""
    pack = name == "pack"
    kind, size = float_type(width), 8 * width

    def move(value: str, kind: str, source: str, source_align: int, target: str, target_align: int) -> str:
        if not pack:
            source, source_align, target, target_align = target, target_align, source, source_align
        return (
            f"  %{value} = load {kind}, ptr {source}, align {source_align}\n"
            f"  store {kind} %{value}, ptr {target}, align {target_align}"
        )

    mask = [
        f"  %left = sub i64 %columns, %c",
        f"  %counts = insertelement <{width} x i64> poison, i64 %left, i32 0",
        f"  %count = shufflevector <{width} x i64> %counts, <{width} x i64> poison, <{width} x i32> zeroinitializer",
        f"  %mask = icmp slt <{width} x i64> <{', '.join(f'i64 {lane}' for lane in range(width))}>, %count",
    ]
    square = []
    for lane in range(width):
        square += [
            f"  %skip{lane} = mul i64 %distance, {lane}",
            f"  %in{lane} = getelementptr i8, ptr %corner, i64 %skip{lane}",
            f"  %out{lane} = getelementptr {kind}, ptr %target, i64 {lane}",
        ]
    suffix = f"v{width}f64"
    for lane in range(width):
        if pack:
            square.append(
                f"  %x{lane} = call {kind} @llvm.masked.load.{suffix}.p0"
                f"(ptr align 8 %in{lane}, <{width} x i1> %mask, {kind} zeroinitializer)"
            )
        else:
            square.append(f"  %x{lane} = load {kind}, ptr %out{lane}, align {size}")
    given = ", ".join(f"{kind} %x{lane}" for lane in range(width))
    whole = f"{{{', '.join([kind] * width)}}}"
    square.append(f"  %y = call {whole} @transpose({given})")
    for lane in range(width):
        square.append(f"  %y{lane} = extractvalue {whole} %y, {lane}")
        if pack:
            square.append(f"  store {kind} %y{lane}, ptr %out{lane}, align {size}")
        else:
            square.append(
                f"  call void @llvm.masked.store.{suffix}.p0"
                f"({kind} %y{lane}, ptr align 8 %in{lane}, <{width} x i1> %mask)"
            )
    lines = f"""define internal void @{name}(ptr %rows_at, i64 %distance, ptr %table, i64 %rows, i64 %columns, ptr %vectors) noinline {attributes} {{
start:
  %full = icmp eq i64 %rows, {width}
  %plain = icmp eq ptr %table, null
  %by_rows = and i1 %full, %plain
  %adjacent = icmp eq i64 %distance, 8
  %by_columns = and i1 %full, %adjacent
  %some = icmp sgt i64 %columns, 0
  br i1 %some, label %choose, label %done
choose:
  br i1 %by_columns, label %column, label %not_columns
not_columns:
  br i1 %by_rows, label %square, label %element
square:
  %c = phi i64 [0, %not_columns], [%c_next, %square]
  %corner = getelementptr double, ptr %rows_at, i64 %c
  %target = getelementptr {kind}, ptr %vectors, i64 %c
{chr(10).join([*mask, *square])}
  %c_next = add i64 %c, {width}
  %c_more = icmp slt i64 %c_next, %columns
  br i1 %c_more, label %square, label %done
column:
  %d = phi i64 [0, %choose], [%d_next, %column]
  %d_skip = call i64 @skip(ptr %table, i64 %d)
  %d_in = getelementptr i8, ptr %rows_at, i64 %d_skip
  %d_out = getelementptr {kind}, ptr %vectors, i64 %d
{move("dv", kind, "%d_in", 8, "%d_out", size)}
  %d_next = add i64 %d, 1
  %d_more = icmp slt i64 %d_next, %columns
  br i1 %d_more, label %column, label %done
element:
  %e = phi i64 [0, %not_columns], [%e_next, %element_next]
  %e_skip = call i64 @skip(ptr %table, i64 %e)
  %e_in = getelementptr i8, ptr %rows_at, i64 %e_skip
  %e_out = getelementptr {kind}, ptr %vectors, i64 %e
  br label %lane
lane:
  %l = phi i64 [0, %element], [%l_next, %lane]
{"  %l_last = sub i64 %rows, 1" + chr(10) + "  %l_row = call i64 @llvm.smin.i64(i64 %l, i64 %l_last)" if pack else "  %l_row = add i64 %l, 0"}
  %l_skip = mul i64 %l_row, %distance
  %l_in = getelementptr i8, ptr %e_in, i64 %l_skip
  %l_out = getelementptr double, ptr %e_out, i64 %l
{move("lv", "double", "%l_in", 8, "%l_out", 8)}
  %l_next = add i64 %l, 1
  %l_more = icmp slt i64 %l_next, {width if pack else "%rows"}
  br i1 %l_more, label %lane, label %element_next
element_next:
  %e_next = add i64 %e, 1
  %e_more = icmp slt i64 %e_next, %columns
  br i1 %e_more, label %element, label %done
done:
  ret void
}}
"""
    return lines


def _transpose(width: int, attributes: str) -> str:
    """``{columns} @transpose(rows)`` of a square, and ``@skip``, the distance of an element from its row's first."""
    kind = float_type(width)
    whole = f"{{{', '.join([kind] * width)}}}"
    names = [f"%x{row}" for row in range(width)]
    lines = []
    distance = 1
    while distance < width:  # exchange the off-diagonal quarters of all squares of 2 distance by 2 distance
        after = list(names)
        for row in range(width):
            if row & distance:
                continue
            lower = ", ".join(f"i32 {width + lane - distance if lane & distance else lane}" for lane in range(width))
            upper = ", ".join(f"i32 {width + lane if lane & distance else lane + distance}" for lane in range(width))
            for partner, order in ((row, lower), (row + distance, upper)):
                after[partner] = f"%y{distance}_{partner}"
                lines.append(
                    f"  {after[partner]} = shufflevector {kind} {names[row]}, {kind} {names[row + distance]}, "
                    f"<{width} x i32> <{order}>"
                )
        names = after
        distance *= 2
    value = "poison"
    for row, name in enumerate(names):
        lines.append(f"  %r{row} = insertvalue {whole} {value}, {kind} {name}, {row}")
        value = f"%r{row}"
    parameters = ", ".join(f"{kind} %x{row}" for row in range(width))
    return "\n".join(
        [
            f"define internal {whole} @transpose({parameters}) alwaysinline {attributes} {{",
            *lines,
            f"  ret {whole} {value}",
            "}",
            f"define internal i64 @skip(ptr %table, i64 %element) alwaysinline {attributes} {{",
            "  %plain = icmp eq ptr %table, null",
            "  br i1 %plain, label %follow, label %look",
            "follow:",
            "  %bytes = mul i64 %element, 8",
            "  ret i64 %bytes",
            "look:",
            "  %at = getelementptr i64, ptr %table, i64 %element",
            "  %found = load i64, ptr %at",
            "  ret i64 %found",
            "}",
            "",
        ]
    )
