# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The guard over the commands of a law, with a controller manager that is a record of requests.

controller_manager_msgs is not among the wheels, so the type of the service stands for itself here.
"""

import sys
import threading
import time
from types import ModuleType, SimpleNamespace

import pytest
from ros_process import RosTest
from std_msgs.msg import Float64MultiArray

from robodyn_ros.commands import guard
from robodyn_ros.commands.command_line import main
from robodyn_ros.nodes.client.graph_client import GraphClient

TIMEOUT = 1.0
"""Longer than a busy machine holds the publishing thread up [s]."""


class SwitchController:
    """Fields of controller_manager_msgs/srv/SwitchController that the guard fills in."""

    class Request(SimpleNamespace):
        pass


@pytest.fixture
def manager(monkeypatch):
    """Answers to the requests, in turn, and the requests."""
    module = ModuleType("controller_manager_msgs.srv")
    module.SwitchController = SwitchController
    monkeypatch.setitem(sys.modules, "controller_manager_msgs", ModuleType("controller_manager_msgs"))
    monkeypatch.setitem(sys.modules, "controller_manager_msgs.srv", module)
    record = SimpleNamespace(answers=[SimpleNamespace(ok=True)], requests=[])

    def call(client, kind, node, service, request, seconds):
        record.requests.append((kind, node, service, request, time.monotonic()))
        return record.answers.pop(0)

    monkeypatch.setattr(GraphClient, "call", call)
    return record


def run(*words):
    return main(["guard", "effort_controller", "--timeout", str(TIMEOUT), "--namespace", "guarded", *words])


def test_a_controller_is_switched_off_once_its_commands_stop(manager, capsys):
    manager.answers.insert(0, SimpleNamespace(ok=False, message="busy"))
    with RosTest(namespace="guarded") as ros:
        publisher = ros.node.create_publisher(Float64MultiArray, "effort_controller/commands", 1)
        ended = []

        def command():
            while not publisher.get_subscription_count():
                time.sleep(0.02)
            for _ in range(60):
                publisher.publish(Float64MultiArray(data=[1.0]))
                time.sleep(0.02)
            ended.append(time.monotonic())

        thread = threading.Thread(target=command)
        thread.start()
        code = run("--manager", "/arm/controller_manager")
        thread.join()
    assert code == 1
    printed = capsys.readouterr()
    assert "guarding effort_controller/commands" in printed.out and "busy; trying again" in printed.out
    assert "effort_controller: switched off" in printed.out and not printed.err
    kind, node, service, request, at = manager.requests[0]
    assert (kind, node, service) == (SwitchController, "/arm/controller_manager", "switch_controller")
    assert (request.deactivate_controllers, request.strictness) == (["effort_controller"], 1)
    assert len(manager.requests) == 2
    assert at > ended[0] + 0.9 * TIMEOUT, "not while commands came"


def test_a_manager_that_refuses_is_asked_again_and_then_reported(manager, monkeypatch, capsys):
    manager.answers = [SimpleNamespace(ok=False, message="no such controller")] * guard.ATTEMPTS
    monkeypatch.setattr("robodyn_ros.nodes.client.command_guard.wait_for_silence", lambda *_: None)
    assert run() == 1
    assert "did not switch effort_controller off: no such controller" in capsys.readouterr().err
    assert len(manager.requests) == guard.ATTEMPTS


def test_without_ros2_control_the_guard_says_what_to_install(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "controller_manager_msgs", None)
    assert run() == 1
    assert "apt install ros-$ROS_DISTRO-controller-manager-msgs" in capsys.readouterr().err


def test_a_timeout_that_cannot_be_meant_is_refused(capsys):
    assert main(["guard", "effort_controller", "--timeout", "1ms"]) == 1
    assert "--timeout: expected 0.02 to 60 s" in capsys.readouterr().err
