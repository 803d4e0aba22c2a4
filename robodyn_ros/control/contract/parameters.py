# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Parameters of controllers: declared once, in a dataclass, with unit, range and description.

ROS parameters and their descriptors, documentation and error messages are all made from the declaration::

    @dataclass(frozen=True, eq=False)
    class Gains(Parameters):
        p: Array = per_joint(50.0, unit=STIFFNESS, minimum=0.0, description="Stiffness")

Outside of Python a parameter has a flat name: ``gains.<joint>.<field>`` for one joint's element of a per-joint field,
``<field>`` for a field of the whole controller.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from robodyn_ros.base.checks import as_joint_array
from robodyn_ros.base.errors import InputError, unknown
from robodyn_ros.base.fields import (
    DAMPING,
    EFFORT,
    POSITION,
    STIFFNESS,
    VELOCITY,
    Field,
    Unit,
    declare,
    declared,
)
from robodyn_ros.description.model import Array, read_only
from robodyn_ros.robot import Robot

__all__ = ["DAMPING", "EFFORT", "POSITION", "STIFFNESS", "VELOCITY", "Field", "FlatParameter", "Parameters", "Unit",
           "derived", "per_joint", "scalar"]

_DERIVED = "robodyn_ros.derived"
_INERTIA_MARK = "of_inertias"

Value = float | int | bool | str


@dataclass(frozen=True)
class FlatParameter(Field):
    """A parameter outside of Python: a flat name, ``gains.<joint>.<field>`` or ``<field>``, with a single value.

    Its default is the present value.

    Attributes:
        field: Name of the field in the parameter class.
        index: Index of the joint; None for a field of the whole controller.
    """

    field: str = ""
    index: int | None = None

    @property
    def value(self) -> Value:
        """The value."""
        value: Value = self.default
        return value


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
    return declare(default, description=description, unit=unit, minimum=minimum, maximum=maximum, per_joint=True,
                   structural=structural)


