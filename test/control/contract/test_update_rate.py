# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Update rates: the same ticks and values in plain Python, compiled, in rollouts, in C and under the safety filter."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest
from law_inputs import as_written
from shipped import few

from robodyn_ros import InputError, Robot, rollout
from robodyn_ros.control import (
    HOLD,
    INTERPOLATE,
    Controller,
    JointReference,
    Law,
    Parameters,
    Sampled,
    State,
    UpdateRate,
    scalar,
)
from robodyn_ros.control.optimisation.safety_filter import filtered
from robodyn_ros.description.resources import robot_file

ARM = Robot.from_urdf(robot_file("planar_2r"))


@dataclass(frozen=True, eq=False)
class Gains(Parameters):
    """Of the law below."""

    d: float = scalar(2.0, description="Damping")


class Found(NamedTuple):
    """A record that a slow part finds."""

    effort: Any
    time: Any


def slow_law(frequency, between=HOLD):
    """A law whose slow part keeps the time of its update, and counts its updates."""
    rate = UpdateRate(frequency, between)

    class Slow(Law[Gains, JointReference, Sampled]):
        rates = {"plan": rate}

        @staticmethod
        def law(dynamics, parameters, state, reference, memory):
            def plan():
                return Found(dynamics.gravity(state.q), state.time), [memory.memory[0] + 1.0]

            memory = rate.update(memory, state, plan)
            found = rate.in_force(memory)
            return found.effort + found.time - parameters.d * state.v, memory

        def initial_memory(self, state):
            return rate.first(Found(np.zeros(2), 0.0), np.zeros(1))

    return Slow


def times_in_force(law, ticks, period, first_period=0.0):
    """The time that the slow part gives at each tick, and its updates, compiled and as written, which are equal."""
    rows, counts, memory = [], [], None
    for tick in range(ticks):
        state = State(period * tick, period if tick else first_period, np.array([0.3, 0.1]), np.zeros(2))
        reference = JointReference(*np.zeros((3, 2)))
        if tick == 0:
            law.activate(state)
            memory = law.memory
        effort = law.update(state, reference)
        expected, memory = as_written(law, state, reference, memory)
        np.testing.assert_allclose(effort, expected, rtol=1e-12)
        rows.append(law.memory.value.time if law.memory.before is None else
                    (effort - law.dynamics.gravity(state.q))[0])
        counts.append(law.memory.memory[0])
    assert not law.uncompiled_reason
    return np.array(rows, dtype=float), np.array(counts)


@pytest.mark.parametrize("frequency, gaps", [
    (50.0, {10}), (500.0, {1}), (np.inf, {1}), (300.0, {1, 2}), (30.0, {16, 17})])
def test_updates_are_at_the_ticks_nearest_to_the_rate(frequency, gaps):
    times, counts = times_in_force(slow_law(frequency)(ARM), 501, 0.002)
    updates = np.flatnonzero(np.diff(counts, prepend=0.0))
    assert updates[0] == 0 and set(np.diff(updates)) == gaps
    assert len(updates) - 1 == pytest.approx(min(frequency, 500.0), abs=1)
    np.testing.assert_allclose(times, np.repeat(0.002 * updates, np.diff(updates, append=501)), atol=1e-12)


def test_a_law_that_comes_in_force_in_a_running_loop_has_the_same_ticks():
    """Its first tick has a period, unlike that of a rollout."""
    expected = times_in_force(slow_law(50.0)(ARM), 41, 0.002)
    np.testing.assert_array_equal(times_in_force(slow_law(50.0)(ARM), 41, 0.002, 0.002), expected)


def test_values_go_in_a_straight_line_to_the_new_one():
    """Each value is reached when the next update is made; the first one is in force at once."""
    times, _ = times_in_force(slow_law(50.0, INTERPOLATE)(ARM), 41, 0.002)
    np.testing.assert_allclose(times, np.maximum(0.002 * np.arange(41) - 0.02, 0.0), atol=1e-12)


@pytest.mark.parametrize("between", few([HOLD, INTERPOLATE], 1))
def test_rollouts_and_the_filter_keep_the_rate(between):
    law = slow_law(70.0, between)
    done = rollout(ARM, law(ARM), duration=0.3)
    assert not done.note
    plain = law(ARM)
    for tick, time in enumerate(done.time):
        state = State(float(time), 0.002 * (tick > 0), done.q[tick], done.v[tick])
        effort = plain.update(state, JointReference(*(field[tick] for field in done.reference)))
        np.testing.assert_allclose(np.clip(effort, -ARM.effort_limit, ARM.effort_limit), done.effort[tick], rtol=1e-9,
                                   atol=1e-9)
    around = rollout(ARM, filtered(law)(ARM), duration=0.3)
    assert not around.note
    np.testing.assert_allclose(around.effort, done.effort, rtol=1e-6, atol=1e-6)


def test_a_plain_controller_updates_only_when_due():
    rate, called = UpdateRate(100.0), []

    class Plain(Controller):
        rates = {"plan": rate}

        def activate(self, state):
            self.plan = rate.first(np.zeros(2))

        def update(self, state, reference):
            self.plan = rate.update(self.plan, state, lambda: self.plans(state))
            return rate.in_force(self.plan)

        def plans(self, state):
            called.append(state.time)
            return self.dynamics.gravity(state.q)

    rollout(ARM, Plain(ARM), duration=0.1)
    np.testing.assert_allclose(called, 0.01 * np.arange(len(called)), atol=1e-9)
    assert len(called) in (10, 11)


@pytest.mark.parametrize("frequency", [0.0, -1.0, float("nan"), "fast", True, None])
def test_a_rate_that_is_none_is_one_line(frequency):
    with pytest.raises(InputError, match=r"^UpdateRate: frequency: expected a number .*Hz.*received") as raised:
        UpdateRate(frequency)
    assert "\n" not in str(raised.value)


def test_what_does_not_fit_is_one_line():
    with pytest.raises(InputError, match="^UpdateRate: between: unknown value 'jump'"):
        UpdateRate(10.0, "jump")
    with pytest.raises(InputError, match="^plan: Slow asks for 600 Hz, more than the controller's rate, 500 Hz"):
        slow_law(600.0)(ARM)
    slow_law(503.0)(ARM)  # the period of a loop is measured
    for rates, said in ((3.0, "expected update rates by name"), ({"plan": 50.0}, "plan: expected an UpdateRate")):
        kind = slow_law(10.0)
        kind.rates = rates
        with pytest.raises(InputError, match=f"^Slow.rates: {said}"):
            kind(ARM)
    rate = UpdateRate(10.0)
    state = State(0.0, 0.0, np.zeros(2), np.zeros(2))
    with pytest.raises(InputError, match=r"^UpdateRate.update: expected .*\(3,\).*received \(2,\)"):
        rate.update(rate.first(np.zeros(3)), state, lambda: np.zeros(2))
