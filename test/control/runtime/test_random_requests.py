# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.


"""Random requests, measurements and faults: what holds of the control loop whatever comes."""

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test
from recorded_loop import RecordedLoop

from robodyn_ros import InputError, Robot
from robodyn_ros.control import Controller, Reading, declare_input
from robodyn_ros.control.contract.law_inputs import state_form
from robodyn_ros.control.laws.computed_torque import ComputedTorque
from robodyn_ros.control.laws.damping import Damping
from robodyn_ros.control.laws.pd import PD
from robodyn_ros.control.plugins.plugin import Plugin
from robodyn_ros.control.references.joint_trajectory import JointTrajectory, Points
from robodyn_ros.control.runtime.loop_events import LawEnded, LawFailed, ModeChanged
from robodyn_ros.control.runtime.measurement import Measurement
from robodyn_ros.control.runtime.modes import Mode, Reason
from robodyn_ros.control.runtime.requests import (
    Drop,
    Follow,
    HoldStill,
    NewSettings,
    Release,
    Resume,
    Stop,
    Suspend,
    Swap,
)
from robodyn_ros.control.runtime.supervisor import SupervisorSettings

ROBOT = Robot.named("planar_2r")
N, PERIOD = ROBOT.n, 2_000_000
DYNAMICS = ROBOT.dynamics()


class Gain(NamedTuple):
    """A required input."""

    gain: Reading = declare_input("gain", "std_msgs/msg/Float64", "data", shape=(), greatest_age=0.02, required=True)


class Listener(Controller):
    """Follows joints by a gain that comes from elsewhere."""

    Inputs = Gain

    def update(self, state, reference):
        return float(state.inputs.gain.value) * (reference.q - state.q) - state.v


class Moody(Controller):
    """Fails as its class attribute says."""

    mood = ""

    def activate(self, state):
        if self.mood == "activate":
            raise RuntimeError("no")

    def update(self, state, reference):
        if self.mood == "raise":
            raise ValueError("no")
        return np.full(N, {"nan": np.nan, "away": 1e4}.get(self.mood, 0.0))


def stiff(times):
    """A safe law with damping that may be too much."""
    law = Damping(ROBOT)
    law.parameters = law.parameters.with_flat_values(
        ROBOT, {row.name: times * np.array(row.value) for row in law.parameters.flat(ROBOT)})
    return law


LAWS = {"pd": PD, "computed_torque": ComputedTorque, "listener": Listener, "moody": Moody, "damping": None}
INPUT = state_form(Listener, N).inputs["gain"]


