# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Prediction over a known delay: exact for the model itself, and a wider range of stable gains."""

from collections import deque

import numpy as np
import pytest
from recorded_loop import RecordedLoop

from robodyn_ros import Robot
from robodyn_ros.control.contract.state import State
from robodyn_ros.control.laws.computed_torque import ComputedTorque, ComputedTorqueParameters
from robodyn_ros.control.laws.damping import Damping
from robodyn_ros.control.plugins.plugin import Plugin
from robodyn_ros.control.runtime.measurement import Measurement
from robodyn_ros.control.runtime.requests import NewSettings
from robodyn_ros.control.runtime.state_prediction import StatePredictor
from robodyn_ros.description.resources import robot_file
from robodyn_ros.simulation.commands import Drive
from robodyn_ros.simulation.model_perturbations import with_mass_error
from robodyn_ros.simulation.plant import Plant

ROBOT = Robot.from_urdf(robot_file("planar_2r"))
HEAVIER = Robot(with_mass_error(ROBOT.model, 10.0))
PERIOD = 0.002
START, NONE = np.array([0.5, -0.7]), np.zeros(2)
GAINS = 100.0 * 4.0 ** np.arange(5)


def drive(plant, effort):
    plant.advance(Drive(effort, NONE, NONE), round(PERIOD / plant.step))


@pytest.mark.parametrize("damping", [0, 3000])
def test_the_state_after_the_delay_is_that_of_the_plant_under_the_commands_in_between(damping):
    """Also with friction that stops the joints within a period."""
    text = robot_file("planar_2r").read_text(encoding="utf-8").replace('damping="0"', f'damping="{damping}"')
    periods, robot = 4, Robot.from_urdf_text(text)
    plant, predictor, errors, changes = Plant(robot, step=PERIOD, position=START), StatePredictor(robot), [], []
    predictor.delay = periods * PERIOD
    measured, rng = deque([(plant.q, plant.v)] * (periods + 1), maxlen=periods + 1), np.random.default_rng(1)
    for tick in range(100):
        old = measured[0]
        found = predictor.predicted(State(tick * PERIOD, PERIOD if tick else 0.0, *old))
        if tick > periods:
            errors.append(np.abs(found.v - plant.v).max())
            changes.append(np.abs(old[1] - plant.v).max())
        effort = rng.uniform(-20.0, 20.0, 2)
        predictor.note(effort)
        drive(plant, effort)
        measured.append((plant.q, plant.v))
    assert max(errors) < 0.01 * max(changes)


def test_a_part_of_a_period_is_predicted_too():
    predictor, q, v = StatePredictor(ROBOT), START, np.array([1.0, 0.0])
    predictor.delay = 1.5 * PERIOD
    for tick in range(4):
        found = predictor.predicted(State(tick * PERIOD, PERIOD if tick else 0.0, q, v))
        predictor.note(ROBOT.dynamics().gravity(q))
    assert found.q[0] - q[0] == pytest.approx(1.5 * PERIOD, rel=0.02)


def test_without_a_delay_the_state_is_the_one_measured():
    predictor, state = StatePredictor(ROBOT), State(0.0, PERIOD, START, NONE)
    predictor.note(NONE)
    assert predictor.predicted(state) is state


def is_stable(gain, delay, prediction, robot=ROBOT):
    """Whether computed torque brings the arm home from 0.03 rad, measured late by some periods."""
    law = ComputedTorque(ROBOT, ComputedTorqueParameters(p=gain, d=2.0 * np.sqrt(gain)).for_robot(ROBOT))
    loop = RecordedLoop(ROBOT, Plugin("law", law), Plugin("safe", Damping(ROBOT)), 0.5)
    loop.request(NewSettings(delay=PERIOD * prediction))
    plant = Plant(robot, step=0.001, position=START)
    measured = deque([(plant.q, plant.v)] * (delay + 1), maxlen=delay + 1)
    loop.tick(Measurement(2_000_000, START + 0.03, NONE))  # it holds this; a jump by less than 0.05 is none
    speeds = []
    for tick in range(400):
        drive(plant, loop.tick(Measurement((tick + 2) * 2_000_000, *measured[0])).effort)
        measured.append((plant.q, plant.v))
        speeds.append(np.abs(plant.v).max())
    return max(speeds[-100:]) < 0.02


def greatest_stable_gain(delay, prediction, robot=ROBOT):
    stable = [gain for gain in GAINS if is_stable(gain, delay, prediction, robot)]
    return max(stable, default=0.0)


def test_prediction_widens_the_range_of_stable_gains_also_with_a_wrong_model():
    without = greatest_stable_gain(5, 0)
    exact, wrong = greatest_stable_gain(5, 5), greatest_stable_gain(5, 5, HEAVIER)
    assert exact >= 16.0 * without and wrong >= 16.0 * without > 0.0
