# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The page of a running graph in a real Chromium: its content, and effects of clicks and drags on the robot."""

import os
import re
import time
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("viser", reason="viser is not installed: make setup")

from browser import open_page, pixels  # noqa: E402
from geometry_msgs.msg import WrenchStamped  # noqa: E402
from rcl_interfaces.srv import GetParameters  # noqa: E402
from ros_process import RosProcess, RosTest  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from std_srvs.srv import SetBool  # noqa: E402

from robodyn_interfaces.msg import ControllerState  # noqa: E402
from robodyn_interfaces.srv import SetState  # noqa: E402
from robodyn_ros.description.urdf import load_urdf  # noqa: E402
from robodyn_ros.kinematics.forward import forward_kinematics  # noqa: E402
from robodyn_ros.resources import robot_file  # noqa: E402
from robodyn_ros.view.framing import FIELD_OF_VIEW, Framing  # noqa: E402
from robodyn_ros.view.link_meshes import frame_poses, link_meshes  # noqa: E402

pytestmark = pytest.mark.long  # a browser that draws by software takes minutes on two cores

MODEL = load_urdf(robot_file("arm6"))

POSE = [0.0, -1.1, 1.5, -0.4, 0.8, 0.0]
CANVAS = "canvas[data-engine]"
JOINT_SLIDER = 1
"""Place of the first joint's slider among all; the first one is the real-time factor's."""
PATIENCE = 120.0
"""Longest wait for an action of the browser [s]: it draws by software, on a shared processor."""


def simulate(*options):
    """All nodes; in lockstep, so that a busy machine slows the robot down and changes nothing else."""
    return RosProcess("simulate", command=("-m", "robodyn_ros", "simulate", "--time-mode", "lockstep", *options,
                                           "--ros-args", "-p", "lockstep_speed_limit:=1.0"))


def start_view(*options):
    """The view's process, and the address of its page."""
    process = RosProcess("view", command=("-m", "robodyn_ros", "view", "--port", "0", *options))
    process.wait_for_output(" in a browser", timeout=PATIENCE)
    return process, re.search(r"http://\S+", process.output())[0]


def canvas(page):
    """Pixels of the scene, without the panels that float before it."""
    box = page.locator(CANVAS).bounding_box()
    return pixels(page, {"x": box["x"], "y": box["y"] + 0.2 * box["height"], "width": box["width"],
                         "height": 0.75 * box["height"]})


def changed(before, after):
    """How many pixels differ visibly; all of them if the pictures differ in size."""
    if before.shape != after.shape:
        return before.size
    return int((np.abs(before - after).max(axis=2) > 30).sum())


def settled(page, ros):
    """The scene, once nothing moves in it."""
    end, before = time.monotonic() + PATIENCE, canvas(page)
    while time.monotonic() < end:
        ros.spin(0.5)
        after = canvas(page)
        if changed(before, after) < 20:
            return after
        before = after
    raise AssertionError("the picture does not come to rest")


class Rig:
    """Simulation, view, browser and a node of the test's own."""

    def __init__(self, page, ros, view, graph):
        self.page, self.ros, self.view, self.graph = page, ros, view, graph
        self.states = ros.record(JointState, "joint_states")
        self.control = ros.record(ControllerState, "controller/controller_state")

    def wait_for(self, condition, what):
        self.ros.wait_for(condition, what, timeout=PATIENCE)

    def q(self):
        return np.array(self.states[-1].position)

    def parameter(self, name):
        [value] = self.ros.call(GetParameters, "controller/get_parameters", names=[name], timeout=PATIENCE).values
        return value.double_value if value.type == 3 else value.string_value

    def put(self, q):
        answer = self.ros.call(SetState, "hardware/set_state", position=list(map(float, q)), timeout=PATIENCE)
        assert answer.success, answer.message
        self.wait_for(lambda: np.abs(self.q() - q).max() < 0.02 and np.abs(self.control[-1].reference.positions
                      - np.array(q)).max() < 0.02 if self.control[-1].reference.positions else True, "the new state")

    def swap(self, name):
        assert self.ros.set_parameters("controller", {"controller": name}).successful
        self.wait_for(lambda: self.control and self.control[-1].controller == name, f"controller {name}")


