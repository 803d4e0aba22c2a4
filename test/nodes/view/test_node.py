# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The page of a running graph in a real Chromium: its content, and effects of clicks and drags on the robot.

One graph and one page serve most tests, since a busy machine takes long to open one. Each test begins with the robot in
one pose under one law, and with the tab Control.
"""

import contextlib
import os
import re
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("viser", reason="viser is not installed: make setup")

from browser import PATIENCE, open_browser, open_page, pixels  # noqa: E402
from controller_rig import trajectory  # noqa: E402
from geometry_msgs.msg import WrenchStamped  # noqa: E402
from rcl_interfaces.srv import GetParameters  # noqa: E402
from ros_process import RosProcess, RosTest  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from std_srvs.srv import SetBool  # noqa: E402
from trajectory_msgs.msg import JointTrajectory  # noqa: E402

from robodyn_interfaces.msg import ControllerState  # noqa: E402
from robodyn_interfaces.srv import SetState  # noqa: E402
from robodyn_ros.control.contract.law_drawings import drawn_fields  # noqa: E402
from robodyn_ros.control.laws.mpc import PlannedPath  # noqa: E402
from robodyn_ros.control.optimisation.safety_filter import ActiveLimits  # noqa: E402
from robodyn_ros.description.resources import robot_file  # noqa: E402
from robodyn_ros.description.urdf import load_urdf  # noqa: E402
from robodyn_ros.kinematics.forward import forward_kinematics  # noqa: E402
from robodyn_ros.toolbox.view.framing import FIELD_OF_VIEW, Framing  # noqa: E402
from robodyn_ros.toolbox.view.link_meshes import frame_poses, link_meshes  # noqa: E402

pytestmark = pytest.mark.long  # minutes on two cores

MODEL = load_urdf(robot_file("arm6"))
POSE = [0.0, -1.1, 1.5, -0.4, 0.8, 0.0]
ARM = 0.2 * 1.312
"""Length of the handle's arrows [m]."""
CANVAS = "canvas[data-engine]"
JOINT_SLIDER = 2
"""Place of the first joint's slider among all, behind those of the motions' speed and of the real-time factor."""
PICTURE = Path(__file__).parents[3] / "docs" / "images" / "view.png"


def simulate(robot, namespace, *options):
    """All nodes; in lockstep, so that a busy machine slows the robot down and changes nothing else."""
    return RosProcess("simulate", command=("-m", "robodyn_ros", "simulate", "--robot", robot, "--time-mode", "lockstep",
                                           "--namespace", namespace, *options, "--ros-args", "-p",
                                           "lockstep_speed_limit:=1.0"))


@contextlib.contextmanager
def start_view(namespace, *parameters):
    """Address of the page of a view."""
    with RosProcess("view", command=("-m", "robodyn_ros", "view", "--port", "0", "--namespace", namespace, "--ros-args",
                                     "-p", "frame_rate:=8.0", *parameters)) as view:
        view.wait_for_output(" in a browser", timeout=PATIENCE)
        yield re.search(r"http://\S+", view.output())[0]
        view.stop()
        assert "message of a page was refused" not in view.output(), "what a real browser sends was refused"


@pytest.fixture(scope="module")
def browser():
    with open_browser() as browser:
        yield browser


