# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The simulated robot in C: a step of its motors, elastic joints, friction, stops and rigid bodies.

For hardware in the loop.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, get_type_hints

import numpy as np

from robodyn_ros.base.errors import InputError
from robodyn_ros.compile import Compute, Repeat, trace
from robodyn_ros.compile.loops_in_c import identifier
from robodyn_ros.compile.program import Program, Statement
from robodyn_ros.compile.records import Shape, flatten_all, form_of
from robodyn_ros.description.model import Array
from robodyn_ros.dynamics.robot_dynamics import InlineDynamics
from robodyn_ros.simulation.fast_motion import resolved_speed
from robodyn_ros.simulation.outputs import ActuatorState, report_at_rest
from robodyn_ros.simulation.plant_model import PlantModel
from robodyn_ros.simulation.plant_state import Described, PlantCommand, PlantState
from robodyn_ros.simulation.plant_step import report_statement, step_program
from robodyn_ros.toolbox.export.c_function import CFunction, folded, row
from robodyn_ros.toolbox.export.c_source import CSource, assembled, comment

RECORDS = {"state": PlantState, "command": PlantCommand, "report": ActuatorState}
"""Records in the struct whose fields are described."""


def plant_source(plant: PlantModel, precision: str = "double") -> CSource:
    """Write the step of a simulated robot in C.

    Args:
        plant: The simulated robot, with its step and integrator.
        precision: ``double`` or ``float``.

    Returns:
        C99 without memory allocation. A struct of the caller holds state, command and outputs; ``init``, ``step`` and
        ``read`` work on it.

    Raises:
        InputError: The precision is unknown, the integrator divides steps by itself, or the robot touches
            surfaces.
    """
    if not plant.method.has_fixed_steps:
        raise InputError(f"export: integrator: expected one with fixed steps, received '{plant.integrator}'")
    if plant.world is not None:
        raise InputError("export: contacts with surfaces are not exported; leave out the world")
    prefix, n = f"{identifier(plant.model.name)}_plant", plant.n
    rest = plant.state(*np.zeros((2, n)))
    forms: Any = {"state": form_of(rest)}
    step = step_program(plant)
    variables = step.variables | {"report": report_at_rest(plant, rest)}
    program = Program(variables, [*step.statements, report_statement(plant)], step.inputs, ["state", "report"])
    written: list[CFunction] = []
    lines = list(_statements(program, program.statements[:-1], prefix, written, 1))
    reading = list(_statements(program, program.statements[-1:], prefix, written, 1))
    initial = ", ".join(f".{identifier(path)} = {{{row(np.ravel(array), precision)}}}" for path, array in
                        flatten_all(forms, {"state": rest}, "export").items() if array.any())
    wind = []
    if len(plant.elastic):
        written.append(_motors_at_rest(plant, f"{prefix}_motors_at_rest"))
        filled = ", ".join(f"plant->state_{name}" for name in ("q", "v", "motor_side_q", "motor_side_v"))
        wind = [f"    {written[-1].name}({filled});"]
    bodies = ["static " + "\n".join(each.definition(precision)) for each in written]
    bodies.append("\n".join([
        f"static int {prefix}_replace({precision} *values, int count)", "{", "    int i, replaced = 0;",
        "    for (i = 0; i < count; i++) {", "        if (values[i] - values[i] != 0) {", "            values[i] = 0;",
        "            replaced = -1;", "        }", "    }", "    return replaced;", "}"]))
    bodies.append("\n".join([
        f"int {prefix}_init({prefix} *plant, const {precision} q[{n}], const {precision} v[{n}])", "{",
        folded(f"    static const {prefix} initial = {{{initial}}};"), "    int i, replaced;", "    *plant = initial;",
        f"    for (i = 0; i < {n}; i++) {{", "        plant->state_q[i] = q[i];", "        plant->state_v[i] = v[i];",
        "    }", f"    replaced = {prefix}_replace(plant->state_q, {n}) | {prefix}_replace(plant->state_v, {n});",
        *wind, "    return replaced;", "}"]))
    commands = [path for path in _filled(program, program.variables) if path.startswith("command.")]
    checks = [f"    replaced |= {prefix}_replace(plant->{identifier(path)}, {math.prod(program.variables[path])});"
              for path in commands]
    bodies.append("\n".join([f"int {prefix}_step({prefix} *plant)", "{", "    int replaced = 0;", *_counters(lines),
                             *checks, *lines, "    return replaced;", "}"]))
    bodies.append("\n".join([f"void {prefix}_read({prefix} *plant)", "{", *reading, "}"]))
    fields = "\n".join(f"    {precision} {identifier(path)}[{math.prod(program.variables[path])}];{_about(path)}"
                       for path in _filled(program, program.variables))
    speed = resolved_speed(plant)
    declared = [
        comment([f"The simulated robot. Set command_* and call step, which goes on by {plant.step:g} s "
                 f"({plant.integrator}); then read state_*, "
                 "and call read for report_*. The other fields are its memory.",
                 f"Steps resolve motions up to {speed:.4g} rad/s, the sum of the joints' speeds by their shares in the "
                 "inertia: beyond that, choose a smaller step."]) + f"\ntypedef struct {{\n{fields}\n}} {prefix};",
        comment(["Begin at positions and velocities, with all commands 0. -1: some were not finite and count as 0."]) +
        f"\nint {prefix}_init({prefix} *plant, const {precision} q[{n}], const {precision} v[{n}]);",
        comment(["A step. -1: some commands were not finite and count as 0."]) +
        f"\nint {prefix}_step({prefix} *plant);",
        comment(["Compute the outputs report_* at the end of the last step."]) +
        f"\nvoid {prefix}_read({prefix} *plant);"]
    return assembled(prefix, plant.model, declared, bodies, written, precision)


