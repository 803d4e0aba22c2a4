# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

import numpy as np
from hypothesis import given, settings
from pin_reference import SEEDS, SHIPPED, PinReference, random_state, relative_error
from random_robots import urdf_robots

from robodyn_ros.dynamics import derivatives as compiled
from robodyn_ros.textbook.derivatives import forward_dynamics_derivatives, inverse_dynamics_derivatives


def check(reference, seed):
    robot = reference.robot
    q, v, a = random_state(robot, seed)
    expected = reference.inverse_dynamics_derivatives(q, v, a)
    assert relative_error(inverse_dynamics_derivatives(robot, q, v, a), expected) < 1e-9
    tolerance = max(1e-9, 1e-13 * np.linalg.cond(expected[2]))
    if len(robot.joints) == robot.n:
        expected = reference.forward_dynamics_derivatives(q, v, a)
        assert relative_error(forward_dynamics_derivatives(robot, q, v, a), expected) < tolerance
    links = [robot.tip_link, robot.joints[0].link, robot.tip_link]
    applied = list(zip(links, np.random.default_rng(seed).normal(size=(3, 6)), strict=True))
    for book, fast in ((inverse_dynamics_derivatives, compiled.inverse_dynamics_derivatives),
                       (forward_dynamics_derivatives, compiled.forward_dynamics_derivatives)):
        found = book(robot, q, v, a, applied)
        assert relative_error(found, fast(robot, q, v, a, applied)) < tolerance
        assert relative_error(found, book(robot, q, v, a)) > 1e-6  # the wrenches matter


@SHIPPED
def test_shipped_robots_against_pinocchio_and_the_compiled_form(name):
    check(PinReference(name), 1)


@settings(deadline=None, max_examples=10)
@given(urdf_robots(max_joints=6), SEEDS)
def test_random_trees_against_pinocchio_and_the_compiled_form(urdf, seed):
    reference = PinReference(urdf)
    q, v, a = random_state(reference.robot, seed)
    expected = reference.inverse_dynamics_derivatives(q, v, a)
    assert relative_error(inverse_dynamics_derivatives(reference.robot, q, v, a), expected, at_least=1e-3) < 1e-9
    tolerance = max(1e-9, 1e-13 * np.linalg.cond(expected[2]))
    applied = [(reference.robot.tip_link, np.random.default_rng(seed).normal(size=6))]
    found = forward_dynamics_derivatives(reference.robot, q, v, a, applied)
    fast = compiled.forward_dynamics_derivatives(reference.robot, q, v, a, applied)
    assert relative_error(found, fast, at_least=1e-3) < tolerance
