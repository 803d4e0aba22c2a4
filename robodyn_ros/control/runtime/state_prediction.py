# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Prediction of the state over a known delay between measurement and effect of a command (a Smith predictor's idea).

A delay of measurements, of the network or of the drives turns a stiff law unstable: it answers a state that is past.
The efforts commanded meanwhile are known, and the model tells what they have done since.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import numpy as np

from robodyn_ros.base.fields import Field
from robodyn_ros.compile import compile_function
from robodyn_ros.control.contract.state import State
from robodyn_ros.description.model import Array
from robodyn_ros.dynamics.factorization import solve_mass
from robodyn_ros.dynamics.robot_dynamics import InlineDynamics
from robodyn_ros.robot import Robot

_LONGEST_HISTORY = 1000  # commands; 2 s at 500 Hz

DELAY_COMPENSATION = Field(
    "delay_compensation", 0.0, "Known time from the measurement to the effect of the command that answers it: the "
    "controller gets the state that the model predicts over it; 0: the measured state", unit="s", minimum=0.0,
    maximum=1.0)
"""What people set of the prediction."""


def prediction_step(robot: Robot) -> Callable[..., Array]:
    """The motion under an effort by semi-implicit Euler, as a function that can be traced.

    Viscous friction is taken implicitly, as by the simulated robot: otherwise it would drive a light joint.

    Returns:
        Takes positions, velocities and efforts, shape (n,), and a duration, shape (1,) [s]; returns positions and
        velocities, shape (2, n).
    """
    dynamics, damping = InlineDynamics(robot.model), robot.model.damping

    def step(q: Array, v: Array, effort: Array, duration: Array) -> Array:
        if damping.any():
            matrix = dynamics.mass_matrix(q) + np.diag(duration[0] * damping)
            acceleration = solve_mass(matrix, effort - damping * v - dynamics.bias(q, v))
        else:
            acceleration = dynamics.forward_dynamics(q, v, effort)
        v_next = v + duration[0] * acceleration
        return np.stack([q + duration[0] * v_next, v_next])

    return step


class StatePredictor:
    """Predicts by rigid-body dynamics with viscous friction; belongs to the thread of the control loop.

    Args:
        robot: The robot.

    Attributes:
        delay: Time from the measurement to the effect of the command that answers it [s]; 0: no prediction.
    """

    def __init__(self, robot: Robot) -> None:
        self.delay = 0.0
        step, n = prediction_step(robot), robot.n
        shapes = {"q": (n,), "v": (n,), "effort": (n,), "duration": (1,)}
        self._compile: Callable[[], Callable[..., Array]] = (
            lambda: compile_function(step, shapes, name="prediction").call)
        self._step: Callable[..., Array] | None = None
        self._commands: deque[tuple[Array, float]] = deque(maxlen=_LONGEST_HISTORY)  # efforts, and for how long
        self._effort: Array | None = None

    def prepare(self) -> None:
        """Compile the model; otherwise the first prediction does."""
        if self._step is None:
            self._step = self._compile()

    def restart(self) -> None:
        """Forget the commands, which lead to no state that follows."""
        self._commands.clear()
        self._effort = None

    def note(self, effort: Array) -> None:
        """Note the efforts that answer the present state, shape (n,) [N m or N]."""
        self._effort = effort

    def predicted(self, state: State) -> State:
        """Return the state after the delay, under the efforts that were commanded before; once for each state.

        Args:
            state: The measured state.
        """
        delay, commands = self.delay, self._commands
        if not delay:
            return state
        if self._effort is not None and state.period > 0.0:
            commands.append((self._effort, state.period))
        total = sum(duration for _, duration in commands)
        while commands and total - commands[0][1] >= delay:
            total -= commands.popleft()[1]
        self.prepare()
        assert self._step is not None
        q, v, excess = state.q, state.v, max(0.0, total - delay)
        for effort, duration in commands:
            q, v = self._step(q, v, effort, np.array([duration - excess]))
            excess = 0.0
        if not (np.isfinite(q).all() and np.isfinite(v).all()):
            return state
        return state._replace(q=q, v=v)
