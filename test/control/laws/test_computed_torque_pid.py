# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Computed torque with an integral: formula, poles, no offset with a wrong model, no windup."""

import numpy as np
import pytest
from closed_loop import simulate
from law_inputs import frictionless
from plant_motion import follow, heavier, middle, there_and_back
from shipped import few

from robodyn_ros import InputError, Robot
from robodyn_ros.control import JointReference, State
from robodyn_ros.control.laws.computed_torque import ComputedTorque
from robodyn_ros.control.laws.computed_torque_pid import ComputedTorquePID, ComputedTorquePIDParameters
from robodyn_ros.description.resources import robot_file, shipped_robots

ROBOTS = {name: Robot.from_urdf(robot_file(name)) for name in shipped_robots()}


@pytest.mark.parametrize("name", few(ROBOTS))
def test_it_is_6_41_with_an_integral(name):
    robot = ROBOTS[name]
    rng, n = np.random.default_rng(0), robot.n
    p, d, i, friction = rng.uniform(1.0, 20.0, (4, n))
    controller = ComputedTorquePID(robot, ComputedTorquePIDParameters(p, d, friction, i, 1e9, 1e9))
    book, total = robot.dynamics(False, "textbook"), np.zeros(n)
    controller.activate(State(0.0, 0.0, np.zeros(n), np.zeros(n)))
    for period in (0.0, 0.002, 0.004, 0.001):
        q, v, q_d, v_d, a_d = rng.normal(size=(5, n))
        a = a_d + d * (v_d - v) + p * (q_d - q) + i * total
        expected = book.mass_matrix(q) @ a + book.coriolis_matrix(q, v) @ v + book.gravity(q) + friction * v
        effort = controller.update(State(0.0, period, q, v), JointReference(q_d, v_d, a_d))
        np.testing.assert_allclose(effort, expected, rtol=1e-9, atol=1e-9)
        total += period * (q_d - q)


def test_error_decays_with_the_poles_chosen():
    """Three poles per joint; e(0) = e_0, e'(0) = 0 and no integral at the start, on the real, coupled arm."""
    robot = ROBOTS["planar_2r"]
    poles = np.array([[-4.0, -9.0, -15.0], [-6.0, -13.0, -20.0]])
    d, p, i = -poles.sum(axis=1), (poles * np.roll(poles, 1, axis=1)).sum(axis=1), -poles.prod(axis=1)
    controller = ComputedTorquePID(robot, ComputedTorquePIDParameters(p=p, d=d, i=i, i_clamp=1e9, effort_limit=1e9))
    start = np.array([0.03, -0.02])
    times, q, _ = simulate(robot, controller, q=start, q_d=np.zeros(2), duration=1.5, step=1e-4)
    for joint in range(2):  # e''(0) = -p e_0
        e_0 = -start[joint]
        shares = np.linalg.solve(np.vander(poles[joint], increasing=True).T, [e_0, 0.0, -p[joint] * e_0])
        expected = np.exp(np.outer(times, poles[joint])) @ shares
        np.testing.assert_allclose(-q[:, joint], expected, atol=0.01 * abs(e_0))


@pytest.mark.parametrize("name", few(frictionless(ROBOTS), ("scara",)))
def test_a_wrong_model_leaves_no_offset(name):
    robot = ROBOTS[name]
    q_d, reach = middle(robot)
    rest = np.zeros(robot.n)
    offsets = {}
    for law in (ComputedTorque, ComputedTorquePID):
        motion = follow(heavier(robot), law(robot), lambda _: JointReference(q_d, rest, rest), 2.5, q_d - 0.2 * reach)
        offsets[law] = np.abs(q_d - motion.q[-1])
    without_integral = np.abs(robot.dynamics().gravity(q_d)) > 0.1
    assert (offsets[ComputedTorquePID] < 2e-4).all()
    assert (offsets[ComputedTorquePID] <= 0.1 * offsets[ComputedTorque] + 1e-5)[without_integral].all()


@pytest.mark.parametrize("name", frictionless(ROBOTS))
def test_it_tracks_with_20_percent_more_mass_than_the_model(name):
    robot = ROBOTS[name]
    trajectory = there_and_back(robot)
    motion = follow(heavier(robot), ComputedTorquePID(robot), trajectory.sample, 2.5, trajectory.sample(0.0).q)
    error = motion.error
    assert np.abs(error).max() < 0.02 and np.abs(error[-1]).max() < 2e-3


@pytest.mark.parametrize(("name", "step"), [("scara", 0.3), ("planar_2r", 0.8)])
def test_the_integral_does_not_wind_up(name, step):
    """A step that asks for too much effort; with limits that are no limits the integral grows meanwhile."""
    robot, overshoot = ROBOTS[name], {}
    goal, rest = middle(robot)[0], np.zeros(robot.n)
    start = goal - step * np.eye(robot.n)[0]
    for limit in (None, 1e9):
        parameters = ComputedTorquePIDParameters(**({} if limit is None else {"effort_limit": limit, "i_clamp": 1e9}))
        motion = follow(robot, ComputedTorquePID(robot, parameters), lambda _: JointReference(goal, rest, rest), 1.2,
                        start)
        assert (np.abs(motion.effort[:20, 0]) == robot.model.effort_limit[0]).all()
        overshoot[limit] = motion.q[:, 0].max() - goal[0]
    assert overshoot[None] < 0.8 * overshoot[1e9]


@pytest.mark.parametrize("wrong", [{"i": -1.0}, {"i_clamp": np.nan}, {"p": np.ones(5)}, {"d": "high"}])
def test_wrong_parameters_are_refused(wrong):
    with pytest.raises(InputError, match=next(iter(wrong))):
        ComputedTorquePID(ROBOTS["scara"], ComputedTorquePIDParameters(**wrong))