class Rig:
    """Simulation, view, browser and a node of the test's own."""

    def __init__(self, ros, browser, url, recordings):
        self.ros, self.browser, self.url, self.recordings = ros, browser, url, recordings
        self.page = None
        self.states = ros.record(JointState, "joint_states")
        self.control = ros.record(ControllerState, "controller/controller_state")

    def begin(self):
        """Put the robot into the tests' pose under computed_torque, and show the tab Control, whatever was left."""
        assert self.ros.call(SetBool, "hardware/pause", data=False, timeout=PATIENCE).success
        self.swap("computed_torque")
        self.put(POSE)
        if self.page is None:
            self.open_again()
        self.page.mouse.up()
        self.page.keyboard.press("Escape")
        self.show_tab("Control")
        self.page.get_by_text("real time").wait_for()
        self.wait_for_sliders(POSE)

    def open_again(self):
        """Close the page, if there is one, and open another."""
        if self.page is not None:
            self.page.close()
        self.page = open_page(self.browser, self.url, 1160, 640)

    def wait_for(self, condition, what):
        return self.ros.wait_for(condition, what, timeout=PATIENCE)

    def q(self):
        return np.array(self.states[-1].position)

    def tip(self):
        return forward_kinematics(MODEL, self.q())

    def parameter(self, name):
        [value] = self.ros.call(GetParameters, "controller/get_parameters", names=[name], timeout=PATIENCE).values
        return value.double_value if value.type == 3 else value.string_value

    def put(self, q):
        """Set the state, and wait until the controller has it; its law must follow joints."""
        answer = self.ros.call(SetState, "hardware/set_state", position=list(map(float, q)), timeout=PATIENCE)
        assert answer.success, answer.message
        self.wait_for(lambda: np.abs(self.q() - q).max() < 0.02 and np.abs(
            np.array(self.control[-1].reference.positions) - q).max() < 0.02, "the new state")

    def wait_for_sliders(self, q):
        """Wait until the page has the state."""
        thumbs = [self.slider(JOINT_SLIDER + index) for index in range(len(q))]
        self.wait_for(lambda: np.abs(np.array([*map(shown, thumbs)]) - q).max() < 0.03, "the sliders")

    def swap(self, name):
        assert self.ros.set_parameters("controller", {"controller": name}).successful
        self.wait_for(lambda: self.control and self.control[-1].controller == name, f"controller {name}")

    def slider(self, place):
        return self.page.get_by_role("slider").nth(place)

    def show_tab(self, name):
        self.page.get_by_role("tab", name=name).click()

    def frame_robot(self):
        """Point the camera at the robot's present pose."""
        self.show_tab("Show")
        self.page.get_by_role("button", name="Frame the robot").click()
        self.show_tab("Control")
        self.settled()

    def canvas(self):
        """Pixels of the scene, without the panels that float before it."""
        box = self.page.locator(CANVAS).bounding_box()
        return pixels(self.page, {"x": box["x"], "y": box["y"] + 0.2 * box["height"], "width": box["width"],
                                  "height": 0.75 * box["height"]})

    def settled(self):
        """The scene, once nothing moves in it."""
        before = self.canvas()
        still = 0

        def rests():
            nonlocal before, still
            self.ros.spin(0.1)
            after = self.canvas()
            still = still + 1 if changed(before, after) < 5 else 0
            before = after
            return still >= 2

        self.wait_for(rests, "a picture at rest")
        return before

    def on_screen(self, point):
        """Where a point of the base frame is seen [pixels], after `frame_robot`."""
        framing = Framing.from_shapes(link_meshes(MODEL)[0], frame_poses(MODEL, np.array(POSE)))
        box = self.page.locator(CANVAS).bounding_box()
        eye = framing.camera_position(box["width"] / box["height"])
        forward = (framing.center - eye) / np.linalg.norm(framing.center - eye)
        right = np.cross(forward, [0, 0, 1])
        right /= np.linalg.norm(right)
        offset = point - eye
        scale = 0.5 * box["height"] / np.tan(FIELD_OF_VIEW / 2.0) / (offset @ forward)
        return np.array([box["x"] + 0.5 * box["width"] + scale * (offset @ right),
                         box["y"] + 0.5 * box["height"] - scale * (offset @ np.cross(right, forward))])


