# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""What limits a batch of inverse dynamics: its parts alone, and the vector operations that the processor can start."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Iterator
from functools import partial

import llvmlite.binding as llvm
import numpy as np

from bench.report import Section
from bench.robots import Pair
from bench.timing import seconds_per_call
from robodyn_ros.compile import machine, trace
from robodyn_ros.compile import operations as op
from robodyn_ros.compile.batch_abi import row_words
from robodyn_ros.compile.compiled_program import ProgramText
from robodyn_ros.compile.kernel import traced_tape
from robodyn_ros.compile.tape import Tape
from robodyn_ros.dynamics.robot_dynamics import InlineDynamics

SAMPLES = 1_600
"""States in a call: with their results, some 360 kB, which stay in the second cache."""

CHAIN, CHAINS, LENGTH = 3, 16, 60
"""Cycles of an integer multiplication; independent chains of fused multiply-adds, and the operations in each."""


def steady(body: str, count: int, kind: str, number: str) -> Callable[[], None]:
    """A call of a loop of 1,000 rounds over ``count`` chains of instructions; ``body`` takes and gives ``{x}``."""
    lines = [f"  %x{each}_0 = phi {kind} [{number}, %start], [%x{each}_{LENGTH}, %head]" for each in range(count)]
    lines += [f"  %x{each}_{step + 1} = " + body.format(x=f"%x{each}_{step}")
              for step in range(LENGTH) for each in range(count)]
    kept = [f"  store {kind} %x{each}_{LENGTH}, ptr %memory, align 64" for each in range(count)]
    wide = '"prefer-vector-width"="512" "min-legal-vector-width"="512"'
    text = "\n".join([f"define void @steady(ptr %memory) nounwind {wide} {{", "start:", "  br label %head", "head:",
                      "  %round = phi i64 [0, %start], [%next, %head]", *lines, "  %next = add i64 %round, 1",
                      "  %more = icmp slt i64 %next, 1000", "  br i1 %more, label %head, label %end", "end:",
                      *kept, "  ret void", "}", ""])
    code = machine.Code(machine.compile_module(text), ("steady",), {})
    memory = np.zeros(16)
    address = memory.ctypes.data + -memory.ctypes.data % 64
    run = code.function("steady", None, ctypes.c_void_p)
    return lambda: (run(address), code, memory)[0]  # the closure keeps code and memory


def batch_call(text: str, frame_size: int, inputs: list[np.ndarray], result: np.ndarray) -> Callable[[], None]:
    """A call of the code for a batch, without Python's share of it."""
    code = machine.Code(machine.compile_module(text), ("batch",), {})
    rows, tables = row_words([*((array, "input") for array in inputs), (result, "output")])
    words, memory = np.array(rows, dtype=np.int64), np.zeros(8 * frame_size + 8)
    function = code.function("batch", None, *[ctypes.c_int64] * 2, *[ctypes.c_void_p] * 2)
    address = memory.ctypes.data + -memory.ctypes.data % 64
    return lambda: (function(0, SAMPLES, words.ctypes.data, address), code, tables, memory)[0]  # these stay alive


def without(text: str, *functions: str) -> str:
    """A program's text without the calls of some functions."""
    return re.sub(rf"  call void @({'|'.join(functions)})\(.*\n", "", text)


def with_cheap_sines(tape: Tape) -> Tape:
    """A tape with a negation in the place of each sine, and an absolute value in that of each cosine."""
    codes = np.where(tape.codes == op.SIN, op.NEGATE, np.where(tape.codes == op.COS, op.ABSOLUTE, tape.codes))
    return Tape(tape.inputs, tape.output_shape, codes.astype(np.uint8), tape.operands, tape.constants, tape.outputs)


