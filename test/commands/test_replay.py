# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""`robodyn replay`: a recorded simulation once more, and what is refused.

Requests: toolbox/recording/test_replay_plan.py.
"""

import itertools
import re
from argparse import Namespace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="the nodes need ROS 2")
pytest.importorskip("mcap_ros2", reason="mcap-ros2-support is not installed: make setup")

from ros_process import RosProcess, RosTest  # noqa: E402
from std_msgs.msg import Float64  # noqa: E402
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint  # noqa: E402

from robodyn_interfaces.msg import ControllerState  # noqa: E402
from robodyn_ros.base.errors import RecordingError, RobodynError  # noqa: E402
from robodyn_ros.commands.command_line import USAGE_ERROR, main  # noqa: E402
from robodyn_ros.commands.replay import simulation  # noqa: E402
from robodyn_ros.toolbox.recording.open_loop_plan import OpenLoopPlan  # noqa: E402
from robodyn_ros.toolbox.recording.recorded_ticks import SetState  # noqa: E402
from robodyn_ros.toolbox.recording.replay_plan import ReferenceMotion, ReplayPlan, parameters_of_nodes  # noqa: E402
from robodyn_ros.toolbox.recording.run import Run  # noqa: E402

PLUGINS = Path(__file__).parents[1] / "nodes"
CLOSE = 1e-5
"""Greatest distance of a replayed position from the recorded one [rad]."""


def recorded_parameters(folder):
    """Nodes whose parameters are in the file of a recording by now."""
    try:
        return set(Run(folder).parameters)
    except RecordingError:
        return set()


def has_states(folder):
    """Whether joint states are in the file of a recording by now."""
    try:
        return Run(folder).states.time.size > 0
    except RecordingError:
        return False


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    """A recording of planar_2r with all commands; on a busy machine, a recorder loses some, and another one is made."""
    folders = [tmp_path_factory.mktemp("runs") / name for name in "abc"]
    for folder in folders:
        record_motion(folder)
        if not OpenLoopPlan(Run(folder)).missing:
            break
    return folder


def record_motion(folder):
    """Record a motion, and a swap in its midst."""
    command = ("-m", "robodyn_ros", "simulate", "--robot", "planar_2r", "--controller", "computed_torque",
               "--time-mode", "lockstep", f"--record={folder}", "--ros-args", "-p", "lockstep_speed_limit:=1.0")
    with RosProcess("simulate", command=command) as process, RosTest() as ros:
        process.wait_for_output("recording to")
        ros.wait_for(lambda: all(any(info.node_name == "recorder" for info in ros.node.get_subscriptions_info_by_topic(
            topic)) for topic in ("/joint_states", "/joint_commands", "/controller/controller_state")), "recorder")
        states = ros.record(ControllerState, "controller/controller_state")
        ros.wait_for(lambda: len(states) > 20, "controller states")
        # A replay begins at the first recorded joint state, which has to come before the motion.
        ros.wait_for(lambda: has_states(folder), "recorded joint states")
        message = JointTrajectory(joint_names=["joint1", "joint2"])
        message.points = [JointTrajectoryPoint(positions=[0.6, -0.4])]
        message.points[0].time_from_start.sec = 1
        listeners = 2  # recorder and controller
        ros.publisher(JointTrajectory, "controller/joint_trajectory", matched=listeners).publish(message)
        ros.wait_for(lambda: states[-1].reference.positions[0] > 0.3, "half of the motion")
        assert ros.set_parameters("controller", {"controller": "pd_gravity"}).successful
        ros.wait_for(lambda: states[-1].reference.positions[0] == 0.6, "the end of the motion")
        count = len(states)
        ros.wait_for(lambda: len(states) > count + 30, "the rest")
        ros.wait_for(lambda: {"/hardware", "/controller"} <= recorded_parameters(folder), "recorded parameters")
        process.stop()


@pytest.mark.long
def test_the_replayed_motion_is_the_recorded_one(recording, tmp_path, capfd):
    assert main(["replay", str(recording), "--record", str(tmp_path / "b"), "--namespace", "again"]) == 0
    told = capfd.readouterr().out
    distance = float(re.search(r"greatest distance from the recorded positions: (\S+)", told)[1])
    assert distance < CLOSE
    a, b = Run(recording), Run(tmp_path / "b")
    assert b.namespace == "/again"
    assert [span.controller for span in b.controllers] == ["computed_torque", "pd_gravity"]
    first_ticks = [run.control.desired_position[run.control.controller.index("pd_gravity")] for run in (a, b)]
    assert first_ticks[1] == pytest.approx(first_ticks[0], abs=CLOSE)  # a period changes it by 2e-3 rad
    assert b.states.position[-1] == pytest.approx(a.states.position[-1], abs=CLOSE)


def test_the_recorded_efforts_alone_move_the_robot_as_recorded_bit_for_bit(recording, capfd):
    assert main(["replay", str(recording), "--open-loop", "--namespace", "open"]) == 0
    told = capfd.readouterr().out
    compared = re.search(r"the positions at all (\d+) compared times are the recorded ones, bit for bit", told)
    assert compared, told
    assert 500 < int(compared[1]) <= len(set(Run(recording).states.time))
    assert "without a recorded command" not in told and "not repeated" not in told


def test_another_law_is_in_force_all_the_time_with_the_recorded_parameters(recording):
    run = Run(recording)
    plan = ReplayPlan(run, swaps=False)
    assert [type(request) for request in plan.requests] == [SetState, ReferenceMotion]
    parameters = parameters_of_nodes(plan, "pd")
    assert parameters["controller"]["controller"] == "pd" and "pd.gains.joint1.p" in parameters["controller"]
    assert parameters["hardware"]["time_mode"] == "lockstep" and parameters["hardware"]["update_rate"] == 500
    assert not {"robot", "robot_description"} & parameters["hardware"].keys()


def test_another_robot_and_a_recording_without_a_motion_are_told_in_one_line(recording, tmp_path, capfd):
    assert main(["replay", str(recording), "--robot", "arm6"]) == USAGE_ERROR
    [line] = capfd.readouterr().err.splitlines()
    assert line.startswith("robodyn: error: --robot: expected a robot with the recorded joints joint1, joint2, "
                           "received 'arm6' with shoulder_pan_joint")
    assert main(["replay", str(recording), "--open-loop", "--controller", "pd"]) == USAGE_ERROR
    assert "--open-loop runs no controller: expected no --controller, received 'pd'" in capfd.readouterr().err
    assert main(["replay", str(tmp_path / "nothing")]) == USAGE_ERROR
    assert "no recording at" in capfd.readouterr().err
    assert main(["replay", str(recording), "--record", str(recording)]) == USAGE_ERROR
    assert "is there already" in capfd.readouterr().err


def test_an_error_shows_what_the_nodes_printed(tmp_path):
    options = Namespace(robot="planar_2r", namespace="told", open_loop=False)
    with pytest.raises(RobodynError, match=r"(?s)^refused\nnode 'simulate': it printed last:\n  .*hardware\]: "), \
            simulation(tmp_path, "", {}, options) as [process], RosTest() as ros:
        ros.wait_for(lambda: "hardware]: " in process.output(), "the node's first line")
        raise RobodynError("refused")


def test_inputs_that_a_law_declares_are_recorded_and_sent_again(tmp_path, capfd):
    law = "plugins_for_test:Servo"
    command = ("-m", "robodyn_ros", "simulate", "--robot", "planar_2r", "--controller", law,
               "--time-mode", "lockstep", f"--plugins-from={PLUGINS}", f"--record={tmp_path / 'a'}",
               "--ros-args", "-p", "lockstep_speed_limit:=1.0")
    with RosProcess("simulate", command=command) as process, RosTest() as ros:
        process.wait_for_output("recording to")
        states = ros.record(ControllerState, "controller/controller_state", 1000)
        gain = ros.publisher(Float64, "gain", matched=2)
        ros.wait_for(lambda: states and has_states(tmp_path / "a"), "states")
        sent = itertools.count()
        ros.wait_for(lambda: gain.publish(Float64(data=2.0 + 0.01 * next(sent)))
                     or len([state for state in states if state.controller == law]) > 60, "the law with its input")
        ros.wait_for(lambda: {"/hardware", "/controller"} <= recorded_parameters(tmp_path / "a"), "parameters")
        process.stop()
    run = Run(tmp_path / "a")
    assert len(run.topics["/gain"].messages) > 10
    moved = np.ptp(run.states.position, axis=0).max()
    assert moved > 0.1
    assert main(["replay", str(tmp_path / "a"), "--plugins-from", str(PLUGINS), "--namespace", "again"]) == 0
    told = capfd.readouterr().out
    assert float(re.search(r"greatest distance from the recorded positions: (\S+)", told)[1]) < 0.05 * moved
