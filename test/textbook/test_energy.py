# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

from hypothesis import given, settings
from pin_reference import SEEDS, SHIPPED, PinReference, random_state, relative_error
from random_robots import urdf_robots

from robodyn_ros.dynamics import energy as fast
from robodyn_ros.textbook.energy import center_of_mass, kinetic_energy, potential_energy


def check(reference, seed):
    robot = reference.robot
    q, v = random_state(robot, seed, 2)
    weight = 9.81 * sum(joint.inertia.mass for joint in robot.joints)  # times heights, which may cancel
    for kinetic in (reference.kinetic_energy(q, v), fast.kinetic_energy(robot, q, v)):
        assert relative_error(kinetic_energy(robot, q, v), kinetic) < 1e-9
    for potential in (reference.potential_energy(q), fast.potential_energy(robot, q)):
        assert relative_error(potential_energy(robot, q), potential, weight) < 1e-9
    for center in (reference.center_of_mass(q), fast.center_of_mass(robot, q)):
        assert relative_error(center_of_mass(robot, q), center, 1.0) < 1e-9


@SHIPPED
def test_shipped_robots_against_pinocchio_and_the_compiled_form(name):
    check(PinReference(name), 1)


@settings(deadline=None, max_examples=10)
@given(urdf_robots(max_joints=8), SEEDS)
def test_random_trees_against_pinocchio_and_the_compiled_form(urdf, seed):
    check(PinReference(urdf), seed)