def hold(rig, start, end):
    """Press the mouse button on the tip's handle, and drag; frame by frame, since the page is drawn by software."""
    mouse = rig.page.mouse

    def lit():
        mouse.move(*(start + [3.0, 3.0]))
        mouse.move(*start)
        next_frame(rig.page)
        return lit_pixels(rig.page) > 50

    rig.wait_for(lit, "an arrow under the mouse")  # the camera may be on its way
    mouse.down()
    for part in np.linspace(0.1, 1.0, 10):
        mouse.move(*(start + part * (end - start)))
        next_frame(rig.page)


def lit_pixels(page):
    """How many pixels are yellow: the part of the handle that is under the mouse, more or less transparent."""
    red, green, blue = np.moveaxis(pixels(page, page.locator(CANVAS).bounding_box()), 2, 0)
    return int(((np.abs(red - green) < 20) & (np.minimum(red, green) - blue > 50) & (red > 180)).sum())


def next_frame(page):
    """Wait until the page has drawn what it knows."""
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


def drag_slider(page, thumb, length):
    """Drag a slider to the right by a length [pixels]; the panel is higher than the page."""
    thumb.scroll_into_view_if_needed()
    box = thumb.bounding_box()
    start = np.array([box["x"] + 0.5 * box["width"], box["y"] + 0.5 * box["height"]])
    page.mouse.move(*start)
    page.mouse.down()
    page.mouse.move(*(start + [length, 0.0]), steps=5)
    page.mouse.up()
    next_frame(page)  # the page reads the mouse once a frame


def changed(before, after):
    """How many pixels differ visibly; all of them if the pictures differ in size."""
    if before.shape != after.shape:
        return before.size
    return int((np.abs(before - after).max(axis=2) > 30).sum())


def shown(slider):
    """Value that a slider shows."""
    return float(slider.get_attribute("aria-valuenow"))


