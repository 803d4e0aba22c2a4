# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The visuals of the shipped robots, as viewers draw them."""

import itertools

import numpy as np
import pytest

pytest.importorskip("yourdfpy", reason="yourdfpy is not installed: make setup")

import trimesh  # noqa: E402

from robodyn_ros import Robot  # noqa: E402
from robodyn_ros.description.document import read_document  # noqa: E402
from robodyn_ros.description.resources import robot_file, shipped_robots  # noqa: E402
from robodyn_ros.description.robot_sources import text_source
from robodyn_ros.toolbox.view.link_meshes import frame_poses, link_meshes  # noqa: E402


@pytest.mark.parametrize("name", shipped_robots())
def test_the_first_colour_of_a_link_covers_most_of_it(name):
    """RViz paints all visuals of a link with the first one's colour (ros2/rviz#1293)."""
    shapes, _ = link_meshes(Robot.from_urdf(robot_file(name)).model)
    first, areas = {}, {}
    for shape in shapes:
        first.setdefault(shape.link, shape.color)
        areas[shape.link, shape.color] = areas.get((shape.link, shape.color), 0.0) + shape.mesh.area
    for (link, _), area in areas.items():
        assert area <= areas[link, first[link]], link


@pytest.mark.parametrize("name", shipped_robots())
def test_no_two_cylinders_share_a_surface(name):
    """Two surfaces at one place flicker."""
    model = Robot.from_urdf(robot_file(name)).model
    poses, document = frame_poses(model, np.zeros(model.n)), read_document(text_source(model.description))[0]
    cylinders = []
    for link, element in document.links.items():
        for visual in element.findall("visual"):
            if (cylinder := visual.find("geometry/cylinder")) is None:
                continue
            origin, pose = visual.find("origin"), np.eye(4)
            if origin is not None:
                rpy, xyz = ([float(x) for x in origin.get(key, "0 0 0").split()] for key in ("rpy", "xyz"))
                pose = trimesh.transformations.euler_matrix(*rpy, axes="sxyz")
                pose[:3, 3] = xyz
            pose = poses[link] @ pose
            cylinders.append((link, float(cylinder.get("radius")), float(cylinder.get("length")), pose[:3, 3],
                              pose[:3, 2]))
    for (link, radius, length, center, axis), (other, *rest) in itertools.combinations(cylinders, 2):
        between = rest[2] - center
        coaxial = (np.linalg.norm(np.cross(between, axis)) < 1e-6 and np.linalg.norm(np.cross(rest[3], axis)) < 1e-6)
        apart = abs(between @ axis) > (length + rest[1]) / 2.0 - 1e-6
        assert not coaxial or apart or radius != rest[0], f"{link} and {other}, radius {radius}"
