# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Gains of laws of elastic joints are checked on the whole arm, and what messages advise is accepted."""

import re

import numpy as np
import pytest
from random_robots import random_chain
from scipy.linalg import expm
from shipped import few

from robodyn_ros import InputError, Robot
from robodyn_ros.control import JointReference, State
from robodyn_ros.control.default_gains import sampled_positions
from robodyn_ros.control.gains.elastic_arm import ElasticArm, MotorFeedback, least_step
from robodyn_ros.control.gains.sampled_loop import CHECKED_CONFIGURATIONS, MIN_GROWTH
from robodyn_ros.control.laws.elastic_composite import ElasticComposite, ElasticCompositeParameters
from robodyn_ros.control.laws.elastic_joint_pd import (
    ElasticJointParameters,
    ElasticJointPD,
    TorqueFeedback,
    TorqueFeedbackParameters,
)
from robodyn_ros.description.drivetrain import JointSprings

LAWS = {ElasticJointParameters: ElasticJointPD, TorqueFeedbackParameters: TorqueFeedback,
        ElasticCompositeParameters: ElasticComposite}
SEEDS = [0, pytest.param([4, *range(6, 24)], marks=pytest.mark.long)]
VALUE = r"(\[[^\]]*\]|\d[\d.e+-]*)"


def random_arm(seed):
    """A random arm in a random loop, springs that it has, and gains that nobody chose."""
    rng = np.random.default_rng(seed)
    n, timing = int(rng.integers(2, 8)), (float(rng.choice([0.001, 0.002, 0.004])), int(rng.integers(0, 3)))
    stiffness, motor = 10.0**rng.uniform(3.0, 5.0, n), 10.0**rng.uniform(-1.5, 0.0, n)
    springs = {"joint_stiffness": stiffness, "motor_inertia": motor,
               "joint_damping": rng.choice([0.0, 0.02]) * np.sqrt(stiffness * motor)}
    gains = {"p": 10.0**rng.uniform(2.0, 4.0, n), "d": 10.0**rng.uniform(0.5, 3.0, n)}
    return Robot.from_urdf_text(random_chain(n, seed)).with_timing(*timing), springs, gains


def radius(robot, parameters):
    """Greatest spectral radius, from the law's efforts beside rest and SciPy's exponential of the robot's motion."""
    law, n, h = LAWS[type(parameters)](robot, parameters), robot.n, 1e-6
    worst, (stiffness, motor, damping) = 0.0, parameters.springs
    for q in sampled_positions(robot)[:CHECKED_CONFIGURATIONS]:
        gravity, mass = robot.dynamics().gravity(q), robot.dynamics().mass_matrix(q)
        rest = np.concatenate([q, q + gravity / stiffness, np.zeros(2 * n)])

        def effort(x, q=q):
            links, motors, v, motor_v = x.reshape(4, n)
            state = State(0.0, robot.timing.period, links, v, motor_q=motors, motor_v=motor_v,
                          joint_torque=stiffness * (motors - links) + damping * (motor_v - v))
            return law.update(state, JointReference(q, np.zeros(n), np.zeros(n)))

        def motion(x, u, mass=mass):
            links, motors, v, motor_v = x.reshape(4, n)
            torque = stiffness * (motors - links) + damping * (motor_v - v)
            return np.concatenate([v, motor_v, np.linalg.solve(mass, torque - robot.dynamics().gravity(links)),
                                   (u - torque) / motor])

        steps = h * np.eye(4 * n)
        feedback = np.stack([(effort(rest + step) - effort(rest - step)) / (2.0 * h) for step in steps], axis=1)
        free = np.stack([(motion(rest + step, gravity) - motion(rest - step, gravity)) / (2.0 * h) for step in steps],
                        axis=1)
        forced = np.vstack([np.zeros((3 * n, n)), np.diag(1.0 / motor)])
        sampled = expm(robot.timing.period * np.block([[free, forced], [np.zeros((n, 5 * n))]]))
        delay = robot.timing.delay
        loop = np.zeros((4 * n + delay * n,) * 2)
        loop[:4 * n, :4 * n] = sampled[:4 * n, :4 * n]
        if delay:
            loop[:4 * n, -n:] = sampled[:4 * n, 4 * n:]
            loop[4 * n:5 * n, :4 * n] = feedback
            loop[5 * n:, 4 * n:-n] = np.eye((delay - 1) * n)
        else:
            loop += sampled[:4 * n, 4 * n:] @ feedback
        worst = max(worst, float(np.abs(np.linalg.eigvals(loop)).max()))
    return worst


