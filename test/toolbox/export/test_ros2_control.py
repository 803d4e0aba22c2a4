# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The package for ros2_control: what is written, and, where ros2_control is installed, that it builds and runs."""

import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
import yaml

from robodyn_ros import InputError, Robot
from robodyn_ros.actuation.configuration import HardwareSettings
from robodyn_ros.commands.command_line import main
from robodyn_ros.control.plugins.registry import make_controller
from robodyn_ros.description.resources import actuators_file, robot_file
from robodyn_ros.toolbox.export import ros2_control_package, write_new

HAS_ROS2_CONTROL = any(os.path.isdir(os.path.join(prefix, "share", "controller_interface"))
                       for prefix in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep))


def package(name, robot="scara", **options):
    robot = Robot.from_urdf(robot_file(robot))
    return ros2_control_package(make_controller(name, robot), name, **options)


@pytest.mark.parametrize("name", ["computed_torque", "force", "gravity_compensation", "damping"])
def test_a_package_is_complete(name, tmp_path):
    files = package(name)
    top = f"scara_{name}_controller"
    assert not [path for path, text in files.items() if re.search("@[A-Za-z_]+@", text)]
    assert ElementTree.fromstring(files[f"{top}/package.xml"]).findtext("name") == top
    plugin = ElementTree.fromstring(files[f"{top}/{top}.xml"]).find("class")
    assert plugin.get("name") == f"{top}/Controller" and f"{top}::Controller, controller" in files[
        f"{top}/src/controller.cpp"]
    interface = "ControllerInterface" if name in ("gravity_compensation", "damping") else "ChainableControllerInterface"
    assert plugin.get("base_class_type") == f"controller_interface::{interface}"
    for source in re.findall(r"src/\w+\.c\b", files[f"{top}/CMakeLists.txt"]):
        assert f"{top}/{source}" in files
    tree = yaml.safe_load(files[f"{top}/src/parameters.yaml"])[top]
    law = make_controller(name, Robot.from_urdf(robot_file("scara")))
    for row in law.parameters.flat(law.robot):
        if row.name.startswith("gains."):
            leaf = tree
            for part in row.name.split("."):
                leaf = leaf[part]
            assert leaf["default_value"] == row.value and leaf["validation"]["bounds<>"] == [row.minimum, row.maximum]
            assert row.unit in leaf["description"]
    assert ("joint_trajectory" in files[f"{top}/README.md"]) == (law.follows is not None)
    if law.follows is not None:  # also of laws of the tip link: for joints beside its chain
        for field in "qva":
            assert f"std::copy_n(reference_.{field}, N, reference.{field});" in files[f"{top}/src/controller.cpp"]
    if shutil.which("gcc"):
        write_new(tmp_path / "out", files)
        for file in sorted((tmp_path / "out" / top / "src").glob("*.c")):
            subprocess.run(["gcc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-c", str(file), "-o",
                            str(tmp_path / "x.o")], check=True)


def test_voltage_needs_motors(tmp_path, monkeypatch, capsys):
    robot = Robot.from_urdf(robot_file("planar_2r"))
    motors = HardwareSettings.from_yaml(actuators_file("hardware_dc_motors")).joint_actuators(robot.model)
    files = package("pd", "planar_2r", actuators=motors)
    tree = yaml.safe_load(files["planar_2r_pd_controller/src/parameters.yaml"])["planar_2r_pd_controller"]
    assert tree["command_interface"]["validation"]["one_of<>"] == [["effort", "voltage"]]
    assert "planar_2r_voltage(effort" in files["planar_2r_pd_controller/src/controller.cpp"]
    ideal = type(motors).ideal_sources(2)
    with pytest.raises(InputError, match="expected a motor for every joint.*'joint1', 'joint2'"):
        package("pd", "planar_2r", actuators=ideal)
    monkeypatch.chdir(tmp_path)
    for words, message in ((["--function", "gravity", "--to", "ros2_control"], "--to ros2_control has no effect"),
                           (["--plant", "--delay", "2"], "--delay has no effect without a law"),
                           (["--plant", "--period", "0.001"], "--period has no effect without a law"),
                           (["pd", "--to", "ros2_control", "--precision", "float"], "--precision float has no effect"),
                           (["pd", "--to", "ros2_control", "--output", "."], "'.' exists")):
        assert main(["export", *words, "--robot", "planar_2r"]) != 0
        error = capsys.readouterr().err
        assert message in error and error.count("\n") == 1, error
    assert not list(tmp_path.iterdir())
    assert main(["export", "pd", "--robot", "planar_2r", "--to", "ros2_control", "--output", "out"]) == 0
    assert (tmp_path / "out" / "planar_2r_pd_controller" / "package.xml").exists()


@pytest.mark.long
@pytest.mark.skipif(not HAS_ROS2_CONTROL, reason="ros2_control is not installed")
@pytest.mark.parametrize("name", ["computed_torque", "operational_space", "damping"])
def test_it_builds_without_warnings_and_updates_without_allocation(name, tmp_path):
    write_new(tmp_path / "src", package(name))
    colcon = [sys.executable, "-c", "import sys; from colcon_core.command import main; sys.exit(main())"]
    built = subprocess.run([*colcon, "build"], cwd=tmp_path, capture_output=True, text=True)
    assert built.returncode == 0 and "warning:" not in built.stderr, built.stderr
    tested = subprocess.run([*colcon, "test", "--return-code-on-test-failure"], cwd=tmp_path, capture_output=True,
                            text=True)
    assert tested.returncode == 0, tested.stdout + tested.stderr


def test_gains_are_those_for_the_delay(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for output, words in (("prompt", ()), ("late", ("--delay", "3"))):
        assert main(["export", "pd", "--robot", "planar_2r", "--to", "ros2_control", "--output", output, *words]) == 0
    top = "planar_2r_pd_controller"
    for code in (f"{top}/src/planar_2r_pd.c", f"{top}/src/planar_2r_damping.c"):
        robot, late = Robot.from_urdf(robot_file("planar_2r")), Path("late", code).read_text()
        gains = make_controller(code[len(f"{top}/src/planar_2r_"):-2], robot.with_timing(0.002, 3)).parameters.d
        assert all(repr(float(gain)) in late for gain in gains) and late != Path("prompt", code).read_text()
    assert "a delay of 3 periods" in Path("late", top, "README.md").read_text()
