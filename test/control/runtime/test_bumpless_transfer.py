# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Efforts go on smoothly where another law or other gains come in force, and only there."""

from dataclasses import replace

import numpy as np
import pytest
from recorded_loop import RecordedLoop

from bench.swaps import AIM, AT, MORE, PERIOD, Rig
from robodyn_ros import Robot
from robodyn_ros.actuation.friction import Friction
from robodyn_ros.base.errors import PluginError
from robodyn_ros.control.contract.controller import Controller
from robodyn_ros.control.laws.computed_torque import ComputedTorque
from robodyn_ros.control.laws.damping import Damping
from robodyn_ros.control.laws.pd import PD
from robodyn_ros.control.optimisation.safety_filter import filtered
from robodyn_ros.control.optimisation.safety_parameters import position_margin
from robodyn_ros.control.plugins.plugin import Plugin
from robodyn_ros.control.plugins.registry import load_controller, make_controller
from robodyn_ros.control.references.joint_trajectory import JointTrajectory, Points
from robodyn_ros.control.references.tip_reference import TipReference
from robodyn_ros.control.runtime.bumpless_transfer import SWAP_TIME
from robodyn_ros.control.runtime.measurement import Measurement
from robodyn_ros.control.runtime.modes import Mode, Reason
from robodyn_ros.control.runtime.requests import Configure, Drop, Follow, HoldStill, NewSettings, Release, Stop, Swap
from robodyn_ros.control.runtime.state_prediction import StatePredictor
from robodyn_ros.control.runtime.tick import SWAPPING
from robodyn_ros.description.resources import robot_file
from robodyn_ros.simulation.commands import Drive
from robodyn_ros.simulation.plant import Plant

ROBOT = Robot.from_urdf(robot_file("planar_2r"))
LIMIT = ROBOT.effort_limit
Q, V = np.array([0.3, -0.4]), np.array([0.1, 0.2])
TICKS = 50
"""Ticks of a transfer."""


class Constant(Controller):
    """Returns the same efforts at every tick, or raises what it is given instead."""

    def __init__(self, *effort):
        super().__init__(ROBOT)
        self.effort = np.array(effort)

    def update(self, state, reference):
        if self.effort.dtype == object:
            raise self.effort[0]
        return self.effort


class Moved:
    """A loop whose state does not change, with a law in force for two ticks."""

    def __init__(self, controller, safe=None):
        self.count = 0
        self.loop = RecordedLoop(ROBOT, Plugin("first", controller), Plugin("safe", safe or Constant(-9.0, 9.0)), 0.5)
        self.loop.request(NewSettings(swap_time=TICKS * PERIOD))
        self.ticks(2)

    def tick(self, q=Q, periods=1, v=V):
        self.count += periods
        return self.loop.tick(Measurement(round(1e9 * PERIOD * self.count), q, v))

    def ticks(self, count):
        return np.array([self.tick().effort for _ in range(count)])

    def swap(self, controller):
        self.loop.request(Swap(Plugin("second", controller)))


def check_transfer(rig, before, after):
    """The efforts go monotonically from one value to another, in the time of the transfer."""
    first = rig.tick()
    assert first.intervention == SWAPPING
    np.testing.assert_allclose(first.effort, before)
    efforts = np.vstack([first.effort, rig.ticks(TICKS)])
    np.testing.assert_array_equal(efforts[-1], after)
    assert (efforts[-2] != after).any() and not rig.loop.last.intervention
    changes = np.diff(efforts, axis=0) * np.sign(np.subtract(after, before))
    assert (changes >= 0.0).all() and (changes <= 1.9 / TICKS * np.abs(np.subtract(after, before))).all()
    assert not rig.loop.failures


def test_a_swap_goes_from_the_last_efforts_to_those_of_the_new_law():
    rig = Moved(Constant(10.0, -20.0))
    rig.swap(Constant(-30.0, 5.0))
    check_transfer(rig, [10.0, -20.0], [-30.0, 5.0])


