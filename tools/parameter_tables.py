# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Write the tables of parameters in docs/, and the list of their names, from the declarations.

``python tools/parameter_tables.py`` brings all tables up to date. A table stands between two comments of Markdown:
``<!-- parameters: NAME -->`` and ``<!-- end of parameters -->``; NAME is a controller, one of `NODES`, a section of a
YAML file, one of `SETTINGS`, ``surfaces`` of a world file, ``filter`` or ``friction_compensation`` of any controller,
``observations``, ``values`` and ``quantities`` of the plant, or ``modes`` and ``mode_changes`` of the control loop. The
comments of the message ActuatorStates are written, too. A table has no rows that the tables of names after ``beside``
have: ``<!-- parameters: NAME beside OTHER -->``; with ``only`` it has the rows named after it, and other tables of this
name have the others. Tables of nodes need ROS 2's message packages.
"""

from __future__ import annotations

import dataclasses
import re
import textwrap
from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

from robodyn_ros.actuation.joint_values import JointValue
from robodyn_ros.base.fields import MAX_MAGNITUDE, Field, Range, Unit, declared
from robodyn_ros.compile.loops_in_c import identifier
from robodyn_ros.control.contract.parameters import Parameters
from robodyn_ros.control.laws.friction_compensation import FrictionParameters
from robodyn_ros.control.networks.observations import ACTIONS, JOINTS, OBSERVATIONS
from robodyn_ros.control.optimisation.safety_parameters import SafetyParameters
from robodyn_ros.control.plugins.registry import load_controller
from robodyn_ros.control.runtime.modes import MEANINGS, Cause, Mode
from robodyn_ros.description.resources import robot_file
from robodyn_ros.robot import Robot
from robodyn_ros.simulation.outputs import OUTPUTS, Output
from robodyn_ros.simulation.quantities import MODEL, QUANTITIES
from robodyn_ros.simulation.world_file import SHAPES
from robodyn_ros.toolbox.export.c_plant import RECORDS, described_fields

ROOT = Path(__file__).parents[1]
NAMES = ROOT / "robodyn_ros" / "nodes" / "common" / "unknown_parameters.py"
MESSAGE = ROOT / "robodyn_interfaces" / "msg" / "ActuatorStates.msg"
NODES = ("hardware", "controller", "trajectories", "dynamics", "state_publisher")
SETTINGS = {"actuator": "robodyn_ros.actuation.actuator_settings:ActuatorSettings",
            "current_loop": "robodyn_ros.actuation.current_loop:CurrentLoopSettings",
            "drive": "robodyn_ros.actuation.current_loop:DriveData",
            "drive_loop": "robodyn_ros.actuation.drive_loop:DriveLoopSettings",
            "transmission": "robodyn_ros.actuation.actuator_settings:TransmissionSettings",
            "driver": "robodyn_ros.actuation.driver_profile:DriverProfile",
            "contact_points": "robodyn_ros.simulation.world_file:PointSection",
            "friction": "robodyn_ros.actuation.friction:FrictionSettings",
            "gear": "robodyn_ros.actuation.gear_catalogue:GearData",
            "harmonic": "robodyn_ros.actuation.harmonics:HarmonicSettings",
            "maxwell_slip": "robodyn_ros.actuation.maxwell_slip:MaxwellSlipSettings",
            "policy_file": "robodyn_ros.control.networks.policy_file:PolicySettings",
            "motor": "robodyn_ros.actuation.motor_catalogue:MotorData",
            "study": "robodyn_ros.commands.study_file:StudySection"}
"""Sections of YAML files."""

_VARIED = {"actuator": "motor.", "motor": "motor.", "current_loop": "motor.current_loop_", "friction": "friction.",
           "maxwell_slip": "friction."}
"""Prefix of the quantities of studies that vary the keys of a section."""

_TABLE = re.compile(
    r"(<!-- parameters: (\w+)(?: (beside|only) ([\w ]+))? -->\n).*?(<!-- end of parameters -->\n)", re.DOTALL)
_SYMBOL = re.compile(r"(?<![\w`.$])(?:[A-Za-z]_[A-Za-z](?:\^2)?|Lambda|(?<=, )[A-Z](?=$))(?!\w)")
"""Symbols of formulas in descriptions: K_p, K_p^2, Lambda, and the single letter after the last comma."""
_SUPERSCRIPTS = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")


def documents() -> list[Path]:
    """Documents that have such a table."""
    return [path for path in sorted((ROOT / "docs").rglob("*.md")) if _TABLE.search(path.read_text(encoding="utf-8"))]


def rendered(text: str) -> str:
    """Return the text of a document with its tables written anew."""
    return _TABLE.sub(lambda table: f"{table[1]}\n{_table(table[2], table[3], (table[4] or '').split())}\n{table[5]}",
                      text)


def names(text: str) -> list[str]:
    """Names of the tables in a document, without those that have only some rows."""
    return [table[2] for table in _TABLE.finditer(text) if table[3] != "only"]


def divided(text: str) -> list[tuple[str, str]]:
    """Rows that the other tables have: the name of the table, and that of the row."""
    return [(table[2], row) for table in _TABLE.finditer(text) if table[3] == "only" for row in table[4].split()]


def row_names(name: str) -> list[str]:
    """Names of the rows of a table."""
    return [row[0].strip("`") for row in [*_rows(name)][2:]]


def _table(name: str, relation: str | None, others: list[str]) -> str:
    rows = [*_rows(name)]
    if relation == "only":
        rows = [*rows[:2], *(row for row in rows[2:] if row[0].strip("`") in others)]
    else:
        known = {_without_controller(row) for other in others for row in _rows(other)}
        rows = [row for number, row in enumerate(rows) if number < 2 or _without_controller(row) not in known]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows) if len(rows) > 2 else ""


def _without_controller(row: tuple[str, ...]) -> tuple[str, ...]:
    return row[0].partition(".")[2], *row[1:]


def _rows(name: str) -> Iterable[tuple[str, ...]]:
    return (_OTHERS[name]() if name in _OTHERS else _node_rows(name) if name in NODES else
            _settings_rows(name) if name in SETTINGS else
            _controller_rows("<controller>_safety", SafetyParameters) if name == "filter" else
            _controller_rows("<controller>_friction", FrictionParameters) if name == "friction_compensation" else
            _controller_rows(name, load_controller(name).Parameters))


def _controller_rows(name: str, kind: type[Parameters]) -> Iterable[tuple[str, ...]]:
    yield "parameter", "unit", "default", "range", "meaning"
    yield ("---",) * 5
    for field, own in kind.declarations().items():
        fixed = ("; fixed from the start of the node" if own.file else
                 "; fixed while the controller is in force" if own.structural else "")
        yield _row(own, f"{name}.gains.<joint>.{field}" if own.per_joint else f"{name}.{field}", fixed)


def _mode_rows() -> Iterable[tuple[str, ...]]:
    yield "mode", "meaning"
    yield "---", "---"
    for mode in Mode:
        yield f"`{mode.value}`", MEANINGS[mode]


def _mode_change_rows() -> Iterable[tuple[str, ...]]:
    yield "what happens", "begins", "ends", "the reference", "`activate`", "soft start", "`swap_time`"
    yield ("---",) * 7
    for cause in Cause:
        moves = cause.value
        yield (moves.cause, "" if moves.begins is None else f"`{moves.begins.value}`",
               ", ".join(f"`{mode.value}`" for mode in moves.ends), moves.reference.value,
               "yes" if moves.activates else "", "yes" if moves.soft_start else "", "yes" if moves.bumpless else "")


def _observation_rows() -> Iterable[tuple[str, ...]]:
    yield "observation", "elements", "unit", "meaning"
    yield ("---",) * 4
    for name, own in OBSERVATIONS.items():
        yield f"`{name}`", {JOINTS: "n", ACTIONS: "m"}.get(str(own.size), str(own.size)), str(own.unit), own.description


def _quantity_rows() -> Iterable[tuple[str, ...]]:
    yield "quantity", "of each", "unit", "range", "meaning"
    yield ("---",) * 5
    for name, own in QUANTITIES.items():
        if not name.startswith(MODEL):
            bounded = own.minimum > -MAX_MAGNITUDE or own.maximum < MAX_MAGNITUDE
            yield (f"`{name}`", ", ".join(map(str, own.axes)), _unit(own.unit),
                   _range(own.range if bounded else Range(), ()), _typeset(own.description))


def _value_rows() -> Iterable[tuple[str, ...]]:
    yield "in C", "message, recording", "unit", "meaning"
    yield ("---",) * 4
    for record, kind in RECORDS.items():
        for path, own in described_fields(kind):
            missing = f"; NaN: {own.missing}" if isinstance(own, Output) and own.missing else ""
            yield (f"`{record}_{identifier(path)}`", f"`{path}`" if isinstance(own, Output) else "", _unit(own.unit),
                   own.description + missing)


def _surface_rows() -> Iterable[tuple[str, ...]]:
    yield "key", "unit", "default", "range", "of", "meaning"
    yield ("---",) * 6
    shapes: dict[tuple[str, ...], list[str]] = {}
    for shape, (kind, _) in SHAPES.items():
        for field, own in declared(kind).items():
            shapes.setdefault(_row(own, field), []).append(shape)
    for (*about, meaning), found in shapes.items():
        yield (*about, "all" if len(found) == len(SHAPES) else ", ".join(found), meaning)


_OTHERS = {"observations": _observation_rows, "modes": _mode_rows, "mode_changes": _mode_change_rows,
           "values": _value_rows, "quantities": _quantity_rows, "surfaces": _surface_rows}
"""Tables that have one form."""


def message_rendered(text: str) -> str:
    """Return the text of the message ActuatorStates with the fields of the plant's outputs written anew."""
    rows = []
    for name, own in OUTPUTS.items():
        unit, missing = f" [{own.unit}]" if own.unit else "", f"; NaN: {own.missing}" if own.missing else ""
        field = f"{'bool' if own.is_flag else 'float64'}[] {name}"
        rows.append(f"{field:<31} # {own.description[:1].lower()}{own.description[1:]}{unit}{missing}\n")
    return re.sub(r"(string\[\] name[^\n]*\n).*", lambda found: found[1] + "".join(rows), text, flags=re.DOTALL)


