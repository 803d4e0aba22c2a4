# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.
"""Private parts of rclpy that nodes use, and the public ways in their place.

| part | why the public interface does not do | in a release without it |
| --- | --- | --- |
| function of the logger | the public logger looks for the caller: 0.3 ms, 50 ms for the first line | it is used |
| wait set, guard condition | an executor's turn takes ten times as long as a tick | no control path: an error says so |
| callbacks of the parameter services | a value of an unknown type raises, and nobody gets an answer | it raises |
| handler of an executor | a message that cannot be taken ends its callback group for good | it ends it |
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rcl_interfaces.msg import Parameter, SetParametersResult
from rcl_interfaces.srv import SetParameters, SetParametersAtomically
from rclpy.executors import SingleThreadedExecutor
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.logging import LoggingSeverity, get_logger
from rclpy.node import Node
from rclpy.parameter import parameter_value_to_python
from rclpy.parameter_service import ParameterService

from robodyn_ros.base.errors import RobodynError

_LOG = "rclpy_logging_rcutils_log"
_SERVICES = ("_set_parameters_callback", "_set_parameters_atomically_callback")
_HANDLER = "_make_handler"


def missing() -> list[str]:
    """Return a sentence for each part that the installed rclpy lacks."""
    parts = (
        (hasattr(rclpy_implementation, _LOG), "log lines take 0.3 ms each, also in the control loop"),
        (all(hasattr(ParameterService, name) for name in _SERVICES),
         "requests that set parameters of an unknown type get no answer"),
        (hasattr(SingleThreadedExecutor, _HANDLER), "a message that cannot be read ends the service of its topic"),
    )
    return [f"this release of rclpy is not known: {text}" for present, text in parts if not present]


def write_log_line(name: str, severity: LoggingSeverity, kind: str, text: str) -> None:
    """Log a line without file and line number of the caller.

    Args:
        name: Name of the logger.
        severity: Severity of the line.
        kind: Kind of the line, in place of the name of a function.
        text: The line.
    """
    write = getattr(rclpy_implementation, _LOG, None)
    if write is None:
        get_logger(name).log(text, severity)
    else:
        write(severity, name, text, kind, "", 0)


class SubscriptionWait:
    """Waits for subscriptions on one thread, without an executor; a context manager, entered on that thread.

    Args:
        node: The node of the subscriptions.
        most: Greatest number of subscriptions.

    Raises:
        RobodynError: This release of rclpy has no wait sets.
    """

    def __init__(self, node: Node, most: int) -> None:
        handle = node.context.handle
        try:
            self._wake = rclpy_implementation.GuardCondition(handle)
            self._set = rclpy_implementation.WaitSet(most, 1, 0, 0, 0, 0, handle)
        except (AttributeError, TypeError) as error:
            raise RobodynError(f"this release of rclpy is not known, and has no wait set for control loops: {error}: "
                               "use that of ROS 2 Jazzy, Kilted or Lyrical") from None
        self.entities = (self._wake, self._set)
        """Handles to enter while the thread waits."""

    def wait(self, first: Any, further: Sequence[Any], nanoseconds: int) -> Sequence[bool]:
        """Wait until a subscription has a message, for a time, or until :meth:`wake`.

        Args:
            first: Handle of a subscription, entered.
            further: Those of further ones.
            nanoseconds: Longest wait [ns]; negative: no limit.

        Returns:
            Whether each of the further ones has a message.
        """
        wait_set = self._set
        wait_set.clear_entities()
        wait_set.add_subscription(first)
        for handle in further:
            wait_set.add_subscription(handle)
        wait_set.add_guard_condition(self._wake)
        wait_set.wait(nanoseconds)
        return [wait_set.is_ready("subscription", place) for place in range(1, 1 + len(further))] if further else ()

    def wake(self) -> None:
        """End a wait early; from any thread."""
        self._wake.trigger_guard_condition()


class CheckedParameterService(ParameterService):
    """rclpy's parameter services with a check of types.

    Args:
        node: The node whose parameters are served.
    """

    def _set_parameters_callback(self, request: SetParameters.Request, response: SetParameters.Response
                                 ) -> SetParameters.Response:
        for parameter in request.parameters:
            refusal = _refusal([parameter])
            if refusal is None:
                super()._set_parameters_callback(SetParameters.Request(parameters=[parameter]), response)
            else:
                response.results.append(refusal)
        return response

    def _set_parameters_atomically_callback(
            self, request: SetParametersAtomically.Request, response: SetParametersAtomically.Response
    ) -> SetParametersAtomically.Response:
        refusal = _refusal(request.parameters)
        if refusal is None:
            return super()._set_parameters_atomically_callback(request, response)
        response.result = refusal
        return response


def _refusal(parameters: Sequence[Parameter]) -> SetParametersResult | None:
    for parameter in parameters:
        try:
            parameter_value_to_python(parameter.value)
        except RuntimeError:
            return SetParametersResult(successful=False, reason=f"parameter '{parameter.name[:100]}': expected a type "
                                       f"of rcl_interfaces/ParameterType, received {parameter.value.type}")
    return None


class GuardedExecutor(SingleThreadedExecutor):
    """An executor that survives messages, requests and responses that cannot be taken.

    Args:
        on_failure: Called with the node and the exception.
        **options: Those of rclpy's executor.
    """

    def __init__(self, on_failure: Callable[[Any, Exception], None], **options: Any) -> None:
        super().__init__(**options)
        self._on_failure = on_failure

    def _make_handler(self, entity: Any, node: Any, take_from_wait_list: Callable[[Any], Any]) -> Any:
        def take(taken_from: Any) -> Any:
            try:
                return take_from_wait_list(taken_from)
            except Exception as error:
                self._on_failure(node, error)
                return None

        return super()._make_handler(entity, node, take)
