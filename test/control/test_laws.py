# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Each law against its formula in the book, on floats and traced, and against predictions of the book."""

import itertools
import re
from dataclasses import replace

import numpy as np
import pytest
from closed_loop import simulate
from hypothesis import given, settings
from law_inputs import PROGRAMS, as_written, random_reference, random_state
from random_robots import urdf_robots
from shipped import REDUNDANT, few

from robodyn_ros import InputError, Robot
from robodyn_ros.control import JointReference, State
from robodyn_ros.control.contract.compiled_law import call_law, memory_numbers
from robodyn_ros.control.laws.computed_torque import ComputedTorque, ComputedTorqueParameters
from robodyn_ros.control.laws.damping import Damping
from robodyn_ros.control.laws.pd import PD, PDParameters
from robodyn_ros.control.plugins.registry import law_names, load_controller
from robodyn_ros.description.resources import robot_file, shipped_robots

OURS = [name for name in law_names() if load_controller(name).__module__.startswith("robodyn_ros.")]
LEADING = [name for name in OURS if hasattr(load_controller(name).Parameters, "lead")]
ROUNDING = {"task_priority": 1e-7, "mpc": 1e-7}  # weights, and limits that contradict each other, multiply rounding
ROBOTS = {name: Robot.from_urdf(robot_file(name)) for name in shipped_robots()}


def random_input(n, seed=0):
    q, v, q_d, v_d, a_d = np.random.default_rng(seed).normal(size=(5, n))
    return State(0.0, 0.001, q, v), JointReference(q_d, v_d, a_d)


@pytest.mark.parametrize("name", few(ROBOTS))
def test_pd_is_the_books_formula(name):
    robot = ROBOTS[name]
    state, reference = random_input(robot.n)
    p, d = np.random.default_rng(1).uniform(1.0, 100.0, (2, robot.n))
    effort = PD(robot, PDParameters(p, d)).update(state, reference)
    e, e_dot = reference.q - state.q, reference.v - state.v
    np.testing.assert_allclose(effort, np.diag(p) @ e + np.diag(d) @ e_dot, rtol=1e-12)


@pytest.mark.parametrize("name", LEADING)
def test_gravity_is_that_of_the_positions_at_which_late_efforts_act(name):
    robot = ROBOTS["planar_2r"]
    law, state, terms = load_controller(name)(robot), random_state(robot), {}
    law.activate(state)
    reference, textbook = random_reference(robot, law.follows, state), robot.dynamics(False, "textbook")
    call_law(law, textbook, replace(law.parameters, lead=0.2), state, reference, law.memory, terms=terms)
    np.testing.assert_allclose(terms["gravity"], textbook.gravity(state.q + 0.2 * state.v), rtol=1e-9)


@pytest.mark.parametrize("name", few(ROBOTS))
def test_computed_torque_is_the_books_formula(name):
    """(6.41) with M, h + g from functions of their own, against inverse dynamics of a*."""
    robot = ROBOTS[name]
    state, reference = random_input(robot.n)
    p, d, friction = np.random.default_rng(1).uniform(1.0, 100.0, (3, robot.n))
    book = robot.dynamics(False, "textbook")
    a = reference.a + d * (reference.v - state.v) + p * (reference.q - state.q)
    for lead in (0.0, 0.03):
        effort = ComputedTorque(robot, ComputedTorqueParameters(p, d, friction, lead=lead)).update(state, reference)
        ahead = state.q + lead * state.v
        expected = (book.mass_matrix(ahead) @ a + book.coriolis_matrix(ahead, state.v) @ state.v
                    + book.gravity(ahead) + friction * (state.v + lead * a))
        np.testing.assert_allclose(effort, expected, rtol=1e-9, atol=1e-9)


def test_computed_torque_takes_its_friction_from_the_description():
    robot = ROBOTS["scara"]
    np.testing.assert_array_equal(ComputedTorque(robot).parameters.friction, robot.model.damping)
    assert robot.model.damping.any()


@pytest.mark.parametrize("scale", [1.0, 1e6, 1e150])
def test_damping_takes_energy_out_at_any_speed(scale):
    for robot in ROBOTS.values():
        state, _ = random_input(robot.n)
        v = scale * state.v
        effort = Damping(robot).update(state._replace(v=v), None)
        assert np.isfinite(effort).all() and (effort * v < 0).all()


@pytest.mark.parametrize(("law", "name"), few(
    itertools.product(OURS, ["planar_2r", "scara", "arm7"]),
    [(law, name) for law in OURS for name in (("planar_2r",) if law in PROGRAMS else REDUNDANT)]))
def test_compiled_is_as_written(law, name):
    """Over ticks with different states, references, periods; memories go on from tick to tick."""
    robot = ROBOTS[name]
    controller = load_controller(law)(robot)
    for wrench in (True, False):
        state = random_state(robot, wrench=wrench)
        controller.activate(state)
        memory = controller.memory
        for tick in range(4):
            state = random_state(robot, seed=tick, wrench=wrench)._replace(time=0.002 * tick, period=0.002 * (tick > 0))
            reference = random_reference(robot, controller.follows, state, seed=tick)
            expected, memory = as_written(controller, state, reference, memory)
            effort = controller.update(state, reference)
            assert not controller.uncompiled_reason
            assert effort.shape == (robot.n,) and np.isfinite(expected).all()
            most = ROUNDING.get(law, 1e-12)
            np.testing.assert_allclose(effort, expected, rtol=most, atol=most * (1.0 + np.abs(expected).max()))
            numbers = memory_numbers(memory)
            np.testing.assert_allclose(controller.memory_numbers, numbers, rtol=most,
                                       atol=most * (1.0 + np.abs(numbers).max(initial=0.0)))


