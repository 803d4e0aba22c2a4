# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Repairs that the set-up makes in .venv."""

import subprocess

import environment
import places
import pytest


@pytest.fixture
def venv(tmp_path, monkeypatch):
    monkeypatch.setattr(places, "VENV", tmp_path)
    return tmp_path


def test_packages_cut_off_while_they_were_installed_are_forgotten(venv):
    site = venv / "lib" / "python3.12" / "site-packages"
    for folder in ("whole-1.dist-info", "half-2.dist-info", "~eplaced-3.dist-info", "whole", "half"):
        (site / folder).mkdir(parents=True)
        (site / folder / "METADATA").touch()
    (site / "whole-1.dist-info" / "INSTALLER").write_text("pip\n")
    environment.remove_half_installed()
    assert {path.name for path in site.iterdir()} == {"whole-1.dist-info", "whole", "half"}


def test_include_folders_of_the_machine_that_built_the_wheels_are_corrected(venv, monkeypatch):
    monkeypatch.setattr(environment, "ask", lambda *_: ["/usr/include/python3.11", "/here/numpy/_core/include"])
    path = venv / "share" / "a_msgs" / "cmake" / "export_a_msgs__rosidl_generator_pyExport.cmake"
    path.parent.mkdir(parents=True)
    line = 'INTERFACE_INCLUDE_DIRECTORIES "{};{}"\n'
    path.write_text(line.format("/opt/python/cp311-cp311/include/python3.11",
                                "/opt/python/cp311-cp311/lib/python3.11/site-packages/numpy/_core/include"))
    corrected = line.format("/usr/include/python3.11", "/here/numpy/_core/include")
    environment.correct_include_folders()
    assert path.read_text() == corrected
    environment.correct_include_folders()
    assert path.read_text() == corrected


@pytest.mark.parametrize("numpy, pin", [("1.26.4", "2.7.0"), ("2.3.1", "4.1.0")])
@pytest.mark.parametrize("names", [("run", "test"), ("lock",)])
def test_beside_ros_its_own_numpy_is_kept(monkeypatch, names, numpy, pin):
    monkeypatch.setattr(places, "DISTRO", "jazzy")
    monkeypatch.setattr(environment, "ask", lambda *_: numpy)
    lines = environment.pinned(*names).splitlines()
    assert f"numpy=={numpy}" in lines and f"pin=={pin}" in lines
    assert len(lines) == len(environment.read(*names).splitlines())


@pytest.mark.parametrize("shell", ["sh", "bash"])
def test_sourcing_twice_adds_nothing_twice(venv, monkeypatch, shell):
    monkeypatch.setattr(places, "DISTRO", "")
    environment.write_local_setup()
    script = f". {venv}/local_setup.{shell}; "
    once, twice = (subprocess.run([shell, "-c", script * times + "echo $PATH; echo $AMENT_PREFIX_PATH"],
                                  env={"PATH": "/usr/bin:/bin", "AMENT_PREFIX_PATH": "/other"}, text=True, check=True,
                                  stdout=subprocess.PIPE).stdout for times in (1, 2))
    path, prefixes = once.split()
    assert once == twice
    assert path.endswith(f":{venv}/bin:/usr/bin:/bin") and prefixes == f"{venv}:/other"


def test_what_is_asked_for_is_installed_beside_what_the_demo_needs():
    def files(*purposes):
        return {step.stamp.stem.removeprefix("packages_") for step in environment.steps(purposes)} - {"made"}

    assert files() == {"run"}
    assert files("test", "docs") == {"run", "mujoco", "cluster", "learn", "test", "docs"}
    stamps = {step.stamp.name: step.key for step in environment.steps(["test"])}
    assert stamps.items() >= {step.stamp.name: step.key for step in environment.steps()}.items()
