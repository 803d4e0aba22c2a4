# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""``robodyn replay --compare`` without ROS: tables and recordings of a simulated arm, and wrong options."""

import re

import numpy as np
import pytest

from bench.measured_arms import FOLDER
from bench.wrong_arm import WrongArm, described_arm, trajectory
from robodyn_ros.commands.command_line import main
from robodyn_ros.description.resources import config_file
from robodyn_ros.toolbox.identification.excitation import Task, excite
from robodyn_ros.toolbox.identification.identified_files import urdf_with_inertias

pytest.importorskip("matplotlib", reason="Matplotlib is not installed: make setup")


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
