# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""What a page asks for waits for the services of nodes that are being found."""

import math

import pytest
from rclpy.node import Node
from std_srvs.srv import Trigger

from robodyn_ros import Robot
from robodyn_ros.description.resources import robot_file
from robodyn_ros.nodes.view import graph_commands
from robodyn_ros.nodes.view.graph_commands import GraphCommands

pytest.importorskip("viser", reason="viser is not installed: make setup")


@pytest.fixture
def page(ros):
    """What a page asks through, what it was told, and a function that lets requests be sent until a condition holds."""
    told = []
    commands = GraphCommands(ros.node, Robot.from_urdf(robot_file("planar_2r")), None,
                             lambda text, success: told.append(text), None)

    def wait_for(condition, what):
        def turn():
            commands.run_pending()
            return condition()
        ros.wait_for(turn, what)

    yield commands, told, wait_for
    commands.destroy()


def test_a_stop_waits_for_a_service_that_is_not_found_yet(ros, page):
    commands, told, wait_for = page
    commands.stop()
    commands.run_pending()
    assert not told
    asked = []

    def stop(_, response):
        asked.append("stop")
        response.success = True
        return response

    service = ros.node.create_service(Trigger, "controller/stop", stop)
    wait_for(lambda: told, "an answer")
    assert (asked, told) == (["stop"], [""])
    ros.node.destroy_service(service)


def test_a_request_that_nobody_takes_is_told(page, monkeypatch):
    monkeypatch.setattr(graph_commands, "FINDING_SECONDS", 0.2)
    commands, told, wait_for = page
    commands.reset()
    commands.set_motion_speed(0.5)
    wait_for(lambda: len(told) == 2, "both")
    assert told == ["there is no service hardware/reset: this robot is not simulated, or its node is gone",
                    "node 'controller' is not running"]


def test_a_request_that_fails_is_dropped_and_the_others_go_on(page):
    commands, told, _ = page
    sent = []
    for key, action in (("first", lambda: 1 / 0), ("second", lambda: sent.append(1))):
        commands._later(key, commands._act(action))
    with pytest.raises(ZeroDivisionError):
        commands.run_pending()
    commands.run_pending()
    commands.run_pending()
    assert sent == [1] and not told


def test_parameters_are_read_once_their_node_is_there_and_none_is_an_empty_list(ros, page, monkeypatch):
    monkeypatch.setattr(graph_commands, "FINDING_SECONDS", 0.0)
    commands, told, wait_for = page
    gains, names = [], []
    commands.read_gains("pd", gains.append)
    for _ in range(3):
        commands.run_pending()
    node = Node("controller", context=ros.context, enable_rosout=False)
    node.declare_parameter("pd.p", 2.0)  # shown in the order of the node's list, that of the law and its joints
    node.declare_parameter("pd.d", 1.0)
    node.declare_parameter("pdf", 3.0)
    ros.executor.add_node(node)
    wait_for(lambda: gains, "gains")
    assert [(gain.name, gain.value) for gain in gains[0]] == [("pd.p", 2.0), ("pd.d", 1.0)]
    commands.read_gains("damping", gains.append)  # a law without parameters
    commands.read_controllers(names.append)  # a node without that parameter
    wait_for(lambda: len(gains) == 2 and names, "both")
    assert gains[1] == [] and names == [[]] and not told
    ros.executor.remove_node(node)
    node.destroy_node()


def test_nothing_is_left_of_a_robot_that_is_no_longer_shown(ros):
    def entities():
        return {kind: len(list(getattr(ros.node, kind))) for kind in ("clients", "publishers", "subscriptions")}

    before = entities()
    commands = GraphCommands(ros.node, Robot.from_urdf(robot_file("planar_2r")), None, lambda *_: None, None)
    assert entities() != before
    commands.destroy()
    assert entities() == before


from rcl_interfaces.msg import FloatingPointRange, ParameterDescriptor  # noqa: E402

from robodyn_ros.nodes.view.graph_commands import to_gain  # noqa: E402


def gain(value, *limits):
    descriptor = ParameterDescriptor(name="pd.p", floating_point_range=[
        FloatingPointRange(from_value=limits[0], to_value=limits[1])] if limits else [])
    return to_gain(descriptor, value)


@pytest.mark.parametrize("value", [math.nan, -math.inf, 1e300, "text", [1.0, 2.0], 2**62])
def test_what_no_slider_can_show_is_left_out(value):
    assert gain(value) is None


@pytest.mark.parametrize("limits", [(math.nan, 1.0), (0.0, math.nan), (5.0, 1.0), (10.0, 20.0)])
def test_a_range_that_its_value_is_not_in_counts_as_none(limits):
    shown = gain(2.0, *limits)
    assert (shown.minimum, shown.maximum) == (-math.inf, math.inf) and all(map(math.isfinite, shown.range))


def test_numbers_and_switches_are_shown_in_their_range():
    assert gain(True).value is True and gain(3).value == 3
    assert (gain(2.0, 0.0, 5.0).minimum, gain(2.0, 0.0, 5.0).maximum) == (0.0, 5.0)
