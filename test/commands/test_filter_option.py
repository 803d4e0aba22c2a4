# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.


"""The safety filter by an option: the commands that take ``--filter``, and studies."""

import pytest

from robodyn_ros import InputError
from robodyn_ros.base.common_fields import filtered_name
from robodyn_ros.commands.command_line import main
from robodyn_ros.commands.study_file import read_study


def test_a_name_has_a_filter_once():
    assert filtered_name("pd", "none") == "pd"
    assert filtered_name("pd", "safety") == filtered_name("pd+safety", "safety") == "pd+safety"
    assert filtered_name("pd+safety", "none") == "pd+safety"
    assert filtered_name("pd+safety", "friction") == filtered_name("pd+friction", "safety") == "pd+friction+safety"
    assert filtered_name("pd", "friction+safety") == filtered_name("pd+friction", "friction+safety")


def test_comparing_a_filtered_law(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["compare", "pd", "--robot", "planar_2r", "--filter", "safety"]) == 0
    assert "pd+safety" in capsys.readouterr().out


def test_exporting_a_filtered_law(tmp_path, capsys):
    assert main(["export", "computed_torque", "--robot", "planar_2r", "--filter", "safety", "--output",
                 str(tmp_path / "c")]) == 0
    assert "qp_solve_program" in (tmp_path / "c" / "planar_2r_computed_torque_safety.c").read_text()
    assert main(["export", "--function", "gravity", "--filter", "safety", "--output", str(tmp_path / "d")]) != 0
    assert "--filter has no effect without a law" in capsys.readouterr().err


def test_a_study_of_filtered_laws(tmp_path):
    file = tmp_path / "study.yaml"
    file.write_text("robot: planar_2r\nlaws: [pd]\nsamples: 2\nfilter: safety\n")
    study = read_study(file)
    assert study.laws["pd"].name == "pd+safety"
    assert type(study.laws["pd"].controller).__name__.endswith("+safety")
    file.write_text("robot: planar_2r\nlaws: [pd]\nfilter: safe\n")
    with pytest.raises(InputError, match=r"filter: expected one of 'none', 'safety', 'friction', 'friction\+safety',"):
        read_study(file)


@pytest.mark.parametrize("command", [["tune", "pd"], ["swap", "pd"], ["demo"], ["compare", "pd"]])
def test_an_unknown_filter_is_one_line(command, capsys):
    assert main([*command, "--filter", "safe"]) == 2
    told = capsys.readouterr().err
    assert told.startswith(f"robodyn: error: {command[0]}: argument --filter: invalid choice: 'safe'")
    assert "safety" in told and told.count("\n") == 1


@pytest.mark.long
def test_tuning_a_filtered_law(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["tune", "pd", "--robot", "planar_2r", "--filter", "safety", "--generations", "1", "--population", "5"]
                ) == 0
    assert "pd+safety" in capsys.readouterr().out
