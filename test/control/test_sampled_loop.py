# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Stability bounds of sampled, delayed laws against roots, and against simulated robots."""

from dataclasses import replace

import numpy as np
import pytest
from shipped import few

from robodyn_ros import Robot
from robodyn_ros.control.default_gains import joint_gains, sampled_mass_matrices, sampled_positions
from robodyn_ros.control.laws.damping import Damping, DampingParameters
from robodyn_ros.control.laws.gravity_compensation import GravityCompensation
from robodyn_ros.control.laws.pd import PD, PDParameters
from robodyn_ros.control.laws.pid import PIDMemory
from robodyn_ros.control.registry import make_controller
from robodyn_ros.control.sampled_loop import (
    FACTORS,
    Postures,
    differences,
    holding_gains,
    most_damping,
    stable_factor,
)
from robodyn_ros.resources import robot_file, shipped_robots
from robodyn_ros.simulation.rollout import ClosedLoop
from robodyn_ros.timing import LoopTiming

DELAYS = (0, 1, 2, 3, 6, 10)


def weightless(name):
    """A shipped robot without gravity, which limits the delay by itself."""
    return Robot.from_urdf(robot_file(name), gravity=(0.0, 0.0, 0.0))


@pytest.mark.parametrize("delay", DELAYS)
def test_the_bound_of_damping_is_that_of_the_roots(delay):
    """z^(N+1) - z^N + delta leaves the unit circle at the bound, neither before nor after."""
    for share, stable in ((0.999, True), (1.001, False)):
        polynomial = np.zeros(delay + 2)
        polynomial[:2], polynomial[-1] = (1.0, -1.0), polynomial[-1] + share * most_damping(delay)
        if not delay:
            polynomial = np.array([1.0, share * most_damping(0) - 1.0])
        assert (np.abs(np.roots(polynomial)).max() < 1.0) == stable


@pytest.mark.parametrize("name", few(shipped_robots()))
@pytest.mark.parametrize("delay", (0, 3, 10))
def test_coupled_joints_are_stable_up_to_the_bound_of_one_joint(name, delay):
    """T lambda_max(M^-1 D) = delta(theta), and T k_i / d_i at most the ratio at theta: in the module's docstring."""
    robot, period, random = weightless(name), 0.004, np.random.default_rng(3)
    theta = 0.7 * np.pi / (2 * delay + 1)
    bound = 2.0 * np.sin(theta / 2.0) * np.sin((delay + 0.5) * theta)
    ratio = 2.0 * np.tan(theta / 2.0) / np.tan((delay + 0.5) * theta)
    inverses, q = np.linalg.inv(sampled_mass_matrices(robot)), sampled_positions(robot)
    d = joint_gains(robot)[1] * random.uniform(0.1, 10.0, robot.n)
    d *= 0.99 * bound / (period * np.linalg.eigvals(inverses * d).real.max())
    p = ratio * d / period * random.uniform(0.2, 1.0, robot.n)
    law = PD(robot, PDParameters(p=p, d=d))
    assert stable_factor(law, law.parameters, LoopTiming(period, delay), q) >= 1.0


@pytest.mark.parametrize("name", few(shipped_robots()))
@pytest.mark.parametrize("delay", (0, 2, 10))
def test_damping_beyond_the_bound_is_unstable(name, delay):
    robot, period = weightless(name), 0.002
    inverses, q = np.linalg.inv(sampled_mass_matrices(robot)), sampled_positions(robot)
    d = joint_gains(robot)[1]
    d = d * most_damping(delay) / (period * np.linalg.eigvals(inverses * d).real.max())
    for factor, stable in ((0.98, True), (1.1 + robot.model.damping.max() / d.min(), False)):
        law = Damping(robot, DampingParameters(d=factor * d))
        assert (stable_factor(law, law.parameters, LoopTiming(period, delay), q) >= 1.0) == stable


@pytest.mark.parametrize(("name", "law", "delay"), [
    ("planar_2r", "pd_gravity", 3), ("planar_2r", "computed_torque", 6), ("arm6", "pd_gravity", 3)])
