# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Shapes of links from the visuals of a URDF."""

import re
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("yourdfpy", reason="yourdfpy is not installed: make setup")

import trimesh  # noqa: E402

from robodyn_ros.description.resources import robot_file, shipped_robots  # noqa: E402
from robodyn_ros.description.urdf import load_urdf, load_urdf_text  # noqa: E402
from robodyn_ros.kinematics.forward import forward_kinematics  # noqa: E402
from robodyn_ros.toolbox.view.link_meshes import JOINT_COLOR, frame_poses, link_meshes  # noqa: E402

INERTIAL = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
MATERIAL = '<material name="red"><color rgba="1 0 0 0.5"/></material>'


def robot(shapes, tag="visual"):
    """A robot of two links, 1 m apart, the second with these shapes."""
    elements = "".join(f"<{tag}>{shape}</{tag}>" for shape in shapes)
    return load_urdf_text(f"""<robot name="r">{MATERIAL}<link name="base"/><link name="arm">{INERTIAL}{elements}</link>
        <joint name="j" type="revolute"><parent link="base"/><child link="arm"/><origin xyz="0 0 1"/>
        <axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="1" velocity="1"/></joint></robot>""")


@pytest.mark.parametrize(("geometry", "extents"), [
    ('<box size="1 2 3"/>', [1, 2, 3]),
    ('<cylinder radius="0.5" length="3"/>', [1, 1, 3]),
    ('<sphere radius="0.5"/>', [1, 1, 1]),
])
@pytest.mark.parametrize("tag", ["visual", "collision"])
def test_primitives_stand_at_their_origin(geometry, extents, tag):
    origin = '<origin xyz="10 0 0" rpy="0 1.5707963267948966 0"/>'
    [shape], warnings = link_meshes(robot([f"{origin}<geometry>{geometry}</geometry>"], tag))
    assert shape.link == "arm" and not warnings
    assert shape.mesh.extents == pytest.approx(np.array(extents)[[2, 1, 0]], rel=0.01)
    assert shape.mesh.bounds.mean(axis=0) == pytest.approx([10, 0, 0], abs=0.01)


def test_colors_are_those_of_materials_by_name_or_in_place():
    box = '<geometry><box size="1 1 1"/></geometry>'
    here = '<material name="here"><color rgba="0 1 0 1"/></material>'
    shapes, _ = link_meshes(robot([f'{box}<material name="red"/>', f"{box}{here}", box]))
    assert [shape.color for shape in shapes[:2]] == [(1, 0, 0, 0.5), (0, 1, 0, 1)]
    assert shapes[2].color not in (None, (1, 0, 0, 0.5), (0, 1, 0, 1))


def test_meshes_are_scaled_and_keep_their_own_colors(tmp_path):
    mesh = trimesh.creation.box([1, 2, 3])
    mesh.visual.face_colors = [10, 20, 30, 255]
    mesh.export(tmp_path / "box.ply")
    shapes, warnings = link_meshes(robot(['<geometry><mesh filename="box.ply" scale="0.1 -0.1 0.1"/></geometry>',
                                          '<geometry><mesh filename="box.ply"/></geometry><material name="red"/>']),
                                   tmp_path)
    assert not warnings
    assert shapes[0].mesh.extents == pytest.approx([0.1, 0.2, 0.3]) and shapes[0].color is None
    assert shapes[1].color == (1, 0, 0, 0.5)


@pytest.mark.parametrize(("filename", "reason"), [
    ("gone.stl", "was not found"), ("package://nobody/a.stl", "no package 'nobody'"), ("text.stl", "text.stl"),
    ("https://example.org/a.stl", "expected package://"),
])
def test_rods_and_a_warning_stand_for_a_mesh_that_cannot_be_had(tmp_path, filename, reason):
    (tmp_path / "text.stl").write_text("this is no mesh")
    model = robot([f'<geometry><mesh filename="{filename}"/></geometry>', '<geometry><box size="1 1 1"/></geometry>'])
    [box, *rods], [warning] = link_meshes(model, tmp_path)
    assert len(box.mesh.faces) == 12
    assert rods and {rod.link for rod in rods} == {"arm"}
    assert "link 'arm'" in warning and reason in warning and "rods replace it" in warning and "\n" not in warning


def test_a_shape_that_cannot_be_read_is_left_out_with_a_warning():
    shapes, [warning] = link_meshes(robot(['<geometry><box size="a b c"/></geometry>']))
    assert "link 'arm': its <visual> cannot be read" in warning
    assert shapes  # rods


