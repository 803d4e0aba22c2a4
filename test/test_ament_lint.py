# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""ament's checks of licence, style and docstrings pass where they are installed, as in a ROS 2 installation."""

import importlib
from pathlib import Path

import pytest

pytestmark = pytest.mark.lint

ROOT = Path(__file__).parents[1]
FOLDERS = ("robodyn_ros", "robodyn_interfaces", "launch", "test", "tools", "bench", "docs", "examples")
SHIPPED = ("robodyn_ros", "launch", "tools", "bench", "setup.py")
"""Their functions have docstrings, all of them."""
LICENCE = ("# Copyright 2026 robodyn_ros maintainers", "#",
           '# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in ')


@pytest.mark.parametrize(("check", "arguments"), [
    ("ament_copyright", FOLDERS),
    ("ament_flake8", ("--config", "setup.cfg", *FOLDERS, "setup.py")),
    ("ament_pep257", ("--convention", "google", "--add-ignore", "D105", "D107", "D403", "--", *SHIPPED)),
])
def test_check_passes(check, arguments, monkeypatch, capsys):
    pytest.importorskip(check, reason="for a ROS 2 installation: apt-get install ros-$ROS_DISTRO-ament-lint-common")
    monkeypatch.chdir(ROOT)
    assert importlib.import_module(f"{check}.main").main(list(arguments)) == 0, capsys.readouterr()


def test_every_python_file_begins_with_the_licence():
    """Also where ament_copyright is not installed."""
    files = [ROOT / "setup.py", *(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))]
    begin = "\n".join(LICENCE)
    without = [path for path in files if not path.read_text().startswith(begin)]
    assert len(files) > 500 and not without, "the head of another file has the licence to put there"
