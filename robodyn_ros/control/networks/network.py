# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""A network as a function of arrays: in NumPy, to be traced and compiled, or by ONNX Runtime."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from robodyn_ros.base.errors import CompileError, InputError, RobodynError, error_text, escaped, shown
from robodyn_ros.base.optional_packages import require
from robodyn_ros.compile.traced_array import is_traced
from robodyn_ros.control.networks.onnx_file import NetworkGraph, NetworkNode
from robodyn_ros.control.networks.operators import OPERATORS, UnsupportedOperator, apply

OLDEST_OPSET = 13
"""Oldest operator set version that `operators` implements."""

MAX_NUMBERS = 32 * 2**20
"""Limit of the numbers in all results of one evaluation."""

Shape = tuple[int, ...]


class Network:
    """A network with fixed input sizes.

    Args:
        graph: The network as read from a file.
        sizes: Number of elements of each input by name, which determines a variable length; others are 1. Without a
            size, the declared shape counts.

    Attributes:
        shapes: Shape of each input by name.
        outputs: Number of elements of each output by name.
        uncompiled_reason: Why it cannot be compiled, with the time of one evaluation; empty: it can.
    """

    def __init__(self, graph: NetworkGraph, sizes: Mapping[str, int]) -> None:
        self._graph = graph
        self.shapes = {name: _fitting(graph, name, sizes.get(name)) for name in graph.inputs}
        self.uncompiled_reason = ""
        zeros = {name: np.zeros(shape) for name, shape in self.shapes.items()}
        try:
            with np.errstate(all="ignore"):  # zeros are not typical inputs
                self._nodes, self._constants = _folded(graph, zeros)
                self._run: Callable[[Mapping[str, Any]], dict[str, Any]] = self._in_numpy
                found = self._run(zeros)
        except UnsupportedOperator as error:
            self._run = _in_onnx_runtime(graph, str(error))
            found = self._run(zeros)
            self.uncompiled_reason = (f"{graph.path}: {error} is not compiled; ONNX Runtime evaluates the network, in "
                                      f"{1e6 * self._seconds(zeros):.0f} us")
        self.outputs = {name: int(np.size(value)) for name, value in found.items()}

    def __call__(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Evaluate the network.

        Args:
            inputs: Numbers of each input by name, shape (size,), floats or traced scalars.

        Returns:
            Numbers of each output by name, shape (size,).

        Raises:
            CompileError: The inputs are traced, and the network cannot be compiled.
        """
        if self.uncompiled_reason and any(map(is_traced, np.concatenate([*inputs.values()]))):
            raise CompileError(self.uncompiled_reason)
        found = self._run({name: values.reshape(self.shapes[name]) for name, values in inputs.items()})
        return {name: value.reshape(-1) for name, value in found.items()}

    def _in_numpy(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        known = {**self._constants, **inputs}
        for node in self._nodes:
            known.update(_evaluated(self._graph, node, known))
        return {name: known[name] for name in self._graph.outputs}

    def _seconds(self, inputs: Mapping[str, Any]) -> float:
        """Return the shortest time of a few evaluations [s]."""
        times = []
        for _ in range(20):
            begin = time.perf_counter()
            self._run(inputs)
            times.append(time.perf_counter() - begin)
        return min(times)


def _fitting(graph: NetworkGraph, name: str, size: int | None) -> Shape:
    """Return the shape of an input of this size; variable lengths are 1, except the last, which fits the size."""
    declared = graph.inputs[name]
    known = math.prod(length for length in declared if length is not None)
    free = declared.count(None)
    left = 1 if size is None else size // known
    wanted = known if size is None else size
    if (free or left == 1) and known * left == wanted:
        lengths = [*[1] * (free - 1), left]
        return tuple(lengths.pop(0) if length is None else length for length in declared)
    text = ", ".join("any" if length is None else str(length) for length in declared)
    raise InputError(f"{graph.path}: input {shown(name)} of shape ({text}) has {known} numbers, but {size} are "
                     "given to it")


def _folded(graph: NetworkGraph, inputs: Mapping[str, Any]) -> tuple[list[NetworkNode], dict[str, Any]]:
    """Return the operators that depend on the inputs, and the weights with the results of all other operators."""
    if graph.opset < OLDEST_OPSET:
        raise UnsupportedOperator(f"version {graph.opset} of the operators, below {OLDEST_OPSET},")
    for node in graph.nodes:
        if node.operator not in OPERATORS:
            raise UnsupportedOperator(f"operator {escaped(node.operator)}")
    known: dict[str, Any] = {**graph.constants}
    shapes: dict[str, Any] = {**known, **inputs}
    left, count = [], 0
    for node in graph.nodes:
        results = _evaluated(graph, node, shapes)
        count += sum(map(np.size, results.values()))
        if count > MAX_NUMBERS:
            raise InputError(f"{graph.path}: expected operators whose results have at most {MAX_NUMBERS} numbers "
                             "together, received more; is it the network of a policy?")
        shapes |= results
        fixed = node.operator == "Shape" or all(name in known for name in node.inputs if name)
        known.update(results if fixed else {})
        left += [] if fixed else [node]
    return left, known


def _evaluated(graph: NetworkGraph, node: NetworkNode, known: Mapping[str, Any]) -> dict[str, Any]:
    """Return the results of one operator by name."""
    given = [known[name] if name else None for name in node.inputs]
    attributes = node.attributes
    if node.operator == "Split" and "num_outputs" not in attributes and len(given) < 2:
        attributes = {**attributes, "num_outputs": len(node.outputs)}
    try:
        results = apply(node.operator, given, attributes)
    except RobodynError:
        raise
    except (ValueError, IndexError, TypeError, AttributeError, ArithmeticError) as error:
        result = shown(node.outputs[0] if node.outputs else "")
        raise InputError(f"{graph.path}: operator {node.operator} for {result}: "
                         f"{error_text(error)}") from error
    if len(results) < len([name for name in node.outputs if name]):
        raise UnsupportedOperator(f"operator {node.operator} with {len(node.outputs)} results")
    return {name: value for name, value in zip(node.outputs, results, strict=False) if name}


def _in_onnx_runtime(graph: NetworkGraph, uncompiled: str) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """Return the network as evaluated by ONNX Runtime on one thread, in its own precision."""
    try:
        require("onnxruntime")
    except RobodynError as error:
        raise RobodynError(f"{graph.path}: {uncompiled} is not compiled; {error}") from None
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(graph.content, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # its errors have no common class
        raise InputError(f"{graph.path}: ONNX Runtime cannot run it: {error_text(error)}") from error
    kinds = {each.name: _NUMPY_TYPES[each.type] for each in session.get_inputs()}

    def run(inputs: Mapping[str, Any]) -> dict[str, Any]:
        try:
            results: Sequence[Any] = session.run(list(graph.outputs), {
                name: value.astype(kinds[name]) for name, value in inputs.items() if name in kinds})
            return {name: np.asarray(value, dtype=np.float64)
                    for name, value in zip(graph.outputs, results, strict=True)}
        except Exception as error:
            raise InputError(f"{graph.path}: ONNX Runtime cannot evaluate it: {error_text(error)}") from error

    return run


_NUMPY_TYPES = {"tensor(float)": np.float32, "tensor(double)": np.float64, "tensor(float16)": np.float16}
