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

import contextlib
import itertools
import re
from argparse import Namespace
from pathlib import Path

import numpy as np
import pytest

from bench.measured_arms import FOLDER
from bench.wrong_arm import WrongArm, described_arm, trajectory
from robodyn_ros.commands.command_line import main
from robodyn_ros.description.resources import config_file
from robodyn_ros.toolbox.identification.excitation import Task, excite
from robodyn_ros.toolbox.identification.identified_files import urdf_with_inertias

pytest.importorskip("rclpy", reason="the nodes need ROS 2")
pytest.importorskip("mcap_ros2", reason="mcap-ros2-support is not installed: make setup")
pytest.importorskip("matplotlib", reason="Matplotlib is not installed: make setup")


from ros_process import RosProcess, RosTest  # noqa: E402
from std_msgs.msg import Float64  # noqa: E402
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint  # noqa: E402

from robodyn_interfaces.msg import ControllerState  # noqa: E402
from robodyn_ros.base.errors import RecordingError, RobodynError  # noqa: E402
from robodyn_ros.commands.command_line import USAGE_ERROR  # noqa: E402
from robodyn_ros.commands.replay import simulation  # noqa: E402
from robodyn_ros.toolbox.recording.open_loop_plan import OpenLoopPlan  # noqa: E402
from robodyn_ros.toolbox.recording.recorded_ticks import SetState  # noqa: E402
from robodyn_ros.toolbox.recording.replay_plan import ReferenceMotion, ReplayPlan, parameters_of_nodes  # noqa: E402
from robodyn_ros.toolbox.recording.run import Run  # noqa: E402

PLUGINS = Path(__file__).parents[1] / "nodes"
PACE = ("--ros-args", "-p", "lockstep_speed_limit:=1.0", "-p", "update_rate:=200")
"""The processors record, and replay, less than half of the ticks of the default."""
CLOSE = 1e-5
"""Greatest distance of a replayed position from the recorded one [rad]."""


def wait_for_recorded(ros, folder, condition, what):
    """Wait until a condition holds for what is in the file of a recording, which is read twice a second."""
    def holds():
        ros.spin(0.5)
        with contextlib.suppress(RecordingError):
            return condition(Run(folder))

    ros.wait_for(holds, what)


def has_states(run):
    """Whether joint states are in a recording."""
    return run.states.time.size > 0


def has_parameters(run):
    """Whether the parameters of both nodes are in a recording."""
    return {"/hardware", "/controller"} <= set(run.parameters)


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
               "--time-mode", "lockstep", f"--record={folder}", *PACE)
    with RosProcess("simulate", command=command) as process, RosTest() as ros:
        process.wait_for_output("recording to")
        ros.wait_for(lambda: all(any(info.node_name == "recorder" for info in ros.node.get_subscriptions_info_by_topic(
            topic)) for topic in ("/joint_states", "/joint_commands", "/controller/controller_state")), "recorder")
        states = ros.record(ControllerState, "controller/controller_state")
        ros.wait_for(lambda: len(states) > 20, "controller states")
        # A replay begins at the first recorded joint state, which has to come before the motion.
        wait_for_recorded(ros, folder, has_states, "recorded joint states")
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
        wait_for_recorded(ros, folder, has_parameters, "recorded parameters")
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
    assert first_ticks[1] == pytest.approx(first_ticks[0], abs=CLOSE)  # a period changes it by 5e-3 rad
    assert b.states.position[-1] == pytest.approx(a.states.position[-1], abs=CLOSE)


def test_the_recorded_efforts_alone_move_the_robot_as_recorded_bit_for_bit(recording, capfd):
    assert main(["replay", str(recording), "--open-loop", "--namespace", "open"]) == 0
    told = capfd.readouterr().out
    compared = re.search(r"the positions at all (\d+) compared times are the recorded ones, bit for bit", told)
    assert compared, told
    assert 200 < int(compared[1]) <= len(set(Run(recording).states.time))
    assert "without a recorded command" not in told and "not repeated" not in told


