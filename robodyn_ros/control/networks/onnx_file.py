# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Reads an ONNX file into a graph of plain values; refuses anything that needs further files or code.

The format is that of https://github.com/onnx/onnx/blob/main/docs/IR.md. Weights in other files are refused, because the
ONNX file would choose which paths are opened.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from robodyn_ros.base.bounded_files import read_file
from robodyn_ros.base.errors import InputError, error_text, escaped, shown
from robodyn_ros.base.optional_packages import require

MAX_ONNX_BYTES = 64 * 2**20
"""Limit of an ONNX file [bytes]."""

MAX_NODES = 20_000
"""Limit of the operators of a network."""

_OWN_DOMAINS = ("", "ai.onnx")
_FLOATS = ("FLOAT", "DOUBLE", "FLOAT16")


class NetworkNode(NamedTuple):
    """One operator of a network.

    Attributes:
        operator: Its name in the specification, such as ``Gemm``.
        inputs: Names of its arguments; empty for an omitted optional one.
        outputs: Names of its results.
        attributes: Its attributes: numbers, text, lists and arrays; None for a nested graph.
    """

    operator: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class NetworkGraph:
    """A network as read from a file.

    Attributes:
        path: The file, for messages.
        content: Its bytes.
        opset: Version of the operators.
        nodes: Operators, in the order of evaluation.
        constants: Weights by name.
        inputs: Shape of each input by name; variable lengths are None.
        outputs: Names of the outputs.
    """

    path: Path
    content: bytes
    opset: int
    nodes: tuple[NetworkNode, ...]
    constants: Mapping[str, np.ndarray]
    inputs: Mapping[str, tuple[int | None, ...]]
    outputs: tuple[str, ...]


def read_onnx(path: Path) -> NetworkGraph:
    """Read an ONNX file.

    Args:
        path: The file.

    Raises:
        InputError: The file cannot be read, is larger than `MAX_ONNX_BYTES` or no ONNX file; or it has weights in other
            files, weights that are not finite, operators outside of ONNX, operators in a cycle, or inputs that are not
            floats.
        RobodynError: The package onnx is not installed.
    """
    require("onnx")
    import onnx

    try:
        content = read_file(path, MAX_ONNX_BYTES)
    except OSError as error:
        raise InputError(f"{path}: expected a readable ONNX file, received: {error}") from error
    try:
        model = onnx.load_model_from_string(content)
    except Exception as error:  # of protobuf; onnx does not name their classes
        raise InputError(f"{path}: expected an ONNX file, received: {error_text(error)}") from error
    if not model.graph.node or not model.opset_import:
        raise InputError(f"{path}: expected an ONNX file with operators, received none; is it the right file?")
    _check_nodes(path, model)
    for tensor in _tensors(model):
        if tensor.data_location == onnx.TensorProto.EXTERNAL or tensor.external_data:
            raise InputError(f"{path}: expected all weights in this file, received {shown(tensor.name)} in another "
                             "one; save it with onnx.save(model, path, save_as_external_data=False)")
    graph = model.graph
    constants = {tensor.name: _array(path, tensor) for tensor in graph.initializer}
    nodes = tuple(_node(path, node) for node in graph.node)
    inputs = {each.name: _shape(path, each) for each in graph.input if each.name not in constants}
    _check_order(path, nodes, {*constants, *inputs}, [each.name for each in graph.output])
    versions = {each.domain: each.version for each in model.opset_import}
    return NetworkGraph(path, content, next((versions[name] for name in _OWN_DOMAINS if name in versions), 0), nodes,
                        constants, inputs, tuple(each.name for each in graph.output))


