# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""World files: what they mean, and what is refused with which line."""

import numpy as np
import pytest
import yaml

from robodyn_ros import InputError, Robot
from robodyn_ros.description.resources import robot_file
from robodyn_ros.simulation.surfaces import Box, Cylinder, Plane, Sphere
from robodyn_ros.simulation.world_file import read_world, world_from_mapping

MODEL = Robot.from_urdf(robot_file("arm6")).model
WALL = {"shape": "plane", "position": [0.5, 0, 0], "normal": [-2, 0, 0], "stiffness": "5e4", "friction": 0.3}


def test_a_file_becomes_surfaces_and_points(tmp_path):
    path = tmp_path / "room.yaml"
    path.write_text(yaml.safe_dump(sort_keys=False, data={
        "surfaces": {"wall": WALL, "table": {"shape": "box", "size": [1, 2, 0.1], "rpy": [0, 0, 1.5707963267948966]},
                     "ball": {"shape": "sphere", "radius": 0.1, "damping": 0.5},
                     "post": {"shape": "cylinder", "radius": 0.05, "length": 1}},
        "contact_points": [{"link": "tool0", "position": [0, 0, 0.1], "radius": 0.02}, {"link": "forearm_link"}]}))
    world = read_world(path, MODEL)
    wall, table, ball, post = world.surfaces
    assert [type(surface) for surface in world.surfaces] == [Plane, Box, Sphere, Cylinder]
    assert (wall.material.stiffness, wall.material.friction, ball.material.damping) == (5e4, 0.3, 0.5)
    np.testing.assert_allclose(wall.distance(np.array([0.3, 7.0, -8.0]))[1], [-1.0, 0.0, 0.0], atol=1e-15)
    assert wall.distance(np.array([0.3, 7.0, -8.0]))[0] == pytest.approx(0.2)
    assert table.distance(np.array([1.2, 0.0, 0.0]))[0] == pytest.approx(0.2)  # turned by a quarter
    assert (ball.radius, post.radius, post.length) == (0.1, 0.05, 1.0)
    assert [(point.link, point.radius) for point in world.points] == [("tool0", 0.02), ("forearm_link", 0.01)]


def test_without_points_the_tip_touches():
    (point,) = world_from_mapping({"surfaces": {"wall": WALL}}, MODEL).points
    assert (point.link, point.radius, point.position.tolist()) == ("tool0", 0.01, [0.0, 0.0, 0.0])


def with_wall(**changes):
    return {"surfaces": {"wall": WALL | changes}}


def with_points(*points):
    return with_wall() | {"contact_points": list(points)}


@pytest.mark.parametrize(("content", "line"), [
    (None, "expected the key 'surfaces' .* received None"),
    ({"surface": {}}, "expected the key 'surfaces'"),
    ({"surfaces": {}}, "surfaces: expected a section for each surface by its name, received {}"),
    ({"surfaces": {"wall": 3}}, r"surface 'wall': expected the key 'shape' \(plane, box, sphere, cylinder\)"),
    (with_wall(shape="cone"), "surface 'wall': shape: expected plane, box, sphere, cylinder, received 'cone'"),
    (with_wall(stifness=1e4), "surface 'wall': unknown key 'stifness': did you mean 'stiffness'"),
    (with_wall(radius=1.0), "surface 'wall': unknown key 'radius'"),
    (with_wall(stiffness=float("nan")), r"stiffness: expected a finite number from 1 to 1e\+07 .N/m., received nan"),
    (with_wall(stiffness=-1e4), r"stiffness: expected a finite number from 1 to 1e\+07 .N/m., received -10000"),
    (with_wall(friction=-0.1), "friction: expected a finite number from 0 to 10, received -0.1"),
    (with_wall(damping=True), "damping: expected a finite number"),
    (with_wall(normal=[0, 0, 0]), "normal: expected a vector that points out of the surface, received zeros"),
    (with_wall(position=[0.0, 1.0]), r"position: expected a list of 3, each .*, received \[0.0, 1.0\]"),
    (with_wall(position=[0.0, "here", 1.0]), "position: expected a list of 3"),
    (with_wall(position=[0.0, float("inf"), 1.0]), "position: expected a list of 3, each element a finite number"),
    ({"surfaces": {"table": {"shape": "box"}}}, "surface 'table': expected shape, .* size; missing: size"),
    ({"surfaces": {"table": {"shape": "box", "size": [1, 1, 0]}}}, "size: expected a list of 3, each .* above 0"),
    ({"surfaces": {"ball": {"shape": "sphere"}}}, "surface 'ball': expected shape, .* radius; missing: radius"),
    ({"surfaces": {"ball": {"shape": "sphere", "radius": 1e9}}}, "radius: expected a finite number above 0 and up to"),
    (with_points({"link": "tol0"}), "contact point 1: robot 'arm6' has no link 'tol0': did you mean 'tool0'"),
    (with_points({"radius": -1}), "contact point 1: radius: expected a finite number from 0 to 1000 .m., received -1"),
    (with_points({"posistion": [0, 0, 0]}), "contact point 1: unknown key 'posistion': did you mean 'position'"),
    (with_wall() | {"contact_points": {}}, "contact_points: expected a list"),
    (with_wall() | {"contact_point": []}, "unknown key 'contact_point': did you mean 'contact_points'"),
    (with_points(*[{}] * 65), "expected at most 64 pairs"),
])
def test_what_does_not_fit_is_told_in_one_line(content, line):
    with pytest.raises(InputError, match=f"^room.yaml: .*{line}") as error:
        world_from_mapping(content, MODEL, "room.yaml")
    assert "\n" not in str(error.value)


def test_a_world_has_a_name_and_a_file_that_is_missing_is_told():
    model = Robot.named("arm6").model
    assert read_world("touch_wall", model).surfaces[0].name == "wall"
    with pytest.raises(InputError, match=r"world: 'nowhere' is neither a file .* \(touch_wall\)"):
        read_world("nowhere", model)
