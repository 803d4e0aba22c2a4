# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Efforts that no robot has are refused with their likely cause, before anything is written."""

import re

import numpy as np
import pytest

from bench.wrong_arm import WrongArm, described_arm, trajectory
from robodyn_ros import Robot
from robodyn_ros.base.common_fields import CUTOFF
from robodyn_ros.commands.command_line import main
from robodyn_ros.toolbox.identification.excitation import Task, excite
from robodyn_ros.toolbox.identification.identified_files import urdf_with_inertias
from robodyn_ros.toolbox.identification.identified_model import identify as fit
from robodyn_ros.toolbox.identification.implausible_efforts import likely_causes
from robodyn_ros.toolbox.identification.measured_motion import prepare

ROBOT, LAST = "planar_2r", 1


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """The file of the description, and stamps, positions and efforts of a motion, thinned to 125 Hz."""
    arm = WrongArm(described_arm(ROBOT))
    time, q, effort = (values[::4] for values in
                       arm.record(trajectory(excite(arm.described, Task(duration=10.0, iterations=0, seed=0)).points)))
    model = arm.described.model
    path = tmp_path_factory.mktemp("robot") / "arm.urdf"
    path.write_text(urdf_with_inertias(model, model, model.damping, model.friction))
    return path, time, q, effort


def identify(recorded, folder, change):
    """Exit code and files of a run on changed efforts."""
    path, time, q, effort = recorded
    rows = np.column_stack([time, q, change(effort)])
    np.savetxt(folder / "run.csv", rows, delimiter=",", header="t,q1,q2,tau1,tau2", comments="")
    code = main(["identify", str(folder / "run.csv"), "--robot", str(path), "--time", "t", "--positions", "q*",
                 "--efforts", "tau*", "--output", str(folder / "out")])
    return code, list((folder / "out").glob("*"))


def one_sign(effort):
    return effort * [1.0, -1.0]


@pytest.mark.parametrize(("change", "cause"), [
    (np.negative, "--torque-constants -1 -1"),
    (one_sign, "the sign of joint2: the driver counts the torque of the load (--torque-constants 1 -1)"),
])
def test_efforts_that_no_robot_has_are_refused_with_their_cause(recorded, change, cause, tmp_path, capsys):
    code, files = identify(recorded, tmp_path, change)
    error = capsys.readouterr().err
    assert code != 0 and not files and cause in error and "Nothing was written" in error, error


def test_exchanged_columns_get_a_warning_with_their_cause(recorded, tmp_path, capsys):
    code, files = identify(recorded, tmp_path, np.fliplr)
    error = capsys.readouterr().err
    assert code == 0 and files and "of its full scale" in error
    assert "exchanged columns of 'joint1' and 'joint2'" in error


@pytest.mark.parametrize("samples", [25, -25])
def test_late_and_early_efforts_are_named(recorded, samples):
    path, time, q, effort = recorded
    robot = Robot.from_urdf(path)
    motion = prepare(robot.model, time, q, np.roll(effort, samples, axis=0), "recording", CUTOFF.default, None)
    [cause] = likely_causes(fit(robot, motion), motion)
    assert re.match(rf"efforts that are 0\.(19|20?|21)\d* s {'late' if samples > 0 else 'early'}: shift", cause), cause


def test_true_efforts_get_no_warning(recorded, tmp_path, capsys):
    code, files = identify(recorded, tmp_path, np.asarray)
    assert code == 0 and files and "Likely causes" not in capsys.readouterr().err
