# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""A learned law: the network of an ONNX file decides on efforts, or on what the joints' springs do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from robodyn_ros.compile.traced_array import is_traced
from robodyn_ros.control.controller import JointReference, Law, State
from robodyn_ros.control.observations import Observed
from robodyn_ros.control.parameters import Parameters, derived, scalar
from robodyn_ros.control.policy_file import TrainedPolicy, load_policy
from robodyn_ros.description.model import Array
from robodyn_ros.dynamics.robot_dynamics import Dynamics
from robodyn_ros.errors import InputError
from robodyn_ros.robot import Robot


def _trained(robot: Robot, parameters: PolicyParameters) -> TrainedPolicy:
    try:
        return load_policy(parameters.file, robot)
    except InputError as error:
        raise InputError(f"policy.file: {error}") from error


@dataclass(frozen=True, eq=False)
class PolicyParameters(Parameters):
    """The policy of `Policy`.

    Attributes:
        file: Path of its YAML.
        trained: What the files say.
    """

    file: str = scalar(
        "", structural=True, file=True, description="YAML file of the policy, which names its ONNX file"
    )
    trained: TrainedPolicy = derived(_trained, structural=True)


class PolicyMemory(NamedTuple):
    """Memory of `Policy`.

    Attributes:
        clock: Time since the last decision [s]; `BEFORE_THE_FIRST` before the first one.
        action: The last decision, limited to -1 and 1, shape (m,).
        before: The action in force when it was made, shape (m,).
        history: The observations of earlier decisions, a `History`; None: the network sees the present alone.
        states: Memory of the network, shape (states,).
    """

    clock: Any
    action: Array
    before: Array
    history: Any
    states: Array


BEFORE_THE_FIRST = 1e9
"""Time since a decision that was not made yet [s]."""


class Policy(Law[PolicyParameters, JointReference, PolicyMemory]):
    """tau = command(action), action = network(observations), as the files of a policy say; see `TrainedPolicy`.

    The network decides at the ticks that are nearest to its rate. Machine code evaluates it at every tick, because it
    has no branches, and keeps the result of a decision only.
    """

    def __init__(self, robot: Robot, parameters: PolicyParameters | None = None) -> None:
        """As in `Controller`.

        Raises:
            InputError: As in `Controller`, or the policy decides more often than the controller ticks. A loop that is
                found to be slower later only delays decisions, and does not keep other defaults from being derived.
        """
        super().__init__(robot, parameters)
        policy, period = self.parameters.trained, robot.timing.period
        if 0.0 < policy.period < period / 1.01:
            raise InputError(f"policy.file: {self.parameters.file}: rate: the policy decides {1.0 / policy.period:g} "
                             f"times a second, and the controller has {1.0 / period:g} ticks a second; raise the rate "
                             "of the controller")
        self.follows = policy.follows

    @staticmethod
    def law(
        dynamics: Dynamics, parameters: PolicyParameters, state: State, reference: Any, memory: PolicyMemory
    ) -> tuple[Array, PolicyMemory]:
        """As in `Law`."""
        policy = parameters.trained
        clock = memory.clock + state.period
        due = clock >= policy.period - 0.5 * state.period
        first = memory.clock >= BEFORE_THE_FIRST
        clock = np.where(due, np.minimum(clock - policy.period, 0.5 * state.period), clock)
        if is_traced(due) or due:
            in_force = in_force_at(policy, memory, memory.clock + state.period)
            observed = policy.observations.observe(
                Observed(dynamics, state, reference, memory.action, policy.action.default))
            given, history = policy.observations.stacked(observed, memory.history)
            output, states = policy.decide(given, memory.states)
            action = np.where(due, np.clip(output, -1.0, 1.0), memory.action)
            before = np.where(due, np.where(first, action, in_force), memory.before)
            if history is not None:
                history = type(history)(*(np.where(due, new, old)
                                          for new, old in zip(history, memory.history, strict=True)))
            memory = PolicyMemory(clock, action, before, history, np.where(due, states, memory.states))
        else:
            memory = memory._replace(clock=clock)
        effort = policy.action.command(in_force_at(policy, memory, clock), dynamics, state, reference)
        return effort, memory

    def initial_memory(self, state: State) -> PolicyMemory:
        """No decision yet."""
        policy = self.parameters.trained
        none = np.zeros(policy.action.size)
        return PolicyMemory(BEFORE_THE_FIRST, none, none, policy.observations.first_history(), np.zeros(policy.states))


def in_force_at(policy: TrainedPolicy, memory: PolicyMemory, clock: Any) -> Array:
    """The action in force at a time since the last decision [s], shape (m,)."""
    if not policy.interpolates or policy.period == 0.0:
        return memory.action
    return memory.before + np.clip(clock / policy.period, 0.0, 1.0) * (memory.action - memory.before)
