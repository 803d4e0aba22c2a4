# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Adaptive control: regressor, Lyapunov function, errors that fall with a wrong model, bounded estimates."""

import numpy as np
import pytest
from hypothesis import given, settings
from law_inputs import frictionless, random_reference, random_state
from plant_motion import follow, heavier, there_and_back
from random_robots import urdf_robots
from shipped import few

from robodyn_ros import InputError, Robot
from robodyn_ros.control import JointReference, State
from robodyn_ros.control.laws.adaptive import (
    Adaptive,
    AdaptiveParameters,
    nominal_parameters,
    parameter_names,
    parameter_scales,
    slotine_li_regressor,
)
from robodyn_ros.description.resources import robot_file, shipped_robots
from robodyn_ros.dynamics.regressor import inertial_parameters

ROBOTS = {name: Robot.from_urdf(robot_file(name)) for name in shipped_robots()}


@settings(max_examples=10)
@given(urdf_robots(max_joints=5))
def test_the_regressor_has_the_coriolis_matrix_of_christoffel_symbols(xml):
    """Y pi = M a_r + C(q, v) v_r + g with matrices of their own; C v_r is not c(q, v) for v_r other than v."""
    robot = Robot.from_urdf_text(xml)
    q, v, v_r, a_r = np.random.default_rng(0).normal(size=(4, robot.n))
    dynamics = robot.dynamics(False, "textbook")
    found = slotine_li_regressor(dynamics, q, v, v_r, a_r) @ inertial_parameters(robot.model)
    expected = dynamics.mass_matrix(q) @ a_r + dynamics.coriolis_matrix(q, v) @ v_r + dynamics.gravity(q)
    np.testing.assert_allclose(found, expected, atol=1e-9 * (1.0 + np.abs(expected).max()))


@pytest.mark.parametrize("name", few(ROBOTS))
def test_with_the_true_parameters_it_is_model_plus_sliding_damping(name):
    robot = ROBOTS[name]
    controller = Adaptive(robot)
    state = random_state(robot)
    reference = random_reference(robot, JointReference, state)
    rate, d, dynamics = controller.parameters.rate, controller.parameters.d, robot.dynamics()
    v_r = reference.v + rate * (reference.q - state.q)
    a_r = reference.a + rate * (reference.v - state.v)
    expected = (dynamics.mass_matrix(state.q) @ a_r + dynamics.coriolis_matrix(state.q, state.v) @ v_r
                + dynamics.gravity(state.q) + robot.model.damping * v_r + d * (v_r - state.v))
    controller.activate(state)
    np.testing.assert_allclose(controller.update(state, reference), expected, rtol=1e-8, atol=1e-8)


def test_the_lyapunov_function_falls():
    """(s^T M s + pi~^T Gamma^-1 pi~)/2, M and pi~ of the true robot, 20 % heavier than the law knows."""
    known, true = ROBOTS["planar_2r"], heavier(ROBOTS["planar_2r"])
    controller, trajectory, step = Adaptive(known), there_and_back(known, duration=1.0), 5e-5
    parameters, dynamics = controller.parameters, true.dynamics()
    gamma = np.where(parameters.scale > 0.0, parameters.adaptation * parameters.scale**2, np.inf)
    q, v, values, losses = trajectory.sample(0.0).q + [0.1, -0.1], np.zeros(2), [], []
    controller.activate(State(0.0, 0.0, q, v))
    for tick in range(12000):
        reference = trajectory.sample(tick * step)
        s = reference.v + parameters.rate * (reference.q - q) - v
        wrong = controller.memory.pi - nominal_parameters(true)
        values.append(0.5 * s @ dynamics.mass_matrix(q) @ s + 0.5 * np.sum(wrong**2 / gamma))
        losses.append(s @ ((parameters.d + true.model.damping) * s))
        effort = controller.update(State(tick * step, step if tick else 0.0, q, v), reference)
        v = v + step * dynamics.forward_dynamics(q, v, effort - true.model.damping * v)
        q = q + step * v
    assert (np.diff(values) < 1e-5 * values[0]).all()
    np.testing.assert_allclose(values[0] - np.array(values[1:]), step * np.cumsum(losses)[:-1], atol=0.02 * values[0])
    assert values[-1] < 0.9 * values[0]


@pytest.mark.parametrize("name", few(frictionless(ROBOTS), ("scara",)))
def test_tracking_errors_fall_with_a_wrong_model(name):
    """Over repeats, and far below those without adaptation; estimates stay in their box."""
    robot = ROBOTS[name]
    trajectory, ticks = there_and_back(robot), 1000
    errors = {}
    for adaptation in (0.0, 1.0):
        controller = Adaptive(robot, AdaptiveParameters(adaptation=adaptation))
        motion = follow(heavier(robot), controller, lambda t: trajectory.sample(t % 2.0), 8.0,
                        trajectory.sample(0.0).q, step=2e-3)
        error = motion.error
        errors[adaptation] = [np.sqrt(np.mean(error[k * ticks : (k + 1) * ticks] ** 2)) for k in range(4)]
    assert errors[1.0][-1] < 0.5 * errors[1.0][0]
    assert errors[1.0][-1] < 0.15 * errors[0.0][-1]
    parameters = controller.parameters
    assert (np.abs(controller.memory.pi - parameters.nominal) <= parameters.bound * parameters.scale + 1e-12).all()


def test_estimates_stop_at_their_bounds():
    robot = ROBOTS["scara"]
    controller = Adaptive(robot, AdaptiveParameters(adaptation=100.0, bound=0.05))
    trajectory = there_and_back(robot)
    follow(heavier(robot, 0.5), controller, trajectory.sample, 2.0, trajectory.sample(0.0).q)
    parameters = controller.parameters
    away = np.abs(controller.memory.pi - parameters.nominal)
    assert (away <= 0.05 * parameters.scale + 1e-12).all()
    assert np.isclose(away, 0.05 * parameters.scale)[parameters.scale > 0.0].sum() > 3


@pytest.mark.parametrize("name", few(ROBOTS))
def test_scales_bound_what_the_links_have(name):
    robot = ROBOTS[name]
    assert (np.abs(nominal_parameters(robot)) <= parameter_scales(robot) * (1.0 + 1e-9)).all()


def test_estimates_have_names():
    robot = ROBOTS["scara"]
    controller = Adaptive(robot)
    controller.activate(random_state(robot))
    named = dict(zip(controller.memory_names(), controller.memory.pi, strict=True))
    assert controller.memory_names() == parameter_names(robot)
    joint = robot.model.joints[1]
    assert named[f"{joint.link}.m"] == joint.inertia.mass
    assert named[f"{robot.joint_names[2]}.friction"] == robot.model.damping[2]


@pytest.mark.parametrize("wrong", [{"rate": -1.0}, {"adaptation": np.nan}, {"bound": -1.0}, {"d": np.ones(3)}])
def test_wrong_parameters_are_refused(wrong):
    with pytest.raises(InputError, match=next(iter(wrong))):
        Adaptive(ROBOTS["scara"], AdaptiveParameters(**wrong))