@pytest.mark.parametrize(("geometry", "reason"), [
    ('<box size="nan 1 1"/>', "size"), ('<box size="-1 1 1"/>', "size"), ('<box size="1e300 1 1"/>', "size"),
    ('<box size="0 1 1"/>', "size"), ('<box size="1 1"/>', "size"), ('<box size="1 inf 1"/>', "size"),
    ("<box/>", "size"), ('<cylinder radius="1e-9" length="1"/>', "without an extent"),
    ('<cylinder radius="1e-7" length="1e-7"/>', "without an extent"),
    ('<sphere radius="nan"/>', "radius"), ('<sphere radius="-1"/>', "radius"), ('<sphere radius="1e9"/>', "radius"),
    ('<cylinder radius="0" length="1"/>', "radius"), ('<cylinder radius="1" length="-inf"/>', "length"),
    ('<cylinder radius="1" length="1e308"/>', "length"), ("", "cannot be read"),
    ('<mesh filename="box.stl" scale="nan 1 1"/>', "scale"), ('<mesh filename="box.stl" scale="1e300 1 1"/>', "scale"),
    ('<mesh filename="box.stl" scale="1e5 1 1"/>', "is its scale right"), ('<mesh filename="huge.obj"/>', "1e.300"),
    ('<mesh filename="box.stl" scale="1 1"/>', "scale"), ('<mesh filename="nan.obj"/>', "nan.obj"),
])
def test_absurd_sizes_are_refused_by_name_and_the_others_are_shown(tmp_path, geometry, reason):
    trimesh.creation.box([1, 2, 3]).export(tmp_path / "box.stl")
    (tmp_path / "huge.obj").write_text("v 1e300 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    (tmp_path / "nan.obj").write_text("v nan 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    model = robot([f"<geometry>{geometry}</geometry>", '<geometry><sphere radius="0.5"/></geometry>'])
    shapes, [warning] = link_meshes(model, tmp_path)
    assert "link 'arm'" in warning and re.search(reason, warning) and "\n" not in warning and len(warning) < 400
    assert all(np.isfinite(shape.mesh.vertices).all() and np.abs(shape.mesh.bounds).max() < 1e4 for shape in shapes)


@pytest.mark.parametrize("origin", ['xyz="nan 0 0"', 'xyz="1e300 0 0"', 'rpy="inf 0 0"', 'xyz="1 2"', 'rpy="1"',
                                    'xyz="a b c"'])
def test_absurd_origins_are_refused_by_name(origin):
    shapes, warnings = link_meshes(robot([f'<origin {origin}/><geometry><sphere radius="0.5"/></geometry>']))
    assert len(warnings) == 1 and "link 'arm'" in warnings[0]
    assert all(np.abs(shape.mesh.bounds).max() < 1e4 for shape in shapes)


@pytest.mark.parametrize("color", ["nan 0 0 1", "1e300 -5 0 1", "1 0 0", "1 0 0 inf", "1 2 3 4 5 6", ""])
def test_absurd_colors_are_refused_or_cut(color):
    material = f'<material name="absurd"><color rgba="{color}"/></material>'
    shapes, _ = link_meshes(robot([f'<geometry><sphere radius="0.5"/></geometry>{material}']))
    assert all(shape.color is None or all(0.0 <= part <= 1.0 for part in shape.color) for shape in shapes)


def test_the_number_of_shapes_is_bounded(monkeypatch):
    monkeypatch.setattr("robodyn_ros.toolbox.view.link_meshes.MAX_SHAPES", 100)
    shapes, [warning] = link_meshes(robot(['<geometry><box size="1 1 1"/></geometry>'] * 20_000))
    assert len(shapes) == 100 and "more than 100 shapes" in warning


def test_a_robot_without_shapes_gets_rods():
    shapes, warnings = link_meshes(robot([]))
    assert not warnings
    assert {shape.link for shape in shapes} == {"base", "arm"}
    assert max(shape.mesh.bounds[1][2] for shape in shapes if shape.link == "base") == pytest.approx(1.0)


def test_joints_of_a_robot_without_shapes_show_their_axes():
    model = replace(load_urdf(robot_file("arm6")), description="")
    shapes = {shape.link: shape.mesh for shape in link_meshes(model)[0] if shape.color == JOINT_COLOR}
    assert len(shapes) == model.n
    for joint in model.joints:
        along, across = (np.ptp(shapes[joint.link].vertices @ axis) for axis in (joint.axis, np.roll(joint.axis, 1)))
        assert along == pytest.approx(1.2 * across, rel=0.01)


@pytest.mark.parametrize("name", shipped_robots())
def test_shipped_robots_are_shown_as_described(name):
    model = load_urdf(robot_file(name))
    shapes, warnings = link_meshes(model, robot_file(name).parent)
    assert not warnings
    assert len(shapes) == model.description.count("<visual>")
    q = np.linspace(0.1, 0.4, model.n)
    for link, pose in frame_poses(model, q).items():
        np.testing.assert_allclose(pose, forward_kinematics(model, q, link), atol=1e-12)
