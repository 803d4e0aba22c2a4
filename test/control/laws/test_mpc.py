# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The law `mpc`: its program and its final weight, bounds that hold, and what it does without a plan."""

import daqp
import numpy as np
import pytest
from scipy.linalg import solve_continuous_are
from shipped import few

from robodyn_ros import InputError, Robot, rollout
from robodyn_ros.control import JointReference, State
from robodyn_ros.control.laws.computed_torque import ComputedTorque
from robodyn_ros.control.laws.mpc import MPC, MPCParameters, final_weight
from robodyn_ros.control.optimisation import qp
from robodyn_ros.control.optimisation.safety_margins import braking
from robodyn_ros.description.resources import robot_file
from robodyn_ros.simulation.commands import Drive
from robodyn_ros.simulation.plant import Plant
from robodyn_ros.simulation.standard_motion import excursion
from robodyn_ros.toolbox.export.c_law import law_source

PERIOD = 0.002


def named(name):
    return Robot.from_urdf(robot_file(name))


def turning(inertia, effort, velocity, limit=3.0, damping=0.0):
    """A robot of one revolute joint about a vertical axis."""
    return Robot.from_urdf_text(f"""<robot name="r"><link name="base"/><link name="l1"><inertial><mass value="1"/>
<inertia ixx="{inertia}" iyy="{inertia}" izz="{inertia}" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="j1" type="revolute"><parent link="base"/><child link="l1"/><axis xyz="0 0 1"/>
<limit lower="{-limit}" upper="{limit}" effort="{effort}" velocity="{velocity}"/>
<dynamics damping="{damping}" friction="0"/></joint></robot>""")


def jumped(robot, law, start, goal, seconds, v=None):
    """Positions, velocities, efforts and status where the goal jumps, on the simulated robot."""
    plant, none, rows, delay = Plant(robot), np.zeros(robot.n), [], robot.timing.delay
    plant.set_state(start, v)
    sent = [robot.dynamics().gravity(start)] * delay
    for tick in range(round(seconds / robot.timing.period)):
        period = robot.timing.period
        state = State(tick * period, period * (tick > 0), plant.q.copy(), plant.v.copy())
        if tick == 0:
            law.activate(state)
        effort = law.update(state, JointReference(goal, none, none))
        status = law.memory.law.status[0] if isinstance(law, MPC) else 0.0
        rows.append((state.q, state.v, effort, status))
        sent.append(effort)
        plant.advance(Drive(np.clip(sent.pop(0), -robot.effort_limit, robot.effort_limit), none, none),
                      round(period / plant.step))
    return map(np.array, zip(*rows, strict=True))


def assert_within(robot, q, v, effort):
    assert np.isfinite(effort).all()
    assert (np.abs(v) <= 1.01 * robot.velocity_limit).all(), np.abs(v / robot.velocity_limit).max()
    assert (np.abs(effort) <= robot.effort_limit * (1.0 + 1e-9)).all()
    assert (q <= robot.position_upper).all() and (q >= robot.position_lower).all()


def planned_motion(law, u, q, v, t):
    """Positions and velocities at a time of a plan, step by step, and the accelerations then."""
    for length, a in zip(law.parameters.step_lengths, u, strict=True):
        since = min(t, length)
        q, v, t = q + since * (v + 0.5 * since * a), v + since * a, t - since
        if t <= 0.0:
            break
    return q, v, a


def cost(law, u, state, reference):
    """The integral of the module's description by the midpoint rule, and the weight of the end."""
    own, total = law.parameters, 0.0
    accelerations = np.diagonal(law.dynamics.mass_matrix(state.q)) / own.effort_tolerance
    begin = 0.0
    for length in own.step_lengths:
        for t in begin + (np.arange(200) + 0.5) * length / 200:
            q, v, a = planned_motion(law, u, state.q, state.v, t)
            wanted = reference.q + t * (reference.v + 0.5 * t * reference.a), reference.v + t * reference.a
            terms = ((q - wanted[0]) / own.q_tolerance, (v - wanted[1]) / own.v_tolerance,
                     accelerations * (a - reference.a))
            total += length / 200 * sum(term @ term for term in terms)
        begin += length
    q, v, _ = planned_motion(law, u, state.q, state.v, begin)
    e = q - reference.q - begin * (reference.v + 0.5 * begin * reference.a)
    e_v = v - reference.v - begin * reference.a
    for j in range(len(e)):
        p = solve_continuous_are(np.array([[0.0, 1.0], [0.0, 0.0]]), np.array([[0.0], [1.0]]),
                                 np.diag([own.q_tolerance[j]**-2, own.v_tolerance[j]**-2]), [[accelerations[j]**2]])
        total += np.array([e[j], e_v[j]]) @ p @ [e[j], e_v[j]]
    return total


