# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""What a page asks for waits for the services of nodes that are being found."""

import pytest
from std_srvs.srv import Trigger

from robodyn_ros import Robot
from robodyn_ros.description.resources import robot_file
from robodyn_ros.nodes.view import graph_commands
from robodyn_ros.nodes.view.graph_commands import GraphCommands


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


def test_nothing_is_left_of_a_robot_that_is_no_longer_shown(ros):
    def entities():
        return {kind: len(list(getattr(ros.node, kind))) for kind in ("clients", "publishers", "subscriptions")}

    before = entities()
    commands = GraphCommands(ros.node, Robot.from_urdf(robot_file("planar_2r")), None, lambda *_: None, None)
    assert entities() != before
    commands.destroy()
    assert entities() == before
