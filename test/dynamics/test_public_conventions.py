# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

import numpy as np
import pytest
from hypothesis import given, settings
from pin_reference import SEEDS, PinReference, random_state
from random_robots import urdf_robots

from robodyn_ros.base.errors import InputError
from robodyn_ros.dynamics import compiled_formulas
from robodyn_ros.dynamics.articulated_body import articulated_body_forward_dynamics
from robodyn_ros.dynamics.forward_dynamics import mass_matrix_forward_dynamics
from robodyn_ros.dynamics.mass_matrix import mass_matrix
from robodyn_ros.dynamics.robot_dynamics import FUNCTIONS, InlineDynamics
from robodyn_ros.kinematics.jacobian import twist_jacobian
from robodyn_ros.textbook import formulas as textbook_formulas
from robodyn_ros.textbook import newton_euler


def test_linear_rows_of_the_jacobian_come_first():
    robot = PinReference("arm6").robot
    (q,) = random_state(robot, 1, 1)
    book = twist_jacobian(robot, q, "tool0")
    np.testing.assert_array_equal(InlineDynamics(robot).jacobian(q, "tool0"), np.vstack([book[3:], book[:3]]))


@settings(deadline=None, max_examples=10)
@given(urdf_robots(), SEEDS)
def test_the_tip_wrench_works_through_the_jacobian(urdf, seed):
    robot = PinReference(urdf).robot
    q, v, a = random_state(robot, seed)
    wrench_tip = np.random.default_rng(seed).normal(size=6)
    effort = InlineDynamics(robot).jacobian(q).T @ wrench_tip
    tau = InlineDynamics(robot).inverse_dynamics(q, v, a)
    np.testing.assert_array_equal(tau, compiled_formulas.inverse_dynamics(robot, q, v, a))
    pushed = InlineDynamics(robot).inverse_dynamics(q, v, a, wrench_tip)
    np.testing.assert_allclose(pushed, tau - effort, rtol=1e-9, atol=1e-9)
    acceleration = InlineDynamics(robot).forward_dynamics(q, v, tau, wrench_tip)
    np.testing.assert_allclose(mass_matrix(robot, q) @ (acceleration - a), effort, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_formulas_name_arrays_of_another_shape(name):
    robot = PinReference("arm6").robot
    arguments = FUNCTIONS[name].arrays
    for dynamics in (InlineDynamics(robot), InlineDynamics(robot, textbook_formulas)):
        for wrong in arguments:
            for length in (5, 7):
                arrays = [np.full(length if argument == wrong else 6, 0.3) for argument in arguments]
                with pytest.raises(InputError, match=rf"{wrong}: expected .*\(6,\), received shape \({length},\)"):
                    getattr(dynamics, name)(*arrays)


def test_formulas_name_a_wrench_of_another_shape():
    robot, zero = PinReference("arm6").robot, np.zeros(6)
    for function in (compiled_formulas.inverse_dynamics, mass_matrix_forward_dynamics,
                     articulated_body_forward_dynamics, newton_euler.inverse_dynamics, newton_euler.forward_dynamics):
        with pytest.raises(InputError, match=r"exerted\['tool0'\]: expected an array of shape \(6,\), .* \(4,\)"):
            function(robot, zero, zero, zero, {"tool0": np.zeros(4)})
        with pytest.raises(InputError, match="exerted: expected a mapping from names of links to wrenches.*ndarray"):
            function(robot, zero, zero, zero, zero)
    dynamics = InlineDynamics(robot)
    for function in (dynamics.inverse_dynamics, dynamics.forward_dynamics, dynamics.inverse_dynamics_derivatives,
                     dynamics.forward_dynamics_derivatives):
        with pytest.raises(InputError, match=r"wrench_tip: expected an array of shape \(6,\), received shape \(3,\)"):
            function(zero, zero, zero, wrench_tip=np.zeros(3))
        with pytest.raises(InputError, match=r"wrenches\['tool0'\]: expected an array of shape \(6,\), .* \(4,\)"):
            function(zero, zero, zero, wrenches={"tool0": np.zeros(4)})