def test_another_law_is_in_force_all_the_time_with_the_recorded_parameters(recording):
    run = Run(recording)
    plan = ReplayPlan(run, swaps=False)
    assert [type(request) for request in plan.requests] == [SetState, ReferenceMotion]
    parameters = parameters_of_nodes(plan, "pd")
    assert parameters["controller"]["controller"] == "pd" and "pd.gains.joint1.p" in parameters["controller"]
    assert parameters["hardware"]["time_mode"] == "lockstep" and parameters["hardware"]["update_rate"] == 200
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
    assert "exists already" in capfd.readouterr().err


def test_an_error_shows_what_the_nodes_printed(tmp_path):
    options = Namespace(robot="planar_2r", namespace="told", open_loop=False)
    with pytest.raises(RobodynError, match=r"(?s)^refused\nnode 'simulate': it printed last:\n  .*hardware\]: "), \
            simulation(tmp_path, "", {}, options) as [process], RosTest() as ros:
        ros.wait_for(lambda: "hardware]: " in process.output(), "the node's first line")
        raise RobodynError("refused")


def test_inputs_that_a_law_declares_are_recorded_and_sent_again(tmp_path, capfd):
    law = "plugins_for_test:Servo"
    command = ("-m", "robodyn_ros", "simulate", "--robot", "planar_2r", "--controller", law,
               "--time-mode", "lockstep", f"--plugins-from={PLUGINS}", f"--record={tmp_path / 'a'}", *PACE)
    with RosProcess("simulate", command=command) as process, RosTest() as ros:
        process.wait_for_output("recording to")
        states = ros.record(ControllerState, "controller/controller_state", 1000)
        gain = ros.publisher(Float64, "gain", matched=2)
        wait_for_recorded(ros, tmp_path / "a", has_states, "recorded joint states")
        sent = itertools.count()
        ros.wait_for(lambda: gain.publish(Float64(data=2.0 + 0.01 * next(sent)))
                     or len([state for state in states if state.controller == law]) > 60, "the law with its input")
        wait_for_recorded(ros, tmp_path / "a", has_parameters, "recorded parameters")
        process.stop()
    run = Run(tmp_path / "a")
    assert len(run.topics["/gain"].messages) > 10
    moved = np.ptp(run.states.position, axis=0).max()
    assert moved > 0.1
    assert main(["replay", str(tmp_path / "a"), "--plugins-from", str(PLUGINS), "--namespace", "again"]) == 0
    told = capfd.readouterr().out
    # Without its inputs the arm stays where it is. On a busy machine these come some ticks later, which a law without
    # feedback never makes up for.
    assert float(re.search(r"greatest distance from the recorded positions: (\S+)", told)[1]) < 0.7 * moved


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A table of a motion of an arm, and the URDF files of the arm and of its description."""
    folder, arm = tmp_path_factory.mktemp("compared"), WrongArm(described_arm("planar_2r"))
    made = arm.record(trajectory(excite(arm.described, Task(duration=10.0, iterations=0)).points))
    np.savez(folder / "made.npz", **dict(zip(("t", "q", "tau"), made, strict=True)))
    described, true = arm.described.model, arm.robot.model
    (folder / "described.urdf").write_text(urdf_with_inertias(described, described, described.damping,
                                                              described.friction))
    (folder / "true.urdf").write_text(urdf_with_inertias(described, true, arm.friction.viscous, arm.friction.coulomb))
    return folder


def compare(capsys, *words):
    assert main(["replay", *map(str, words), "--compare"]) == 0
    output = capsys.readouterr().out
    assert "written:" in output
    return np.array([float(number) for number in re.findall(r"\| ([\d.e-]+) rad", output)])


def test_the_true_arm_stays_nearer_than_the_described_one(files, capsys):
    columns = ["--time", "t", "--positions", "q", "--efforts", "tau", "--segment", "0.2"]
    described, true = (compare(capsys, files / "made.npz", "--robot", files / f"{name}.urdf", *columns, "--output",
                               files / f"{name}.svg") for name in ("described", "true"))
    assert (true < 0.5 * described).all() and "simulated" in (files / "true.svg").read_text()


def test_commands_of_a_recording_are_put_on_the_recorded_robot(files, capsys):
    """The measured efforts of this recording are those of another time; the commanded ones are what moved the arm."""
    recorded_bags = pytest.importorskip("recorded_bags", reason="rosbags is not installed: make setup")
    pytest.importorskip("mcap_ros2")
    made = np.load(files / "made.npz")
    path = files / "run"
    with recorded_bags.Recorder(path) as recorder:
        recorder.string("/robot_description", (files / "true.urdf").read_text())
        for stamp, q, tau in zip(made["t"], made["q"], made["tau"], strict=True):
            for topic, position, effort in (("/joint_states", q, 0.0 * tau), ("/joint_commands", (), tau)):
                recorder.joint_state(topic, round(1e9 * stamp), ["joint1", "joint2"], position, (), effort)
    found = compare(capsys, path, "--segment", "0.2", "--output", files / "run.svg")
    table = compare(capsys, files / "made.npz", "--robot", files / "true.urdf", "--time", "t", "--positions", "q",
                    "--efforts", "tau", "--segment", "0.2", "--output", files / "run.svg")
    np.testing.assert_allclose(found, table, rtol=0.1)


def test_the_shipped_tx40_moves_as_it_was_recorded(tmp_path, capsys):
    """All joints, the coupled wrist included: without its coupling, joint 6 is 4.8 rad away, joint 5 0.6 rad."""
    pytest.importorskip("pyarrow")
    found = compare(capsys, FOLDER / "tx40.parquet", "--robot", "tx40", "--actuators", "tx40", "--rate", "500",
                    "--motor-positions", "position_*", "--motor-efforts", "torque_*", "--cutoff", "25", "--output",
                    tmp_path / "replay.png")
    assert (found < [0.03, 0.03, 0.08, 0.08, 0.13, 0.15]).all()


@pytest.mark.long
def test_presliding_brings_the_tx40_little_nearer(tmp_path, capsys):
    """3.5 % for joint 2, at most 1 % for the others, as the page of measured arms says."""
    pytest.importorskip("pyarrow")
    text = config_file("tx40.yaml").read_text()
    (tmp_path / "bends.yaml").write_text(text.replace("friction: {",
                                                      "friction: {model: maxwell_slip, stiffness: 1.0e+5, "))
    rigid, bends = (compare(capsys, FOLDER / "tx40.parquet", "--robot", "tx40", "--actuators", file, "--rate", "500",
                            "--motor-positions", "position_*", "--motor-efforts", "torque_*", "--cutoff", "25",
                            "--output", tmp_path / "replay.png") for file in ("tx40", tmp_path / "bends.yaml"))
    assert 0.02 < 1.0 - bends[1] / rigid[1] < 0.05
    np.testing.assert_allclose(np.delete(bends, 1), np.delete(rigid, 1), rtol=0.011)


WRONG = [
    (["--compare", "--controller", "pd"], "--controller has no effect with --compare"),
    (["--compare", "--segment", "-1"], "--segment: expected a finite number above 0 and up to 1e+09 [s], received -1"),
    (["--compare"], "which names no robot"),
    (["--compare", "--robot", "planar_2r", "--time", "t", "--positions", "q", "--efforts", "torque"],
     "there is no column 'torque'"),
    (["--segment", "1"], "--segment: expected --compare"),
    (["--rate", "1"], "is a recording of ROS 2"),
]


def test_a_varying_rate_is_told_with_its_intervals(files, capsys):
    made = dict(np.load(files / "made.npz"))
    count = len(made["t"])
    made["t"] = np.cumsum(np.where(np.arange(count) % 2, 0.003, 0.017))
    np.savez(files / "uneven.npz", **made)
    assert main(["replay", str(files / "uneven.npz"), "--compare", "--robot", "planar_2r", "--time", "t",
                 "--positions", "q", "--efforts", "tau"]) == 2
    error = capsys.readouterr().err
    assert "the rate of the states varies: intervals of 3 ms to 17 ms" in error and len(error.splitlines()) == 1


@pytest.mark.parametrize("words, told", WRONG, ids=range(len(WRONG)))
def test_wrong_options_are_one_line(files, capsys, words, told):
    assert main(["replay", str(files / "made.npz"), *words]) == 2
    error = capsys.readouterr().err
    assert told in error and len(error.splitlines()) == 1
