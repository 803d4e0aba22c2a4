# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""A package written by new-controller: installs, passes its test and lint, and its name is that of a controller."""

import subprocess
import sys

import pytest

from robodyn_ros.commands.command_line import main


@pytest.mark.long
def test_the_package_installs_passes_its_test_and_is_found_by_name(tmp_path, monkeypatch):
    assert main(["new-controller", "my_first_law", "--folder", str(tmp_path)]) == 0
    package, site = tmp_path / "my_first_law", tmp_path / "site"
    subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--no-build-isolation", "--no-deps", "--no-index",
                    "--target", site, package], check=True, capture_output=True, text=True)
    monkeypatch.setenv("PYTHONPATH", str(site), prepend=":")
    tests = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test"], cwd=package,
                           capture_output=True, text=True, check=False)
    assert tests.returncode == 0, tests.stdout + tests.stderr
    lint = subprocess.run(["ruff", "check", "--select", "E,F,W,I,UP,B,NPY", "--line-length", "120", package],
                          capture_output=True, text=True, check=False)
    assert lint.returncode == 0, lint.stdout


@pytest.mark.parametrize("name, message", [
    ("pd", "installed already"), ("json", "a module 'json'"), ("My Law", "received 'My Law'"), ("class", "'class'"),
    ("../up", "received '../up'"), ("none", "the class 'None'"), ("true", "the class 'True'"),
    ("law", "the class 'Law'"), ("gains", "the class 'Gains'"), ("joint_reference", "the class 'JointReference'"),
    ("_", "received '_'"),
])
def test_a_name_that_cannot_be_or_is_taken_is_refused(name, message, tmp_path, capsys):
    assert main(["new-controller", name, "--folder", str(tmp_path)]) == 2
    assert message in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_folder_of_nobody_is_one_line(capsys):
    assert main(["new-controller", "my_law", "--folder", "~nosuch/x"]) == 2
    assert "path '~nosuch/x'" in capsys.readouterr().err


def test_what_exists_is_left_alone(tmp_path, capsys):
    (tmp_path / "my_first_law").mkdir()
    assert main(["new-controller", "my_first_law", "--folder", str(tmp_path)]) == 2
    assert "exists already" in capsys.readouterr().err
    assert not list((tmp_path / "my_first_law").iterdir())
