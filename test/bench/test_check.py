# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""``python -m bench --check``: what is told of ratios beside recorded ones."""

import json

import pytest

pytest.importorskip("pinocchio")
pytest.importorskip("rclpy")

from bench import check
from robodyn_ros.base.errors import RobodynError


def rows(**ratios):
    return lambda: iter(ratios.items())


def too_busy():
    yield "first", 1.0
    raise RobodynError("the machine is busy")


def test_what_is_worse_by_a_quarter_is_printed_and_the_rest_is_not(capsys):
    recorded = {"calls: slower": 0.4, "calls: same": 0.4, "calls: faster": 0.4, "nodes: first": 1.0}
    found = check.check(recorded, {"calls": rows(slower=0.51, same=0.49, faster=0.1, new=3.0), "nodes": too_busy})
    assert found == {"calls: slower": 0.51, "calls: same": 0.49, "calls: faster": 0.1, "calls: new": 3.0,
                     "nodes: first": 1.0}
    printed = capsys.readouterr().out
    assert [line for line in printed.splitlines() if line.startswith("WORSE")] == [
        "WORSE: calls: slower: 0.51, 1.27 times the recorded 0.4"]
    assert "calls: new: 3, not recorded" in printed and "nodes: not measured: the machine is busy" in printed
    check.check(recorded, {"calls": rows(same=0.49)})
    assert "No ratio is beyond 1.25 times" in capsys.readouterr().out


def test_ratios_are_recorded_only_on_request_and_rows_that_failed_stay(tmp_path, monkeypatch):
    path = tmp_path / "ratios.json"
    path.write_text(json.dumps({"machine": "another", "ratios": {"nodes: first": 2.0}}))
    monkeypatch.setattr(check, "RECORDED", path)
    monkeypatch.setattr(check.check, "__defaults__", ({"calls": rows(a=0.12345)},))
    check.main(record=False)
    assert json.loads(path.read_text())["machine"] == "another"
    check.main(record=True)
    assert json.loads(path.read_text())["ratios"] == {"nodes: first": 2.0, "calls: a": 0.123}


def test_every_recorded_ratio_belongs_to_a_section_of_the_check():
    recorded = json.loads(check.RECORDED.read_text(encoding="utf-8"))["ratios"]
    assert {name.partition(":")[0] for name in recorded} == set(check.QUICK)
