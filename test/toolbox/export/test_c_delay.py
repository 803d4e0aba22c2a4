# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Prediction over a delay and damping in steps in C against the control loop in Python."""

import shutil
from collections import deque
from ctypes import Structure, byref, c_double, c_int

import numpy as np
import pytest
from c_libraries import c_library
from recorded_loop import RecordedLoop
from shipped import few

from robodyn_ros import Robot
from robodyn_ros.control.contract.state import State
from robodyn_ros.control.plugins.plugin import Plugin
from robodyn_ros.control.plugins.registry import make_controller
from robodyn_ros.control.runtime import calming
from robodyn_ros.control.runtime.measurement import Measurement
from robodyn_ros.control.runtime.requests import Stop
from robodyn_ros.control.runtime.state_prediction import StatePredictor
from robodyn_ros.simulation.commands import Drive
from robodyn_ros.simulation.plant import Plant, default_position
from robodyn_ros.toolbox.export import delay_source
from robodyn_ros.toolbox.export.c_delay import HISTORY

pytestmark = pytest.mark.skipif(not shutil.which("gcc"), reason="no C compiler: apt-get install gcc")


class InC:
    """Both structs in C, and the numbers behind them."""

    def __init__(self, robot):
        self.robot, n = robot, robot.n
        self._library = c_library(delay_source(robot).files, "-Wconversion", "-Wshadow")
        joints = c_double * n

        class Predictor(Structure):
            _fields_ = [("delay", c_double), ("effort", joints * HISTORY), ("duration", c_double * HISTORY),
                        ("first", c_int), ("count", c_int), ("noted", joints), ("has_noted", c_int),
                        ("behind", c_double)]

        class Calming(Structure):
            _fields_ = [("level", c_int), ("joint", c_int), ("speed", c_double), ("damping", joints), ("sign", joints),
                        ("wave", c_double * 5 * n), ("waves", c_double * 5 * (2 * calming.HALF_WAVES) * n),
                        ("behind", c_double)]

        self.predictor, self.calming = Predictor(behind=7.0), Calming(behind=7.0)

    def call(self, name, *given):
        arrays = [byref((c_double * len(each))(*each)) if isinstance(each, np.ndarray) else each for each in given]
        return getattr(self._library, f"{self.robot.name}_{name}")(*arrays)

    def predicted(self, state):
        q, v = ((c_double * self.robot.n)(*each) for each in (state.q, state.v))
        self.call("predictor_state", byref(self.predictor), c_double(state.period), q, v)
        return np.array([q[:], v[:]])

    def note(self, effort):
        self.call("predictor_note", byref(self.predictor), effort)

    def watch(self, period, q, v):
        return self.call("calming_watch", byref(self.calming), c_double(period), q, v)

    def damped(self, v):
        effort = (c_double * self.robot.n)()
        self.call("calming_effort", byref(self.calming), v, effort)
        return np.array(effort[:])


@pytest.mark.parametrize("delay", [0.0, 0.0005, 0.004, 0.0113, 0.1])
def test_states_are_predicted_as_in_python(delay):
    robot, rng = Robot.named("planar_2r"), np.random.default_rng(3)
    predictor, in_c = StatePredictor(robot), InC(robot)
    predictor.delay = in_c.predictor.delay = delay
    for tick in range(400):
        period = 0.002 if tick % 7 else float(rng.uniform(0.0005, 0.004))
        state = State(0.0, period, *rng.normal(0.0, 0.5, (2, robot.n)))
        if tick == 200:
            predictor.restart()
            in_c.call("predictor_restart", byref(in_c.predictor))
        if tick == 300:  # an effort under which the prediction is not finite
            predictor.note(np.full(robot.n, 1e300))
            in_c.note(np.full(robot.n, 1e300))
        expected = predictor.predicted(state)
        np.testing.assert_allclose(in_c.predicted(state), [expected.q, expected.v], rtol=1e-9, atol=1e-12)
        effort = rng.normal(0.0, 5.0, robot.n)
        predictor.note(effort)
        in_c.note(effort)
    assert in_c.predictor.behind == 7.0, "it wrote beyond its struct"


