# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The parameters of the nodes of one graph, for a program that reads and sets them by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from rcl_interfaces.msg import ParameterDescriptor, ParameterType
from rcl_interfaces.srv import DescribeParameters, GetParameters, ListParameters
from rclpy.parameter import Parameter, parameter_value_to_python

from robodyn_ros.base.bounded_files import yaml_value
from robodyn_ros.base.errors import InputError, RobodynError, suggest
from robodyn_ros.base.fields import is_named
from robodyn_ros.nodes.client.graph_client import GraphClient

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


class GraphParameters:
    """Reads and sets parameters by services.

    Args:
        client: The connection to the graph.
        node: Only this node; empty: all nodes of the client's namespace. Namespaces below it are other graphs.
        seconds: Longest wait for each node [s].
        answer_seconds: Longest wait for each answer of an existing node [s].

    Attributes:
        nodes: Full names of the nodes.
        silent: Nodes without an answer, such as a recorder on a busy computer; their parameters are missing.

    Raises:
        RobodynError: No nodes are found within that time.
    """

    def __init__(self, client: GraphClient, node: str = "", seconds: float = 5.0,
                 answer_seconds: float = 20.0) -> None:
        self._client, self._seconds, self._answer_seconds = client, seconds, answer_seconds
        self._listed: dict[str, list[str]] = {}
        self._named, self._all = bool(node), not node
        self.silent: list[str] = []
        self.nodes = [node] if node else self._find_nodes()

    def entries(self, names: Sequence[str] = ()) -> list[Entry]:
        """Return parameters with their values.

        Args:
            names: Names of parameters or groups (``pd``, ``pd.gains``), with ``*`` for any part between two dots
                (``pd.gains.*.p``); empty: all.

        Raises:
            InputError: No node has a parameter or group of this name.
            RobodynError: The given node does not answer, or no node does.
        """
        found: list[Entry] = []
        for node in self.nodes:
            with self._left_out_if_silent(node):
                found.extend(self._entries_of(node, names))
        for want in names:
            if not any(is_named(entry.name, want) for entry in found):
                if self._has_found_more():
                    return self.entries(names)
                raise self._unknown(want)
        return found

    def containing(self, words: Sequence[str]) -> list[Entry]:
        """Return parameters with values: those of `entries`, or else those with a word in their name or description.

        Args:
            words: Names, groups or words; empty: all parameters.

        Raises:
            InputError: Nothing has this name, and no name and no description contains it.
            RobodynError: The given node does not answer, or no node does.
        """
        every, found = self.entries(), dict[tuple[str, str], Entry]()
        for word in words:
            matching = [entry for entry in every if is_named(entry.name, word)] or [
                entry for entry in every if word.lower() in f"{entry.name}\n{entry.descriptor.description}".lower()]
            if not matching:
                if self._has_found_more():
                    return self.containing(words)
                raise self._unknown(word)
            found |= {(entry.node, entry.name): entry for entry in matching}
        return [entry for entry in every if not words or (entry.node, entry.name) in found]

    def set(self, values: Mapping[str, str]) -> list[Entry]:
        """Set parameters, node by node, and return them with their new values.

        Args:
            values: Value of each parameter as YAML text, as ``ros2 param set`` takes it. ``*`` in a name matches any
                part between two dots. If two names match the same parameter, the later one counts.

        Raises:
            InputError: A name is unknown or belongs to several nodes, or a value is of another kind.
            RobodynError: A node refuses, with its reason, or does not answer and is not in `silent`.
        """
        values = {name: value for given, value in values.items() for name in self._meant(given)}
        owners = {name: self._owner(name) for name in values}
        for node in dict.fromkeys(owners.values()):
            names = [name for name, owner in owners.items() if owner == node]
            descriptors = self._call(DescribeParameters, node, "describe_parameters", names=names).descriptors
            for descriptor in descriptors:
                if descriptor.read_only:
                    raise InputError(f"parameter '{descriptor.name}' of '{node}' is fixed while the node runs: give it "
                                     f"when the node starts, with --ros-args -p {descriptor.name}:="
                                     f"{values[descriptor.name]} or in a file after --params-file")
            result = self._client.set_parameters(node, {
                name: to_value(values[name], descriptor)
                for name, descriptor in zip(names, descriptors, strict=True)}, self._seconds, self._answer_seconds)
            self._listed.pop(node, None)  # another controller has other parameters
            if not result.successful:
                raise RobodynError(f"node '{node}' refused, nothing has changed there: {result.reason}")
        return [entry for entry in self.entries(list(values)) if owners.get(entry.name) == entry.node]

    def _meant(self, name: str) -> list[str]:
        """Return the parameters that match a name."""
        if "*" not in name:
            return [name]
        found = [known for node in self.nodes for known in self._names(node)
                 if known.count(".") == name.count(".") and is_named(known, name)]
        if not found:
            if self._has_found_more():
                return self._meant(name)
            raise self._unknown(name)
        return list(dict.fromkeys(found))

    def _owner(self, name: str) -> str:
        owners = [node for node in self.nodes if name in self._names(node)]
        if not owners:
            if self._has_found_more():
                return self._owner(name)
            raise self._unknown(name)
        if len(owners) > 1:
            raise InputError(f"parameter '{name}' belongs to several nodes: name one by --node: {', '.join(owners)}")
        return owners[0]

    def _unknown(self, name: str) -> InputError:
        known = [known for node in self.nodes for known in self._names(node)]
        answering = ", ".join(node for node in self.nodes if node not in self.silent)
        silent = f" ({', '.join(self.silent)} gave no answer)" if self.silent else ""
        return InputError(f"no parameter '{name}' in {answering}{silent}: {suggest(name, known)}")

    def _names(self, node: str) -> list[str]:
        if node not in self._listed:
            with self._left_out_if_silent(node):
                self._listed[node] = sorted(self._call(ListParameters, node, "list_parameters").result.names)
        return self._listed[node]

    def _entries_of(self, node: str, names: Sequence[str]) -> list[Entry]:
        wanted = [name for name in self._names(node) if not names or any(is_named(name, want) for want in names)]
        if not wanted:
            return []
        descriptors = self._call(DescribeParameters, node, "describe_parameters", names=wanted).descriptors
        values = self._call(GetParameters, node, "get_parameters", names=wanted).values
        return [Entry(node, name, parameter_value_to_python(value), descriptor)
                for name, value, descriptor in zip(wanted, values, descriptors, strict=True)]

    @contextmanager
    def _left_out_if_silent(self, node: str) -> Iterator[None]:
        """Within the context, skip a node that does not answer, unless it was named or no other is left."""
        try:
            yield
        except RobodynError:
            self._client.refuse_namesakes(node)
            if self._named or len(self.silent) + 1 >= len(self.nodes):
                raise
            self.silent.append(node)
            self._listed[node] = []

    def _call(self, kind: Any, node: str, service: str, **fields: Any) -> Any:
        return self._client.call(kind, node, service, kind.Request(**fields), self._seconds, self._answer_seconds)

    def _has_found_more(self) -> bool:
        """Return whether a longer search finds further nodes: nodes can be known before their services."""
        known = len(self.nodes)
        if self._all:
            self._all = False
            self.nodes = self._find_nodes(counting=False)
        return len(self.nodes) > known

    def _find_nodes(self, counting: bool = True) -> list[str]:
        own = self._client.node
        begin = own.get_namespace().rstrip("/") + "/"

        def nodes() -> list[str]:
            # A service with only clients is listed, too: a recorder also queries nodes that have ended.
            names = (service.removesuffix(LIST_SERVICE) for service, _ in own.get_service_names_and_types()
                     if service.endswith(LIST_SERVICE) and own.count_services(service))
            return sorted(name for name in names if name.rpartition("/")[0] + "/" == begin)

        self._client.wait_for(nodes, "node with parameters" + f" in namespace {begin[:-1]}" * (begin != "/"),
                              self._seconds)
        self._client.wait_until_known(counting)
        return nodes()


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
