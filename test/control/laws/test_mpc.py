# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The law `mpc`: its program solved exactly, limits that hold, and horizons that do not fit into a tick."""

import numpy as np
import pytest

from robodyn_ros import InputError, Robot, rollout
from robodyn_ros.control import JointReference, State
from robodyn_ros.control.admm import BoundedProgram
from robodyn_ros.control.laws import mpc
from robodyn_ros.control.laws.computed_torque import ComputedTorque
from robodyn_ros.control.laws.mpc import MPC, MPCParameters, Plan
from robodyn_ros.control.qp import OPTIMAL, solve
from robodyn_ros.resources import robot_file
from robodyn_ros.simulation.commands import Drive
from robodyn_ros.simulation.excursion import excursion
from robodyn_ros.simulation.plant import Plant

PERIOD = 0.002


@pytest.fixture(autouse=True)
def machine_that_is_busy(monkeypatch):
    """Tests run beside others: the check of the time that a plan takes has a test of its own."""
    monkeypatch.setattr(MPC, "_longest_part", lambda law: 0.0)


def named(name):
    return Robot.from_urdf(robot_file(name))


@pytest.mark.parametrize("seed", range(8))
def test_the_solver_is_exact_in_the_end(seed):
    """Against the active-set solver, with rows that contradict each other at a price."""
    rng = np.random.default_rng(seed)
    n, m = 12, 20
    root, a = rng.normal(size=(n, n)), rng.normal(size=(m, n))
    p, g = root @ root.T + 0.1 * np.eye(n), 5.0 * rng.normal(size=n)
    lower = rng.normal(size=m) - 0.5
    upper, price = lower + rng.uniform(0.1, 1.0, m), np.full(m, 1e3)
    exact = solve(p, g, a, lower, upper, softness=1.0 / price)
    assert exact.status == OPTIMAL
    program = BoundedProgram(n, m)
    program.set(p, g, a, lower, upper, price)
    program.factorise()
    errors = []
    for _ in range(4):
        program.iterate(2000)
        errors.append(np.abs(program.x - exact.x).max())
    assert errors[-1] < 1e-6 * (1.0 + np.abs(exact.x).max()), errors


def test_the_plan_is_the_exact_solution():
    """Of two joints over five steps, at their limits, with as many iterations as it takes."""
    robot = named("planar_2r")
    law = MPC(robot, MPCParameters(horizon=5, step=0.02, iterations=5000, velocity_limit=0.4, effort_limit=40.0))
    state = State(0.0, 0.0, np.array([0.2, -0.4]), np.array([0.3, 0.0]))
    law.activate(state)
    given = {}
    inner = law._program.set
    law._program.set = lambda *program: (given.update(program=program), inner(*program))
    *_, plan = law._planning(state, JointReference(np.array([1.0, -1.0]), np.zeros(2), np.zeros(2)))
    p, g, a, lower, upper, price = given["program"]
    exact = solve(p, g, a, lower, upper, softness=1.0 / price)
    assert exact.status == OPTIMAL and np.count_nonzero(exact.multipliers) > 2
    np.testing.assert_allclose(plan.a.reshape(-1), exact.x * law._scale, rtol=1e-5, atol=1e-5 * law._scale.max())