def advised(message):
    """Values that a message advises, by parameter, and the period that it advises, if it does."""
    advice = message.rpartition("; received")[0]
    found = re.findall(rf"(\w+): {VALUE}", advice) + re.findall(rf"a (\w+) below {VALUE}", advice)
    found += [("lighter", value) for value in re.findall(rf"lighter: expected (?:at most )?{VALUE}", advice)]
    period = re.search(r"period of at most ([\d.e-]+) s", message)
    return {name: np.array(eval(value)) for name, value in found}, float(period[1]) if period else None


@pytest.mark.parametrize("kind", few(list(LAWS), 1))
@pytest.mark.parametrize("seeds", SEEDS)
def test_advice_is_accepted_at_once_and_what_is_accepted_comes_to_rest(seeds, kind):
    """Of random arms with default gains, and with gains that nobody chose."""
    for seed in [seeds] if isinstance(seeds, int) else seeds:
        arm, springs, gains = random_arm(seed)
        if kind is TorqueFeedbackParameters:
            gains |= {"lighter": 1.0 + seed % 4}
        for given in ({}, gains):
            robot, values = arm, springs | given
            try:
                parameters = kind(**values).for_robot(robot)
            except InputError as error:
                advice, period = advised(str(error))
                assert advice
                robot = robot.with_timing(period, robot.timing.delay) if period else robot
                parameters = kind(**values | advice).for_robot(robot)
            assert radius(robot, parameters) < np.exp(1.2 * MIN_GROWTH * robot.timing.period)


@pytest.mark.parametrize("name", ["arm6", "arm7"])
def test_gains_with_which_each_joint_rests_alone_and_the_arm_swings_are_refused(name):
    robot, springs = Robot.named(name), {"joint_stiffness": 1e4, "motor_inertia": 0.1}
    expected = rf"p and d.*with which '{name}' comes to rest.*by a factor of 1\.\d+ from one"
    with pytest.raises(InputError, match=expected):
        ElasticJointParameters(p=1000.0, d=45.0, **springs).for_robot(robot)


@pytest.mark.parametrize("stiffness", few([1e3, 1e4], 1))
@pytest.mark.parametrize("motor", [0.1, 0.5])
def test_default_gains_hold_a_light_wrist_behind_heavy_links(stiffness, motor):
    for timing in ((0.001, 0), (0.002, 0), (0.002, 1)):
        robot = Robot.named("scara").with_timing(*timing)
        parameters = ElasticJointParameters(joint_stiffness=stiffness, motor_inertia=motor).for_robot(robot)
        assert radius(robot, parameters) < 1.0


def test_the_search_changes_gains_that_swing_and_no_others():
    springs = JointSprings(np.full(2, 1e4), np.full(2, 0.1), np.full(2, 0.3))
    arm = ElasticArm.from_matrices(0.002, 0, springs, np.diag([0.5, 0.5])[None], np.zeros((1, 2, 2)))
    nothing = np.zeros((2, 2))
    found = arm.holding_gains(lambda g: MotorFeedback(-np.diag(g[:2]), nothing, -np.diag(g[2:]), nothing),
                              np.array([500.0, 500.0, 20.0, 400.0]), np.zeros(4))
    np.testing.assert_allclose(found[[0, 2]], [500.0, 20.0], rtol=1e-3)
    assert 20.0 < found[3] < 300.0


def test_the_shortest_step_below_a_line_ends_on_it():
    line, most = np.array([[1.0, 1.0]]), np.array([-1.0])
    np.testing.assert_allclose(least_step(line, most, np.full(2, -9.0)), [-0.5, -0.5])
    np.testing.assert_allclose(least_step(line, most, np.array([-0.1, -9.0])), [-0.1, -0.9])
