# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Code of plugins that does not return, raises, or holds what others wait for."""

import subprocess
import sys
import threading
import time
import weakref
from types import SimpleNamespace

import pytest

from robodyn_ros import InputError, PluginError
from robodyn_ros.base.timing import Scheduling, extended_timeout, scheduling_of
from robodyn_ros.control.plugins import plugin_threads
from robodyn_ros.control.plugins.plugin_threads import (
    LATE_SHARE,
    LOOK_PERIOD,
    Abandoned,
    ThreadWatch,
    end,
    leave_behind,
    run_bounded,
    some_left_behind,
)
from robodyn_ros.control.plugins.registry import load_controller

DEADLINE = 60.0
PLUGIN = """
import pathlib, time
from robodyn_ros.control import Controller

if pathlib.Path(__file__).with_name("wait").exists():
    time.sleep(3600.0)

class Spring(Controller):
    def update(self, state, reference):
        return VERSION
"""


def run(function, *arguments, seconds=DEADLINE, is_stopped=lambda: False):
    return run_bounded("it fails", seconds, is_stopped, function, *arguments)


def wait_for(condition):
    end = time.monotonic() + DEADLINE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)


class Held:
    """Something that a plugin made."""


@pytest.mark.parametrize("error", [ValueError("odd"), KeyboardInterrupt(), SystemExit(), InputError("a number")])
def test_an_error_holds_no_object_of_the_plugin(error):
    references = []

    def fail():
        held = Held()
        references.append(weakref.ref(held))
        raise error

    with pytest.raises(InputError if isinstance(error, InputError) else PluginError) as caught:
        run(fail)
    error.__traceback__ = None
    assert references[0]() is None
    assert "in fail" in caught.value.__notes__[0] and caught.value.__cause__ is None
    assert type(error) is InputError or f"it fails: {type(error).__name__}" in str(caught.value)


def test_what_does_not_return_is_left_behind_and_its_thread_ended():
    threads = []

    def loop():
        threads.append(threading.current_thread())
        while True:
            pass

    with pytest.raises(PluginError, match=r"it fails: it did not return within 0.2 s: it stands in .*, line \d+: "):
        run(loop, seconds=0.2)
    wait_for(lambda: not threads[0].is_alive())
    wait_for(lambda: not some_left_behind())


def test_a_stop_ends_the_wait():
    release = threading.Event()
    with pytest.raises(PluginError, match="it fails: stopped before it returned"):
        run(release.wait, is_stopped=lambda: True)
    assert some_left_behind()
    release.set()
    wait_for(lambda: not some_left_behind())


def test_a_result_comes_at_once():
    assert run(lambda a, b: a + b, 1, 2) == 3


