# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Operators of ONNX in NumPy, on floats and on traced values; https://onnx.ai/onnx/operators/ defines each of them.

These are the operators of exported control networks: dense layers, activations, normalisation, recurrent cells, and
array manipulation. Arguments are positional, as in the specification, attributes are keywords; a function supports
exactly the ones that it accepts.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from robodyn_ros.base.errors import CompileError

Values = tuple[Any, ...]
"""Results of an operator."""


MAX_RESULT = 1_000_000
"""Limit of the numbers in a result that is larger than its arguments; a small file can request terabytes."""


class UnsupportedOperator(CompileError):
    """An operator or option that is not implemented here."""


def apply(operator: str, inputs: Sequence[Any], attributes: Mapping[str, Any]) -> Values:
    """Evaluate an operator.

    Args:
        operator: Its name.
        inputs: Its arguments, arrays; None for an omitted optional one.
        attributes: Its attributes.

    Raises:
        UnsupportedOperator: It is not implemented, or not with these arguments and attributes.
        ValueError: Its result would have more than `MAX_RESULT` numbers, or arguments do not fit; NumPy and Python
            may also raise other errors.
    """
    function = OPERATORS.get(operator)
    if function is None:
        raise UnsupportedOperator(f"operator {operator}")
    try:
        inspect.signature(function).bind(*inputs, **attributes)
    except TypeError as error:
        raise UnsupportedOperator(f"operator {operator} with other arguments: {error}") from None
    count = _most_numbers(operator, inputs, attributes)
    if count > max([MAX_RESULT, *map(np.size, inputs)]):
        raise ValueError(f"expected a result of at most {MAX_RESULT} numbers, received one of {count}")
    result = function(*inputs, **attributes)
    return result if isinstance(result, tuple) else (result,)


def _most_numbers(operator: str, inputs: Sequence[Any], attributes: Mapping[str, Any]) -> int:
    """Return the size of a result that may exceed the arguments, before it is computed; 0 for other operators."""
    shapes = [np.shape(each) for each in inputs if each is not None]
    match operator:
        case "Add" | "Sub" | "Mul" | "Div" | "Pow" | "Clip" | "LayerNormalization":
            return math.prod(np.broadcast_shapes(*shapes))
        case "MatMul":
            left, right = shapes
            return math.prod((*np.broadcast_shapes(left[:-2], right[:-2]), *left[-2:-1], *right[-1:]))
        case "Gemm":
            product = (shapes[0][attributes.get("transA", 0)], shapes[1][1 - attributes.get("transB", 0)])
            return math.prod(np.broadcast_shapes(product, *shapes[2:]))
        case "GRU" | "LSTM":  # the gates of all steps
            initial = np.shape(inputs[5])[1:2] if len(inputs) > 5 else ()
            return shapes[0][0] * max(shapes[0][1], *initial, 0) * max(shapes[1][1], shapes[2][1])
        case "Concat":
            return sum(map(math.prod, shapes))
        case "Gather":
            return math.prod(shapes[0]) * math.prod(shapes[1]) // max(1, shapes[0][attributes.get("axis", 0)])
        case "ConstantOfShape":
            return math.prod(_whole(inputs[0]))
        case "Expand":
            return math.prod(np.broadcast_shapes(shapes[0], _whole(inputs[1])))
    return 0


def _require(fits: bool, what: str) -> None:
    if not fits:
        raise UnsupportedOperator(what)


def _gemm(a: Any, b: Any, c: Any = None, *, alpha: float = 1.0, beta: float = 1.0, transA: int = 0, transB: int = 0
          ) -> Any:
    product = (a.T if transA else a) @ (b.T if transB else b)
    product = product if alpha == 1.0 else alpha * product
    return product if c is None else product + (c if beta == 1.0 else beta * c)


def sigmoid(x: Any) -> Any:
    """1 / (1 + exp(-x)) without overflow."""
    return 0.5 + 0.5 * np.tanh(0.5 * x)


def _exponential_below(x: Any, scale: float) -> Any:
    """scale (e^x - 1) for negative x, and x otherwise."""
    return np.where(x > 0.0, x, scale * np.expm1(np.minimum(x, 0.0)))


def _elu(x: Any, *, alpha: float = 1.0) -> Any:
    return _exponential_below(x, alpha)


def _selu(x: Any, *, alpha: float = 1.67326319217681884765625, gamma: float = 1.05070102214813232421875) -> Any:
    return gamma * _exponential_below(x, alpha)


def _leaky_relu(x: Any, *, alpha: float = 0.01) -> Any:
    return np.where(x < 0.0, alpha * x, x)


def _softplus(x: Any) -> Any:
    return np.maximum(x, 0.0) + np.log1p(np.exp(-np.absolute(x)))


def _clip(x: Any, lower: Any = None, upper: Any = None) -> Any:
    x = x if lower is None else np.maximum(x, lower)
    return x if upper is None else np.minimum(x, upper)


