"""Rows of numbers to vectors of a block and back, as LLVM assembly.

A block holds ``width`` samples, one vector per element of a row. ``pack`` lays rows out so, ``unpack`` puts them back,
for any strides, so that arrays in C and Fortran order, views and single columns are used in place. They have three
ways: rows whose elements follow each other are transposed in registers, a square of ``width`` by ``width`` at a time;
columns whose elements follow each other are read and written as vectors; everything else, and the last, incomplete
block, goes number by number.

Results too many for the caches go around them: a processor that stores part of a line reads the line first, and what it
reads and later writes back takes longer than computing it. Whole lines can be stored without; so a block's rows are
first put together aside.
"""

from robodyn_ros.compile.trigonometry import float_type

ROW_WORDS = 4
"""Words that tell where the rows of an array are, as `samples.RowWords` gives them: the address of the first; the
distance of rows in bytes; the address of a table with the distance of each element from its row's first in bytes, or 0
where they simply follow each other; the distance of a row from the one that the same sample has a step later."""


def layout_call(
    function: str, name: str, words: str, word: int, size: int, start: int, kind: str, step: str = "0", more: str = ""
) -> list[str]:
    """Lay out a block of the rows of an array, from sample ``%row`` on, ``%rows`` of them.

    Args:
        function: ``pack``, ``unpack`` or ``stream``.
        name: What tells this call's values apart from others in the function.
        words: The LLVM pointer to the words.
        word: Position of the array's `ROW_WORDS`.
        size: Elements of a row.
        start: Where their vectors begin in ``block``.
        kind: LLVM type of a vector.
        step: Which of the rows that a sample has.
        more: Further arguments of the function.
    """
    lines = []
    kinds = {"base": "ptr", "distance": "i64", "table": "ptr", "later": "i64"}
    for number, (what, word_kind) in enumerate(kinds.items()):
        lines.append(f"  %{what}{name}_at = getelementptr i64, ptr %{words}, i64 {word + number}")
        lines.append(f"  %{what}{name} = load {word_kind}, ptr %{what}{name}_at")
    return [
        *lines,
        f"  %away{name} = mul i64 %row, %distance{name}",
        f"  %steps{name} = mul i64 {step}, %later{name}",
        f"  %both{name} = add i64 %away{name}, %steps{name}",
        f"  %from{name} = getelementptr i8, ptr %base{name}, i64 %both{name}",
        f"  %section{name} = getelementptr {kind}, ptr %block, i64 {start}",
        f"  call void @{function}(ptr %from{name}, i64 %distance{name}, ptr %table{name}, i64 %rows, i64 {size}, "
        f"ptr %section{name}{more})",
    ]


def layout_functions(width: int, attributes: str) -> str:
    """``void @pack(rows, distance of rows, table, row count, column count, vectors)``, and ``@unpack`` likewise.

    ``table`` holds the distance of each element from its row's first in bytes; null if they follow each other. Of an
    incomplete block, ``pack`` repeats the last row and ``unpack`` leaves out what is too much. ``vectors`` has room for
    whole squares.

    Args:
        width: Samples in a block.
        attributes: LLVM's function attributes.
    """
    return "\n".join(
        [_skip(attributes), _transpose(width, attributes)]
        + [_layout(name, width, attributes) for name in ("pack", "unpack")]
    )


def streaming_function(width: int, attributes: str) -> str:
    """``void @stream(rows, distance of rows, table, row count, column count, vectors, aside)``, which is `unpack`.

    Rows that follow each other from a whole vector's address are stored around the caches, all else as `unpack` does.
    ``aside`` has room for the block's rows.

    Args:
        width: Samples in a block.
        attributes: LLVM's function attributes.
    """
    kind = float_type(width)
    parameters = "ptr %rows, i64 %distance, ptr %table, i64 %count, i64 %columns, ptr %vectors, ptr %aside"
    return f"""define internal void @stream({parameters}) noinline {attributes} {{
start:
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
!2 = !{{i32 1}}
"""


def _layout(name: str, width: int, attributes: str) -> str:
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
    whole = f"{{{', '.join([kind] * width)}}}"
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
    given = ", ".join(f"{kind} %x{lane}" for lane in range(width))
    lines.append(f"  %transposed = call {whole} @transpose({given})")
    for lane in range(width):
        lines.append(f"  %y{lane} = extractvalue {whole} %transposed, {lane}")
        if packs:
            lines.append(f"  store {kind} %y{lane}, ptr %vector{lane}, align {8 * width}")
        else:
            given = f"{kind} %y{lane}, ptr align 8 %row{lane}, {mask_kind} %mask"
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


def _transpose(width: int, attributes: str) -> str:
    """``{columns} @transpose(rows)`` of a square: its quarters exchanged, then theirs, down to single numbers."""
    kind = float_type(width)
    whole = f"{{{', '.join([kind] * width)}}}"
    names = [f"%x{row}" for row in range(width)]
    lines = []
    distance = 1
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
            "",
        ]
    )
