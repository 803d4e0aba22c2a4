"""The page of a running graph, in a real Chromium."""

import re

import numpy as np
import pytest

pytest.importorskip("viser", reason="viser is not installed: make setup")

from browser import open_page, pixels  # noqa: E402
from ros_process import RosProcess, RosTest  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402

from robodyn_interfaces.srv import SetState  # noqa: E402

CANVAS = {"x": 0, "y": 100, "width": 600, "height": 450}


def start_view(*options):
    """The view's process, and the address of its page."""
    process = RosProcess("view", command=("-m", "robodyn_ros", "view", "--port", "0", *options))
    process.wait_for_output(" in a browser")
    return process, re.search(r"http://\S+", process.output())[0]


def settled(page, ros, tries=40):
    """The canvas, once nothing moves in it."""
    before = pixels(page, CANVAS)
    for _ in range(tries):
        ros.spin(0.5)
        after = pixels(page, CANVAS)
        if changed(before, after) < 20:
            return after
        before = after
    raise AssertionError("the picture does not come to rest")


def changed(before, after):
    """How many pixels differ visibly."""
    return int((np.abs(before - after).max(axis=2) > 30).sum())


def test_the_page_shows_the_robot_where_it_is():
    simulation = ("-m", "robodyn_ros", "simulate", "--robot", "arm6", "--controller", "computed_torque", "--namespace",
                  "seen")
    view, url = start_view("--namespace", "seen")
    with view, RosTest(namespace="seen") as ros, open_page(url) as page:
        page.get_by_text("Waiting for a robot on the topic").wait_for()
        empty = pixels(page, CANVAS)
        with RosProcess("simulate", command=simulation) as graph:
            states = ros.record(JointState, "joint_states")
            ros.wait_for(lambda: states, "joint states", timeout=60.0)
            first = settled(page, ros)
            assert changed(empty, first) > 2000, "there is no robot in the picture"
            answer = ros.call(SetState, "hardware/set_state", position=[0.8, -1.0, 1.5, 0.3, 0.5, 0.0])
            assert answer.success, answer.message
            second = settled(page, ros)
            assert changed(first, second) > 1000, "the robot in the picture did not move with the joints"
            graph.stop()
        view.stop()
