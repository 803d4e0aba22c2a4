# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Requests to the nodes of a graph as coroutines: a program waits for one, a node serves several beside its own work.

Whoever runs a coroutine calls its method ``send(None)`` once in each turn of its executor, until it ends.
"""

from __future__ import annotations

import math
import time
import types
from collections.abc import Callable, Coroutine, Generator, Iterable, Mapping
from contextlib import suppress
from typing import Any, TypeVar

from rcl_interfaces.msg import SetParametersResult
from rcl_interfaces.srv import (
    DescribeParameters,
    GetParameters,
    ListParameters,
    SetParameters,
    SetParametersAtomically,
)
from rclpy.exceptions import NameValidationException
from rclpy.expand_topic_name import expand_topic_name
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.validate_full_topic_name import validate_full_topic_name
from std_srvs.srv import Trigger

from robodyn_ros.base import topic_names
from robodyn_ros.base.errors import InputError, RobodynError
from robodyn_ros.nodes.common.discovery import ANSWER_SECONDS, RANGE, is_this_machine_alone, participants_here
from robodyn_ros.nodes.common.participants import UNNAMED, participant

T = TypeVar("T")
Request = Coroutine[Any, Any, T]

ANNOUNCED_SECONDS, DISCOVERY_SECONDS, LONGEST_DISCOVERY_SECONDS = 0.8, 0.3, 6.0
"""Time until the graph counts as known, time without a new node, and longest wait for both [s].

A node is found at its next announcement, at most 0.5 s after the start (config/fastdds_network.xml). On a busy
machine nodes are found late, so in its first seconds the client also waits as long again as it took to find the last
one. The graph counts as unknown while a node's topics are known but not its name. On a very busy machine, a second node
of the same name may appear after any time. Hence names are compared again after each answer.

