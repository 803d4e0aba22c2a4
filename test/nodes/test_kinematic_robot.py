# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""A robot without inertias that moves: ``simulate --kinematic`` over DDS, in a process of its own."""

import re

import numpy as np
import pytest
from ros_process import RosProcess, RosTest
from sensor_msgs.msg import JointState
from tf2_msgs.msg import TFMessage
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint
from urdf_parts import joint, link, robot

from robodyn_ros.commands.command_line import main

BARE = robot(link("a", ""), joint("turn", "a", "b"), link("b", ""), joint("slide", "b", "c", "prismatic", axis="1 0 0"),
             link("c", ""))


def trajectory(positions, seconds, names=("slide", "turn")):
    point = JointTrajectoryPoint(positions=positions)
    point.time_from_start.sec, point.time_from_start.nanosec = divmod(round(seconds * 1e9), 10**9)
    return JointTrajectory(joint_names=list(names), points=[point])


def test_it_follows_trajectories_and_refuses_bad_ones(tmp_path):
    file = tmp_path / "bare.urdf"
    file.write_text(BARE)
    command = ("-m", "robodyn_ros", "simulate", "--robot", str(file), "--kinematic")
    with RosProcess("simulate", command=command) as process, RosTest() as ros:
        states, transforms = ros.record(JointState, "joint_states"), ros.record(TFMessage, "/tf")
        wanted = ros.publisher(JointTrajectory, "controller/joint_trajectory")
        ros.wait_for(lambda: states and transforms, "states and transforms")
        assert list(states[-1].name) == ["turn", "slide"] and list(states[-1].position) == [0.0, 0.0]
        wanted.publish(trajectory([0.5, -0.3], 0.5))
        ros.wait_for(lambda: list(states[-1].position) == [-0.3, 0.5], "the end of the motion")
        between = np.array([state.position[0] for state in states])
        assert (np.diff(between) <= 1e-12).all() and ((between < -0.05) & (between > -0.25)).any()
        assert not np.any(states[-1].velocity)
        for bad in (trajectory([9.0, 0.0], 0.2), trajectory([0.1, np.nan], 0.2), trajectory([0.1], 0.2),
                    trajectory([0.1, 0.1], 0.2, ("x", "turn")), trajectory([0.1, 0.1], 0.0)):
            wanted.publish(bad)
        wanted.publish(trajectory([0.2, 0.0], 0.1))
        ros.wait_for(lambda: list(states[-1].position) == [0.0, 0.2], "the next good motion")
        process.wait_for_output("position 9 is outside its limits")
        process.stop()


def test_options_of_dynamics_are_refused(capsys):
    for option in (["--controller", "pd"], ["--actuators", "x.yaml"]):
        assert main(["simulate", "--robot", "arm6", "--kinematic", *option]) == 2
        assert f"{option[0]} has no effect with --kinematic" in capsys.readouterr().err


@pytest.mark.long
def test_a_page_moves_it(tmp_path):
    pytest.importorskip("viser", reason="viser is not installed: make setup")
    from page_client import open_page_of

    file = tmp_path / "bare.urdf"
    file.write_text(BARE)
    command = ("-m", "robodyn_ros", "simulate", "--robot", str(file), "--kinematic", "--view", "--view-port", "0")
    with RosProcess("simulate", command=command) as process, RosTest() as ros:
        states = ros.record(JointState, "joint_states")
        process.wait_for_output(" in a browser")
        process.wait_for_output("showing robot 'test'")
        with open_page_of(re.search(r"http://\S+", process.output())[0]) as page:
            page.use("slide [m]", 0.75)
            ros.wait_for(lambda: states and list(states[-1].position) == [0.0, 0.75], "the joint of the slider")
        process.stop()
