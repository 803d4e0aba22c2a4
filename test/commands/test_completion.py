# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Shell completion, asked as argcomplete's shell function asks."""

import os
import subprocess
import sys

import pytest


@pytest.mark.parametrize(("line", "found", "others"), [
    ("robodyn comp", {"compare"}, {"check", "--version"}),
    ("robodyn compare --traj", {"--trajectory"}, {"--robot"}),
    ("robodyn swap computed", {"computed_torque", "computed_torque_pid"}, {"pd"}),
    ("robodyn simulate --robot a", {"arm6", "arm7"}, {"scara"}),
    ("robodyn demo --actuators ", {"hardware_dc_motors"}, {"simulation"}),
])
def test_commands_options_and_names_are_completed(line, found, others, tmp_path):
    answer = tmp_path / "answer"
    asked = {"_ARGCOMPLETE": "1", "COMP_LINE": line, "COMP_POINT": str(len(line)), "_ARGCOMPLETE_IFS": "\n",
             "_ARGCOMPLETE_SUPPRESS_SPACE": "1", "_ARGCOMPLETE_STDOUT_FILENAME": str(answer)}
    subprocess.run([sys.executable, "-m", "robodyn_ros"], env={**os.environ, **asked}, cwd=tmp_path, timeout=60)
    words = set(answer.read_text().split("\n"))
    assert found <= words and not others & words
