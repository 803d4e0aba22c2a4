# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""launch/simulation.launch.py under the real launch and launch_ros; skipped where these are not installed."""

import os
import re
import signal
import sys
import time
import urllib.request

import pytest

try:  # not by `import launch`, which finds our folder of that name
    from launch_ros.actions import Node

    from launch import LaunchContext, LaunchDescription
except ImportError as error:
    pytest.skip(f"launch and launch_ros of ROS 2 do not import ({error})", allow_module_level=True)

from ament_index_python.packages import PackageNotFoundError, get_package_prefix
from launch.launch_description_sources import get_launch_description_from_python_launch_file
from launch.utilities import perform_substitutions
from launch_process import Launch, alive
from nodes.ros_process import DEADLINE, RosTest
from sensor_msgs.msg import JointState

from robodyn_interfaces.msg import ControllerState
from robodyn_interfaces.srv import Gravity
from robodyn_ros.commands.simulation_setup import NODES
from robodyn_ros.description.resources import launch_file

FILE = str(launch_file("simulation.launch.py"))


@pytest.fixture(params=["none beside ours", "robot_state_publisher"])
def publisher(request, tmp_path, monkeypatch):
    """Name of the program that publishes transforms: ours, or robot_state_publisher where it is installed.

    Where it is not, ours under its name stands in for it.
    """
    if request.param == "none beside ours":
        if is_installed("robot_state_publisher"):
            pytest.skip("robot_state_publisher is installed")
        return "state_publisher"
    if not is_installed("robot_state_publisher"):
        program = install(tmp_path, monkeypatch, "robot_state_publisher") / "robot_state_publisher"
        program.write_text(f"#!/bin/sh\nexec {sys.executable} -m robodyn_ros state_publisher \"$@\"\n")
        program.chmod(0o755)
    return "robot_state_publisher"


def is_installed(package):
    try:
        return bool(get_package_prefix(package))
    except PackageNotFoundError:
        return False


def install(prefix, monkeypatch, *packages):
    """Add packages without programs to the environment; returns the folder for the programs of the last one."""
    monkeypatch.setenv("AMENT_PREFIX_PATH", f"{prefix}{os.pathsep}{os.environ['AMENT_PREFIX_PATH']}")
    index = prefix / "share" / "ament_index" / "resource_index" / "packages"
    index.mkdir(parents=True)
    for package in packages:
        (index / package).touch()
        programs = prefix / "lib" / package
        programs.mkdir(parents=True)
    return programs


def test_all_nodes_run_one_that_dies_is_restarted_and_ctrl_c_leaves_no_orphan(tmp_path, publisher):
    patient = tmp_path / "patient.yaml"  # no arm sinks because a busy computer held it up for 0.1 s
    patient.write_text("/**/hardware: {ros__parameters: {command_timeout: 2.0}}\n")
    options = ("robot:=arm6", "controller:=computed_torque", "restarts:=1", f"params_file:={patient}")
    with Launch(FILE, *options) as launched, RosTest() as ros:
        states = ros.record(JointState, "joint_states")
        control = ros.record(ControllerState, "controller/controller_state")
        ros.wait_for(lambda: states and control, "joint states and control", timeout=3 * DEADLINE)  # four at once
        assert control[-1].controller == "computed_torque"
        pids = launched.pids()
        assert set(pids) == {*NODES} - {"state_publisher"} | {publisher}

        os.kill(pids["hardware"], signal.SIGKILL)
        ros.wait_for(lambda: "hardware-1 ended by SIGKILL; restart 1 of 1 in 1 s; the other nodes go on"
                     in launched.output(), "word of the hardware's end")
        assert ros.call(Gravity, "/dynamics/gravity", position=[0.0] * 6).success
        states.clear()
        again = ros.wait_for(lambda: launched.pids()["hardware"] != pids["hardware"] and launched.pids(), "a restart")
        ros.wait_for(lambda: len(states) > 100, "joint states of the new hardware")
        assert max(abs(velocity) for state in states for velocity in state.velocity) < 1e-3

        os.kill(again["hardware"], signal.SIGKILL)
        ros.wait_for(lambda: "ended by SIGKILL; given up after 1 restarts" in launched.output(), "the last end")

        os.kill(pids["dynamics"], signal.SIGINT)  # by hand: no failure
        ended = "ended with exit code 0; the other nodes go on"
        ros.wait_for(lambda: ended in launched.output(), "word of the end of dynamics")
        assert next(line for line in launched.output().splitlines() if ended in line).startswith("[INFO]")

        os.killpg(launched.process.pid, signal.SIGINT)  # as a terminal does: to every process of the group
        assert launched.process.wait(DEADLINE) == 0, launched.output()
        assert not any(alive(pid) for pid in pids.values())
        finished = re.findall(r"\[(\w+)-\d+\]: process has finished cleanly", launched.output())
        assert set(finished) == {*pids} - {"hardware"}, launched.output()
        assert "Traceback" not in launched.output()


