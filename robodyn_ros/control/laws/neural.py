# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Neural gain scheduling: a small network, trained in simulation, chooses stiffness and damping of each joint."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robodyn_ros.control import default_gains
from robodyn_ros.control.contract.controller import JointReference, Law, State
from robodyn_ros.control.contract.parameters import EFFORT, derived, per_joint
from robodyn_ros.control.contract.terms import Terms
from robodyn_ros.control.laws.neural_weights import WEIGHTS
from robodyn_ros.control.laws.pd_gravity import PDGravityParameters
from robodyn_ros.control.laws.pid import default_limit
from robodyn_ros.description.model import Array
from robodyn_ros.dynamics.robot_dynamics import Dynamics

FEATURES, HIDDEN, SHARES = 3, 8, 2
"""Numbers of inputs, hidden units and outputs of the network."""

SIZE = HIDDEN * (FEATURES + 1) + SHARES * (HIDDEN + 1)
"""Number of weights."""

RANGE = 2.0
"""Largest share of a gain, and the reciprocal of the smallest."""


def gain_shares(weights: Array, error: Array, rate: Array, inertia: Array) -> tuple[Array, Array]:
    """Evaluate the network: shares of K_p and K_v between 1 / `RANGE` and `RANGE`.

    Two layers, y = V tanh(W x + b) + c, and shares = RANGE^tanh(y); zeros give shares of 1.

    Args:
        weights: W, b, V, c one after the other, shape (..., `SIZE`).
        error: K_p |e| over the effort limit, shape (..., n).
        rate: K_v e' over the effort limit, positive where the error grows, shape (..., n).
        inertia: M_ii over the joint's largest one, shape (..., n).

    Returns:
        Shares of K_p and K_v, each of shape (..., n).
    """
    features = np.stack([error / (1.0 + error), np.tanh(0.5 * rate), inertia], axis=-2)  # (..., 3, n)
    split = HIDDEN * FEATURES, HIDDEN * (FEATURES + 1), SIZE - SHARES
    leading = weights.shape[:-1]
    first = weights[..., : split[0]].reshape(*leading, HIDDEN, FEATURES)
    second = weights[..., split[1] : split[2]].reshape(*leading, SHARES, HIDDEN)
    hidden = np.tanh(first @ features + weights[..., split[0] : split[1], None])
    shares = np.exp(np.log(RANGE) * np.tanh(second @ hidden + weights[..., split[2] :, None]))
    return shares[..., 0, :], shares[..., 1, :]


@dataclass(frozen=True, eq=False)
class NeuralParameters(PDGravityParameters):
    """Gains of `Neural`, before the network scales them; p, d and lead as in `PDGravity`.

    Attributes:
        effort_limit: Scale of the errors, shape (n,) [N m or N].
        largest_inertia: Scale of the inertias, shape (n,) [kg m^2 or kg].
    """

    effort_limit: Array = per_joint(
        default_limit, unit=EFFORT, minimum=1e-9, description="Effort by which the network measures errors"
    )
    largest_inertia: Array = derived(lambda robot, _: default_gains.largest_inertia(robot))


class Neural(Law[NeuralParameters, JointReference, None]):
    """tau = a K_p e + b K_v e' + g(q + lead v), (a, b) = network(K_p |e| / limit, K_v e' / limit, M_ii(q) / max).

    The error e is q_d - q.

    One network serves every joint of every robot, since its inputs are divided by the joint's own effort limit and
    inertia: `gain_shares`. It was trained on steps of single joints with limited effort, to reach the goal early
    without overshoot; ``tools/train_neural.py`` has the cost. It suits goals that jump. On smooth references the errors
    are small, and the gains hardly change.
    """

    @staticmethod
    def law(
        dynamics: Dynamics, parameters: NeuralParameters, state: State, reference: JointReference
    ) -> Terms:
        """As in `Law`; uses no memory."""
        e, e_dot = reference.q - state.q, reference.v - state.v
        size = np.sqrt(e * e + _TINY)  # |e|, but never 0, because it is a divisor
        limit = parameters.effort_limit
        inertia = dynamics.mass_matrix(state.q).diagonal() / parameters.largest_inertia
        p, d = gain_shares(np.array(WEIGHTS), parameters.p * size / limit, parameters.d * e_dot * e / (size * limit),
                           inertia)
        return Terms(feedback=p * parameters.p * e + d * parameters.d * e_dot,
                     gravity=dynamics.gravity(state.q + parameters.lead * state.v))


_TINY = 1e-24
