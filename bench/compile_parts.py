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
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any, NamedTuple
from unittest import mock

import numpy as np

from bench.batch import CACHED, SAMPLES
from bench.report import Section, time_cells
from bench.robots import HANDS, HUMANOID, chain, tree
from bench.timing import compare
from robodyn_ros import Robot
from robodyn_ros.compile import compiled_program, lowering, products, python_entry, runtime, scalar, schedule
from robodyn_ros.compile import operations as op
from robodyn_ros.compile.cache import VARIABLE
from robodyn_ros.compile.llvm_text import FunctionText, function
from robodyn_ros.compile.tape import Tape
from robodyn_ros.dynamics import matrix_factors
from robodyn_ros.dynamics.robot_dynamics import FUNCTIONS
from robodyn_ros.resources import robot_file

ARM = robot_file("arm7").read_text()
LARGE, LARGEST = tree((*HUMANOID, *HANDS)), chain(100)
NEVER = 1 << 62


class Measured(NamedTuple):
    """What a part makes faster.

    Attributes:
        what: One call, a batch, or a compilation.
        function: The function.
        urdf: The robot.
        samples: Of a batch; 0 for one call.
    """

    what: str
    function: str
    urdf: str
    samples: int = 0

    def prepared(self) -> Callable[[], Any]:
        """The work to be timed, of a new robot; code is compiled now, or in the work if compilation is measured."""
        if self.what == "compilation":
            return lambda: self._called(Robot.from_urdf(self.urdf))
        robot = Robot.from_urdf(self.urdf)
        self._called(robot)
        dynamics = robot.dynamics()
        states = self._states(robot)
        if not self.samples:
            return partial(getattr(dynamics, self.function), *states)
        out = getattr(dynamics.batch, self.function)(*states)
        return partial(getattr(dynamics.batch.into(out), self.function), *states)

    def _called(self, robot: Robot) -> None:
        states = self._states(robot)
        getattr(robot.dynamics(), self.function)(*(state[0] if self.samples else state for state in states))

    def _states(self, robot: Robot) -> list[np.ndarray]:
        count = len(FUNCTIONS[self.function].arrays)
        shape = (count, self.samples, robot.n) if self.samples else (count, robot.n)
        return list(np.random.default_rng(6).uniform(-1.0, 1.0, shape))


class Part(NamedTuple):
    """A part of the compiler.

    Attributes:
        name: What it does.
        code: The modules and functions that would not be needed without it.
        left_out: Module or class, name there, and what stands there when the part is left out.
        measured: What it makes faster.
    """

    name: str
    code: Sequence[Any]
    left_out: Sequence[tuple[Any, str, Any]]
    measured: Sequence[Measured]


class _NumberByNumber(FunctionText):
    """Of two ways, the general one."""

    def when(self, condition: str, then: Callable[[], object] | None,
             otherwise: Callable[[], object] | None = None) -> None:
        if otherwise is None:
            super().when(condition, then)
        else:
            otherwise()


def _recorded(code: int, number: scalar.Scalar, value: Any) -> Any:
    other = value.index if isinstance(value, scalar.Scalar) else number.recorder.constant(value).index
    return number.recorder.record((code, other, number.index))


def _always_new(recorder: scalar.Recorder, key: scalar.Key) -> scalar.Scalar:
    found = recorder.table.get(key) if key[0] <= op.CONSTANT else None
    if found is None:
        found = recorder.table[key] = scalar.Scalar(recorder, len(recorder.scalars), key)
        recorder.scalars.append(found)
    return found


def _unpacked(_width: int, attributes: str) -> str:
    head = f"internal void @stream({runtime._ROWS}, ptr %aside, i64 %streamed) noinline {attributes}"
    given = "ptr %rows, i64 %distance, ptr %table, i64 %count, i64 %columns, ptr %vectors"
    return function(head, [f"  call void @unpack({given})"])


def _library_sincos(*given: Any) -> str:
    name, width, count, _, inlined, attributes = given
    return SINCOS(name, width, count, False, inlined, attributes)


