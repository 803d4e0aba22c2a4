# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""A stopped robot is calmed, also where its safe controller swings it, at any period and delay."""

from collections import deque

import numpy as np
import pytest
from recorded_loop import RecordedLoop
from shipped import QUICK, few

from robodyn_ros import Robot
from robodyn_ros.base.timing import NANOSECONDS_PER_SECOND
from robodyn_ros.control.contract.state import State
from robodyn_ros.control.plugins.plugin import Plugin
from robodyn_ros.control.plugins.registry import make_controller
from robodyn_ros.control.runtime.calming import LEAST_SPEED, Calming
from robodyn_ros.control.runtime.measurement import Measurement
from robodyn_ros.control.runtime.modes import Mode, Reason
from robodyn_ros.control.runtime.requests import Drop, Release, Stop
from robodyn_ros.description.resources import robot_file, shipped_robots
from robodyn_ros.simulation.commands import Drive
from robodyn_ros.simulation.plant import Plant, default_position

STEP = 0.001
GRAVITY_LIMIT = 0.03
"""Delay up to which the shipped robots can be damped against gravity, whatever the gains are [s]."""
SAFE = ("damping", "pd_gravity")
ROBOTS = {name: Robot.from_urdf(robot_file(name)) for name in shipped_robots()}


class Stopped:
    """A moving robot that is stopped at its first tick, with gains that may be for another timing than the loop's."""

    def __init__(self, name, safe, rate, delay, gains_for=(0.002, 0), share=1.0):
        self.robot = ROBOTS[name].with_timing(*gains_for)
        law = make_controller(safe, self.robot)
        if share != 1.0:
            given = {f"gains.{joint}.d": share * d for joint, d in
                     zip(self.robot.joint_names, law.parameters.d.tolist(), strict=True)}
            law.parameters = law.parameters.with_flat_values(self.robot, given)
        self.loop = RecordedLoop(self.robot, Plugin("pd", make_controller("pd", self.robot)), Plugin(safe, law), 0.5)
        self.plant, start = Plant(self.robot, STEP, default_position(self.robot)), default_position(self.robot)
        speeds = np.minimum(self.robot.model.velocity_limit, 3.0)
        self.plant.set_state(start, np.random.default_rng(1).uniform(-speeds, speeds))
        self.period = round(NANOSECONDS_PER_SECOND / rate)
        self.line, self.stamp, self.energy = deque(maxlen=delay + 1), 0, []

    def run(self, seconds, stops=True):
        """Simulate; return the greatest speeds over the velocity limits in the last second."""
        nothing, speeds = np.zeros(self.robot.n), []
        for _ in range(round(seconds * NANOSECONDS_PER_SECOND / self.period)):
            self.line.append((self.plant.q, self.plant.v))
            tick = self.loop.tick(Measurement(self.stamp, *self.line[0]))
            if stops:
                self.loop.request(Stop())
            self.plant.advance(Drive(tick.effort, nothing, nothing), round(self.period / STEP / NANOSECONDS_PER_SECOND))
            self.stamp += self.period
            self.energy.append(self.robot.dynamics().kinetic_energy(self.plant.q, self.plant.v)
                               + self.robot.dynamics().potential_energy(self.plant.q))
            speeds.append(np.abs(self.plant.v / self.robot.model.velocity_limit).max())
        return max(speeds[-round(NANOSECONDS_PER_SECOND / self.period):])


def acts_late(rate, delay):
    return (delay + 0.5) / rate > GRAVITY_LIMIT


CASES = [(1000, 10), (500, 3), (100, 1), (50, 0)]


@pytest.mark.parametrize("safe", SAFE)
@pytest.mark.parametrize("name", few(shipped_robots(), ("scara",)))
def test_a_stopped_robot_is_damped_by_gains_for_its_period_and_delay(name, safe):
    """And nothing is taken for a swing, also not an arm that sinks."""
    for rate, delay in CASES:
        stopped = Stopped(name, safe, rate, delay, gains_for=(1.0 / rate, delay))
        assert stopped.run(2.5) < 0.5, (rate, delay)
        assert stopped.loop.stops == ["on request"] and not stopped.loop.failures, (rate, delay)


