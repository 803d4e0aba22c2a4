# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The copy of config/robodyn.rviz for one robot, and the file itself."""

import struct

import numpy as np
import pytest
import yaml
from shipped import few
from urdf_parts import one_joint

from robodyn_ros import Robot
from robodyn_ros.base.errors import DescriptionWarning, InputError
from robodyn_ros.commands.rviz_configuration import ASPECT, FIELD_OF_VIEW, rviz_configuration
from robodyn_ros.description.resources import config_file, robot_file, shipped_robots
from robodyn_ros.simulation.plant import default_position
from robodyn_ros.simulation.standard_motion import excursion
from robodyn_ros.toolbox.view.framing import shape_corners
from robodyn_ros.toolbox.view.link_meshes import frame_poses, link_meshes

FILE = yaml.safe_load(config_file("robodyn.rviz").read_text())


def made(name, **options):
    return yaml.safe_load(rviz_configuration(Robot.from_urdf(robot_file(name)), **options))["Visualization Manager"]


def displays(manager):
    return {display["Name"]: display for display in manager["Displays"]}


def docks(state):
    """Area and width of the docks in a state of Qt's QMainWindow by name, and whether each is visible."""
    data, place = bytes.fromhex(state), 0

    def take(form):
        nonlocal place
        values = struct.unpack_from(form, data, place)
        place += struct.calcsize(form)
        return values if len(values) > 1 else values[0]

    def text():
        nonlocal place
        size = take(">i")
        place += size
        return data[place - size : place].decode("utf-16-be")

    assert take(">iiB") == (0xFF, 0, 0xFD)
    found, shown = {}, {}
    for _ in range(take(">i")):
        area, width, _, marker, _, count = take(">iiiBBi")
        assert marker == 0xFC
        for _ in range(count):
            assert take(">B") == 0xFB
            found[name := text()] = area, width
            shown[name] = take(">Biiii")[0] == 1  # visible and docked
    return found, shown, take(">ii"), take(">iiii")


def test_the_window_has_displays_on_the_left_and_most_of_it_for_the_robot():
    window = FILE["Window Geometry"]
    found, shown, (width, height), _ = docks(window["QMainWindow State"])
    assert shown == {"Displays": True, "Views": False} and window["Views"]["collapsed"] and width / height > ASPECT
    assert {panel["Name"] for panel in FILE["Panels"]} == set(found) == {"Displays", "Views"}
    assert found["Displays"][0] == 0 and found["Views"][0] == 1
    assert window["Hide Right Dock"] and not window["Hide Left Dock"]
    assert found["Displays"][1] + width <= window["Width"] and width > 0.6 * window["Width"]
    assert 0.7 * window["Height"] < height < window["Height"]


@pytest.mark.parametrize("name", few(shipped_robots(), 1))
def test_the_robot_fills_half_of_the_picture_and_the_tip_stays_in_it(name):
    robot, view = Robot.from_urdf(robot_file(name)), made(name)["Views"]["Current"]
    center, distance = np.array(list(view["Focal Point"].values())), view["Distance"]
    direction = np.array([np.cos(view["Pitch"]) * np.cos(view["Yaw"]), np.cos(view["Pitch"]) * np.sin(view["Yaw"]),
                          np.sin(view["Pitch"])])
    right = np.cross([0.0, 0.0, 1.0], direction)
    right /= np.linalg.norm(right)
    rows = np.stack([right, np.cross(direction, right), -direction])
    motion, shapes = excursion(robot), link_meshes(robot.model, None)[0]

    def seen(points):
        """Places in the picture, whose edges are at -1 and 1."""
        x, y, depth = rows @ (points - center - distance * direction).T
        assert (depth > view["Near Clip Distance"]).all()
        return np.stack([x / ASPECT, y], axis=1) / depth[:, None] / np.tan(FIELD_OF_VIEW / 2.0)

    edges = seen(shape_corners(shapes, frame_poses(robot.model, default_position(robot))))
    assert (np.abs(edges) < 1.0).all() and np.ptp(edges, axis=0).max() > 1.0  # half of the height or width
    positions = [motion.sample(time).q for time in np.linspace(0.0, motion.end_time, 60)]
    tips = np.array([frame_poses(robot.model, q)[robot.tip_link][:3, 3] for q in positions])
    assert (np.abs(seen(tips)) < 1.0).all()
    farthest = tips[np.argmax(np.hypot(tips[:, 0], tips[:, 1]))] * [1.0, 1.0, 0.0]
    wall = farthest @ farthest  # a wall that the tip touches there, across its direction: the camera is in front of it
    assert (center + distance * direction) @ farthest < wall


def test_topics_are_in_the_namespace_and_frames_have_the_prefix():
    manager = made("scara", namespace="/left", frame_prefix="left/arm/")
    assert manager["Global Options"]["Fixed Frame"] == "left/arm/base_link"
    found = displays(manager)
    assert found["RobotModel"]["TF Prefix"] == found["Effort"]["TF Prefix"] == "left/arm"
    topics = [value["Value"] for display in found.values() for field, value in display.items() if "Topic" in field]
    topics = [*(topic for topic in topics if isinstance(topic, str)), found["Effort"]["Robot Description"]]
    assert len(topics) == 9 and all(topic.startswith("/left/") for topic in topics)


def test_markers_grow_with_the_robot():
    small, large = (displays(made(name)) for name in ("arm6", "scara"))
    for display, length in (("TF", "Marker Scale"), ("Target", "Axes Length"), ("Effort", "Scale")):
        assert small[display][length] < large[display][length] < 4.0 * small[display][length]


@pytest.mark.parametrize("prefix", ["left_", "left", "/", "//"])
def test_a_prefix_that_rviz_cannot_join_is_refused(prefix):
    with pytest.raises(InputError, match=f"ends in '/'.*received '{prefix}'"):
        made("arm6", frame_prefix=prefix)


def test_a_robot_without_inertia_is_shown():
    with pytest.warns(DescriptionWarning, match="no moving link has an inertia"):
        robot = Robot.from_urdf_text(one_joint(""))
    manager = yaml.safe_load(rviz_configuration(robot))["Visualization Manager"]
    assert manager["Global Options"]["Fixed Frame"] == "a"