def test_a_swap_in_the_middle_of_another_one_goes_on_from_there():
    rig = Moved(Constant(10.0, -20.0))
    rig.swap(Constant(-30.0, 5.0))
    between = rig.ticks(TICKS // 2)[-1]
    rig.swap(Constant(40.0, 5.0))
    check_transfer(rig, between, [40.0, 5.0])


def test_efforts_beyond_the_limits_leave_no_offset_behind():
    """A law that asks for much for a tick, as at an error of position, is not opposed afterwards."""
    rig = Moved(Constant(10.0, -20.0))
    law = Constant(1e6, -1e6)
    rig.swap(law)
    np.testing.assert_allclose(rig.tick().effort, [10.0, -20.0])
    law.effort = np.zeros(2)
    assert (np.abs(rig.ticks(TICKS)) <= LIMIT).all()


def test_the_law_follows_from_where_the_robot_is():
    """It does not react at once to the errors that the law before left; others see the reference as it is."""
    rig, law = Moved(Constant(10.0, -20.0)), Constant(0.0, 0.0)
    begin, seen = rig.loop.trajectory_start(None), []
    points = Points.from_arrays([0.5], [Q + 1.0])
    rig.loop.request(Follow(JointTrajectory(begin.reference, begin.start_time, points, begin.origin), on_arrival=True))
    rig.ticks(100)
    law.update = lambda state, reference: seen.append(reference) or np.zeros(2)
    rig.swap(law)
    references = [rig.tick().reference for _ in range(TICKS + 5)]
    errors = np.array([given.q - reference.q for given, reference in zip(seen, references, strict=True)])
    np.testing.assert_allclose(seen[0].q, Q)
    assert (np.abs(errors[0]) > 0.1).all() and (np.diff(np.abs(errors), axis=0) <= 0.0).all()
    speeds = np.array([given.v - reference.v for given, reference in zip(seen, references, strict=True)])
    np.testing.assert_allclose(np.diff(errors, axis=0), PERIOD * (speeds[1:] + speeds[:-1]) / 2, atol=1e-3)
    pushes = np.array([given.a - reference.a for given, reference in zip(seen, references, strict=True)])
    np.testing.assert_allclose(np.diff(speeds, axis=0), PERIOD * (pushes[1:] + pushes[:-1]) / 2, atol=0.05)
    assert not pushes[0].any() and (np.abs(np.diff(pushes, axis=0)) < 0.2 * np.abs(pushes).max()).all(), "a jerk"
    assert not errors[TICKS + 1:].any() and not speeds[TICKS + 1:].any() and not pushes[TICKS + 1:].any()


def test_a_release_goes_from_the_efforts_of_the_safe_law():
    rig = Moved(Constant(10.0, -20.0))
    rig.loop.request(Stop())
    np.testing.assert_array_equal(rig.tick().effort, [-9.0, 9.0])
    rig.loop.request(Release())
    check_transfer(rig, [-9.0, 9.0], [10.0, -20.0])


def test_a_release_of_a_damped_robot_goes_from_the_damping():
    """After calming, the efforts before are not those of a law."""
    rig = Moved(Constant(10.0, -20.0))
    rig.loop.request(Stop())
    turns = iter(range(100))
    while rig.loop.modes.present is not Mode.DAMPING:
        damped = rig.tick(v=np.array([5.0, -5.0]) * (-1) ** next(turns))
    assert (damped.effort != [-9.0, 9.0]).all()
    rig.loop.request(Release())
    check_transfer(rig, damped.effort, [10.0, -20.0])


def test_other_gains_go_from_the_efforts_of_those_before():
    law = PD(ROBOT)
    rig = Moved(law)
    rig.loop.request(HoldStill())
    before = rig.tick().effort
    changed = replace(law.parameters, d=2.0 * law.parameters.d)
    rig.loop.request(Configure("first", changed))
    check_transfer(rig, before, 2.0 * before)


@pytest.mark.parametrize("end", ["stop", "drop", "failure", "new start"])
def test_the_safe_law_and_a_new_start_do_not_wait_for_a_transfer(end):
    rig = Moved(Constant(10.0, -20.0))
    law = Constant(-30.0, 5.0)
    rig.swap(law)
    rig.tick()
    if end == "stop":
        rig.loop.request(Stop())
    elif end == "drop":
        rig.loop.request(Drop(Reason("test", "test")))
    elif end == "failure":
        law.effort = np.array([PluginError("test")])
    tick = rig.tick(periods=1000 if end == "new start" else 1)
    np.testing.assert_array_equal(tick.effort, [-30.0, 5.0] if end == "new start" else [-9.0, 9.0])
    assert SWAPPING not in tick.intervention


def test_no_time_is_a_hard_swap():
    rig = Moved(Constant(10.0, -20.0))
    rig.loop.request(NewSettings(swap_time=0.0))
    rig.swap(Constant(-30.0, 5.0))
    np.testing.assert_array_equal(rig.tick().effort, [-30.0, 5.0])


def test_a_hard_swap_alters_no_effort_of_a_safety_filter():
    law, alone = filtered(ComputedTorque)(ROBOT), filtered(ComputedTorque)(ROBOT)
    rig = Moved(Constant(10.0, -20.0))
    rig.loop.request(NewSettings(swap_time=0.0))
    rig.swap(law)
    tick = rig.tick()
    alone.activate(tick.state)
    np.testing.assert_array_equal(tick.effort, alone.update(tick.state, tick.reference))


@pytest.mark.parametrize("pair", ["pd computed_torque+safety", "computed_torque+safety pd_gravity+safety",
                                  pytest.param("pd mpc", marks=pytest.mark.long), "impedance task_priority",
                                  "task_priority task_space_pd"])
def test_efforts_go_on_before_the_filter_and_behind_it(pair):
    """Far from the limits; a filter gets the law's efforts with the offset, and lets them pass."""
    names = pair.split()
    rig = Rig(ROBOT, tip=load_controller(names[1]).follows is TipReference)
    rig.laws |= {name: make_controller(name, ROBOT) for name in names}
    count = round(AT[1] * rig.duration / PERIOD)
    run, hard = (rig.run(names, count * PERIOD, swap_time) for swap_time in (SWAP_TIME.default, 0.0))
    changes, jumps = (np.abs(np.diff(each.effort[count - 1:], axis=0)) / LIMIT for each in (run, hard))
    assert not run.incidents
    assert changes[0].max() <= AIM and changes.max() <= 2.0 * AIM < jumps[0].max()


def test_compensation_of_friction_goes_on_from_the_efforts_before():
    robot = ROBOT.with_actuators(None, Friction(0.1, [8.0, 4.0]))
    law, alone = (make_controller("pd+friction", robot) for _ in range(2))
    rig = Moved(Constant(10.0, -20.0))
    rig.swap(law)
    np.testing.assert_allclose(rig.tick().effort, [10.0, -20.0])
    rig.ticks(TICKS)
    tick = rig.tick(Q + 0.1)
    np.testing.assert_array_equal(tick.effort, alone.update(tick.state, tick.reference))
    assert (np.abs(tick.effort - PD(robot).update(tick.state, tick.reference)) > 2.0).all()


@pytest.mark.parametrize("request_again", [False, True])
@pytest.mark.parametrize(("name", "distance"), [("pd_gravity+safety", 0.5), ("task_priority", 0.15)])
def test_limits_hold_while_the_efforts_go_on(name, distance, request_again):
    """The efforts before press a joint towards its limit: an offset behind the limits would take it to its stop."""
    robot = Robot.named("scara")
    press, law = Constant(0.0, 0.5 * robot.effort_limit[1], 0.0, 0.0), make_controller(name, robot)
    loop = RecordedLoop(robot, Plugin("press", press), Plugin("safe", Damping(robot)), 0.5)
    loop.request(NewSettings(swap_time=1.0))
    plant, rest, states = Plant(robot, PERIOD), np.zeros(robot.n), []
    plant.set_state(robot.position_upper - [1.0, distance, 0.2, 1.0])
    for count in range(400):
        if count == 20:
            loop.request(Swap(Plugin("law", law)))
        if count == 40 and request_again:  # other gains go on from there
            loop.request(Configure("law", law.parameters))
        tick = loop.tick(Measurement(round(1e9 * PERIOD * count), plant.q, plant.v))
        states.append([plant.q, plant.v])
        plant.advance(Drive(tick.effort, rest, rest))
    (q, v), margin = np.swapaxes(states, 0, 1), position_margin(robot)[1]
    assert not loop.failures
    assert margin <= robot.position_upper[1] - q[:, 1].max() <= 2.0 * margin
    assert (np.abs(v) <= law.parameters.safety_velocities).all()


def test_the_prediction_over_a_delay_gets_the_efforts_that_were_commanded(monkeypatch):
    rig, noted = Moved(Constant(10.0, -20.0)), []
    rig.loop.request(NewSettings(delay=0.004))
    monkeypatch.setattr(StatePredictor, "note", lambda self, effort: noted.append(effort))
    rig.swap(Constant(-30.0, 5.0))
    np.testing.assert_array_equal(rig.ticks(3), noted)
    np.testing.assert_allclose(noted[0], [10.0, -20.0])


@pytest.mark.parametrize("pair", [("pd", "computed_torque_pid"), ("computed_torque", "pd"), ("pid", "adaptive")])
def test_a_swap_in_motion_on_a_wrong_model(pair):
    """As `bench.swaps`, which swaps every law for every other one on all robots."""
    rig = Rig(ROBOT)
    greatest = np.max([np.abs(rig.alone(name).error).max(axis=0) for name in pair], axis=0)
    count = round(AT[1] * rig.duration / PERIOD)
    run = rig.run(pair, count * PERIOD, SWAP_TIME.default)
    assert not run.incidents
    assert (np.abs(run.effort[count] - run.effort[count - 1]) <= AIM * LIMIT).all()
    assert (np.abs(run.error).max(axis=0) <= MORE * greatest).all()
