# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The workspace's control_msgs leaves the search paths to a real one, whatever is sourced first."""

import os
import shutil
import subprocess

import places
import pytest
import stand_ins
import workspace

WORKSPACE = places.INSTALL


def paths_after(shell, *scripts, begin=""):
    """Entries of the search paths after sourcing scripts in a fresh shell."""
    lines = [f'. "{script}"' for script in scripts]
    environment = {"PATH": os.environ["PATH"], "AMENT_PREFIX_PATH": begin}
    lines.append('echo "$AMENT_PREFIX_PATH|$PYTHONPATH|$LD_LIBRARY_PATH"')
    printed = subprocess.run([shell, "-c", "\n".join(lines)], env=environment, capture_output=True, text=True,
                             check=True)
    assert not printed.stderr, printed.stderr
    return printed.stdout


@pytest.fixture
def real(tmp_path):
    """A prefix with the real package."""
    share = tmp_path / "real" / "share" / "control_msgs"
    share.mkdir(parents=True)
    (share / "package.xml").write_text("<package/>")
    return tmp_path / "real"


@pytest.mark.skipif(places.has_ros_package("control_msgs"), reason="ROS 2 has the real package")
@pytest.mark.parametrize("shell", ["sh", "bash"])
def test_the_workspaces_control_msgs_steps_back_where_a_real_one_is_sourced_earlier(shell, real):
    script = WORKSPACE / f"local_setup.{shell}"
    alone = paths_after(shell, script)
    assert alone.count(str(WORKSPACE / "control_msgs")) >= 3
    beside = paths_after(shell, script, begin=str(real))
    assert str(WORKSPACE / "control_msgs") not in beside
    assert str(WORKSPACE / "robodyn_interfaces") in beside and str(real) in beside
    twice = paths_after(shell, script, script)
    assert twice.count(str(WORKSPACE / "control_msgs")) == alone.count(str(WORKSPACE / "control_msgs"))


def test_a_stand_in_that_is_no_longer_needed_is_removed(tmp_path, monkeypatch):
    install = tmp_path / "install"
    (install / "control_msgs" / "share").mkdir(parents=True)
    for name, value in (("INSTALL", install), ("NOTES", tmp_path), ("has_ros_package", lambda name: True)):
        monkeypatch.setattr(places, name, value)
    assert set(workspace.STAND_INS) == {"control_msgs", "controller_manager_msgs", "pal_statistics_msgs", "tf2_msgs"}
    (step,) = stand_ins.steps()
    assert not step.done()
    step.run()
    assert not (install / "control_msgs").exists() and not stand_ins.steps()


def test_a_new_build_of_a_stand_in_steps_back_again(tmp_path, monkeypatch):
    for name, value in (("INSTALL", tmp_path / "install"), ("NOTES", tmp_path),
                        ("has_ros_package", lambda name: False)):
        monkeypatch.setattr(places, name, value)
    for _ in range(2):
        for name in workspace.STAND_INS:
            shutil.rmtree(tmp_path / "install" / name, ignore_errors=True)
            (tmp_path / "install" / name / "share" / name).mkdir(parents=True)
        assert [step.done() for step in stand_ins.steps()] == [False] * len(workspace.STAND_INS)
        for step in stand_ins.steps():
            step.run()
        assert all(step.done() for step in stand_ins.steps())
        text = (tmp_path / "install" / "control_msgs" / "share" / "control_msgs" / "package.dsv").read_text()
        assert text == "source;share/control_msgs/stand_in.sh\n"
