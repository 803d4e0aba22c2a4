# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""A program's connection to a running graph: waits with deadlines, service calls, lists of nodes."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Self, TypeVar

import rclpy
from rcl_interfaces.msg import SetParametersResult
from rcl_interfaces.srv import (
    DescribeParameters,
    GetParameters,
    ListParameters,
    SetParameters,
    SetParametersAtomically,
)
from rclpy.exceptions import NameValidationException
from rclpy.executors import SingleThreadedExecutor
from rclpy.expand_topic_name import expand_topic_name
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.signals import SignalHandlerOptions
from rclpy.validate_full_topic_name import validate_full_topic_name
from rclpy.validate_namespace import validate_namespace

from robodyn_interfaces.srv import Gravity
from robodyn_ros.base import topic_names
from robodyn_ros.base.errors import InputError, RobodynError
from robodyn_ros.nodes.common.discovery import ANSWER_SECONDS, RANGE, is_this_machine_alone, participants_here
from robodyn_ros.nodes.common.signals import delay_stop_signals
from robodyn_ros.nodes.common.transport import init_ros

T = TypeVar("T")

ANNOUNCED_SECONDS, DISCOVERY_SECONDS, LONGEST_DISCOVERY_SECONDS = 0.8, 0.3, 6.0
"""Time until the graph counts as known, time without a new node, and longest wait for both [s].

A node is found at its next announcement, at most 0.5 s after the start (config/fastdds_network.xml). On a busy
machine nodes are found late, so the client also waits as long again as it took to find the last one. The graph counts
as unknown while a node's topics are known but not its name. On a very busy machine, a second node of the same name may
appear after any time. Hence names are compared again after each answer.

If discovery is restricted to this machine, the kernel gives the number of participants, and the graph is known when all
of them have announced their nodes.
"""
SETTLED_SECONDS = 0.05
"""Time without a new node or service until the graph counts as known, if all participants are known [s]."""
ABSENT_SECONDS = 1.2
"""Time after which a command gives up if no other process on this machine uses its domain [s]."""
MEETING_SECONDS = 0.5
"""Longest wait for an answer which shows that a node knows this client [s]."""
FIRST_ANSWER_SECONDS = 0.25
"""Time until the first repetition of a request that changes nothing [s]."""
UNNAMED = "_NODE_NAME_UNKNOWN_"
"""Placeholder in the graph for a name that is not known yet (rmw_dds_common)."""
PREFIX_LENGTH = 12
"""Length of the prefix that identifies a participant in the identifiers of its entities [bytes] (RTPS 2.5, 9.3.1)."""
MATCHING_SECONDS = 1.0
"""Longest time from the appearance of a subscription in the graph until a publisher matches it [s]."""
READING = (DescribeParameters, GetParameters, ListParameters)
"""Services that answer immediately and change nothing."""
REPEATABLE = (*READING, Gravity, SetParameters, SetParametersAtomically)
"""Services that may receive a request twice without a different effect."""
STARTING_SECONDS = 60.0
"""Further wait for the first message while nodes are starting, for slow machines [s]."""
POLL_SECONDS = 0.01
"""Longest wait for one callback, and period of checks of conditions and Ctrl-C [s]."""


def check_node_name(node: str) -> None:
    """Check that a name is valid for a node; it may be relative.

    Raises:
        InputError: The name is not valid.
    """
    try:  # ROS cannot check a node's name with its namespace at once
        validate_full_topic_name(expand_topic_name(node, "node", "/"))
    except (NameValidationException, ValueError) as error:
        raise InputError(f"'{node}' is no name of a node: expected such as /controller: {error}") from None


