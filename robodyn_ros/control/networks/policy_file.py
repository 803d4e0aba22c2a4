# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""A trained policy: the network of an ONNX file, and a YAML file that declares its inputs and outputs.

::

    network: reach.onnx
    rate: 50
    between: interpolate
    observations: {q: 1.0, v: {scale: 0.1, clip: 5.0}, error_q: 1.0, last_action: 1.0}
    action: {kind: position, scale: 0.3, default: [0.0, -0.8, 1.2, 0.0, 0.9, 0.0]}

The user names the YAML file; the network is in the same folder. Neither opens further files.
"""

from __future__ import annotations

import dataclasses
import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.base.bounded_files import expand_user, read_yaml
from robodyn_ros.base.errors import InputError, list_names, shown, unknown
from robodyn_ros.base.fields import declare, section
from robodyn_ros.control.contract.update_rate import EVERY_TICK, HOLD, INTERPOLATE, UpdateRate
from robodyn_ros.control.networks.actions import ActionKind, ActionLayout
from robodyn_ros.control.networks.network import Network
from robodyn_ros.control.networks.observations import ACTIONS, JOINTS, OBSERVATIONS, ObservationLayout
from robodyn_ros.control.networks.onnx_file import read_onnx
from robodyn_ros.robot import Robot


@dataclass(frozen=True)
class PolicySettings:
    """The YAML of a policy."""

    network: str = declare(kind=str, description="Name of the ONNX file in the same folder")
    observations: Any = declare(kind=object, description="Observations in their order: names; or by name a scale, or "
                                "`scale` and `clip`")
    action: Any = declare(None, kind=object, description="`kind`, `scale`, `default`, `p`, `d`, `gravity` and "
                         "`clip`")
    history: int = declare(1, minimum=1, maximum=100, description="Number of decisions whose observations the network "
                           "sees, the newest first")
    rate: float = declare(0.0, unit="Hz", minimum=0.0, maximum=10_000.0, description="Decisions per second; 0: one at "
                          "each tick of the controller")
    between: str = declare(HOLD, choices=(HOLD, INTERPOLATE), description="Between two decisions the action is held, "
                           "or goes in a straight line to the new one, which it reaches a decision later")
    joints: Any = declare(None, kind=object, description="Names of the joints in the order of the network; none: that "
                          "of the robot")
    input: str = declare("", description="The input that takes the observations; empty: the only one but the memory")
    output: str = declare("", description="The output that is the action; empty: the only one but the memory")
    memory: Any = declare(None, kind=object, description="Outputs that are inputs of the next decision, by the names "
                          "of these inputs; they begin as zeros")


@dataclass(frozen=True)
class _ActionSection:
    kind: Any = ActionKind.POSITION
    scale: Any = None
    default: Any = None
    p: Any = None
    d: Any = None
    gravity: bool = declare(False, description="Whether gravity is added")
    clip: Any = math.inf


class TrainedPolicy:
    """A policy, checked for a robot.

    Policies from the same files are equal, so that they share compiled code.

    Args:
        path: The YAML.
        settings: Its content.
        robot: The robot.

    Attributes:
        name: Name of the YAML.
        observations: The input of the network, except the order of joints.
        action: Meaning of its output.
        rate: Rate of its decisions, and the action between them.
        follows: Class of the references that it needs; None: it needs none.
        network: The network.
        states: Number of elements of the network's memory.

    Raises:
        InputError: Settings and network do not fit each other, or the robot.
    """

    def __init__(self, path: Path, settings: PolicySettings, robot: Robot) -> None:
        self.name, where = path.name, str(path)
        joints = _joints(where, settings.joints, robot)
        to_robot = [joints.index(name) for name in robot.joint_names]
        self.action = _action(f"{where}: action", settings.action, robot, to_robot)
        self.observations = _observations(f"{where}: observations", settings, robot, self.action.size, to_robot)
        _check_default(where, settings, self.action)
        kinds = {self.observations.follows, self.action.follows} - {None}
        if len(kinds) > 1:
            raise InputError(f"{where}: the observations follow poses of the tip link, and an action of kind "
                             f"'{self.action.kind}' follows joints; choose one of them")
        self.follows: type | None = next(iter(kinds), None)
        self.rate = UpdateRate(settings.rate or EVERY_TICK, settings.between)
        file = _beside(path, settings.network)
        graph = read_onnx(file)
        self._memory = _memory(where, settings.memory, graph.inputs, graph.outputs)
        self._input = _only(f"{where}: input", settings.input, graph.inputs, self._memory)
        self._output = _only(f"{where}: output", settings.output, graph.outputs, self._memory.values())
        try:
            self.network = Network(graph, {self._input: self.observations.size})
        except InputError as error:
            terms = ", ".join(f"{name} ({size})" for name, size in self.observations.sizes.items())
            raise InputError(f"{error}; the observations are {terms}"
                             + f", of {settings.history} decisions" * (settings.history > 1)) from error
        self._check_sizes(where, file)
        self._sizes = [int(np.prod(self.network.shapes[name])) for name in self._memory]
        self.states = sum(self._sizes)
        to_network = np.argsort(to_robot)
        row = _element_order(self.observations, to_network)
        self._to_network = np.concatenate([row + tick * len(row) for tick in range(self.observations.history)])
        self._to_robot = np.concatenate([np.array(to_robot) + start for start in range(0, self.action.size, robot.n)])
        self._digest = hashlib.sha256(repr(settings).encode() + graph.content).hexdigest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TrainedPolicy) and self._digest == other._digest

    def __hash__(self) -> int:
        return hash(self._digest)

    def __repr__(self) -> str:
        return f"'{self.name}'"

    def decide(self, given: NDArray[Any], states: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Evaluate the network.

        Args:
            given: Observations in the robot's joint order, shape (size of the observations,), floats or traced scalars.
            states: Memory of the network, shape (states,).

        Returns:
            The action in the robot's order, shape (m,), and the next memory.
        """
        inputs, start = {self._input: given[self._to_network]}, 0
        for name, size in zip(self._memory, self._sizes, strict=True):
            inputs[name] = states[start:start + size]
            start += size
        found = self.network(inputs)
        after = [found[name] for name in self._memory.values()]
        return found[self._output][self._to_robot], np.concatenate(after) if after else states

    def _check_sizes(self, where: str, file: Path) -> None:
        found, wanted = self.network.outputs[self._output], self.action.size
        if found != wanted:
            raise InputError(f"{where}: the network's output '{self._output}' has {found} numbers, and an action of "
                             f"kind '{self.action.kind}' of this robot has {wanted}")
        for name, output in self._memory.items():
            size = int(np.prod(self.network.shapes[name]))
            if self.network.outputs[output] != size:
                raise InputError(f"{where}: memory: input '{name}' of {file.name} has {size} numbers, its output "
                                 f"'{output}' has {self.network.outputs[output]}")