def _settings_rows(name: str) -> Iterable[tuple[str, ...]]:
    module, kind = SETTINGS[name].split(":")
    rows = []
    for field, own in declared(getattr(import_module(module), kind)).items():
        *about, meaning = _row(own, field)
        rows.append((*about, _quantity(name, field, own), meaning))
    varied = any(row[4] for row in rows)
    for row in [("key", "unit", "default", "range", "quantity", "meaning"), ("---",) * 6, *rows]:
        yield row if varied else (*row[:4], row[5])


def _quantity(section: str, field: str, own: Field) -> str:
    """Return the quantity of studies that varies a key of a section, or an empty string."""
    names = (own.quantity if isinstance(own, JointValue) else "", _VARIED.get(section, "") + field,
             field.replace("_", ".", 1))
    return next((f"`{name}`" for name in names if name in QUANTITIES), "")


def _node_rows(name: str) -> Iterable[tuple[str, ...]]:
    yield "parameter", "unit", "default", "range", "change", "meaning"
    yield ("---",) * 6
    for parameter in _declared_by_node(name):
        *about, meaning = _row(parameter, parameter.name)
        yield (*about, "at start" if parameter.structural else "at any time", meaning)


def _row(field: Field, name: str, more: str = "") -> tuple[str, ...]:
    allowed = field.range if field.numeric or field.per_joint else Range()
    return (f"`{name}`", _unit(field.unit), _typeset(_default(field.default)), _range(allowed, field.choices),
            _typeset(field.description) + more)