@pytest.mark.parametrize(("computed", "waited", "passed", "counted"), [
    (0.05, 0.0, 0.05, 0.05),    # it computes
    (0.02, 0.03, 0.05, 0.02),   # it waits for a processor in between
    (0.001, 0.4, 0.4, 0.001),   # others have the processors
    (0.01, 0.0, 0.05, 0.01),    # it takes turns with others that want Python's lock
    (0.0, 0.0, 0.05, 0.05),     # it sleeps, or waits for a lock or a device
    (0.002, 0.001, 0.06, 0.05),   # it asks again and again
    (0.0, 0.0, 0.2, 0.0125),    # so does who looks: the process was stopped, or another thread keeps Python's lock
    (0.2, 0.0, 0.2, 0.2),       # it keeps Python's lock itself
])
def test_a_thread_counts_what_it_computes_and_where_it_is_blocked(monkeypatch, computed, waited, passed, counted):
    clock = [100.0]
    seen = [Scheduling(1.0, 2.0)]
    monkeypatch.setattr(plugin_threads, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    monkeypatch.setattr(plugin_threads, "scheduling_of", lambda task: seen[0])
    watch = ThreadWatch(threading.current_thread())
    for look in range(1, 4):
        clock[0] += passed
        seen[0] = Scheduling(1.0 + look * computed, 2.0 + look * waited)
        assert watch.look() == pytest.approx(look * counted)


def looked_at(function, looks):
    """What counts of a thread after some looks, and what it computed [s]."""
    thread = threading.Thread(target=function, daemon=True)
    thread.start()
    watch = ThreadWatch(thread)
    for _ in range(looks):
        time.sleep(LOOK_PERIOD)
        counted = watch.look()
    return counted, scheduling_of(thread.native_id).computed


def test_a_thread_that_sleeps_or_computes_counts_whatever_the_machine_does():
    release = threading.Event()

    def compute():
        while not release.is_set():
            pass

    counted, computed = looked_at(release.wait, 10)
    assert 10 * LATE_SHARE * LOOK_PERIOD <= counted <= 10 * LOOK_PERIOD and computed < 0.01
    counted, computed = looked_at(compute, 10)
    release.set()
    assert 0.0 < counted <= computed + 3 * LOOK_PERIOD


def test_a_thread_that_has_ended_is_none_of_the_scheduler():
    thread = threading.Thread(target=lambda: None)
    thread.start()
    thread.join()
    wait_for(lambda: scheduling_of(thread.native_id) == (0.0, 0.0))


def test_waits_for_processes_are_longer_on_a_busy_machine():
    assert [extended_timeout(2.0, waited) for waited in (0.0, 1.5, 100.0)] == [2.0, 3.5, 8.0]


def test_the_exception_ends_python_code_that_catches_errors():
    ended = []

    def loop():
        try:
            while True:
                try:
                    time.sleep(0.001)
                except Exception:
                    pass
        except Abandoned:
            ended.append(True)

    thread = threading.Thread(target=loop)
    thread.start()
    leave_behind(thread)
    thread.join(DEADLINE)
    assert ended


PROFILED = """
import sys, time
from robodyn_ros import PluginError
from robodyn_ros.control.plugins.plugin_threads import run_bounded

try:
    run_bounded("it sleeps", 0.1, lambda: False, time.sleep, 3600.0)
except PluginError:
    pass
calls = []
sys.setprofile(lambda frame, event, _: calls.append(event))
(lambda: None)()
sys.setprofile(None)
print(len(calls) > 0)
"""


def test_a_debugger_and_a_profiler_work_beside_a_thread_that_was_left_behind():
    """Python 3.11 repeats the first instruction of a traced function while it believes an exception to be waiting."""
    output = subprocess.run([sys.executable, "-c", PROFILED], capture_output=True, text=True, timeout=DEADLINE)
    assert output.stdout == "True\n", output.stderr


def test_a_module_whose_import_was_left_behind_can_be_imported(tmp_path, monkeypatch):
    name = "left_behind_plugin"
    monkeypatch.syspath_prepend(tmp_path)
    file, wait = tmp_path / f"{name}.py", tmp_path / "wait"

    def version():
        return run(load_controller, f"{name}:Spring").update(None, None, None)

    try:
        file.write_text(PLUGIN.replace("VERSION", "1"))
        assert version() == 1
        wait.touch()
        file.write_text(PLUGIN.replace("VERSION", "2"))
        old = sys.modules[name]
        with pytest.raises(PluginError, match=f"did not return within 0.3 s: it stands in {file}, line 6"):
            run(load_controller, f"{name}:Spring", seconds=0.3)
        assert sys.modules[name] is old, "as before"
        wait.unlink()
        assert version() == 2
    finally:
        sys.modules.pop(name, None)


def test_a_controller_ends_on_a_thread_of_its_own(monkeypatch):
    monkeypatch.setattr(plugin_threads, "_RELEASE_SECONDS", 0.05)
    threads, said = [], []

    class Opens:
        def deactivate(self):
            threads.append(threading.current_thread().name)
            raise SystemExit("odd")

        def __del__(self):
            threads.append(threading.current_thread().name)

    assert end("it", Opens().deactivate, said.append).wait(DEADLINE)
    wait_for(lambda: len(threads) == 2)
    assert threads == 2 * ["end of controller 'it'"]
    assert "controller 'it' fails to deactivate: SystemExit: odd" in said[0]
