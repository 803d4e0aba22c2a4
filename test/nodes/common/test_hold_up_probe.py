# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.
"""A probe tells hold-ups by the computer from what the process does itself."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from robodyn_ros.nodes.common.hold_up_probe import HoldUpProbe

CHILD = """
import sys, time
from robodyn_ros.nodes.common.hold_up_probe import HoldUpProbe
probe = HoldUpProbe()
probe.start()
time.sleep(0.1)
begin = time.monotonic()
print("ready", flush=True)
sys.stdin.readline()
print(probe.held_up(begin, time.monotonic()), flush=True)
time.sleep(0.1)
print(probe.held_up(begin, time.monotonic()), flush=True)
print(probe.held_up(time.monotonic() - 0.05, time.monotonic()), flush=True)
probe.stop()
"""


def test_a_process_that_was_stopped_was_held_up():
    with subprocess.Popen([sys.executable, "-c", CHILD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                          cwd=Path(__file__).parents[3]) as child:
        assert child.stdout.readline() == "ready\n"
        os.kill(child.pid, signal.SIGSTOP)
        time.sleep(0.4)
        os.kill(child.pid, signal.SIGCONT)
        begin = time.monotonic()
        child.stdin.write("\n")
        child.stdin.flush()
        at_once, later, afterwards = (float(child.stdout.readline()) for _ in range(3))
        took = time.monotonic() - begin
    assert at_once >= 0.3 and later >= 0.3
    assert afterwards <= took, "the hold-up does not count in the time after it"


def test_a_law_that_keeps_the_lock_of_python_is_no_hold_up():
    probe = HoldUpProbe()
    probe.start()
    try:
        time.sleep(0.1)
        begin, computed = time.monotonic(), time.process_time()
        while time.monotonic() < begin + 0.3:
            pow(3, 2_000_000) % 7  # one call of C code
        now, computed = time.monotonic(), time.process_time() - computed
        time.sleep(0.1)
        assert probe.held_up(begin, now + 0.1) <= now - begin - computed + 0.2
        assert computed > 0.1
    finally:
        probe.stop()
        probe.stop()


def test_a_probe_that_did_not_start_measures_nothing():
    assert HoldUpProbe().held_up(0.0, time.monotonic()) == 0.0


@pytest.mark.parametrize(("late", "waited", "computed", "found"), [
    (0.5, 0.0, 0.0, 0.5),    # stopped
    (0.5, 0.4, 0.3, 0.4),    # other processes had the processors
    (0.5, 0.0, 0.5, 0.0),    # a thread of the process kept Python's lock
    (0.5, None, 0.1, 0.4),
])
def test_what_the_process_did_itself_does_not_count(late, waited, computed, found):
    assert HoldUpProbe._caused_by_computer(late, waited, computed) == pytest.approx(found)
