# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Operational space: the book's terms, postures that the tip does not feel. More in test_resolved_acceleration."""

import numpy as np
import pytest
from law_inputs import random_reference
from plant_motion import BENT
from shipped import REDUNDANT, few

from robodyn_ros import InputError, Robot
from robodyn_ros.control import State, TipReference
from robodyn_ros.control.laws.operational_space import OperationalSpace, OperationalSpaceParameters
from robodyn_ros.control.laws.resolved_acceleration import ResolvedAcceleration
from robodyn_ros.control.laws.task_space import axis_rows, pose_error, task_axes
from robodyn_ros.description.resources import robot_file

ROBOTS = {name: Robot.from_urdf(robot_file(name)) for name in BENT}


def random_case(name):
    robot = ROBOTS[name]
    state = State(0.0, 0.0, np.array(BENT[name]), np.random.default_rng(0).normal(size=robot.n))
    return robot, state, random_reference(robot, TipReference, state)


@pytest.mark.parametrize("name", few(ROBOTS, REDUNDANT))
def test_it_is_9_97_with_the_libraries_terms(name):
    """J^T (Lambda r''* + eta) and the posture through the dynamically consistent inverse, friction left out."""
    robot, state, reference = random_case(name)
    controller = OperationalSpace(robot, OperationalSpaceParameters(error_limit=1e6, friction=0.0))
    posture = state.q + 0.2
    controller.activate(state._replace(q=posture))
    effort = controller.update(state, reference)
    rows, parameters, dynamics = axis_rows(task_axes(robot)), controller.parameters, robot.dynamics()
    mask = tuple(row in rows for row in range(6))
    jacobian = dynamics.jacobian(state.q)
    error = pose_error(dynamics.forward_kinematics(state.q), reference)
    asked = reference.acceleration + parameters.d * (reference.twist - jacobian @ state.v) + parameters.p * error
    wrench = (dynamics.task_space_inertia(state.q, rows=mask) @ asked[rows]
              + dynamics.task_space_bias(state.q, state.v, rows=mask))
    inverse = dynamics.dynamically_consistent_inverse(state.q, rows=mask)
    free = dynamics.inverse_dynamics(
        state.q, state.v, parameters.posture_p * (posture - state.q) - parameters.posture_d * state.v)
    expected = jacobian[rows].T @ wrench + free - jacobian[rows].T @ inverse.T @ free
    np.testing.assert_allclose(effort, expected, rtol=1e-7, atol=1e-7 * np.abs(expected).max())


def test_another_posture_does_not_accelerate_the_tip():
    robot, state, reference = random_case("arm7")
    accelerations = []
    for posture in (state.q, state.q + 0.5):
        controller = OperationalSpace(robot)
        controller.activate(state._replace(q=posture))
        a = robot.dynamics().forward_dynamics(state.q, state.v, controller.update(state, reference))
        accelerations.append(a)
    difference = accelerations[1] - accelerations[0]
    assert np.abs(difference).max() > 1.0
    np.testing.assert_allclose(robot.dynamics().jacobian(state.q) @ difference, 0.0, atol=1e-8)


@pytest.mark.parametrize("name", ["planar_2r", "scara", "arm6"])
def test_with_as_many_joints_as_axes_it_is_resolved_acceleration(name):
    robot, state, reference = random_case(name)
    efforts = []
    for law in (OperationalSpace, ResolvedAcceleration):
        controller = law(robot)
        controller.activate(state)
        efforts.append(controller.update(state, reference))
    np.testing.assert_allclose(*efforts, rtol=1e-7, atol=1e-7 * np.abs(efforts[0]).max())


def test_wrong_parameters_are_refused():
    with pytest.raises(InputError, match="posture_d"):
        OperationalSpace(ROBOTS["scara"], OperationalSpaceParameters(posture_d=-1.0))
