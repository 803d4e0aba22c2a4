# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Scripted inputs of laws: on the command line of `robodyn compare`, and in study files."""

import sys
from textwrap import dedent

import numpy as np
import pytest

from robodyn_ros import InputError
from robodyn_ros.commands.command_line import USAGE_ERROR, main
from robodyn_ros.commands.study_file import read_study

LAW = dedent("""
    from dataclasses import dataclass
    from typing import NamedTuple
    import numpy as np
    from robodyn_ros.control import JointReference, Law, Parameters, Reading, declare_input

    class Seen(NamedTuple):
        push: Reading = declare_input("push", "std_msgs/msg/Float64MultiArray", "data", (2,), greatest_age=0.5,
                                      required=True)

    class Pushed(Law[Parameters, JointReference, None]):
        Inputs = Seen

        @staticmethod
        def law(dynamics, parameters, state, reference):
            wanted = 100.0 * (reference.q - state.q) - 20.0 * state.v
            return dynamics.inverse_dynamics(state.q, state.v, wanted) + state.inputs.push.value
    """)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "pushed_law.py").write_text(LAW)
    (tmp_path / "push.csv").write_text("time,first,second\n0.0,0.0,0.0\n0.3,2.0,1.0\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    sys.modules.pop("pushed_law", None)


def rms(capsys, *signals):
    assert main(["compare", "--robot", "planar_2r", "pushed_law:Pushed", *signals]) == 0
    (line,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("pushed_law:Pushed")]
    return float(line.split()[1])


def test_compare_takes_numbers_and_tables(folder, capsys):
    still, table, all_the_time = (rms(capsys, "--signal", f"push={value}") for value in ("0,0", "push.csv", "2,1"))
    assert still < min(table, all_the_time) and table != all_the_time


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "'push': the law requires this input"),
        (["push"], "--signal: expected NAME=VALUE, received 'push'"),
        (["pull=1,2"], "--signal: unknown input 'pull'"),
        (["push=1"], "--signal: push: expected 2 numbers, or the name of a .csv file"),
        (["push=there_is_none.csv"], "there_is_none.csv"),
    ],
)
def test_compare_tells_signals_that_do_not_fit(folder, capsys, words, told):
    assert main(["compare", "--robot", "planar_2r", "pushed_law:Pushed", *(["--signal", *words] if words else [])]
                ) == USAGE_ERROR
    assert told in capsys.readouterr().err


def study(folder, signals):
    file = folder / "study.yaml"
    file.write_text(f"robot: planar_2r\nsamples: 4\nlaws: {{'pushed_law:Pushed': {{signals: {signals}}}}}\n"
                    "quantities: {payload.mass: {uniform: [0.0, 1.0]}}\n")
    return read_study(file)


def test_a_study_has_signals_of_each_law(folder):
    found = study(folder, "{push: {value: push.csv, period: 0.1, delay: 0.0}}")
    (pair,) = found.pairs
    push = found.description(pair).scenario.signals.push
    times = found.description(pair).scenario.clocks[:, 0]
    np.testing.assert_array_equal(push.value[times < 0.299], 0.0)
    assert (push.value[times > 0.301] == [2.0, 1.0]).all()
    assert push.age.max() == pytest.approx(0.098)
    other = study(folder, "{push: [1.0, 2.0]}")
    assert other.description(pair).digest != found.description(pair).digest


def test_a_study_tells_signals_that_do_not_fit(folder):
    with pytest.raises(InputError, match="laws: pushed_law:Pushed: signals: unknown input 'pull'"):
        study(folder, "{pull: [1.0, 2.0]}")
    with pytest.raises(InputError, match="laws: pushed_law:Pushed: signals: push: period"):
        study(folder, "{push: {value: [1.0, 2.0], period: -1.0}}")
    (folder / "push.csv").write_text("time,first,second\n0.1,0.0,0.0\n0.0,2.0,1.0\n")
    with pytest.raises(InputError, match=r"push\.csv: expected finite numbers and times that increase"):
        study(folder, "{push: push.csv}")
