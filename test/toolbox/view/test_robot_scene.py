# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Content of the scene, without a browser; tests of pages look at its pixels."""

import contextlib
from types import SimpleNamespace

import pytest

pytest.importorskip("viser", reason="viser is not installed: make setup")

import numpy as np  # noqa: E402

from robodyn_ros.description.resources import robot_file  # noqa: E402
from robodyn_ros.description.urdf import load_urdf  # noqa: E402
from robodyn_ros.kinematics.forward import forward_kinematics  # noqa: E402
from robodyn_ros.simulation.surface_shapes import ShapeKind, SurfaceShape  # noqa: E402
from robodyn_ros.toolbox.view.robot_figure import node_name, position_and_quaternion, to_pose  # noqa: E402
from robodyn_ros.toolbox.view.robot_scene import RobotScene, SurfaceFigures  # noqa: E402

MODEL = load_urdf(robot_file("arm6"))
Q = np.array([0.3, -1.2, 1.4, -0.4, 0.7, 0.2])

TURNED = np.array([[0.0, 0.0, 1.0, 0.1], [1.0, 0.0, 0.0, 0.2], [0.0, 1.0, 0.0, 0.3], [0.0, 0.0, 0.0, 1.0]])
SIZE = np.array([0.2, 0.3, 0.5])


@pytest.fixture
def scene(server):
    server.scene.reset()
    return RobotScene(server, MODEL, None, Q)


def node(server, name):
    return server.scene._handle_from_node_name[name]


def test_links_are_where_the_joints_have_them(server, scene):
    for q in (Q, 0.5 * Q):
        scene.show(q)
        for link in MODEL.frames:
            frame = node(server, f"/robot/{link}")
            np.testing.assert_allclose(to_pose(frame.position, frame.wxyz), forward_kinematics(MODEL, q, link),
                                       atol=1e-9)


def test_the_ghost_is_shown_where_it_differs(server, scene):
    scene.show_desired(Q)
    assert not any(node(server, f"/desired/{link}").visible for link in MODEL.frames)
    np.testing.assert_allclose(scene.show_desired(Q + 0.1), forward_kinematics(MODEL, Q + 0.1), atol=1e-12)
    assert node(server, "/desired").visible and node(server, "/desired/tool0").visible
    scene.show_desired(Q + [0, 0, 0, 0.1, 0, 0])
    shown = {link for link in MODEL.frames if node(server, f"/desired/{link}").visible}
    assert "wrist_2_link" in shown and "forearm_link" not in shown
    scene.ghost_wanted = False
    scene.show_desired(Q + 0.1)
    assert not node(server, "/desired").visible


def test_the_desired_tip_is_shown_where_there_is_one(server, scene):
    target = forward_kinematics(MODEL, Q + 0.2)
    assert scene.show_desired(None, target) is target
    frame = node(server, "/desired tip")
    assert frame.visible
    np.testing.assert_allclose(to_pose(frame.position, frame.wxyz), target, atol=1e-9)
    np.testing.assert_allclose(scene.show_desired(None), scene.tip_pose)
    assert not frame.visible


def test_wrenches_are_arrows_in_base_axes(server, scene):
    arrows = node(server, "/external wrench")
    assert not arrows.visible
    scene.show_wrench("external", "forearm_link", np.array([0, 0, 10.0, 0, 2.0, 0]))
    pose = forward_kinematics(MODEL, Q, "forearm_link")
    (tail, head), (_, torque) = np.array(arrows.points, dtype=float)
    assert arrows.visible
    np.testing.assert_allclose(tail, pose[:3, 3], atol=1e-6)
    np.testing.assert_allclose((head - tail) / scene.force_scale, 10.0 * pose[:3, 2], rtol=1e-4, atol=1e-4)
    assert np.cross(torque - tail, pose[:3, 1]) == pytest.approx(np.zeros(3), abs=1e-6)
    scene.show_wrench("external", "forearm_link", np.zeros(6))
    assert not arrows.visible


def test_a_wrench_on_a_link_of_another_robot_is_not_shown(server, scene):
    scene.show_wrench("measured", "no such link", np.ones(6))
    assert not node(server, "/measured wrench").visible


def test_a_huge_force_does_not_leave_the_picture(server, scene):
    scene.show_wrench("measured", "tool0", np.full(6, 1e9))
    arrow = np.diff(np.array(node(server, "/measured wrench").points), axis=1)
    assert np.linalg.norm(arrow, axis=-1).max() < 2.0 * scene.size


def test_the_path_ends_at_the_tip_and_can_be_cleared(server, scene):
    for part in np.linspace(1.0, 0.5, 50):
        scene.show(part * Q)
    lines = np.array(node(server, "/tip path").points)
    np.testing.assert_allclose(lines[-1, 1], forward_kinematics(MODEL, 0.5 * Q)[:3, 3], atol=2e-3 * scene.size)
    assert np.abs(lines[-20:, 0] - lines[-20:, 1]).max() > 0.0
    scene.clear_path()
    assert not np.any(node(server, "/tip path").points)


def test_the_path_of_a_long_run_keeps_its_size(server, scene):
    size = node(server, "/tip path").points.shape
    for angle in np.linspace(0.0, 60.0, 500):  # more than the path has points
        scene.show(Q + np.array([np.sin(angle), 0, 0, 0, 0, 0]))
    assert node(server, "/tip path").points.shape == size


def test_axes_of_frames_come_on_demand(server, scene):
    assert not node(server, "/robot/tool0").show_axes
    scene.robot.set_axes(True)
    assert node(server, "/robot/tool0").show_axes


def test_the_camera_frames_the_robot_where_it_is(scene):
    client = SimpleNamespace(camera=SimpleNamespace(aspect=1.0), atomic=contextlib.nullcontext)
    scene.frame_robot(client)
    before = client.camera.look_at
    turned = Q + np.pi * np.eye(6)[0]
    scene.show(turned)
    scene.frame_robot(client)
    np.testing.assert_allclose(client.camera.look_at[:2], -before[:2], atol=0.02)


def test_slashes_in_names_of_links_begin_no_node():
    assert "/" not in node_name("left/arm")


def test_poses_survive_the_scene():
    pose = forward_kinematics(MODEL, Q)
    np.testing.assert_allclose(to_pose(*position_and_quaternion(pose)), pose, atol=1e-12)


def extents(figure):
    """Extents of a drawn shape along its axes, shape (3,) [m]."""
    if hasattr(figure, "dimensions"):
        return np.array(figure.dimensions)
    diameter = 2.0 * figure.radius
    return np.array(figure.scale) * [diameter, diameter, getattr(figure, "height", diameter)]


def test_shapes_are_drawn_where_they_are_in_place_of_the_former_ones(server):
    server.scene.reset()
    figures = SurfaceFigures(server.scene)
    figures.show([SurfaceShape(kind.value, kind, SIZE, TURNED) for kind in ShapeKind])
    nodes = server.scene._handle_from_node_name
    drawn = [nodes[f"/surfaces/{number}"] for number in range(3)]
    for figure in drawn:
        np.testing.assert_allclose(extents(figure), SIZE)
        np.testing.assert_allclose(to_pose(figure.position, figure.wxyz), TURNED, atol=1e-12)
    figures.show([SurfaceShape("ball", ShapeKind.SPHERE, 2.0 * SIZE, np.eye(4))])
    assert [name for name in nodes if name.startswith("/surfaces/")] == ["/surfaces/0"]
    np.testing.assert_allclose(extents(nodes["/surfaces/0"]), 2.0 * SIZE)
    figures.show([])
    assert not any(name.startswith("/surfaces/") for name in nodes)
