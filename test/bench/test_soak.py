# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""A quarter of a minute of ``make soak``, at 200 Hz."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
soak = pytest.importorskip("bench.soak", reason="needs ROS 2")


def test_a_process_that_only_sleeps_counts_the_periods_that_it_misses():
    with soak.Sleeper(100) as sleeper:
        end = time.monotonic() + 30.0
        while not sleeper.counts[0]:
            assert time.monotonic() < end
            time.sleep(0.05)
        periods, missed, worst = sleeper.counts
    assert periods >= 100 and 0 <= missed < periods and worst > 0.0


@pytest.mark.long
def test_a_quarter_of_a_minute():
    done = subprocess.run([sys.executable, "-m", "bench.soak", "--minutes", "0.2", "--rate", "200"], cwd=ROOT,
                          capture_output=True, text=True, timeout=300.0)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 swaps, " in done.stdout and " 0 unsafe;" in done.stdout and "all goals held" in done.stdout
