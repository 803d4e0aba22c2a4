# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Laws in C beside the same laws in Python, over many states at once.

``python -m bench.law_in_c`` compares all laws on the shipped arms and writes the tables of docs/how_to/export_to_c.md.
"""

from __future__ import annotations

import math
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bench.report import DOCS, line
from robodyn_ros import Robot
from robodyn_ros.base.errors import PluginError
from robodyn_ros.compile import operations as op
from robodyn_ros.compile import trace
from robodyn_ros.control.contract.compiled_law import PackedParameters, law_on_arrays
from robodyn_ros.control.contract.controller import Law
from robodyn_ros.control.contract.law_inputs import StateForm, state_form
from robodyn_ros.control.contract.state import State
from robodyn_ros.control.plugins.registry import law_names, load_controller, make_controller
from robodyn_ros.description.model import Array
from robodyn_ros.simulation.standard_motion import excursion, tip_references
from robodyn_ros.toolbox.export import law_source, write_new

ARMS = ("arm6", "arm7", "planar_2r", "scara")

LAWS = (*law_names(), "elastic_joint_pd", "torque_feedback", "elastic_composite", "computed_torque+safety")
"""Names of the laws that are compared."""

PAGE = DOCS / "how_to" / "export_to_c.md"

COUNT = 10_000
"""Random states."""

FLAGS = ("-O1", "-march=native", "-ffp-contract=off")
"""So that each operation is rounded: compilers for processors that can round a product and a sum together do."""

STRICT = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic")

MAIN = """
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include "{prefix}.h"

