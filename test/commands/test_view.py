# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""`robodyn view` and `robodyn simulate --view`, as commands."""

import importlib.util
import socket
import urllib.request

import pytest

pytest.importorskip("viser", reason="viser is not installed: make setup")

from ros_process import RosProcess, RosTest, run_robodyn  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402

from robodyn_ros.commands.command_line import USAGE_ERROR, main  # noqa: E402
from robodyn_ros.nodes.common.discovery import RANGE  # noqa: E402


def test_a_port_in_use_is_one_line():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = run_robodyn("view", "--port", str(port))
    assert done.returncode == USAGE_ERROR and not done.stdout
    [line] = done.stderr.splitlines()
    assert line.startswith(f"robodyn: error: cannot serve the view at 127.0.0.1:{port}: Address already in use; give")


@pytest.mark.parametrize("arguments", [["view"], ["simulate", "--view"]])
def test_without_viser_one_line_says_how_to_get_it(arguments, monkeypatch, capfd):
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "viser" else find(name))
    assert main(arguments) == USAGE_ERROR
    [line] = capfd.readouterr().err.splitlines()
    assert "viser, which is not installed: pip install viser" in line


def test_a_robot_that_is_not_there_is_one_line(capfd):
    assert main(["view", "--robot", "nobody"]) == USAGE_ERROR
    assert "no robot 'nobody'" in capfd.readouterr().err


def test_simulate_with_a_view_starts_and_stops_both(monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = ("-m", "robodyn_ros", "simulate", "--robot", "planar_2r", "--namespace", "both", "--view", "--view-port",
               str(port))
    with monkeypatch.context() as bare:
        bare.delenv(RANGE)
        started = RosProcess("simulate", command=command)
    with started as process, RosTest(namespace="both") as ros:
        process.wait_for_output(f"open http://127.0.0.1:{port} in a browser", timeout=60.0)
        states = ros.record(JointState, "joint_states")
        ros.wait_for(lambda: states, "joint states")
        assert urllib.request.urlopen(f"http://127.0.0.1:{port}").status == 200
        for node in ("hardware", "view"):
            process.wait_for_output(f"[both.{node}]: discovery: this machine alone")
        process.stop()
    with pytest.raises(OSError):
        socket.create_connection(("127.0.0.1", port), timeout=1.0).close()


def test_a_view_that_cannot_start_leaves_the_simulation_running():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        command = ("-m", "robodyn_ros", "simulate", "--robot", "planar_2r", "--namespace", "alone", "--view",
                   "--view-port", str(taken.getsockname()[1]))
        with RosProcess("simulate", command=command) as process, RosTest(namespace="alone") as ros:
            process.wait_for_output("Address already in use", timeout=60.0)
            states = ros.record(JointState, "joint_states")
            ros.wait_for(lambda: states, "joint states")
            process.stop()