def _unit(unit: str | Unit) -> str:
    text = f"{unit.revolute} ({unit.prismatic})" if isinstance(unit, Unit) else unit
    return re.sub(r"\^([23])", lambda power: power[1].translate(_SUPERSCRIPTS), text)


def _typeset(text: str) -> str:
    """Return a text with its symbols as formulas of Markdown."""
    return _SYMBOL.sub(lambda symbol: f"${symbol[0].replace('Lambda', chr(92) + 'Lambda')}$", text)


def _declared_by_node(name: str) -> list[Field]:
    from robodyn_ros.control.references import goal_tolerances
    from robodyn_ros.nodes import dynamics, state_publisher
    from robodyn_ros.nodes.controller import action, gripper_actions, joint_trajectories, node, tip_motions
    from robodyn_ros.nodes.hardware import parameters

    trajectories = (*joint_trajectories.JointTrajectories.PARAMETERS, action.MONITOR_RATE,
                    *tip_motions.TipMotions.PARAMETERS, *gripper_actions.GripperActions.PARAMETERS)
    if name == "trajectories":
        robot = Robot.from_urdf(robot_file("planar_2r"))
        by_joint = (parameter for parameter in goal_tolerances.constraint_parameters(robot.model)
                    if robot.joint_names[1] not in parameter.name)
        return [_of_any_joint(parameter, robot.joint_names[0]) for parameter in (*trajectories, *by_joint)]
    tables = {"hardware": parameters.PARAMETERS, "dynamics": dynamics.PARAMETERS,
              "controller": [parameter for parameter in node.PARAMETERS if parameter not in trajectories],
              "state_publisher": state_publisher.PARAMETERS}
    return list(tables[name])


