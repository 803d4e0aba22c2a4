# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The combined model against motors, gears and links as bodies of their own, held together by constraints."""

from functools import partial

import numpy as np
import pytest
from pin_reference import SHIPPED, PinReference, relative_error
from scipy.integrate import solve_ivp
from shipped import few

from robodyn_ros import Robot
from robodyn_ros.actuation import Actuators, DCMotor, GearTrain
from robodyn_ros.actuation.actuated_dynamics import (
    damping,
    forward_dynamics,
    inverse_dynamics,
    mass_matrix,
    state_derivative,
)
from robodyn_ros.base.errors import InputError
from robodyn_ros.compile import compile_function
from robodyn_ros.description.resources import robot_file, shipped_robots

ROBOTS = {name: Robot.from_urdf(robot_file(name)) for name in shipped_robots()}


def actuators_of(robot, inductance=1e-3):
    """Made-up motors, all different, one of them turning against its joint."""
    rng = np.random.default_rng(robot.n)
    ratio = rng.uniform(50.0, 120.0, robot.n) * np.where(np.arange(robot.n) == 1, -1.0, 1.0)
    constant = rng.uniform(0.03, 0.08, robot.n)
    return Actuators(DCMotor(rng.uniform(0.3, 2.0, robot.n), constant, rng.uniform(1e-5, 5e-5, robot.n),
                             inductance, constant), GearTrain(ratio))


def separate_bodies(robot, actuators, q, v, current):
    """Joint accelerations, motor accelerations and shaft torques of links and rotors that the gears force to agree."""
    n, book, motor = robot.n, robot.dynamics(), actuators.motor
    gamma, zero = np.diag(actuators.gear.ratio), np.zeros((robot.n, robot.n))
    system = np.block([
        [book.mass_matrix(q), zero, -gamma.T],                  # links, driven by the gears' output
        [zero, np.diag(motor.rotor_inertia), np.eye(n)],        # rotors, (6.4)
        [gamma, -np.eye(n), zero],                              # gears, (6.8) twice differentiated
    ])
    right = np.concatenate([-book.bias(q, v) - robot.model.damping * v, motor.torque_constant * current, np.zeros(n)])
    return np.split(np.linalg.solve(system, right), 3)


def random_state(robot, seed=0):
    rng = np.random.default_rng(seed)
    low, high = np.maximum(robot.model.position_lower, -2.0), np.minimum(robot.model.position_upper, 2.0)
    return rng.uniform(low, high), rng.uniform(-1.0, 1.0, robot.n), rng.uniform(-20.0, 20.0, robot.n)


@pytest.mark.parametrize("name", few(ROBOTS))
def test_accelerations_are_those_of_separate_bodies(name):
    robot = ROBOTS[name]
    actuators = actuators_of(robot)
    q, v, voltage = random_state(robot)
    w = actuators.gear.ratio * v
    current = (voltage - actuators.motor.back_emf_constant * w) / actuators.motor.resistance
    a, motor_a, shaft = separate_bodies(robot, actuators, q, v, current)
    np.testing.assert_allclose(forward_dynamics(robot.model, actuators, q, v, voltage), a, rtol=1e-9)
    np.testing.assert_allclose(actuators.gear.motor_motion(a), motor_a, rtol=1e-9)
    np.testing.assert_allclose(actuators.joint_effort(voltage, v, a), actuators.gear.joint_effort(shaft), rtol=1e-9)
    np.testing.assert_allclose(inverse_dynamics(robot.model, actuators, q, v, a), voltage, rtol=1e-9)
    derivative = state_derivative(robot.model, actuators, np.concatenate([q, v, current + 1.0]), voltage)
    expected = separate_bodies(robot, actuators, q, v, current + 1.0)[0]
    np.testing.assert_allclose(derivative, [*v, *expected, *(-actuators.motor.resistance / 1e-3)], rtol=1e-9)


@SHIPPED
def test_shipped_robots_with_pinocchios_links(name):
    """(6.16), (6.17) with M, h and g of Pinocchio."""
    reference, robot = PinReference(name), ROBOTS[name]
    actuators = actuators_of(robot)
    q, v, voltage = random_state(robot, 1)
    motor, gamma = actuators.motor, np.diag(actuators.gear.ratio)
    inertia = reference.mass_matrix(q) + gamma.T @ np.diag(motor.rotor_inertia) @ gamma
    gain = gamma.T @ np.diag(motor.torque_constant / motor.resistance)
    loss = gain @ np.diag(motor.back_emf_constant) @ gamma + np.diag(robot.model.damping)
    np.testing.assert_allclose(damping(robot.model, actuators), loss.diagonal(), rtol=1e-12)
    expected = np.linalg.solve(inertia, gain @ voltage - loss @ v - reference.bias(q, v))
    assert relative_error(mass_matrix(robot.model, actuators, q), inertia) < 1e-9
    assert relative_error(forward_dynamics(robot.model, actuators, q, v, voltage), expected) < 1e-9


