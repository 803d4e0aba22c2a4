# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Values for unknown parameters: distinguished from parameters of other nodes, refused or reported by each node."""

from types import SimpleNamespace

import pytest
import yaml
from rcl_interfaces.srv import ListParameters
from ros_process import RosProcess, RosTest

from robodyn_ros import InputError
from robodyn_ros.commands.simulation_setup import NODES
from robodyn_ros.control.contract.controller import Law
from robodyn_ros.control.plugins.registry import controller_names, load_controller, prefix
from robodyn_ros.description.resources import config_file
from robodyn_ros.nodes.common.given_parameters import GivenParameters
from robodyn_ros.nodes.common.unknown_parameters import (
    PARAMETERS,
    check_given,
    unclaimed_names,
    unknown_names,
)

DECLARED = ["controller", "state_timeout", "constraints.goal_time", "pd.gains.joint1.p"]
OF_ROS = {"use_sim_time", "start_type_description_service"}
KNOWN = {"hardware": "step", "controller": "controller", "dynamics": "publish_frequency",
         "state_publisher": "publish_frequency"}


@pytest.mark.parametrize(("name", "unknown", "unclaimed"), [
    ("controller", False, False),
    ("contrller", True, False),
    ("step", False, False),  # of another node
    ("payload.mass", False, False),
    ("payload", True, False),  # a group
    ("constraints.goal_tme", True, False),
    ("pd.gains.joint7.p", True, False),
    ("MyLaw.gain", False, True),
    ("pdd.gains.joint1.p", False, True),
    ("qos_overrides./clock.subscription.depth", False, False),
])
def test_what_may_be_meant_for_others_is_not_unknown(name, unknown, unclaimed):
    assert unknown_names([name], DECLARED) == [name] * unknown
    assert unclaimed_names([name], DECLARED) == [name] * unclaimed


def test_no_name_is_a_parameter_and_a_group():
    """ROS 2 cannot write both into one file: ``ros2 param dump`` fails."""
    laws = {name: load_controller(name) for name in controller_names()}
    groups = {name[:-1] for name in PARAMETERS if name.endswith(".")} | {
        prefix(name + suffix) for name, law in laws.items()
        for suffix in ("", "+safety", "+friction")[:1 + 2 * issubclass(law, Law)]}
    assert not groups & PARAMETERS
    for law in laws.values():
        assert "gains" not in law.Parameters.declarations()


def nodes_given(arguments, *names, own=("robot", "seed")):
    """Nodes that declare some parameters, the values that they were given, and their warnings."""
    given, warnings = GivenParameters.from_arguments(["--ros-args", *arguments]), []
    nodes = []
    for full_name in names:
        values = given.for_node(full_name)
        parameters = SimpleNamespace(given=values, names=lambda: list(own),
                                     unknown=lambda values=values: unknown_names(values, own))
        nodes.append(SimpleNamespace(parameters=parameters, get_fully_qualified_name=lambda name=full_name: name,
                                     log=SimpleNamespace(warning=lambda _, text: warnings.append(text),
                                                         info=lambda _, text: warnings.append(f"info: {text}"))))
    return nodes, given, warnings


def test_of_several_nodes_in_a_process_all_that_were_given_it_are_named_once(tmp_path):
    file = tmp_path / "parameters.yaml"
    file.write_text("/**:\n  ros__parameters: {robt: arm6}\n")
    nodes, given, warnings = nodes_given(["--params-file", str(file), "-p", "robot:=arm6"], "/a", "/b")
    check_given(nodes, given)
    assert warnings == ["'robt' is given a value, but is no parameter of /a or /b: did you mean 'robot'?"]
    nodes, given, _ = nodes_given(["-p", "robt:=arm6"], "/a", "/b")
    with pytest.raises(InputError, match="'robt' is given a value"):
        check_given(nodes, given)


@pytest.mark.parametrize(("arguments", "own", "message"), [
    (("-p", "tip_link:=x"), ("robot",), "'tip_link' is given a value on the command line, but /a has no such"),
    (("-p", "MyLaw.gain:=5.0"), ("robot",), "'MyLaw.gain' is given a value on the command line, but /a has no such"),
    (("-p", "MyLaw.gain:=5.0"), ("robot", "safe_controller"), ""),
    (("-p", "b:robot:=x"), ("robot",), "'b:robot' is given a value on the command line, but there is no node 'b' here"),
])
def test_on_the_command_line_every_value_has_to_be_for_a_node_of_the_process(arguments, own, message):
    nodes, given, warnings = nodes_given(arguments, "/a", own=own)
    if not message:
        check_given(nodes, given)
        assert warnings == []
        return
    with pytest.raises(InputError) as refusal:
        check_given(nodes, given)
    assert str(refusal.value).startswith(message)