def _layer_normalization(x: Any, scale: Any, bias: Any = None, *, axis: int = -1, epsilon: float = 1e-5,
                         stash_type: int = 1) -> Any:
    axes = tuple(range(axis % x.ndim, x.ndim))
    centred = x - np.mean(x, axis=axes, keepdims=True)
    normal = centred / np.sqrt(np.mean(centred * centred, axis=axes, keepdims=True) + epsilon)
    return normal * scale if bias is None else normal * scale + bias


def _whole(values: Any) -> tuple[int, ...]:
    """Return constant indices or lengths."""
    _require(values.dtype.kind in "iu", "an operator whose lengths or indices depend on the inputs")
    return tuple(int(value) for value in np.ravel(values))


def _flatten(x: Any, *, axis: int = 1) -> Any:
    axis = axis % (x.ndim + 1) if axis < 0 else axis
    return x.reshape(int(np.prod(x.shape[:axis])), -1)


def _reshape(x: Any, shape: Any, *, allowzero: int = 0) -> Any:
    lengths = _whole(shape)
    return x.reshape([x.shape[place] if length == 0 and not allowzero else length
                      for place, length in enumerate(lengths)])


def _squeeze(x: Any, chosen: Any = None, *, axes: Sequence[int] | None = None) -> Any:
    axes = _whole(chosen) if chosen is not None else axes
    return np.squeeze(x, None if axes is None else tuple(axes))


def _unsqueeze(x: Any, chosen: Any = None, *, axes: Sequence[int] = ()) -> Any:
    return np.expand_dims(x, _whole(chosen) if chosen is not None else tuple(axes))


def _transpose(x: Any, *, perm: Sequence[int] | None = None) -> Any:
    return np.transpose(x, perm)


def _concat(*arrays: Any, axis: int) -> Any:
    return np.concatenate(arrays, axis=axis)


def _slice(x: Any, starts: Any, ends: Any, axes: Any = None, steps: Any = None) -> Any:
    first, last = _whole(starts), _whole(ends)
    chosen = range(len(first)) if axes is None else _whole(axes)
    strides = (1,) * len(first) if steps is None else _whole(steps)
    index: list[Any] = [slice(None)] * x.ndim
    for axis, begin, end, stride in zip(chosen, first, last, strides, strict=True):
        _require(stride > 0, "operator Slice with a negative step")
        index[axis] = slice(begin, end, stride)
    return x[tuple(index)]


def _gather(x: Any, indices: Any, *, axis: int = 0) -> Any:
    _require(indices.dtype.kind in "iu", "operator Gather with indices that depend on the inputs")
    return x[(slice(None),) * (axis % x.ndim) + (indices,)]