/* Tick a law for each sample; or one law, from init on, for all. Laws are parameters and memory, without a transfer. */
int main(int given, char **words)
{{
    const size_t samples = given > 1 ? (size_t)atol(words[1]) : 0, laws = given > 2 ? samples : 1;
    const size_t own = offsetof({prefix}, transfer);
    {prefix} *law = calloc(laws, sizeof *law);
    {prefix}_state *state = malloc(samples * sizeof *state);
    {reference} *reference = malloc(samples * sizeof *reference);
    double *effort = malloc(samples * {n} * sizeof *effort);
    size_t i, done = fread(state, sizeof *state, samples, stdin);
    done += fread(reference, sizeof *reference, samples, stdin);
    if (laws == 1)
        {prefix}_init(law, state);
    else
        for (i = 0; i < laws; i++)
            done += fread(law + i, own, 1, stdin);
    for (i = 0; i < samples && done; i++)
        {prefix}_tick(law + (laws == 1 ? 0 : i), state + i, {given}effort + {n} * i);
    fwrite(effort, sizeof *effort, samples * {n}, stdout);
    for (i = 0; i < laws; i++)
        fwrite(law + i, own, 1, stdout);
    free(law);
    free(state);
    free(reference);
    free(effort);
    return 0;
}}
"""


class Samples(NamedTuple):
    """States and references of ticks, one after the other.

    Attributes:
        states: Numbers of the struct of the state in C, shape (N, s).
        references: Those of the reference, shape (N, r).
    """

    states: Array
    references: Array


class Answers(NamedTuple):
    """What a law answers to samples.

    Attributes:
        before: Parameters and memory before each tick, shape (N, p + m); p is 1 without parameters.
        efforts: Shape (N, n) [N m or N].
        after: Memory after each tick, shape (N, m).
    """

    before: Array
    efforts: Array
    after: Array


class Accuracy(NamedTuple):
    """How exactly a law in C answers as in Python.

    Attributes:
        to_the_bit: Whether efforts and memory are those of the law's operations, each rounded; None: the law solves
            quadratic programs, whose operations no tape has.
        efforts: Of each random state: greatest difference from Python, relative to the largest effort, shape (N,).
        memory: Greatest relative difference of the memory after such a tick.
        motion: That of the efforts over a motion, with the memory from tick to tick.
    """

    to_the_bit: bool | None
    efforts: Array
    memory: float
    motion: float


class LawInC:
    """A law in C, and a program that ticks it.

    Args:
        law: The law.
        name: Of the law, in names of C.
        folder: New folder of the files.
        precision: ``double`` or ``float``; only the first can be run here.

    Attributes:
        file: The law.
    """

    def __init__(self, law: Law[Any, Any, Any], name: str, folder: Path, precision: str = "double") -> None:
        source = law_source(law, name, precision)
        _, self.file = write_new(folder, source.files)
        self._law, self._main = law, folder / "main.c"
        reference = f"{source.name}_reference" if law.follows else "double"
        given = "reference + i, " if law.follows else ""
        self._main.write_text(MAIN.format(prefix=source.name, n=law.robot.n, reference=reference, given=given))

    def program(self, compiler: str = "gcc", *flags: str) -> Path:
        """Compile the program; returns its file."""
        file = self.file.with_name(compiler)
        compiled(compiler, flags, [self.file, self._main], file, "-lm")
        return file

    def run(self, program: Path, samples: Samples, before: Array | None = None) -> tuple[Array, Array]:
        """Tick the law, and return efforts, shape (N, n), and parameters and memory, shape (N, p + m) or (1, p + m).

        Args:
            program: The program.
            samples: States and references.
            before: Parameters and memory before each tick, shape (N, p + m); None: they begin at the first state and go
                on from tick to tick.

        Raises:
            RuntimeError: The program ended with an error; its text.
        """
        count = len(samples.states)
        given = [samples.states, samples.references if samples.references.size else np.zeros(count),
                 np.zeros(0) if before is None else before]
        words = [str(program), str(count), *(["each"] if before is not None else [])]
        done = subprocess.run(words, input=b"".join(each.tobytes() for each in given), capture_output=True)
        if done.returncode or done.stderr:
            raise RuntimeError(f"{program.name}: {done.stderr.decode()}")
        efforts, laws = np.split(np.frombuffer(done.stdout), [count * self._law.robot.n])
        return efforts.reshape(count, -1), laws.reshape(1 if before is None else count, -1)


def compiled(compiler: str, flags: Sequence[str], sources: Sequence[Path], output: Path, *libraries: str) -> None:
    """Compile with every warning an error.

    Raises:
        RuntimeError: The compiler refused; its text.
    """
    done = subprocess.run([compiler, *STRICT, *flags, *map(str, sources), "-o", str(output), *libraries],
                          capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{compiler}: {done.stderr}")


def accuracy(law: Law[Any, Any, Any], in_c: LawInC, program: Path, other: Path | None = None) -> Accuracy:
    """Compare a law in C with the law in Python.

    Args:
        law: The law.
        in_c: The same in C.
        program: Its program, compiled with `FLAGS`.
        other: That for the motion; None: the same.
    """
    samples = random_samples(law, COUNT, 1)
    expected = in_python(law, samples)
    efforts, own = in_c.run(program, samples, expected.before)
    first = own.shape[1] - expected.after.shape[1]
    exact = operation_by_operation(law, samples, expected.before)
    motion = motion_samples(law, 2)
    followed = in_python(law, motion).efforts
    found, _ = in_c.run(other or program, motion)
    return Accuracy(None if exact is None else np.array_equal(exact, np.hstack([efforts, own[:, first:]])),
                    _relative(efforts, expected.efforts),
                    float(_relative(own[:, first:], expected.after).max(initial=0.0)),
                    float(_relative(found, followed).max()))


def _relative(found: Array, expected: Array) -> Array:
    """Greatest difference in each row, relative to its largest number."""
    if not expected.size:
        return np.zeros(0)
    largest = np.abs(expected).max(axis=1)
    difference: Array = np.abs(found - expected).max(axis=1) / np.where(largest > 0.0, largest, 1.0)
    return difference


def random_samples(law: Law[Any, Any, Any], count: int, seed: int) -> Samples:
    """Random states within the limits, and references beside them."""
    robot, rng = law.robot, np.random.default_rng(seed)
    lower, upper = np.maximum(robot.position_lower, -np.pi), np.minimum(robot.position_upper, np.pi)
    q: Array = rng.uniform(lower, upper, (count, robot.n))
    v: Array = rng.normal(0.0, 0.5, (count, robot.n))
    wanted: list[Array] = [q + rng.normal(0.0, 0.05, q.shape), *rng.normal(0.0, 0.5, (2, *q.shape))]
    return _samples(law, rng, 0.002 * np.arange(count), q, v, wanted)


def motion_samples(law: Law[Any, Any, Any], seed: int) -> Samples:
    """The test motion of a robot, which is measured with noise, in control periods."""
    robot, rng = law.robot, np.random.default_rng(seed)
    motion = excursion(robot)
    times = np.arange(0.0, motion.end_time, robot.timing.period)
    wanted = [np.stack(field) for field in zip(*(motion.sample(time) for time in times.tolist()), strict=True)]
    q, v = (wanted[k] + rng.normal(0.0, noise, wanted[k].shape) for k, noise in enumerate((0.02, 0.1)))
    return _samples(law, rng, times, q, v, wanted)


def _samples(law: Law[Any, Any, Any], rng: np.random.Generator, times: Any, q: Array, v: Array, wanted: list[Array]
             ) -> Samples:
    count, n = q.shape
    period = np.full(count, times[1] - times[0])
    period[0] = 0.0
    form = state_form(type(law), n)
    sensed = {"motor_q": q + rng.normal(0.0, 1e-3, q.shape), "motor_v": v + rng.normal(0.0, 0.05, q.shape)}
    states = [times[:, None], period[:, None], q, v, rng.normal(0.0, 2.0, (count, 6))]
    states += [sensed.get(path, rng.normal(0.0, 0.3, (count, *shape))).reshape(count, -1)
               for path, shape in form.shapes.items()]
    return Samples(np.hstack(states), _references(law, rng, wanted, count))


def _references(law: Law[Any, Any, Any], rng: np.random.Generator, wanted: list[Array], count: int) -> Array:
    if law.follows is None:
        return np.zeros((count, 0))
    known = dict(zip("qva", wanted, strict=True))
    shapes = law.follows.shapes(law.robot.n)
    if "position" in shapes:
        known |= _tip(law, wanted)._asdict()
    return np.hstack([known[name] if name in known else rng.normal(0.0, 1.0, (count, *shape))
                      for name, shape in shapes.items()])


def _tip(law: Law[Any, Any, Any], wanted: list[Array]) -> Any:
    class Wanted:
        """A motion that is known at each of its samples."""

        @staticmethod
        def sample(index: float) -> tuple[Array, ...]:
            return tuple(field[int(index)] for field in wanted)

    return tip_references(law.robot, Wanted(), np.arange(len(wanted[0])))  # type: ignore[arg-type]  # it samples alone


def in_python(law: Law[Any, Any, Any], samples: Samples) -> Answers:
    """The answers of the law in Python, tick after tick."""
    n, form = law.robot.n, state_form(type(law), law.robot.n)
    before, efforts, after = [], [], []
    parameters = PackedParameters(law.parameters).values
    head = parameters if parameters.size else np.zeros(1)
    law.activate(_state(samples.states[0], n, form))
    for row, wanted in zip(samples.states, samples.references, strict=True):
        before.append(np.concatenate([head, law.memory_numbers]))
        efforts.append(law.update(_state(row, n, form), _reference(law, wanted)))
        after.append(law.memory_numbers.copy())
    return Answers(np.array(before), np.array(efforts), np.array(after))


def _state(row: Array, n: int, form: StateForm) -> State:
    q, v, wrench, rest = np.split(row[2:], [n, 2 * n, 2 * n + 6])
    state = form.completed(State(float(row[0]), float(row[1]), q, v, wrench))
    return form.with_arrays(state, iter(_split(rest, form.shapes)))


def _reference(law: Law[Any, Any, Any], row: Array) -> Any:
    if law.follows is None:
        return None
    return law.follows(*_split(row, law.follows.shapes(law.robot.n)))  # type: ignore[call-arg]  # a named tuple


def _split(row: Array, shapes: Any) -> list[Array]:
    ends = np.cumsum([math.prod(shape) for shape in shapes.values()], dtype=int)
    return [row[end - math.prod(shape):end].reshape(shape) for end, shape in zip(ends, shapes.values(), strict=True)]


def operation_by_operation(law: Law[Any, Any, Any], samples: Samples, before: Array) -> Array | None:
    """Efforts and memory by the operations of the exported tick in turn, each rounded, shape (N, n + m).

    None for laws with quadratic programs.

    Functions such as sin are those of the C library; NumPy has its own.

    Args:
        law: The law.
        samples: States and references.
        before: Parameters and memory before each tick, shape (N, p + m).
    """
    packed = PackedParameters(law.parameters)
    function, shapes = law_on_arrays(law, packed)
    tape = trace(function, shapes)
    if op.QUADRATIC_PROGRAM in tape.codes:
        return None
    elements = list(np.hstack([samples.states, samples.references, before[:, 0 if packed.values.size else 1:]]).T)
    values: list[Any] = []
    for code, used in zip(tape.codes.tolist(), tape.operands.tolist(), strict=True):
        if code == op.INPUT:
            values.append(elements[used[0]])
        elif code == op.CONSTANT:
            values.append(float(tape.constants[used[0]]))
        else:
            operands = [values[operand] for operand in used if operand >= 0]
            values.append(_of_c_library(code)(*operands).astype(float) if code in _LIBRARY else
                          op.apply(code, *operands))
    return np.stack([np.broadcast_to(values[entry], len(before)) for entry in tape.outputs.tolist()], axis=1)


_LIBRARY = {op.SIN: math.sin, op.COS: math.cos, op.TAN: math.tan, op.ARCSIN: math.asin, op.ARCCOS: math.acos,
            op.ARCTAN: math.atan, op.ARCTAN2: math.atan2, op.EXP: math.exp, op.EXPM1: math.expm1, op.LOG: math.log,
            op.TANH: math.tanh, op.POWER: math.pow}


def _of_c_library(code: int) -> Any:
    function: Any = _LIBRARY[code]
    return np.frompyfunc(function, op.OPERATIONS[code].operand_count, 1)


def make_law(name: str, robot: Robot) -> Any:
    """A law with its default gains; one for elastic joints with springs of 10 kN m/rad.

    Raises:
        PluginError: Default gains do not fit the robot.
    """
    found = load_controller(name)
    springs = {"joint_stiffness": np.full(robot.n, 1e4), "joint_damping": np.full(robot.n, 1.0)}
    return make_controller(name, robot, found.Parameters(**springs) if found.for_elastic_joints else None)


def rows() -> Iterator[list[str]]:
    """A row of the table for each law."""
    for name in LAWS:
        found = []
        for arm in ARMS:
            try:
                law = make_law(name, Robot.named(arm))
            except PluginError:  # its default gains do not fit this robot
                continue
            with tempfile.TemporaryDirectory() as folder:
                in_c = LawInC(law, name, Path(folder) / "c")
                found.append(accuracy(law, in_c, in_c.program("gcc", *FLAGS)))
        bits = {each.to_the_bit for each in found}
        efforts = np.concatenate([each.efforts for each in found])
        figures = (np.quantile(efforts, 0.999), efforts.max(), max(each.memory for each in found),
                   max(each.motion for each in found))
        yield [f"`{name}`", str(len(found)), {True: "yes", None: "-"}.get(bits.pop(), "**no**"),
               *(f"{figure:.0e}" if figure else "0" for figure in figures)]


def _without_bits(row: list[str]) -> list[str]:
    """Leave out what holds for no program, or has no bounds: bits, and the multipliers in the memory."""
    return [*row[:2], *row[3:5], row[6]]


def main() -> None:
    """Write both tables: of laws that are a list of operations, and of laws that solve quadratic programs."""
    head = ["law", "arms", "to the bit", "efforts, 99.9 %", "efforts, greatest", "memory", "motion"]
    listed, solving = [head], [_without_bits(head)]
    for row in rows():
        print(line(row), flush=True)
        if row[2] == "-":
            solving.append(_without_bits(row))
        else:
            listed.append(row)
    text = PAGE.read_text(encoding="utf-8")
    for name, table in (("laws in C", listed), ("laws in C that solve programs", solving)):
        lines = "\n".join([line(table[0]), line(["---"] * len(table[0])), *map(line, table[1:])])
        before, begin, rest = text.partition(f"<!-- {name} -->\n")
        _, end, after = rest.partition(f"<!-- end of {name} -->\n")
        text = f"{before}{begin}\n{lines}\n{end}{after}"
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
