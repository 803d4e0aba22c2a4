# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Values given to nodes: read as rcl reads each source, and combined so that none is lost."""

import math
import os

import pytest
import rclpy
import yaml
from rclpy.context import Context
from rclpy.node import Node
from ros_process import RosProcess

from robodyn_ros import InputError
from robodyn_ros.commands.law_parameters import parameters_in
from robodyn_ros.commands.simulation_setup import SimulationSettings, set_up
from robodyn_ros.description.resources import config_file, robot_file
from robodyn_ros.nodes.common.given_parameters import COMMAND_LINE, GivenParameters, matches, namespace_rule
from robodyn_ros.nodes.controller.managed_controllers import values_from_files

SHIPPED = str(config_file("simulation.yaml"))
FILE = """
/**/hardware:
  ros__parameters: {a: 1, b: 2.0, c: {d: [1, 2], e.f: "3"}}
cell:
  hardware:
    ros__parameters: {in_cell: true}
/*/hardware:
  ros__parameters: {one_above: .5}
/**:
  ros__parameters:
    a: 7
    folded: >-
      12
    block: |
      12
/cell/**:
  ros__parameters: {h: -.inf, a: 9}
other:
  ros__parameters: {a: 0}
"""
TEXTS = ("yes", "off", "1e3", ".5", "5.", "0x10", "010", "-010", "08", "0o17", "+5", ".inf", "-.INF", "inf", ".NaN",
         "~", "null", "1_000", "1:30", "2001-01-01", "!!str 5", "!!int 5.0", "0x1p3", "infinity", "1e400", "1e-310",
         "'5'",
         '"y"', "a b", "x #y", "x:=y", "99999999999999999999", "9223372036854775807", "[1, 2]", "[1.0, 2.0]",
         "[yes, n]", "['1', two]")


def by_rcl(*arguments):
    """Full name of a node, and the values that rcl gives to it."""
    context = Context()
    rclpy.init(args=["test", "--ros-args", *arguments], context=context)
    node = Node("hardware", context=context, start_parameter_services=False, enable_rosout=False)
    try:
        return node.get_fully_qualified_name(), {name: list(given.value) if hasattr(given.value, "__iter__")
                                                 and not isinstance(given.value, str) else given.value
                                                 for name, given in node._parameter_overrides.items()}
    finally:
        node.destroy_node()
        context.try_shutdown()


def given(*arguments, node="/hardware"):
    values = GivenParameters.from_arguments(["--ros-args", *arguments]).for_node(node)
    return {name: given.value for name, given in values.items()}


def test_each_value_has_the_type_that_rcl_gives_it():
    arguments = [word for index, text in enumerate(TEXTS) for word in ("-p", f"v{index}:={text}")]
    _, expected = by_rcl(*arguments)
    received = given(*arguments)
    for index, text in enumerate(TEXTS):
        value, wanted = received[f"v{index}"], expected[f"v{index}"]
        assert repr(value) == repr(wanted), text


@pytest.mark.parametrize("rules", [(), ("-r", "__ns:=/cell"), ("-r", "__ns:=/x/cell"), ("-r", "__node:=other")])
def test_patterns_and_precedence_are_rcls(tmp_path, rules):
    file = tmp_path / "parameters.yaml"
    file.write_text(FILE)
    arguments = ("--params-file", SHIPPED, "--params-file", str(file), *rules, "-p", "hardware:b:=3.0", "-p", "a:=2",
                 "--", "-p", "z:=1", "--ros-args", "-p", "y:=1")
    name, expected = by_rcl(*arguments)
    assert given(*arguments, node=name) == expected
    assert matches("/**/hardware", "/hardware") and not matches("/*/hardware", "/hardware")


@pytest.mark.parametrize(("text", "value"), [
    ("update_rate:=1000.0", 1000.0), ("update_rate:=abc", "abc"), ("step:=abc", "abc"), ("seed:=1.5", 1.5),
    ("payload.mass:=two", "two"), ("sensing.position_noise:=[0.1, 0.2]", [0.1, 0.2]), ("gravity:=5", 5),
    ("output:=true", True),
])
def test_a_later_value_counts_whatever_its_type(text, value):
    name = text.partition(":=")[0]
    values = GivenParameters.from_arguments(["--ros-args", "--params-file", SHIPPED, "-p", text]).for_node("/hardware")
    assert values[name] == (value, COMMAND_LINE)
    assert values["time_mode"] == ("lockstep", SHIPPED)


def test_values_of_the_command_line_that_do_not_count_are_known(tmp_path):
    file = tmp_path / "parameters.yaml"
    file.write_text("/**/hardware:\n  ros__parameters: {step: 0.002}\n")
    values = GivenParameters.from_arguments(
        ["--ros-args", "-p", "step:=0.001", "-p", "seed:=1", "-p", "hardwre:seed:=2", "--params-file", str(file)])
    assert values.for_node("/hardware")["step"] == (0.002, str(file))
    assert values.outranked("/hardware") == {"step": (0.001, COMMAND_LINE)} and values.outranked("/controller") == {}
    assert values.without_node(["/hardware", "/controller"]) == ["hardwre:seed"]


