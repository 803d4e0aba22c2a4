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
from random_robots import urdf_robots

from robodyn_ros import Robot
from robodyn_ros.base.errors import DescriptionError
from robodyn_ros.dynamics.energy import center_of_mass, kinetic_energy, potential_energy
from robodyn_ros.dynamics.mass_matrix import mass_matrix
from robodyn_ros.textbook.newton_euler import gravity


def check(reference, seed):
    robot = reference.robot
    q, v = random_state(robot, seed, 2)
    kinetic = reference.kinetic_energy(q, v)
    assert relative_error(kinetic_energy(robot, q, v), kinetic) < 1e-9
    assert relative_error(0.5 * v @ mass_matrix(robot, q) @ v, kinetic) < 1e-9  # [LagrangeNotes] (36)
    # Heights may cancel, so the scale of rounding errors is the weight times a metre.
    mass = sum(joint.inertia.mass for joint in robot.joints)
    assert relative_error(potential_energy(robot, q), reference.potential_energy(q), 9.81 * mass) < 1e-9
    assert relative_error(center_of_mass(robot, q), reference.center_of_mass(q), 1.0) < 1e-9
    np.testing.assert_allclose(potential_energy(robot, q), -mass * robot.gravity @ center_of_mass(robot, q))


@SHIPPED
def test_shipped_robots_against_pinocchio(name):
    check(PinReference(name), 1)


@settings(deadline=None, max_examples=10)
@given(urdf_robots(max_joints=8), SEEDS)
def test_random_trees_against_pinocchio(urdf, seed):
    check(PinReference(urdf), seed)


def test_gravity_is_the_slope_of_the_potential_energy():
    robot = PinReference("arm7").robot
    (q,) = random_state(robot, 3, 1)
    step = 1e-5
    slope = [(potential_energy(robot, q + h) - potential_energy(robot, q - h)) / (2 * step) for h in step * np.eye(7)]
    np.testing.assert_allclose(gravity(robot, q), slope, atol=1e-7)


def test_a_robot_without_mass_has_no_centre_of_mass():
    with pytest.warns(match="inertia"):
        robot = Robot.from_dh([(0.0, 0.0, 0.0, 0.0)], name="weightless")
    for dyn in (robot.dynamics(), robot.dynamics(False, "textbook")):
        for function, values in ((dyn.center_of_mass, [[0.0]]), (dyn.kinetic_energy, [[0.0], [1.0]]),
                                 (dyn.potential_energy, [[0.0]])):
            with pytest.raises(DescriptionError, match="'weightless': .* need inertias, which no moving link has"):
                function(*values)
