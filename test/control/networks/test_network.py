# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Networks of ONNX files: equal to ONNX Runtime's, traced or not; files that cannot be used are one line."""

import resource
import subprocess
import sys

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="onnx is not installed: pip install onnx")
onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed: pip install onnxruntime")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402  # after the skip
from onnx_models import dense, float_input, model, recurrent, weights, written  # noqa: E402

from robodyn_ros import CompileError, InputError  # noqa: E402
from robodyn_ros.compile import compile_function  # noqa: E402
from robodyn_ros.control.networks.network import Network  # noqa: E402
from robodyn_ros.control.networks.onnx_file import MAX_ONNX_BYTES, read_onnx  # noqa: E402
from robodyn_ros.control.networks.operators import OPERATORS  # noqa: E402


def same_in_all_ways(path, sizes=None, seed=0, atol=1e-6):
    """The network in NumPy, compiled, and by ONNX Runtime, at random inputs."""
    network = Network(read_onnx(path), sizes or {})
    rng, names = np.random.default_rng(seed), list(network.shapes)
    inputs = {name: rng.normal(size=int(np.prod(shape))).astype(np.float32).astype(float)
              for name, shape in network.shapes.items()}
    ours = network(inputs)
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    theirs = session.run(list(ours), {name: value.reshape(network.shapes[name]).astype(np.float32)
                                      for name, value in inputs.items()})
    for (name, mine), other in zip(ours.items(), theirs, strict=True):
        np.testing.assert_allclose(mine, other.reshape(-1), rtol=1e-6, atol=atol, err_msg=name)
    assert network.outputs == {name: value.size for name, value in ours.items()}
    kernel = compile_function(lambda *given: np.concatenate([*network(dict(zip(names, given, strict=True))).values()]),
                              {name: value.shape for name, value in inputs.items()}, name="network")
    np.testing.assert_allclose(kernel(*inputs.values()), np.concatenate([*ours.values()]), rtol=1e-12, atol=1e-12)
    assert not network.uncompiled_reason
    return network


@pytest.mark.parametrize("activation", ["Tanh", "Relu", "Elu", "Sigmoid", "LeakyRelu", "Selu", "Softplus", "Softsign"])
@pytest.mark.parametrize("normal", [False, True])
def test_dense_layers(tmp_path, activation, normal):
    same_in_all_ways(written(tmp_path, dense(np.random.default_rng(1), [9, 16, 8, 3], activation, normal)))


@pytest.mark.parametrize("operator, before", [("GRU", 0), ("GRU", 1), ("LSTM", 0)])
def test_recurrent_cells(tmp_path, operator, before):
    same_in_all_ways(written(tmp_path, recurrent(np.random.default_rng(2), 9, 5, 3, before, operator)))


def test_lengths_that_may_vary_are_those_of_the_robot(tmp_path):
    path = written(tmp_path, dense(np.random.default_rng(3), [9, 4, 3], "Tanh", batch="batch"))
    assert same_in_all_ways(path, {"obs": 9}).shapes == {"obs": (1, 9)}
    with pytest.raises(InputError, match=r"input 'obs' of shape \(any, 9\) has 9 numbers, but 10 are given to it"):
        Network(read_onnx(path), {"obs": 10})


