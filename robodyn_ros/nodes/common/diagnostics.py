# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Counters, lasting conditions and throttled warnings of a node, published to /diagnostics once a second.

    self.diagnostics.problem("rejected commands", "joint_commands: ...")   # counts, warns at most every 2 s
    self.diagnostics.raise_condition("stale", "no command for 100 ms")     # a lasting state; logged once
    self.diagnostics.clear_condition("stale", "commands are back")
    self.diagnostics.values = lambda: {"simulated time [s]": self._plant.time}

All methods may be called from any thread.
"""

from __future__ import annotations

import traceback
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.node import Node

from robodyn_ros.base import topic_names
from robodyn_ros.base.errors import RobodynError, one_line
from robodyn_ros.nodes.common.messages import MessageError, deserialize
from robodyn_ros.nodes.common.throttled_log import ThrottledLog

_CONDITIONS_AT_ONCE = 4  # lines about one condition in quick succession: it begins, changes, ends


class _ProblemCounts(NamedTuple):
    """Numbers of problems, and of errors among them."""

    problems: int
    errors: int


class Diagnostics:
    """The diagnostics of one node.

    Args:
        node: The node that the diagnostics describe.
        log: Its log.

    Attributes:
        counters: Number of events of each kind.
        values: Called once a second for further values to publish.
        checks: Called before ``values``; they may count problems, and raise and clear conditions.
    """

    def __init__(self, node: Node, log: ThrottledLog) -> None:
        self.counters: Counter[str] = Counter()
        self.values: Callable[[], Mapping[str, object]] = dict
        self.checks: list[Callable[[], None]] = []
        self._node, self._log = node, log
        self._conditions: dict[str, tuple[bool, str]] = {}
        self._problem_counts = _ProblemCounts(0, 0)
        self._published = _ProblemCounts(0, 0)
        self._publisher = node.create_publisher(DiagnosticArray, topic_names.DIAGNOSTICS, 10)

    def count(self, kind: str, times: int = 1) -> None:
        """Count events without a warning."""
        self.counters[kind] += times

    def problem(self, kind: str, text: str, error: bool = False) -> None:
        """Count a problem and log it, each kind at most every 2 s.

        Args:
            kind: Name of the counter.
            text: What happened.
            error: Log as an error, not as a warning.
        """
        self.counters[kind] += 1
        self._problem_counts = _ProblemCounts(self._problem_counts.problems + 1, self._problem_counts.errors + error)
        (self._log.error if error else self._log.warning)(kind, text)

    def failure(self, kind: str, error: BaseException) -> None:
        """Count and log an unexpected exception.

        Args:
            kind: Name of the counter.
            error: The exception.
        """
        if isinstance(error, RobodynError):
            self.problem(kind, str(error), error=True)
        else:
            self.problem(kind, f"{kind}, please report this:\n{''.join(traceback.format_exception(error))}", error=True)

    def deserialize(self, data: bytes, message_type: type[Any], topic: str) -> Any | None:
        """Convert a serialized message; count a malformed one as a problem.

        Args:
            data: The message.
            message_type: Its type.
            topic: Name of the topic.

        Returns:
            The message; None: it is malformed.
        """
        try:
            return deserialize(data, message_type)
        except MessageError as error:
            self.problem(f"malformed messages: {topic}", f"malformed message on {topic}: {error}")
            return None

    def raise_condition(self, key: str, text: str, error: bool = False) -> None:
        """Report a condition that lasts until it is cleared; it is logged once, and again when its text changes."""
        if self._conditions.get(key) != (error, text):
            self._conditions[key] = (error, text)
            (self._log.error if error else self._log.warning)(f"condition {key}", text, at_once=_CONDITIONS_AT_ONCE)

    def clear_condition(self, key: str, text: str) -> None:
        """Report the end of a condition, if it was raised."""
        if self._conditions.pop(key, None) is not None:
            self._log.info(f"condition {key}", text, at_once=_CONDITIONS_AT_ONCE)

    def status(self) -> DiagnosticStatus:
        """Return conditions, counters and values as one status."""
        conditions = list(self._conditions.values())
        level, message = DiagnosticStatus.OK, "running"
        news, before = self._problem_counts, self._published
        self._published = news
        if problems := news.problems - before.problems:
            level = DiagnosticStatus.ERROR if news.errors > before.errors else DiagnosticStatus.WARN
            message = f"{problems} problems in the last second"
        if conditions:
            severe = level == DiagnosticStatus.ERROR or any(error for error, _ in conditions)
            level = DiagnosticStatus.ERROR if severe else DiagnosticStatus.WARN
            message = "; ".join(text for _, text in conditions)
        values = {**self.values(), **dict(self.counters)}
        return DiagnosticStatus(
            level=level, name=self._node.get_fully_qualified_name(), message=one_line(message),
            hardware_id=self._node.get_name(),
            values=[KeyValue(key=key, value=one_line(str(value))) for key, value in values.items()])

    def publish(self) -> None:
        """Publish the status now."""
        message = DiagnosticArray(status=[self.status()])
        message.header.stamp = self._node.get_clock().now().to_msg()
        self._publisher.publish(message)

    def once_a_second(self) -> None:
        """Run the checks, publish the status, and log held-back lines; the node calls this once a second."""
        for check in self.checks:
            check()
        self.publish()
        self._log.flush()