def test_the_efforts_of_a_plan_are_those_of_the_model():
    """The linearisation is exact where the plan stays as it is: its rows are inverse dynamics and friction."""
    robot = named("arm6")
    law = MPC(robot)
    rng = np.random.default_rng(0)
    state = State(0.0, 0.0, rng.normal(0.0, 0.4, 6), rng.normal(0.0, 0.4, 6))
    law.activate(state)
    law._plan = Plan.from_accelerations(0.0, 0.02, state.q, state.v, rng.normal(0.0, 0.5, (20, 6)))
    begin = law._plan.at(0.0)
    law._set_program(0.0, begin.q, begin.v, JointReference(state.q, np.zeros(6), np.zeros(6)), 0.0)
    program, tolerance = law._program, law.parameters.effort_tolerance
    last = [law._plan.at(0.02 * k) for k in range(20)]
    u = np.array([each.a for each in last]).reshape(-1) / law._scale
    flat = law.parameters.effort_limit / tolerance - program._upper[:120].reshape(20, 6)
    efforts = (program._a[:120] @ u).reshape(20, 6) + flat
    for k in range(20):
        expected = robot.dynamics().inverse_dynamics(*last[k]) + robot.model.damping * last[k].v
        np.testing.assert_allclose(efforts[k] * tolerance, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


def jumped(robot, law, start, goal, seconds):
    """Positions, velocities and efforts where the goal jumps, on the simulated robot."""
    plant, none, rows = Plant(robot), np.zeros(robot.n), []
    plant.set_state(start)
    for tick in range(round(seconds / PERIOD)):
        state = State(tick * PERIOD, PERIOD * (tick > 0), plant.q.copy(), plant.v.copy())
        if tick == 0:
            law.activate(state)
        effort = law.update(state, JointReference(goal, none, none))
        rows.append((state.q, state.v, effort))
        plant.advance(Drive(np.clip(effort, -robot.effort_limit, robot.effort_limit), none, none), 2)
    return map(np.array, zip(*rows, strict=True))


@pytest.mark.parametrize("name", ["arm6", "arm7"])
def test_limits_hold_where_a_goal_jumps(name):
    """A clipped law passes the velocities' limits many times over, and arrives later or not at all."""
    robot = named(name)
    lower, upper = np.maximum(robot.position_lower, -2.0), np.minimum(robot.position_upper, 2.0)
    start, goal = lower + 0.3 * (upper - lower), lower + 0.75 * (upper - lower)
    q, v, effort = jumped(robot, MPC(robot), start, goal, 1.2)
    assert (np.abs(v) <= 1.05 * robot.velocity_limit).all()
    assert (np.abs(effort) <= robot.effort_limit * (1.0 + 1e-9)).all()
    assert (q <= robot.position_upper + 0.01).all() and (q >= robot.position_lower - 0.01).all()
    assert np.abs(q[-1] - goal).max() < 0.12
    clipped_q, clipped_v, _ = jumped(robot, ComputedTorque(robot), start, goal, 1.2)
    assert (np.abs(clipped_v) > 2.0 * robot.velocity_limit).any()
    assert np.abs(q - goal).sum() < np.abs(clipped_q - goal).sum()


def test_it_follows_a_motion_and_repeats_itself():
    robot = named("arm6")
    law = MPC(robot)
    first, again = (rollout(robot, law, excursion(robot), duration=0.4) for _ in range(2))
    assert np.abs(first.q - first.reference.q).max() < 0.015
    np.testing.assert_array_equal(again.q, first.q)
    assert "MPC is a Controller" in law.uncompiled_reason


@pytest.mark.parametrize("rate, parts", [(500.0, 1), (250.0, 2), (100.0, 5), (1.0, 500), (300.0, 2)])
def test_planning_is_spread_over_the_ticks_between_two_plans(rate, parts):
    robot = named("planar_2r")
    law = MPC(robot, MPCParameters(rate=rate, horizon=3))
    rest = np.zeros(2)
    state = State(0.0, 0.0, rest, rest)
    law.activate(state)
    *work, plan = law._planning(state, JointReference(rest, rest, rest))
    assert work == [None] * parts and plan.start == pytest.approx(parts * robot.timing.period)


def test_a_rate_beyond_the_controllers_is_one_line():
    robot = named("planar_2r").with_timing(0.02)
    assert MPC(robot).parameters.rate == 50.0
    with pytest.raises(InputError, match="^mpc.rate: MPC asks for 100 Hz, more than the controller's rate, 50 Hz"):
        MPC(robot, MPCParameters(rate=100.0))


def test_a_horizon_too_long_for_the_period_is_one_line(monkeypatch):
    monkeypatch.undo()
    monkeypatch.setattr(mpc, "_TRIALS", 2)
    said = r"mpc: a part of the planning over 100 steps takes [\d.e+]+ ms, and a tick has 1 ms; lower mpc.horizon, "
    with pytest.raises(InputError, match=said):
        MPC(named("arm7").with_timing(0.001), MPCParameters(horizon=100, rate=1000.0))


def test_bad_parameters_are_one_line():
    robot = named("planar_2r")
    for wrong in ({"horizon": 1}, {"step": 0.0}, {"rate": float("nan")}, {"iterations": 0}, {"velocity_limit": -1.0}):
        with pytest.raises(InputError, match=f"MPCParameters.{next(iter(wrong))}"):
            MPC(robot, MPCParameters(**wrong))
