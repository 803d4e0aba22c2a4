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
from pin_reference import SEEDS, SHIPPED, PinReference, random_state, relative_error
from random_robots import random_chain, urdf_robots
from shipped import few

from robodyn_ros import Robot
from robodyn_ros.compile import trace
from robodyn_ros.compile.kernel import compile_function
from robodyn_ros.dynamics import compiled_formulas, matrix_factors
from robodyn_ros.dynamics.mass_matrix import mass_matrix
from robodyn_ros.dynamics.matrix_factors import LARGE_ROBOT_FUNCTIONS
from robodyn_ros.dynamics.regressor import inertial_parameters
from robodyn_ros.dynamics.robot_dynamics import FUNCTIONS
from robodyn_ros.textbook.newton_euler import inverse_dynamics as efforts


def check(model, seed):
    """Every form with loops against the one written out."""
    state = random_state(model, seed)
    for name, factors in LARGE_ROBOT_FUNCTIONS.items():
        function, inputs = getattr(compiled_formulas, name), FUNCTIONS[name].arrays
        expected = function(model, *state[: len(inputs)])
        size = max(np.max(np.abs(expected)), np.max(mass_matrix(model, state[0])))
        made = factors(model, *state[: len(inputs)])
        error = relative_error(made.pattern.array(made.factors), expected, size)
        assert error < 1e-12, name


@SHIPPED
def test_shipped_robots(name):
    model = PinReference(name).robot
    if len(model.joints) == model.n:
        check(model, 1)


@settings(deadline=None, max_examples=15)
@given(urdf_robots(), SEEDS)
def test_random_trees(urdf, seed):
    model = PinReference(urdf).robot
    if len(model.joints) == model.n:
        check(model, seed)


@pytest.mark.parametrize("name", few(LARGE_ROBOT_FUNCTIONS, ("mass_matrix",)))
def test_fifty_joints_against_pinocchio_and_the_textbook(name):
    reference = PinReference(random_chain(50))
    model = reference.robot
    q, v, a = random_state(model, 2)
    result = getattr(Robot(model).dynamics(), name)(*(q, v, a)[: len(FUNCTIONS[name].arrays)])
    effort = efforts(model, q, v, a)
    size = np.max(np.abs(result))
    if name == "mass_matrix":
        assert relative_error(result, reference.mass_matrix(q), size) < 1e-9
    elif name == "coriolis_matrix":
        assert relative_error(result, reference.coriolis_matrix(q, v), size) < 1e-9
    elif name == "regressor":
        parameters = inertial_parameters(model)
        assert relative_error(result @ parameters, effort, np.max(np.abs(effort))) < 1e-9
    else:
        step = 1e-6
        for k in (0, 25, 49):
            h = step * np.eye(50)[k]
            slopes = [
                (efforts(model, *plus) - efforts(model, *minus)) / (2 * step)
                for plus, minus in (
                    ((q + h, v, a), (q - h, v, a)), ((q, v + h, a), (q, v - h, a)), ((q, v, a + h), (q, v, a - h))
                )
            ]
            assert relative_error(result[:, :, k], np.array(slopes), size) < 1e-6


@pytest.mark.long
def test_compiled_and_in_batches():
    model = Robot.from_urdf_text(random_chain(24)).model
    states = np.stack([random_state(model, seed) for seed in range(11)], axis=1)
    for name, factors in LARGE_ROBOT_FUNCTIONS.items():
        function, inputs = getattr(compiled_formulas, name), FUNCTIONS[name].arrays
        arrays = states[: len(inputs)]
        kernel = compile_function(lambda *x, f=factors: f(model, *x), dict.fromkeys(inputs, (model.n,)), name)
        results = kernel.batch(*arrays)
        for sample, result in enumerate(results):
            expected = function(model, *arrays[:, sample])
            size = np.max(np.abs(expected))
            assert relative_error(result, expected, size) < 1e-12, name
            assert relative_error(kernel(*arrays[:, sample]), expected, size) < 1e-12, name


def test_large_robots_take_fewer_operations_and_small_ones_keep_their_form():
    for count, large in ((7, False), (24, True)):
        model = Robot.from_urdf_text(random_chain(count)).model
        assert matrix_factors.is_large(model) is large
    for name, factors in LARGE_ROBOT_FUNCTIONS.items():
        function, inputs = getattr(compiled_formulas, name), FUNCTIONS[name].arrays
        shapes = dict.fromkeys(inputs, (model.n,))
        in_loops, written_out = (
            trace(lambda *x, f=f: np.reshape(f(model, *x), -1), shapes).operation_count
            for f in (lambda *x, f=factors: f(*x).factors, function)
        )
        assert in_loops < 0.7 * written_out, name


def test_joints_that_share_a_degree_of_freedom_are_not_taken():
    urdf = random_chain(24).replace("<limit", "<mimic joint='j1' multiplier='0.5'/><limit").replace(
        "<mimic joint='j1' multiplier='0.5'/>", "", 20
    )
    model = Robot.from_urdf_text(urdf).model
    assert model.n == 20
    assert not matrix_factors.is_large(model)