def load_policy(path: str, robot: Robot) -> TrainedPolicy:
    """Read a policy.

    Args:
        path: Path of the YAML file.
        robot: The robot that it is for.

    Raises:
        InputError: A file cannot be read or is not valid, or as for `TrainedPolicy`.
        RobodynError: A package that it needs is not installed.
    """
    if not path:
        raise InputError("expected the YAML file of a policy, received none; see docs/policy.md")
    given = expand_user(path)
    if given.suffix == ".onnx":
        raise InputError(f"{given}: expected the YAML file that names this network and says what goes in and out; see "
                         "docs/policy.md")
    settings = section(PolicySettings, str(given), read_yaml(given))
    try:
        stamp = _beside(given, settings.network).stat()
    except OSError as error:
        raise InputError(f"{given}: network: expected a readable file, received: {error}") from error
    # Settings hold lists, so they compare by their text. Parameters are completed several times while a plugin is set
    # up.
    return _loaded(robot, given, _Settings(settings), stamp.st_mtime_ns, stamp.st_size)


class _Settings:
    """Settings that are hashable by their text."""

    def __init__(self, settings: PolicySettings) -> None:
        self.settings, self.text = settings, repr(settings)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Settings) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)


@lru_cache(maxsize=8)
def _loaded(robot: Robot, path: Path, settings: _Settings, *stamp: int) -> TrainedPolicy:
    return TrainedPolicy(path, settings.settings, robot)


def _beside(path: Path, name: str) -> Path:
    """Return the path of a file in the same folder; refuse other folders and links out of it."""
    file = path.parent / name
    if Path(name).name != name or file.resolve().parent != path.parent.resolve():
        raise InputError(f"{path}: network: expected the name of a file in the same folder, received {shown(name)}")
    return file


