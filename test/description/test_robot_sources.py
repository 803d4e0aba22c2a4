# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Robots from xacro files with arguments, and of the package robot_descriptions."""

import sys
from pathlib import Path

import pytest

from robodyn_ros import DescriptionError, DescriptionWarning, InputError, Robot
from robodyn_ros.commands.command_line import main
from robodyn_ros.commands.simulation_setup import SimulationSettings, set_up
from robodyn_ros.description.mesh_files import find_mesh
from robodyn_ros.description.resources import robot_file
from robodyn_ros.description.robot_sources import mesh_folder, package_robot

XACRO = 'xmlns:xacro="http://www.ros.org/wiki/xacro"'
LINK = f"""<robot {XACRO}><xacro:macro name="body" params="name mass">
  <link name="${{name}}"><inertial><mass value="${{mass}}"/>
    <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>
    <visual><geometry><mesh filename="package://my_arm/meshes/body.stl"/></geometry></visual>
    <collision><geometry><mesh filename="package://elsewhere/body.stl"/></geometry></collision></link>
</xacro:macro><xacro:arg name="mass" default="2"/></robot>"""
ARM = f"""<robot name="my_arm" {XACRO}>
  <xacro:include filename="body.xacro"/>
  <xacro:include filename="$(find my_arm)/urdf/empty.xacro"/>
  <xacro:arg name="long" default="false"/>
  <link name="base"/>
  <xacro:body name="arm" mass="$(arg mass)"/>
  <joint name="turn" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="1 0 0"/></joint>
  <xacro:if value="$(arg long)"><xacro:body name="tool" mass="1"/>
    <joint name="bend" type="continuous"><parent link="arm"/><child link="tool"/><origin xyz="0 0 1"/>
    <axis xyz="1 0 0"/></joint></xacro:if>
</robot>"""


@pytest.fixture
def arm(tmp_path, monkeypatch):
    """A package with a xacro file that includes others."""
    pytest.importorskip("xacrodoc", reason="xacrodoc is not installed: make setup")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "my_arm"
    (folder / "urdf").mkdir(parents=True)
    (folder / "package.xml").write_text('<package format="3"><name>my_arm</name></package>')
    (folder / "urdf" / "body.xacro").write_text(LINK)
    (folder / "urdf" / "empty.xacro").write_text(f"<robot {XACRO}/>")
    file = folder / "urdf" / "my arm.urdf.xacro"
    file.write_text(ARM)
    return file


def test_a_xacro_file_is_expanded_with_its_arguments(arm):
    assert Robot.from_urdf(robot_file(arm)).joint_names == ("turn",)
    robot = Robot.from_urdf(robot_file(f"{arm} long:=true mass:=3.5"))
    assert robot.joint_names == ("turn", "bend")
    assert [joint.inertia.mass for joint in robot.model.joints] == [3.5, 1.0]
    assert Robot.from_urdf(f"{arm} long:=true").n == 2 and Robot.from_urdf(arm).n == 1
    assert set_up(SimulationSettings(f"{arm} long:=true")).robot_file == robot_file(f"{arm} long:=true")


def test_the_same_text_has_the_same_file_and_meshes_keep_their_packages(arm):
    file = robot_file(arm)
    assert file == robot_file(f"{arm} long:=false") != robot_file(f"{arm} long:=true")
    assert file.name.startswith("my arm-") and len(list(file.parent.glob("*.urdf"))) == 2
    text = file.read_text()
    mesh, name = arm.parents[1] / "meshes" / "body.stl", "package://my_arm/meshes/body.stl"
    assert f'"{name}"' in text  # RViz on another machine can resolve it, and here it is found by the file's own folder
    mesh.parent.mkdir(exist_ok=True)
    mesh.touch()
    assert find_mesh(name, mesh_folder(file)) == mesh and mesh_folder(arm) == arm.parent
    assert '"package://elsewhere/body.stl"' in text  # not found, and needed by views alone


def test_warnings_name_the_file_and_the_values_that_were_given(arm):
    """Messages name the source, not the expanded file in the cache."""
    arm.write_text(arm.read_text().replace("<axis", "<axle/><axis", 1))
    with pytest.warns(DescriptionWarning) as caught:
        Robot.from_urdf(f"{arm} long:=true")
    told = [str(warning.message) for warning in caught]
    assert told and all(text.startswith(f"{arm} long:=true, <") for text in told), told


def test_check_takes_arguments(arm, capsys):
    assert main(["check", f"{arm} long:=true"]) == 0
    assert "bend (continuous) → tool" in capsys.readouterr().out


def test_what_cannot_be_expanded_is_one_error(arm, monkeypatch):
    with pytest.raises(InputError, match="unknown xacro argument 'lang': known are long, mass$"):
        robot_file(f"{arm} lang:=true")
    with pytest.raises(InputError, match=r"arguments \(long\) need a xacro file"):
        robot_file(f"{robot_file('arm6')} long:=true")
    with pytest.raises(DescriptionError, match="unknown xacro argument 'lang'"):
        Robot.from_urdf(f"{arm} lang:=true")
    (arm.parent / "empty.xacro").write_text(f"<robot {XACRO}><link name='${{nothing}}'/></robot>")
    with pytest.raises(InputError, match=r"xacro cannot expand it: .*nothing"):
        robot_file(arm)
    (bare := arm.parent / "bare.xacro").write_text(
        f"<robot {XACRO}><xacro:arg name='a' default='1'/><link name='$(arg name)'/></robot>")
    with pytest.raises(InputError, match=r"its argument 'name' has no value: .* \"\S.*bare\.xacro a:=2 name:=VALUE\"$"):
        robot_file(f"{bare} a:=2")
    monkeypatch.setitem(sys.modules, "xacrodoc", None)
    with pytest.raises(InputError, match=r"xacro files need xacrodoc, .*pip install xacrodoc"):
        robot_file(arm)