def test_one_rule_gives_the_namespace():
    assert namespace_rule(["--ros-args", "-r", "__ns:=/a", "-r", "x:__ns:=/b", "-r", "__ns:=/a", "-p", "p:=1"]) == "/a"
    assert namespace_rule(["-r", "__ns:=/a"]) == "" and namespace_rule(["--ros-args", "-r"]) == ""
    assert namespace_rule([]) == "" and GivenParameters.from_arguments([]).for_node("/hardware") == {}
    with pytest.raises(InputError, match="remapping rule '__ns': expected one, received '/a' and '/b'"):
        namespace_rule(["--ros-args", "-r", "__ns:=/a", "--remap", "__ns:=/b"])


def test_hostile_files_are_one_line(tmp_path):
    file = tmp_path / "p.yaml"
    bomb = "a: &a0 {x: 1}\n" + "".join(f"b{i}: &a{i + 1} {{{', '.join(f'k{j}: *a{i}' for j in range(10))}}}\n"
                                        for i in range(12))
    for text in (bomb, "&a {ros__parameters: *a}", "{a: " * 5000 + "1" + "}" * 5000, "\xff\0"):
        file.write_text(text)
        with pytest.raises(InputError) as refusal:
            GivenParameters.from_arguments(["--ros-args", "--params-file", str(file)])
        assert "p.yaml" in str(refusal.value) and "\n" not in str(refusal.value)
    file.unlink()
    os.mkfifo(file)
    with pytest.raises(InputError, match="expected a regular file"):
        GivenParameters.from_arguments(["--ros-args", "--params-file", str(file)])


def test_controllers_take_the_nearest_section_of_the_last_file(tmp_path):
    """The order of precedence for files of ros2_control's spawner."""
    first, second = tmp_path / "first.yaml", tmp_path / "second.yaml"
    first.write_text("""
/**/soft: {ros__parameters: {a: 5}}
/cell/soft: {ros__parameters: {a: 4, b: 4}}
soft: {ros__parameters: {type: robodyn_ros/pd, a: 3, b: 3, c: 3, gains: {joint1: {p: 1e1}}}}
/**:
  ros__parameters: {a: 1, b: 1, c: 1, d: 1, e: 1}
  soft: {ros__parameters: {e: 2}}
  stiff: {ros__parameters: {d: 7}}
/other/soft: {ros__parameters: {a: 9}}
""")
    assert values_from_files("soft", "/cell", [str(first)]) == {
        "a": 5, "b": 4, "c": 3, "d": 1, "e": 2, "gains.joint1.p": 10.0}
    assert values_from_files("soft", "/", [str(first)])["b"] == 3
    second.write_text("/**: {ros__parameters: {a: 6}}\n")
    assert values_from_files("soft", "/cell", [str(first), str(second)])["a"] == 6
    assert values_from_files("soft", "/cell", [str(second), str(first)])["a"] == 5
    for text, path in (("a: [", second), ("", tmp_path), ("", tmp_path / "none.yaml")):
        second.write_text(text)
        with pytest.raises(InputError, match=f"controller 'soft'.*{path.name}"):
            values_from_files("soft", "/cell", [str(path)])


def test_commands_read_the_sections_that_the_controller_reads(tmp_path):
    file = tmp_path / "p.yaml"
    file.write_text("/**: {ros__parameters: {pd.gains.joint1: {p: 1, d: 010}}}\n"
                    "cell: {controller: {ros__parameters: {pd: {gains.joint1.p: 1e1}}}}\n"
                    "/**/hardware: {ros__parameters: {step: 1}}\n")
    node = GivenParameters.from_arguments(["--ros-args", "--params-file", str(file)]).for_node("/cell/controller")
    assert parameters_in(str(file)) == {name: given.value for name, given in node.items()} == {
        "pd.gains.joint1.p": 10.0, "pd.gains.joint1.d": 8}


def test_a_file_may_hold_a_long_description(tmp_path):
    """A launch file hands robot_description to a node in a file of parameters."""
    file = tmp_path / "launch_params_long.yaml"
    urdf = robot_file("planar_2r").read_text().replace("</robot>", f"<!-- {'x' * 300_000} --></robot>")
    file.write_text(yaml.safe_dump({"/**": {"ros__parameters": {"robot_description": urdf}}}))
    command = ("-m", "robodyn_ros", "state_publisher", "--ros-args", "--params-file", str(file))
    with RosProcess("state_publisher", command=command) as node:
        node.wait_for_output("robot_description = ")
        node.stop()
    assert set_up(SimulationSettings("planar_2r", params_file=str(file))).files[-1] == file


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    with pytest.raises(InputError, match="nonesuch.yaml: expected a readable YAML file"):
        GivenParameters.from_arguments(["--ros-args", "--params-file", str(tmp_path / "nonesuch.yaml")])
    assert math.isnan(given("-p", "x:=.nan")["x"])