def test_the_plan_is_the_optimum_by_another_formulation():
    """daqp solves the program that the simulated cost has, with bounds of the motion simulated step by step."""
    robot = named("planar_2r")
    law = MPC(robot, MPCParameters(horizon=3, duration=0.2, velocity_limit=0.4, effort_limit=30.0, friction=0.7))
    state = State(0.0, 0.0, np.array([0.2, -0.4]), np.array([0.3, 0.0]))
    reference = JointReference(np.array([1.0, -1.0]), np.array([0.1, 0.0]), np.array([0.0, 0.3]))
    law.activate(state)
    law.update(state, reference)
    unit = np.eye(6).reshape(6, 3, 2)
    zero = cost(law, np.zeros((3, 2)), state, reference)
    plus, minus = (np.array([cost(law, sign * each, state, reference) for each in unit]) for sign in (1.0, -1.0))
    h = np.array([[cost(law, one + other, state, reference) - a - b + zero for other, b in zip(unit, plus, strict=True)]
                  for one, a in zip(unit, plus, strict=True)])

    def bounded(u):
        ends = np.cumsum(law.parameters.step_lengths)
        motion = [planned_motion(law, u, state.q, state.v, t) for t in ends]
        mass, bias = robot.dynamics().mass_matrix(state.q), robot.dynamics().bias(state.q, state.v)
        efforts = [mass @ a + bias + 0.7 * v for _, v, a in motion]
        return np.concatenate([[q for q, _, _ in motion], [v for _, v, _ in motion], efforts]).reshape(-1)

    free = bounded(np.zeros((3, 2)))
    rows = np.array([bounded(each) - free for each in unit]).T
    least, most = law.parameters.safety_positions
    upper = np.concatenate([np.tile(each, 3) for each in (most, np.full(2, 0.4), np.full(2, 30.0))])
    lower = np.concatenate([np.tile(each, 3) for each in (least, np.full(2, -0.4), np.full(2, -30.0))])
    expected, _, flag, _ = daqp.solve(h, 0.5 * (plus - minus), np.ascontiguousarray(rows), upper - free, lower - free)
    assert flag == 1 and law.memory.law.status[0] == qp.OPTIMAL
    assert np.count_nonzero(np.abs(law.memory.law.multipliers) > 1e-6) >= 3
    np.testing.assert_allclose(law.memory.law.a.reshape(-1), expected, rtol=1e-3, atol=1e-3 * np.abs(expected).max())


def test_the_final_weight_solves_the_riccati_equation():
    weights = np.random.default_rng(0).uniform(0.01, 100.0, (3, 8))
    for one, (q, v, a) in zip(np.transpose(final_weight(*weights)), weights.T, strict=True):
        exact = solve_continuous_are(np.eye(2, k=1), np.array([[0.0], [1.0]]), np.diag([q, v]), [[a]])
        np.testing.assert_allclose(one, exact[np.triu_indices(2)], rtol=1e-9)


@pytest.mark.parametrize("jump", few([0.5, 2.5, 50.0], (2.5,)))
def test_one_joint_keeps_its_velocity_limit_after_a_jump(jump):
    """The last goal is beyond the stop."""
    robot = turning(0.5, 5.0, 2.0)
    q, v, effort, status = jumped(robot, MPC(robot), [-1.2], np.array([-1.2 + jump]), 4.0)
    assert_within(robot, q, v, effort)
    assert (status == qp.OPTIMAL).all()
    assert abs(q[-1, 0] - min(-1.2 + jump, 2.95)) < 0.02 and abs(v[-1, 0]) < 0.02


@pytest.mark.parametrize(("inertia", "damping", "delay"), few([(1e-4, 0.5, 0), (1e-5, 0.1, 0), (1e-3, 1.0, 2)], 1))
def test_a_light_wrist_with_much_friction_keeps_its_limits(inertia, damping, delay):
    """Friction takes the speed of such a joint within a fraction of a control period: T D / M is 2 to 20."""
    robot = turning(inertia, 5.0, 2.0, damping=damping).with_timing(PERIOD, delay)
    q, v, effort, status = jumped(robot, MPC(robot), [-1.2], np.array([1.0]), 3.0)
    assert_within(robot, q, v, effort)
    assert (status == qp.OPTIMAL).all() and abs(q[-1, 0] - 1.0) < 0.02


