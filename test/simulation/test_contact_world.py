# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Worlds that do not fit the robot: unknown links, too many pairs, a start inside a surface."""

import numpy as np
import pytest

from robodyn_ros import InputError, Robot
from robodyn_ros.description.resources import robot_file
from robodyn_ros.simulation.contact_world import ContactPoint, World
from robodyn_ros.simulation.plant import Plant
from robodyn_ros.simulation.plant_model import PlantModel
from robodyn_ros.simulation.rollout import rollout
from robodyn_ros.simulation.surfaces import Material, Plane

ROBOT = Robot.from_urdf(robot_file("planar_2r"))
TIP = ROBOT.model.tip_link


def floor(height):
    return Plane("floor", Material(1e4, 1.0, 0.0), np.eye(3), np.array([0.0, 0.0, height]))


def world(height=-5.0, link=TIP):
    return World((floor(height),), (ContactPoint(link, np.zeros(3), 0.02),), "room.yaml")


def test_a_contact_point_needs_a_link_of_the_robot():
    with pytest.raises(InputError, match="room.yaml: contact point 1: robot 'planar_2r' has no link 'tol0'"):
        PlantModel.from_description(ROBOT.model, world=world(link="tol0"))


def test_a_contact_point_needs_a_link_that_moves():
    with pytest.raises(InputError, match="room.yaml: contact point 1: link 'base_link' of 'planar_2r' does not move"):
        PlantModel.from_description(ROBOT.model, world=world(link=ROBOT.model.base_link))


def test_too_many_pairs_are_refused():
    with pytest.raises(InputError, match="room: expected at most 64 pairs .* received 13 contact points times 5"):
        World((floor(0.0),) * 5, (ContactPoint(TIP, np.zeros(3), 0.0),) * 13, "room")


def test_only_one_integrator_has_contacts():
    with pytest.raises(InputError, match="room.yaml: expected the integrator semi_implicit_euler"):
        Plant(ROBOT, world=world(), integrator="runge_kutta")


def test_nothing_starts_inside_a_surface():
    inside = r"room.yaml: contact point 1 on link '.*' starts 4\.02 m inside surface 'floor' at joint positions"
    q = np.zeros(2)
    with pytest.raises(InputError, match=inside):
        Plant(ROBOT, position=q, world=world(5.0))
    with pytest.raises(InputError, match=inside):
        rollout(ROBOT, "pd", duration=0.1, q=q, plant=PlantModel.from_description(ROBOT.model, world=world(5.0)))
    height = ROBOT.dynamics().forward_kinematics(q)[2, 3]
    plant = Plant(ROBOT, position=q, world=world(height - 0.03))
    below = next(p for p in np.random.default_rng(0).uniform(-1.0, 1.0, (1000, 2))
                 if ROBOT.dynamics().forward_kinematics(p)[2, 3] < height - 0.1)
    with pytest.raises(InputError, match="inside surface 'floor'"):
        plant.set_state(below)
    np.testing.assert_array_equal(plant.q, q)


def test_a_world_without_pairs_is_none():
    empty = World((), (ContactPoint(TIP, np.zeros(3), 0.0),))
    assert PlantModel.from_description(ROBOT.model, world=empty).world is None
