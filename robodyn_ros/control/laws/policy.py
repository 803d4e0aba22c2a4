# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""A learned law: the network of an ONNX file computes efforts, or targets or gains of joint springs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from robodyn_ros.base.errors import InputError
from robodyn_ros.control.contract.controller import JointReference, Law, State
from robodyn_ros.control.contract.parameters import Parameters, derived, scalar
from robodyn_ros.control.contract.terms import Terms
from robodyn_ros.control.contract.update_rate import Sampled, UpdateRate
from robodyn_ros.control.networks.observations import Observed
from robodyn_ros.control.networks.policy_file import TrainedPolicy, load_policy
from robodyn_ros.description.model import Array
from robodyn_ros.dynamics.robot_dynamics import Dynamics
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
        trained: The loaded policy.
    """

    file: str = scalar(
        "", structural=True, file=True, description="YAML file of the policy, which names its ONNX file"
    )
    trained: TrainedPolicy = derived(_trained, structural=True)


class Decision(NamedTuple):
    """Memory from one decision to the next.

    Attributes:
        history: Observations of earlier decisions, a `History`; None: the network gets only the present ones.
        states: Memory of the network, shape (states,).
    """

    history: Any
    states: Array


class Policy(Law[PolicyParameters, JointReference, Sampled]):
    """tau = command(action), action = network(observations), defined by the policy's files; see `TrainedPolicy`.

    The network decides at an `UpdateRate`. The memory is the last action, within its clip, shape (m,), with a
    `Decision`.
    """

    def __init__(self, robot: Robot, parameters: PolicyParameters | None = None) -> None:
        """As in `Controller`."""
        super().__init__(robot, parameters)
        self.follows = self.parameters.trained.follows

    @property
    def rates(self) -> dict[str, UpdateRate]:
        """As in `Controller`."""
        return {f"policy.file: {self.parameters.file}: rate": self.parameters.trained.rate}

    @staticmethod
    def law(
        dynamics: Dynamics, parameters: PolicyParameters, state: State, reference: Any, memory: Sampled
    ) -> tuple[Terms, Sampled]:
        """As in `Law`."""
        policy, last = parameters.trained, memory

        def decide() -> tuple[Array, Decision]:
            observed = policy.observations.observe(
                Observed(dynamics, state, reference, last.value, policy.action.default))
            given, history = policy.observations.stacked(observed, last.memory.history)
            output, states = policy.decide(given, last.memory.states)
            return policy.action.limited(output), Decision(history, states)

        memory = policy.rate.update(last, state, decide)
        return Terms(policy=policy.action.command(policy.rate.in_force(memory), dynamics, state, reference)), memory

    def initial_memory(self, state: State) -> Sampled:
        """No decision yet."""
        policy = self.parameters.trained
        return policy.rate.first(np.zeros(policy.action.size),
                                 Decision(policy.observations.first_history(), np.zeros(policy.states)))
