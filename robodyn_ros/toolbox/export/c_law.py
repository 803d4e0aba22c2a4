# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""A control law in C: a tick function, with gains and memory in a struct of the caller."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from robodyn_ros.base.errors import InputError
from robodyn_ros.compile import trace
from robodyn_ros.compile.loops_in_c import identifier
from robodyn_ros.compile.records import Shape, Structure, array_shapes, flatten, form_of
from robodyn_ros.control.contract.compiled_law import PackedParameters, initial_memory, law_on_arrays
from robodyn_ros.control.contract.controller import Law
from robodyn_ros.control.contract.law_inputs import state_form
from robodyn_ros.control.contract.parameters import FlatParameter, Parameters
from robodyn_ros.control.contract.state import State
from robodyn_ros.description.model import Array
from robodyn_ros.robot import Robot
from robodyn_ros.toolbox.export.c_function import CFunction, check_distinct, row
from robodyn_ros.toolbox.export.c_source import CSource, assembled, comment
from robodyn_ros.toolbox.export.c_transfer import CTransfer


class SettableGain(NamedTuple):
    """A gain that can be set in C."""

    parameter: FlatParameter  # name, range and meaning
    place: int  # index in the packed parameters


def law_source(law: Law[Any, Any, Any], name: str, precision: str = "double") -> CSource:
    """Write a law with the dynamics of its robot in C.

    Args:
        law: The law, with the initial gains of the code.
        name: Name of the law in names of C.
        precision: ``double`` or ``float``.

    Returns:
        C99 without memory allocation. A struct of the caller holds gains and memory; ``init``, ``set_gain``,
        ``transfer`` and ``tick`` work on it.

    Raises:
        InputError: The law is no `Law`, the precision is unknown, or two gains have the same name in C.
        CompileError: The law cannot be traced; the message names the line, and what to write instead.
        DescriptionError: The robot has no inertia, or nothing moves.
    """
    if not isinstance(law, Law):
        raise InputError(f"export: expected a Law, which is a function of arrays, received {type(law).__name__}")
    robot, n = law.robot, law.robot.n
    robot.check_accelerations()
    prefix = f"{identifier(robot.name)}_{identifier(name)}"
    packed = PackedParameters(law.parameters)
    function, shapes = law_on_arrays(law, packed)
    m = math.prod(shapes["memory"])
    tick = CFunction(f"{prefix}_formula", trace(function, shapes), (), {"effort": (n,), "next": (m,)} if m else
                     {"effort": (n,)})
    form = state_form(type(law), n)

    def first(q: Array, v: Array, *sensed: Array) -> Array:
        return _first_memory(law, form.with_arrays(State(0.0, 0.0, q, v), iter(sensed)))

    begin = CFunction(f"{prefix}_begin", trace(first, {"q": (n,), "v": (n,)} | form.shapes), (), {"memory": (m,)}
                      ) if m else None
    sensed = {_member(path): shape for path, shape in form.shapes.items()}
    if len({*sensed, "time", "period", "q", "v", "wrench_tip"}) < len(sensed) + 5:
        raise InputError(f"export: names of inputs of {type(law).__name__} are not distinct in C: {', '.join(sensed)}; "
                         "rename one of them")
    gains = list(settable(law.parameters, robot, packed))
    check_distinct((gain.parameter.name for gain in gains), "gains")
    at_rest = form.completed(State(0.0, 0.0, np.zeros(n), np.zeros(n)))
    transfer = CTransfer(law, initial_memory(law, at_rest), prefix, precision)
    written = [tick, *([begin] if begin else []), *transfer.functions]
    bodies = ["static " + "\n".join(each.definition(precision)) for each in written]
    fields = {path.partition(".")[2]: shape for path, shape in shapes.items() if path.startswith("reference.")}
    bodies += list(_functions(prefix, precision, n, packed.values, gains, m, fields, sensed, transfer))
    declared = list(_declarations(prefix, precision, law, packed, gains, m, fields, sensed, transfer))
    return assembled(prefix, robot.model, declared, bodies, written, precision)