SINCOS = runtime.sincos_function
ONE, BATCH = Measured("one call", "inverse_dynamics", ARM), Measured("batch", "inverse_dynamics", ARM, CACHED)

PARTS = (
    Part("entry that CPython calls", (python_entry,),
         ((python_entry, "unsupported_reason", lambda: "left out"),), (ONE,)),
    Part("products with 0 and 1, and constants taken together", (scalar._offset, scalar._scale),
         ((scalar, "_offset", partial(_recorded, op.ADD)), (scalar, "_scale", partial(_recorded, op.MULTIPLY))),
         (ONE, Measured("compilation", "inverse_dynamics", ARM))),
    Part("each operation once", (scalar.Recorder.record,), ((scalar.Recorder, "record", _always_new),), (ONE,)),
    Part("products rounded with their sums", (Tape.contracted,),
         ((Tape, "contracted", lambda tape, **_: tape),), (ONE, BATCH)),
    Part("sine and cosine without the C library", (runtime._near_sincos, runtime.sincos_function),
         ((runtime, "sincos_function", _library_sincos),), (ONE, BATCH)),
    Part("angles of one sample in a vector", (lowering._Piece._sincos,),
         ((compiled_program, "SINGLE_LANES", 1),), (ONE,)),
    Part("rows transposed in registers", (runtime._square, runtime._transpose),
         ((runtime, "FunctionText", _NumberByNumber),), (BATCH,)),
    Part("results that go around the caches", (runtime._stream,),
         ((runtime, "_stream", _unpacked),), (Measured("batch", "mass_matrix", ARM, SAMPLES),)),
    Part("pieces of long tapes", (schedule,), ((schedule, "LONGEST", NEVER),),
         tuple(Measured(what, "forward_dynamics", LARGE) for what in ("one call", "compilation"))),
    Part("loops over products", (products,), ((matrix_factors, "LARGE", NEVER),),
         tuple(Measured(what, "mass_matrix", LARGEST) for what in ("one call", "compilation"))),
)


def rows(parts: Sequence[Part] = PARTS, repetitions: int = 9) -> Iterator[list[str]]:
    """Yield the rows of the table."""
    for part in parts:
        lines = sum(len(inspect.getsourcelines(code)[0]) for code in part.code)
        for measured in part.measured:
            yield [part.name, str(lines), *_compared(part, measured, repetitions)]


def _compared(part: Part, measured: Measured, repetitions: int) -> list[str]:
    with ExitStack() as stack:
        if measured.what == "compilation":
            stack.enter_context(mock.patch.dict(os.environ, {VARIABLE: "off"}))
        with_it, without = measured.prepared(), _without(part, measured)
        if measured.what != "compilation":
            np.testing.assert_allclose(with_it(), without(), rtol=1e-9, atol=1e-9)
        result = compare(with_it, without, repetitions)
    per = max(measured.samples, 1)
    unit, digits, name = (1e3, 0, "ms") if measured.what == "compilation" else (1e9 / per, 0, "ns")
    joints = Robot.from_urdf(measured.urdf).n
    times, (low, high) = time_cells(result, unit, digits), result.spread
    return [f"{measured.function}, {joints} joints: {measured.what}", *(f"{time} {name}" for time in times),
            f"{result.ratio:.3g}", f"{low:.3g} to {high:.3g}"]


def _without(part: Part, measured: Measured) -> Callable[[], Any]:
    """The work without the part."""

    def left_out() -> ExitStack:
        stack = ExitStack()
        for owner, name, value in part.left_out:
            stack.enter_context(mock.patch.object(owner, name, value))
        return stack

    if measured.what == "compilation":
        def compiled() -> None:
            with left_out():
                measured.prepared()()

        return compiled
    with left_out():
        return measured.prepared()


COMPILE_PARTS = Section(
    "Parts of the compiler",
    "What parts of `robodyn_ros/compile/` that could be left out are worth: the same function compiled with the part "
    "and without it; per sample in batches. A compilation is that of a new robot's function, and its first call, "
    "without the cache on disk. \"Lines\": those that the part takes, documentation included.",
    ("part", "lines", "function", "with", "without", "ratio", "quartiles"),
    rows,
)
