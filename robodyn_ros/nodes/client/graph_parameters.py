# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The parameters of the nodes of one graph, read and set by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from rcl_interfaces.msg import ParameterDescriptor, ParameterType
from rcl_interfaces.srv import DescribeParameters, GetParameters, ListParameters
from rclpy.parameter import Parameter, parameter_value_to_python

from robodyn_ros.base.bounded_files import yaml_value
from robodyn_ros.base.errors import InputError, RobodynError, suggest
from robodyn_ros.base.fields import is_named
from robodyn_ros.nodes.client.graph import Graph, Request, T, gather

LIST_SERVICE = "/list_parameters"
TYPE_NAMES = {ParameterType.PARAMETER_BOOL: "true or false", ParameterType.PARAMETER_INTEGER: "a whole number",
              ParameterType.PARAMETER_DOUBLE: "a number", ParameterType.PARAMETER_STRING: "text",
              ParameterType.PARAMETER_BYTE_ARRAY: "a list of bytes",
              ParameterType.PARAMETER_BOOL_ARRAY: "a list of true and false",
              ParameterType.PARAMETER_INTEGER_ARRAY: "a list of whole numbers",
              ParameterType.PARAMETER_DOUBLE_ARRAY: "a list of numbers",
              ParameterType.PARAMETER_STRING_ARRAY: "a list of texts"}


class Entry(NamedTuple):
    """A parameter of a running node.

    Attributes:
        node: Full name of the node.
        name: Name of the parameter.
        value: Its present value.
        descriptor: Its description, range and whether it is read-only.
    """

    node: str
    name: str
    value: Any
    descriptor: ParameterDescriptor

    @property
    def range(self) -> str:
        """The allowed numbers, or the words listed in its description of constraints; empty: any."""
        for bounds in (*self.descriptor.floating_point_range, *self.descriptor.integer_range):
            return f"{bounds.from_value:g} to {bounds.to_value:g}"
        return str(self.descriptor.additional_constraints)


class UnknownParameterError(InputError):
    """None of the nodes found so far has a parameter of this name."""


