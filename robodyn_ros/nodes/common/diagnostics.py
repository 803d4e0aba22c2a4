"""Counters, standing conditions and throttled warnings of a node, published to /diagnostics once a second.

    self.diagnostics.problem("rejected commands", "joint_commands: ...")   # counts, warns at most every 2 s
    self.diagnostics.raise_condition("stale", "no command for 100 ms")     # a lasting state; logged once
    self.diagnostics.clear_condition("stale", "commands are back")
    self.diagnostics.values = lambda: {"simulated time [s]": self._plant.time}

All methods may be called from any thread.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.clock import Clock, ClockType
from rclpy.node import Node

WARN_EVERY = 2.0
"""Least time between two warnings of the same kind [s]."""


class Diagnostics:
    """The diagnostics of one node.

    Args:
        node: The node that the diagnostics describe.

    Attributes:
        counters: Number of events of each kind.
        values: Called once a second for further values to publish.
        checks: Called before ``values``; they may count problems, and raise and clear conditions.
    """

    def __init__(self, node: Node) -> None:
        self.counters: Counter[str] = Counter()
        self.values: Callable[[], Mapping[str, object]] = dict
        self.checks: list[Callable[[], None]] = []
        self._node = node
        self._conditions: dict[str, tuple[bool, str]] = {}
        self._last_warning: dict[str, float] = {}
        self._held_back: Counter[str] = Counter()
        self._problems = 0
        self._problems_published = 0
        self._publisher = node.create_publisher(DiagnosticArray, "/diagnostics", 10)
        node.create_timer(1.0, self._once_a_second, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def count(self, kind: str) -> None:
        """Count an event without a warning."""
        self.counters[kind] += 1

    def problem(self, kind: str, text: str, error: bool = False) -> None:
        """Count a problem and log it, each kind at most every 2 s.

        Args:
            kind: Name of the counter.
            text: What happened.
            error: Log as an error, not as a warning.
        """
        self.counters[kind] += 1
        self._problems += 1
        now = time.monotonic()
        if now - self._last_warning.get(kind, -WARN_EVERY) < WARN_EVERY:
            self._held_back[kind] += 1
            return
        self._last_warning[kind] = now
        held_back = self._held_back.pop(kind, 0)
        self._log(error, text + (f" ({held_back} more like this since the last warning)" if held_back else ""))

    def raise_condition(self, key: str, text: str, error: bool = False) -> None:
        """Report a state that lasts until it is cleared; it is logged once, and again only when its text changes."""
        if self._conditions.get(key) != (error, text):
            self._conditions[key] = (error, text)
            self._log(error, text)

    def clear_condition(self, key: str, text: str) -> None:
        """Report the end of a lasting state, if there was one."""
        if self._conditions.pop(key, None) is not None:
            self._node.get_logger().info(text)

    def status(self) -> DiagnosticStatus:
        """Return conditions, counters and values as one status."""
        conditions = list(self._conditions.values())
        level, message = DiagnosticStatus.OK, "running"
        problems, self._problems_published = self._problems - self._problems_published, self._problems
        if problems:
            level, message = DiagnosticStatus.WARN, f"{problems} problems in the last second"
        if conditions:
            level = DiagnosticStatus.ERROR if any(error for error, _ in conditions) else DiagnosticStatus.WARN
            message = "; ".join(text for _, text in conditions)
        name = self._node.get_fully_qualified_name()
        values = {**self.values(), **dict(self.counters)}
        return DiagnosticStatus(level=level, name=name, message=message, hardware_id=self._node.get_name(),
                                values=[KeyValue(key=key, value=str(value)) for key, value in values.items()])

    def publish(self) -> None:
        """Publish the status now."""
        message = DiagnosticArray(status=[self.status()])
        message.header.stamp = self._node.get_clock().now().to_msg()
        self._publisher.publish(message)

    def _once_a_second(self) -> None:
        for check in self.checks:
            check()
        self.publish()

    def _log(self, error: bool, text: str) -> None:
        # Two statements: rclpy remembers a call's severity by its line and refuses a change.
        if error:
            self._node.get_logger().error(text)
        else:
            self._node.get_logger().warning(text)
