# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""robodyn complete, and --complete of other commands."""

import re

import pytest
from ros_process import RosProcess

from robodyn_ros import Robot
from robodyn_ros.commands.command_line import main

trimesh = pytest.importorskip("trimesh", reason="trimesh is not installed: make setup")

ARM = """<robot name="bare">
<link name="base"><collision><geometry><mesh filename="foot.stl"/></geometry></collision></link>
<link name="arm"><collision><origin xyz="0 0 0.3"/><geometry><box size="0.1 0.1 0.6"/></geometry></collision></link>
<joint name="lift" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/>
<limit lower="-2" upper="2" effort="200" velocity="3"/></joint></robot>"""


@pytest.fixture
def arm(tmp_path, monkeypatch):
    folder = tmp_path / "robots"
    folder.mkdir()
    trimesh.creation.box([0.2, 0.2, 0.1]).export(folder / "foot.stl")
    (folder / "bare.urdf").write_text(ARM)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return folder / "bare.urdf"


def test_a_file_is_written_and_not_replaced_without_a_word(arm, tmp_path, capsys):
    assert main(["complete", str(arm), "--mass", "10"]) == 0
    out = capsys.readouterr().out
    assert "link arm: 6 kg, from its collision: box, at 1000 kg/m^3" in out
    assert out.endswith("10 kg in all\nwritten: bare_completed.urdf\n")
    completed = tmp_path / "bare_completed.urdf"
    assert str(arm.parent / "foot.stl") in completed.read_text()  # in another folder
    assert Robot.from_urdf(completed).model.joints[0].inertia.mass == pytest.approx(6.0)
    assert main(["complete", str(arm), "--density", "2000"]) == 2
    assert "'bare_completed.urdf' exists: name another --output, or replace it with --force" in capsys.readouterr().err
    assert main(["complete", str(arm), "--density", "2000", "--force"]) == 0
    assert Robot.from_urdf(completed).model.joints[0].inertia.mass == pytest.approx(12.0)
    assert main(["complete", str(arm), "--mass", "10", "--output", str(arm.with_name("other.urdf"))]) == 0
    assert '"foot.stl"' in arm.with_name("other.urdf").read_text()
    assert main(["check", "bare_completed.urdf"]) == 0
    assert "estimated by robodyn complete:\nlink base: from its collision: mesh, at 2000" in capsys.readouterr().out
    assert main(["complete", "arm6"]) == 0
    assert capsys.readouterr().out.startswith("nothing to complete")
    assert not (tmp_path / "arm6_completed.urdf").exists()


@pytest.mark.parametrize(("options", "message"), [
    (["--mass", "0"], "mass: expected a finite number above 0"), (["--mass", "nan"], "mass"),
    (["--density", "-1"], "density"), (["--mass", "x"], "--mass: expected a finite number above 0 .* received 'x'"),
    (["--mass", "1", "--density", "1"], "not allowed with"), ([], "give --mass TOTAL"),
    (["--mass", "3", "--output", "none/x.urdf"], "cannot be written")])
def test_nothing_is_written_where_a_number_is_wrong(arm, tmp_path, capsys, options, message):
    before = sorted(tmp_path.rglob("*.urdf"))
    assert main(["complete", str(arm), *options]) == 2
    error = capsys.readouterr().err
    assert error.startswith("robodyn: error: ") and error.count("\n") == 1
    assert re.search(message, error)
    assert sorted(tmp_path.rglob("*.urdf")) == before


def test_missing_meshes_are_said(arm, tmp_path, capsys):
    (arm.parent / "foot.stl").unlink()
    assert main(["complete", str(arm), "--mass", "10"]) == 2
    assert "line 2, <mesh>" in (error := capsys.readouterr().err) and "foot.stl' was not found" in error
    assert not (tmp_path / "bare_completed.urdf").exists()


def test_other_commands_complete_on_the_fly(arm, capsys):
    assert main(["check", str(arm), "--complete", "mass=10"]) == 0
    out, error = capsys.readouterr()
    assert error == ("robodyn: bare.urdf: inertias of 2 links estimated from their shapes, at 1000 kg/m^3; 10 kg in "
                     "all\n")
    assert "link arm: from its collision: box" in out
    assert main(["compare", "--robot", str(arm), "--complete", "mass=10", "--controllers", "pd"]) == 0
    assert "10 kg in all" in capsys.readouterr().err
    for options, message in ((["--robot", str(arm), "--complete", "mas=3"], "did you mean 'mass'"),
                             (["--complete", "mass=0", "--robot", str(arm)], "above 0")):
        assert main(["compare", *options]) == 2
        assert message in capsys.readouterr().err
    assert main(["identify", "run", "--complete", "mass=3"]) == 2
    assert "give --robot" in capsys.readouterr().err
    assert main(["check", "arm6", "--complete", "auto"]) == 0
    assert "nothing to complete" in capsys.readouterr().err


def test_the_simulation_says_at_its_start_what_was_estimated(arm):
    with RosProcess("simulate", command=("-m", "robodyn_ros", "simulate", "--robot", str(arm), "--complete", "mass=10",
                                         "--controller", "pd_gravity")) as process:
        process.wait_for_output("ready: robot 'bare'")
        assert "bare.urdf: inertias of 2 links estimated from their shapes, at 1000 kg/m^3; 10 kg" in process.output()
        process.stop()
