# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Which nodes are found is told at the start."""

import os

import pytest

from robodyn_ros.nodes.common.discovery import PEERS, PROFILES, RANGE, SERVER, described, stay_on_this_machine


@pytest.fixture(autouse=True)
def plain(monkeypatch):
    for name in (RANGE, PEERS, SERVER, PROFILES, "ROS_SECURITY_ENABLE"):
        monkeypatch.delenv(name, raising=False)


def test_without_a_range_nodes_stay_on_this_machine():
    stay_on_this_machine()
    try:
        assert os.environ[RANGE] == "LOCALHOST"
    finally:
        del os.environ[RANGE]


def test_a_range_that_is_given_stays(monkeypatch):
    monkeypatch.setenv(RANGE, "SUBNET")
    stay_on_this_machine()
    assert os.environ[RANGE] == "SUBNET"


@pytest.mark.parametrize(("environment", "told"), [
    ({RANGE: "LOCALHOST"}, "this machine alone (ROS_AUTOMATIC_DISCOVERY_RANGE = LOCALHOST"),
    ({RANGE: "LOCALHOST", PEERS: "desk"}, "this machine, and the machines of ROS_STATIC_PEERS = desk"),
    ({}, "whole network, everybody on which can move the robot (ROS_AUTOMATIC_DISCOVERY_RANGE = not set"),
    ({RANGE: "SUBNET"}, "whole network, everybody on which can move the robot (ROS_AUTOMATIC_DISCOVERY_RANGE = SUBNET"),
    ({RANGE: "SUBNET", "ROS_SECURITY_ENABLE": "true"}, "whole network, with ROS_SECURITY_ENABLE = true"),
    ({RANGE: "OFF"}, "no other process"),
    ({RANGE: "LOCALHOST", SERVER: "robot:11811"}, "that use the discovery server ROS_DISCOVERY_SERVER = robot:11811"),
])
def test_the_range_is_told(environment, told, monkeypatch):
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert told in described()