ARRANGED = {
    "Flatten": ([("Flatten", ["x"], {})], (2, 3)),
    "Reshape": ([("Reshape", ["x", "shape"], {})], (2, 3)),
    "Transpose": ([("Transpose", ["x"], {"perm": [1, 0]})], (2, 3)),
    "Concat": ([("Concat", ["x", "x"], {"axis": -1})], (2, 3)),
    "Slice": ([("Slice", ["x", "one", "two", "axis"], {})], (2, 3)),
    "Gather": ([("Gather", ["x", "two"], {"axis": 1})], (2, 3)),
    "Split": ([("Split", ["x", "halves"], {"axis": 1})], (1, 4)),
    "Expand": ([("Expand", ["x", "wide"], {})], (1, 3)),
    "Squeeze": ([("Squeeze", ["x", "axis"], {})], (1, 3)),
    "Unsqueeze": ([("Unsqueeze", ["x", "axis"], {})], (3,)),
    "ReduceMean": ([("ReduceMean", ["x"], {"axes": [1]})], (2, 3)),
    "ReduceSum": ([("ReduceSum", ["x", "axis"], {"keepdims": 0})], (2, 3)),
    "Softmax": ([("Softmax", ["x"], {})], (2, 3)),
    "Clip": ([("Clip", ["x", "low", "high"], {})], (2, 3)),
    "Pow": ([("Pow", ["x", "square"], {})], (2, 3)),
    "Cast": ([("Cast", ["x"], {"to": TensorProto.FLOAT})], (2, 3)),
    "Dropout": ([("Dropout", ["x"], {})], (2, 3)),
    "Identity": ([("Identity", ["x"], {})], (2, 3)),
    "Constant": ([("Constant", [], {"value_float": 2.0}), ("Mul", ["x", "y0"], {})], (2, 3)),
    "Shape": ([("Shape", ["x"], {}), ("ConstantOfShape", ["y0"], {}), ("Add", ["x", "y1"], {})], (2, 3)),
    "MatMul": ([("MatMul", ["x", "matrix"], {}), ("Add", ["y0", "low"], {})], (2, 3)),
    "Sub": ([("Sub", ["x", "low"], {}), ("Neg", ["y0"], {}), ("Div", ["y1", "square"], {})], (2, 3)),
    "Abs": ([("Abs", ["x"], {}), ("Sqrt", ["y0"], {}), ("Exp", ["y1"], {}), ("Reciprocal", ["y2"], {})], (2, 3)),
    "Sin": ([("Sin", ["x"], {}), ("Cos", ["y0"], {})], (2, 3)),
}
"""Operators that arrange arrays, and of single numbers: nodes and the shape of the input."""

CONSTANTS = [weights("shape", np.array([3, -1])), weights("one", np.array([1])), weights("two", np.array([2])),
             weights("axis", np.array([0])), weights("halves", np.array([1, 3])), weights("wide", np.array([4, 3])),
             weights("low", np.float32(-0.3)), weights("high", np.float32(0.4)), weights("square", np.float32(2.0)),
             weights("matrix", np.eye(3) + 0.1)]


@pytest.mark.parametrize("name", ARRANGED)
def test_other_operators(tmp_path, name):
    rows, shape = ARRANGED[name]
    nodes = [helper.make_node(operator, given, [f"y{place}", *["rest"] * (operator == "Split")], **options)
             for place, (operator, given, options) in enumerate(rows)]
    used = {each for _, given, _ in rows for each in given}
    made = model(nodes, [float_input("x", *shape)], [float_input(f"y{len(rows) - 1}")],
                 [each for each in CONSTANTS if each.name in used])
    made.graph.output[0].type.tensor_type.ClearField("shape")
    same_in_all_ways(written(tmp_path, made))


def test_every_operator_is_compared_with_onnx_runtime():
    dense_ones = {"Gemm", "Tanh", "Relu", "Elu", "Sigmoid", "LeakyRelu", "Selu", "Softplus", "Softsign", "GRU", "LSTM",
                  "LayerNormalization"}
    others = {operator for rows, _ in ARRANGED.values() for operator, _, _ in rows}
    assert dense_ones | others == set(OPERATORS)


