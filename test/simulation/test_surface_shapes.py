# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Shapes of surfaces: what is drawn ends where the surface is felt."""

import numpy as np
import pytest

from robodyn_ros import Robot
from robodyn_ros.description.resources import robot_file
from robodyn_ros.simulation.surface_shapes import ShapeKind, surface_shape
from robodyn_ros.simulation.world_file import world_from_mapping

MODEL = Robot.from_urdf(robot_file("arm6")).model
SURFACES = {
    "wall": {"shape": "plane", "position": [1.0, 2.0, 3.0], "normal": [1.0, -2.0, 0.5]},
    "table": {"shape": "box", "position": [0.5, 0.1, 0.2], "rpy": [0.1, 0.2, 0.3], "size": [0.3, 0.5, 0.1]},
    "ball": {"shape": "sphere", "position": [0.5, 0.1, 0.2], "radius": 0.2},
    "pipe": {"shape": "cylinder", "position": [0.5, 0.1, 0.2], "rpy": [1.0, 0.2, 0.3], "radius": 0.1, "length": 0.7},
}
FACES = np.vstack([np.eye(3), -np.eye(3)])


@pytest.mark.parametrize("name", SURFACES)
def test_the_middle_of_each_face_is_on_the_surface(name):
    [surface] = world_from_mapping({"surfaces": {name: SURFACES[name]}}, MODEL).surfaces
    shape = surface_shape(surface, 1.3)
    assert shape.name == name and np.linalg.det(shape.pose[:3, :3]) == pytest.approx(1.0)
    for face in FACES[2:3] if name == "wall" else FACES:
        point = shape.pose[:3, :3] @ (0.5 * shape.size * face) + shape.pose[:3, 3]
        distance, normal = surface.distance(point)
        assert distance == pytest.approx(0.0, abs=1e-12)
        np.testing.assert_allclose(normal, shape.pose[:3, :3] @ face, atol=1e-6)


def test_a_plane_is_drawn_near_the_base_and_in_the_size_of_the_robot():
    [wall] = world_from_mapping({"surfaces": {"wall": {"shape": "plane", "position": [1.0, 50.0, 0.0],
                                                       "normal": [1, 0, 0]}}}, MODEL).surfaces
    shape = surface_shape(wall, 2.0)
    assert shape.kind is ShapeKind.BOX
    np.testing.assert_allclose(shape.pose[:3, 3], [1.0 - 0.5 * shape.size[2], 0.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(shape.size, [4.8, 4.8, 0.02])
