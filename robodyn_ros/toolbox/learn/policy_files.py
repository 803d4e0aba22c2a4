# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Writes a trained network as policy files: ONNX, and a YAML that describes observations and actions."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from numpy.typing import ArrayLike

from robodyn_ros.base.checks import as_floats
from robodyn_ros.base.errors import InputError, unknown
from robodyn_ros.base.optional_packages import require
from robodyn_ros.control.networks.actions import ActionKind
from robodyn_ros.control.networks.observations import ObservationTerm
from robodyn_ros.description.resources import config_file
from robodyn_ros.toolbox.learn.robot_env import RobotEnv

ACTIVATIONS = {"tanh": "Tanh", "relu": "Relu", "elu": "Elu", "sigmoid": "Sigmoid"}
"""Functions between the layers, and their operators in ONNX."""

OPERATOR_SET = 17
"""Version of the operators of ONNX, of 2022; later readers support it."""


def write_policy(path: str | Path, env: RobotEnv, layers: Sequence[tuple[ArrayLike, ArrayLike]],
                 activation: str = "tanh") -> tuple[Path, Path]:
    """Write the network of a policy, and the settings that `control.laws.policy.Policy` needs.

    The network is W_k f(... f(W_1 x + b_1) ...) + b_k, in single precision.

    Args:
        path: The YAML file; the ONNX file beside it has the same name.
        env: The training environment, with observations, action, and the time between two decisions.
        layers: Weights, shape (outputs, inputs), and biases, shape (outputs,), of each layer.
        activation: f, one of `ACTIVATIONS`.

    Returns:
        Both files.

    Raises:
        InputError: The layers do not fit each other or the environment, a number is not finite, the activation is
            unknown, or a controller has no such action.
        RobodynError: The package onnx is not installed.
        OSError: A file cannot be written.
    """
    require("onnx")
    if activation not in ACTIVATIONS:
        raise InputError(f"policy: {unknown('activation', activation, ACTIVATIONS)}")
    if env.action.kind is ActionKind.VOLTAGE:
        raise InputError("policy: expected an action that is an effort, as controllers command them, received "
                         f"'{env.action.kind}'")
    file = Path(path)
    network = file.with_suffix(".onnx")
    content = _network(_checked(layers, env), ACTIVATIONS[activation])
    network.write_bytes(content)
    file.write_text(yaml.safe_dump(settings(env, network.name), sort_keys=False), encoding="utf-8")
    return file, network


def copy_policy(name: str, folder: str | Path = ".") -> tuple[Path, Path]:
    """Copy the files of a policy of robodyn_ros.

    Args:
        name: Name in config/policies/, such as ``arm6_reach``.
        folder: Folder to copy into.

    Returns:
        The YAML file and the ONNX file.

    Raises:
        InputError: There is no such policy.
        OSError: A file cannot be written.
    """
    files = [config_file(f"policies/{name}.{ending}") for ending in ("yaml", "onnx")]
    made = [Path(shutil.copy(file, Path(folder) / file.name)) for file in files]
    return made[0], made[1]


def settings(env: RobotEnv, network: str) -> dict[str, Any]:
    """Return the content of a policy's YAML for an environment.

    Args:
        env: The training environment.
        network: Name of the ONNX file.
    """
    action = env.action
    numbers = {name: getattr(action, name).tolist() for name in ("scale", "default", "p", "d")}
    if action.kind is ActionKind.EFFORT:
        del numbers["p"], numbers["d"]
    limit = {} if np.isinf(action.clip) else {"clip": action.clip}
    return {"network": network, "rate": 1.0 / env.step_period, "history": env.observations.history,
            "observations": {term.name: _term(term) for term in env.observations.terms},
            "action": {"kind": str(action.kind), **numbers, "gravity": action.gravity, **limit}}


def _term(term: ObservationTerm) -> dict[str, Any]:
    scale = list(term.scale) if isinstance(term.scale, tuple) else term.scale
    return {"scale": scale} | ({} if np.isinf(term.clip) else {"clip": term.clip})


def _checked(layers: Sequence[tuple[ArrayLike, ArrayLike]], env: RobotEnv) -> list[tuple[Any, Any]]:
    inputs, found = env.observations.size, []
    for number, (weights, biases) in enumerate(layers, 1):
        given = as_floats(weights, (None, inputs), f"policy: weights of layer {number}")
        inputs = len(given)
        found.append((given, as_floats(biases, (inputs,), f"policy: biases of layer {number}")))
    if not found or inputs != env.action.size:
        raise InputError(f"policy: expected a last layer of {env.action.size} outputs, one for each element of the "
                         f"action, received {inputs if found else 'no layer'}")
    return found


def _network(layers: Sequence[tuple[Any, Any]], operator: str) -> bytes:
    from onnx import TensorProto, helper, numpy_helper

    nodes, constants, last = [], [], "observations"
    for number, (weights, biases) in enumerate(layers, 1):
        names = [f"weights_{number}", f"biases_{number}"]
        constants += [numpy_helper.from_array(array.astype(np.float32), name)
                      for name, array in zip(names, (weights, biases), strict=True)]
        is_last = number == len(layers)
        sums = "action" if is_last else f"sums_{number}"
        nodes.append(helper.make_node("Gemm", [last, *names], [sums], transB=1))
        if not is_last:
            last = f"layer_{number}"
            nodes.append(helper.make_node(operator, [sums], [last]))
    shapes = (("observations", layers[0][0].shape[1]), ("action", layers[-1][0].shape[0]))
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, size]) for name, size in shapes]
    graph = helper.make_graph(nodes, "policy", ends[:1], ends[1:], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPERATOR_SET)], ir_version=8)
    content: bytes = model.SerializeToString()
    return content
