# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Parameters of controllers: declared once, in a dataclass, with unit, range and description.

Everything that shows a parameter (ROS parameters and their descriptors, documentation, error messages) reads it
from there::

    @dataclass(frozen=True, eq=False)
    class Gains(Parameters):
        p: Array = per_joint(50.0, unit=STIFFNESS, minimum=0.0, description="Stiffness")

Outside of Python a parameter has a flat name: ``gains.<joint>.<field>`` for one joint's element of a per-joint field,
``<field>`` for a field of the whole controller.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

import numpy as np

from robodyn_ros.checks import LARGEST, Range, as_joint_array, as_number
from robodyn_ros.description.model import Array, read_only
from robodyn_ros.errors import InputError, shown
from robodyn_ros.robot import Robot

_METADATA_KEY = "robodyn_ros.control"
_OF_INERTIAS = "of_inertias"

Value = float | int | bool | str


class Unit(NamedTuple):
    """A unit that depends on the kind of the joint.

    Attributes:
        revolute: For revolute and continuous joints.
        prismatic: For prismatic joints.
    """

    revolute: str
    prismatic: str


STIFFNESS = Unit("N m/rad", "N/m")
DAMPING = Unit("N m s/rad", "N s/m")
EFFORT = Unit("N m", "N")
POSITION = Unit("rad", "m")
VELOCITY = Unit("rad/s", "m/s")


@dataclass(frozen=True)
class Declaration:
    """Declaration of one field of a parameter class.

    Attributes:
        default: A value, or a function of the robot that gives one (per joint: of shape (n,)).
        unit: Unit of the value; empty where it has none.
        minimum: Lowest value allowed.
        maximum: Highest value allowed.
        description: Meaning of the parameter, one sentence without a full stop.
        per_joint: Whether there is one value for every joint.
        structural: Whether the parameter is fixed once the controller exists.
        choices: The values allowed; empty where every value within the range is.
    """

    default: Value | Callable[[Robot], Any]
    unit: str | Unit
    minimum: float
    maximum: float
    description: str
    per_joint: bool
    structural: bool
    choices: tuple[Value, ...] = ()

    @property
    def range(self) -> Range:
        """The numbers allowed, at most `LARGEST`; without a unit where that depends on the kind of the joint."""
        return Range(max(self.minimum, -LARGEST), min(self.maximum, LARGEST),
                     self.unit if isinstance(self.unit, str) else "")


@dataclass(frozen=True)
class FlatParameter:
    """One parameter as the outside sees it: a flat name with a single value.

    Attributes:
        name: ``gains.<joint>.<field>`` or ``<field>``.
        field: Name of the field in the parameter class.
        index: Index of the joint; None for a field of the whole controller.
        value: The value.
        unit: Unit of the value for this joint's kind; empty where it has none.
        minimum: Lowest value allowed.
        maximum: Highest value allowed.
        description: Meaning of the parameter, one sentence without a full stop.
        structural: Whether the parameter is fixed once the controller exists.
        choices: The values allowed; empty where every value within the range is.
    """

    name: str
    field: str
    index: int | None
    value: Value
    unit: str
    minimum: float
    maximum: float
    description: str
    structural: bool
    choices: tuple[Value, ...] = ()


def per_joint(
    default: float | Callable[[Robot], Any],
    *,
    description: str,
    unit: str | Unit = "",
    minimum: float = -np.inf,
    maximum: float = np.inf,
    structural: bool = False,
) -> Any:
    """Declare a field with one number for every joint, of shape (n,) in the order of q.

    Args:
        default: The same number for all joints, or a function of the robot that returns shape (n,).
        description: Meaning of the parameter, one sentence without a full stop.
        unit: A unit, or a `Unit` where it depends on the kind of the joint.
        minimum: Lowest value allowed.
        maximum: Highest value allowed.
        structural: Whether the parameter is fixed once the controller exists.
    """
    declaration = Declaration(default, unit, minimum, maximum, description, True, structural)
    return field(default=default, metadata={_METADATA_KEY: declaration})


def scalar(
    default: Value | Callable[[Robot], Value],
    *,
    description: str,
    unit: str = "",
    minimum: float = -np.inf,
    maximum: float = np.inf,
    structural: bool = False,
    choices: Sequence[Value] = (),
) -> Any:
    """Declare a field of the whole controller: a float, int, bool or str, whichever the default is.

    Args:
        default: The value, or a function of the robot that returns it.
        description: Meaning of the parameter, one sentence without a full stop.
        unit: Unit of the value.
        minimum: Lowest value allowed; numbers only.
        maximum: Highest value allowed; numbers only.
        structural: Whether the parameter is fixed once the controller exists.
        choices: The values allowed, the default among them; empty: every value within the range.

    Raises:
        InputError: The default is not one of the choices.
    """
    if choices and not callable(default) and default not in choices:
        raise InputError(f"scalar: expected a default that is one of the choices {', '.join(map(repr, choices))}; "
                         f"received {shown(default)}")
    declaration = Declaration(default, unit, minimum, maximum, description, False, structural, tuple(choices))
    return field(default=default, metadata={_METADATA_KEY: declaration})


def derived(function: Callable[[Robot, Any], Any], *, of_inertias: bool = False) -> Any:
    """Declare a field that is no parameter itself but follows from the parameters and the robot, such as a gain matrix.

    `Parameters.for_robot` computes it: before the first tick and after each change of a parameter, never within a tick.

    Args:
        function: Of the robot and the complete parameters; returns an array of any shape, the same for one robot.
        of_inertias: Whether the field is the law's model of the links' inertias. Rollouts of robots whose law has a
            wrong model compute such a field for each of them, so the function must be quick.
    """
    return field(default=None, repr=False, metadata={_METADATA_KEY: function, _OF_INERTIAS: of_inertias})