@pytest.mark.parametrize("name", ["planar_2r", "scara"])
def test_motions_are_those_of_separate_bodies_and_keep_the_balance_of_energy(name):
    """Electrical work = heat + friction + energy of links, rotors and coils, along an independent simulation."""
    robot = ROBOTS[name]
    actuators, n = actuators_of(robot), robot.n
    motor, gear, dynamics = actuators.motor, actuators.gear, robot.dynamics()
    q, v, voltage = random_state(robot)

    def independent(time, x):
        q, v, i, _ = x[:n], x[n : 2 * n], x[2 * n : 3 * n], x[3 * n :]
        current_rate = (voltage - motor.resistance * i - motor.back_emf_constant * gear.ratio * v) / motor.inductance
        flow = voltage @ i - motor.resistance @ i**2 - robot.model.damping @ v**2
        return np.concatenate([v, separate_bodies(robot, actuators, q, v, i)[0], current_rate, [flow]])

    def stored(x):
        q, v, i = x[:n], x[n : 2 * n], x[2 * n : 3 * n]
        return (dynamics.kinetic_energy(q, v) + dynamics.potential_energy(q)
                + 0.5 * motor.rotor_inertia @ (gear.ratio * v) ** 2 + 0.5 * motor.inductance @ i**2)

    start = np.concatenate([q, v, np.zeros(n)])
    options = {"method": "LSODA", "rtol": 1e-9, "atol": 1e-10}
    ours = compile_function(partial(state_derivative, robot.model, actuators), {"x": (3 * n,), "voltage": (n,)})
    end = solve_ivp(lambda time, x: ours(x, voltage), (0.0, 0.2), start, **options).y[:, -1]
    other = solve_ivp(independent, (0.0, 0.2), [*start, 0.0], **options).y[:, -1]
    np.testing.assert_allclose(end, other[:-1], rtol=1e-6, atol=1e-7)
    assert np.abs(end[:n] - q).max() > 0.05
    gained = stored(end) - stored(start)
    np.testing.assert_allclose(gained, other[-1], rtol=1e-6)
    assert abs(gained) > 0.1


def test_small_inductance_tends_to_6_17():
    robot = ROBOTS["planar_2r"]
    q, v, voltage = random_state(robot)
    n, start = robot.n, np.concatenate([q, v])
    ends = {}
    for inductance in (0.0, 1e-5, 1e-4):
        actuators = actuators_of(robot, inductance)
        if inductance:
            current = actuators.motor.steady_current(voltage, actuators.gear.motor_motion(v))
            function, x = partial(state_derivative, robot.model, actuators), np.concatenate([start, current])
        else:
            def function(x, voltage, actuators=actuators):
                return np.concatenate([x[n:], forward_dynamics(robot.model, actuators, x[:n], x[n:], voltage)])
            x = start
        kernel = compile_function(function, {"x": x.shape, "voltage": (n,)})
        ends[inductance] = solve_ivp(lambda t, x, f=kernel: f(x, voltage), (0.0, 0.1), x, method="LSODA",  # noqa: B023
                                     rtol=1e-10, atol=1e-11).y[: 2 * n, -1]
    far, near = (np.abs(ends[inductance] - ends[0.0]).max() for inductance in (1e-4, 1e-5))
    assert 0.0 < near < 0.11 * far and far < 2e-3  # proportional to it


def test_the_wrong_number_of_actuators_is_refused():
    robot = ROBOTS["planar_2r"]
    with pytest.raises(InputError, match="'planar_2r': expected 2 actuators.*received 3"):
        mass_matrix(robot.model, Actuators(DCMotor(1.0, 0.1, 1e-5), GearTrain([1.0, 2.0, 3.0])), np.zeros(2))
    with pytest.raises(InputError, match="inductance"):
        state_derivative(robot.model, actuators_of(robot, 0.0), np.zeros(6), np.zeros(2))
