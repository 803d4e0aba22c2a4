# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Restarts after failures, their bound, and the end by a signal, on small programs."""

import contextlib
import os
import signal
import subprocess
import sys
import time

import pytest

from robodyn_ros.commands.supervision import FIRST_DELAY, LONGEST_DELAY, Restarts

SUPERVISOR = """
import sys
from robodyn_ros.commands import supervision
supervision.FIRST_DELAY = {delay}
sys.exit(supervision.supervise(["-c", {program!r}], "the program", {limit}))
"""
SLEEP = "print('runs', __import__('os').getpid(), flush=True); __import__('time').sleep(120)"
END_WITH_PARENT = f"from robodyn_ros.nodes.common.signals import end_with_parent; end_with_parent(); {SLEEP}"
STUCK = ("from robodyn_ros.nodes.common import signals; import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); "
         f"signals.ORPHAN_SECONDS = 0.2; signals.end_with_parent(); {SLEEP}")
"""A program that does not end at SIGTERM."""
DEADLINE = 60.0


def run(program, limit, delay=0.01):
    code = SUPERVISOR.format(delay=delay, program=program, limit=limit)
    return subprocess.Popen([sys.executable, "-c", code], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def test_delays_double_up_to_the_longest():
    restarts = Restarts(8)
    delays = [restarts.after(1) for _ in range(9)]
    assert delays == [min(FIRST_DELAY * 2**k, LONGEST_DELAY) for k in range(8)] + [None]


@pytest.mark.parametrize(("program", "code", "end"), [
    ("raise SystemExit(3)", 3, "exit code 3"),
    ("import os; os.kill(os.getpid(), 9)", 137, "by SIGKILL"),
])
def test_a_failure_is_told_restarted_and_given_up_at_the_bound(program, code, end):
    process = run(f"print('run', flush=True); {program}", limit=2)
    out, err = process.communicate(timeout=DEADLINE)
    assert process.returncode == code and out == "run\n" * 3
    lines = [line for line in err.splitlines() if line.startswith("robodyn: error: the program ended ")]
    assert len(lines) == 3 and all(end in line for line in lines), err
    assert "; restart 1 of 2 in 0.01 s" in lines[0] and "; restart 2 of 2 in 0.02 s" in lines[1]
    assert "; given up after 2 restarts" in lines[2]


@pytest.mark.parametrize("code", [0, 2])
def test_a_program_that_ends_by_itself_or_refuses_its_arguments_stays_ended(code):
    process = run(f"print('run'); raise SystemExit({code})", limit=5)
    assert process.communicate(timeout=DEADLINE) == ("run\n", "")
    assert process.returncode == code


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_both_and_restarts_nothing(number):
    process = run(SLEEP, limit=5)
    pid = int(process.stdout.readline().split()[1])
    process.send_signal(number)
    assert process.communicate(timeout=DEADLINE) == ("", "robodyn: stopped while starting\n")
    assert process.returncode == 0
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_signal_between_two_runs_ends_the_wait():
    process = run("raise SystemExit(3)", limit=5, delay=600.0)
    assert "restart 1 of 5 in 30 s" in process.stderr.readline()
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=15.0)
    assert process.returncode == 0


@pytest.mark.parametrize("parent", [
    SUPERVISOR.format(delay=0.01, program=END_WITH_PARENT, limit=5),
    SUPERVISOR.format(delay=0.01, program=STUCK, limit=5),
    f"""
from robodyn_ros.commands.processes import NodeProcess
with NodeProcess("hardware", command=("-c", {END_WITH_PARENT!r})) as process:
    while "runs" not in process.output():
        assert process.running(), process.output()
    print(process.output(), flush=True)
    process._process.wait()
"""], ids=["supervisor", "stuck", "node process"])
def test_a_program_ends_with_its_parent_though_that_is_killed(parent):
    process = subprocess.Popen([sys.executable, "-c", parent], text=True, stdout=subprocess.PIPE)
    pid = int(process.stdout.readline().split()[1])
    process.kill()
    end = time.monotonic() + DEADLINE
    with contextlib.suppress(ProcessLookupError):
        while time.monotonic() < end:
            os.kill(pid, 0)
            time.sleep(0.01)
        os.kill(pid, signal.SIGKILL)
        pytest.fail(f"process {pid} runs on without its parent")
    process.communicate()