@dataclass(frozen=True, eq=False)
class Parameters:
    """Base of all parameter classes; on its own, no parameters at all.

    An instance may hold any numbers, arrays or traced scalars; `for_robot` returns one that is complete and checked.
    """

    @classmethod
    def declarations(cls) -> dict[str, Declaration]:
        """The declarations of all fields but the `derived` ones, by name.

        Raises:
            InputError: A field was not declared with `per_joint`, `scalar` or `derived`.
        """
        declared = {}
        for item in dataclasses.fields(cls):
            if _METADATA_KEY not in item.metadata:
                raise InputError(
                    f"{cls.__name__}.{item.name}: a parameter is declared with per_joint(...) or scalar(...), "
                    f"which give it a default, a unit, a range and a description"
                )
            if isinstance(item.metadata[_METADATA_KEY], Declaration):
                declared[item.name] = item.metadata[_METADATA_KEY]
        return declared

    def for_robot(self, robot: Robot) -> Self:
        """Return these parameters completed for a robot: defaults worked out, single numbers spread over joints.

        Per-joint fields become float64 arrays of shape (n,) that cannot be written to, derived fields are set anew.

        Raises:
            InputError: A value has the wrong type or shape, is not finite or lies outside its range.
        """
        complete = self.without_derived(robot)
        follow = {item.name: item.metadata[_METADATA_KEY] for item in dataclasses.fields(self)
                  if item.name not in self.declarations()}
        return dataclasses.replace(complete, **{name: _read_only_copy(function(robot, complete))
                                                for name, function in follow.items()})

    def without_derived(self, robot: Robot) -> Self:
        """As `for_robot`, but derived fields, which may take long to compute, stay as they are."""
        values: dict[str, Any] = {}
        for name, declaration in self.declarations().items():
            value = getattr(self, name)
            if declaration.per_joint:
                values[name] = read_only(as_joint_array(
                    value(robot) if callable(value) else value, robot.n, declaration.range,
                    f"{type(self).__name__}.{name}", robot.joint_names))
            else:
                values[name] = _scalar_value(f"{type(self).__name__}.{name}", declaration, value, robot)
        return dataclasses.replace(self, **values)

    @classmethod
    def inertia_fields(cls) -> dict[str, Callable[[Robot, Any], Any]]:
        """The functions of the `derived` fields that are the law's model of the links' inertias, by name."""
        return {item.name: item.metadata[_METADATA_KEY] for item in dataclasses.fields(cls)
                if item.metadata.get(_OF_INERTIAS)}

    def with_inertias(self, robot: Robot) -> Self:
        """Return these complete parameters with a model of other inertias.

        Args:
            robot: The robot with these inertias.
        """
        return dataclasses.replace(self, **{name: function(robot, self)
                                            for name, function in self.inertia_fields().items()})

    def flat(self, robot: Robot) -> list[FlatParameter]:
        """Every parameter under its flat name, joint by joint.

        Raises:
            InputError: As in `for_robot`.
        """
        complete = self.without_derived(robot)
        slides = [joint.kind == "prismatic" for joint in robot.model.leaders]
        rows = []
        for name, declaration in self.declarations().items():
            value, unit = getattr(complete, name), declaration.unit
            shared = (declaration.range.minimum, declaration.range.maximum, declaration.description,
                      declaration.structural)
            if not declaration.per_joint:
                rows.append(FlatParameter(name, name, None, value, str(unit), *shared, declaration.choices))
                continue
            for index, joint in enumerate(robot.joint_names):
                unit_here = unit if isinstance(unit, str) else unit[slides[index]]
                flat_name = f"gains.{joint}.{name}"
                rows.append(FlatParameter(flat_name, name, index, float(value[index]), unit_here, *shared))
        return rows

    def with_flat_values(self, robot: Robot, values: Mapping[str, Value]) -> Self:
        """Return these parameters with some flat names set anew.

        Args:
            robot: The robot that the parameters are for.
            values: New values by flat name.

        Raises:
            InputError: A name is unknown, or as in `for_robot`.
        """
        complete = self.without_derived(robot)
        rows = {row.name: row for row in complete.flat(robot)}
        changed: dict[str, Any] = {}
        for name, value in values.items():
            row = rows.get(name)
            if row is None:
                known = ", ".join(rows) or "none"
                raise InputError(f"{type(self).__name__} has no parameter {name!r}; it has: {known}")
            if row.index is None:
                changed[row.field] = value
                continue
            as_number(value, Range(row.minimum, row.maximum, row.unit), name)
            array = changed.setdefault(row.field, getattr(complete, row.field).copy())
            array[row.index] = value
        return dataclasses.replace(complete, **changed).for_robot(robot)


def _read_only_copy(value: Any) -> Array:
    return read_only(np.array(value, dtype=np.float64))


def _scalar_value(where: str, declaration: Declaration, value: Any, robot: Robot) -> Value:
    default = declaration.default(robot) if callable(declaration.default) else declaration.default
    value = default if value is declaration.default else value
    expected = type(default)
    numeric = expected in (int, float)
    fits = type(value) is expected or (expected is float and type(value) is int)
    if not fits:
        raise InputError(f"{where}: expected {expected.__name__}, received {type(value).__name__} {shown(value)}")
    if numeric:
        as_number(value, declaration.range, where)
    if declaration.choices and value not in declaration.choices:
        raise InputError(f"{where}: expected one of {', '.join(map(repr, declaration.choices))}, "
                         f"received {shown(value)}")
    return value
