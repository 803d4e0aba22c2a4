# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""What a process uses over time, and by how much that grows."""

import subprocess
import sys
from pathlib import Path

import pytest

from bench.process_trace import ProcessSample, at_equal_times, growth


def samples(*memory):
    return [ProcessSample(float(second), value, 20, 5) for second, value in enumerate(memory)]


def test_growth_counts_from_when_the_process_was_settled():
    filling = samples(50.0, 90.0, 100.0, 100.0, 101.0, 103.0, 103.5, 100.0, 100.0, 100.0, 100.0)
    assert growth(filling, "memory", 0.0, 10.0) == pytest.approx(0.03)
    assert growth(filling, "threads", 0.0, 10.0) == 0.0
    assert growth(filling, "memory", 0.0, 100.0) == 0.0, "no sample is late enough"


def test_a_file_that_is_open_for_a_moment_is_no_growth():
    opened = [ProcessSample(float(second), 50.0, descriptors, 5)
              for second, descriptors in enumerate((20, 20, 20, 21, 20, 20, 22, 20, 21, 20))]
    assert growth(opened, "descriptors", 0.0, 9.0) == 0.0
    kept = [*opened, ProcessSample(10.0, 50.0, 21, 5), ProcessSample(11.0, 50.0, 21, 5)]
    assert growth(kept, "descriptors", 0.0, 11.0) == pytest.approx(0.05)


def test_a_buffer_that_is_filled_and_written_is_no_growth():
    assert growth(samples(*(60.0 + second % 5 for second in range(100))), "memory", 0.0, 99.0) == 0.0
    assert growth(samples(*(60.0 + second % 5 + 0.02 * second for second in range(100))), "memory", 0.0, 99.0) > 0.02


def test_values_at_equal_times():
    assert at_equal_times(samples(50.0, 60.0, 70.0), "memory", 0.0, 2.0, 5) == [50.0, 55.0, 60.0, 65.0, 70.0]


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="a process is looked at in /proc")
def test_a_process_is_measured():
    # Another process: this one may give back, in between, what earlier tests have left.
    script = ("import os; print('ready', flush=True); input(); held = bytes(50) * 2**20; file = open(os.devnull);"
              "print('held', flush=True); input()")
    with subprocess.Popen([sys.executable, "-Sc", script], text=True, stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == "ready\n"
        before = ProcessSample.of(process.pid)
        process.stdin.write("\n")
        process.stdin.flush()
        assert process.stdout.readline() == "held\n"
        after = ProcessSample.of(process.pid)
        process.communicate("\n")
    assert process.returncode == 0
    assert after.memory - before.memory == pytest.approx(50.0, abs=1.0)
    assert after.descriptors == before.descriptors + 1 and after.threads == before.threads == 1