def _statements(program: Program, statements: Sequence[Statement], prefix: str, written: list[CFunction], depth: int
                ) -> Iterator[str]:
    """Yield the lines of statements; add the functions that they call to ``written``."""
    indent = "    " * depth
    for statement in statements:
        if isinstance(statement, Compute):
            function = _function(program, statement, f"{prefix}_part{len(written)}")
            written.append(function)
            paths = [*dict.fromkeys(_filled(program, statement.inputs)), *_filled(program, statement.output_names)]
            names = [f"plant->{identifier(path)}" for path in paths]
            yield from folded(f"{indent}{function.name}({', '.join(names)});").split("\n")
            continue
        assert isinstance(statement, Repeat) and isinstance(statement.count, int)
        counter = f"i{depth}"
        going = "" if statement.flag is None else (
            f" && ({counter} < {statement.at_least} || plant->{identifier(statement.flag)}[0] > 0)")
        yield f"{indent}for ({counter} = 0; {counter} < {statement.count}{going}; {counter}++) {{"
        yield from _statements(program, list(statement.statements), prefix, written, depth + 1)
        yield f"{indent}}}"


def _function(program: Program, statement: Compute, name: str) -> CFunction:
    shapes: dict[str, Shape] = {path: program.variables[path] for path in statement.inputs}
    outputs = {f"new_{identifier(path)}": program.variables[path] for path in _filled(program, statement.output_names)}
    given = list(dict.fromkeys(_filled(program, statement.inputs)))  # a path may occur twice

    def flat(*arrays: Any) -> Any:
        known = dict(zip(given, arrays, strict=True))
        every = [known[path] if path in known else np.zeros(shapes[path]) for path in statement.inputs]
        results = program.results(statement, statement.function(*every))
        return np.concatenate([np.ravel(array) for array in results])

    return CFunction(name, trace(flat, {path: shapes[path] for path in given}), (), outputs)


def _motors_at_rest(plant: PlantModel, name: str) -> CFunction:
    """Initial positions of the motors of elastic joints, as in `PlantModel.state`."""
    n, m = plant.n, len(plant.elastic)

    def motors_at_rest(q: Array, v: Array) -> Array:
        gravity = InlineDynamics(plant.model).gravity(q)
        return np.concatenate([plant.elastic.at_rest(q, gravity), v[plant.elastic.joints]])

    return CFunction(name, trace(motors_at_rest, {"q": (n,), "v": (n,)}), (), {"motor_q": (m,), "motor_v": (m,)})


def _filled(program: Program, paths: Iterable[str]) -> list[str]:
    """Paths of the arrays that have elements."""
    return [path for path in paths if math.prod(program.variables[path])]


def _counters(lines: Sequence[str]) -> list[str]:
    deepest = max((len(line) - len(line.lstrip())) // 4 for line in lines)
    used = [f"i{depth}" for depth in range(1, deepest + 1) if any(f"for (i{depth} " in line for line in lines)]
    return [f"    int {', '.join(used)};"] if used else []


def described_fields(kind: Any) -> Iterator[tuple[str, Described]]:
    """Yield the paths of the described arrays of a record's class, and their descriptions."""
    for name, own in kind._field_defaults.items():
        inner = get_type_hints(kind)[name]
        if not hasattr(inner, "_fields"):
            yield name, own
        else:
            yield from ((f"{name}.{path}", about) for path, about in described_fields(inner))


def _about(path: str) -> str:
    record, _, name = path.partition(".")
    own = dict(described_fields(RECORDS[record])).get(name) if record in RECORDS else None
    return f" /* {own.text} */" if own else ""
