"""A tape for many samples, as LLVM assembly: a block of samples at a time, side by side in the lanes of vectors."""

import math

from robodyn_ros.compile.layout_text import ROW_WORDS, layout_call, layout_functions, streaming_function
from robodyn_ros.compile.lowering import DECLARATIONS, Helpers, Memory, Place, lower
from robodyn_ros.compile.tape import Tape
from robodyn_ros.compile.trigonometry import float_type


def batch_module(tape: Tape, width: int, fused: bool) -> tuple[str, int]:
    """A module with ``void @batch(first row, last row + 1, arrays, block)`` and ``@batch_streaming`` likewise.

    ``arrays`` holds `ROW_WORDS` for each input and then for the result. ``block`` is working memory, aligned to a
    vector. The streaming form is for results that the caches have no room for.

    Args:
        tape: What to compute.
        width: Samples per block.
        fused: Whether the processor has a fused multiply-add.

    Returns:
        The module, and the size of its working memory in vectors.
    """
    helpers = Helpers(width, width, fused)
    attributes = helpers.attributes
    sizes = [math.prod(shape) for shape in [*tape.inputs.values(), tape.output_shape]]
    starts = [0]  # of each array's section in the block, which holds whole squares
    for size in sizes:
        starts.append(starts[-1] + -(-size // width) * width)
    places = [
        [Place("block", starts[number] + element) for element in range(size)] for number, size in enumerate(sizes)
    ]
    inputs = [place for section in places[:-1] for place in section]
    memory = Memory(("block",), inputs, places[-1], Place("block", starts[-1]), 8 * width)
    lowered = lower(tape, memory, helpers)
    aside = starts[-1] + lowered.between_count
    lines = [
        DECLARATIONS,
        helpers.text(),
        lowered.functions,
        layout_functions(width, attributes),
        streaming_function(width, attributes),
        f"define internal void @block(ptr noalias %block) noinline {attributes} {{",
        lowered.body,
        "  ret void",
        "}",
        *_loop(sizes, starts, aside, width, attributes, streaming=False),
        *_loop(sizes, starts, aside, width, attributes, streaming=True),
    ]
    return "\n".join([*lines, ""]), aside + starts[-1] - starts[-2]


def _loop(
    sizes: list[int], starts: list[int], aside: int, width: int, attributes: str, *, streaming: bool
) -> list[str]:
    """The function that goes through the samples block by block."""
    kind, result, words = float_type(width), len(sizes) - 1, "arrays"
    name, unpack, more = ("batch_streaming", "stream", ", ptr %aside") if streaming else ("batch", "unpack", "")
    return [
        f"define void @{name}(i64 %first, i64 %end, ptr noalias %arrays, ptr noalias %block) {attributes} {{",
        "start:",
        "  %some = icmp slt i64 %first, %end",
        "  br i1 %some, label %loop, label %done",
        "loop:",
        "  %row = phi i64 [%first, %start], [%next, %loop]",
        "  %left = sub i64 %end, %row",
        f"  %rows = call i64 @llvm.smin.i64(i64 %left, i64 {width})",
        *(
            line
            for number in range(result)
            for line in layout_call("pack", str(number), words, ROW_WORDS * number, sizes[number], starts[number], kind)
        ),
        "  call void @block(ptr %block)",
        f"  %aside = getelementptr {kind}, ptr %block, i64 {aside}",
        *layout_call(unpack, "_result", words, ROW_WORDS * result, sizes[result], starts[result], kind, more=more),
        f"  %next = add i64 %row, {width}",
        "  %more = icmp slt i64 %next, %end",
        "  br i1 %more, label %loop, label %done",
        "done:",
        *(["  fence seq_cst"] if streaming else []),
        "  ret void",
        "}",
    ]