def scalar(
    default: Value | Callable[[Robot], Value],
    *,
    description: str,
    unit: str = "",
    minimum: float = -np.inf,
    maximum: float = np.inf,
    structural: bool = False,
    file: bool = False,
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
        file: Whether it names a file that the controller opens; see `Field`.
        choices: The values allowed, the default among them; empty: every value within the range.

    Raises:
        InputError: The default is not one of the choices.
    """
    return declare(default, description=description, unit=unit, minimum=minimum, maximum=maximum,
                   structural=structural, file=file, choices=tuple(choices))


def derived(function: Callable[[Robot, Any], Any], *, of_inertias: bool = False, structural: bool = False) -> Any:
    """Declare a field computed from the parameters and the robot, such as a gain matrix; it cannot be set.

    `Parameters.for_robot` computes it: before the first tick and after each change of a parameter, never within a tick.

    Args:
        function: Of the robot and the complete parameters; returns an array of any shape, the same for one robot.
        structural: Whether compiled code has the field built in, such as a tuple of indices; otherwise it is an array.
        of_inertias: Whether the field is the law's model of the links' inertias. Rollouts with a wrong model in the law
            compute it for each robot, so the function must be fast.
    """
    kept: Callable[[Any], Any] = (lambda value: value) if structural else _read_only_copy
    return dataclasses.field(default=None, repr=False, metadata={
        _DERIVED: lambda robot, complete: kept(function(robot, complete)), _INERTIA_MARK: of_inertias})


@dataclass(frozen=True, eq=False)
class Parameters:
    """Base class of all parameter classes; has no parameters itself.

    An instance may hold any numbers, arrays or traced scalars; `for_robot` returns one that is complete and checked.
    """

    @classmethod
    def declarations(cls) -> Mapping[str, Field]:
        """The declarations of all fields by name, except derived ones.

        Raises:
            InputError: A field was not declared with `per_joint`, `scalar` or `derived`.
        """
        own = declared(cls)
        for item in dataclasses.fields(cls):
            if item.name not in own and _DERIVED not in item.metadata:
                raise InputError(
                    f"{cls.__name__}.{item.name}: a parameter is declared with per_joint(...) or scalar(...), "
                    f"which give it a default, a unit, a range and a description"
                )
        return own

    def for_robot(self, robot: Robot) -> Self:
        """Return these parameters completed for a robot: defaults evaluated, single numbers repeated for each joint.

        Per-joint fields become float64 arrays of shape (n,) that cannot be written to, derived fields are set anew.

        Raises:
            InputError: A value has the wrong type or shape, is not finite or lies outside its range.
        """
        complete = self.without_derived(robot)
        follow = {item.name: item.metadata[_DERIVED] for item in dataclasses.fields(self) if _DERIVED in item.metadata}
        return dataclasses.replace(complete, **{name: function(robot, complete) for name, function in follow.items()})

    def without_derived(self, robot: Robot) -> Self:
        """Like `for_robot`, but leave derived fields, which may take long to compute, as they are."""
        values: dict[str, Any] = {}
        for name, own in self.declarations().items():
            where, value = f"{type(self).__name__}.{name}", getattr(self, name)
            value = value(robot) if callable(value) else value
            if own.per_joint:
                values[name] = read_only(as_joint_array(value, robot.n, own.range, where, robot.joint_names))
            else:
                values[name] = _for_robot(own, robot).checked(value, where)
        return dataclasses.replace(self, **values)

    @classmethod
    def inertia_fields(cls) -> dict[str, Callable[[Robot, Any], Any]]:
        """The functions of derived fields that model the links' inertias, by name."""
        return {item.name: item.metadata[_DERIVED] for item in dataclasses.fields(cls)
                if item.metadata.get(_INERTIA_MARK)}

    def with_inertias(self, robot: Robot) -> Self:
        """Return these complete parameters with the inertia model of another robot.

        Args:
            robot: The robot with these inertias.
        """
        return dataclasses.replace(self, **{name: function(robot, self)
                                            for name, function in self.inertia_fields().items()})

    def flat(self, robot: Robot) -> list[FlatParameter]:
        """Return every parameter by its flat name, joint by joint.

        Raises:
            InputError: As in `for_robot`.
        """
        complete = self.without_derived(robot)
        kinds = [joint.kind for joint in robot.model.leaders]
        rows = []
        for name, own in self.declarations().items():
            value, unit = getattr(complete, name), own.unit
            about = vars(own) | {"minimum": own.range.minimum, "maximum": own.range.maximum, "field": name}
            if not own.per_joint:
                rows.append(FlatParameter(**about | {"default": value}))
                continue
            for index, (joint, kind) in enumerate(zip(robot.joint_names, kinds, strict=True)):
                rows.append(FlatParameter(**about | {
                    "name": f"gains.{joint}.{name}", "default": float(value[index]), "index": index,
                    "unit": getattr(unit, "prismatic" if kind == "prismatic" else "revolute", unit)}))
        return rows

    def with_flat_values(self, robot: Robot, values: Mapping[str, Value]) -> Self:
        """Return these parameters with new values of some flat names.

        Args:
            robot: The robot that the parameters are for.
            values: New values by flat name.

        Raises:
            InputError: A name is unknown, or as in `for_robot`.
        """
        complete, own = self.without_derived(robot), self.declarations()
        changed: dict[str, Any] = {}
        for name, value in values.items():
            group, _, element = name.partition(".")
            joint, _, field = element.rpartition(".")
            if name in own and not own[name].per_joint:
                changed[name] = value
            elif group == "gains" and field in own and own[field].per_joint and joint in robot.joint_names:
                array = changed.setdefault(field, getattr(complete, field).copy())
                array[robot.joint_names.index(joint)] = own[field].checked(value, name)
            else:
                known = [row.name for row in complete.flat(robot)]
                raise InputError(f"{type(self).__name__}: {unknown('parameter', name, known)}")
        return dataclasses.replace(complete, **changed).for_robot(robot)


def _read_only_copy(value: Any) -> Array:
    return read_only(np.array(value, dtype=np.float64))


def _for_robot(own: Field, robot: Robot) -> Field:
    """Return the declaration with its value type resolved: a default may depend on the robot."""
    is_open = callable(own.default) and own.kind is None
    return dataclasses.replace(own, default=own.default(robot)) if is_open else own
