# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Parameters of a node, declared from one table and validated in one place.

    self.parameters.declare([
        Field("update_rate", 500, "Control cycles per second", unit="Hz", structural=True, minimum=1, maximum=10000),
        Field("safe_behaviour", "damping", "Behaviour without commands", choices=("damping", "zero")),
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
from array import array
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, TypeVar

from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor, SetParametersResult
from rclpy.exceptions import ParameterException
from rclpy.node import Node
from rclpy.parameter import Parameter as RosParameter

from robodyn_ros.base.errors import InputError, RobodynError, one_line, shortened, shown, suggest
from robodyn_ros.base.fields import Field
from robodyn_ros.description.resources import robot_file
from robodyn_ros.nodes.common.given_parameters import GIVEN, GivenValue
from robodyn_ros.nodes.common.throttled_log import ThrottledLog
from robodyn_ros.nodes.common.unknown_parameters import unknown_names

_LONGEST = 120

T = TypeVar("T")


def descriptor(field: Field) -> ParameterDescriptor:
    """Return the ROS descriptor of a parameter."""
    # The type is checked here, because rclpy names types by number ("expected '4' got '2'").
    found = ParameterDescriptor(name=field.name, description=field.text, read_only=field.structural,
                                dynamic_typing=True)
    lowest, highest = field.range.minimum, field.range.maximum
    if field.choices:
        found.additional_constraints = "one of: " + ", ".join(map(str, field.choices))
    elif field.suggestions:
        found.additional_constraints = "such as: " + ", ".join(map(str, field.suggestions))
    elif field.numeric and isinstance(field.default, list):  # ROS applies its ranges to single numbers only
        found.additional_constraints = f"each {str(field.range).removeprefix('a ')}"
    elif field.value_type is int:
        found.integer_range = [IntegerRange(from_value=math.ceil(lowest), to_value=math.floor(highest), step=0)]
    elif field.value_type is float:
        found.floating_point_range = [FloatingPointRange(from_value=float(lowest), to_value=float(highest), step=0.0)]
    return found


ROBOT_PARAMETERS = (
    Field("robot_description", "", "URDF of the robot as XML; empty: the parameter 'robot' names it", structural=True),
    Field("robot", "", "Name of a shipped robot (urdf/ without ending) or path of a URDF file", structural=True),
)
"""The parameters that name the robot of a node; :func:`given_robot` reads them."""

TIP_LINK = Field("tip_link", "", "Link that laws, requests, external wrenches and the payload mean where none is "
                 "named; empty: the tool frame of the longest arm, see docs/urdf.md", structural=True)

ACTUATORS = Field("actuators", "", "YAML file of actuators and friction by joint, or its name in config/ without "
                  "ending, as for the node hardware: dynamics and laws know them; empty: rotors and friction are those "
                  "of the description", structural=True)

FRAME_PREFIX = Field("frame_prefix", "", "Prefix of the name of every tf frame", structural=True)


def given_robot(parameters: DeclaredParameters, from_file: Callable[..., T], from_text: Callable[..., T],
                **options: Any) -> T:
    """Return the robot of the node, by the parameter ``robot_description``, or else ``robot``.

    Args:
        parameters: The node's parameters.
        from_file: Loader of a URDF file, such as ``Robot.from_urdf``.
        from_text: Loader of URDF text, such as ``Robot.from_urdf_text``.
        **options: Options of both loaders.

    Raises:
        InputError: Neither parameter is set, or there is no such robot.
        RobodynError: The loader raised it.
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
        given: Values given at start by name, for declared and other parameters, except parameters of ROS itself.

    Raises:
        InputError: A parameter of ROS itself was given a value of a wrong type.
    """

    def __init__(self, node: Node, log: ThrottledLog) -> None:
        self._node, self._log = node, log
        self._table: dict[str, Field] = {}
        self._listeners: list[Callable[[Mapping[str, Any]], None]] = []
        self._declaring = False
        given = GIVEN.get().for_node(node.get_fully_qualified_name())
        for name in list(given):
            if node.has_parameter(name):
                _check_ros_parameter(name, node.get_parameter(name).value, given.pop(name))
        self.given: Mapping[str, GivenValue] = given
        node.add_pre_set_parameters_callback(self._convert)
        node.add_on_set_parameters_callback(self._validate)

    def declare(self, table: Iterable[Field], values: Mapping[str, Any] = MappingProxyType({})) -> None:
        """Declare parameters, with the values given at start, if any.

        Args:
            table: The declarations.
            values: Values by name, which override those given at start.

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
        """Call a function for valid changes while the node runs, on the executor's thread.

        Args:
            listener: Called with the changed values by name, before they are stored; raises RobodynError to refuse
                all of them.
        """
        self._listeners.append(listener)

    def names(self) -> list[str]:
        """Names of all parameters declared."""
        return list(self._table)

    def unknown(self) -> list[str]:
        """Return names with a value given at start that no node declares and no controller can have."""
        return unknown_names(self.given, self.names())

    def set_apart(self) -> list[str]:
        """Return ``name = value (source)`` of each parameter whose value given at start is not its default."""
        return [f"{name} = {shortened(' '.join(str(self[name]).split()), _LONGEST)} ({self.given[name].source})"
                for name, parameter in self._table.items()
                if name in self.given and self[name] != parameter.default]

    def __getitem__(self, name: str) -> Any:
        """Value of a parameter."""
        return _plain(self._node.get_parameter(name).value)

    def _declare(self, parameter: Field, value: Any = None) -> None:
        """Declare a parameter with a value; None: the one given at start, else the default."""
        source = ""
        if value is None:
            value, source = self.given.get(parameter.name, GivenValue(parameter.default, ""))
        try:
            value = parameter.checked(value, f"parameter '{parameter.name}'")
            self._node.declare_parameter(parameter.name, value, descriptor(parameter), ignore_override=True)
        except (InputError, ParameterException) as error:
            raise InputError(f"{error} ({source})" if source else str(error)) from None

    def _convert(self, parameters: list[RosParameter[Any]]) -> list[RosParameter[Any]]:
        """Convert integers to floats for parameters that hold floats."""
        converted = []
        for parameter in parameters:
            known, given = self._table.get(parameter.name), _plain(parameter.value)
            value = given if known is None else known.converted(given)
            converted.append(parameter if value is given or repr(value) == repr(given) else
                             RosParameter(parameter.name, value=value))
        return converted

    def _validate(self, parameters: list[RosParameter[Any]]) -> SetParametersResult:
        if self._declaring:  # _declare has validated the value
            return SetParametersResult(successful=True)
        changed = {parameter.name: _plain(parameter.value) for parameter in parameters
                   if parameter.name in self._table}
        try:
            for name, value in changed.items():
                self._table[name].checked(value, f"parameter '{name}'")
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
        raise InputError(f"parameter '{name}': expected a {type(_plain(value)).__name__}, received "
                         f"{shown(given.value)} ({given.source})")


def _plain(value: Any) -> Any:
    """Return a value; an array becomes a list."""
    return list(value) if isinstance(value, array) else value
