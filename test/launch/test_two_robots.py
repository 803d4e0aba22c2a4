# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Launch files of two robots, and of a plugin package that includes ours: in Python, XML and YAML."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("launch_ros", reason="launch and launch_ros of ROS 2 do not import")
pytest.importorskip("launch_xml")
pytest.importorskip("launch_yaml")

from launch_process import Launch, alive  # noqa: E402
from nodes.ros_process import DEADLINE, RosTest  # noqa: E402
from rcl_interfaces.srv import GetParameters  # noqa: E402
from rosgraph_msgs.msg import Clock  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from tf2_msgs.msg import TFMessage  # noqa: E402

from robodyn_interfaces.msg import ControllerState  # noqa: E402
from robodyn_ros.commands.command_line import main  # noqa: E402
from robodyn_ros.commands.launch_arguments import PER_ROBOT, SIMULATION  # noqa: E402
from robodyn_ros.description.resources import launch_file  # noqa: E402

DOCUMENT = Path(__file__).parents[2] / "docs" / "launch.md"
FORMATS = ("py", "xml", "yaml")


@pytest.mark.parametrize("ending", FORMATS)
def test_two_robots_have_names_and_frames_of_their_own_and_share_a_clock(ending):
    pytest.importorskip("mujoco")
    arguments = ("left:=planar_2r", "right:=scara", "speed_limit:=0.5", "controller:=computed_torque",
                 "engine:=mujoco")
    with Launch(launch_file(f"two_robots.launch.{ending}"), *arguments) as launched, RosTest() as ros:
        states = {side: ros.record(JointState, f"/{side}/joint_states") for side in ("left", "right")}
        control = {side: ros.record(ControllerState, f"/{side}/controller/controller_state") for side in states}
        frames, clock = ros.record(TFMessage, "/tf"), ros.record(Clock, "/clock")

        def prefixes():
            return {name.partition("/")[0] for message in frames for transform in message.transforms
                    for name in (transform.header.frame_id, transform.child_frame_id)}

        ros.wait_for(lambda: all(states.values()) and all(control.values()) and clock and len(prefixes()) > 1,
                     "joint states, control and frames of both, and a clock", timeout=4 * DEADLINE)
        assert prefixes() == {"left", "right"}
        assert {side: len(messages[-1].name) for side, messages in states.items()} == {"left": 2, "right": 4}
        assert {messages[-1].controller for messages in control.values()} == {"computed_torque"}
        assert [each.node_namespace for each in ros.node.get_publishers_info_by_topic("/clock")] == ["/left"]

        for side in states:
            names = ["engine", "time_mode", "lockstep_speed_limit"]
            engine, mode, pace = ros.call(GetParameters, f"/{side}/hardware/get_parameters", names=names).values
            assert (engine.string_value, mode.string_value, pace.double_value) == ("mujoco", "lockstep", 0.5)

        pids = re.findall(r"process started with pid \[(\d+)\]", launched.output())
        os.killpg(launched.process.pid, signal.SIGINT)
        assert launched.process.wait(DEADLINE) == 0, launched.output()
        assert len(pids) == 8 and not any(alive(int(pid)) for pid in pids)
        assert "Traceback" not in launched.output(), launched.output()


def test_two_robots_take_what_one_takes():
    with Launch(launch_file("two_robots.launch.py"), "robot:=arm6") as launched:
        assert launched.process.wait(DEADLINE) != 0
        assert all(name in launched.output() for name in SIMULATION if name not in PER_ROBOT), launched.output()


def test_a_misspelt_argument_of_two_robots_is_refused():
    with Launch(launch_file("two_robots.launch.py"), "lft:=arm6") as launched:
        assert launched.process.wait(DEADLINE) != 0
        assert "did you mean 'left'?" in launched.output()


@pytest.fixture(scope="module")
def plugin(tmp_path_factory):
    """Folder with an installed package of the controller my_law."""
    folder = tmp_path_factory.mktemp("plugin")
    assert main(["new-controller", "my_law", "--folder", str(folder)]) == 0
    subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--no-build-isolation", "--no-deps", "--no-index",
                    "--target", folder / "site", folder / "my_law"], check=True)
    return folder / "site"


@pytest.mark.parametrize("ending", FORMATS)
def test_the_launch_files_of_the_document_start_a_controller_of_another_package(ending, plugin, tmp_path, monkeypatch):
    section = DOCUMENT.read_text().partition("## Your own launch file")[2]
    [text] = re.findall(rf"^```{ending}\n(.*?)^```", section, re.DOTALL | re.MULTILINE)
    file = tmp_path / f"my_law.launch.{ending}"
    file.write_text(text)
    monkeypatch.setenv("PYTHONPATH", str(plugin), prepend=os.pathsep)
    with Launch(file) as launched, RosTest() as ros:
        control = ros.record(ControllerState, "/controller/controller_state")
        ros.wait_for(lambda: control and control[-1].controller == "my_law", "the plugin in force",
                     timeout=3 * DEADLINE)
        assert launched.process.poll() is None