def _split(x: Any, lengths: Any = None, *, axis: int = 0, num_outputs: int = 0) -> Values:
    _require(lengths is not None or num_outputs > 0, "operator Split without lengths")
    if lengths is None:
        share = -(-x.shape[axis] // num_outputs)
        return tuple(np.split(x, range(share, x.shape[axis], share), axis=axis))
    return tuple(np.split(x, np.cumsum(_whole(lengths))[:-1].tolist(), axis=axis))


def _constant(*, value: Any = None, value_float: float | None = None, value_floats: Any = None,
              value_int: int | None = None, value_ints: Any = None) -> Any:
    given = [each for each in (value, value_float, value_floats, value_int, value_ints) if each is not None]
    _require(len(given) == 1, "operator Constant without one number or array")
    return np.asarray(given[0])


def _constant_of_shape(shape: Any, *, value: Any = None) -> Any:
    return np.full(_whole(shape), 0.0 if value is None else np.ravel(value)[0])


def _expand(x: Any, shape: Any) -> Any:
    return np.broadcast_to(x, np.broadcast_shapes(x.shape, _whole(shape)))


def _cast(x: Any, *, to: int, saturate: int = 1) -> Any:
    _require(to in _FLOAT_TYPES or (to in _WHOLE_TYPES and x.dtype.kind in "iu"), "operator Cast to whole numbers")
    return x.astype(np.float64) if to in _FLOAT_TYPES else x


def _reduced(function: Callable[..., Any]) -> Callable[..., Any]:
    def reduce(x: Any, chosen: Any = None, *, axes: Sequence[int] | None = None, keepdims: int = 1,
               noop_with_empty_axes: int = 0) -> Any:
        _require(not noop_with_empty_axes, "a reduction with noop_with_empty_axes")
        picked = _whole(chosen) if chosen is not None else axes
        return function(x, axis=tuple(range(x.ndim)) if not picked else tuple(picked), keepdims=bool(keepdims))

    return reduce


def _softmax(x: Any, *, axis: int = -1) -> Any:
    powers = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return powers / np.sum(powers, axis=axis, keepdims=True)


def _sequence(x: Any, w: Any, lengths: Any, direction: str, others: Sequence[Any]) -> None:
    """Refuse backward recurrent layers, and sequences of different lengths."""
    _require(direction == "forward" and w.shape[0] == 1, "a recurrent layer in another direction than forward")
    _require(lengths is None, "a recurrent layer with sequence_lens")
    _require(not any(others), "a recurrent layer with other activations, clip or layout")


def _gru(x: Any, w: Any, r: Any, b: Any = None, sequence_lens: Any = None, initial_h: Any = None, *,
         hidden_size: int = 0, direction: str = "forward", linear_before_reset: int = 0, activations: Any = None,
         clip: Any = None, layout: int = 0) -> Values:
    """H' = (1 - z) h + z H, with the gates z (update), r (reset) and h (hidden) in this order in the weights."""
    usual = activations in (None, ["Sigmoid", "Tanh"])
    _sequence(x, w, sequence_lens, direction, (not usual, clip, layout))
    size = r.shape[2]
    bias = np.zeros(6 * size) if b is None else b[0]
    state = np.zeros((x.shape[1], size)) if initial_h is None else initial_h[0]
    outputs = []
    for row in x:
        given, kept = row @ w[0].T + bias[:3 * size], state @ r[0].T
        gates = sigmoid(given[:, :2 * size] + kept[:, :2 * size] + bias[3 * size:5 * size])
        update, reset = gates[:, :size], gates[:, size:]
        if linear_before_reset:
            recurrent = reset * (kept[:, 2 * size:] + bias[5 * size:])
        else:
            recurrent = (reset * state) @ r[0][2 * size:].T + bias[5 * size:]
        state = (1.0 - update) * np.tanh(given[:, 2 * size:] + recurrent) + update * state
        outputs.append(state)
    return np.stack(outputs)[:, None], state[None]


def _lstm(x: Any, w: Any, r: Any, b: Any = None, sequence_lens: Any = None, initial_h: Any = None,
          initial_c: Any = None, p: Any = None, *, hidden_size: int = 0, direction: str = "forward",
          activations: Any = None, clip: Any = None, input_forget: int = 0, layout: int = 0) -> Values:
    """H' = o tanh(C'), C' = f C + i c, with the gates i, o, f and c in this order in the weights."""
    usual = activations in (None, ["Sigmoid", "Tanh", "Tanh"])
    _sequence(x, w, sequence_lens, direction, (not usual, clip, layout, input_forget, p is not None))
    size = r.shape[2]
    bias = np.zeros(4 * size) if b is None else b[0][:4 * size] + b[0][4 * size:]
    state = np.zeros((x.shape[1], size)) if initial_h is None else initial_h[0]
    cell = np.zeros((x.shape[1], size)) if initial_c is None else initial_c[0]
    outputs = []
    for row in x:
        gates = row @ w[0].T + state @ r[0].T + bias
        open_gates = sigmoid(gates[:, :3 * size])
        cell = open_gates[:, 2 * size:] * cell + open_gates[:, :size] * np.tanh(gates[:, 3 * size:])
        state = open_gates[:, size:2 * size] * np.tanh(cell)
        outputs.append(state)
    return np.stack(outputs)[:, None], state[None], cell[None]


_FLOAT_TYPES = (1, 10, 11)  # FLOAT, FLOAT16, DOUBLE of TensorProto.DataType
_WHOLE_TYPES = (6, 7)  # INT32, INT64

OPERATORS: Mapping[str, Callable[..., Any]] = {
    "Gemm": _gemm, "MatMul": lambda a, b: a @ b,
    "Add": lambda a, b: a + b, "Sub": lambda a, b: a - b, "Mul": lambda a, b: a * b, "Div": lambda a, b: a / b,
    "Pow": lambda a, b: a**b, "Neg": lambda a: -a, "Abs": lambda a: np.absolute(a), "Sqrt": lambda a: np.sqrt(a),
    "Exp": lambda a: np.exp(a), "Reciprocal": lambda a: 1.0 / a, "Sin": lambda a: np.sin(a), "Cos": lambda a: np.cos(a),
    "Tanh": lambda a: np.tanh(a), "Relu": lambda a: np.maximum(a, 0.0), "Sigmoid": sigmoid, "Elu": _elu, "Selu": _selu,
    "LeakyRelu": _leaky_relu, "Softplus": _softplus, "Softsign": lambda a: a / (1.0 + np.absolute(a)), "Clip": _clip,
    "Softmax": _softmax, "LayerNormalization": _layer_normalization, "GRU": _gru, "LSTM": _lstm,
    "ReduceMean": _reduced(np.mean), "ReduceSum": _reduced(np.sum),
    "Identity": lambda a: a, "Dropout": lambda a, ratio=None, training=None, *, seed=0: a, "Flatten": _flatten,
    "Reshape": _reshape, "Transpose": _transpose, "Squeeze": _squeeze, "Unsqueeze": _unsqueeze, "Concat": _concat,
    "Slice": _slice, "Gather": _gather, "Split": _split, "Expand": _expand, "Cast": _cast,
    "Shape": lambda a: np.array(a.shape), "Constant": _constant, "ConstantOfShape": _constant_of_shape,
}
"""The operators by name."""