def _joints(where: str, given: Any, robot: Robot) -> list[str]:
    if given is None:
        return list(robot.joint_names)
    if not isinstance(given, list) or sorted(map(str, given)) != sorted(robot.joint_names):
        raise InputError(f"{where}: joints: expected each of {list_names(robot.joint_names)} once, received "
                         f"{shown(given)}")
    return given


def _in_robot_order(values: Any, to_robot: Sequence[int]) -> Any:
    """Reorder a list with one element (or block) per joint to the robot's order; return other values unchanged."""
    n = len(to_robot)
    if not isinstance(values, list) or not values or len(values) % n:
        return values
    return [values[start + place] for start in range(0, len(values), n) for place in to_robot]


def _action(where: str, given: Any, robot: Robot, to_robot: Sequence[int]) -> ActionLayout:
    settings = dataclasses.asdict(section(_ActionSection, where, given))
    if settings["kind"] == ActionKind.VOLTAGE:
        raise InputError(f"{where}: kind 'voltage': a policy commands efforts, as every law; the controller's "
                         "parameter 'output' turns them into voltages")
    return ActionLayout.from_settings(
        robot, where=where, **{name: _in_robot_order(value, to_robot) for name, value in settings.items()})


def _observations(where: str, settings: PolicySettings, robot: Robot, actions: int, to_robot: Sequence[int]
                  ) -> ObservationLayout:
    terms = settings.observations
    if isinstance(terms, Mapping):
        terms = {name: {"scale": value} if isinstance(value, list) else value for name, value in terms.items()}
        for name, value in terms.items():
            if isinstance(value, Mapping) and name in OBSERVATIONS and OBSERVATIONS[name].size in (JOINTS, ACTIONS):
                terms[name] = {key: _in_robot_order(each, to_robot) for key, each in value.items()}
    return ObservationLayout.from_names(terms, robot, actions, settings.history, where)


def _check_default(where: str, settings: PolicySettings, action: ActionLayout) -> None:
    """Require the default pose where it matters, because the environment's default is not zeros."""
    user = (f"action of kind '{action.kind}'" if action.kind is ActionKind.POSITION else
            "observation 'q_offset'" if "q_offset" in settings.observations else "")
    if user and (settings.action or {}).get("default") is None:
        raise InputError(f"{where}: action: default: expected the default pose of the training, one number for each "
                         f"joint, because the {user} counts from it")


def _element_order(layout: ObservationLayout, to_network: NDArray[Any]) -> NDArray[Any]:
    """Return, for each network input, its index in the layout's observations of one tick, shape (width,)."""
    order, start = [], 0
    for name, size in layout.sizes.items():
        by_joint = OBSERVATIONS[name].size in (JOINTS, ACTIONS)
        blocks = range(0, size, len(to_network)) if by_joint else [0]
        order += [start + block + (to_network if by_joint else np.arange(size)) for block in blocks]
        start += size
    return np.concatenate(order)


def _memory(where: str, given: Any, inputs: Mapping[str, Any], outputs: Sequence[str]) -> dict[str, str]:
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise InputError(f"{where}: memory: expected outputs by the names of inputs, received {shown(given)}")
    for name, output in given.items():
        for kind, each, known in (("input", name, inputs), ("output", output, outputs)):
            if each not in known:
                raise InputError(f"{where}: memory: {unknown(kind, each, known)}")
    if len(set(given.values())) < len(given):
        raise InputError(f"{where}: memory: expected each output once, received {shown(dict(given))}")
    return dict(given)


def _only(where: str, given: str, names: Any, memory: Any) -> str:
    """Return the input or output that a policy uses."""
    left = [name for name in names if name not in memory]
    if given and given not in left:
        raise InputError(f"{where}: {unknown('name', given, left)}")
    unused = [name for name in left if name != given]
    if where.endswith("input") and (len(left) > 1 or not left):
        raise InputError(f"{where}: expected one input beside the memory, received {list_names(left)}; name under "
                         "'memory' the outputs that the others take")
    if not given and len(unused) != 1:
        raise InputError(f"{where}: expected the name of one of {list_names(left)}")
    return given or left[0]