def test_what_cannot_be_compiled_is_named_and_runs_in_onnx_runtime(tmp_path):
    rng = np.random.default_rng(4)
    made = dense(rng, [9, 4, 3], "Erf")
    path = written(tmp_path, made)
    network = Network(read_onnx(path), {})
    assert network.uncompiled_reason.startswith(f"{path}: operator Erf is not compiled; ONNX Runtime evaluates")
    assert network.uncompiled_reason.endswith(" us")
    x = rng.normal(size=9)
    session = onnxruntime.InferenceSession(str(path))
    (expected,) = session.run(None, {"obs": x[None].astype(np.float32)})
    np.testing.assert_allclose(network({"obs": x})["actions"], expected[0], rtol=1e-6)
    with pytest.raises(CompileError, match="operator Erf is not compiled"):
        compile_function(lambda given: network({"obs": given})["actions"], {"obs": (9,)}, name="network")


@pytest.mark.parametrize("options, said", [
    ({"direction": "reverse"}, "another direction"), ({"activations": ["Tanh", "Tanh"]}, "other activations"),
    ({"clip": 3.0}, "other activations, clip"), ({"unknown": 1}, "operator GRU with other arguments"),
])
def test_options_that_have_no_form_here_are_named(tmp_path, options, said):
    made = recurrent(np.random.default_rng(5), 4, 3, 2)
    for name, value in options.items():
        made.graph.node[1].attribute.append(helper.make_attribute(name, value))
    path = written(tmp_path, made)
    if "unknown" in options:
        with pytest.raises(InputError, match="ONNX Runtime cannot run it"):
            Network(read_onnx(path), {})
    else:
        assert said in Network(read_onnx(path), {}).uncompiled_reason


def test_without_onnx_runtime_the_line_names_the_operator_and_what_to_install(tmp_path):
    path = written(tmp_path, dense(np.random.default_rng(4), [9, 4, 3], "Erf"))
    script = ("import sys; sys.modules['onnxruntime'] = None\nfrom pathlib import Path\n"
              "from robodyn_ros.base.errors import RobodynError\n"
              "from robodyn_ros.control.networks.network import Network\n"
              "from robodyn_ros.control.networks.onnx_file import read_onnx\n"
              f"try:\n    Network(read_onnx(Path({str(path)!r})), {{}})\n"
              "except RobodynError as error:\n    print(error)\n")
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert done.stdout == (f"{path}: operator Erf is not compiled; networks that cannot be compiled need ONNX Runtime, "
                           "which is not installed: pip install onnxruntime\n"), done.stderr


def test_old_operators_run_in_onnx_runtime(tmp_path):
    made = dense(np.random.default_rng(6), [4, 3, 2], "Tanh")
    made.opset_import[0].version = 9
    assert "version 9 of the operators" in Network(read_onnx(written(tmp_path, made)), {}).uncompiled_reason


def simple():
    return dense(np.random.default_rng(7), [4, 3, 2], "Tanh")


def with_nan(made):
    array = numpy_helper.to_array(made.graph.initializer[0]).copy()
    array[0, 0] = np.nan
    made.graph.initializer[0].CopyFrom(numpy_helper.from_array(array, made.graph.initializer[0].name))


def with_external(made):
    tensor = made.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="../../../../etc/passwd")


def with_external_in_a_branch(made):
    inner = simple().graph
    with_external(helper.make_model(inner))
    branch = helper.make_graph([helper.make_node("Identity", ["b0"], ["z"])], "branch", [], [float_input("z", 3)],
                               [inner.initializer[0]])
    tensor = branch.initializer[0]
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="/etc/passwd")
    made.graph.node.append(helper.make_node("If", ["obs"], ["extra"], then_branch=branch, else_branch=branch))


def with_circle(made):
    made.graph.node[0].input[0], made.graph.node[1].output[0] = "z0", "z0"


def with_custom(made):
    made.graph.node[1].domain, made.graph.node[1].op_type = "com.evil", "Shell"


def with_function(made):
    made.functions.append(helper.make_function("own", "F", ["x"], ["y"], [helper.make_node("Tanh", ["x"], ["y"])],
                                               [helper.make_opsetid("", 17)]))


def with_wrong_shapes(made):
    made.graph.initializer[0].CopyFrom(weights("w0", np.ones((3, 5))))