class GraphClient:
    """A context manager that connects a program to the nodes of one namespace; callbacks run while a method waits.

    Args:
        name: Name of the program's own node.
        namespace: Namespace of the graph.

    Attributes:
        checks: Called repeatedly during each wait; an exception ends the wait.
        waits_for_start: Whether to wait for nodes even if no other process on this machine uses the domain.
        node: The program's own node.

    Raises:
        RobodynError: ROS cannot start in this environment.
        InputError: The namespace is not valid.
    """

    def __init__(self, name: str, namespace: str = "") -> None:
        self.checks: list[Callable[[], None]] = []
        self.waits_for_start = True
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
        self._clients: dict[str, Any] = {}
        self._checked: set[str] = set()
        self._found: list[tuple[str, str]] = []
        self._met: set[str] = set()
        self._services = 0
        self._started, self._known_at, self._changed_at = time.monotonic(), 0.0, 0.0

    def __enter__(self) -> Self:
        """Return the client."""
        return self

    def __exit__(self, *_: object) -> None:
        """Leave the graph."""
        self._executor.shutdown()
        self.node.destroy_node()
        rclpy.try_shutdown()

    def wait_for(self, condition: Callable[[], T], what: str, seconds: float, starting: float = 0.0) -> T:
        """Serve callbacks until a condition is true, and return its value.

        Args:
            condition: Called between callbacks.
            what: Noun phrase for the error message.
            seconds: Longest wait [s].
            starting: Further wait if nodes of the graph exist, which may still be starting [s].

        Raises:
            RobodynError: The time ran out.
        """
        deadline = time.monotonic() + seconds
        while not (result := condition()):
            for check in self.checks:
                check()
            if self._is_absent():
                raise RobodynError(f"no {what}: {self._advice()}")
            if time.monotonic() > deadline:
                if not starting or self.node.get_namespace() not in self._namespaces():
                    raise RobodynError(f"no {what} within {seconds:g} s: {self._advice()}")
                seconds, deadline, starting = seconds + starting, deadline + starting, 0.0
            with delay_stop_signals():
                self._executor.spin_once(timeout_sec=POLL_SECONDS)
        return result

    def _is_absent(self) -> bool:
        """Return whether there certainly are no nodes, after `ABSENT_SECONDS`."""
        return (not self.waits_for_start and time.monotonic() - self._started > ABSENT_SECONDS
                and is_this_machine_alone() and participants_here(self._domain()) == 1)

    def _domain(self) -> int:
        number: int = self.node.context.get_domain_id()
        return number

    def _advice(self) -> str:
        """Return advice where a node that does not answer may be."""
        own = self.node.get_namespace()
        others = sorted(self._namespaces() - {own})
        if others:
            return (f"there are nodes in {', '.join(others)}, not in {own}: name one of these, such as "
                    f"--namespace {others[0]}")
        elsewhere = f", on this machine ({RANGE}=SUBNET: on any)" if is_this_machine_alone() else ""
        return f"are the nodes running, with the same ROS_DOMAIN_ID ({self._domain()}){elsewhere}?"

    def _namespaces(self) -> set[str]:
        """Return the namespaces of existing graphs."""
        return {namespace for name, namespace in self.node.get_node_names_and_namespaces()
                if name in ("hardware", "controller")}

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
        subscription = self.node.create_subscription(kind, topic, heard.append, qos)
        try:
            return self.wait_for(lambda: heard, what, seconds, STARTING_SECONDS)[0]
        finally:
            self.node.destroy_subscription(subscription)

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
        owner, shown_since = self.node.resolve_service_name(node), 0.0

        def is_reached() -> bool:
            nonlocal shown_since
            listeners = self.node.get_subscriptions_info_by_topic(publisher.topic_name)
            if not any(f"{each.node_namespace.rstrip('/')}/{each.node_name}" == owner for each in listeners):
                return False
            shown_since = shown_since or time.monotonic()
            # All subscriptions in the graph are matched, except those with an incompatible quality of service.
            count: int = publisher.get_subscription_count()
            return count >= len(listeners) or (count > 0 and time.monotonic() - shown_since > MATCHING_SECONDS)

        try:
            self.wait_for(is_reached, f"subscription of node '{node}' to {topic}", seconds)
            self.check_only_one(node)
        except BaseException:
            self.node.destroy_publisher(publisher)
            raise
        return publisher

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

    def set_parameters(self, node: str, values: Mapping[str, Any], seconds: float,
                       answer_seconds: float = 0.0) -> SetParametersResult:
        """Set parameters of a node together; return whether it accepted them, or why not.

        Args:
            node: Name of the node.
            values: Value of each parameter.
            seconds: Longest wait for the node, and again for its answer [s].
            answer_seconds: Longest wait for its answer, if that is longer [s].

        Raises:
            RobodynError: The node does not answer.
        """
        parameters = [Parameter(name, value=value).to_parameter_msg() for name, value in values.items()]
        return self.call(SetParametersAtomically, node, "set_parameters_atomically",
                         SetParametersAtomically.Request(parameters=parameters), seconds, answer_seconds).result

    def call(self, kind: type, node: str, service: str, request: Any, seconds: float,
             answer_seconds: float = 0.0) -> Any:
        """Call a service of a node.

        Args:
            kind: Type of the service.
            node: Name of the node; a relative name belongs to the client's namespace.
            service: Name of the service below the node's name.
            request: The request.
            seconds: Longest wait for the node, and again for its answer [s].
            answer_seconds: Longest wait for its answer, if that is longer [s].

        Returns:
            The response.

        Raises:
            InputError: The name is not valid for a node.
            RobodynError: There is no answer, or two nodes have the name.
        """
        check_node_name(node)
        name = f"{node}/{service}"
        client = self._clients.get(name) or self._clients.setdefault(name, self.node.create_client(kind, name))
        self.wait_for(client.service_is_ready, f"node '{node}'", seconds)
        self.check_only_one(node)
        if kind not in READING:
            self.meet(node)
        futures: list[Any] = []
        sent, wait = -math.inf, FIRST_ANSWER_SECONDS if kind in READING else ANSWER_SECONDS

        def answered() -> Any | None:
            nonlocal sent, wait
            if not futures or (kind in REPEATABLE and time.monotonic() - sent > wait):
                if futures:
                    wait = min(2.0 * wait, ANSWER_SECONDS)
                futures.append(client.call_async(request))
                sent = time.monotonic()
            return next((future for future in futures if future.done()), None)

        try:
            future: Any = self.wait_for(answered, f"answer of node '{node}'", max(seconds, answer_seconds))
            self.refuse_namesakes(self.node.resolve_service_name(node))
            return future.result()
        finally:
            for future in futures:
                client.remove_pending_request(future)

    def check_only_one(self, node: str) -> None:
        """Wait until no more nodes are found; raise if two have this name, since either could answer.

        Args:
            node: Name of the node; a relative name belongs to the client's namespace.

        Raises:
            RobodynError: Two nodes have the name.
        """
        full_name = self.node.resolve_service_name(node)
        if full_name in self._checked:
            return
        self.wait_until_known()
        self.refuse_namesakes(full_name)
        self._checked.add(full_name)

    def meet(self, node: str) -> None:
        """Send a repeatable request to a node until it answers: then it has discovered this client.

        Response readers created earlier are then discovered, too.

        Args:
            node: Name of the node.
        """
        if node in self._met:
            return
        self._met.add(node)
        with suppress(RobodynError):  # the later request will report it
            self.call(GetParameters, node, "get_parameters", GetParameters.Request(), MEETING_SECONDS)

    def wait_until_known(self, counting: bool = True) -> None:
        """Wait, some seconds at most, until no more nodes are found and all names are known.

        Args:
            counting: Whether it suffices that all participants on this machine have announced their nodes.
        """
        deadline = time.monotonic() + LONGEST_DISCOVERY_SECONDS

        def is_known() -> bool:
            now, found = time.monotonic(), sorted(self.node.get_node_names_and_namespaces())
            services = len(self.node.get_service_names_and_types())
            if found != self._found:
                wait = max(DISCOVERY_SECONDS, now - self._started)
                self._found, self._known_at = found, max(self._started + ANNOUNCED_SECONDS, now + wait)
                self._changed_at = now
            if services != self._services:
                self._services, self._changed_at = services, now
            if now >= deadline:
                return True
            if counting and now >= self._changed_at + SETTLED_SECONDS and self._all_here_are_known():
                return True
            return now >= self._known_at and not self._unnamed()

        self.wait_for(is_known, "discovery", 2.0 * LONGEST_DISCOVERY_SECONDS)

    def _unnamed(self) -> bool:
        """Return whether a node's name is still unknown; each node publishes /parameter_events."""
        return any(shown.node_name == UNNAMED
                   for shown in self.node.get_publishers_info_by_topic(topic_names.PARAMETER_EVENTS))

    def _all_here_are_known(self) -> bool:
        """Return whether discovery is limited to this machine and all its participants have announced their nodes."""
        if not is_this_machine_alone():
            return False
        publishers = self.node.get_publishers_info_by_topic(topic_names.PARAMETER_EVENTS)
        named = {bytes(shown.endpoint_gid[:PREFIX_LENGTH]) for shown in publishers if shown.node_name != UNNAMED}
        return 0 < participants_here(self._domain()) <= len(named)

    def refuse_namesakes(self, full_name: str) -> None:
        """Check that the graph shows at most one node of a name.

        Args:
            full_name: Full name of the node.

        Raises:
            RobodynError: There are several.
        """
        count = sum(f"{namespace.rstrip('/')}/{name}" == full_name
                    for name, namespace in self.node.get_node_names_and_namespaces())
        if count > 1:
            raise RobodynError(f"{count} nodes are named {full_name}: stop all but one, or give each robot a namespace "
                               "(--namespace) or a ROS_DOMAIN_ID of its own")