def _check_nodes(path: Path, model: Any) -> None:
    """Refuse operators outside of ONNX, and more operators than `MAX_NODES`."""
    if len(model.graph.node) > MAX_NODES:
        raise InputError(f"{path}: expected at most {MAX_NODES} operators, received {len(model.graph.node)}")
    for node in model.graph.node:
        if node.domain not in _OWN_DOMAINS:
            raise InputError(f"{path}: operator {shown(node.op_type)} of the domain {shown(node.domain)}: expected the "
                             "operators of ONNX itself; export the network without custom operators")
    if model.functions:
        raise InputError(f"{path}: expected a network without functions of its own, received "
                         f"{shown(model.functions[0].name)}; inline them with onnx.inliner.inline_local_functions")
    if model.graph.sparse_initializer:
        raise InputError(f"{path}: expected dense weights, received sparse ones")


def _tensors(model: Any) -> Iterator[Any]:
    """Yield every array of a model, including those in attributes and nested graphs."""
    graphs = [model.graph, *(each.algorithm for each in model.training_info),
              *(each.initialization for each in model.training_info)]
    while graphs:
        graph = graphs.pop()
        yield from graph.initializer
        for node in graph.node:
            for attribute in node.attribute:
                yield from attribute.tensors
                if attribute.HasField("t"):
                    yield attribute.t
                graphs += [*attribute.graphs, *([attribute.g] if attribute.HasField("g") else [])]


def _array(path: Path, tensor: Any) -> np.ndarray:
    from onnx import numpy_helper

    try:
        array = np.array(numpy_helper.to_array(tensor))
    except (TypeError, ValueError, KeyError) as error:
        raise InputError(f"{path}: weights {shown(tensor.name)} cannot be read: {error_text(error)}"
                         ) from error
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise InputError(f"{path}: weights {shown(tensor.name)}: expected finite numbers, received "
                         f"{np.count_nonzero(~np.isfinite(array))} of {array.size} that are NaN or infinite; the "
                         "training may have diverged")
    return array.astype(np.float64) if array.dtype.kind == "f" else array


def _node(path: Path, node: Any) -> NetworkNode:
    from onnx import AttributeProto, helper

    attributes = {}
    for attribute in node.attribute:
        value = helper.get_attribute_value(attribute)
        if attribute.type == AttributeProto.TENSOR:
            value = _array(path, value)
        elif isinstance(value, bytes):
            value = value.decode(errors="replace")
        elif attribute.type == AttributeProto.STRINGS:
            value = [each.decode(errors="replace") for each in value]
        elif attribute.type in (AttributeProto.INTS, AttributeProto.FLOATS):
            value = list(value)
        elif attribute.type not in (AttributeProto.INT, AttributeProto.FLOAT):
            value = None
        attributes[attribute.name] = value
    return NetworkNode(node.op_type, tuple(node.input), tuple(node.output), attributes)


def _shape(path: Path, given: Any) -> tuple[int | None, ...]:
    from onnx import TensorProto

    kind = given.type.tensor_type
    names = {number: name for name, number in TensorProto.DataType.items()}
    name = names.get(kind.elem_type, "an unknown type") if given.type.HasField("tensor_type") else "no array"
    if name not in _FLOATS:
        raise InputError(f"{path}: input {shown(given.name)}: expected floats, received {name}")
    if not kind.HasField("shape"):
        raise InputError(f"{path}: input {shown(given.name)}: expected a declared shape, received none")
    return tuple(each.dim_value if each.dim_value > 0 else None for each in kind.shape.dim)


def _check_order(path: Path, nodes: tuple[NetworkNode, ...], known: set[str], outputs: list[str]) -> None:
    """Refuse operators with an argument that is no input, weight or earlier result."""
    for node in nodes:
        for name in node.inputs:
            if name and name not in known:
                raise InputError(f"{path}: operator {escaped(node.operator)} takes {shown(name)}, which nothing before "
                                 "it gives: the network has a circle, or its file is damaged")
        known.update(node.outputs)
    for name in outputs:
        if name not in known:
            raise InputError(f"{path}: nothing gives the output {shown(name)}; the file is damaged")
    if not outputs:
        raise InputError(f"{path}: expected a network with outputs, received none")