def test_a_prediction_forgets_the_oldest_of_too_many_commands():
    robot = Robot.named("planar_2r")
    in_c, rest = InC(robot), np.zeros(robot.n)
    in_c.predictor.delay = 1.0
    for _ in range(HISTORY + 50):
        found = in_c.predicted(State(0.0, 1e-5, rest, rest))
        in_c.note(np.ones(robot.n))
    assert in_c.predictor.count == HISTORY and np.isfinite(found).all() and in_c.predictor.behind == 7.0


@pytest.mark.parametrize(("shipped", "rate", "delay", "share"), few([
    ("planar_2r", 50, 2, 1.0), ("arm6", 500, 0, 0.0), ("arm6", 500, 1, 50.0), ("scara", 1000, 10, 1.0)], 2))
def test_a_robot_that_swings_is_damped_as_in_python(shipped, rate, delay, share):
    """Its safe controller has gains that are too high, or for another loop; the last robot sinks and does not swing."""
    robot = Robot.named(shipped)
    law = make_controller("damping", robot)
    law.parameters = law.parameters.with_flat_values(robot, {
        f"gains.{joint}.d": (share or 1.0) * d for joint, d in zip(robot.joint_names, law.parameters.d, strict=True)})
    loop = RecordedLoop(robot, Plugin("pd", make_controller("pd", robot)), Plugin("damping", law), 0.5)
    plant, period, in_c = Plant(robot, 0.001, default_position(robot)), 1.0 / rate, InC(robot)
    speeds = np.minimum(robot.model.velocity_limit, 3.0)
    plant.set_state(plant.q, np.random.default_rng(1).uniform(-speeds, speeds))
    line, levels = deque(maxlen=delay + 1), set()
    for tick in range(4 * rate):
        line.append((plant.q, plant.v))
        q, v = line[0]
        answer = loop.tick(Measurement(round(1e9 * tick * period), q, v))
        if loop.modes.stopped():
            in_c.watch(answer.state.period, q, v)
            assert in_c.calming.level == loop._answers.calming.level, f"tick {tick}"
            if in_c.calming.level:
                # Between the periods of the table, damping is interpolated.
                precision = 1e-6 if period == robot.timing.period else 0.03
                wanted = np.clip(in_c.damped(v), -robot.effort_limit, robot.effort_limit)
                np.testing.assert_allclose(answer.effort, wanted, rtol=precision, atol=1e-9, err_msg=f"tick {tick}")
        levels.add(in_c.calming.level)
        loop.request(Stop())
        plant.advance(Drive(answer.effort, *np.zeros((2, robot.n))), round(period / 0.001))
    assert (max(levels) > 0) == (share > 0.0) and not loop.failures and not loop.starts
    assert in_c.calming.behind == 7.0, "it wrote beyond its struct"
    in_c.call("calming_restart", byref(in_c.calming))
    assert in_c.calming.level == 0 and not any(in_c.calming.damping[:])


def test_damping_between_the_delays_of_the_table():
    """Interpolated: beside the default gains for another period and a longer delay."""
    robot = Robot.named("planar_2r")
    in_c = InC(robot)
    for period, length in ((0.002, 1), (0.002, 12), (0.002, 41), (0.0013, 9), (0.005, 77), (0.002, 2000)):
        in_c.call("calming_restart", byref(in_c.calming))
        sign = np.array([1.0, 1.0])
        while not in_c.calming.level:
            sign = -sign
            for _ in range(length):
                if in_c.watch(period, np.zeros(2), 8.0 * sign):
                    break
        expected = calming.default_gains.damping(robot.with_timing(period, (length + 1) // 2))
        assert np.all(np.array(in_c.calming.damping[:]) <= 1.001 * expected), (period, length)
        assert np.all(np.array(in_c.calming.damping[:]) >= 0.9 * expected), (period, length)