class Requests(RuleBasedStateMachine):
    """A loop on a small plant; each rule is a request or something that happens."""

    @initialize(law=st.sampled_from(sorted(LAWS)), times=st.sampled_from([1.0, 1.0, 60.0]),
                has_state=st.sampled_from([True, True, True, False]))
    def begin(self, law, times, has_state):
        Moody.mood = ""
        self.fallback = Plugin("damping", stiff(times))
        self.loop = RecordedLoop(ROBOT, self.law(law), self.fallback, 0.5)
        self.q, self.v, self.stamp, self.inputs, self.seen = np.zeros(N), np.array([0.5, -0.5]), PERIOD, {}, 0
        self.reasons, self.ended, self.suspended = {}, [], False
        if has_state:
            self.tick("", 1)

    def law(self, name):
        return self.fallback if LAWS[name] is None else Plugin(name, LAWS[name](ROBOT))

    @rule(new_start=st.sampled_from(["", "", "", "", "not followed"]), periods=st.integers(0, 3))
    def tick(self, new_start, periods):
        if self.suspended:
            return
        for _ in range(8):
            self.stamp += periods * PERIOD
            last = self.loop.last
            tick = self.loop.tick(Measurement(self.stamp, self.q, self.v, new_start, inputs=dict(self.inputs)))
            assert np.isfinite(tick.effort).all() and (np.abs(tick.effort) <= ROBOT.effort_limit).all()
            if last is not None and tick is last:
                continue
            assert tick.mode is self.loop.modes.present and (tick.reason is None) == (tick.mode is Mode.RUNNING)
            laws = self.loop.laws
            assert tick.plugin is (laws.holder if tick.mode is Mode.HOLDING else laws.fallback if tick.mode in (
                Mode.STOPPED, Mode.DAMPING) else laws.chosen)
            self.v = self.v + 1e-9 * PERIOD * DYNAMICS.forward_dynamics(self.q, self.v, tick.effort)
            self.q = self.q + 1e-9 * PERIOD * self.v
            if np.abs(self.v).max() > 1e3:
                self.q, self.v = np.zeros(N), np.zeros(N)

    @rule(law=st.sampled_from(sorted(LAWS)))
    def swap(self, law):
        plugin, failures = self.law(law), len(self.loop.failures)
        self.loop.request(Swap(plugin))
        assert self.loop.laws.chosen is plugin or len(self.loop.failures) > failures

    @rule()
    def stop(self):
        self.loop.request(Stop())
        assert self.loop.modes.stopped()

    @rule()
    def release(self):
        self.loop.request(Release())
        assert not self.loop.modes.stopped()

    @rule()
    def drop(self):
        self.loop.request(Drop(Reason("too slow", "too slow")))

    @rule()
    def hold_still(self):
        self.loop.request(HoldStill())

    @rule(goal=st.sampled_from([-0.5, 0.7]), delay=st.integers(-5, 20))
    def follow(self, goal, delay):
        stands = self.loop.modes.present is not Mode.RUNNING
        try:
            begin = self.loop.trajectory_start(max(1, self.stamp + delay * PERIOD) if delay else None)
            points = Points.from_arrays([0.05, 0.1], np.array([[goal] * N, [0.0] * N]))
            trajectory = JointTrajectory(begin.reference, begin.start_time, points, begin.origin)
            self.loop.request(Follow(trajectory, on_arrival=not delay))
        except InputError:
            return
        assert not stands, "no motion begins while the robot is held"

    @rule(soft_start=st.sampled_from([0.0, 0.02]), rate=st.sampled_from([0.0, 50.0]),
          margin=st.sampled_from([0.0, 0.3]), speed=st.sampled_from([1.0, 0.3, 0.0]),
          delay=st.sampled_from([0.0, 0.004]))
    def set(self, soft_start, rate, margin, speed, delay):
        bounds = SupervisorSettings(soft_start=soft_start, effort_rate=rate, position_margin=margin)
        self.loop.request(NewSettings(bounds, speed, delay))

    @rule(suspend=st.booleans())
    def suspend(self, suspend):
        self.suspended = suspend
        self.loop.request(Suspend(Reason("refused", "another one")) if suspend else Resume())

    @rule(mood=st.sampled_from(["", "raise", "nan", "away", "activate"]))
    def change_mood(self, mood):
        Moody.mood = mood

    @rule(value=st.sampled_from([None, 1.0, 20.0]))
    def put_input(self, value):
        if value is None:
            self.inputs.clear()
        else:
            self.inputs[INPUT] = np.array(value)

    @rule(change=st.sampled_from(["jump", "gap", "back", "fast"]))
    def disturb(self, change):
        if change == "jump":
            self.q = self.q + 1.5
        elif change == "fast":
            self.v = 30.0 * self.v
        else:
            self.stamp += 10**9 if change == "gap" else -min(self.stamp - 1, 20 * PERIOD)

    @invariant()
    def events_tell_all(self):
        if not hasattr(self, "loop"):
            return
        for event in self.loop.events[self.seen:]:
            if isinstance(event, ModeChanged) and event.reason is None:
                assert self.reasons.pop(event.mode, None) is not None, "only a mode that had begun ends"
            elif isinstance(event, ModeChanged):
                self.reasons[event.mode] = event.reason
            elif isinstance(event, LawEnded):
                self.ended.append(event.plugin)
            elif isinstance(event, LawFailed):
                assert event.successor == self.fallback.name
        self.seen = len(self.loop.events)
        for mode in (Mode.SUSPENDED, Mode.DAMPING, Mode.STOPPED, Mode.HOLDING):
            assert self.loop.modes.reason(mode) == self.reasons.get(mode)
        assert len({id(plugin) for plugin in self.ended}) == len(self.ended), "each law ends once"
        assert not any(plugin is kept for plugin in self.ended for kept in self.loop.laws.all())
        if self.loop.modes.stopped() or self.loop.modes.present is Mode.HOLDING:
            assert not self.loop.moving(), "a robot that is held never moves on"


def run(examples):
    run_state_machine_as_test(Requests, settings=settings(
        max_examples=examples, stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck)))


def test_whatever_is_asked_one_law_runs_within_the_limits_and_events_tell_all():
    run(100)


@pytest.mark.long
def test_five_thousand_sequences():
    run(5000)
