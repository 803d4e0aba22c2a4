# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Parameters of a node, declared from one table and validated in one place.

    self.parameters.declare([
        Parameter("update_rate", 500, "Control cycles per second [Hz].", read_only=True, minimum=1),
        Parameter("safe_behaviour", "damping", "Behaviour without commands.", choices=("damping", "zero")),
    ])
    self.parameters.on_change(self._apply)        # _apply(changed): raise RobodynError to refuse the change
    self.parameters["update_rate"]

A value that is out of range, not finite, or of the wrong type is rejected with the reason: in the answer of the
set_parameters call or, at start, as an InputError that names the source of the value. An integer counts as a float
where a float is expected, and a number as a list where a list of one is expected. The control path never reads
parameters: hand it an immutable object.
"""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, TypeVar

from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor, SetParametersResult
from rclpy.exceptions import ParameterException
from rclpy.node import Node
from rclpy.parameter import Parameter as RosParameter

from robodyn_ros.checks import Range, as_number
from robodyn_ros.errors import InputError, RobodynError, shown, suggest
from robodyn_ros.nodes.common.given_parameters import GIVEN, GivenValue
from robodyn_ros.nodes.common.throttled_log import ThrottledLog, one_line
from robodyn_ros.nodes.common.unknown_parameters import unknown_names
from robodyn_ros.resources import robot_file

_LONGEST = 120

T = TypeVar("T")

Value = bool | int | float | str | list[bool] | list[int] | list[float] | list[str]


@dataclass(frozen=True)
class Parameter:
    """Declaration of one parameter.

    Attributes:
        name: Name, with dots for groups.
        default: Value if none is given; its type is the parameter's type.
        description: Meaning, and the unit in brackets; shown by ``ros2 param describe``.
        read_only: Whether it can be set at start only (structure), or at any time (gains).
        minimum: Lowest value of a number or of each element; numbers need one.
        maximum: Highest value likewise.
        choices: The values allowed; empty: any.
        suggestions: Values to offer where others are allowed, too.
        check: Called with a value; raises InputError, whose message completes "parameter '...': ".
    """

    name: str
    default: Value
    description: str
    read_only: bool = False
    minimum: float | None = None
    maximum: float | None = None
    choices: tuple[Value, ...] = ()
    suggestions: tuple[Value, ...] = ()
    check: Callable[[Any], None] | None = None

    def __post_init__(self) -> None:
        if self.numeric and not (math.isfinite(self.range.minimum) and math.isfinite(self.range.maximum)):
            raise InputError(f"parameter '{self.name}': expected a finite minimum and maximum, as its values are "
                             f"numbers, received {self.minimum} and {self.maximum}")

    @property
    def numeric(self) -> bool:
        """Whether its values are numbers, or lists of numbers."""
        first = self.default[0] if isinstance(self.default, list) and self.default else self.default
        return type(first) in (int, float)

    @property
    def range(self) -> Range:
        """The numbers allowed, and their unit, which is the last one in the description's brackets."""
        units = re.findall(r"\[([^\]]+)\]", self.description)
        return Range(-math.inf if self.minimum is None else self.minimum,
                     math.inf if self.maximum is None else self.maximum, units[-1] if units else "")

    def descriptor(self) -> ParameterDescriptor:
        """ROS's descriptor of this parameter."""
        # The type is ours to check: rclpy names types by number ("expected '4' got '2'").
        descriptor = ParameterDescriptor(name=self.name, description=self.description, read_only=self.read_only,
                                         dynamic_typing=True)
        if self.choices:
            descriptor.additional_constraints = "one of: " + ", ".join(map(str, self.choices))
        elif self.suggestions:
            descriptor.additional_constraints = "such as: " + ", ".join(map(str, self.suggestions))
        elif self.numeric and isinstance(self.default, list):  # ROS applies its ranges to single numbers only
            descriptor.additional_constraints = f"each {str(self.range).removeprefix('a ')}"
        if type(self.default) is int:
            descriptor.integer_range = [IntegerRange(
                from_value=math.ceil(self.range.minimum), to_value=math.floor(self.range.maximum), step=0)]
        elif type(self.default) is float:
            descriptor.floating_point_range = [FloatingPointRange(
                from_value=float(self.range.minimum), to_value=float(self.range.maximum), step=0.0)]
        return descriptor

    def validate(self, value: Any) -> None:
        """Check a value.

        Raises:
            InputError: The value is of another type than the default, not finite, out of range, not among the choices,
                or refused by ``check``.
        """
        where = f"parameter '{self.name}'"
        if _type_of(value) != _type_of(self.default):
            example = f" like {self.default!r}" if self.default else ""
            raise InputError(
                f"{where}: expected {_type_of(self.default)}{example}, received {_type_of(value)} {shown(value)}")
        for element in value if isinstance(value, list) else [value]:
            if type(element) in (int, float):
                as_number(element, self.range, where)
        if self.choices and value not in self.choices:
            raise InputError(f"{where}: expected one of {', '.join(map(repr, self.choices))}, received {shown(value)}")
        if self.check is not None:
            try:
                self.check(value)
            except InputError as error:
                raise InputError(f"{where}: {error}") from None