def test_a_simulated_robot_oscillates_from_the_factor_on(name, law, delay):
    """At the last stable factor a small error decays; at a factor beyond the next it grows."""
    robot = Robot.from_urdf(robot_file(name))
    controller, timing = make_controller(law, robot), LoopTiming(0.002, delay)
    q = np.clip(np.full(robot.n, 0.6), robot.model.position_lower, robot.model.position_upper)
    factor = stable_factor(controller, controller.parameters, timing, q[None])
    assert 0.1 < factor < FACTORS[-1]
    beyond = 1.2 * FACTORS[FACTORS.index(factor) + 1]
    loop = ClosedLoop(controller, varied=("sensing.delay",))
    scenario = loop.scenario(duration=2.0, q=q, v=np.full(robot.n, 1e-3))
    speeds = []
    for share in (factor, beyond):
        gains = controller.parameters
        scaled = replace(gains, p=share * gains.p, d=share * gains.d)
        done = loop.run(scenario, scaled, sample={"sensing.delay": delay})
        speeds.append(np.abs(done.v[-100:]).max())
    assert speeds[0] < 2e-3 < 0.1 < speeds[1]


def test_a_robot_that_only_falls_does_not_count_as_unstable():
    """An arm that stands up falls under damping, and its delayed gravity compensation drifts: no oscillation."""
    robot = Robot.from_urdf(robot_file("planar_2r"))
    upright = np.array([[np.pi / 2.0, 0.0]])
    for law in (Damping(robot), GravityCompensation(robot)):
        assert stable_factor(law, law.parameters, LoopTiming(0.002, 1), upright) > 1.0


def test_a_law_with_a_memory_keeps_it():
    robot = weightless("scara")
    law = make_controller("pid", robot)
    law.memory = PIDMemory(np.arange(4.0))
    stable_factor(law, law.parameters, LoopTiming(), sampled_positions(robot)[:2])
    np.testing.assert_array_equal(law.memory.effort, np.arange(4.0))


def test_a_long_delay_is_looked_at_with_longer_periods():
    """100 periods of 1 ms behave like 10 of 10 ms: the same gains are stable."""
    robot = weightless("planar_2r")
    q, law = sampled_positions(robot)[:4], PD(robot.with_timing(0.001, 100))
    assert stable_factor(law, law.parameters, LoopTiming(0.001, 100), q) > 1.0
    law = PD(robot)
    assert stable_factor(law, law.parameters, LoopTiming(0.001, 100), q) < 1.0


@pytest.mark.parametrize("delay", (0, 1, 3))
def test_gains_that_late_compensation_of_gravity_drives_are_made_to_hold(delay):
    """A link that stands on its joint, inertia 1: z - 1 = ... of the sampled pendulum, with eigenvalues by hand."""
    rate, period = 4.0, 0.05 / (delay + 1)
    one = np.ones((1, 1, 1))
    slope = -rate**2 * one
    postures = Postures(one, slope, np.zeros(1), np.concatenate([-slope, 0.0 * one], axis=2), np.zeros(1, bool))

    def radius(p, d):
        """Of the discrete loop: exact solution of a = w^2 q + u over a period, and a line of delayed efforts."""
        c, s = np.cosh(rate * period), np.sinh(rate * period)
        step = np.array([[c, s / rate], [rate * s, c]])
        push = np.array([(c - 1.0) / rate**2, s / rate])
        feedback = np.array([p + rate**2, d])
        loop = np.zeros((2 + delay, 2 + delay))
        loop[:2, :2] = step if delay else step - np.outer(push, feedback)
        if delay:
            loop[:2, -1], loop[2, :2] = push, -feedback
            loop[3:, 2:-1] = np.eye(delay - 1)
        return np.abs(np.linalg.eigvals(loop)).max()

    weak = 0.2 * rate**2 * (delay + 0.5) * period
    assert radius(1.0, weak) > 1.0
    p, d = holding_gains(LoopTiming(period, delay), postures, one, np.ones(1), np.array([weak]))
    assert radius(p[0], d[0]) < 1.0 and 0.2 < p[0] < 5.0 and d[0] < 20.0 * weak
    kept = holding_gains(LoopTiming(period, delay), postures, one, p, d)
    assert kept[0] is p and kept[1] is d, "gains that hold stay"


def test_gains_of_loops_that_nothing_holds_let_motions_grow_least():
    robot = Robot.from_urdf(robot_file("arm6"))
    q, batch = sampled_positions(robot)[:8], robot.dynamics().batch
    masses, slope = batch.mass_matrix(q), differences(batch.gravity, q)
    postures = Postures(np.linalg.inv(masses), slope, robot.model.damping,
                        np.concatenate([-slope, np.zeros_like(slope)], axis=2), np.zeros(8, bool))
    p, d = joint_gains(robot.with_timing(0.05, 5))
    through = np.broadcast_to(np.eye(robot.n), masses.shape)
    assert all(np.isfinite(gains).all() and (gains > 0.0).all()
               for gains in holding_gains(LoopTiming(0.05, 3), postures, through, p, d))
