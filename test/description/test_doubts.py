# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Doubts: a robot for each, and none on good robots."""

import warnings

import numpy as np
import pytest
from urdf_parts import joint, link, one_joint, robot

from robodyn_ros import Robot
from robodyn_ros.commands.robot_report import gravity_efforts, link_boxes
from robodyn_ros.description.document import read_document
from robodyn_ros.description.doubts import find_doubts
from robodyn_ros.description.resources import robot_file
from robodyn_ros.description.robot_sources import read_source, text_source
from robodyn_ros.toolbox.view.link_meshes import reach

MOMENTS = '<inertia ixx="{0}" iyy="{0}" izz="{0}" ixy="0" ixz="0" iyz="0"/>'
BOX = '<visual><geometry><box size="0.2 0.2 0.6"/></geometry></visual>'
LIMIT = '<limit lower="{}" upper="{}" velocity="{}" effort="{}"/>'


def body(mass=2.0, moment=0.03, center="0.05 0 0.1", rpy="0 0 0", shape=BOX):
    """Content of a link: a body of 2 kg and 0.6 m, unless changed."""
    return (f'<inertial><origin xyz="{center}" rpy="{rpy}"/><mass value="{mass}"/>{MOMENTS.format(moment)}</inertial>'
            + shape)


def limit(lower=-1.0, upper=2.0, velocity=3.0, effort=40.0):
    return LIMIT.format(lower, upper, velocity, effort)


def doubts(source, folder=None):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        one = Robot.from_urdf(source) if folder else Robot.from_urdf_text(source)
    document, report = read_document(read_source(source) if folder else text_source(source))
    return find_doubts(document, report, one.model, link_boxes(one.model, document, folder), gravity_efforts(one),
                       reach(one.model))


def arm(content=None, **options):
    """One revolute joint about x, so that gravity acts on it, with a body of the given content."""
    return one_joint(body() if content is None else content, axis="1 0 0", **{"limit": limit(), **options})


@pytest.mark.parametrize(("urdf", "element", "words"), [
    (arm(origin='<origin xyz="0 0 300"/>'), "<joint name='j'>", "its origin is 300 m from the frame of its parent"),
    (arm(origin='<origin xyz="0 0 0.5" rpy="0 90 0"/>'), "<joint name='j'>", 'rpy="0 90 0" of its origin is more than'),
    (arm(body(rpy="180 0 0")), "<link name='b'>", 'the rpy="180 0 0" of its origin'),
    (arm(limit=limit(-20.0, 20.0)), "<joint name='j'>", "limits -20 and 20 are whole numbers beyond a turn"),
    (arm(limit=limit(velocity=180.0)), "<joint name='j'>", "180 rad/s is 1719 turns per minute"),
    (arm(kind="prismatic", limit=limit(0.0, 400.0)), "<joint name='j'>", "limits 0 and 400 are beyond 10 m"),
    (arm(limit=limit(effort=0.5)), "<joint name='j'>", "effort limit is 0.5 N m, and gravity alone needs up to 1.9"),
    (arm(extra='<dynamics friction="40"/>'), "<joint name='j'>", "friction 40 N m is not below the effort limit 40"),
    (arm(body(mass=3000.0, moment=50.0), limit=limit(effort=1e4)), "<link name='b'>", "its mass is 3000 kg"),
    (arm(body(moment=30000.0)), "<link name='b'>", "is that of 2 kg at 122 m from the centre of mass, and a link of"),
    (arm(body(moment=30000.0, shape="")), "<link name='b'>", "is that of 2 kg at 122 m from the centre of mass"),
    (arm(body(moment=1e-6)), "<link name='b'>", "is that of 2 kg at 0.000707 m from the centre of mass, and the link"),
    (arm(body(center="0 0 1.2"), limit=limit(effort=100.0)), "<link name='b'>",
     "its centre of mass (0, 0, 1.2) is 0.9 m outside of its shapes, which are 0.6633 m long"),
    (arm(body(center="0 50 0", shape=""), limit=limit(effort=1e4)), "<link name='b'>", "is 50 m from its frame"),
    (arm(body(shape=BOX.replace("0.2 0.2 0.6", "200 200 600"), moment=9000.0)), "<link name='b'>",
     "its shapes are 663.3 m long"),
], ids=lambda value: "" if str(value).startswith("<robot") else str(value)[:40])
def test_each_doubt_names_element_and_value(urdf, element, words):
    [doubt] = doubts(urdf)
    line = next(number for number, text in enumerate(urdf.splitlines(), 1) if text.startswith(element[:-1].replace(
        "'", '"').split(">")[0]))
    assert doubt.startswith(f"URDF string, line {line}, {element}: ") and words in doubt, doubt


def test_what_the_loader_warns_of_is_no_second_doubt():
    with pytest.warns(UserWarning, match="look like degrees"):
        Robot.from_urdf_text(arm(limit=limit(-90.0, 90.0)))
    assert doubts(arm(limit=limit(-90.0, 90.0))) == []
    point = arm(body(moment=1e-13))
    with pytest.warns(UserWarning, match="a point mass"):
        Robot.from_urdf_text(point)
    assert doubts(point) == []


@pytest.mark.parametrize("urdf", [
    arm(),
    arm(limit=limit(-6.2832, 6.2832)),  # a turn
    arm(limit=limit(-6.3, 6.3)),
    arm(kind="continuous", limit=limit(velocity=300.0)),  # a wheel
    arm(limit=""),
    arm(body(shape="")),
    arm(f'<inertial><mass value="0.1"/>{MOMENTS.format("1e-4")}</inertial>'),  # no origin, no shape
    arm(body(center="0.05 0 0.35")),  # a little beside a shape that does not show all
    robot(link("a", ""), joint("j", "a", "b", "prismatic", limit=limit(0.0, 4.0)), link("b", body())),
], ids=range(9))
def test_good_robots_have_none(urdf):
    assert doubts(urdf) == []


@pytest.mark.parametrize("name", ["arm6", "arm7", "planar_2r"])
def test_shipped_robots_have_none(name):
    assert doubts(robot_file(name), robot_file(name).parent) == []


def test_a_missing_mesh_is_no_shape(tmp_path):
    mesh = '<visual><geometry><mesh filename="package://nowhere/it.stl"/></geometry></visual>'
    file = tmp_path / "robot.urdf"
    file.write_text(arm(body(center="0 0 1.2", shape=mesh), limit=limit(effort=100.0)))
    assert doubts(file, tmp_path) == []


def test_gravity_efforts_are_the_greatest_of_the_postures():
    arm6 = Robot.from_urdf(robot_file("arm6"))
    found = gravity_efforts(arm6)
    assert found[0] == 0.0  # its axis is vertical
    stretched = np.abs(arm6.dynamics(False, "textbook").gravity(np.zeros(6)))
    assert 0.7 * stretched[1] < found[1] <= 1.05 * stretched[1]
