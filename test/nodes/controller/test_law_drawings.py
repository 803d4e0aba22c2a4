# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""What a law wants drawn, from the controller node to a display and to the page of the view."""

import re

import numpy as np
import pytest
from controller_rig import Rig
from diagnostic_msgs.msg import DiagnosticArray
from ros_process import DEADLINE, RosProcess
from visualization_msgs.msg import Marker, MarkerArray

from robodyn_ros.nodes.common.drawing_markers import from_markers

PLUGINS = "plugins_for_test:"


@pytest.fixture(scope="module")
def rig(ros):
    with Rig(ros, "planar_2r", "/draws", controller={"display_rate": 20.0}) as rig:
        yield rig


def test_a_drawing_is_published_while_its_law_is_in_force(ros, rig):
    heard = ros.record(MarkerArray, "/draws/controller/drawing", 10)
    rig.set(controller=f"{PLUGINS}Draws")
    message = ros.wait_for(lambda: next((each for each in heard if len(each.markers) > 1), None), "a drawing")
    way, frame = message.markers[1:]
    assert (way.ns, way.type, frame.ns, frame.type) == ("way", Marker.LINE_STRIP, "goals", Marker.LINE_LIST)
    assert way.header.frame_id == "base_link" and (way.color.r, way.color.g, way.color.b) == (0.0, 1.0, 0.0)
    strokes = from_markers(message)
    assert strokes.lines.shape == (5, 2, 3) and strokes.arrows.shape == (0, 2, 3)
    np.testing.assert_allclose(strokes.lines[1], [[1.0, 0.0, 0.0], [1.0, 2.0, 0.0]])
    rig.set(controller="pd")
    ros.wait_for(lambda: len(heard[-1].markers) == 1, "its end")


def told(diagnostics, text):
    return any(text in value.key or text in value.value for array in diagnostics for status in array.status
               for value in status.values)


@pytest.mark.parametrize("law", ["DrawsNothingElse", "DrawsForEver"])
def test_a_drawing_that_fails_costs_the_law_nothing_else(ros, rig, law):
    heard, diagnostics = ros.record(MarkerArray, "/draws/controller/drawing", 10), ros.record(
        DiagnosticArray, "/diagnostics", 100)
    rig.set(controller=f"{PLUGINS}{law}")
    ros.wait_for(lambda: told(diagnostics, "failed drawings"), "the failure", timeout=2 * DEADLINE)
    rig.next("a tick of it afterwards", lambda s: s.controller.endswith(law) and s.mode == "running")
    rig.set(controller=f"{PLUGINS}Draws")
    ros.wait_for(lambda: heard and len(heard[-1].markers) > 1, "the next law's drawing")


@pytest.mark.long
def test_the_view_shows_it(ros, rig):
    pytest.importorskip("viser", reason="viser is not installed: make setup")
    from page_client import open_page_of

    rig.set(controller=f"{PLUGINS}Draws")
    view = RosProcess("view", command=("-m", "robodyn_ros", "view", "--port", "0", "--namespace", "draws"))
    with RosProcess("state_publisher", {"robot": "planar_2r"}, "draws"), view:
        view.wait_for_output(" in a browser", timeout=2 * DEADLINE)
        with open_page_of(re.search(r"http://\S+", view.output())[0]) as page:
            ros.wait_for(lambda: page.scene_node("/drawing/lines"), "the scene", timeout=2 * DEADLINE)
            ros.wait_for(lambda: any("points" in each for each in page.scene_updates("/drawing/lines")), "the drawing")
        view.stop()
