# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The robot floats: it stays where it is put and can be pushed about."""

import numpy as np
import pytest
from hypothesis import given, settings
from law_inputs import frictionless
from plant_motion import follow, middle
from random_robots import urdf_robots
from shipped import few

from robodyn_ros import InputError, Robot
from robodyn_ros.control.laws.gravity_compensation import GravityCompensation, GravityCompensationParameters
from robodyn_ros.control.laws.pd import PD
from robodyn_ros.description.resources import robot_file, shipped_robots

ROBOTS = {name: Robot.from_urdf(robot_file(name)) for name in shipped_robots()}


@settings(max_examples=5)
@given(urdf_robots(max_joints=4))
def test_it_is_gravity_less_damping(xml):
    robot = Robot.from_urdf_text(xml)
    q, v, d = np.random.default_rng(0).uniform(0.1, 1.0, (3, robot.n))
    law = GravityCompensation.law
    effort = law(robot.dynamics(False, "textbook"), GravityCompensationParameters(d, lead=0.0), State(q, v), None)
    slope = [(robot.dynamics().potential_energy(q + h) - robot.dynamics().potential_energy(q - h)) / 2e-5
             for h in 1e-5 * np.eye(robot.n)]
    np.testing.assert_allclose(effort, slope - d * v, atol=1e-6)


class State:

    def __init__(self, q, v):
        self.q, self.v = q, v


@pytest.mark.parametrize("name", few(ROBOTS))
def test_it_stays_where_it_is_put(name):
    robot = ROBOTS[name]
    q, _ = middle(robot)
    motion = follow(robot, GravityCompensation(robot), None, 1.0, q)
    np.testing.assert_allclose(motion.q[-1], q, atol=1e-6)


@pytest.mark.parametrize("name", frictionless(ROBOTS))
def test_a_light_push_moves_it_and_it_comes_to_rest_elsewhere(name):
    """Where PD would hold against the same push within a tenth of the way."""
    robot = ROBOTS[name]
    q, _ = middle(robot)
    force = 0.2 * robot.model.effort_limit[:2].min() * np.array([0.6, 0.6, 0.6, 0.0, 0.0, 0.0])
    motion = follow(robot, GravityCompensation(robot), None, 3.0, q, push=lambda t, *_: force * (t < 0.25))
    moved = np.abs(motion.q[-1] - q)
    assert moved.max() > 0.05
    energy = [0.5 * v @ robot.dynamics().mass_matrix(at) @ v
              for at, v in ((motion.q[k], motion.v[k]) for k in (250, -1))]
    assert energy[1] < 0.2 * energy[0]
    assert (GravityCompensation(robot).parameters.d < 0.05 * PD(robot).parameters.d).all()


def test_wrong_parameters_are_refused():
    with pytest.raises(InputError, match="d of joint"):
        GravityCompensation(ROBOTS["scara"], GravityCompensationParameters(-1.0))