@pytest.mark.long
@pytest.mark.parametrize("name", ["arm6", "arm7"])
@pytest.mark.parametrize("beyond", [False, True])
def test_limits_hold_where_a_goal_jumps(name, beyond):
    """A clipped law passes the velocities' limits many times over."""
    robot = named(name)
    lower, upper = np.maximum(robot.position_lower, -2.0), np.minimum(robot.position_upper, 2.0)
    start, goal = lower + 0.3 * (upper - lower), lower + 0.75 * (upper - lower)
    if beyond:
        goal = robot.position_upper + np.linspace(0.1, 10.0, robot.n)
    law = MPC(robot)
    q, v, effort, status = jumped(robot, law, start, goal, 1.5)
    assert_within(robot, q, v, effort)
    assert (status == qp.OPTIMAL).all()
    if not beyond:
        assert np.abs(q[-1] - goal).max() < 0.12
        _, clipped, _, _ = jumped(robot, ComputedTorque(robot), start, goal, 1.2)
        assert (np.abs(clipped) > 2.0 * robot.velocity_limit).any()


def test_without_a_plan_the_robot_brakes_and_the_memory_says_so():
    """A reference of such a speed leaves no numbers to the program."""
    robot = named("arm6")
    law, q, v = MPC(robot), np.full(6, 0.2), 0.5 * robot.velocity_limit
    wild = JointReference(q, np.full(6, 1e200), np.full(6, 1e200))
    plant, none = Plant(robot), np.zeros(6)
    plant.set_state(q, v)
    for tick in range(400):
        state = State(tick * PERIOD, PERIOD * (tick > 0), plant.q.copy(), plant.v.copy())
        if tick == 0:
            law.activate(state)
        effort = law.update(state, wild)
        assert np.isfinite(effort).all() and (np.abs(effort) <= robot.effort_limit * (1.0 + 1e-9)).all()
        plant.advance(Drive(effort, none, none), 2)
        assert (np.abs(plant.v) <= np.maximum(np.abs(state.v), 1e-3)).all()
    assert dict(zip(law.memory_names(), law.memory_numbers, strict=True))["status"] == qp.INVALID
    assert np.abs(plant.v).max() < 1e-2 and (np.abs(plant.q - q) < v**2 / braking(robot) + 0.1).all()
    law.update(State(1.0, PERIOD, plant.q, plant.v), JointReference(plant.q.copy(), none, none))
    assert law.memory.law.status[0] == qp.OPTIMAL


def test_a_lower_velocity_limit_holds():
    robot = named("planar_2r")
    law = MPC(robot, MPCParameters(velocity_limit=0.4))
    q, v, _, _ = jumped(robot, law, np.array([0.2, -0.4]), np.array([1.0, -1.0]), 4.0)
    assert np.abs(v).max() < 0.402 and np.abs(q[-1] - [1.0, -1.0]).max() < 0.02


@pytest.mark.long
def test_it_follows_a_motion_compiled_and_in_c():
    robot = named("arm6")
    law = MPC(robot)
    done = rollout(robot, law, excursion(robot), duration=0.4)
    assert not done.note and np.abs(done.q - done.reference.q).max() < 0.015
    assert "arm6_mpc_tick" in str(law_source(law, "arm6_mpc"))


def test_steps_grow_and_fill_the_horizon():
    growing = MPC(named("planar_2r"), MPCParameters(horizon=4, step=0.01, duration=0.15)).parameters
    np.testing.assert_allclose(growing.step_lengths, 0.01 * 2.0 ** np.arange(4), rtol=1e-9)
    assert np.ptp(MPC(named("planar_2r"), MPCParameters(step=0.02, duration=0.1)).parameters.step_lengths) < 1e-9


def test_bad_parameters_are_one_line():
    robot = named("planar_2r")
    for wrong in ({"horizon": 0}, {"step": 0.0}, {"duration": float("nan")}, {"velocity_limit": -1.0}):
        with pytest.raises(InputError, match=f"MPCParameters.{next(iter(wrong))}"):
            MPC(robot, MPCParameters(**wrong))
    with pytest.raises(InputError, match=r"^mpc.horizon: expected at most 30 steps for 2 joints, received 31"):
        MPC(robot, MPCParameters(horizon=31))
    with pytest.raises(InputError, match=r"^mpc.duration: expected at least 0.1 s, .* received 0.05"):
        MPC(robot, MPCParameters(duration=0.05))
