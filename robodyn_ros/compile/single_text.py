"""A tape for one sample, as LLVM assembly."""

import math

from robodyn_ros.compile.lowering import DECLARATIONS, Helpers, Memory, Place, lower
from robodyn_ros.compile.tape import Tape


def single_module(tape: Tape, lanes: int, fused: bool) -> str:
    """A module with ``void @single(pointer of each input, pointer of the result)``, all contiguous float64 in C order.

    Args:
        tape: What to compute.
        lanes: Angles whose sine and cosine are computed together.
        fused: Whether the processor has a fused multiply-add.
    """
    helpers = Helpers(1, lanes, fused)
    parameters = [f"in{number}" for number in range(len(tape.inputs))] + ["out"]
    inputs = [
        Place(f"in{number}", element)
        for number, shape in enumerate(tape.inputs.values())
        for element in range(math.prod(shape))
    ]
    outputs = [Place("out", element) for element in range(len(tape.outputs))]
    memory = Memory((*parameters, "between"), inputs, outputs, Place("between", 0), 8)
    lowered = lower(tape, memory, helpers)
    return "\n".join(
        [
            DECLARATIONS,
            helpers.text(),
            lowered.functions,
            f"define void @single({', '.join(f'ptr noalias %{name}' for name in parameters)}) {helpers.attributes} {{",
            f"  %between = alloca [{lowered.between_count} x double], align 64",
            lowered.body,
            "  ret void",
            "}",
            "",
        ]
    )
