# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""`robodyn tune --study`: parameters that simulate takes, a table on fresh samples, fronts, and wrong options."""

import csv
import json

import numpy as np
import pytest
import yaml

from robodyn_ros.commands.command_line import main, make_parser
from robodyn_ros.commands.study_file import StudySection, read_study
from robodyn_ros.commands.tune import study_of_options

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


def parsed(*options):
    return make_parser("tune")[0].parse_args(["tune", *options])


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
    (["--robot", "arm66"], "arm66"),
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


def test_options_replace_what_the_study_has(file, tmp_path, monkeypatch):
    """Paths of options are relative to the current folder, those in the study to its file."""
    monkeypatch.chdir(tmp_path)
    motion, folder = "time,joint1,joint2\n0,0,0\n1,0.1,0.1\n", file.parent
    (tmp_path / "motion.csv").write_text(motion)
    (folder / "motion.csv").write_text(motion.replace("0.1,0.1", "0.2,0.2"))
    options = parsed("--study", str(file), "--robot", "planar_2r", "--trajectory", "motion.csv", "--period", "0.004",
                     "--velocity-noise", "0.02", "--law-ignores", "friction", "--filter", "safety", "--seed", "7",
                     "--set", "pd_gravity_safety.gains.*.p=80")
    study, own = study_of_options(options), read_study(file)
    assert (study.period, study.velocity_noise, study.seed, study.count) == (0.004, 0.02, own.seed, own.count)
    [found] = study.motions.values()
    assert found.sample(found.end_time).q == pytest.approx([0.1, 0.1])
    assert {law: (one.name, one.controller.robot.ignored) for law, one in study.laws.items()} == {
        law: (f"{law}+safety", ("friction",)) for law in own.laws}
    assert study.laws["pd_gravity"].controller.parameters.p.tolist() == [80.0, 80.0]
    assert np.array_equal(study.values["payload.mass"], own.values["payload.mass"])


def test_one_robot_is_a_study_of_one_sample():
    study = study_of_options(parsed("pd", "pid", "--robot", "planar_2r", "--seed", "3", "--position-noise", "0"))
    assert (list(study.laws), study.count, study.seed, study.position_noise) == (["pd", "pid"], 1, 3, 0.0)
    assert not study.quantities and study.robot.name == "planar_2r"
    assert study.period == StudySection.period


def test_one_robot_has_constraints_fronts_and_searches_that_go_on(tmp_path, capsys):
    common = ["tune", "pd", "--robot", "planar_2r", "--generations", "5", "--population", "6", "--output",
              str(tmp_path)]
    assert main([*common, "--limit", "saturated=0.2"]) == 0
    whole = capsys.readouterr().out
    content = json.loads((tmp_path / "search.json").read_text())
    (tmp_path / "search.json").write_text(json.dumps({**content, "costs": content["costs"][:2]}))
    assert main([*common, "--limit", "saturated=0.2", "--resume"]) == 0
    assert capsys.readouterr().out.split("pd on")[1:] == whole.split("pd on")[1:]
    assert json.loads((tmp_path / "search.json").read_text()) == content
    assert main([*common, "--pareto", "rms_error", "effort_change"]) == 0
    assert "gains on the front" in capsys.readouterr().out and (tmp_path / "front.csv").is_file()
