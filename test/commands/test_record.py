# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""`robodyn record` and `simulate --record`: what they refuse. Recordings: nodes/recorder/test_node.py."""

import importlib.util

import pytest

from robodyn_ros.commands.command_line import USAGE_ERROR, main


def test_a_folder_that_is_there_is_refused(tmp_path, capfd):
    assert main(["record", "--output", str(tmp_path)]) == USAGE_ERROR
    [line] = capfd.readouterr().err.splitlines()
    assert line == (f"robodyn: error: '{tmp_path}' exists already, and recordings are never overwritten: give another "
                    "name")


def test_simulate_refuses_it_before_it_starts(tmp_path, capfd):
    pytest.importorskip("rclpy", reason="the nodes need ROS 2")
    assert main(["simulate", "--record", str(tmp_path)]) == USAGE_ERROR
    assert "exists already" in capfd.readouterr().err


def test_without_the_library_one_line_says_how_to_get_it(monkeypatch, capfd):
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "mcap_ros2" else find(name))
    assert main(["record"]) == USAGE_ERROR
    [line] = capfd.readouterr().err.splitlines()
    assert "mcap-ros2-support, which is not installed: pip install mcap mcap-ros2-support" in line


@pytest.mark.parametrize("command", [["record", "--output"], ["simulate", "--record"]])
def test_a_folder_of_nobody_is_one_line(command, capsys):
    pytest.importorskip("rclpy")
    assert main([*command, "~nosuch/x"]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and "path '~nosuch/x'" in error