ROBOT_PARAMETERS = (
    Parameter("robot_description", "", "URDF of the robot as XML; empty: the parameter 'robot' names it.",
              read_only=True),
    Parameter("robot", "", "Name of a shipped robot (urdf/ without ending) or path of a URDF file.", read_only=True),
)
"""The parameters that name the robot of a node; :func:`given_robot` reads them."""

TIP_LINK = Parameter(
    "tip_link", "", "Link that laws, requests, external wrenches and the payload mean where none is named; empty: the "
    "tool frame of the longest arm, see docs/urdf.md.", read_only=True)

FRAME_PREFIX = Parameter("frame_prefix", "", "Prefix of the name of every tf frame.", read_only=True)


def given_robot(parameters: DeclaredParameters, from_file: Callable[..., T], from_text: Callable[..., T],
                **options: Any) -> T:
    """Return the robot of the node, by the parameter ``robot_description``, or else ``robot``.

    Args:
        parameters: The node's parameters.
        from_file: Loader of a URDF file, such as ``Robot.from_urdf``.
        from_text: Loader of URDF text, such as ``Robot.from_urdf_text``.
        **options: Of both.

    Raises:
        InputError: Neither parameter is set, or there is no such robot.
        RobodynError: The loader's.
    """
    if parameters["robot_description"]:
        return from_text(parameters["robot_description"], **options)
    if not parameters["robot"]:
        misspelt = "".join(f"; '{name}' is no parameter: {suggest(name, parameters.names())}"
                           for name in parameters.unknown())
        raise InputError("no robot given: set the parameter 'robot' (a shipped name or the path of a URDF file) or "
                         f"'robot_description' (URDF as XML){misspelt}")
    return from_file(robot_file(parameters["robot"]), **options)


