# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.
"""Private parts of CPython: this version has them all, and they do what leaving a thread behind needs."""

import importlib
import sys
import threading
import time

from robodyn_ros.base.interpreter import frame_of, raise_in, release_imports


class End(BaseException):
    """Ends the thread of a test."""


def started(target):
    thread = threading.Thread(target=target, daemon=True)
    thread.start()
    return thread


def test_a_thread_is_found_and_ended_at_its_next_line():
    def loop():
        try:
            while True:
                time.sleep(0.001)
        except End:
            pass

    thread = started(loop)
    assert frame_of(thread).f_code.co_name in ("loop", "run", "_bootstrap", "_bootstrap_inner")
    raise_in(thread.ident, End)
    thread.join(60.0)
    assert not thread.is_alive() and frame_of(thread) is None


def test_the_import_of_a_thread_that_hangs_can_be_done_again(tmp_path, monkeypatch):
    assert hasattr(importlib._bootstrap, "_module_locks")
    (tmp_path / "hangs_once.py").write_text("import threading\nif threading.current_thread().daemon:\n"
                                            "    threading.Event().wait()\nvalue = 3\n")
    monkeypatch.syspath_prepend(tmp_path)
    before = dict(sys.modules)
    thread = started(lambda: importlib.import_module("hangs_once"))
    deadline = time.monotonic() + 60.0
    while "hangs_once" not in sys.modules and time.monotonic() < deadline:
        time.sleep(0.001)
    release_imports(thread, before)
    assert importlib.import_module("hangs_once").value == 3


def test_a_version_without_them_leaves_the_thread(monkeypatch):
    monkeypatch.delattr(sys, "_current_frames")
    monkeypatch.delattr(importlib._bootstrap, "_module_locks")
    assert frame_of(threading.current_thread()) is None
    release_imports(threading.current_thread(), dict(sys.modules))
