# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Real-time settings: what the system refuses is said with the command that allows it; nothing is raised here for real.

Only the processors are set, of a thread that ends.
"""

import errno
import os
import threading

import pytest

from robodyn_ros.nodes.common import real_time

OFF = {parameter.name: parameter.default for parameter in real_time.PARAMETERS}


def applied(**values):
    """Warnings of a thread with these settings, and its processors."""
    warnings, processors = [], []

    def run():
        real_time.apply_to_thread({**OFF, **values}, warnings.append)
        processors.extend(os.sched_getaffinity(0))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return warnings, processors


def test_nothing_is_asked_for_by_default(monkeypatch):
    for name in ("sched_setscheduler", "sched_setaffinity"):
        monkeypatch.setattr(os, name, lambda *_: pytest.fail("asked"))
    monkeypatch.setattr(real_time, "_lock_memory", lambda: pytest.fail("asked"))
    assert applied()[0] == []


def test_the_thread_keeps_to_its_processors_and_the_others_do_not():
    before = os.sched_getaffinity(0)
    last = max(before)
    assert applied(cpu_affinity=[last]) == ([], [last])
    assert os.sched_getaffinity(0) == before


def test_processors_that_are_not_there_are_refused_with_those_that_are():
    (text,), processors = applied(cpu_affinity=[4095])
    assert text.startswith("cpu_affinity: the system refuses processors 4095")
    assert f"this process may use {', '.join(map(str, sorted(processors)))}" in text and "taskset" in text


def test_priority_and_memory_that_are_refused_are_warnings_with_the_command_that_allows_them(monkeypatch):
    asked = []

    def refuse(*arguments):
        asked.append(arguments)
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "sched_setscheduler", refuse)
    monkeypatch.setattr(real_time, "_lock_memory", lambda: "Cannot allocate memory")
    memory, priority = applied(thread_priority=50, lock_memory=True)[0]
    ((who, scheduler, param),) = asked
    assert (who, scheduler, param.sched_priority) == (0, os.SCHED_FIFO, 50)
    assert priority.startswith("thread_priority: the system refuses 50 (Operation not permitted); allow it with: sudo")
    assert "'@realtime - rtprio 99' | sudo tee" in priority
    assert memory.startswith("lock_memory: the system refuses it (Cannot allocate memory)")
    assert "memlock unlimited" in memory


def test_a_process_that_may_not_have_priority_is_told_how_to_allow_it(monkeypatch):
    asked = []

    def refuse(*arguments):
        asked.append(arguments)
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "sched_setscheduler", refuse)
    assert real_time.prioritize_process(40).startswith("Operation not permitted; allow it with: sudo groupadd")
    monkeypatch.setattr(os, "sched_setscheduler", lambda *arguments: asked.append(arguments))
    assert real_time.prioritize_process(40) == ""
    assert {thread for thread, *_ in asked} >= {int(thread) for thread in os.listdir("/proc/self/task")}
    assert {scheduler for _, scheduler, _ in asked} == {os.SCHED_FIFO | os.SCHED_RESET_ON_FORK}
