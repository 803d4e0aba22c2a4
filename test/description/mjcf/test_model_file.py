# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Hostile and broken MJCF files: one line within a second, before MuJoCo reads them."""

import os

import pytest

from robodyn_ros import DescriptionError, InputError, RobodynError, Robot
from robodyn_ros.description.mjcf import model_file

pytest.importorskip("mujoco", reason="MuJoCo is not installed: pip install 'robodyn_ros[mujoco]'")
BODY = "<body><joint/><geom size='1'/></body>"


def refuses(path, message):
    with pytest.raises(DescriptionError, match=message) as caught:
        Robot.from_mjcf(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("text", "message"), [
    ("<mujoco><worldbody>", "malformed XML"),
    ("", "expected an MJCF file"),
    ("no XML", "expected an MJCF file"),
    ("<robot/>", "expected an MJCF file"),
    ("<mujoco><include file='/dev/zero'/></mujoco>", "/dev/zero: expected a regular file"),
    ("<mujoco><include file='pipe'/></mujoco>", "pipe: expected a regular file"),
    ("<mujoco><asset><model file='pipe'/></asset></mujoco>", "pipe: expected a regular file"),
    ("<mujoco><include file='nowhere.xml'/></mujoco>", "nowhere.xml"),
    ("<mujoco><include file='robot.xml'/></mujoco>", "in 200 files"),
    (f"<mujoco><worldbody><replicate count='2000000000'>{BODY}</replicate></worldbody></mujoco>", "100000 elements"),
    (f"<mujoco><worldbody><replicate count='1000'><replicate count='1000'>{BODY}</replicate></replicate></worldbody>"
     "</mujoco>", "100000 elements"),
    ("<mujoco><worldbody><include file='inner.xml'/></worldbody></mujoco>", "100000 elements"),
    ("<mujoco><worldbody>" + "<body>" * 10_000 + "</body>" * 10_000 + "</worldbody></mujoco>", "malformed XML"),
    (f"<mujoco><worldbody>{'<body/>' * 6000}</worldbody></mujoco>", "at most 5000 bodies"),
    ("<mujoco><worldbody><flexcomp name='c' type='grid' count='3 3 1' dim='2' spacing='1 1 1'/></worldbody></mujoco>",
     "flex 'c': a URDF has no word"),
    ("<mujoco><asset><hfield name='h' nrow='60000' ncol='60000' size='1 1 1 1'/></asset></mujoco>",
     "line 1: expected a height field of at most 1000000 points"),
    ("<mujoco><asset><mesh name='m' file='pipe'/></asset><worldbody><body><joint/><geom type='mesh' mesh='m'/></body>"
     "</worldbody></mujoco>", "line 1, 'm': .*pipe: expected a regular file"),
])
def test_a_bad_file_is_one_line(tmp_path, text, message):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "inner.xml").write_text(f"<mujoco><replicate count='9e9'>{BODY}</replicate></mujoco>")
    (tmp_path / "robot.xml").write_text(text)
    refuses(tmp_path / "robot.xml", message)


@pytest.mark.parametrize(("text", "message"), [
    (f"<option gravity='0 0 -1e308'/><worldbody>{BODY}</worldbody>", "gravity, in base axes: expected three times"),
    ("<worldbody><body><joint name='j'/><geom size='1'/></body></worldbody><actuator><motor joint='j' gear='1e200' "
     "armature='1'/></actuator>", "line 1, an? actuator .*gear: expected"),
])
def test_numbers_that_overflow_are_one_line(tmp_path, text, message):
    (tmp_path / "robot.xml").write_text(f"<mujoco>{text}</mujoco>")
    with pytest.raises(RobodynError, match=message) as caught:
        Robot.from_mjcf(tmp_path / "robot.xml")
    assert "\n" not in str(caught.value)


def test_mutated_files_are_sound_or_one_line(tmp_path, monkeypatch):
    monkeypatch.setenv("ROBODYN_CACHE_DIR", str(tmp_path / "cache"))
    from bench.attack.mjcf_files import MutatedMjcf

    files = MutatedMjcf(tmp_path)
    assert {files.fault(2, number) for number in range(80)} == {None, ""}


def test_files_that_no_dynamics_needs_are_not_opened(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "robot.xml").write_text(
        "<mujoco><!-- a -- b --><asset><mesh name='m' file='pipe'/><texture name='t' type='2d' file='pipe'/>"
        "<texture type='skybox' builtin='flat' width='60000' height='60000'/><skin file='pipe'/>"
        "<hfield name='h' file='pipe' size='1 1 1 1'/></asset><worldbody><geom type='hfield' hfield='h'/>"
        "<body name='b'><inertial mass='1' pos='0 0 0' diaginertia='1 1 1'/><joint/><geom type='mesh' mesh='m'/></body>"
        "</worldbody></mujoco>")
    found = model_file.read_mujoco_model(tmp_path / "robot.xml")
    assert found.model.nhfield == found.model.nskin == 0 and found.mesh_files == {"m": tmp_path / "pipe"}


def test_no_such_file(tmp_path):
    refuses(tmp_path / "none.xml", "cannot read '.*none.xml'")
    refuses(tmp_path, "expected an MJCF file")


def test_without_mujoco(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "mujoco", None)
    with pytest.raises(InputError, match="robots in MJCF files need MuJoCo, .*: pip install mujoco"):
        model_file.import_mujoco()
