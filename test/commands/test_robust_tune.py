# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""`robodyn tune --study`: parameters that simulate takes, a table on fresh samples, fronts, and wrong options."""

import csv

import pytest
import yaml

from robodyn_ros.commands.command_line import main

STUDY = """
robot: planar_2r
samples: 10
laws: [pd_gravity, task_space_pd]
quantities:
  payload.mass: {uniform: [0.0, 2.0]}
fail: {worst_error: 2.0}
"""


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("study") / "arm.yaml"
    path.write_text(STUDY)
    return path


def tune(file, output, *options):
    return main(["tune", "--study", str(file), "--output", str(output), "--generations", "3", "--population", "6",
                 *options])


def test_gains_for_all_samples(file, tmp_path, capsys):
    assert tune(file, tmp_path) == 0
    output = capsys.readouterr().out
    for text in ("pd_gravity on 'planar_2r' for arm.yaml: 95 % quantile of the cost", "on 10 fresh samples",
                 "gains.joint1.p", "margin: no sample fails with", "task_space_pd"):
        assert text in output
    content = yaml.safe_load((tmp_path / "pd_gravity" / "parameters.yaml").read_text())["/**"]["ros__parameters"]
    assert content["controller"] == "pd_gravity" and content["pd_gravity"]["gains"]["joint1"]["p"] > 0.0
    assert (tmp_path / "task_space_pd" / "errors.png").stat().st_size > 1000
    assert tune(file, tmp_path, "--resume") == 0
    assert capsys.readouterr().out.split("pd_gravity on")[1:] == output.split("pd_gravity on")[1:]


def test_a_front(file, tmp_path, capsys):
    assert tune(file, tmp_path, "--controllers", "pd_gravity", "--pareto", "rms_error", "effort_change") == 0
    assert "gains on the front of 95 % quantile" in capsys.readouterr().out
    rows = list(csv.reader((tmp_path / "front.csv").open()))
    assert rows[0][:3] == ["rms_error", "effort_change", "gains.joint1.p"] and len(rows) > 1
    assert (tmp_path / "front.png").stat().st_size > 1000


@pytest.mark.parametrize(("options", "message"), [
    (["--robot", "arm6"], "--robot has no effect with --study"),
    (["--velocity-noise", "0.01"], "--velocity-noise has no effect with --study"),
    (["--controllers", "pd"], "the study has no law 'pd': known are 'pd_gravity'"),
    (["--goal", "most"], "expected mean, worst, or a quantile"),
    (["--limit", "saturatd=1"], "unknown metric 'saturatd': did you mean 'saturated'"),
    (["--limit", "saturated=x"], "expected saturated=NUMBER"),
    (["--limit", "saturated"], "limit: expected a metric"),
    (["--pareto", "rms_error", "speed"], "pareto: unknown metric 'speed'"),
    (["--span", "1"], "span: expected a factor above 1"),
    (["--gains", "q"], "expected some of d, p"),
    (["--resume"], "there is no search in"),
])
def test_options_that_make_no_sense(file, tmp_path, capsys, options, message):
    assert tune(file, tmp_path, *options) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1


@pytest.mark.parametrize("option", ["--goal=worst", "--limit=saturated=1", "--resume"])
def test_options_of_a_study_need_one(option, capsys):
    assert main(["tune", option]) == 2
    assert "has no effect without --study" in capsys.readouterr().err
