# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Judges nodes in real time beside what the machine does to another process that needs as much of it."""

import contextlib
from pathlib import Path

import pytest

from bench.attack.machine import MachineWatch
from robodyn_ros.base.timing import waiting_time_of

RUNS, LATE = 5, 0.01
"""Runs of a test on a busy machine, and how late such a machine lets that process work [s]."""
STARVED = 0.05
"""How long a thread of a node under test waits for a processor on such a machine in a run [s]."""
WORK = 0.0003
"""What that process computes after each sleep of 1 ms, about as much as a node [s]."""


def waits(nodes):
    """Time that each thread of some processes has waited for a processor so far, by its path below /proc [s]."""
    tasks = [task for node in nodes for task in Path(f"/proc/{node.pid}/task").glob("*")]
    return {task: waiting_time_of(str(task.relative_to("/proc"))) for task in tasks}


def hold(run, condition, nodes=()):
    """Assert that a condition holds for a run, or for a later one if the machine held up the nodes or another process.

    Args:
        run: Returns what the condition is asked about, or fails by an assertion; may be called again.
        condition: Returns whether it holds.
        nodes: Processes of the nodes under test.
    """
    with contextlib.closing(MachineWatch(work=WORK)) as machine:
        for _ in range(RUNS):
            machine.worst, before = 0.0, waits(nodes)
            try:
                result = run()
                if condition(result):
                    return
            except AssertionError as error:
                result = error
            waited = max((time - before.get(task, 0.0) for task, time in waits(nodes).items()), default=0.0)
            assert all(node.running() for node in nodes), result
            assert machine.worst > LATE or waited > STARVED, result
    assert not isinstance(result, AssertionError), result
    pytest.skip(f"the machine held up the nodes, or another process for {1e3 * LATE:g} ms, in each of {RUNS} runs")