def settable(parameters: Parameters, robot: Robot, packed: PackedParameters) -> Iterator[SettableGain]:
    """Yield the gains that can be set alone: no other number of the parameters is derived from them.

    Args:
        parameters: Complete for the robot.
        robot: The robot.
        packed: The same parameters.
    """
    starts, start = {}, 0
    for path, shape in array_shapes("", packed.fixed).items():
        starts[path.removeprefix(".")] = start
        start += math.prod(shape)
    for parameter in parameters.flat(robot):
        if parameter.structural or not isinstance(parameter.value, float):
            continue
        place = starts[parameter.field] + (parameter.index or 0)
        changed = _with_other_value(parameters, robot, parameter)
        differs = np.flatnonzero(PackedParameters(changed).values != packed.values)
        if set(differs.tolist()) <= {place}:
            yield SettableGain(parameter, place)


def _with_other_value(parameters: Parameters, robot: Robot, parameter: FlatParameter) -> Parameters:
    """Change one parameter: to a greater value, or to a smaller one if the law refuses it."""
    value = float(parameter.value)
    greater, less = (0.99 * value + 0.01 * (bound if math.isfinite(bound) else other)
                     for bound, other in ((parameter.maximum, 1.0), (parameter.minimum, 0.0)))
    try:
        return parameters.with_flat_values(robot, {parameter.name: greater})
    except InputError:
        return parameters.with_flat_values(robot, {parameter.name: less})


def _member(path: str) -> str:
    """Member of the state's struct for an array of `StateForm.shapes`."""
    return identifier(path.removeprefix("inputs.").removesuffix(".value").replace(".", "_"))


def _first_memory(law: Law[Any, Any, Any], state: State) -> Array:
    """Trace the numbers of the initial memory."""
    memory: Any = law.initial_memory(state)
    form = form_of(memory, shapes=False, integers=True)
    arrays = flatten(form, memory, "memory") if isinstance(form, Structure) else [memory]
    return np.concatenate([np.ravel(np.asarray(array, dtype=object)) for array in arrays])


def _declarations(prefix: str, real: str, law: Law[Any, Any, Any], packed: PackedParameters,
                  gains: list[SettableGain], m: int, fields: Mapping[str, Shape], sensed: Mapping[str, Shape],
                  transfer: CTransfer) -> Iterator[str]:
    n, robot = law.robot.n, law.robot
    kept = f"    {real} parameters[{max(packed.values.size, 1)}];\n" + (f"    {real} memory[{m}];\n" if m else "")
    kept += transfer.member
    yield comment([f"{type(law).__module__}.{type(law).__name__}: gains and memory. The caller owns it."]) + (
        f"\ntypedef struct {{\n{kept}}} {prefix};")
    inputs = "; inputs, NaN where there is none or it is too old, and their ages [s], then infinite" if (
        type(law).Inputs) else ""
    more = "".join(f"    {real} {name}[{math.prod(shape)}];\n" for name, shape in sensed.items())
    yield comment(["The measured state: time and time since the last tick [s], joints in the order of the robot, and "
                   f"(force, torque) of the environment on the tip link; NaN where it is not measured{inputs}."]) + (
        f"\ntypedef struct {{\n    {real} time, period, q[{n}], v[{n}], wrench_tip[6];\n{more}}} {prefix}_state;")
    if fields:
        lines = "".join(f"    {real} {name}[{math.prod(shape)}];\n" for name, shape in fields.items())
        about = (law.follows.__doc__ or "").partition("\n")[0] if law.follows else ""
        yield comment([about or "The reference."]) + f"\ntypedef struct {{\n{lines}}} {prefix}_reference;"
    if gains:
        rows = "\n".join(
            f"    {_gain_name(prefix, gain)},{_about(gain.parameter)}" for gain in gains)
        yield comment(["Gains that set_gain takes."]) + f"\nenum {prefix}_gain {{\n{rows}\n    {prefix}_GAINS\n}};"
    fixed = [f"{name}={value!r}" for name, value in packed.fixed.fixed if value is not None]
    begun = "0, or -1 where the memory would not be finite: begin again at a state of numbers."
    gains_of = f"the gains of the export{' and ' + ', '.join(fixed) if fixed else ''}"
    yield comment([f"Begin at a state, with {gains_of}: {begun}"]) + (
        f"\nint {prefix}_init({prefix} *law, const {prefix}_state *state);")
    if gains:
        yield comment(["Set a gain; 0, or -1 and no change if the gain is unknown or the value out of its range."]) + (
            f"\nint {prefix}_set_gain({prefix} *law, int gain, {real} value);")
    yield comment(["Begin with the efforts commanded before, after init or other gains: in a time [s] they go over to "
                   "those of the law, and its reference of joints from the present positions to the motion; 0: at "
                   "once. 0, or -1 and no change if a number is not finite or the time is negative."]) + (
        f"\n{transfer.declaration};")
    yield comment([f"One tick: efforts of the joints {', '.join(robot.joint_names)} [N m or N]. They are not limited "
                   "here. 0, or -1 where an effort or the memory would not be finite: the efforts are 0, and the "
                   "memory stays as it was."]) + f"\n{_tick(prefix, real, n, fields)};"