def with_false_size(made):
    made.graph.initializer[0].dims[0] = 10**9


def with_whole_numbers(made):
    made.graph.input[0].type.tensor_type.elem_type = TensorProto.INT64


def without_output(made):
    made.graph.output[0].name = "nothing"


@pytest.mark.parametrize("spoil, said", [
    (with_nan, "weights 'w0': expected finite numbers, received 1 of 12 that are NaN or infinite"),
    (with_external, "expected all weights in this file, received 'w0' in another one"),
    (with_external_in_a_branch, "expected all weights in this file"),
    (with_circle, "operator Gemm takes 'z0', which nothing before it gives: the network has a circle"),
    (with_custom, "operator 'Shell' of the domain 'com.evil'"), (with_function, "without functions of its own"),
    (with_wrong_shapes, "operator Gemm for 'y0'"), (with_false_size, "weights 'w0' cannot be read"),
    (with_whole_numbers, "input 'obs': expected floats, received INT64"),
    (without_output, "nothing gives the output 'nothing'"),
])
def test_files_that_cannot_be_used_are_one_line(tmp_path, spoil, said):
    made = simple()
    spoil(made)
    path = tmp_path / "network.onnx"
    path.write_bytes(made.SerializeToString())
    with pytest.raises(InputError) as caught:
        Network(read_onnx(path), {})
    assert said in str(caught.value) and str(caught.value).startswith(str(path)) and "\n" not in str(caught.value)


def with_unknown_type(made):
    made.graph.input[0].type.tensor_type.elem_type = 999


def with_axis_of_a_number(made):
    made.graph.node[0].CopyFrom(helper.make_node("LayerNormalization", ["one", "one"], ["y0"]))
    made.graph.initializer.append(weights("one", np.float32(1.0)))


def with_name_of_two_lines(made):
    made.graph.node[0].input[0] = "w\n0"
    made.graph.node[0].op_type = "Gemm\n"


def growing(*rows):
    """Puts operators before the network whose results are far larger than their arguments."""
    def spoil(made):
        nodes = [helper.make_node(operator, given, [f"g{place}"], **options)
                 for place, (operator, given, options) in enumerate(rows)]
        nodes.append(helper.make_node("ReduceSum", [f"g{len(rows) - 1}"], ["number"]))
        made.graph.initializer.extend([weights("long", np.array([1, 10**6])), weights("high", np.array([10**6, 1])),
                                       weights("ones", np.ones((1, 40_000))), weights("index", np.zeros(10**5, int)),
                                       weights("layer", np.ones((1, 40_000, 1)))])
        whole = list(made.graph.node)
        del made.graph.node[:]
        made.graph.node.extend([*nodes, *whole])
    return spoil


DOUBLED = [("Concat", ["ones", "ones"], {"axis": 0}),
           *[("Concat", [f"g{place}", f"g{place}"], {"axis": 0}) for place in range(20)]]