def test_a_section_of_a_misspelt_node_and_a_value_that_a_section_outranks_are_warned_of(tmp_path):
    file = tmp_path / "parameters.yaml"
    file.write_text("/**/hardware:\n  ros__parameters: {seed: 3}\n/**/hardwre:\n  ros__parameters: {seed: 4}\n"
                    "/**/controller:\n  ros__parameters: {x: 4}\n")
    nodes, given, warnings = nodes_given(["-p", "seed:=5", "--params-file", str(file)], "/cell/hardware")
    check_given(nodes, given)
    assert warnings == [f"{file}: section '/**/hardwre' fits no node of this process, so that its values do not count: "
                        "did you mean 'hardware'?",
                        f"info: {file}: sections for nodes outside this process: /**/controller",
                        f"seed = 5 of the command line does not count: {file} gives 3 to this node by its name"]


@pytest.mark.parametrize(("pattern", "told"), [
    ("hardware", "so that its values do not count: the node is '/left/hardware': name it so"),
    ("/*", "fits no node of this process, so that its values do not count: '/**' fits /left/hardware"),
    ("/*/*/hardware", "the node is '/left/hardware': name it so, or '/**/hardware'"),
    ("/**", ""), ("/*/hardware", ""), ("/left/*", ""), ("left/hardware", ""),
    ("/right/hardware", "info: "),  # of another robot
    ("/right/**", "info: "),
    ("controller_manager", "info: "),
])
def test_a_section_that_fits_no_node_is_told(pattern, told, tmp_path):
    file = tmp_path / "parameters.yaml"
    file.write_text(f"{pattern}:\n  ros__parameters: {{seed: 3}}\n")
    nodes, given, warnings = nodes_given(["--params-file", str(file)], "/left/hardware")
    check_given(nodes, given)
    assert len(warnings) == bool(told) and all(told in text for text in warnings), warnings


def test_an_old_name_is_refused_wherever_it_is_given(tmp_path):
    file = tmp_path / "parameters.yaml"
    file.write_text("/**:\n  ros__parameters:\n    gravity_compensation: driver\n")
    for words in (["--params-file", str(file)], ["-p", "gravity_compensation:=driver"]):
        nodes, given, _ = nodes_given(words, "/controller")
        with pytest.raises(InputError, match="'gravity_compensation' is named 'gravity_compensation_by' now"):
            check_given(nodes, given)


@pytest.mark.parametrize("node", ["controller", "dynamics"])  # it may have parameters of plugins; it has few
def test_a_name_that_no_node_has_is_refused_on_the_command_line(node):
    known = KNOWN[node]
    with RosProcess(node, {"robot": "planar_2r", f"{known}x": 1}, "cell") as process:
        assert process.wait() == 2
        message = process.output().strip().splitlines()[-1]
        start = f"robodyn: error: '{known}x' is given a value, but is no parameter of /cell/{node}: did you mean "
        assert message.startswith(start) and f"'{known}'" in message


@pytest.mark.parametrize("node", NODES)
def test_in_a_file_it_is_warned_of_and_those_of_other_nodes_are_not(node, tmp_path):
    file, known = tmp_path / "parameters.yaml", KNOWN[node]
    given = {"robot": "planar_2r", "tip_link": "", "frame_prefix": "", "initial_position": {"joint1": 0.1},
             "use_sim_time": False, "start_type_description_service": False, f"{known}x": 1,
             **{law: {"gains": {"joint1": {"p": 20.0}}} for law in ("pd", "pid")}}
    file.write_text(yaml.safe_dump({"/**": {"ros__parameters": given}}))
    files = ("--params-file", str(config_file("simulation.yaml")), "--params-file", str(file))
    command = ("-m", "robodyn_ros", node, "--ros-args", *files)
    with RosProcess(node, namespace="cell", command=command) as process, RosTest() as ros:
        process.wait_for_output(f"'{known}x' is given a value, but is no parameter of /cell/{node}: did you mean ")
        declared = ros.call(ListParameters, f"/cell/{node}/list_parameters").result.names
        others = {"".join(name.partition(".")[:2]) for name in declared} - PARAMETERS - OF_ROS
        assert others == ({f"{law}." for law in controller_names()} if node == "controller" else set())
        process.stop()
        assert process.output().count("is given a value") == 1


def test_a_misspelt_robot_is_told_where_there_is_none():
    with RosProcess("dynamics", {"robt": "arm6"}) as process:
        assert process.wait() == 2
        assert process.output().strip().endswith("; 'robt' is no parameter: did you mean 'robot'?")
