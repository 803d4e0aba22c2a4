# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""V of (6.36) along motions: of the simulated robots, and of robots with motors, integrated closely."""

from dataclasses import replace

import numpy as np
import pytest
from pin_reference import PinReference
from plant_motion import run
from scipy.integrate import trapezoid
from shipped import few

from robodyn_ros import Robot
from robodyn_ros.actuation import Actuators, DCMotor, GearTrain
from robodyn_ros.actuation.actuated_dynamics import damping, forward_dynamics
from robodyn_ros.base.errors import InputError
from robodyn_ros.compile import compile_function
from robodyn_ros.control.laws.pd import PD
from robodyn_ros.control.laws.pd_gravity import PDGravity, PDGravityParameters
from robodyn_ros.description.resources import robot_file, shipped_robots
from robodyn_ros.textbook.lyapunov import lyapunov_function, lyapunov_rate
from robodyn_ros.textbook.newton_euler import gravity
from robodyn_ros.textbook.state_space import runge_kutta


def of_rigid_bodies(name):
    """A shipped robot as the formulas have it: without dry friction, and without the description's rotors."""
    model = Robot.from_urdf(robot_file(name)).model
    return Robot(replace(model, joints=tuple(replace(joint, armature=0.0, friction=0.0) for joint in model.joints)))


ROBOTS = {name: of_rigid_bodies(name) for name in shipped_robots()}


def goal_and_start(robot):
    low, high = np.maximum(robot.model.position_lower, -1.5), np.minimum(robot.model.position_upper, 1.5)
    return low + 0.55 * (high - low), low + 0.47 * (high - low)


@pytest.mark.parametrize("name", few(ROBOTS))
def test_it_is_6_36_and_positive_but_at_the_goal(name):
    robot, reference = ROBOTS[name], PinReference(name)
    rng, dynamics = np.random.default_rng(0), robot.dynamics()
    q_d, p, rotors = rng.uniform(0.1, 1.0, (3, robot.n))
    q, v = rng.normal(size=(2, 20, robot.n))
    value = lyapunov_function(dynamics.batch.kinetic_energy, q, v, q_d, p, rotors)
    for k in range(20):
        expected = 0.5 * (v[k] @ (dynamics.mass_matrix(q[k]) + np.diag(rotors)) @ v[k]
                          + (q[k] - q_d) @ np.diag(p) @ (q[k] - q_d))
        single = lyapunov_function(dynamics.kinetic_energy, q[k], v[k], q_d, p, rotors)
        np.testing.assert_allclose([value[k], single], expected, rtol=1e-10)
        links = reference.kinetic_energy(q[k], v[k])
        np.testing.assert_allclose(value[k], links + 0.5 * (rotors @ v[k] ** 2 + p @ (q[k] - q_d) ** 2), rtol=1e-9)
    assert (value > 0.0).all()
    assert lyapunov_function(dynamics.kinetic_energy, q_d, 0.0 * q_d, q_d, p, rotors) == 0.0


@pytest.mark.parametrize("name", few(ROBOTS))
def test_it_falls_along_simulated_motions(name):
    """At every tick, and altogether by what (6.39) says, with its minus sign."""
    robot, step = ROBOTS[name], 2.5e-4
    q_d, start = goal_and_start(robot)
    gains = PDGravity(robot).parameters
    weak = PDGravityParameters(0.2 * gains.p, 0.4 * gains.d)  # efforts within the limits
    q, v, effort = run(robot, PDGravity(robot, weak), q_d, duration=0.5, q=start, step=step)
    assert (np.abs(effort) < robot.model.effort_limit).all()
    value = lyapunov_function(robot.dynamics().batch.kinetic_energy, q, v, q_d, weak.p)
    rate = lyapunov_rate(v, weak.d + robot.model.damping)
    assert (np.diff(value) < 1e-5 * value[0]).all() and value[-1] < 0.3 * value[0]
    np.testing.assert_allclose(value[-1] - value[0], trapezoid(rate, dx=step), rtol=0.02)


def test_it_falls_with_motors_and_voltages():
    """The closed loop of (6.17) and (6.34), D included, by a method of order 4."""
    robot, n = ROBOTS["arm6"], 6
    rng, model = np.random.default_rng(1), robot.model
    actuators = Actuators(DCMotor(rng.uniform(0.5, 1.0, n), rng.uniform(0.04, 0.06, n), rng.uniform(1e-5, 3e-5, n)),
                          GearTrain(rng.uniform(80.0, 120.0, n)))
    (q_d, start), rest = goal_and_start(robot), np.zeros(n)
    p, d = rng.uniform(20.0, 60.0, n), rng.uniform(0.5, 2.0, n)

    def derivative(x):
        q, v = x[:n], x[n:]
        voltage = -d * v + p * (q_d - q) + actuators.voltage(gravity(model, q), rest, rest)
        return np.concatenate([v, forward_dynamics(model, actuators, q, v, voltage)])

    kernel = compile_function(derivative, {"x": (2 * n,)}, name="closed_loop")
    times = np.linspace(0.0, 1.5, 3001)
    x = runge_kutta(lambda time, x: kernel(x), np.concatenate([start, rng.uniform(-1.0, 1.0, n)]), times)
    q, v = x[:, :n], x[:, n:]
    kinetic = robot.dynamics().batch.kinetic_energy
    value = lyapunov_function(kinetic, q, v, q_d, actuators.effort_gain(p), actuators.reflected_inertia)
    rate = lyapunov_rate(v, actuators.effort_gain(d) + damping(model, actuators))
    assert (np.diff(value) < 0.0).all() and value[-1] < 0.05 * value[0]
    np.testing.assert_allclose(value[-1] - value[0], trapezoid(rate, times), rtol=1e-3)


def test_without_compensation_it_may_rise():
    """PD alone starts at rest at the goal, V = 0, and sinks."""
    robot = ROBOTS["planar_2r"]
    q_d, _ = goal_and_start(robot)
    q, v, _ = run(robot, PD(robot), q_d, duration=0.1)
    value = lyapunov_function(robot.dynamics().batch.kinetic_energy, q, v, q_d, PD(robot).parameters.p)
    assert value[0] == 0.0 and value[-1] > 0.01


@pytest.mark.parametrize("name", ["planar_2r", "arm6"])
def test_coriolis_efforts_do_half_the_work_of_the_mass_matrix_rate(name):
    """(6.38): v^T h = v^T (dM/dt) v / 2."""
    robot, h = ROBOTS[name], 1e-6
    q, v = np.random.default_rng(2).normal(size=(2, robot.n))
    mass = robot.dynamics().mass_matrix
    rate = (mass(q + h * v) - mass(q - h * v)) / (2.0 * h)
    np.testing.assert_allclose(v @ robot.dynamics().coriolis_matrix(q, v) @ v, 0.5 * v @ rate @ v, rtol=1e-6)


def test_bad_arguments_are_refused():
    dynamics, two = ROBOTS["planar_2r"].dynamics(), np.ones(2)
    with pytest.raises(InputError, match=r"p: expected shape \(2,\), received \(3,\)"):
        lyapunov_function(dynamics.kinetic_energy, two, two, two, np.ones(3))
    with pytest.raises(InputError, match="p: expected finite numbers that are not negative"):
        lyapunov_function(dynamics.kinetic_energy, two, two, two, -two)
    with pytest.raises(InputError):
        lyapunov_function(dynamics.kinetic_energy, np.ones(3), two, two, two)
    with pytest.raises(InputError, match=r"d: expected shape \(2,\)"):
        lyapunov_rate(two, np.ones(3))