@pytest.mark.parametrize("spoil, said", [
    (with_unknown_type, "input 'obs': expected floats, received an unknown type"),
    (with_axis_of_a_number, "operator LayerNormalization for 'y0': "), (with_name_of_two_lines, r"takes 'w\n0'"),
    (growing(("ConstantOfShape", ["long"], {}), ("ConstantOfShape", ["high"], {}), ("Add", ["g0", "g1"], {})),
     "operator Add for 'g2': expected a result of at most 1000000 numbers, received one of 1000000000000"),
    (growing(("Transpose", ["ones"], {}), ("MatMul", ["g0", "ones"], {})), "operator MatMul for 'g1': expected"),
    (growing(("Gemm", ["ones", "ones"], {"transA": 1})), "operator Gemm for 'g0': expected a result"),
    (growing(("Gather", ["ones", "index"], {"axis": 1}), ("Unsqueeze", ["g0", "axes"], {}),
             ("Gather", ["g1", "index"], {"axis": 0})), "operator Gather for 'g2': expected a result"),
    (growing(*DOUBLED), "operator Concat for 'g4': expected a result"),
    (growing(("Expand", ["ones", "high"], {})), "operator Expand for 'g0': expected a result"),
    (growing(("ConstantOfShape", ["long"], {}), ("ConstantOfShape", ["high"], {}), ("Clip", ["g0", "g1"], {})),
     "operator Clip for 'g2': expected a result"),
    (growing(("Reshape", ["ones", "steps"], {}), ("GRU", ["g0", "layer", "layer"], {})),
     "operator GRU for 'g1': expected a result"),
    (growing(*[("Neg", ["g" + str(place - 1) if place else "ones"], {}) for place in range(1000)]),
     "at most 33554432 numbers together"),
])
def test_operators_that_nothing_could_evaluate_are_one_line(tmp_path, spoil, said):
    made = simple()
    spoil(made)
    made.graph.initializer.extend([weights("axes", np.array([0])), weights("steps", np.array([1, 40_000, 1]))])
    path = tmp_path / "network.onnx"
    path.write_bytes(made.SerializeToString())
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(InputError) as caught:
        Network(read_onnx(path), {})
    assert said in str(caught.value) and str(caught.value).startswith(str(path)) and "\n" not in str(caught.value)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 400 * 1024


def test_large_weights_may_be_changed_before_they_are_used(tmp_path):
    made = simple()
    made.graph.initializer.append(weights("large", np.ones((1200, 1000))))
    made.graph.initializer.append(weights("half", np.float32(0.5)))
    made.graph.node.insert(0, helper.make_node("Mul", ["large", "half"], ["unused"]))
    assert not Network(read_onnx(written(tmp_path, made)), {}).uncompiled_reason


def test_results_that_are_no_array_of_numbers_are_one_line(tmp_path):
    nodes = [helper.make_node("Transpose", ["x"], ["t"]), helper.make_node("SequenceConstruct", ["x", "t"], ["y"])]
    made = model(nodes,
                 [float_input("x", 2, 3)], [helper.make_tensor_sequence_value_info("y", TensorProto.FLOAT, None)])
    with pytest.raises(InputError, match="ONNX Runtime cannot evaluate it"):
        Network(read_onnx(written(tmp_path, made)), {})


def test_other_files_are_one_line(tmp_path):
    (tmp_path / "text.onnx").write_text("network: reach\n")
    (tmp_path / "empty.onnx").write_bytes(b"")
    with open(tmp_path / "huge.onnx", "wb") as file:
        file.truncate(MAX_ONNX_BYTES + 1)
    for name, said in (("text", "expected an ONNX file"), ("empty", "with operators, received none"),
                       ("huge", "expected at most"), ("absent", "expected a readable ONNX file")):
        with pytest.raises(InputError, match=said):
            read_onnx(tmp_path / f"{name}.onnx")
    whole = simple().SerializeToString()
    rng = np.random.default_rng(8)
    for _ in range(300):
        spoiled = bytearray(whole)
        for place in rng.integers(0, len(whole), 4):
            spoiled[place] = rng.integers(0, 256)
        (tmp_path / "spoiled.onnx").write_bytes(spoiled[:rng.integers(1, len(whole))])
        try:
            graph = read_onnx(tmp_path / "spoiled.onnx")
        except InputError as error:
            assert "\n" not in str(error)
        else:
            assert graph.nodes


def test_without_the_package_the_line_says_what_to_install(tmp_path):
    path = written(tmp_path, simple())
    script = ("import sys; sys.modules['onnx'] = None\nfrom pathlib import Path\n"
              "from robodyn_ros.control.networks.onnx_file import read_onnx\n"
              f"try:\n    read_onnx(Path({str(path)!r}))\nexcept Exception as error:\n    print(error)\n")
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "policies need the package onnx, which is not installed: pip install onnx"
