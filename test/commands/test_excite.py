# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

import numpy as np
import pytest

from robodyn_ros import Robot
from robodyn_ros.commands.command_line import main
from robodyn_ros.commands.trajectory_files import read_motion
from robodyn_ros.control.references.joint_trajectory import MAX_POINTS
from robodyn_ros.description.resources import robot_file

ROBOT = Robot.from_urdf(robot_file("planar_2r"))


def test_it_writes_a_trajectory_and_prints_condition_numbers(tmp_path, capsys):
    path = tmp_path / "made" / "motion.csv"
    assert main(["excite", "--robot", "planar_2r", "--iterations", "5", "--output", str(path)]) == 0
    printed = capsys.readouterr().out
    assert "condition number of the base regressor: 49.2 before the search" in printed
    assert "planar_2r: 30 s in periods of 10 s" in printed and f"written: {path}" in printed
    points, motion = read_motion(path, ROBOT)
    assert len(points.times) == 601 <= MAX_POINTS
    np.testing.assert_array_equal(motion.sample(motion.end_time).v, 0.0)


def test_it_is_followed_by_the_commands_that_take_trajectories(tmp_path, capsys):
    path = tmp_path / "motion.csv"
    assert main(["excite", "--robot", "planar_2r", "--iterations", "0", "--duration", "10", "--output", str(path)]) == 0
    assert main(["compare", "pd_gravity", "--robot", "planar_2r", "--trajectory", str(path), "--output",
                 str(tmp_path / "compare.png")]) == 0
    assert "pd_gravity" in capsys.readouterr().out


def test_accelerations_by_joint(tmp_path):
    path = tmp_path / "motion.csv"
    assert main(["excite", "--robot", "planar_2r", "--iterations", "0", "--duration", "10", "--acceleration",
                 "joint2=90deg/s2", "--share", "0.5", "--output", str(path)]) == 0
    points, _ = read_motion(path, ROBOT)
    assert np.abs(points.a[:, 1]).max() <= 0.25 * np.pi * 1.001


@pytest.mark.parametrize(("words", "message"), [
    (["--output", "motion.yaml"], "output: expected a file that ends in .csv, received 'motion.yaml'"),
    (["--duration", "7"], "duration: expected a multiple of the period 10 s, received 7 s"),
    (["--acceleration", "joint9=1"], "unknown joint 'joint9'"),
    (["--acceleration", "joint1=-1"], "excite: acceleration of joint 'joint1'"),
    (["--share", "0"], "argument --share"),
    (["--floor", "3"], "keeps to the limit of floor"),
])
def test_options_that_cannot_be_used(words, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["excite", "--robot", "planar_2r", "--iterations", "0", *words]) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1
    assert not list(tmp_path.iterdir())