def package(folder, name, **files):
    """Write a package with xacro files that define macros."""
    folder.mkdir(parents=True)
    (folder / "package.xml").write_text(f'<package format="3"><name>{name}</name></package>')
    for file, text in files.items():
        (folder / f"{file}.xacro").write_text(text)
    return folder


TOOL = f'<robot {XACRO}><xacro:macro name="tool" params=""><link name="tool"/></xacro:macro></robot>'
WITH_TOOL = f"""<robot name="r" {XACRO}><xacro:include filename="$(find tools)/tool.xacro"/><xacro:tool/></robot>"""


@pytest.mark.parametrize(("arm_folder", "tools_folder", "path"), [
    ("ws/arm", "ws/tool_folder", ""),                                 # siblings
    ("ws/src/makers/arm", "ws/src/others/grippers/tools", ""),        # in one workspace
    ("here/arm", "there/deep/tools", "there"),                        # by ROS_PACKAGE_PATH
    ("here/arm", "there/deep/tools", "nowhere:there/deep/tools"),
])
def test_packages_are_found_beside_the_file_and_in_ros_package_path(arm, tmp_path, monkeypatch, arm_folder,
                                                                    tools_folder, path):
    monkeypatch.setenv("ROS_PACKAGE_PATH", ":".join(str(tmp_path / each) for each in path.split(":") if path))
    package(tmp_path / tools_folder, "tools", tool=TOOL)
    file = package(tmp_path / arm_folder, "arm", arm=WITH_TOOL) / "arm.xacro"
    assert 'link name="tool"' in robot_file(file).read_text()


def test_a_package_that_is_not_found_is_one_line_with_the_ways_to_name_it(arm, tmp_path, monkeypatch):
    monkeypatch.delenv("ROS_PACKAGE_PATH", raising=False)
    package(tmp_path / "there" / "tools", "tools", tool=TOOL)
    file = package(tmp_path / "here" / "arm", "arm", arm=WITH_TOOL) / "arm.xacro"
    with pytest.raises(InputError) as refusal:
        robot_file(file)
    message = str(refusal.value)
    assert "it needs the package 'tools', which was not found" in message and "\n" not in message
    assert "beside" in message and "ROS_PACKAGE_PATH" in message and "source a workspace" in message


@pytest.fixture
def packages(tmp_path, monkeypatch):
    """A package robot_descriptions whose robots need no network."""
    folder = tmp_path / "site" / "robot_descriptions"
    folder.mkdir(parents=True)
    for name in [name for name in sys.modules if name.partition(".")[0] == "robot_descriptions"]:
        monkeypatch.delitem(sys.modules, name)
    for name, text in {"__init__": "", "planar_description": f"URDF_PATH = {str(robot_file('planar_2r'))!r}",
                       "hand_mj_description": "MJCF_PATH = 'hand.xml'", "duck_description": "DUCK = 1",
                       "far_description": "raise OSError('no route to host')"}.items():
        (folder / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(folder.parent)
    yield folder
    for name in [name for name in sys.modules if name.partition(".")[0] == "robot_descriptions"]:
        del sys.modules[name]


def test_a_robot_of_the_package_by_name(packages):
    assert robot_file("planar_description") == robot_file("planar_2r")
    assert Path(set_up(SimulationSettings("planar_description")).values["robot"]) == robot_file("planar_2r")


def test_one_whose_source_is_a_xacro_file(packages, arm):
    (packages / "arm_description.py").write_text(f"XACRO_PATH = {str(arm)!r}\nXACRO_ARGS = {{'mass': '7'}}\n"
                                                 f"XACRO_PACKAGE_PATHS = {{'elsewhere': '/there'}}")
    robot = Robot.from_urdf(robot_file("arm_description long:=true"))
    assert robot.n == 2 and robot.model.joints[0].inertia.mass == 7.0
    assert '"file:///there/body.stl"' in robot.model.description


@pytest.mark.parametrize(("name", "message"), [
    ("planer_description", "no robot 'planer_description' in the package robot_descriptions: did you mean planar_desc"),
    ("zzz_description", "in the package robot_descriptions: it has 3 others"),
    ("far_description", "cannot download it .OSError: no route to host.: check the network"),
    ("duck_description", "has no URDF; choose another"),
    ("planar_description a:=1", "is a URDF file and takes no arguments, received a"),
])
def test_what_the_package_does_not_have_is_one_error(packages, name, message):
    with pytest.raises(InputError, match=message):
        robot_file(name)


def test_without_the_package_the_message_says_how_to_get_it(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "robot_descriptions", None)
    assert main(["check", "panda_description"]) == 2
    assert "pip install robot_descriptions xacrodoc" in capsys.readouterr().err
    with pytest.raises(InputError):
        package_robot("panda_description", {})
