# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""What the parts of the compiler that could be left out are worth: each function with a part and without it."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np

from bench.batch import CACHED, SAMPLES
from bench.report import Section, time_cells
from bench.robots import HANDS, HUMANOID, chain, tree
from bench.timing import Comparison, compare
from robodyn_ros import Robot
from robodyn_ros.base.code_cache import VARIABLE
from robodyn_ros.compile import compiled_program, lowering, products, runtime, scalar, schedule
from robodyn_ros.compile import operations as op
from robodyn_ros.compile.llvm_text import FunctionText, function
from robodyn_ros.compile.tape import Tape
from robodyn_ros.description.resources import robot_file
from robodyn_ros.dynamics import matrix_factors
from robodyn_ros.dynamics.robot_dynamics import FUNCTIONS

ARM = robot_file("arm7").read_text()
LARGE, LARGEST = tree((*HUMANOID, *HANDS)), chain(100)
NEVER = 1 << 62


class Measured(NamedTuple):
    """What a part makes faster.

    Attributes:
        function: The function.
        urdf: The robot.
        samples: Of a batch; 0 for one call.
        compiles: Whether the time of the compilation is measured.
    """

    function: str
    urdf: str
    samples: int = 0
    compiles: bool = False

    def prepared(self) -> Callable[[], Any]:
        """A call of the function of a new robot, compiled."""
        dynamics, arrays = Robot.from_urdf_text(self.urdf).dynamics(), len(FUNCTIONS[self.function].arrays)
        shape = (self.samples, dynamics.model.n) if self.samples else (dynamics.model.n,)
        states = np.random.default_rng(6).uniform(-1.0, 1.0, (arrays, *shape))
        owner: Any = dynamics.batch if self.samples else dynamics
        result = getattr(owner, self.function)(*states)
        if self.samples:
            owner = owner.into(result)
        return partial(getattr(owner, self.function), *states)  # compiled, which the first call has put in place

    def __str__(self) -> str:
        what = "compilation" if self.compiles else "batch" if self.samples else "one call"
        return f"{self.function}, {Robot.from_urdf_text(self.urdf).n} joints: {what}"


class Part(NamedTuple):
    """A part of the compiler.

    Attributes:
        name: What it does.
        code: The modules and functions that would not be needed without it.
        owner: Module or class where something else stands when the part is left out.
        left_out: What stands there, by name.
        measured: What it makes faster.
    """

    name: str
    code: Sequence[Any]
    owner: Any
    left_out: Mapping[str, Any]
    measured: Sequence[Measured]


def _number_by_number(text: FunctionText, rows: list[str]) -> list[str]:
    """The transposed square, of vectors put together from single numbers."""
    columns = []
    for column in range(len(rows)):
        result = "poison"
        for lane, row in enumerate(rows):
            number = text.let(f"extractelement {text.kind} {row}, i32 {column}")
            result = text.let(f"insertelement {text.kind} {result}, double {number}, i32 {lane}")
        columns.append(result)
    return columns


def _recorded(code: int, number: scalar.Scalar, value: Any) -> Any:
    other = value.index if isinstance(value, scalar.Scalar) else number.recorder.constant(value).index
    return number.recorder.record((code, other, number.index))


def _always_new(recorder: scalar.Recorder, key: scalar.Key) -> scalar.Scalar:
    if key[0] > op.CONSTANT:
        recorder.table.pop(key, None)
    return RECORD(recorder, key)


def _unpacked(name: str, _width: int, attributes: str) -> str:
    head = f"internal void @{name}({runtime._ROWS}, ptr %aside, i64 %streamed) noinline {attributes}"
    return function(head, [f"  call void @unpack({runtime._ROWS})"])


def _library_sincos(name: str, width: int, count: int, _fused: bool, *rest: Any) -> str:
    return SINCOS(name, width, count, False, *rest)


RECORD, SINCOS = scalar.Recorder.record, runtime.sincos_function
ONE, BATCH = Measured("inverse_dynamics", ARM), Measured("inverse_dynamics", ARM, CACHED)

PARTS = (
    Part("products with 0 and 1, and constants taken together", (scalar._offset, scalar._scale), scalar,
         {"_offset": partial(_recorded, op.ADD), "_scale": partial(_recorded, op.MULTIPLY)},
         (ONE, ONE._replace(compiles=True))),
    Part("each operation once", (scalar.Recorder.record,), scalar.Recorder, {"record": _always_new}, (ONE,)),
    Part("products rounded with their sums", (Tape.contracted,), Tape, {"contracted": lambda tape, **_: tape},
         (ONE, BATCH)),
    Part("sine and cosine without the C library", (runtime._near_sincos, runtime.sincos_function), runtime,
         {"sincos_function": _library_sincos}, (ONE, BATCH)),
    Part("angles of one sample in a vector", (lowering._Writer._sincos,), compiled_program, {"MAX_SINGLE_LANES": 1},
         (ONE,)),
    Part("rows transposed in registers", (runtime._transpose,), runtime, {"_transpose": _number_by_number}, (BATCH,)),
    Part("results that go around the caches", (runtime._stream,), runtime, {"_stream": _unpacked},
         (Measured("mass_matrix", ARM, SAMPLES),)),
    Part("pieces of long tapes", (schedule,), schedule, {"MAX_UNCUT_LENGTH": NEVER},
         tuple(Measured("forward_dynamics", LARGE, compiles=compiles) for compiles in (False, True))),
    Part("loops over products", (products,), matrix_factors, {"MIN_LARGE_PAIRS": NEVER},
         tuple(Measured("mass_matrix", LARGEST, compiles=compiles) for compiles in (False, True))),
)


def rows(parts: Sequence[Part] = PARTS, repetitions: int = 9) -> Iterator[list[str]]:
    """Yield the rows of the table."""
    for part in parts:
        lines = sum(len(inspect.getsourcelines(code)[0]) for code in part.code)
        for measured in part.measured:
            result = (_compilations if measured.compiles else _calls)(part, measured, repetitions)
            unit, name = (1e3, "ms") if measured.compiles else (1e9 / max(measured.samples, 1), "ns")
            low, high = result.spread
            yield [part.name, str(lines), str(measured), *(f"{time} {name}" for time in time_cells(result, unit, 0)),
                   f"{result.ratio:.3g}", f"{low:.3g} to {high:.3g}"]


def _calls(part: Part, measured: Measured, repetitions: int) -> Comparison:
    with_it = measured.prepared()
    with patch.multiple(part.owner, **part.left_out):
        without = measured.prepared()
    np.testing.assert_allclose(with_it(), without(), rtol=1e-9, atol=1e-9)
    return compare(with_it, without, repetitions)


def _compilations(part: Part, measured: Measured, repetitions: int) -> Comparison:
    def without() -> None:
        with patch.multiple(part.owner, **part.left_out):
            measured.prepared()

    with patch.dict(os.environ, {VARIABLE: "off"}):
        return compare(measured.prepared, without, repetitions)


COMPILE_PARTS = Section(
    "Parts of the compiler",
    "What parts of `robodyn_ros/compile/` that could be left out are worth: the same function compiled with the part "
    "and without it; per sample in batches. A compilation is that of a new robot's function, and its first call, "
    "without the cache on disk. \"Lines\": those that the part takes, documentation included.",
    ("part", "lines", "function", "with", "without", "ratio", "quartiles"),
    rows,
)
