# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""ONNX files for tests, made by the package onnx from random weights."""

import numpy as np
from onnx import TensorProto, helper, numpy_helper, save


def weights(name, array):
    array = np.asarray(array)
    return numpy_helper.from_array(array.astype(np.float32 if array.dtype.kind == "f" else np.int64), name)


def float_input(name, *shape):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


def model(nodes, inputs, outputs, constants=(), opset=17, **options):
    graph = helper.make_graph(nodes, "network", inputs, outputs, list(constants))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10, **options)


def dense(rng, sizes, activations, normal=False, batch=1):
    """Dense layers; the last one without activation, with layer normalisation before each activation if ``normal``."""
    nodes, constants, value = [], [], "obs"
    for layer, (before, after) in enumerate(zip(sizes, sizes[1:], strict=False)):
        constants += [weights(f"w{layer}", rng.normal(size=(after, before)) / before**0.5),
                      weights(f"b{layer}", 0.1 * rng.normal(size=after))]
        last = layer == len(sizes) - 2
        nodes.append(helper.make_node("Gemm", [value, f"w{layer}", f"b{layer}"], ["actions" if last else f"y{layer}"],
                                      transB=1))
        value = f"y{layer}"
        if last:
            break
        if normal:
            constants += [weights(f"s{layer}", 1.0 + 0.1 * rng.normal(size=after)),
                          weights(f"c{layer}", 0.1 * rng.normal(size=after))]
            nodes.append(helper.make_node("LayerNormalization", [value, f"s{layer}", f"c{layer}"], [f"n{layer}"]))
            value = f"n{layer}"
        nodes.append(helper.make_node(activations, [value], [f"z{layer}"]))
        value = f"z{layer}"
    return model(nodes, [float_input("obs", batch, sizes[0])], [float_input("actions", batch, sizes[-1])], constants)


def recurrent(rng, size, hidden, actions, linear_before_reset=1, operator="GRU"):
    """A recurrent cell and a dense layer, with the state as input and output, as PyTorch exports them."""
    gates = 3 if operator == "GRU" else 4
    constants = [weights("w", rng.normal(size=(1, gates * hidden, size)) / size**0.5),
                 weights("r", rng.normal(size=(1, gates * hidden, hidden)) / hidden**0.5),
                 weights("b", 0.1 * rng.normal(size=(1, 2 * gates * hidden))), weights("axis", np.array([0])),
                 weights("out", rng.normal(size=(hidden, actions)) / hidden**0.5),
                 weights("bias", 0.1 * rng.normal(size=actions))]
    states = [("h_in", "h_out"), *([("c_in", "c_out")] if operator == "LSTM" else [])]
    options = {"linear_before_reset": linear_before_reset} if operator == "GRU" else {}
    nodes = [helper.make_node("Unsqueeze", ["obs", "axis"], ["sequence"]),
             helper.make_node(operator, ["sequence", "w", "r", "b", "", *[name for name, _ in states]],
                              ["", *[name for _, name in states]], hidden_size=hidden, **options),
             helper.make_node("Squeeze", ["h_out", "axis"], ["last"]),
             helper.make_node("MatMul", ["last", "out"], ["product"]),
             helper.make_node("Add", ["product", "bias"], ["actions"])]
    before, after = ([float_input(pair[place], 1, 1, hidden) for pair in states] for place in (0, 1))
    return model(nodes, [float_input("obs", 1, size), *before], [float_input("actions", 1, actions), *after], constants)


def written(folder, made, name="network.onnx"):
    path = folder / name
    save(made, path)
    return path