@pytest.mark.parametrize("safe", SAFE)
@pytest.mark.parametrize("name", few(shipped_robots(), ("scara",)))
def test_a_stopped_robot_is_damped_although_its_gains_are_for_another_loop(name, safe):
    for rate, delay in CASES:
        stopped = Stopped(name, safe, rate, delay)
        assert stopped.run(8.0) < 0.5, (rate, delay)
        assert not stopped.loop.failures


@pytest.mark.long
@pytest.mark.parametrize("gains_fit", [True, False])
@pytest.mark.parametrize("safe", SAFE)
@pytest.mark.parametrize("rate", [1000, 250, 50])
@pytest.mark.parametrize("name", QUICK)
def test_delays_up_to_10_periods(name, rate, safe, gains_fit):
    """Where gravity allows no gains at all, less damping or no effort is left, which adds no energy."""
    for delay in (0, 1, 2, 3, 5, 10):
        stopped = Stopped(name, safe, rate, delay, *([(1.0 / rate, delay)] if gains_fit else []))
        speed = stopped.run(16.0)
        if not acts_late(rate, delay):
            assert speed < 0.5, delay
        elif speed > 0.5 and not stopped.loop.stops[-1].endswith("no effort instead"):
            early, late = np.array_split(stopped.energy, 4)[-2:]
            # Perhaps it is being noticed just now.
            assert late.mean() < early.mean() or stopped.run(8.0) < 0.5 or (
                stopped.loop.stops[-1].endswith("no effort instead")), delay


@pytest.mark.parametrize("share", [5.0, 50.0])
def test_damping_beyond_the_bound_is_replaced(share):
    """Gains that somebody gave; the stop says what was done."""
    stopped = Stopped("arm6", "damping", 500, 1, share=share)
    assert stopped.run(6.0) < 0.1
    assert "on request; the safe controller 'damping' is unstable: joint '" in stopped.loop.stops[-1]
    assert "damping for 0.002 s a period" in stopped.loop.stops[-1]
    assert stopped.loop.last.mode is Mode.DAMPING and stopped.loop.last.reason.kind == "swing"


def test_a_release_trusts_the_safe_controller_again():
    stopped = Stopped("arm6", "damping", 500, 0, share=50.0)
    stopped.run(2.0)
    assert len(stopped.loop.stops) > 1
    stopped.loop.request(Release())
    stopped.loop.stops.clear()
    stopped.run(1.0)
    assert stopped.loop.stops[0] == "on request" and len(stopped.loop.stops) > 1


def test_the_safe_controller_after_a_failure_is_watched_too():
    """It stops the robot: no motion can begin on a robot that swings."""
    stopped = Stopped("arm6", "damping", 500, 0, share=50.0)
    stopped.loop.tick(Measurement(0, stopped.plant.q, stopped.plant.v))
    stopped.loop.request(Drop(Reason("too slow", "for the test")))
    stopped.stamp += stopped.period
    assert stopped.run(3.0, stops=False) < 0.5
    assert stopped.loop.modes.stopped().startswith("the safe controller 'damping' is unstable")


def states(speeds, period=0.01):
    q = np.zeros(2)
    for speed in speeds:
        q = q + period * np.array([speed, 0.0])
        yield State(0.0, period, q.copy(), np.array([speed, 0.0]))


@pytest.mark.parametrize(("decay", "lasts"), [(0.0, True), (0.02, True), (0.5, False), (2.0, False)])
def test_only_a_swing_that_lasts_counts(decay, lasts):
    """Half a second a swing; a robot without weight, whose energy is that of its motion."""
    calming = Calming(Robot.from_urdf(robot_file("planar_2r"), gravity=(0.0, 0.0, 0.0)))
    time = np.arange(0.0, 8.0, 0.01)
    said = [calming.watch(state) for state in states(8.0 * np.exp(-decay * time) * np.sin(4.0 * np.pi * time + 0.1))]
    assert any(said) == lasts


def test_noise_at_rest_is_no_swing():
    calming = Calming(ROBOTS["planar_2r"])
    noise = np.random.default_rng(0).normal(0.0, 0.3 * LEAST_SPEED * 12.0, 5000)
    assert not any(calming.watch(state) for state in states(noise))
