# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Tables fit the terminal, and lose nothing."""

import pytest

from robodyn_ros.base.text_tables import aligned, side_by_side

NAMES = ["", "law", "pd", "computed_torque"]
BLOCKS = [["tip", f"{'RMS':>9}", f"{1.5:9.3f}", f"{2.5:9.3f}"], ["[J]", "work", "12.25", " 3.50"],
          ["", "time", "0.1", "0.2"]]


@pytest.mark.parametrize("columns", ["20", "30", "36", "44", "200", None])
def test_every_number_stands_once_within_the_width(monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", columns) if columns else monkeypatch.delenv("COLUMNS", raising=False)
    lines = side_by_side(NAMES, BLOCKS)
    assert max(map(len, lines)) <= max(int(columns or 200), 28), "a block is never cut"
    text = "\n".join(lines)
    for number in ("1.500", "2.500", "12.25", "3.50", "0.1\n", "RMS", "work", "time"):
        assert (text + "\n").count(number) == 1
    assert text.count("computed_torque") == {"20": 3, "30": 2, "36": 2, "44": 1}.get(columns, 1)
    assert lines == [line.rstrip() for line in lines]


def test_columns_are_aligned_and_lines_may_end_early():
    rows = [["joint", "unit", "RMS", "worst"], ["a_long_name", "mm", "1.5", "20"], ["b", "rad", "0.25"]]
    assert aligned(rows, -5, 6, gap=" ") == ["joint       unit     RMS  worst", "a_long_name mm       1.5     20",
                                             "b           rad     0.25"]
    assert aligned([["law", "failed"], ["pd", "1 %", "limit (3)"]], 8, 0) == [
        "law    failed", "pd        1 %  limit (3)"]