def _of_any_joint(parameter: Field, joint: str) -> Field:
    return parameter.renamed(parameter.name.replace(joint, "<joint>"),
                             unit="rad or m" if parameter.unit == "rad" else parameter.unit)


def parameter_names() -> set[str]:
    """Names of the parameters of all nodes that know each other's, without controllers; a group stands for its own."""
    fields = (field for node in NODES for field in _declared_by_node(node))
    return {"".join(field.name.partition(".")[:2]) for field in fields} | {"initial_position."}


def names_rendered(text: str) -> str:
    """Return the text of a module with its set of parameter names written anew."""
    names = textwrap.fill(", ".join(f'"{name}"' for name in sorted(parameter_names())), 120, initial_indent="    ",
                          subsequent_indent="    ", break_long_words=False)
    return re.sub(r"PARAMETERS = frozenset\(\(\n.*?\n\)\)", lambda _: f"PARAMETERS = frozenset((\n{names},\n))", text,
                  flags=re.DOTALL)


def _default(default: Any) -> str:
    if callable(default):
        return _first_clause(default)
    if default is None or default is dataclasses.MISSING:
        return "none" if default is None else "required"
    if isinstance(default, tuple | list):
        return ", ".join(map(_default, default)) or "empty"
    if isinstance(default, bool):
        return str(default).lower()
    return f"{default:g}" if isinstance(default, float) else str(default) or "empty"


def _first_clause(function: Callable[..., Any]) -> str:
    """Return the first clause of a docstring: the defaults that a function computes from the robot."""
    text = " ".join((function.__doc__ or "Computed from the robot").split())
    clause = re.split(r", shape|; |: |\.(?: |$)", text)[0]
    return clause if clause[1:2] == "_" else clause[:1].lower() + clause[1:]


def _range(allowed: Range, choices: Iterable[Any]) -> str:
    if choices:
        return ", ".join(f"`{choice}`" for choice in choices)
    if allowed == Range():
        return ""
    lower, upper = _number(allowed.minimum), _number(allowed.maximum)
    if allowed.or_infinite:
        return f"> {lower}" if allowed.above else f"≥ {lower}"
    return f"> {lower}, ≤ {upper}" if allowed.above else f"{lower} to {upper}"


def _number(value: float) -> str:
    """Return a limit as documents show it; powers of ten with superscripts."""
    return re.sub(r"1e([+-])0?(\d+)", lambda found: "10" + found[1].replace("+", "").translate(_SUPERSCRIPTS)
                  + found[2].translate(_SUPERSCRIPTS), f"{value:g}")


if __name__ == "__main__":
    for path in documents():
        path.write_text(rendered(path.read_text(encoding="utf-8")), encoding="utf-8")
    MESSAGE.write_text(message_rendered(MESSAGE.read_text(encoding="utf-8")), encoding="utf-8")
    NAMES.write_text(names_rendered(NAMES.read_text(encoding="utf-8")), encoding="utf-8")
