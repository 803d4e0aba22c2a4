# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from pin_reference import SEEDS, SHIPPED, PinReference, random_state
from random_robots import urdf_robots

from robodyn_ros.description.model import Inertia
from robodyn_ros.dynamics.base_parameters import regrouped_bodies
from robodyn_ros.dynamics.energy import kinetic_energy
from robodyn_ros.dynamics.spatial_inertia import SpatialInertia
from robodyn_ros.kinematics.forward import joint_poses
from robodyn_ros.kinematics.link_motions import link_motions


def check(robot, seed):
    """Kinetic energy of the regrouped bodies, body by body, is the links'."""
    q, v = random_state(robot, seed, 2)
    zero = np.zeros(robot.n)
    motions = link_motions(robot, joint_poses(robot, q), v, zero, np.zeros(6))
    energy = sum(0.5 * motion.twist @ body.momentum(motion.twist)
                 for body, motion in zip(regrouped_bodies(robot), motions, strict=True))
    expected = kinetic_energy(robot, q, v)
    assert energy == pytest.approx(float(expected), rel=1e-11)


@SHIPPED
def test_kinetic_energy_of_shipped_robots(name):
    check(PinReference(name).robot, 1)


@settings(deadline=None, max_examples=20)
@given(urdf_robots(), SEEDS)
def test_kinetic_energy_of_random_trees(urdf, seed):
    check(PinReference(urdf).robot, seed)


@settings(deadline=None, max_examples=20)
@given(urdf_robots(), SEEDS)
def test_what_is_unmoved_is_gone(urdf, seed):
    robot = PinReference(urdf).robot
    for joint, body in zip(robot.joints, regrouped_bodies(robot), strict=True):
        if joint.kind == "prismatic":
            np.testing.assert_array_equal(body.rotational, 0.0)
            continue
        size = np.max(np.abs(SpatialInertia.from_inertia(joint.inertia).first)) + 1e-3
        assert body.mass == 0.0
        assert abs(joint.axis @ body.first) < 1e-12 * size


def test_seven_numbers_are_left_of_ten():
    robot = PinReference("arm7").robot
    for body in regrouped_bodies(robot):
        assert body.mass == 0.0
        assert np.count_nonzero(body.first) <= 2
        assert np.count_nonzero(body.second[np.triu_indices(3)]) <= 5


def test_mass_on_the_axis_of_the_first_joint_is_felt_by_none():
    robot = PinReference("arm6").robot
    first = robot.joints[0]
    rod = Inertia(4.0, 0.3 * first.axis, 0.02 * (np.eye(3) - np.outer(first.axis, first.axis)))
    heavier = dataclasses.replace(
        robot, joints=(dataclasses.replace(first, inertia=first.inertia + rod), *robot.joints[1:]))
    for light, heavy in zip(regrouped_bodies(robot), regrouped_bodies(heavier), strict=True):
        for part, other in zip(light, heavy, strict=True):
            np.testing.assert_allclose(part, other, atol=1e-15)
