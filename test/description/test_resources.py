# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Robots, parameters and launch files are found in a source tree and where they are installed."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from robodyn_ros import DescriptionWarning, Robot
from robodyn_ros.base.errors import InputError
from robodyn_ros.description import resources

PACKAGE = Path(resources.__file__).parents[1]


def test_the_source_tree_comes_first():
    assert resources.share_directory() == PACKAGE.parent
    assert resources.shipped_robots() == ("arm6", "arm7", "planar_2r", "scara", "tx40")


def test_a_robot_by_name_and_by_path(tmp_path, monkeypatch):
    assert resources.robot_file("arm6") == PACKAGE.parent / "urdf" / "arm6.urdf"
    own = tmp_path / "own.urdf"
    own.write_text("<robot/>")
    assert resources.robot_file(own) == own
    assert resources.robot_file(str(own)) == own
    monkeypatch.chdir(tmp_path)
    assert resources.robot_file("own.urdf") == Path("own.urdf")


@pytest.mark.parametrize("name", ["arm8", "", "arm6.urdf", "nowhere/arm6", "../urdf/arm6"])
def test_a_robot_that_is_neither(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=f"no robot '{re.escape(name)}'") as caught:
        resources.robot_file(name)
    assert "arm6, arm7, planar_2r, scara" in str(caught.value)
    assert str(tmp_path) in str(caught.value)


def test_actuators_by_name_and_by_path(tmp_path, monkeypatch):
    assert resources.actuators_file("hardware_dc_motors") == PACKAGE.parent / "config" / "hardware_dc_motors.yaml"
    own = tmp_path / "own.yaml"
    own.write_text("joints: {}")
    assert resources.actuators_file(str(own)) == own
    monkeypatch.chdir(tmp_path)
    assert resources.actuators_file("own.yaml") == Path("own.yaml")
    for missing in ("other.yaml", "nowhere/other", "other", "simulation"):
        with pytest.raises(InputError, match=f"actuators: '{missing}' is neither a file .looked for "
                           f"{tmp_path / missing}. nor one that comes with robodyn_ros .hardware_dc_motors, "
                           "hardware_elastic_arm7, tx40.; "):
            resources.actuators_file(missing)


def test_other_files():
    with pytest.raises(InputError, match="no file 'missing.yaml' in .*config"):
        resources.config_file("missing.yaml")
    with pytest.raises(InputError, match="no file 'missing.py' in .*launch"):
        resources.launch_file("missing.py")


def install(prefix: Path) -> Path:
    """A prefix as colcon makes it; returns its share directory."""
    share = prefix / "share" / "robodyn_ros"
    shutil.copytree(PACKAGE.parent / "urdf", share / "urdf")
    marker = prefix / "share" / "ament_index" / "resource_index" / "packages"
    marker.mkdir(parents=True)
    (marker / "robodyn_ros").touch()
    return share


def share_as_seen_from(library: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Runs ``share_directory`` of a copy of the module that lies in ``library``."""
    package = library / "robodyn_ros"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    for room in ("base", "description"):
        shutil.copytree(PACKAGE / room, package / room, ignore=shutil.ignore_patterns("__pycache__"))
    code = "from robodyn_ros.description.resources import share_directory; print(share_directory())"
    # -P keeps the working directory out of the way: there the source tree would be found
    return subprocess.run(
        [sys.executable, "-P", "-c", code],
        env={"PYTHONPATH": str(library), **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_installed_in_a_prefix(tmp_path):
    share = install(tmp_path / "install" / "robodyn_ros")
    library = tmp_path / "install" / "robodyn_ros" / "lib" / "python3.11" / "site-packages"
    assert Path(share_as_seen_from(library, {}).stdout.strip()) == share


def test_installed_in_a_prefix_of_the_ament_index(tmp_path):
    share = install(tmp_path / "prefix")
    paths = f"/nowhere:{tmp_path / 'prefix'}"
    assert Path(share_as_seen_from(tmp_path / "library", {"AMENT_PREFIX_PATH": paths}).stdout.strip()) == share


def test_not_found(tmp_path):
    seen = share_as_seen_from(tmp_path / "library", {"AMENT_PREFIX_PATH": "/nowhere"})
    assert seen.returncode != 0
    assert "were not found" in seen.stderr
    assert "/nowhere/share/robodyn_ros" in seen.stderr
    assert "setup.bash" in seen.stderr


def test_mjcf_files_become_urdf_files(tmp_path, monkeypatch):
    pytest.importorskip("mujoco", reason="MuJoCo is not installed: pip install 'robodyn_ros[mujoco]'")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    arm = tmp_path / "arm.xml"
    arm.write_text("<mujoco><option gravity='0 0 0'/><worldbody><body name='b' gravcomp='1'><joint name='j'/>"
                   "<geom size='0.1'/></body></worldbody></mujoco>")
    with pytest.warns(DescriptionWarning) as caught:
        file = resources.robot_file(arm)
    assert file.suffix == ".urdf" and tmp_path in file.parents
    assert Robot.from_urdf(file).joint_names == ("j",)
    told = "\n".join(str(warning.message) for warning in caught)
    assert "gravcomp of b does not act here" in told and f"{arm}: its gravity is [0.0, 0.0, 0.0]" in told
    with pytest.raises(InputError, match="arguments .* need a xacro file"):
        resources.robot_file(f"{arm} gripper:=true")
    with pytest.warns(DescriptionWarning, match="gravcomp of b"):
        assert Robot.from_mjcf(arm).model.gravity.tolist() == [0.0, 0.0, 0.0]
    arm.write_text("<robot name='r'/>")  # a URDF may be called .xml
    assert resources.robot_file(arm) == arm