class DeclaredParameters:
    """The parameters of one node.

    Args:
        node: The node that owns them.
        log: Its log.

    Attributes:
        given: Values given at start, by name, of declared and other parameters; without parameters of ROS itself.

    Raises:
        InputError: A parameter of ROS itself was given a value of a wrong type.
    """

    def __init__(self, node: Node, log: ThrottledLog) -> None:
        self._node, self._log = node, log
        self._table: dict[str, Parameter] = {}
        self._listeners: list[Callable[[Mapping[str, Any]], None]] = []
        self._declaring = False
        # rclpy has no public way to list the values that were given; it has lost some of them.
        given = {name: GivenValue(_plain(value.value), "at start") for name, value in node._parameter_overrides.items()}
        given.update(GIVEN.get().for_node(node.get_fully_qualified_name()))
        for name in list(given):
            if node.has_parameter(name):
                _check_ros_parameter(name, node.get_parameter(name).value, given.pop(name))
        self.given: Mapping[str, GivenValue] = given
        node.add_pre_set_parameters_callback(self._convert)
        node.add_on_set_parameters_callback(self._validate)

    def declare(self, table: Iterable[Parameter], values: Mapping[str, Any] = MappingProxyType({})) -> None:
        """Declare parameters, with the values given at start, if any.

        Args:
            table: The declarations.
            values: Values by name that override those given at start.

        Raises:
            InputError: A value is not valid; its parameter and those that follow are not declared.
        """
        self._declaring = True
        try:
            for parameter in table:
                self._table[parameter.name] = parameter
                try:
                    self._declare(parameter, values.get(parameter.name))
                except InputError:
                    del self._table[parameter.name]
                    raise
        finally:
            self._declaring = False

    def undeclare(self, names: Iterable[str]) -> None:
        """Undeclare parameters, for example of a plugin that was replaced."""
        for name in names:
            self._node.undeclare_parameter(name)
            del self._table[name]

    def on_change(self, listener: Callable[[Mapping[str, Any]], None]) -> None:
        """Call a function on valid changes while the node runs, on the thread of the executor.

        Args:
            listener: Called with the changed values by name, before they are stored; raises RobodynError to refuse
                all of them.
        """
        self._listeners.append(listener)

    def names(self) -> list[str]:
        """Names of all parameters declared."""
        return list(self._table)

    def unknown(self) -> list[str]:
        """Names with a value given at start that no node declares and no controller can have."""
        return unknown_names(self.given, self.names())

    def set_apart(self) -> list[str]:
        """Return ``name = value (source)`` of each parameter whose value given at start is not its default."""
        return [f"{name} = {_short(self[name])} ({self.given[name].source})" for name, parameter in self._table.items()
                if name in self.given and self[name] != parameter.default]

    def __getitem__(self, name: str) -> Any:
        """Value of a parameter."""
        return _plain(self._node.get_parameter(name).value)

    def _declare(self, parameter: Parameter, value: Any = None) -> None:
        """Declare a parameter with a value; None: the one given at start, else the default."""
        source = ""
        if value is None:
            value, source = self.given.get(parameter.name, GivenValue(parameter.default, ""))
            converted = _as_float(value, parameter.default)
            value = value if converted is None else converted
        try:
            parameter.validate(value)
            self._node.declare_parameter(parameter.name, value, parameter.descriptor(), ignore_override=True)
        except (InputError, ParameterException) as error:
            raise InputError(f"{error} ({source})" if source else str(error)) from None

    def _convert(self, parameters: list[RosParameter[Any]]) -> list[RosParameter[Any]]:
        """Convert integers to floats for parameters that hold floats."""
        converted = []
        for parameter in parameters:
            known = self._table.get(parameter.name)
            value = None if known is None else _as_float(_plain(parameter.value), known.default)
            converted.append(parameter if value is None else RosParameter(parameter.name, value=value))
        return converted

    def _validate(self, parameters: list[RosParameter[Any]]) -> SetParametersResult:
        if self._declaring:  # _declare has validated the value
            return SetParametersResult(successful=True)
        changed = {parameter.name: _plain(parameter.value) for parameter in parameters
                   if parameter.name in self._table}
        try:
            for name, value in changed.items():
                self._table[name].validate(value)
            if changed:
                for listener in self._listeners:
                    listener(changed)
        except RobodynError as error:
            self._log.warning("parameters refused", f"parameters refused: {error}")
            return SetParametersResult(successful=False, reason=one_line(str(error)))
        return SetParametersResult(successful=True)


def _check_ros_parameter(name: str, value: Any, given: GivenValue) -> None:
    """Check that a parameter of ROS itself has the value that was given."""
    if _plain(value) != given.value:
        raise InputError(f"parameter '{name}': expected {_type_of(_plain(value))}, received {_type_of(given.value)} "
                         f"{shown(given.value)} ({given.source})")


def _short(value: Any) -> str:
    """Return a value as text on one line, without the middle of a long one such as a robot description."""
    text = " ".join(str(value).split())
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST // 2]} ... {text[-_LONGEST // 2:]}"


def _type_of(value: Any) -> str:
    """Return the name of a value's type; for a list, also the names of its elements' types."""
    if isinstance(value, list):
        return "list" + "".join(f" of {name}" for name in sorted({type(element).__name__ for element in value}))
    return type(value).__name__


def _plain(value: Any) -> Any:
    """Return a value; an array becomes a list."""
    return list(value) if isinstance(value, array) else value


def _as_float(value: Any, default: Value) -> float | list[float] | None:
    """Convert integers to floats where the default has floats; None: nothing to convert.

    A number becomes a list of one where the default is a list of one.
    """
    if isinstance(default, float) and type(value) is int:
        return float(value)
    if isinstance(default, list) and default and isinstance(default[0], float):
        given = [value] if len(default) == 1 and not isinstance(value, list) else value
        if isinstance(given, list) and all(type(element) in (int, float) for element in given):
            return [float(element) for element in given]
    return None