def _functions(prefix: str, real: str, n: int, values: Array, gains: list[SettableGain], m: int,
               fields: Mapping[str, Shape], sensed: Mapping[str, Shape], transfer: CTransfer) -> Iterator[str]:
    of_state = [f"state->{name}" for name in ("q", "v", "wrench_tip", *sensed)]
    # Assigned as a whole: GCC 12 copies a table element by element wrongly with AVX-512.
    first = [f"    static const {prefix} given = {{.parameters = {{{row(values, real)}}}}};", "    *law = given;"]
    last = [f"    {prefix}_begin({', '.join([*of_state[:2], *of_state[3:]])}, law->memory);",
            f"    if (!{prefix}_is_finite(law->memory, {m})) {{", "        *law = given;", "        return -1;", "    }"
            ] if m else ["    (void)state;"]
    yield "\n".join([f"static int {prefix}_is_finite(const {real} *values, int count)", "{", "    int i;",
                     "    for (i = 0; i < count; i++) {", "        if (values[i] - values[i] != 0)",
                     "            return 0;", "    }", "    return 1;", "}"])
    yield "\n".join([f"int {prefix}_init({prefix} *law, const {prefix}_state *state)", "{", *first, *last,
                     "    return 0;", "}"])
    if gains:
        count = len(gains)
        tables = [f"    static const {kind} {name}[{count}] = {{{row}}};" for kind, name, row in (
            ("int", "place", ", ".join(str(gain.place) for gain in gains)),
            (real, "lowest", row(np.array([gain.parameter.minimum for gain in gains]), real)),
            (real, "highest", row(np.array([gain.parameter.maximum for gain in gains]), real)))]
        yield "\n".join([f"int {prefix}_set_gain({prefix} *law, int gain, {real} value)", "{", *tables,
                         f"    if (gain < 0 || gain >= {count} || !(value >= lowest[gain] && value <= highest[gain]))",
                         "        return -1;", "    law->parameters[place[gain]] = value;", "    return 0;", "}"])
    yield transfer.begin()
    reference = "given" if transfer.joins else "reference"
    given = ["clock", *of_state, *(f"{reference}->{name}" for name in fields),
             "law->parameters", "law->memory" if m else "none", "effort", *(["next"] if m else [])]
    body = [f"    const {real} clock[2] = {{state->time, state->period}};"]
    body += [f"    {real} next[{m}];"] if m else [f"    static const {real} none[1] = {{0}};"]
    finite = f"{prefix}_is_finite(effort, {n})" + (f" && {prefix}_is_finite(next, {m})" if m else "")
    body += ["    int i, finite;", *transfer.before(), f"    {prefix}_formula({', '.join(given)});",
             f"    finite = {finite};", *transfer.after(), "    if (!finite) {",
             f"        for (i = 0; i < {n}; i++) {{ effort[i] = 0; }}", "        return -1;", "    }"]
    body += [f"    for (i = 0; i < {m}; i++) {{ law->memory[i] = next[i]; }}"] if m else []
    body += [*transfer.keep(), "    return 0;"]
    yield "\n".join([_tick(prefix, real, n, fields), "{", *body, "}"])


def _tick(prefix: str, real: str, n: int, fields: Mapping[str, Shape]) -> str:
    reference = f"const {prefix}_reference *reference, " if fields else ""
    return f"int {prefix}_tick({prefix} *law, const {prefix}_state *state, {reference}{real} effort[{n}])"


def _gain_name(prefix: str, gain: SettableGain) -> str:
    return f"{prefix}_{identifier(gain.parameter.name)}"


def _about(parameter: FlatParameter) -> str:
    unit = f" [{parameter.unit}]" if parameter.unit else ""
    return f" /* {parameter.description}{unit}, {parameter.minimum:g} to {parameter.maximum:g} */".replace("**/", "*/")

