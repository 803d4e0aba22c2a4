# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Missing programs are reported with the command that installs them, before anything is downloaded."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import places
import prerequisites
import pytest

ROOT = Path(__file__).parents[2]
CHECKOUT = {"tools", "requirements", "Makefile", "package.xml"}


@pytest.fixture
def checkout(tmp_path):
    """Copy of the files that `make setup` needs, in another folder."""
    return copy_to(tmp_path / "checkout")


def copy_to(folder):
    for name in CHECKOUT:
        (shutil.copytree if (ROOT / name).is_dir() else shutil.copy)(ROOT / name, make(folder) / name)
    return folder


def make(folder):
    folder.mkdir(exist_ok=True)
    return folder


def set_up(folder, **changes):
    """Run set_up.py as from a shell without ROS 2, and return its output."""
    variables = {name: value for name, value in os.environ.items() if name in ("HOME", "PATH", "LD_LIBRARY_PATH")}
    done = subprocess.run([sys.executable, str(folder / "tools" / "set_up.py")], text=True, capture_output=True,
                          env={**variables, "_ROS_WHEELS_BOOTSTRAP_COMPLETE": "1", **changes})
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert not {path.name for path in folder.iterdir()} - CHECKOUT, "something was made"
    return done.stderr


def test_compilers_and_cmake_are_named_with_one_command(checkout, tmp_path):
    said = set_up(checkout, PATH=str(make(tmp_path / "empty")))
    assert "Nothing was downloaded" in said
    assert "sudo apt-get install cmake make gcc g++" in said


def test_a_compiler_that_does_not_exist_is_named(checkout):
    assert "$CXX is 'no-such-compiler'" in set_up(checkout, CXX="no-such-compiler -O2")


@pytest.mark.parametrize("name", ["with space", "with:colon", "it's"])
def test_a_path_that_tools_would_split_is_refused(tmp_path, name):
    assert f"this checkout is in '{tmp_path / name}'" in set_up(copy_to(tmp_path / name))


def test_ros_that_is_named_but_not_there(checkout):
    said = set_up(checkout, ROS_DISTRO="jazzy")
    assert "packages of ROS 2 jazzy" in said and "module rclpy" in said and "unset ROS_DISTRO" in said
    assert "ros-jazzy-trajectory-msgs" in said and "ros-jazzy-rosidl-default-generators" in said
    assert "tf2" not in said and "robodyn-interfaces" not in said


@pytest.mark.parametrize("codename, advice", [("bookworm", "sudo apt-get install python3.11 python3.11-venv"),
                                              ("noble", "sudo apt-get install python3.12 python3.12-venv"),
                                              ("trixie", "sudo apt-get install python3.13 python3.13-venv"),
                                              ("buster", "uv python install 3.12")])
def test_python_without_wheels(tmp_path, codename, advice):
    release = tmp_path / "os-release"
    release.write_text(f"ID=some\nVERSION_CODENAME={codename}\n")
    said = prerequisites.report([prerequisites.wrong_python(release)])
    assert "CPython 3.11 to 3.14" in said and advice in said


def test_only_these_versions_of_python(monkeypatch):
    counts = []
    for newest in ((3, 99), (3, 10)):
        monkeypatch.setattr(prerequisites, "NEWEST", newest)
        counts.append(len(list(prerequisites.platform_problems())))
    assert counts[1] == counts[0] + 1


def test_make_looks_for_the_same_versions():
    oldest, newest = (".".join(map(str, version)) for version in (prerequisites.OLDEST, prerequisites.NEWEST))
    text = (ROOT / "Makefile").read_text()
    assert f"{prerequisites.OLDEST} <= sys.version_info[:2] <= {prerequisites.NEWEST}" in text
    assert f"python{newest} " in text and f" python{oldest})" in text


@pytest.mark.parametrize("function, answer", [("machine", "aarch64"), ("libc_ver", ("glibc", "2.27")),
                                              ("libc_ver", ("", ""))])
def test_machine_without_wheels(monkeypatch, function, answer):
    monkeypatch.setattr(prerequisites.platform, function, lambda: answer)
    [problem] = prerequisites.platform_problems()
    assert "x86_64 with glibc 2.28" in problem.what and "source it" in problem.advice


def test_no_venv_and_no_pip_to_stand_in(monkeypatch):
    monkeypatch.setattr(prerequisites.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(prerequisites, "can_stand_in", lambda: False)
    assert f"python3.{sys.version_info[1]}-venv" in prerequisites.report(list(prerequisites.python_problems()))


def test_no_python_headers(monkeypatch, tmp_path):
    monkeypatch.setattr(prerequisites.sysconfig, "get_path", lambda _: str(tmp_path))
    assert f"python3.{sys.version_info[1]}-dev" in prerequisites.report(list(prerequisites.python_problems()))


def test_nothing_is_missing_here(monkeypatch):
    if not places.VENV.exists():
        pytest.skip("nothing was set up here, so something may be missing")
    assert prerequisites.problems() == []


@pytest.mark.skipif(not shutil.which("make"), reason="make is missing")
def test_make_without_python(checkout):
    done = subprocess.run(["make", "setup", "PYTHON=no-such-python"], cwd=checkout, text=True, capture_output=True)
    assert done.returncode and "sudo apt-get install python3" in done.stdout + done.stderr


@pytest.mark.parametrize("changes, advice", [
    ({"ROBODYN_DISTRO": "humble"}, "PyPI has them for jazzy and kilted"),
    ({"ROBODYN_DISTRO": "jazzy", "ROS_DISTRO": "rolling"}, "ROS_DISTRO says that rolling is sourced"),
])
def test_a_release_without_wheels_or_beside_another_one_is_refused(checkout, changes, advice):
    assert advice in set_up(checkout, **changes)


def test_each_release_has_a_home_of_its_own(checkout):
    code = "import places; print(places.CHOSEN, places.VENV, places.INSTALL, places.NOTES)"
    found = [subprocess.run([sys.executable, "-c", code], cwd=checkout / "tools", text=True, stdout=subprocess.PIPE,
                            check=True, env={**os.environ, "ROS_DISTRO": "", "ROBODYN_DISTRO": distro}).stdout.split()
             for distro in ("", "jazzy", "kilted")]
    here = [str(checkout / name) for name in (".venv", "install", ".setup")]
    assert found == [["jazzy", *here], ["jazzy", *here],
                     ["kilted", *(path.replace(str(checkout), f"{checkout}/.kilted") for path in here)]]


def test_make_knows_the_default_release():
    assert f"filter-out {places.WHEELS[0]}," in (ROOT / "Makefile").read_text()


def test_an_unknown_purpose_is_refused_before_anything_is_made(checkout):
    done = subprocess.run([sys.executable, str(checkout / "tools" / "set_up.py"), "tests"], text=True,
                          capture_output=True)
    assert done.returncode == 2 and "received tests" in done.stderr
    assert {path.name for path in checkout.iterdir()} == CHECKOUT