class GraphParameters:
    """Reads and sets parameters by services; several nodes are asked at the same time.

    Args:
        graph: The graph.
        node: Only this node; empty: all nodes of the graph's namespace. Namespaces below it are other graphs.
        seconds: Longest wait for each node [s].
        answer_seconds: Longest wait for each answer of an existing node [s].

    Attributes:
        nodes: Names of the nodes; empty before the first request.
        silent: Nodes without an answer, such as a recorder on a busy computer; their parameters are missing.
    """

    def __init__(self, graph: Graph, node: str = "", seconds: float = 5.0, answer_seconds: float = 20.0) -> None:
        self._graph, self._seconds, self._answer_seconds = graph, seconds, answer_seconds
        self._listed: dict[str, list[str]] = {}
        self._named = bool(node)
        self.silent: list[str] = []
        self.nodes = [node] if node else []

    async def entries(self, names: Sequence[str] = ()) -> list[Entry]:
        """Return parameters with their values, node by node in the order in which the nodes list them.

        Args:
            names: Names of parameters or groups (``pd``, ``pd.gains``), with ``*`` for any part between two dots
                (``pd.gains.*.p``); empty: all.

        Raises:
            InputError: No node has a parameter or group of this name.
            RobodynError: The given node does not answer, no node does, or none was found.
        """
        return await self._search(lambda: self._entries(names))

    async def containing(self, words: Sequence[str]) -> list[Entry]:
        """Return parameters with values: those of `entries`, or else those with a word in their name or description.

        Args:
            words: Names, groups or words; empty: all parameters.

        Raises:
            InputError: Nothing has this name, and no name and no description contains it.
            RobodynError: As for :meth:`entries`.
        """
        return await self._search(lambda: self._containing(words))

    async def set(self, values: Mapping[str, str]) -> list[Entry]:
        """Set parameters, node by node, and return them with their new values.

        Args:
            values: Value of each parameter as YAML text, as ``ros2 param set`` takes it. ``*`` in a name matches any
                part between two dots. If two names match the same parameter, the later one counts.

        Raises:
            InputError: A name is unknown or belongs to several nodes, or a value is of another kind.
            RobodynError: A node refuses, with its reason, or does not answer and is not in `silent`.
        """
        owners = await self._search(lambda: self._owners(values))
        values = {name: value for given, value in values.items() for name in owners if _is_meant(name, given)}
        for node in dict.fromkeys(owners.values()):
            names = [name for name, owner in owners.items() if owner == node]
            descriptors = (await self._call(DescribeParameters, node, "describe_parameters", names=names)).descriptors
            for descriptor in descriptors:
                if descriptor.read_only:
                    raise InputError(f"parameter '{descriptor.name}' of '{node}' is fixed while the node runs: give it "
                                     f"when the node starts, with --ros-args -p {descriptor.name}:="
                                     f"{values[descriptor.name]} or in a file after --params-file")
            result = await self._graph.set_parameters(node, {
                name: to_value(values[name], descriptor)
                for name, descriptor in zip(names, descriptors, strict=True)}, self._seconds, self._answer_seconds)
            self._listed.pop(node, None)  # another controller has other parameters
            if not result.successful:
                raise RobodynError(f"node '{node}' refused, nothing has changed there: {result.reason}")
        return [entry for entry in await self.entries(list(values)) if owners.get(entry.name) == entry.node]

    async def _entries(self, names: Sequence[str]) -> list[Entry]:
        await self._list()
        for want in names:
            if not any(is_named(name, want) for node in self.nodes for name in self._listed[node]):
                raise self._unknown(want)
        wanted = {node: [name for name in listed if not names or any(is_named(name, want) for want in names)]
                  for node, listed in self._listed.items()}
        found = await gather(self._of_node(node, wanted[node]) for node in self.nodes if wanted[node])
        return [entry for entries in found for entry in entries]

    async def _containing(self, words: Sequence[str]) -> list[Entry]:
        every, found = await self._entries([]), set[tuple[str, str]]()
        for word in words:
            matching = [entry for entry in every if is_named(entry.name, word)] or [
                entry for entry in every if word.lower() in f"{entry.name}\n{entry.descriptor.description}".lower()]
            if not matching:
                raise self._unknown(word)
            found.update((entry.node, entry.name) for entry in matching)
        return [entry for entry in every if not words or (entry.node, entry.name) in found]

    async def _owners(self, given: Iterable[str]) -> dict[str, str]:
        """Return the parameters that names mean, and their nodes."""
        await self._list()
        owners: dict[str, list[str]] = {}
        for want in given:
            meant = [(name, node) for node in self.nodes for name in self._listed[node] if _is_meant(name, want)]
            if not meant:
                raise self._unknown(want)
            owners |= {name: [node for other, node in meant if other == name] for name, _ in meant}
        for name, nodes in owners.items():
            if len(nodes) > 1:
                raise InputError(f"parameter '{name}' belongs to several nodes: name one by --node: {', '.join(nodes)}")
        return {name: node for name, [node] in owners.items()}

    async def _search(self, search: Callable[[], Request[T]]) -> T:
        """Search; among more nodes if a name is unknown and a longer wait finds these."""
        if not self.nodes:
            self.nodes = await self._find_nodes()
        try:
            return await search()
        except UnknownParameterError:
            known = len(self.nodes)
            if not self._named:
                self.nodes = await self._find_nodes(counting=False)
            if len(self.nodes) <= known:
                raise
        return await search()

    def _unknown(self, name: str) -> InputError:
        known = [known for node in self.nodes for known in self._listed[node]]
        answering = ", ".join(node for node in self.nodes if node not in self.silent)
        silent = f" ({', '.join(self.silent)} gave no answer)" if self.silent else ""
        return UnknownParameterError(f"no parameter '{name}' in {answering}{silent}: {suggest(name, known)}")

    async def _list(self) -> None:
        """Read the names of the parameters of each node."""
        nodes = [node for node in self.nodes if node not in self._listed]
        self._listed |= zip(nodes, await gather(map(self._names, nodes)), strict=True)

    async def _names(self, node: str) -> list[str]:
        answer = await self._unless_silent(node, self._call(ListParameters, node, "list_parameters"))
        return list(answer.result.names) if answer is not None else []

    async def _of_node(self, node: str, names: list[str]) -> list[Entry]:
        answers = await self._unless_silent(node, gather([
            self._call(DescribeParameters, node, "describe_parameters", names=names),
            self._call(GetParameters, node, "get_parameters", names=names)]))
        if answers is None:
            self._listed[node] = []
            return []
        return [Entry(node, name, parameter_value_to_python(value), descriptor)
                for name, descriptor, value in zip(names, answers[0].descriptors, answers[1].values, strict=True)]

    async def _unless_silent(self, node: str, request: Request[T]) -> T | None:
        """Return an answer; None for a node that gives none, unless it was named or no other is left."""
        try:
            return await request
        except RobodynError:
            self._graph.refuse_namesakes(node)
            if self._named or len(self.silent) + 1 >= len(self.nodes):
                raise
            self.silent.append(node)
            return None

    async def _call(self, kind: Any, node: str, service: str, **fields: Any) -> Any:
        return await self._graph.call(kind, node, service, kind.Request(**fields), self._seconds, self._answer_seconds)

    async def _find_nodes(self, counting: bool = True) -> list[str]:
        own = self._graph.node
        begin = own.get_namespace().rstrip("/") + "/"

        def nodes() -> list[str]:
            # A service with only clients is listed, too: a recorder also queries nodes that have ended.
            names = (service.removesuffix(LIST_SERVICE) for service, _ in own.get_service_names_and_types()
                     if service.endswith(LIST_SERVICE) and own.count_services(service))
            return sorted(name for name in names if name.rpartition("/")[0] + "/" == begin)

        await self._graph.wait_for(nodes, "node with parameters" + f" in namespace {begin[:-1]}" * (begin != "/"),
                                   self._seconds)
        await self._graph.wait_until_known(services=True, counting=counting)
        return nodes()


def _is_meant(name: str, given: str) -> bool:
    """Return whether a parameter is set by a given name: the same, or of the same length with ``*`` in it."""
    return name == given or ("*" in given and name.count(".") == given.count(".") and is_named(name, given))


def to_value(text: str, descriptor: ParameterDescriptor) -> Any:
    """Convert YAML text to a value of a parameter's kind.

    Args:
        text: The value as YAML.
        descriptor: Descriptor of the parameter.

    Raises:
        InputError: The text is not YAML, or a value of another kind.
    """
    kind = descriptor.type
    if kind == ParameterType.PARAMETER_STRING:
        return text
    try:
        value = yaml_value(text, descriptor.name)
    except InputError:
        value = text
    if kind == ParameterType.PARAMETER_DOUBLE and type(value) is int:
        value = float(value)
    if kind == ParameterType.PARAMETER_DOUBLE_ARRAY:
        items = value if isinstance(value, list) else [value]
        if all(type(item) in (int, float) for item in items):
            value = [float(item) for item in items]
    if kind in TYPE_NAMES and not _is_kind(value, kind):
        raise InputError(f"parameter '{descriptor.name}': expected {TYPE_NAMES[kind]}, received '{text}'")
    return value


def _is_kind(value: Any, kind: int) -> bool:
    try:
        return Parameter("value", value=value).type_.value == kind
    except (ValueError, TypeError):
        return False
