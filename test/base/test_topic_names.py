# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Topic names: each is written in one file."""

import ast
from pathlib import Path

import pytest

from robodyn_ros.base import topic_names

PACKAGE = Path(topic_names.__file__).parents[1]
NAMES = {value for name, value in vars(topic_names).items() if name.isupper()} - {topic_names.ROBOT_DESCRIPTION}


@pytest.mark.lint
def test_names_are_written_nowhere_else():
    """Except names that are also parameters (robot_description) or an output (joint_commands)."""
    written = NAMES | {topic_names.own(name) for name in NAMES if "/" in name.strip("/")}
    found = [f"{path}:{node.lineno}: {node.value}" for room in ("nodes", "toolbox/recording")
             for path in (PACKAGE / room).rglob("*.py") for node in ast.walk(ast.parse(path.read_text()))
             if isinstance(node, ast.Constant) and node.value in written and path.name != "command_output.py"]
    assert not found


def test_a_node_calls_its_own_by_a_tilde():
    assert topic_names.own(topic_names.CONTROLLER_STATE) == "~/controller_state"
    assert topic_names.own(topic_names.DISPLAY_ACTUATOR_STATES) == "~/_display_actuator_states"
