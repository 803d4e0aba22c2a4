# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""PD with gravity compensation against its formula, in torques and in the book's volts. Stability: test_lyapunov."""

import numpy as np
import pytest
from law_inputs import frictionless
from plant_motion import run
from shipped import few

from robodyn_ros import Robot
from robodyn_ros.actuation import Actuators, DCMotor, GearTrain
from robodyn_ros.compile import compile_function
from robodyn_ros.control import JointReference, State
from robodyn_ros.control.laws.pd import PD
from robodyn_ros.control.laws.pd_gravity import PDGravity, PDGravityParameters
from robodyn_ros.control.plugins.registry import load_controller
from robodyn_ros.description.resources import robot_file, shipped_robots
from robodyn_ros.dynamics.robot_dynamics import InlineDynamics
from robodyn_ros.textbook.newton_euler import gravity

ROBOTS = {name: Robot.from_urdf(robot_file(name)) for name in shipped_robots()}


def test_it_is_known_by_its_class():
    assert load_controller("robodyn_ros.control.laws.pd_gravity:PDGravity") is PDGravity


@pytest.mark.parametrize("name", few(ROBOTS))
def test_it_is_6_34(name):
    """K times the voltage of (6.34), back-EMF left to the plant as in the book."""
    robot, n = ROBOTS[name], ROBOTS[name].n
    rng = np.random.default_rng(0)
    q, q_d, v = rng.uniform(-1.0, 1.0, (3, n))
    actuators = Actuators(DCMotor(rng.uniform(0.3, 2.0, n), rng.uniform(0.03, 0.08, n), 1e-5),
                          GearTrain(rng.uniform(50.0, 120.0, n)))
    p, d = rng.uniform(1.0, 10.0, (2, n))
    rest = np.zeros(n)
    voltage = -d * v + p * (q_d - q) + actuators.voltage(gravity(robot.model, q), rest, rest)
    controller = PDGravity(robot, PDGravityParameters(actuators.effort_gain(p), actuators.effort_gain(d)))
    effort = controller.update(State(0.0, 0.001, q, v), JointReference(q_d, rest, rest))
    np.testing.assert_allclose(effort, actuators.voltage_gain * voltage, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", frictionless(ROBOTS))
def test_no_offset_even_with_weak_gains(name):
    """Where PD alone would sink by tenths of a radian."""
    robot = ROBOTS[name]
    low, high = np.maximum(robot.model.position_lower, -1.0), np.minimum(robot.model.position_upper, 1.0)
    q_d, gains = low + 0.6 * (high - low), PD(robot).parameters
    start = q_d + 0.05 * (high - low)
    weak = PDGravityParameters(0.25 * gains.p, gains.d)
    q, v, _ = run(robot, PDGravity(robot, weak), q_d, duration=6.0, q=start)
    assert np.abs(v[-1]).max() < 0.02 and np.abs(q[-1] - q_d).max() < 0.01
    assert np.abs(robot.dynamics().gravity(q_d) / weak.p).max() > 0.05


def test_the_same_source_can_be_compiled():
    robot = ROBOTS["arm7"]
    n, gains = robot.n, PDGravity(robot).parameters

    def answer(q, v, q_d, v_d, p, d):
        state, reference = State(0.0, 0.001, q, v), JointReference(q_d, v_d, v_d)
        return PDGravity.law(InlineDynamics(robot.model), PDGravityParameters(p, d, lead=0.01), state, reference)

    kernel = compile_function(answer, dict.fromkeys(["q", "v", "q_d", "v_d", "p", "d"], (n,)), name="pd_gravity")
    arrays = [*np.random.default_rng(0).normal(size=(4, n)), gains.p, gains.d]
    law = PDGravity(robot, PDGravityParameters(gains.p, gains.d, lead=0.01))
    expected = law.update(State(0.0, 0.001, *arrays[:2]), JointReference(*arrays[2:4], arrays[3]))
    np.testing.assert_allclose(kernel(*arrays), expected, rtol=1e-10, atol=1e-10)
