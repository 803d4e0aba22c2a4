# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Iterative learning: the tracking of a repeated motion improves at each repeat, without a model of the errors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from robodyn_ros.control.contract.controller import JointReference, Law, State
from robodyn_ros.control.contract.parameters import scalar
from robodyn_ros.control.contract.terms import Terms
from robodyn_ros.control.laws.pd_gravity import PDGravity, PDGravityParameters
from robodyn_ros.description.model import Array
from robodyn_ros.dynamics.robot_dynamics import Dynamics


@dataclass(frozen=True, eq=False)
class IterativeLearningParameters(PDGravityParameters):
    """Gains of `IterativeLearning`; p, d and lead as in `PDGravity`.

    Attributes:
        duration: Time of the repeated motion, or a little less [s].
        knots: Number of knots of the table over this time.
        learning_p: Share of K_p e that is learned at each repeat.
        learning_d: Share of K_v e' that is learned at each repeat.
        forgetting: Share of the table that is forgotten at each repeat.
    """

    duration: float = scalar(2.0, unit="s", minimum=1e-2, description="Time of the motion that is repeated")
    knots: int = scalar(40, minimum=2, maximum=500, structural=True, description="Knots of the table over this time")
    learning_p: float = scalar(
        0.3, minimum=0.0, maximum=2.0, description="Share of the position feedback that is learned at each repeat"
    )
    learning_d: float = scalar(
        0.3, minimum=0.0, maximum=2.0, description="Share of the velocity feedback that is learned at each repeat"
    )
    forgetting: float = scalar(
        0.02, minimum=0.0, maximum=1.0, description="Share of the table that is forgotten at each repeat"
    )


class LearningMemory(NamedTuple):
    """Memory of `IterativeLearning`.

    Attributes:
        clock: Time since the repeat began [s].
        repeats: 1 during a repeat, otherwise 0.
        table: Effort at each knot, shape (knots, n).
        learned: Sum of the present repeat's corrections, weighted by closeness to each knot, shape (knots, n).
        weight: Sum of these weights, shape (knots,).
    """

    clock: Any
    repeats: Any
    table: Array
    learned: Array
    weight: Array


class IterativeLearning(Law[IterativeLearningParameters, JointReference, LearningMemory]):
    """tau = PDGravity + u_j(t), u_j+1(t) = (1 - f) u_j(t) + l_p K_p e_j(t) + l_d K_v e_j'(t), e = q_d - q.

    A learning law of P and D type [Arimoto] on PD control with gravity compensation. After each repeat, a share of its
    feedback is added to a table of efforts over time. A repeat begins when the reference leaves rest, and ends when its
    duration has passed and the reference rests. The same trajectory, sent again, is the next repeat. Between repeats
    the last entry of the table is held. The motion should end where it begins. Forgetting bounds the effects of noise
    and of gains that are too high; it leaves a small error.

    The table is linear between its knots, which smooths the learned efforts over the time between two knots.
    """

    @staticmethod
    def law(
        dynamics: Dynamics, parameters: IterativeLearningParameters, state: State,
        reference: JointReference, memory: LearningMemory
    ) -> tuple[Terms, LearningMemory]:
        """As in `Law`."""
        knots, past = parameters.knots, memory
        moves = reference.v @ reference.v + reference.a @ reference.a > 0.0
        clock = past.clock + past.repeats * state.period
        begins = moves * (1.0 - past.repeats)
        ends = past.repeats * (clock >= parameters.duration) * (1.0 - moves)
        clock, repeats = np.where(begins, 0.0, clock), past.repeats + begins - ends
        phase = np.minimum(clock / parameters.duration, 1.0) * (knots - 1)
        near = np.maximum(1.0 - abs(phase - np.arange(float(knots))), 0.0)

        average = past.learned / np.maximum(past.weight, 1e-9)[:, None]
        table = np.where(ends, (1.0 - parameters.forgetting) * past.table + average, past.table)
        position, velocity = parameters.p * (reference.q - state.q), parameters.d * (reference.v - state.v)
        lesson = parameters.learning_p * position + parameters.learning_d * velocity
        kept, learns = 1.0 - ends, repeats * (clock < parameters.duration)
        learned = kept * past.learned + learns * np.multiply.outer(near, lesson)
        weight = kept * past.weight + learns * near

        effort = PDGravity.law(dynamics, parameters, state, reference) + Terms(learned=near @ table)
        return effort, LearningMemory(clock, repeats, table, learned, weight)

    def initial_memory(self, state: State) -> LearningMemory:
        """An empty table."""
        knots, n = self.parameters.knots, len(state.q)
        return LearningMemory(0.0, 0.0, np.zeros((knots, n)), np.zeros((knots, n)), np.zeros(knots))