If discovery is restricted to this machine, the kernel gives the number of participants, and the graph is known when all
of them have announced their nodes.
"""
SETTLED_SECONDS = 0.05
"""Time without a new node or service until all services count as known, if all participants are known [s]."""
ABSENT_SECONDS = 1.2
"""Time after which a command gives up if no other process on this machine uses its domain [s]."""
MEETING_SECONDS = 0.5
"""Longest wait for an answer which shows that a node knows this client [s]."""
FIRST_ANSWER_SECONDS = 0.25
"""Time until the first repetition of a request that changes nothing [s]."""
READING = (DescribeParameters, GetParameters, ListParameters)
"""Services that answer immediately and change nothing."""
REPEATABLE = (*READING, SetParameters, SetParametersAtomically)
"""Services that may receive a request twice without a different effect."""


class AbsentError(RobodynError):
    """A node, or its service, was not found."""


def check_node_name(node: str) -> None:
    """Check that a name is valid for a node; it may be relative.

    Raises:
        InputError: The name is not valid.
    """
    try:  # ROS cannot check a node's name with its namespace at once
        validate_full_topic_name(expand_topic_name(node, "node", "/"))
    except (NameValidationException, ValueError) as error:
        raise InputError(f"'{node}' is no name of a node: expected such as /controller: {error}") from None


@types.coroutine
def next_turn() -> Generator[None, None, None]:
    """Wait for the next turn of whoever runs the coroutine."""
    yield


async def gather(requests: Iterable[Request[T]]) -> list[T]:
    """Run coroutines side by side, and return their results; the first error ends the others."""
    running, results = dict(enumerate(requests)), dict[int, T]()
    try:
        while True:
            for place, request in list(running.items()):
                try:
                    request.send(None)
                except StopIteration as end:
                    results[place] = end.value
                    del running[place]
            if not running:
                return [results[place] for place in sorted(results)]
            await next_turn()
    finally:
        for request in running.values():
            request.close()


class Graph:
    """The nodes of one namespace, as seen by one node; its methods run on the thread of that node's executor.

    Args:
        node: The node that asks.

    Attributes:
        node: The same.
        checks: Called repeatedly during each wait; an exception ends the wait.
        waits_for_start: Whether to wait for nodes even if no other process on this machine uses the domain.
    """

    def __init__(self, node: Node) -> None:
        self.node, self.waits_for_start = node, True
        self.checks: list[Callable[[], None]] = []
        self._clients: dict[str, Any] = {}
        self._checked: set[str] = set()
        self._found: list[tuple[str, str]] = []
        self._met: set[str] = set()
        self._services = 0
        self._started, self._known_at, self._changed_at = time.monotonic(), 0.0, 0.0

    def destroy(self) -> None:
        """Destroy the service clients, for which other processes keep memory."""
        for client in self._clients.values():
            self.node.destroy_client(client)

    async def wait_for(self, condition: Callable[[], T], what: str, seconds: float, starting: float = 0.0,
                       error: type[RobodynError] = RobodynError) -> T:
        """Wait until a condition is true, and return its value.

        Args:
            condition: Called once a turn.
            what: Noun phrase for the error message.
            seconds: Longest wait [s].
            starting: Further wait if nodes of the graph exist, which may still be starting [s].
            error: Type of the error.

        Raises:
            RobodynError: The time ran out.
        """
        deadline = time.monotonic() + seconds
        while not (result := condition()):
            for check in self.checks:
                check()
            if self._is_absent():
                raise error(f"no {what}: {self._advice()}")
            if time.monotonic() > deadline:
                if not starting or self.node.get_namespace() not in self._namespaces():
                    raise error(f"no {what} within {seconds:g} s: {self._advice()}")
                seconds, deadline, starting = seconds + starting, deadline + starting, 0.0
            await next_turn()
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

    def client(self, kind: type, node: str, service: str) -> Any:
        """Return the client of a service, which is created once.

        Args:
            kind: Type of the service.
            node: Name of the node; a relative name belongs to the namespace of the own node.
            service: Name of the service below the node's name.
        """
        name = f"{node}/{service}"
        return self._clients.get(name) or self._clients.setdefault(name, self.node.create_client(kind, name))

    async def call(self, kind: type, node: str, service: str, request: Any, seconds: float,
                   answer_seconds: float = 0.0, repeatable: bool = False, all_of_name: bool = False) -> Any:
        """Call a service of a node.

        Args:
            kind: Type of the service.
            node: Name of the node; a relative name belongs to the namespace of the own node.
            service: Name of the service below the node's name.
            request: The request.
            seconds: Longest wait for the node, and again for its answer [s].
            answer_seconds: Longest wait for its answer, if that is longer [s].
            repeatable: Whether the node may receive the request twice; as for parameters.
            all_of_name: Whether all nodes of the name are meant, as for a stop.

        Returns:
            The response.

        Raises:
            InputError: The name is not valid for a node.
            AbsentError: The node, or its service, was not found.
            RobodynError: There is no answer, or two nodes have the name.
        """
        check_node_name(node)
        client, full_name = self.client(kind, node, service), self.node.resolve_service_name(node)
        await self.wait_for(client.service_is_ready, f"node '{node}'", seconds, error=AbsentError)
        if not all_of_name:
            await self.check_only_one(node)
        if kind not in READING:
            await self.meet(node)
        futures: list[Any] = []
        sent, wait = -math.inf, FIRST_ANSWER_SECONDS if kind in READING else ANSWER_SECONDS

        def answered() -> Any | None:
            nonlocal sent, wait
            if not futures or ((repeatable or kind in REPEATABLE) and time.monotonic() - sent > wait):
                if futures:
                    wait = min(2.0 * wait, ANSWER_SECONDS)
                futures.append(client.call_async(request))
                sent = time.monotonic()
            return next((future for future in futures if future.done()), None)

        try:
            future: Any = await self.wait_for(answered, f"answer of node '{node}'", max(seconds, answer_seconds))
            if not all_of_name:
                self.refuse_namesakes(full_name)
            self._met.add(full_name)
            return future.result()
        finally:
            for future in futures:
                client.remove_pending_request(future)

    async def ask(self, kind: Any, node: str, service: str, request: Any, seconds: float, answer_seconds: float = 0.0,
                  all_of_name: bool = False) -> str:
        """Call a service that answers with ``success`` and ``message``, and return the message.

        Args:
            kind: This and the other arguments are those of :meth:`call`.
            node: Name of the node.
            service: Name of the service.
            request: The request.
            seconds: Longest wait for the node [s].
            answer_seconds: Longest wait for its answer, if that is longer [s].
            all_of_name: Whether all nodes of the name are meant.

        Raises:
            RobodynError: The node refuses, or as for :meth:`call`.
        """
        answer = await self.call(kind, node, service, request, seconds, answer_seconds, all_of_name=all_of_name)
        if not answer.success:
            raise RobodynError(f"node '{node}' refused {service}: {answer.message}")
        return str(answer.message)

    async def supervise(self, service: str, seconds: float, answer_seconds: float = 0.0) -> str:
        """Call ``stop`` or ``release`` of the node ``controller``; a stop reaches all nodes of the name."""
        return await self.ask(Trigger, "controller", service, Trigger.Request(), seconds, answer_seconds,
                              all_of_name=service == "stop")

    async def set_parameters(self, node: str, values: Mapping[str, Any], seconds: float,
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
        answer = await self.call(SetParametersAtomically, node, "set_parameters_atomically",
                                 SetParametersAtomically.Request(parameters=parameters), seconds, answer_seconds)
        result: SetParametersResult = answer.result
        return result

    async def check_only_one(self, node: str) -> None:
        """Wait until no more nodes are found; raise if two have this name, since either could answer.

        Args:
            node: Name of the node; a relative name belongs to the namespace of the own node.

        Raises:
            RobodynError: Two nodes have the name.
        """
        full_name = self.node.resolve_service_name(node)
        if full_name in self._checked:
            return
        await self.wait_until_known()
        self.refuse_namesakes(full_name)
        self._checked.add(full_name)

    async def meet(self, node: str) -> None:
        """Send a repeatable request to a node until it answers: then it has discovered this client.

        Response readers created earlier are then discovered, too.

        Args:
            node: Name of the node.
        """
        full_name = self.node.resolve_service_name(node)
        if full_name in self._met:
            return
        self._met.add(full_name)
        with suppress(RobodynError):  # the later request will report it
            await self.call(GetParameters, node, "get_parameters", GetParameters.Request(), MEETING_SECONDS,
                            all_of_name=True)

    async def wait_until_known(self, services: bool = False, counting: bool = True) -> None:
        """Wait, some seconds at most, until no more nodes are found and all names are known.

        Args:
            services: Whether their services have to be known, too; a node's name may arrive before these.
            counting: Whether it suffices that all participants on this machine have announced their nodes.
        """
        deadline = time.monotonic() + LONGEST_DISCOVERY_SECONDS

        def is_known() -> bool:
            now, found = time.monotonic(), sorted(self.node.get_node_names_and_namespaces())
            number = len(self.node.get_service_names_and_types())
            if found != self._found:
                age = now - self._started
                wait = max(DISCOVERY_SECONDS, age if age < LONGEST_DISCOVERY_SECONDS else 0.0)
                self._found, self._known_at = found, max(self._started + ANNOUNCED_SECONDS, now + wait)
                self._changed_at = now
            if number != self._services:
                self._services, self._changed_at = number, now
            if counting and now >= self._changed_at + services * SETTLED_SECONDS and self._all_here_are_known():
                return True
            return now >= deadline or (now >= self._known_at and not self._unnamed())

        await self.wait_for(is_known, "discovery", 2.0 * LONGEST_DISCOVERY_SECONDS)

    def _unnamed(self) -> bool:
        """Return whether a node's name is still unknown; each node publishes /parameter_events."""
        return any(shown.node_name == UNNAMED
                   for shown in self.node.get_publishers_info_by_topic(topic_names.PARAMETER_EVENTS))

    def _all_here_are_known(self) -> bool:
        """Return whether discovery is limited to this machine and all its participants have announced their nodes."""
        if not is_this_machine_alone():
            return False
        publishers = self.node.get_publishers_info_by_topic(topic_names.PARAMETER_EVENTS)
        named = {participant(bytes(shown.endpoint_gid)) for shown in publishers if shown.node_name != UNNAMED}
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
