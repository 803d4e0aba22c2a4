# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Nodes as processes: what they print is kept whole."""

from robodyn_ros.commands.processes import NodeProcess

LINES = 20_000


def test_a_process_prints_while_its_output_is_read():
    program = f"for number in range({LINES}): print(number, flush=True)"
    with NodeProcess("printer", command=("-c", program)) as process:
        while process.running():
            process.output()
        assert process._process.wait(60.0) == 0
        assert process.output().split() == [str(number) for number in range(LINES)]