def instructions(text: str) -> tuple[int, int]:
    """Vector operations in the code of a computation, and its loads and stores of spilled vectors."""
    target = machine._target_machine()
    head = f'target triple = "{machine.host().triple}"\ntarget datalayout = "{target.target_data}"\n'
    module = llvm.parse_assembly(head + text, llvm.create_context())
    passes = llvm.create_new_module_pass_manager()
    passes.add_always_inliner_pass()
    passes.run(module, llvm.create_pass_builder(target, llvm.create_pipeline_tuning_options()))
    body = target.emit_assembly(module).split("\ncompute0:")[1].split(".Lfunc_end")[0]
    lines = [line.strip() for line in body.splitlines() if "%zmm" in line]
    operations = [line for line in lines if not line.startswith(("vmov", "vbroadcast", "vpbroadcast"))]
    return len(operations), sum("(%rsp)" in line for line in lines)


def parts() -> Iterator[tuple[str, str, ProgramText, str]]:
    """Name of each part, its program, its text, and the text whose operations are counted."""
    model = Pair.shipped("arm7").robot.model
    tape = trace(InlineDynamics(model).inverse_dynamics, dict.fromkeys(("q", "v", "a"), (model.n,)))
    lanes = machine.host().lanes
    whole, cheap = (ProgramText(traced_tape(each), lanes) for each in (tape, with_cheap_sines(tape)))
    yield "all", whole.text, whole, whole.text
    yield "rows into vectors and back", without(whole.text, "compute0"), whole, ""
    yield "computation", without(whole.text, "pack", "stream"), whole, whole.text
    yield "computation without sine and cosine", without(cheap.text, "pack", "stream"), cheap, cheap.text


def rows() -> Iterator[list[str]]:
    """One row for each part, in cycles of a block of as many states as a vector has lanes."""
    if machine.host().lanes < 8:
        yield ["not measured: needs a processor with AVX-512", *[""] * (len(BATCH_LIMITS.head) - 1)]
        return
    model = Pair.shipped("arm7").robot.model
    inputs = list(np.random.default_rng(5).uniform(-1.0, 1.0, (3, SAMPLES, model.n)))
    result = np.zeros((SAMPLES, model.n))
    fma = "call <8 x double> @llvm.fma.v8f64(<8 x double> {x}, <8 x double> {x}, <8 x double> {x})"
    calls = {"clock": steady("mul i64 {x}, {x}", 1, "i64", "3"),
             "peak": steady(fma, CHAINS, "<8 x double>", "zeroinitializer")}
    listed = list(parts())
    calls |= {name: batch_call(text, program.frame_size, inputs, result) for name, text, program, _ in listed}
    times = {name: np.inf for name in calls}
    for _ in range(300):  # the least of many short times: other programs disturb the rest
        for name, call in calls.items():
            times[name] = min(times[name], seconds_per_call(partial(call), 2))
    rate = CHAIN * LENGTH * 1000 / times["clock"]
    peak = CHAINS * LENGTH * 1000 / (times["peak"] * rate)
    yield [f"fused multiply-adds alone, at {rate * 1e-9:.2f} GHz", "", "", "", f"{peak:.2f}", ""]
    for name, _, _, counted in listed:
        cycles = times[name] * rate * 8 / SAMPLES
        count, spills = instructions(counted) if counted and name != "all" else (0, 0)
        yield [name, f"{cycles:.0f}", *([f"{count}", f"{count / peak:.0f}", f"{count / cycles:.2f}", f"{spills}"]
                                        if count else [""] * 4)]


BATCH_LIMITS = Section(
    "Limits of a batch",
    f"Inverse dynamics of arm7, {SAMPLES:,} states, the compiled loop alone on one core: cycles for a block of 8 "
    "states (AVX-512), with parts of the code left out. Vector operations are those in the machine code, without "
    "loads, stores and copies; the first row shows how many of them the processor starts in a cycle. \"Spilled\": "
    "operations and moves that read or write a vector on the stack. Least of 300 times.",
    ("part", "cycles", "vector operations", "cycles at the peak", "operations in a cycle", "spilled"),
    rows,
)