@pytest.fixture(scope="module")
def graph(tmp_path_factory, browser):
    """arm6 beside a controller that is installed and cannot be made."""
    folder, recordings = tmp_path_factory.mktemp("plugins"), tmp_path_factory.mktemp("recordings")
    metadata = folder / "broken-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[robodyn_ros.controllers]\nbroken = broken:Law\n")
    (folder / "broken.py").write_text("raise RuntimeError('its <b>motor</b> {burnt} out')\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(folder), prepend=os.pathsep)
        nodes = simulate("arm6", "page", "--controller", "computed_torque")
    with (nodes, start_view("page", "-p", f"recordings:={recordings}") as url, RosTest(namespace="page") as ros):
        rig = Rig(ros, browser, url, recordings)
        rig.wait_for(lambda: nodes.check() or rig.states and rig.control, "the graph")
        rig.open_again()
        rig.show_tab("Show")
        rig.page.get_by_role("checkbox", name="Shadows").click()  # they are most of a software renderer's work
        yield rig


@pytest.fixture
def rig(graph):
    """The graph and its page as tests find them."""
    graph.begin()
    return graph


def test_the_page_shows_the_robot_where_it_is(rig):
    first = rig.settled()
    background = np.median(first.reshape(-1, 3), axis=0)
    assert (np.abs(first - background).max(axis=2) > 60).sum() > 3000, "there is no robot in the picture"
    rig.put([0.9, -1.5, 1.0, -0.4, 0.8, 0.0])
    rig.wait_for_sliders([0.9])
    second = rig.settled()
    assert changed(first, second) > 3000, "the robot in the picture did not move with the joints"


def test_choosing_a_controller_swaps_it_in_the_node_and_shows_its_gains(rig):
    rig.page.get_by_role("combobox", name="In force").click()
    rig.page.get_by_role("option", name="pd_gravity", exact=True).click()
    rig.wait_for(lambda: rig.control[-1].controller == "pd_gravity", "the swap")
    assert rig.parameter("controller") == "pd_gravity"
    rig.show_tab("Gains")
    rig.page.get_by_text("p [N m/rad]").wait_for()


def test_a_slider_moves_a_gain_and_follows_one_that_is_set_elsewhere(rig):
    rig.swap("pd_gravity")
    rig.show_tab("Gains")
    rig.page.get_by_text("p [N m/rad]").wait_for()
    name = "pd_gravity.gains.shoulder_pan_joint.p"
    before = rig.parameter(name)
    thumb = rig.slider(0)
    thumb.focus()
    for _ in range(5):
        rig.page.keyboard.press("ArrowRight")
    wanted = shown(thumb)
    assert wanted > before
    # The page sends the first key's value and the last one: a value set between them would rightly be overridden.
    rig.wait_for(lambda: rig.parameter(name) == pytest.approx(wanted, rel=1e-6), "the gain of the last key")
    assert rig.ros.set_parameters("controller", {name: before}).successful
    rig.wait_for(lambda: shown(thumb) == pytest.approx(before, rel=1e-3), "the slider")


def test_a_refused_swap_shows_why_and_what_is_in_force(rig):
    box = rig.page.get_by_role("combobox", name="In force")
    box.click()
    rig.page.get_by_role("option", name="broken", exact=True).click()
    rig.page.get_by_text("its <b>motor</b> {burnt} out").wait_for()
    assert rig.parameter("controller") == "computed_torque"
    rig.wait_for(lambda: box.input_value() == "computed_torque", "the controller in force")


def test_a_joint_slider_sends_a_trajectory_and_stays_where_it_was_left(rig):
    thumb = rig.slider(JOINT_SLIDER)
    drag_slider(rig.page, thumb, 8.0)
    target = shown(thumb)
    assert target > 0.1
    values = set()

    def arrived():
        values.add(shown(thumb))
        return abs(rig.q()[0] - target) < 0.005

    rig.wait_for(arrived, "the joint at its slider's position")
    assert values == {target}, "the slider moved under the user's hand"
    assert np.abs(rig.q()[1:] - POSE[1:]).max() < 0.02


@pytest.mark.parametrize("controller", ["computed_torque", "operational_space"])
def test_dragging_the_target_moves_the_tip_there(rig, controller):
    rig.swap(controller)
    rig.page.get_by_role("button", name="move it").click()
    rig.frame_robot()
    before = rig.tip()
    axis = before[:3, 1]  # the one that the camera sees best
    hold(rig, *(rig.on_screen(before[:3, 3] + length * ARM * axis) for length in (0.6, 1.0)))
    rig.page.mouse.up()

    def offset():
        return rig.tip()[:3, 3] - before[:3, 3]

    rig.wait_for(lambda: abs(offset() @ axis - 0.4 * ARM) < 0.1 * ARM, "the tip at its target")
    rig.wait_for(lambda: np.linalg.norm(offset() - offset() @ axis * axis) < 0.05 * ARM, "no motion across")
    rig.settled()
    assert abs(offset() @ axis - 0.4 * ARM) < 0.1 * ARM


def test_dragging_the_arrow_pushes_the_arm_until_it_is_let_go(rig):
    rig.page.get_by_role("button", name="push it").click()
    rig.frame_robot()
    wrenches = rig.ros.record(WrenchStamped, "hardware/external_wrench", 100)
    before = rig.tip()[:3, 3]
    hold(rig, *(rig.on_screen(before + [0.0, 0.0, height]) for height in (0.17, 0.3)))
    rig.wait_for(lambda: wrenches and np.linalg.norm(force(wrenches[-1])) > 5.0, "a push")
    assert wrenches[-1].header.frame_id == "tool0"
    in_base = rig.tip()[:3, :3] @ force(wrenches[-1])
    assert in_base[2] > 3.0 * np.linalg.norm(in_base[:2])
    rig.wait_for(lambda: rig.tip()[2, 3] - before[2] > 0.001, "a tip that gives way")
    rig.page.mouse.up()
    rig.wait_for(lambda: not np.any(force(wrenches[-1])), "the end of the push")
    rig.wait_for(lambda: np.abs(rig.tip()[:3, 3] - before).max() < 0.001, "the tip where it was")


def force(message):
    return np.array([message.wrench.force.x, message.wrench.force.y, message.wrench.force.z])


def test_stop_is_latched_and_shown_until_release(rig):
    rig.page.get_by_role("button", name="Stop").click()
    rig.wait_for(lambda: rig.control[-1].mode == "stopped", "the stop")
    rig.page.get_by_text("arm6 is stopped: on request; Release lets it go on").wait_for()
    rig.page.get_by_role("button", name="Release").click()
    rig.wait_for(lambda: rig.control[-1].mode == "running" and rig.control[-1].controller == "computed_torque",
                 "the release")
    rig.page.get_by_text("real time").wait_for()


def test_the_speed_slider_slows_motions_down(rig):
    rig.slider(0).focus()
    for _ in range(30):
        rig.page.keyboard.press("ArrowLeft")
    rig.wait_for(lambda: rig.control[-1].speed_scaling_factor == pytest.approx(0.7), "the speed")
    rig.page.keyboard.press("End")
    rig.wait_for(lambda: rig.control[-1].speed_scaling_factor == 1.0, "full speed")


def test_the_simulation_pauses_steps_goes_on_and_is_reset(rig):
    rig.page.get_by_role("button", name="pause").click()
    rig.page.get_by_text("does not move").wait_for()
    stamp = rig.states[-1].header.stamp
    rig.page.get_by_role("button", name="step").click()
    rig.wait_for(lambda: rig.states[-1].header.stamp != stamp, "a step")
    rig.page.get_by_role("button", name="resume").click()
    rig.page.get_by_text("real time").wait_for()
    rig.page.get_by_role("button", name="reset").click()
    rig.wait_for(lambda: np.abs(rig.q()).max() < 0.01, "the initial state")


def test_the_record_button_makes_a_recording_that_outlives_the_tab(rig):
    rig.page.get_by_role("button", name="record", exact=True).click()
    rig.page.get_by_text("recording to").wait_for()
    rig.open_again()
    rig.page.get_by_role("button", name="end recording").click()
    rig.page.get_by_text("recorded:").wait_for()
    rig.page.get_by_text("messages of").wait_for()
    [folder] = rig.recordings.iterdir()
    assert (folder / "metadata.yaml").is_file()


def send_trajectory(rig, q, duration):
    """Let the joints move to positions within a time [s]."""
    rig.ros.publisher(JointTrajectory, "controller/joint_trajectory").publish(
        trajectory([duration], [q], MODEL.joint_names))


def pixels_of(rig, color):
    """How many pixels have the strongest and weakest part of a color; light and fading change how strong they are."""
    canvas = rig.canvas()
    weak, middle, strong = np.moveaxis(canvas[..., np.argsort(color)], 2, 0)
    return int(((strong > middle + 10) & (middle > weak + 20) & (strong > weak + 70)).sum())


@pytest.fixture
def without_handle(rig):
    """The graph and its page without the handle at the tip, which has all colors."""
    rig.page.get_by_role("button", name="off", exact=True).click()
    yield rig
    rig.page.get_by_role("button", name="move it").click()


def test_the_plan_of_mpc_is_in_the_scene(without_handle):
    """Paused on the way, because a plan at rest is a point."""
    rig, color = without_handle, drawn_fields(PlannedPath)["plan"].color
    rig.swap("mpc")
    rig.frame_robot()
    before = pixels_of(rig, color)
    send_trajectory(rig, [-1.2, *POSE[1:]], 2.0)
    rig.wait_for(lambda: rig.q()[0] < -0.3, "the middle of the motion")
    assert rig.ros.call(SetBool, "hardware/pause", data=True, timeout=PATIENCE).success
    rig.wait_for(lambda: pixels_of(rig, color) > before + 60, "the plan")
    assert rig.ros.call(SetBool, "hardware/pause", data=False, timeout=PATIENCE).success
    rig.swap("computed_torque")
    rig.wait_for(lambda: pixels_of(rig, color) < before + 20, "the end of the drawing")


def test_a_plane_that_holds_the_tip_off_is_in_the_scene(without_handle):
    """The goal is below the plane, so that the limit goes on acting."""
    rig, color = without_handle, drawn_fields(ActiveLimits)["safety_tip"].color
    height = rig.tip()[2, 3] - 0.05
    rig.swap("computed_torque+safety")  # declares its parameters
    rig.swap("computed_torque")
    plane = {"computed_torque_safety.safety_planes": f"0 0 1 {height:.3f}"}
    assert rig.ros.set_parameters("controller", plane).successful
    rig.swap("computed_torque+safety")
    rig.frame_robot()
    before = pixels_of(rig, color)
    send_trajectory(rig, [POSE[0], POSE[1] + 0.3, *POSE[2:]], 1.0)
    rig.wait_for(lambda: pixels_of(rig, color) > before + 60, "the arrow")
    assert rig.tip()[2, 3] > height
    rig.swap("computed_torque")
    rig.wait_for(lambda: pixels_of(rig, color) < before + 20, "the end of the drawing")


def test_a_page_that_is_opened_again_shows_the_same(rig):
    rig.swap("pd_gravity")
    rig.open_again()
    rig.page.get_by_text("arm6, pd_gravity").wait_for()
    rig.wait_for(lambda: rig.page.get_by_role("combobox", name="In force").input_value() == "pd_gravity",
                 "the controller in force")
    rig.wait_for_sliders(rig.q())


def test_the_terms_of_the_law_in_force_are_plotted(rig):
    rig.swap("computed_torque")
    rig.page.get_by_role("tab", name="Terms").click()
    for term in ("feedback", "gravity", "coriolis", "inertia"):
        rig.page.get_by_text(term).first.wait_for()
    rig.page.get_by_text(f"terms of {MODEL.joint_names[0]} [N m]").wait_for()
    rig.page.get_by_role("tab", name="Plots").click()


def test_picture_of_the_documents(rig, request):
    """docs/images/view.png is renewed with --pictures: the arm on its way under pd, with shadows."""
    if not request.config.getoption("--pictures"):
        pytest.skip("without --pictures")
    rig.swap("pd")
    page = open_page(rig.browser, rig.url, 1280, 720)
    page.get_by_text("real time").wait_for()
    page.get_by_role("tab", name="Show").click()
    shadows = page.get_by_role("checkbox", name="Shadows")
    shadows.click()
    page.get_by_role("button", name="Forget the path").click()
    page.get_by_role("button", name="Frame the robot").click()
    page.get_by_role("tab", name="Control").click()
    alert = page.get_by_role("alert")  # that this browser draws by software
    if alert.count():
        alert.get_by_role("button").first.click()
        alert.first.wait_for(state="detached")
    drag_slider(page, page.get_by_role("slider").nth(JOINT_SLIDER), 12.0)
    rig.wait_for(lambda: rig.q()[0] > 0.4, "the middle of the motion")
    PICTURE.write_bytes(page.screenshot())
    page.get_by_role("tab", name="Show").click()
    shadows.click()
    page.close()


def test_the_page_waits_for_a_graph_says_when_it_dies_and_shows_the_next_robot(browser):
    with start_view("late") as url:
        assert url.startswith("http://127.0.0.1:")
        page = open_page(browser, url, 640, 480)
        page.get_by_text("Waiting for a robot on the topic").wait_for()
        with simulate("planar_2r", "late"):
            page.get_by_text("planar_2r, pd").wait_for()
        page.get_by_text("planar_2r: no joint states for").wait_for()
        with simulate("scara", "late") as graph:
            page.get_by_text("scara, pd").wait_for()
            graph.stop()
        page.close()
