# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Iterative learning: the table's update, errors that fall over repeats, what a repeat is."""

import numpy as np
import pytest
from plant_motion import follow, heavier, there_and_back
from shipped import few

from robodyn_ros import InputError, Robot
from robodyn_ros.control import JointReference, State
from robodyn_ros.control.laws.iterative_learning import IterativeLearning, IterativeLearningParameters
from robodyn_ros.control.laws.pd_gravity import PDGravity
from robodyn_ros.description.resources import robot_file, shipped_robots

ROBOTS = {name: Robot.from_urdf(robot_file(name)) for name in shipped_robots()}
PERIOD, N = 0.01, 2


def play(controller, q, v, ticks, moving, errors):
    """Efforts of ticks at one state while the reference is off by errors, moving or not."""
    efforts = []
    for k in range(ticks):
        error, rate = errors(k)
        reference = JointReference(q + error, v + rate, np.ones(N) if moving else np.zeros(N))
        efforts.append(controller.update(State(0.0, PERIOD, q, v), reference))
    return np.array(efforts)


def test_a_repeat_adds_the_feedback_of_the_one_before():
    """Three repeats with constant errors: the table is then a geometric sum, the same at every knot."""
    robot = ROBOTS["planar_2r"]
    controller = IterativeLearning(robot, IterativeLearningParameters(
        p=[50.0, 30.0], d=[4.0, 2.0], duration=0.5, knots=6, learning_p=0.5, learning_d=0.25, forgetting=0.1))
    q, v, e, e_dot = np.array([0.3, -0.5]), np.zeros(N), np.array([0.02, -0.01]), np.array([0.1, 0.3])
    controller.activate(State(0.0, 0.0, q, v))
    feedback = controller.parameters.p * e + controller.parameters.d * e_dot
    lesson = 0.5 * controller.parameters.p * e + 0.25 * controller.parameters.d * e_dot
    gravity, table = robot.dynamics().gravity(q), np.zeros(N)
    for _ in range(3):
        moving = play(controller, q, v, 51, True, lambda _: (e, e_dot))
        np.testing.assert_allclose(moving, np.tile(feedback + gravity + table, (51, 1)), rtol=1e-9)
        resting = play(controller, q, v, 5, False, lambda _: (np.zeros(N), np.zeros(N)))
        table = 0.9 * table + lesson
        np.testing.assert_allclose(resting, np.tile(gravity + table, (5, 1)), rtol=1e-9)


def test_it_learns_at_the_time_of_the_error():
    """An error in the second half of the repeat changes the second half of the table only."""
    robot = ROBOTS["planar_2r"]
    controller = IterativeLearning(robot, IterativeLearningParameters(duration=1.0, knots=11))
    q, v = np.zeros(N), np.zeros(N)
    controller.activate(State(0.0, 0.0, q, v))
    play(controller, q, v, 101, True, lambda k: (np.full(N, 0.01 * (k > 60)), np.zeros(N)))
    play(controller, q, v, 3, False, lambda _: (np.zeros(N), np.zeros(N)))
    again = play(controller, q, v, 101, True, lambda _: (np.zeros(N), np.zeros(N))) - robot.dynamics().gravity(q)
    np.testing.assert_allclose(again[:50], 0.0, atol=1e-9)
    np.testing.assert_allclose(again[71:99], np.tile(0.3 * 0.01 * controller.parameters.p, (28, 1)), rtol=1e-6)


def test_rest_in_the_middle_of_a_repeat_does_not_end_it():
    robot = ROBOTS["planar_2r"]
    controller = IterativeLearning(robot, IterativeLearningParameters(duration=1.0))
    q, v, off = np.zeros(N), np.zeros(N), lambda _: (np.full(N, 0.01), np.zeros(N))
    controller.activate(State(0.0, 0.0, q, v))
    for moving in (True, False, True):
        efforts = play(controller, q, v, 30, moving, off)
    np.testing.assert_allclose(efforts, np.tile(0.01 * controller.parameters.p + robot.dynamics().gravity(q), (30, 1)))


@pytest.mark.parametrize("name", few(ROBOTS, ("scara",)))
def test_errors_fall_over_repeats_with_a_wrong_model(name):
    robot = ROBOTS[name]
    trajectory, pause, repeats = there_and_back(robot), 0.2, 8
    motion = follow(heavier(robot), IterativeLearning(robot), lambda t: trajectory.sample(t % (2.0 + pause)),
                    repeats * (2.0 + pause), trajectory.sample(0.0).q, step=2e-3)
    error = np.array([reference.q for reference in motion.references]) - motion.q
    rms = [np.sqrt(np.mean(part**2)) for part in np.split(error, repeats)]
    assert (np.diff(rms) < 0.0).all() and rms[-1] < 0.3 * rms[0]


def test_without_learning_it_is_pd_gravity():
    robot = ROBOTS["arm6"]
    trajectory = there_and_back(robot)
    learning = IterativeLearning(robot, IterativeLearningParameters(learning_p=0.0, learning_d=0.0))
    motions = [follow(robot, law, lambda t: trajectory.sample(t % 2.0), 4.0, trajectory.sample(0.0).q, step=2e-3)
               for law in (learning, PDGravity(robot))]
    np.testing.assert_allclose(motions[0].q, motions[1].q, atol=1e-9)


@pytest.mark.parametrize("wrong", [{"duration": 0.0}, {"knots": 1}, {"knots": 10.0}, {"learning_p": -0.1},
                                   {"forgetting": 1.5}])
def test_wrong_parameters_are_refused(wrong):
    with pytest.raises(InputError, match=next(iter(wrong))):
        IterativeLearning(ROBOTS["scara"], IterativeLearningParameters(**wrong))
