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
from robodyn_ros.resources import robot_file

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
    assert given_parameters(["mpc.horizon=12"], ["mpc"], ROBOT)["mpc"].horizon == 12


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
