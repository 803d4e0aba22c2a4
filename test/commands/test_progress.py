# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

import sys

from robodyn_ros.commands.progress import Progress


def test_lines_where_there_is_no_terminal(capsys):
    progress = Progress(4, "rounds")
    for done in range(5):
        progress.show(done, "fine")
    progress.show(5, "over")
    progress.end()
    first, last = capsys.readouterr().out.splitlines()  # the others came within two seconds
    assert first == f"[{'':30}]   0 of 4 rounds  {'fine':<16}"
    assert last == f"[{'#' * 30}]   4 of 4 rounds  {'fine':<16}"


def test_a_bar_on_a_terminal(capsys, monkeypatch):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    progress = Progress(2.0, "s", decimals=1)
    progress.show(1.0, "pd")
    progress.end()
    assert capsys.readouterr().out == f"\r[{'#' * 15:<30}] 1.0 of 2 s  {'pd':<16}\n"
