# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Cost of the recorder for the control loop: hardware and controller with and without it."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from pathlib import Path

from bench.beside_the_nodes import CONDITIONS, HEAD, rows, wait_for_output
from bench.report import Section
from robodyn_ros.commands.processes import NodeProcess
from robodyn_ros.commands.record import END_SECONDS


def recorder(stack: ExitStack) -> NodeProcess:
    """Start ``robodyn record``, as ``simulate --record`` does.

    Raises:
        RobodynError: It does not begin to record in time.
    """
    folder = stack.enter_context(tempfile.TemporaryDirectory())
    process = stack.enter_context(NodeProcess("record", stop_seconds=END_SECONDS, command=[
        "-m", "robodyn_ros", "record", f"--output={Path(folder) / 'run'}"]))
    wait_for_output(process, "recording to")
    return process


RECORDER = Section(
    "Recorder",
    CONDITIONS.format(program="`robodyn record`, which takes every message of every topic and runs with a low "
                              "priority (nice 10)"),
    HEAD,
    lambda: rows(recorder, "with the recorder"),
)
