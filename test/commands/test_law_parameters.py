# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Parameters that the command line sets: which law gets them, and the commands that take them."""

import numpy as np
import pytest
import yaml

from robodyn_ros import InputError, Robot
from robodyn_ros.commands.command_line import main
from robodyn_ros.commands.law_parameters import given_parameters
from robodyn_ros.description.resources import robot_file

ROBOT = Robot.from_urdf(robot_file("planar_2r"))


def test_each_law_gets_its_own():
    found = given_parameters(["pd.gains.*.p=80", "pd.gains.joint2.d=3", "task_space_pd.gravity=false"],
                             ["pd", "computed_torque", "task_space_pd"], ROBOT)
    assert sorted(found) == ["pd", "task_space_pd"] and found["task_space_pd"].gravity is False
    np.testing.assert_array_equal(found["pd"].p, [80.0, 80.0])
    assert found["pd"].d[1] == 3.0 != found["pd"].d[0]
    alone = given_parameters(["gains.joint1.p=7"], ["pd+safety"], ROBOT)["pd+safety"]
    assert alone.p[0] == 7.0
    assert given_parameters(["pd_safety.safety_rate=9"], ["pd", "pd+safety"], ROBOT)["pd+safety"].safety_rate == 9.0
    assert given_parameters(["mpc.horizon=8"], ["mpc"], ROBOT)["mpc"].horizon == 8


@pytest.mark.parametrize(("assignments", "laws", "message"), [
    (["pd"], ["pd"], "--set: expected LAW.NAME=VALUE, received 'pd'"),
    (["p.gains.joint1.p=1"], ["pd", "pid"], "--set p.gains.joint1.p: unknown law 'p': did you mean 'pd'"),
    (["gains.joint3.p=1"], ["pd"], "--set gains.joint3.p: pd: unknown parameter 'gains.joint3.p': did you mean"),
    (["pd.gains.*.q=1"], ["pd"], "pd: unknown parameter 'gains.[*].q'"),
    (["pd.gains.joint1.p=-1"], ["pd"], "--set pd.gains.joint1.p: expected a finite number from 0 to .*received -1"),
    (["gravity=yes"], ["task_space_pd"], "--set gravity: expected true or false, received 'yes'"),
    (["gains.*.p=1", "pd.gains.joint2.p=2"], ["pd"], "each parameter once, received 'gains.joint2.p' of pd twice"),
    (["file=nowhere.yaml"], ["policy"], "policy.file: .*nowhere.yaml"),
])
def test_what_makes_no_sense_is_said(assignments, laws, message):
    with pytest.raises(InputError, match=message):
        given_parameters(assignments, laws, ROBOT)


@pytest.fixture
def gains_file(tmp_path):
    """As robodyn tune writes it."""
    file = tmp_path / "gains.yaml"
    file.write_text("/**:\n  ros__parameters:\n    controller: pd\n    update_rate: 1000\n    pd:\n      gains:\n"
                    "        joint1: {p: 70.0, d: 9}\n")
    return file


def test_a_file_gives_parameters_and_assignments_go_before_it(gains_file, capsys):
    found = given_parameters(["pd.gains.joint1.d=4"], ["pd", "pid"], ROBOT, str(gains_file))
    assert sorted(found) == ["pd"] and (found["pd"].p[0], found["pd"].d[0]) == (70.0, 4.0)
    assert capsys.readouterr().err == f"--params-file {gains_file}: not used, as nodes alone read them: update_rate\n"


@pytest.mark.parametrize(("old", "new", "message"), [
    ("p: 70.0", "q: 70.0", "pd: unknown parameter 'gains.joint1.q'"),
    ("p: 70.0", "p: soft", "pd.gains.joint1.p: expected"),
    ("    pd:", "    other:", "expected parameters of pd, received those of other"),
    ("/**:", "/hardware:", "expected ROS parameters of the controller"),
])
def test_a_file_that_does_not_fit_is_refused(gains_file, old, new, message):
    gains_file.write_text(gains_file.read_text().replace(old, new))
    with pytest.raises(InputError, match=message):
        given_parameters([], ["pd"], ROBOT, str(gains_file))


def test_check_compare_and_export_take_the_file_that_tune_writes(gains_file, tmp_path, capsys):
    robot = ["--robot", "planar_2r", "--params-file", str(gains_file)]
    assert main(["export", "pd", *robot, "--output", str(tmp_path / "c")]) == 0
    assert "70.0" in (tmp_path / "c" / "planar_2r_pd.c").read_text()
    assert main(["compare", "pd", *robot, "--output", str(tmp_path / "compare.png")]) == 0
    capsys.readouterr()
    main(["check", "planar_2r", "--params-file", str(gains_file)])
    printed = capsys.readouterr().out
    assert "gains.joint1.p = 70 N m/rad (default " in printed and "is stable with" in printed and "1 ms" in printed
    gains_file.write_text(gains_file.read_text().replace("70.0", "9e6"))
    assert main(["check", "planar_2r", "--params-file", str(gains_file)]) == 1
    assert "doubt: controller 'pd' oscillates" in capsys.readouterr().out


def test_laws_of_a_folder_are_exported_and_checked(tmp_path, gains_file, monkeypatch, capsys):
    monkeypatch.setenv("ROBODYN_PLUGINS_FROM", "")
    (tmp_path / "own_law.py").write_text("from robodyn_ros.control.laws.pd import PD\n\n\nclass Own(PD):\n    pass\n")
    words = ["--plugins-from", str(tmp_path)]
    assert main(["export", "own_law:Own", "--robot", "planar_2r", "--output", str(tmp_path / "c"), *words]) == 0
    gains_file.write_text(gains_file.read_text().replace(": pd", ": own_law:Own").replace("    pd:", "    Own:"))
    main(["check", "planar_2r", "--params-file", str(gains_file), *words])
    assert "law 'own_law:Own'" in capsys.readouterr().out


@pytest.mark.long
def test_comparing_a_learned_law_with_others(tmp_path, monkeypatch, capsys):
    """A law that needs a file runs once it is named; without one, the table says what lacks."""
    pytest.importorskip("onnx", reason="onnx is not installed: make setup FOR=learn")
    from robodyn_ros.learn import copy_policy

    monkeypatch.chdir(tmp_path)
    copy_policy("arm6_reach")
    assert main(["compare", "policy", "pd", "--robot", "arm6", "--set", "policy.file=arm6_reach.yaml"]) == 0
    rows = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines() if line[:2] in ("po", "pd"))
    assert 0.0 < float(rows["policy"].split()[0]) < 1000.0 and "pd" in rows
    assert main(["compare", "policy", "pd", "--robot", "arm6"]) == 1
    assert "policy  failed: " in capsys.readouterr().out


def test_tune_begins_with_what_is_set_and_writes_it(tmp_path):
    assert main(["tune", "pid", "--robot", "planar_2r", "--generations", "1", "--population", "8", "--gains", "d",
                 "--set", "gains.*.p=30", "--output", str(tmp_path / "found")]) == 0
    written = yaml.safe_load((tmp_path / "found" / "parameters.yaml").read_text())["/**"]["ros__parameters"]["pid"]
    assert [joint["p"] for joint in written["gains"].values()] == [30.0, 30.0]
    assert all(set(joint) == {"d", "p"} for joint in written["gains"].values())
