# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""A few starts of ``python -m bench.discovery_time``."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2")


@pytest.mark.long
def test_listeners_hear_both_drivers(second_domain):
    command = ("bench.discovery_time", "--starts", "2", "--second-domain", str(second_domain))
    done = subprocess.run([sys.executable, "-m", *command], capture_output=True, text=True, timeout=200.0,
                          cwd=Path(__file__).parents[2])
    assert done.returncode == 0, done.stderr
    for driver in ("as ROS 2 starts it", "with the profile"):
        assert re.search(rf"^{driver} +\d+\.\d+ +\d+\.\d+ +\d+\.\d+$", done.stdout, re.M), done.stdout
