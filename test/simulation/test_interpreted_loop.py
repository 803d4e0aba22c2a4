# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Controllers that cannot be compiled: the motions of the compiled loop, their cost, their failures."""

import logging
import time
from dataclasses import replace

import numpy as np
import pytest
from shipped import few

from robodyn_ros import CompileError, InputError, PluginError, Robot, rollout
from robodyn_ros.control import Controller, Law
from robodyn_ros.control.laws.pd import PDParameters
from robodyn_ros.control.laws.pid import PIDParameters
from robodyn_ros.control.plugins.registry import make_controller
from robodyn_ros.description.resources import robot_file
from robodyn_ros.simulation.interpreted_loop import InterpretedLoop
from robodyn_ros.simulation.plant import default_position
from robodyn_ros.simulation.plant_model import PlantModel
from robodyn_ros.simulation.rollout import ClosedLoop
from robodyn_ros.simulation.standard_motion import excursion

ROBOT = Robot.from_urdf(robot_file("scara"))


class BranchingPD(Law):
    """PD, halved where the first joint is beyond 0.1 rad."""

    Parameters = PDParameters

    @staticmethod
    def law(dynamics, parameters, state, reference, memory):
        feedback = parameters.p * (reference.q - state.q) + parameters.d * (reference.v - state.v)
        return 0.5 * feedback if state.q[0] > 0.1 else feedback


class StatefulPI(Controller):
    """PD and an integral that it keeps itself, as a list."""

    Parameters = PIDParameters

    def activate(self, state):
        self.integral = [0.0] * len(state.q)

    def update(self, state, reference):
        gains, error = self.parameters, reference.q - state.q
        self.integral = [i + state.period * k * e for i, k, e in zip(self.integral, gains.i, error, strict=True)]
        return list(gains.p * error + gains.d * (reference.v - state.v) + self.integral)


def interpreted(controller, **options):
    """A closed loop that runs interpreted, also where it could be compiled."""
    loop = ClosedLoop(controller, **options)
    loop._interpreted = InterpretedLoop(controller, loop.plant, loop._steps)
    return loop


@pytest.mark.parametrize(("name", "noise"), [
    ("damping", 0.0), ("pid", 0.01), ("computed_torque", 0.0), ("resolved_acceleration", 0.0), ("force", 0.0)])
def test_both_loops_give_the_same_motion(name, noise):
    model = replace(ROBOT.model, joints=tuple(replace(joint, friction=0.2) for joint in ROBOT.model.joints))
    robot = Robot(model)
    loops = [make(make_controller(name, robot)) for make in (ClosedLoop, interpreted)]
    scenario = loops[0].scenario([], 0.06, q=default_position(robot) + 0.2, v=np.full(4, 0.2), velocity_noise=noise)
    compiled, python = (loop.run(scenario) for loop in loops)
    assert not compiled.note and python.note
    for field in ("q", "v", "effort", "error"):
        np.testing.assert_allclose(getattr(python, field), getattr(compiled, field), rtol=1e-9, atol=1e-9)
    for ours, theirs in zip(python.score, compiled.score, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9)


def test_many_robots_score_the_same():
    loops = [make(make_controller("pid", ROBOT)) for make in (ClosedLoop, interpreted)]
    scenario = loops[0].scenario([excursion(ROBOT)], 0.2)
    gains = loops[0].packed() * np.random.default_rng(0).uniform(0.5, 1.5, (3, loops[0].packed().size))
    starts = scenario.q + np.array([[0.0], [0.01], [0.02]])
    sets = [replace(loops[0].controller.parameters, p=factor * loops[0].controller.parameters.p)
            for factor in (0.5, 1.0, 2.0)]
    for given in ({"parameters": gains}, {"q": starts}, {"parameters": sets, "q": starts}, {"parameters": sets[:1]}):
        compiled, python = (loop.scores(scenario, **given) for loop in loops)
        for ours, theirs in zip(python, compiled, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9)
    for loop in loops:
        with pytest.raises(InputError, match="axis of samples"):
            loop.scores(scenario)
        with pytest.raises(InputError):
            loop.scores(scenario, gains, starts[:2])


@pytest.mark.parametrize("make", few([StatefulPI, BranchingPD], 1))
def test_any_controller_runs_and_says_why_it_is_not_compiled(make, caplog):
    controller = make(ROBOT)
    before, motion = controller.parameters, excursion(ROBOT)
    with caplog.at_level(logging.WARNING):
        result = rollout(ROBOT, controller, motion)
    assert np.abs(result.error).max() < 0.5
    reason = {BranchingPD: "branch", StatefulPI: "only a Law can be compiled"}[make]
    assert reason in result.note and " us per tick" in result.note
    assert [record.message for record in caplog.records] == [result.note]
    weak = replace(before, p=0.1 * before.p)
    loop = ClosedLoop(controller)
    scenario = loop.scenario([motion])
    strong, soft = loop.run(scenario), loop.run(scenario, weak)
    np.testing.assert_array_equal(strong.q, result.q)  # activated anew: nothing is left of the run before
    assert soft.score.rms_error.max() > strong.score.rms_error.max()
    assert controller.parameters is before
    scores = loop.scores(scenario, [before, weak])
    np.testing.assert_allclose(scores.rms_error, [strong.score.rms_error, soft.score.rms_error])
    with pytest.raises(CompileError, match=reason):
        loop.run(scenario, compiled=False)


class Answers(Controller):
    """Returns or raises a given object after 10 ms."""

    answer = None

    def update(self, state, reference):
        if state.time < 0.0099:
            return np.zeros(len(state.q))
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@pytest.mark.parametrize(("answer", "message"), [
    (ValueError("odd"), r"controller 'Answers' fails at 0\.01 s: ValueError: odd \(.*test_interpreted_loop.py, line"),
    (np.zeros(7), r"controller 'Answers' fails at 0\.01 s: update: expected efforts of shape \(4,\)"),
])
def test_a_controller_that_fails_is_named(answer, message):
    controller = Answers(ROBOT)
    controller.answer = answer
    loop = ClosedLoop(controller)
    before = controller.parameters
    with pytest.raises(PluginError, match=message):
        loop.run(loop.scenario([], 0.1))
    assert controller.parameters is before


def test_efforts_that_are_nan_are_the_controllers():
    controller = Answers(ROBOT)
    controller.answer = np.full(4, np.nan)
    loop = ClosedLoop(controller)
    scenario = loop.scenario([], 0.1)
    with pytest.raises(PluginError, match=r"Answers answered a finite state with the effort nan for joint .* at 0\.01"):
        loop.run(scenario)
    scores = loop.scores(scenario, [controller.parameters] * 2)
    assert np.isnan(scores.q).all() and np.isnan(scores.rms_effort).all()


def test_a_tick_takes_some_microseconds():
    """A hand-written loop took 17 us; the test checks that no tick compiles or traces anything."""
    loop = ClosedLoop(StatefulPI(ROBOT), PlantModel.from_description(ROBOT.model))
    scenario = loop.scenario([], 1.0)
    begin = time.process_time()
    ticks = len(loop.run(scenario).time)
    assert (time.process_time() - begin) / ticks < 1e-3
