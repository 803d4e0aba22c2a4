# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.
"""Modules come from installed packages, PYTHONPATH and --plugins-from; files of the working directory never run."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from shipped import few

from robodyn_ros.base import module_path

SPY = "import os; open(os.environ['SPIED'], 'a').write(__name__ + ' ')\n"
LAW = SPY + "from robodyn_ros.control.laws.pd import PD\nclass Law(PD): pass\n"
SOURCE = Path(module_path.__file__).parents[2]


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Runs a program in a folder that has modules of well-known names and a law; returns its process and what ran."""
    folder = tmp_path / "data"
    folder.mkdir()
    for name in ("yaml", "lxml", "numpy", "scipy", "llvmlite", "mcap", "robodyn_plugins"):
        (folder / f"{name}.py").write_text(SPY)
    (folder / "my_law.py").write_text(LAW)
    monkeypatch.setenv("SPIED", str(tmp_path / "spied"))

    def run(*command, path=(), options=()):
        named = os.pathsep.join([*path, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))])
        done = subprocess.run([*command, *options], cwd=folder, text=True, capture_output=True, timeout=120.0,
                              env={**os.environ, "PYTHONPATH": named})
        spied = tmp_path / "spied"
        ran = spied.read_text().split() if spied.exists() else []
        spied.unlink(missing_ok=True)
        return done, ran

    return run


MODULE = (sys.executable, "-m", "robodyn_ros")
SAFE = (sys.executable, "-P", "-m", "robodyn_ros")
COMPARE = ("compare", "--robot", "planar_2r", "--controllers", "my_law:Law")


@pytest.mark.parametrize(("command", "path"), few([(SAFE, [str(SOURCE)]), (SAFE, [str(SOURCE), ""]),
                                               (MODULE, [str(SOURCE)])], 1))
def test_a_law_in_the_working_directory_is_not_found_unless_it_is_named(run, command, path):
    done, ran = run(*command, *COMPARE, path=path)
    assert done.returncode == 2 and "No module named 'my_law'; name the folder" in done.stderr
    assert not ran  # this package cannot control what Python imports before it starts
    done, ran = run(*command, *COMPARE, path=path, options=["--plugins-from", "."])
    assert done.returncode == 0 and "my_law:Law" in done.stdout, done.stderr
    assert set(ran) == {"my_law"}


def test_started_processes_take_the_folders_that_were_named(run):
    pytest.importorskip("rclpy")
    code = ("from robodyn_ros.nodes.common.child_processes import start_python; import sys; "
            "sys.exit(start_python(['-c', 'from robodyn_ros.base.module_path import set_module_path; '"
            "'set_module_path(); '"
            "'import yaml, my_law; yaml.safe_load']).wait())")
    done, ran = run(sys.executable, "-P", "-c", code, path=[str(SOURCE)])
    assert done.returncode == 1 and "No module named 'my_law'" in done.stderr and not ran
    done, ran = run(sys.executable, "-P", "-c", "from robodyn_ros.base.module_path import add_plugin_folder; "
                    "add_plugin_folder('.'); " + code, path=[str(SOURCE)])
    assert done.returncode == 0 and ran == ["my_law"], done.stderr


def test_a_folder_that_is_none_is_one_line(run):
    for name in ("nowhere", "my_law.py", "~nosuch/x"):
        done, _ = run(*SAFE, *COMPARE, "--plugins-from", name, path=[str(SOURCE)])
        assert done.returncode == 2 and done.stderr.count("\n") == 1 and name in done.stderr


def test_it_knows_which_modules_come_from_a_named_folder(tmp_path, monkeypatch):
    (tmp_path / "my_laws").mkdir()
    (tmp_path / "json.py").touch()
    monkeypatch.setenv(module_path.VARIABLE, "")
    monkeypatch.setattr(sys, "path", list(sys.path))
    assert not module_path.is_from_plugin_folder("my_laws.spring")
    module_path.add_plugin_folder(str(tmp_path))
    assert module_path.is_from_plugin_folder("my_laws.spring")
    others = ("json", "sys", "os.path", "nowhere", "", ".", "a/b", "numpy")
    assert not any(map(module_path.is_from_plugin_folder, others))
