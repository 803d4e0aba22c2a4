# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.


"""What is measured at a tick, and the state that laws see of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from robodyn_ros.base.timing import NANOSECONDS_PER_SECOND
from robodyn_ros.control.contract.controller import UNMEASURED, State
from robodyn_ros.control.contract.law_inputs import Input, StateForm, state_form
from robodyn_ros.control.contract.state import MOTOR_SIDE
from robodyn_ros.control.plugins.plugin import Plugin
from robodyn_ros.control.runtime.followed_reference import HALF_TURN_SQUARED
from robodyn_ros.description.model import Array
from robodyn_ros.kinematics.turns import turns
from robodyn_ros.robot import Robot

_NO_INPUTS: Mapping[Input, Array] = {}


class Measurement(NamedTuple):
    """What is measured at a tick."""

    stamp: int  # time on the robot's clock [ns]; a repeated stamp gets the same tick
    q: Array  # joint positions, shape (n,) [rad or m]; finite
    v: Array  # joint velocities, shape (n,) [rad/s or m/s]; finite
    new_start: str = ""  # why no commanded motion leads to this state, as the hardware says; empty if one does
    wrench_tip: Array = UNMEASURED  # see `State.wrench_tip`
    motor_side: tuple[Array, ...] = ()  # `MOTOR_SIDE` of the state; empty: not measured
    inputs: Mapping[Input, Array] = _NO_INPUTS  # newest value of each input, another object for each message


class LawState:
    """Makes the state that the running law sees, with its inputs and their ages.

    Args:
        robot: The robot.
        plugin: The chosen law.

    Attributes:
        form: What the chosen law reads beside joints and wrench; None: nothing.
        noted: Whether motors or inputs were measured lately.
    """

    def __init__(self, robot: Robot, plugin: Plugin) -> None:
        self._n, self._continuous = robot.n, robot.model.continuous
        self._unmeasured = (np.full(robot.n, np.nan),) * len(MOTOR_SIDE)
        self._motor_side = self._unmeasured
        self.noted = False
        self._inputs: dict[Input, tuple[Array, int]] = {}  # value, and stamp of the state before its arrival [ns]
        self.choose(plugin)

    def choose(self, plugin: Plugin) -> None:
        """Add what this law reads from now on."""
        form = state_form(type(plugin.controller), self._n)
        self.form: StateForm | None = form if form.shapes else None

    def unwrapped(self, q: Array, last: Array) -> Array:
        """Positions, those of continuous joints within half a turn of the last ones: drivers may wrap them."""
        change = q - last
        return q - turns(change, self._continuous) if change.dot(change) > HALF_TURN_SQUARED else q

    def note(self, measurement: Measurement, stamp: int) -> None:
        """Note motors and inputs that were measured after the state of a stamp [ns]."""
        self._motor_side = measurement.motor_side or self._unmeasured
        known = self._inputs
        for declared, value in measurement.inputs.items():
            if declared not in known or known[declared][0] is not value:
                known[declared] = value, stamp
        for declared in known.keys() - measurement.inputs.keys():
            del known[declared]
        self.noted = bool(known or measurement.motor_side)

    def shift(self, nanoseconds: int) -> None:
        """Keep the ages of inputs though the robot's clock went on or back by itself [ns]."""
        for declared, (value, arrival) in self._inputs.items():
            self._inputs[declared] = value, arrival + nanoseconds

    def completed(self, state: State, stamp: int) -> State:
        """The state, with what the chosen law reads beside joints and wrench, at a stamp [ns]."""
        form = self.form
        if form is None:
            return state
        if form.senses:
            state = State(*state[:5], *self._motor_side)
        if not form.inputs:
            return state
        readings = {}
        for name, declared in form.inputs.items():
            value, arrival = self._inputs.get(declared, (None, 0))
            readings[name] = declared.absent if value is None else declared.at(
                value, max(0, stamp - arrival) / NANOSECONDS_PER_SECOND)
        return state._replace(inputs=form.record(readings))

    def missing(self, state: State) -> str:
        """Which required input a completed state lacks, and why; empty: none."""
        return "" if self.form is None else self.form.missing(state)
