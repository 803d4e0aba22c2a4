# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""A step counts once it was finished, and until its inputs change."""

import sys

import places
import pytest
import steps
from steps import SetUpError, Step, call, fingerprint


@pytest.fixture
def root(tmp_path, monkeypatch):
    monkeypatch.setattr(places, "ROOT", tmp_path)
    monkeypatch.setattr(places, "NOTES", tmp_path)
    return tmp_path


def test_step_is_done_once_for_one_key(root):
    runs = []
    step = Step("thing", root / "stamp", "key", lambda: runs.append(1))
    assert not step.done()
    step.run()
    assert step.done() and Step("thing", root / "stamp", "key", runs.clear).done()
    assert not Step("thing", root / "stamp", "other key", runs.clear).done()
    assert runs == [1]


@pytest.mark.parametrize("interruption", [SetUpError, KeyboardInterrupt])
def test_what_was_cut_off_is_not_done(root, interruption):
    def cut_off():
        raise interruption

    Step("thing", root / "stamp", "key", lambda: None).run()
    again = Step("thing", root / "stamp", "key", cut_off)
    with pytest.raises(interruption):
        again.run()
    assert not again.done()


def test_fingerprint_sees_names_and_contents(root):
    folder = root / "folder"
    (folder / "inner").mkdir(parents=True)
    file = folder / "inner" / "a"
    file.write_text("1")
    seen = {fingerprint(folder), fingerprint(folder, "text")}
    file.write_text("2")
    seen.add(fingerprint(folder))
    file.rename(folder / "inner" / "b")
    seen.add(fingerprint(folder))
    assert len(seen) == 4
    assert fingerprint(folder) in seen


def test_failed_command_shows_its_last_lines_and_the_hint(root):
    command = [sys.executable, "-c", "print('first'); print('the reason'); raise SystemExit(3)"]
    with pytest.raises(SetUpError, match=r"(?s)ended with 3.*log\.log.*the reason.*try again"):
        call(command, "log", {}, cwd=root, hint="try again")
    assert (root / "log.log").read_text() == "first\nthe reason\n"


def test_a_command_that_says_nothing_is_seen_to_run(root, monkeypatch, capsys):
    monkeypatch.setattr(steps, "QUIET", 0.01)
    code = "import sys, time; print('Installing', flush=True); time.sleep(0.5)"
    call([sys.executable, "-c", code], "log", {}, cwd=root)
    assert capsys.readouterr().out.count("Installing") > 1
