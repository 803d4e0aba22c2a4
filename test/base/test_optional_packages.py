# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Commands and the library without the libraries of meshes."""

import subprocess
import sys

import pytest

from robodyn_ros.description.resources import robot_file

BARE = """<robot name="bare"><link name="base"/>
<link name="arm"><collision><geometry>{shape}</geometry></collision></link>
<joint name="lift" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/>
<limit lower="-2" upper="2" effort="200" velocity="3"/></joint></robot>"""
MESH = "the shapes of robots need yourdfpy and trimesh, which "


def run_without_meshes(code, *arguments):
    block = "import sys; sys.modules['trimesh'] = sys.modules['yourdfpy'] = None\n"
    return subprocess.run([sys.executable, "-c", block + code, *map(str, arguments)], capture_output=True, text=True)


def robodyn(*arguments):
    return run_without_meshes("from robodyn_ros.commands.command_line import main; sys.exit(main(sys.argv[1:]))",
                              *arguments)


def test_a_check_says_that_sizes_are_not_checked(tmp_path):
    file = tmp_path / "arm.urdf"
    with_inertia = BARE.replace("<link name=\"arm\">", '<link name="arm"><inertial><mass value="1"/><inertia ixx="0.1" '
                                'ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial>')
    file.write_text(with_inertia.format(shape='<mesh filename="arm.stl"/>'))
    found = robodyn("check", file)
    assert f"the sizes of the links are not checked: {MESH}is not installed: pip install yourdfpy trimesh" in (
        found.stdout + found.stderr)
    assert "Traceback" not in found.stderr and "bare: 1 joints" in found.stdout
    assert "not checked" not in robodyn("check", robot_file("scara")).stdout


@pytest.mark.parametrize(("shape", "code", "words"), [
    ('<mesh filename="arm.stl"/>', 2, "error: mesh files need trimesh, which is not installed: pip install trimesh"),
    ('<box size="0.1 0.1 0.5"/>', 0, "")])
def test_estimates_need_them_only_for_meshes(tmp_path, shape, code, words):
    (tmp_path / "arm.stl").write_text("solid\nendsolid\n")
    (tmp_path / "arm.urdf").write_text(BARE.format(shape=shape))
    found = robodyn("complete", tmp_path / "arm.urdf", "--mass", "2", "--output", tmp_path / "full.urdf")
    assert found.returncode == code and words in found.stderr, found.stderr
    assert (tmp_path / "full.urdf").exists() == (code == 0)


def test_shapes_say_how_to_install_them():
    found = run_without_meshes("from robodyn_ros.commands.rviz_configuration import rviz_configuration\n"
                               "from robodyn_ros import Robot\nrviz_configuration(Robot.from_urdf(sys.argv[1]))",
                               robot_file("scara"))
    assert f"RobodynError: {MESH}cannot be imported (" in found.stderr
    assert found.stderr.rstrip().endswith("pip install yourdfpy trimesh")