@pytest.mark.parametrize("argument, words", [
    ("robot:=arm66", ("no robot 'arm66'", "arm6, arm7")),
    ("time_mode:=fast", ("time_mode", "lockstep", "fast")),
    ("params_file:=nowhere.yaml", ("nowhere.yaml",)),
    ("actuators:=nowhere.yaml", ("actuators", "nowhere.yaml")),
    ("engine:=gazebo", ("engine", "robodyn, mujoco", "gazebo")),
    ("mujoco_scene:=scene.xml", ("mujoco_scene", "only with engine mujoco")),
    ("world:=nowhere.yaml", ("nowhere.yaml",)),
    ("rviz:=perhaps", ("rviz", "perhaps")),
    ("restarts:=often", ("restarts", "often")),
    ("view:=perhaps", ("view", "perhaps")),
    ("clock_rate:=fast", ("clock_rate", "fast")),
    ("view_port:=8081", ("'view_port' has no effect without view:=true",)),
    ("robt:=scara", ("'robt'", "did you mean 'robot'?")),
    ("speed:=1", ("'speed'", "no such argument")),
])
def test_a_wrong_argument_is_told_and_nothing_is_left_running(argument, words):
    with Launch(FILE, argument) as launched:
        assert launched.process.wait(DEADLINE) != 0
        assert all(word in launched.output() for word in words), launched.output()
        assert not any(alive(pid) for pid in launched.pids().values())


def test_the_page_of_view_opens():
    with Launch(FILE, "robot:=planar_2r", "view:=true") as launched:
        page = re.compile(r"http://[\w.]+:\d+")
        end = time.monotonic() + DEADLINE
        while not (found := page.search(launched.output())):
            assert launched.process.poll() is None and time.monotonic() < end, launched.output()
            time.sleep(0.05)
        assert urllib.request.urlopen(found[0], timeout=DEADLINE).status == 200


def nodes(**arguments):
    """The nodes that the launch file would start: executable name by package and executable, and the action."""
    context = LaunchContext()
    description: LaunchDescription = get_launch_description_from_python_launch_file(FILE)
    context.launch_configurations.update(arguments)
    found = {}
    pending = list(description.entities)
    while pending:
        entity = pending.pop(0)
        if isinstance(entity, Node):
            package, executable = (perform_substitutions(context, [*part]) if isinstance(part, list) else part
                                   for part in (entity.node_package, entity.node_executable))
            found[package, executable] = entity
        else:
            pending += entity.visit(context) or []
    return found


def test_ros_own_state_publisher_is_taken_where_it_is_installed(tmp_path, monkeypatch):
    if not is_installed("robot_state_publisher"):
        assert set(nodes(robot="scara")) == {("robodyn_ros", node) for node in NODES}
        assert set(nodes(robot="scara", view="true")) == {("robodyn_ros", node) for node in (*NODES, "view")}
    install(tmp_path, monkeypatch, "robot_state_publisher", "rviz2")
    assert set(nodes(robot="scara", rviz="true")) == {
        *(("robodyn_ros", node) for node in NODES if node != "state_publisher"),
        ("robot_state_publisher", "robot_state_publisher"), ("rviz2", "rviz2")}
