# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""docs/security.md names a test for each input, and these tests are there; one reader takes data of strangers."""

import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.lint

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "security.md").read_text()
READERS = {
    r"yaml\.(safe_load|load|full_load|unsafe_load)\(": {"commands/rviz_configuration.py"},  # config/ of the package
    r"json\.loads?\(": {"base/bounded_files.py"},
    r"pickle\.loads?\b": {"toolbox/study/cluster.py"},  # on a cluster that the user has named
    r"(?<![\w.])(eval|exec)\(": {"commands/command_line.py"},  # of no text at all
    r"importlib\.import_module\(": {"__init__.py", "commands/command_line.py", "commands/node_commands.py",
                                    "control/plugins/plugin_source.py", "nodes/recorder/definitions.py",
                                    "description/robot_sources.py"},
    r"StreamReader\(": {"toolbox/recording/bag_reader.py"},
    r"MjSpec\.from_(file|string)\(": {"description/mjcf/model_file.py"},
}
"""Ways to take data, or the name of code, and the modules that may do so."""


def rows():
    """The rows of all tables of inputs."""
    section = PAGE[PAGE.index("## What data can do"):PAGE.index("## What is tested")]
    return [line for line in section.splitlines() if line.startswith("| ") and not re.match(r"\| (---|what )", line)]


def test_every_input_names_tests_and_they_are_there():
    assert len(rows()) > 20
    before = ""
    for row in rows():
        names = re.findall(r"`(test/[\w/]+\.py)(?:::(\w+))?`", row.rpartition(" | ")[2])
        assert names or (row.endswith("| the same |") and before), row
        for file, function in names:
            text = (ROOT / file).read_text()
            assert f"def {function}(" in text if function else "def test_" in text, row
        before = row


@pytest.mark.parametrize("pattern", READERS)
def test_one_reader_takes_data_of_strangers(pattern):
    package = ROOT / "robodyn_ros"
    found = {path.relative_to(package).as_posix() for path in package.rglob("*.py")
             if re.search(pattern, re.sub(r"#.*", "", path.read_text()))}
    assert found <= READERS[pattern]
