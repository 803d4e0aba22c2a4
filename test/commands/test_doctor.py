# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""``robodyn doctor``: what a report needs, with ROS 2 and without, in one screen."""

import platform
import sys
from pathlib import Path

import numpy as np
import pytest

from robodyn_ros.base import optional_packages
from robodyn_ros.commands import doctor
from robodyn_ros.commands.command_line import main

COMPUTER = ["robodyn_ros", "computer", "clock", "real time"]
PACKAGES = ["compiled code", "packages", "extras", "missing"]


def rows(capsys):
    assert main(["doctor"]) == 0
    printed = capsys.readouterr()
    assert not printed.err
    lines = printed.out.splitlines()
    assert len(lines) <= 20
    return {line[:16].strip(): line[17:] for line in lines}


def test_it_shows_versions_discovery_and_missing_packages(capsys, monkeypatch):
    pytest.importorskip("rclpy", reason="without ROS 2 see the next test")
    monkeypatch.setattr(optional_packages.importlib.util, "find_spec", lambda name: None if name == "viser" else name)
    shown = rows(capsys)
    assert [*shown] == [*COMPUTER, "ROS 2", "discovery", "participants", "receive buffer", *PACKAGES]
    assert platform.python_version() in shown["robodyn_ros"] and f"numpy {np.__version__}" in shown["packages"]
    assert shown["missing"] == "viser" and "viser" not in shown["extras"]
    assert "rmw_" in shown["ROS 2"] and "ROS_AUTOMATIC_DISCOVERY_RANGE" in shown["discovery"]


def test_it_says_why_there_is_no_ros_2(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "rclpy", None)
    monkeypatch.delitem(sys.modules, "robodyn_ros.nodes.common.ros_report", raising=False)
    shown = rows(capsys)
    assert [*shown] == [*COMPUTER, "ROS 2", *PACKAGES]
    assert "rclpy" in shown["ROS 2"] and "make setup" in shown["ROS 2"]


def test_another_system_has_no_such_files(capsys, monkeypatch):
    monkeypatch.setattr(doctor, "_CLOCK_SOURCE", Path("/nosuchfile"))
    assert rows(capsys)["clock"] == "unknown"
