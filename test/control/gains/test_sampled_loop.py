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
from robodyn_ros.base.timing import LoopTiming
from robodyn_ros.control.default_gains import joint_gains, sampled_mass_matrices, sampled_positions
from robodyn_ros.control.gains.margin import FACTORS, stable_factor
from robodyn_ros.control.gains.sampled_loop import largest_stable_damping
from robodyn_ros.control.laws.damping import Damping, DampingParameters
from robodyn_ros.control.laws.gravity_compensation import GravityCompensation
from robodyn_ros.control.laws.pd import PD, PDParameters
from robodyn_ros.control.laws.pid import PIDMemory
from robodyn_ros.control.plugins.registry import make_controller
from robodyn_ros.description.resources import robot_file, shipped_robots
from robodyn_ros.simulation.rollout import ClosedLoop

DELAYS = (0, 1, 2, 3, 6, 10)


def weightless(name):
    """A shipped robot without gravity, which limits the delay by itself."""
    return Robot.from_urdf(robot_file(name), gravity=(0.0, 0.0, 0.0))


@pytest.mark.parametrize("delay", DELAYS)
def test_the_bound_of_damping_is_that_of_the_roots(delay):
    """z^(N+1) - z^N + delta leaves the unit circle at the bound, neither before nor after."""
    for share, stable in ((0.999, True), (1.001, False)):
        polynomial = np.zeros(delay + 2)
        polynomial[:2], polynomial[-1] = (1.0, -1.0), polynomial[-1] + share * largest_stable_damping(delay)
        if not delay:
            polynomial = np.array([1.0, share * largest_stable_damping(0) - 1.0])
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
    d = d * largest_stable_damping(delay) / (period * np.linalg.eigvals(inverses * d).real.max())
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
