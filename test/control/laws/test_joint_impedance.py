# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Joint impedance: formula, what a push does to it, energy, tracking."""

import numpy as np
import pytest
from closed_loop import simulate
from law_inputs import frictionless, random_reference, random_state
from plant_motion import follow, heavier, middle, there_and_back
from shipped import few

from robodyn_ros import InputError, Robot
from robodyn_ros.control import JointReference
from robodyn_ros.control.laws.joint_impedance import JointImpedance, JointImpedanceParameters
from robodyn_ros.control.laws.pd import PD
from robodyn_ros.description.resources import robot_file, shipped_robots

ROBOTS = {name: Robot.from_urdf(robot_file(name)) for name in shipped_robots()}


@pytest.mark.parametrize("name", few(ROBOTS))
def test_the_environment_feels_springs_and_dampers_on_the_robots_inertia(name):
    """M e'' + (C + D) e' + K e = -tau_e in any state, from forward dynamics."""
    robot = ROBOTS[name]
    state, push = random_state(robot), np.random.default_rng(5).normal(size=robot.n)
    reference = random_reference(robot, JointReference, state)
    controller = JointImpedance(robot)
    k, d = controller.parameters.stiffness, controller.parameters.damping
    dynamics = robot.dynamics()
    a = dynamics.forward_dynamics(state.q, state.v, controller.update(state, reference) + push)
    e, e_dot, e_ddot = reference.q - state.q, reference.v - state.v, reference.a - a
    inertial = dynamics.mass_matrix(state.q) @ e_ddot + dynamics.coriolis_matrix(state.q, state.v) @ e_dot
    left = inertial + d * e_dot + k * e
    np.testing.assert_allclose(left, -push, atol=1e-8 * np.abs(k).max())


@pytest.mark.parametrize("name", few(ROBOTS))
def test_a_steady_push_deflects_it_by_force_over_stiffness(name):
    robot = ROBOTS[name]
    q_d, rest = middle(robot)[0], np.zeros(robot.n)
    controller = JointImpedance(robot)
    force = np.array([4.0, -3.0, 5.0, 0.0, 0.0, 0.0]) * min(1.0, controller.parameters.stiffness.min() / 20.0)
    motion = follow(robot, controller, lambda _: JointReference(q_d, rest, rest), 3.0, q_d, push=lambda *_: force)
    q = motion.q[-1]
    deflection = robot.dynamics().jacobian(q).T @ force / controller.parameters.stiffness
    friction = robot.model.friction / controller.parameters.stiffness  # in which a joint may stick
    assert (np.abs(q - q_d - deflection) < friction + 0.01 * np.abs(deflection).max()).all()
    assert np.abs(deflection).max() > 1e-3


def test_the_storage_function_falls_while_the_reference_moves():
    """V = e'^T M e' / 2 + e^T K e / 2, dV/dt = -e'^T D e': from differences along a simulated motion."""
    robot = ROBOTS["planar_2r"]
    controller = JointImpedance(robot)
    trajectory = there_and_back(robot, duration=0.5)
    k, d, dynamics, step = controller.parameters.stiffness, controller.parameters.damping, robot.dynamics(), 5e-5
    q, v, storage, loss = trajectory.sample(0.0).q + [0.15, -0.1], np.zeros(2), [], []
    for tick in range(8000):
        reference = trajectory.sample(tick * step)
        state = random_state(robot)._replace(time=tick * step, q=q, v=v)
        e, e_dot = reference.q - q, reference.v - v
        storage.append(0.5 * e_dot @ dynamics.mass_matrix(q) @ e_dot + 0.5 * e @ (k * e))
        loss.append(e_dot @ (d * e_dot))
        v = v + step * dynamics.forward_dynamics(q, v, controller.update(state, reference))
        q = q + step * v
    assert (np.diff(storage) < 1e-6 * storage[0]).all() and storage[-1] < 0.05 * storage[0]
    np.testing.assert_allclose(storage[0] - np.array(storage[1:]), np.cumsum(loss)[:-1] * step, atol=0.01 * storage[0])


@pytest.mark.parametrize("name", few(frictionless(ROBOTS), ("scara",)))
def test_it_tracks(name):
    """With an exact model up to friction; with 20 % more mass no worse than its softness explains."""
    robot = ROBOTS[name]
    trajectory = there_and_back(robot)
    for plant, bound in ((robot, 0.02), (heavier(robot), 0.2)):
        motion = follow(plant, JointImpedance(robot), trajectory.sample, 2.5, trajectory.sample(0.0).q)
        assert np.abs(motion.error).max() < bound


def test_it_is_softer_than_pd_and_damped_alike():
    for robot in ROBOTS.values():
        soft, stiff = JointImpedance(robot).parameters, PD(robot).parameters
        np.testing.assert_allclose(soft.damping / np.sqrt(soft.stiffness), stiff.d / np.sqrt(stiff.p))
        assert (soft.stiffness < stiff.p).all()


def test_default_gains_come_to_rest():
    for robot in ROBOTS.values():
        q_d, reach = middle(robot)
        _, q, v = simulate(robot, JointImpedance(robot), q=q_d - 0.3 * reach, q_d=q_d, duration=3.0)
        assert np.abs(q[-1] - q_d).max() < 0.01 and np.abs(v[-1]).max() < 0.02


def test_wrong_parameters_are_refused():
    with pytest.raises(InputError, match="stiffness of joint"):
        JointImpedance(ROBOTS["scara"], JointImpedanceParameters(stiffness=-1.0))
