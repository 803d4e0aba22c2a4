# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""PID against its formula, and that its integral does not wind up. For what remains of the error, test_steady_state."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plant_motion import run
from random_robots import urdf_robots
from shipped import few

from robodyn_ros import Robot
from robodyn_ros.compile import compile_function
from robodyn_ros.control import JointReference, State
from robodyn_ros.control.laws.pid import PID, PIDMemory, PIDParameters, default_integral
from robodyn_ros.control.plugins.registry import load_controller
from robodyn_ros.description.resources import robot_file, shipped_robots
from robodyn_ros.textbook.steady_state import closed_loop_poles

ROBOTS = {name: Robot.from_urdf(robot_file(name)) for name in shipped_robots()}
FIELDS = list(PIDParameters.declarations())
NUMBERS = st.floats(-50.0, 50.0)


def test_it_is_known_by_its_class():
    assert load_controller("robodyn_ros.control.laws.pid:PID") is PID


def test_pid_is_the_books_formula():
    """(6.28) with e = q_d - q, the integral as a sum over ticks."""
    robot = ROBOTS["planar_2r"]
    p, i, d = np.array([30.0, 20.0]), np.array([7.0, 5.0]), np.array([3.0, 2.0])
    controller = PID(robot, PIDParameters(p, d, i))
    rng, total = np.random.default_rng(0), np.zeros(2)
    controller.activate(State(0.0, 0.0, np.zeros(2), np.zeros(2)))
    for tick in range(20):
        period = 0.0 if tick == 0 else rng.uniform(0.001, 0.01)
        q, v, q_d, v_d, a_d = rng.uniform(-0.2, 0.2, (5, 2))
        total += (q_d - q) * period
        effort = controller.update(State(0.0, period, q, v), JointReference(q_d, v_d, a_d))
        np.testing.assert_allclose(effort, p * (q_d - q) + d * (v_d - v) + i * total, rtol=1e-12)


def test_it_forgets_when_it_is_activated():
    robot = ROBOTS["planar_2r"]
    controller, one = PID(robot), np.ones(2)
    state, reference = State(0.0, 0.1, 0.0 * one, 0.0 * one), JointReference(0.01 * one, 0.0 * one, 0.0 * one)
    controller.activate(state)
    first = controller.update(state, reference)
    assert (controller.update(state, reference) > first).all()
    controller.activate(state)
    np.testing.assert_array_equal(controller.update(state, reference), first)


def parameters(limit, clamp):
    return PIDParameters(p=np.array([10.0]), d=np.array([1.0]), i=np.array([100.0]), i_clamp=np.array([clamp]),
                         effort_limit=np.array([limit]))


@given(NUMBERS, NUMBERS, NUMBERS, st.floats(0.0, 20.0), st.floats(0.0, 20.0))
def test_the_integral_never_pushes_beyond_the_limit(q, v, integral, limit, clamp):
    memory, zero = PIDMemory(np.array([integral])), np.zeros(1)
    state = State(0.0, 0.01, np.array([q]), np.array([v]))
    effort, after = PID.law(None, parameters(limit, clamp), state, JointReference(zero, zero, zero), memory)
    after = after.effort
    before = -10.0 * q - v + integral
    assert abs(after[0]) <= clamp
    kept = np.clip(integral, -clamp, clamp)
    if abs(integral) <= clamp:
        if -q > 0:  # the integral rises, but not to an effort above the limit
            assert kept <= after[0] and effort[0] <= max(before, limit) + 1e-9
        else:
            assert kept >= after[0] and effort[0] >= min(before, -limit) - 1e-9
        if abs(before - 100.0 * q * 0.01) <= limit:  # free inside
            assert after[0] == pytest.approx(np.clip(integral - 100.0 * q * 0.01, -clamp, clamp), abs=1e-9)


def test_an_integral_out_of_reach_is_brought_back_by_the_first_error_of_the_other_sign():
    zero = np.zeros(1)
    memory = PIDMemory(zero)
    for _ in range(1000):  # ten seconds against a stop
        state = State(0.0, 0.01, np.array([-0.5]), zero)
        effort, memory = PID.law(None, parameters(20.0, 50.0), state, JointReference(zero, zero, zero), memory)
    assert effort == pytest.approx([20.0])
    state = State(0.0, 0.01, np.array([0.1]), zero)
    effort, after = PID.law(None, parameters(20.0, 50.0), state, JointReference(zero, zero, zero), memory)
    assert after.effort < memory.effort and effort < 15.0


def test_anti_windup_keeps_a_saturated_arm_from_overshooting():
    """A step that asks for too much effort; with limits that are no limits the integral winds up meanwhile."""
    robot = ROBOTS["scara"]
    start, goal = np.array([-0.5, 0.0, 0.2, 0.0]), np.array([0.5, 0.0, 0.2, 0.0])
    overshoot = {}
    for limit in (None, 1e6):
        given_limits = {"i": lambda robot: 2.0 * default_integral(robot)}
        given_limits |= {} if limit is None else {"effort_limit": limit, "i_clamp": limit}
        q, _, effort = run(robot, PID(robot, PIDParameters(**given_limits)), goal, duration=1.0, q=start)
        assert (np.abs(effort[:100, 0]) == robot.model.effort_limit[0]).all()
        overshoot[limit] = q[:, 0].max() - goal[0]
    assert overshoot[None] < 0.1 < 0.2 < overshoot[1e6] < 2.0


@pytest.mark.parametrize("name", few(ROBOTS))
def test_default_gains_are_stable_in_configurations_that_were_not_looked_at(name):
    robot = ROBOTS[name]
    gains, model = PID(robot).parameters, robot.model
    low, high = np.maximum(model.position_lower, -np.pi), np.minimum(model.position_upper, np.pi)
    for q in np.random.default_rng(7).uniform(low, high, (50, robot.n)):
        assert closed_loop_poles(robot.model, q, gains.p, gains.d, gains.i).real.max() < 0.0


@settings(max_examples=5)
@given(urdf_robots(max_joints=3))
def test_any_robot_gets_parameters(xml):
    robot = Robot.from_urdf_text(xml)
    for value in vars(PID(robot).parameters).values():
        assert np.isfinite(value).all() and (value >= 0.0).all()
    np.testing.assert_array_equal(PID(robot).parameters.i_clamp, np.minimum(robot.model.effort_limit, 1e9))


def test_the_same_source_can_be_compiled():
    robot = ROBOTS["arm6"]
    n, gains = robot.n, PID(robot).parameters
    inputs = dict.fromkeys(["q", "v", "q_d", "v_d", "memory", *FIELDS], (n,))

    def answer(q, v, q_d, v_d, memory, *values):
        state, reference = State(0.0, 0.001, q, v), JointReference(q_d, v_d, v_d)
        gains = PIDParameters(**dict(zip(FIELDS, values, strict=True)))
        effort, after = PID.law(None, gains, state, reference, PIDMemory(memory))
        return np.stack([effort, after.effort])

    kernel = compile_function(answer, inputs, name="pid")
    rng = np.random.default_rng(0)
    for scale in (0.01, 10.0):  # within the limits and beyond
        arrays = [*(scale * rng.normal(size=(5, n))), *(getattr(gains, field) for field in FIELDS)]
        np.testing.assert_allclose(kernel(*arrays), answer(*arrays), rtol=1e-12, atol=1e-12)