def test_error_of_computed_torque_decays_as_chosen():
    """(6.46) on the real, coupled arm: e'' + K_v e' + K_p e = 0 with poles of one's choice per joint."""
    robot = ROBOTS["planar_2r"]
    slow, fast = np.array([4.0, 6.0]), np.array([9.0, 13.0])
    controller = ComputedTorque(robot, ComputedTorqueParameters(slow * fast, slow + fast))
    start = np.array([0.3, -0.2])
    times, q, _ = simulate(robot, controller, q=start, q_d=np.zeros(2), duration=1.0, step=1e-4)
    e_0, t = -start, times[:, None]
    expected = e_0 * (fast * np.exp(-slow * t) - slow * np.exp(-fast * t)) / (fast - slow)
    np.testing.assert_allclose(-q, expected, atol=0.01 * np.abs(e_0).max())


def test_pd_settles_off_by_gravity_over_stiffness():
    """(6.27): at rest K_p e = g(q)."""
    robot = ROBOTS["planar_2r"]
    controller = PD(robot, PDParameters(p=[300.0, 150.0], d=[60.0, 15.0]))
    _, q, v = simulate(robot, controller, q=np.zeros(2), q_d=np.zeros(2), duration=4.0)
    np.testing.assert_allclose(v[-1], 0.0, atol=1e-6)
    offset = np.zeros(2) - q[-1]
    np.testing.assert_allclose(controller.parameters.p * offset, robot.dynamics().gravity(q[-1]), rtol=1e-6)
    assert np.abs(offset).max() > 0.01


@pytest.mark.parametrize("name", few(ROBOTS))
@pytest.mark.parametrize("law", [PD, ComputedTorque])
def test_default_gains_bring_every_robot_to_rest_near_its_goal(law, name):
    robot = ROBOTS[name]
    low, high = np.maximum(robot.model.position_lower, -1.0), np.minimum(robot.model.position_upper, 1.0)
    start, goal = low + 0.55 * (high - low), low + 0.4 * (high - low)
    _, q, v = simulate(robot, law(robot), q=start, q_d=goal, duration=3.0)
    offset = np.abs(robot.dynamics().gravity(goal)) / law(robot).parameters.p if law is PD else 0.0
    assert (np.abs(v[-1]) < 0.02).all()
    assert (np.abs(q[-1] - goal) < 1.3 * offset + 0.01).all()


@pytest.mark.parametrize("name", few(ROBOTS))
def test_default_damping_brings_every_robot_to_rest(name):
    robot = Robot.from_urdf(robot_file(name), gravity=(0.0, 0.0, 0.0))
    q = np.clip(np.zeros(robot.n), robot.model.position_lower, robot.model.position_upper)
    v = np.random.default_rng(0).uniform(-1.0, 1.0, robot.n)
    _, q, v = simulate(robot, Damping(robot), q=q, v=v, q_d=None, duration=0.5)
    energy = [0.5 * v[k] @ robot.dynamics().mass_matrix(q[k]) @ v[k] for k in (0, -1)]
    assert energy[1] < 1e-3 * energy[0]


def is_too_weak(robot, refusal):
    """Whether the joint that a refusal names lacks the effort to hold and brake the robot somewhere."""
    joint, = (k for k, name in enumerate(robot.joint_names) if f"'{name}'" in refusal)
    limit = robot.effort_limit[joint]
    if "cannot hold the robot" not in refusal:
        limit = float(re.search(r"and has (\S+) beside gravity", refusal)[1])
        return float(re.search(r"an effort of (\S+) at some", refusal)[1]) > limit
    samples = np.random.default_rng(1).uniform(np.maximum(robot.position_lower, -np.pi),
                                               np.minimum(robot.position_upper, np.pi), (20000, robot.n))
    return np.abs(robot.dynamics().batch.gravity(samples)[:, joint]).max() > 0.9 * limit


@settings(max_examples=5)
@given(urdf_robots(max_joints=4))
def test_every_law_takes_any_robot(xml):
    """With default parameters, as written, but for tip links that no joint moves and robots that cannot brake."""
    robot = Robot.from_urdf_text(xml)
    state = random_state(robot, wrench=False)
    for law in OURS:
        try:
            controller = load_controller(law)(robot)
        except InputError as error:
            if "axes: expected some of" in str(error):
                assert not robot.dynamics().jacobian(state.q).any()
            else:
                assert is_too_weak(robot, str(error)), error
            continue
        controller.activate(state)
        reference = random_reference(robot, controller.follows, state)
        effort, memory = as_written(controller, state, reference, controller.memory)
        assert np.isfinite(effort).all() and np.isfinite(memory_numbers(memory)).all() and effort.shape == (robot.n,)
