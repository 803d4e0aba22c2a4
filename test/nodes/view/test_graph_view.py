# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The page of a running graph, by a program that speaks its protocol: stop, release, speed, and surfaces of a world."""

import re
import time

import pytest

pytest.importorskip("viser", reason="viser is not installed: make setup")

from page_client import open_page_of  # noqa: E402
from ros_process import DEADLINE, RosProcess, RosTest  # noqa: E402

from robodyn_interfaces.msg import ControllerState  # noqa: E402


@pytest.fixture(scope="module")
def rig(tmp_path_factory):
    """The page, states of the controller, and the test's own node, beside a robot before a wall."""
    world = tmp_path_factory.mktemp("world") / "world.yaml"
    world.write_text("surfaces: {wall: {shape: plane, position: [-3, 0, 0], normal: [1, 0, 0]}}")
    graph = RosProcess("simulate", command=("-m", "robodyn_ros", "simulate", "--robot", "planar_2r", "--controller",
                                            "computed_torque", "--world", str(world), "--namespace", "watched"))
    view = RosProcess("view", command=("-m", "robodyn_ros", "view", "--port", "0", "--namespace", "watched"))
    with graph, view, RosTest(namespace="watched") as ros:
        view.wait_for_output(" in a browser", timeout=2 * DEADLINE)
        control = ros.record(ControllerState, "controller/controller_state")
        ros.wait_for(lambda: control, "control", timeout=2 * DEADLINE)
        with open_page_of(re.search(r"http://\S+", view.output())[0]) as page:
            ros.wait_for(lambda: page.shows("real time"), "the robot's page", timeout=2 * DEADLINE)
            yield page, control, ros
        graph.stop()
        view.stop()


def test_a_stop_stays_until_the_release_and_the_page_says_so(rig):
    page, control, ros = rig
    page.use("Stop", True)
    ros.wait_for(lambda: control[-1].mode == "stopped", "the stop")
    ros.wait_for(lambda: page.shows("planar_2r is stopped: on request; Release lets it go on"), "the page's word of it")
    ros.wait_for(lambda: page.state("Release", "disabled") is False, "a button that can be clicked")
    assert control[-1].controller == "damping"
    page.use("Release", True)
    ros.wait_for(lambda: control[-1].controller == "computed_torque" and control[-1].mode == "running", "the release")
    ros.wait_for(lambda: not page.shows("is stopped") and page.state("Release", "disabled"), "the page's word of it")


def test_the_speed_slider_sets_the_speed_of_motions_and_follows_others(rig):
    page, control, ros = rig
    page.use("Speed [%]", 40)
    ros.wait_for(lambda: control[-1].speed_scaling_factor == pytest.approx(0.4), "the speed")
    begin = time.monotonic()
    assert ros.set_parameters("controller", {"speed_scaling": 0.75}).successful
    ros.wait_for(lambda: page.state("Speed [%]", "value") == 75, "the slider", timeout=2 * DEADLINE)
    assert time.monotonic() - begin < DEADLINE
    assert ros.set_parameters("controller", {"speed_scaling": 1.0}).successful


def test_surfaces_of_the_world_are_in_the_scene(rig):
    page, _, ros = rig
    slab = ros.wait_for(lambda: page.scene_node("/surfaces/0"), "the wall")
    assert slab["type"] == "BoxMessage" and slab["props"]["opacity"] < 1.0
    assert slab["props"]["dimensions"][0] == slab["props"]["dimensions"][1] > 1.0
