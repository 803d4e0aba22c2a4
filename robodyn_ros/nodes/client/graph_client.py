# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""A program's connection to a running graph: the requests of `Graph`, which return when they are answered."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Self, TypeVar

import rclpy
from rcl_interfaces.msg import SetParametersResult
from rcl_interfaces.srv import GetParameters
from rclpy.duration import Duration
from rclpy.exceptions import NameValidationException
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from rclpy.validate_namespace import validate_namespace

from robodyn_ros.base.errors import InputError, RobodynError
from robodyn_ros.nodes.client.graph import Graph, Request
from robodyn_ros.nodes.common.signals import delay_stop_signals
from robodyn_ros.nodes.common.transport import init_ros

T = TypeVar("T")

MATCHING_SECONDS = 1.0
"""Longest time from the appearance of a subscription in the graph until a publisher matches it [s]."""
STARTING_SECONDS = 60.0
"""Further wait for the first message while nodes are starting, for slow machines [s]."""
POLL_SECONDS = 0.01
"""Longest wait for one callback, and period of checks of conditions and Ctrl-C [s]."""


class GraphClient:
    """A context manager that connects a program to the nodes of one namespace; callbacks run while a method waits.

    Args:
        name: Name of the program's own node.
        namespace: Namespace of the graph.

    Attributes:
        graph: The graph; :meth:`run` runs its requests.
        node: The program's own node.
        checks: Those of the graph.

    Raises:
        RobodynError: ROS cannot start in this environment.
        InputError: The namespace is not valid.
    """

    def __init__(self, name: str, namespace: str = "") -> None:
        try:
            validate_namespace(f"/{namespace.strip('/')}")
        except NameValidationException as error:
            raise InputError(f"'{namespace}' cannot be a namespace; expected a name such as /left: {error}") from None
        init_ros(signal_handler_options=SignalHandlerOptions.NO)  # Ctrl-C stays a KeyboardInterrupt
        try:
            self.node = Node(name, namespace=namespace, start_parameter_services=False)
        except RuntimeError as error:  # rclpy's RCLError: the middleware refuses, for example for want of security
            rclpy.try_shutdown()
            raise RobodynError(f"cannot join the graph: {error}") from None
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(self.node)
        self.graph = Graph(self.node)
        self.checks = self.graph.checks

    def __enter__(self) -> Self:
        """Return the client."""
        return self

    def __exit__(self, *_: object) -> None:
        """Leave the graph."""
        self._executor.shutdown()
        self.node.destroy_node()
        rclpy.try_shutdown()

    def run(self, request: Request[T]) -> T:
        """Serve callbacks until a request ends, and return its result; an interrupt goes through the request.

        Args:
            request: A coroutine of `Graph`, or of a class that uses one.
        """
        interrupt: BaseException | None = None
        while True:
            try:
                if interrupt is None:
                    request.send(None)
                else:
                    request.throw(interrupt)
            except StopIteration as end:
                result: T = end.value
                return result
            interrupt = None
            try:
                with delay_stop_signals():
                    self._executor.spin_once(timeout_sec=POLL_SECONDS)
            except BaseException as error:
                interrupt = error

    def wait_for(self, condition: Callable[[], T], what: str, seconds: float, starting: float = 0.0) -> T:
        """Serve callbacks until a condition is true, and return its value; see :meth:`Graph.wait_for`."""
        return self.run(self.graph.wait_for(condition, what, seconds, starting))

    def call(self, kind: type, node: str, service: str, request: Any, seconds: float,
             answer_seconds: float = 0.0, repeatable: bool = False) -> Any:
        """Call a service of a node, and return its response; see :meth:`Graph.call`."""
        return self.run(self.graph.call(kind, node, service, request, seconds, answer_seconds, repeatable))

    def set_parameters(self, node: str, values: Mapping[str, Any], seconds: float) -> SetParametersResult:
        """Set parameters of a node together; see :meth:`Graph.set_parameters`."""
        return self.run(self.graph.set_parameters(node, values, seconds))

    def wait_until_served(self, node: str, seconds: float) -> None:
        """Wait until the executor of a node has served the messages that it has received so far.

        Args:
            node: Name of the node.
            seconds: Longest wait [s].

        Raises:
            RobodynError: The node does not answer.
        """
        # An executor takes messages before it answers a later request.
        self.call(GetParameters, node, "get_parameters", GetParameters.Request(), seconds)

    @contextmanager
    def subscribed(self, kind: type, topic: str, on_message: Callable[[Any], object], qos: Any = 10) -> Iterator[None]:
        """Within the context, call a function with each message of a topic, while a method of the client waits.

        Args:
            kind: Type of the messages.
            topic: Name of the topic.
            on_message: The function.
            qos: Quality of service, or the depth of the queue.
        """
        subscription = self.node.create_subscription(kind, topic, on_message, qos)
        try:
            yield
        finally:
            self.node.destroy_subscription(subscription)

    def first_message(self, kind: type, topic: str, qos: Any, what: str, seconds: float) -> Any:
        """Subscribe to a topic, and return its first message.

        Args:
            kind: Type of the message.
            topic: Name of the topic.
            qos: Quality of service, or the depth of the queue.
            what: Noun phrase for the error message.
            seconds: Longest wait if there are no nodes [s].

        Raises:
            RobodynError: No message arrives.
        """
        heard: list[Any] = []
        with self.subscribed(kind, topic, heard.append, qos):
            return self.wait_for(lambda: heard, what, seconds, STARTING_SECONDS)[0]

    def subscribes(self, node: str, topic: str) -> bool:
        """Return whether a node subscribes to a topic, as the graph says."""
        owner = self.node.resolve_service_name(node)
        listeners = self.node.get_subscriptions_info_by_topic(self.node.resolve_topic_name(topic))
        return any(f"{each.node_namespace.rstrip('/')}/{each.node_name}" == owner for each in listeners)

    def publisher_to(self, node: str, kind: type, topic: str, depth: int, seconds: float) -> Any:
        """Create a publisher that reaches a node; a recorder or another subscriber does not suffice.

        Args:
            node: Name of the node.
            kind: Type of the messages.
            topic: Name of the topic, such as controller/pose.
            depth: Depth of the queue.
            seconds: Longest wait for the node [s].

        Returns:
            The publisher; the caller destroys it.

        Raises:
            RobodynError: The node does not subscribe in time, or two nodes have the name.
        """
        publisher = self.node.create_publisher(kind, topic, depth)
        shown_since = 0.0

        def is_reached() -> bool:
            nonlocal shown_since
            if not self.subscribes(node, topic):
                return False
            shown_since = shown_since or time.monotonic()
            # All subscriptions in the graph are matched, except those with an incompatible quality of service.
            count: int = publisher.get_subscription_count()
            return count >= self.node.count_subscribers(publisher.topic_name) or (
                count > 0 and time.monotonic() - shown_since > MATCHING_SECONDS)

        try:
            self.wait_for(is_reached, f"subscription of node '{node}' to {topic}", seconds)
            self.run(self.graph.check_only_one(node))
        except BaseException:
            self.node.destroy_publisher(publisher)
            raise
        return publisher

    def publish(self, node: str, topic: str, message: Any, seconds: float) -> None:
        """Send one message to a node, and wait until it has arrived.

        Args:
            node: Name of the node.
            topic: Name of the topic.
            message: The message.
            seconds: Longest wait for the node, and again for the arrival [s].

        Raises:
            RobodynError: The node does not subscribe in time, or two nodes have the name.
        """
        publisher = self.publisher_to(node, type(message), topic, 1, seconds)
        try:
            publisher.publish(message)
            publisher.wait_for_all_acked(Duration(seconds=seconds))
        finally:
            self.node.destroy_publisher(publisher)