@pytest.fixture
def rig(page_of_graph):
    """The page with its tab Control, and the simulation running, whatever the last test left."""
    rig = page_of_graph
    assert rig.ros.call(SetBool, "hardware/pause", data=False, timeout=PATIENCE).success
    rig.page.mouse.up()
    rig.page.get_by_role("tab", name="Control").click()
    return rig


@pytest.fixture(scope="module")
def page_of_graph(tmp_path_factory):
    """arm6 under computed_torque, beside a controller that is installed and cannot be made."""
    folder = tmp_path_factory.mktemp("plugins")
    metadata = folder / "broken-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[robodyn_ros.controllers]\nbroken = broken:Law\n")
    (folder / "broken.py").write_text("raise RuntimeError('its <b>motor</b> {burnt} out')\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(folder), prepend=os.pathsep)
        graph = simulate("--robot", "arm6", "--controller", "computed_torque", "--namespace", "page")
    view, url = start_view("--namespace", "page", "--ros-args", "-p", "frame_rate:=8.0")
    with graph, view, RosTest(namespace="page") as ros:
        rig = Rig(None, ros, view, graph)
        rig.wait_for(lambda: graph.check() or rig.states and rig.control, "the graph")
        rig.put(POSE)
        with open_page(url, 1160, 640) as rig.page:
            rig.page.get_by_text("real time").wait_for()
            rig.page.get_by_role("tab", name="Show").click()
            rig.page.get_by_role("checkbox", name="Shadows").click()  # they are most of a software renderer's work
            yield rig
        graph.stop()
        view.stop()


def on_screen(page, point):
    """Where a point of the base frame is seen [pixels], after `frame_robot`."""
    framing = Framing.from_shapes(link_meshes(MODEL)[0], frame_poses(MODEL, np.array(POSE)))
    box = page.locator(CANVAS).bounding_box()
    eye = framing.camera_position(box["width"] / box["height"])
    forward = (framing.center - eye) / np.linalg.norm(framing.center - eye)
    right = np.cross(forward, [0, 0, 1])
    right /= np.linalg.norm(right)
    offset = point - eye
    scale = 0.5 * box["height"] / np.tan(FIELD_OF_VIEW / 2.0) / (offset @ forward)
    return np.array([box["x"] + 0.5 * box["width"] + scale * (offset @ right),
                     box["y"] + 0.5 * box["height"] - scale * (offset @ np.cross(right, forward))])


def frame_robot(page):
    """Put the camera back, which arrow keys move too."""
    page.get_by_role("tab", name="Show").click()
    page.get_by_role("button", name="Frame the robot").click()
    page.get_by_role("tab", name="Control").click()


def drag(page, start, end, ros, hold=0.0):
    """Drag with the mouse, slowly enough for a page drawn by software."""
    page.mouse.move(*start)
    ros.spin(1.5)
    page.mouse.down()
    for part in np.linspace(0.1, 1.0, 10):
        page.mouse.move(*(start + part * (end - start)))
        ros.spin(0.2)
    ros.spin(hold)
    page.mouse.up()


def test_the_page_shows_the_robot_where_it_is(rig):
    first = settled(rig.page, rig.ros)
    background = np.median(first.reshape(-1, 3), axis=0)
    assert (np.abs(first - background).max(axis=2) > 60).sum() > 3000, "there is no robot in the picture"
    rig.put([0.9, -1.5, 1.0, -0.4, 0.8, 0.0])
    second = settled(rig.page, rig.ros)
    assert changed(first, second) > 3000, "the robot in the picture did not move with the joints"
    rig.put(POSE)


def test_choosing_a_controller_swaps_it_in_the_node_and_shows_its_gains(rig):
    rig.page.get_by_role("combobox", name="In force").click()
    rig.page.get_by_role("option", name="pd_gravity", exact=True).click()
    rig.wait_for(lambda: rig.control[-1].controller == "pd_gravity", "the swap")
    assert rig.parameter("controller") == "pd_gravity"
    rig.page.get_by_role("tab", name="Gains").click()
    rig.page.get_by_text("p [N m/rad]").wait_for()


def test_a_slider_moves_a_gain_and_follows_one_that_is_set_elsewhere(rig):
    rig.swap("pd_gravity")
    rig.page.get_by_role("tab", name="Gains").click()
    rig.page.get_by_text("p [N m/rad]").wait_for()
    name = "pd_gravity.gains.shoulder_pan_joint.p"
    before = rig.parameter(name)
    thumb = rig.page.get_by_role("slider").first
    thumb.focus()
    for _ in range(5):
        rig.page.keyboard.press("ArrowRight")
    wanted = float(thumb.get_attribute("aria-valuenow"))
    assert wanted > before
    # The page sends the first key's value and the last one's: a value set between them would rightly be overridden.
    rig.wait_for(lambda: rig.parameter(name) == pytest.approx(wanted, rel=1e-6), "the gain of the last key")
    assert rig.ros.set_parameters("controller", {name: before}).successful
    rig.wait_for(lambda: abs(float(thumb.get_attribute("aria-valuenow")) - before) < 1e-3 * before, "the slider")


def test_a_refused_swap_shows_why_and_what_is_in_force(rig):
    rig.swap("computed_torque")
    box = rig.page.get_by_role("combobox", name="In force")
    box.click()
    rig.page.get_by_role("option", name="broken", exact=True).click()
    rig.page.get_by_text("its <b>motor</b> {burnt} out").wait_for()
    assert rig.parameter("controller") == "computed_torque"
    rig.wait_for(lambda: box.input_value() == "computed_torque", "the controller in force")


def test_a_joint_slider_moves_the_joint(rig):
    rig.swap("computed_torque")
    rig.put(POSE)
    thumb = rig.page.get_by_role("slider").nth(JOINT_SLIDER)
    rig.ros.spin(2.0)  # sliders show the robot's new position
    thumb.focus()
    for _ in range(60):
        rig.page.keyboard.press("ArrowRight")
    target = float(thumb.get_attribute("aria-valuenow"))
    assert target > 0.03
    rig.wait_for(lambda: abs(rig.q()[0] - target) < 0.005, "the joint at its slider's position")
    assert np.abs(rig.q()[1:] - POSE[1:]).max() < 0.02


@pytest.mark.parametrize("controller", ["computed_torque", "operational_space"])
def test_dragging_the_target_moves_the_tip_there(rig, controller):
    rig.swap("computed_torque")
    rig.put(POSE)
    rig.swap(controller)
    frame_robot(rig.page)
    settled(rig.page, rig.ros)
    tip = forward_kinematics(MODEL, rig.q())
    axis = tip[:3, 1]  # the one that the camera sees best
    arm = 0.2 * 1.312
    shaft, beyond = tip[:3, 3] + 0.6 * arm * axis, tip[:3, 3] + 1.0 * arm * axis
    drag(rig.page, on_screen(rig.page, shaft), on_screen(rig.page, beyond), rig.ros)

    def moved():
        return (forward_kinematics(MODEL, rig.q())[:3, 3] - tip[:3, 3]) @ axis

    rig.wait_for(lambda: moved() > 0.3 * arm, "the tip at its target")
    rig.ros.spin(3.0)
    end = forward_kinematics(MODEL, rig.q())
    assert moved() == pytest.approx(0.4 * arm, rel=0.25)
    across = end[:3, 3] - tip[:3, 3] - moved() * axis
    assert np.linalg.norm(across) < 0.1 * arm


def test_dragging_the_arrow_pushes_until_it_is_let_go(rig):
    rig.swap("computed_torque")
    rig.put(POSE)
    frame_robot(rig.page)
    rig.page.get_by_role("button", name="push it").click()
    settled(rig.page, rig.ros)
    wrenches = rig.ros.record(WrenchStamped, "hardware/external_wrench", 100)
    tip = forward_kinematics(MODEL, rig.q())
    up = np.array([0.0, 0.0, 1.0])
    shaft, above = (on_screen(rig.page, tip[:3, 3] + height * up) for height in (0.17, 0.3))
    drag(rig.page, shaft, above, rig.ros, hold=1.0)
    rig.wait_for(lambda: wrenches and not np.any(force(wrenches[-1])), "the end of the push")
    pushed = max(wrenches, key=lambda message: np.linalg.norm(force(message)))
    assert pushed.header.frame_id == "tool0"
    in_base = tip[:3, :3] @ force(pushed)
    assert in_base[2] > 5.0 and in_base[2] > 3.0 * np.linalg.norm(in_base[:2])
    rig.page.get_by_role("button", name="move it").click()


def force(message):
    return np.array([message.wrench.force.x, message.wrench.force.y, message.wrench.force.z])


def test_the_simulation_pauses_steps_goes_on_and_is_reset(rig):
    rig.swap("computed_torque")
    rig.put(POSE)
    rig.page.get_by_role("button", name="pause").click()
    rig.page.get_by_text("does not move").wait_for()
    stamp = rig.states[-1].header.stamp
    rig.page.get_by_role("button", name="step").click()
    rig.wait_for(lambda: rig.states[-1].header.stamp != stamp, "a step")
    rig.page.get_by_role("button", name="resume").click()
    rig.page.get_by_text("real time").wait_for()
    rig.page.get_by_role("button", name="reset").click()
    rig.wait_for(lambda: np.abs(rig.q()).max() < 0.01, "the initial state")


def test_picture_of_the_documents(rig, request):
    """docs/images/view.png is renewed by: pytest test/nodes/view --pictures."""
    rig.swap("pd")
    rig.put(POSE)
    rig.wait_for(lambda: len(rig.states) > 100, "a curve")
    rig.page.set_viewport_size({"width": 1280, "height": 720})
    rig.page.get_by_role("tab", name="Show").click()
    rig.page.get_by_role("checkbox", name="Shadows").click()
    rig.page.get_by_role("tab", name="Control").click()
    alert = rig.page.get_by_role("alert")
    if alert.count():
        alert.get_by_role("button").first.click()
        alert.first.wait_for(state="detached")
    thumb = rig.page.get_by_role("slider").nth(JOINT_SLIDER)
    thumb.focus()
    for _ in range(40):
        rig.page.keyboard.press("ArrowRight")
    frame_robot(rig.page)
    rig.ros.spin(2.0)
    picture = rig.page.screenshot(timeout=120_000)
    if request.config.getoption("--pictures"):
        (Path(__file__).parents[3] / "docs" / "images" / "view.png").write_bytes(picture)
    assert len(picture) > 20_000


def test_the_page_waits_for_a_graph_says_when_it_dies_and_shows_the_next_robot():
    view, url = start_view("--namespace", "late", "--ros-args", "-p", "frame_rate:=8.0")
    with view, RosTest(namespace="late") as ros, open_page(url, 640, 480) as page:
        page.get_by_text("Waiting for a robot on the topic").wait_for()
        with simulate("--robot", "planar_2r", "--namespace", "late"):
            page.get_by_text("planar_2r, pd").wait_for()
        page.get_by_text("planar_2r: no joint states for").wait_for()
        with simulate("--robot", "scara", "--namespace", "late") as graph:
            page.get_by_text("scara, pd").wait_for()
            ros.spin(1.0)
            graph.stop()
        view.stop()
