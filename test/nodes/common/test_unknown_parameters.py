"""Values for unknown parameters: distinguished from parameters of other nodes, refused or reported by each node."""

from importlib import import_module
from types import SimpleNamespace

import pytest
import yaml
from rcl_interfaces.srv import ListParameters
from ros_process import RosProcess, RosTest

from robodyn_ros import InputError
from robodyn_ros.commands.simulation_setup import NODES
from robodyn_ros.control.registry import controller_names
from robodyn_ros.nodes.common.unknown_parameters import (
    PARAMETERS,
    check_given,
    names_on_command_line,
    unclaimed_names,
    unknown_names,
)
from robodyn_ros.nodes.controller import action, joint_trajectories, tip_motions
from robodyn_ros.resources import config_file

DECLARED = ["controller", "state_timeout", "constraints.goal_time", "pd.gains.joint1.p"]
PER_JOINT = {"initial_position.", "constraints."}
OF_ROS = {"use_sim_time", "start_type_description_service"}
KNOWN = {"hardware": "step", "controller": "controller", "dynamics": "publish_frequency",
         "state_publisher": "publish_frequency"}


def test_the_names_of_all_nodes_are_those_that_they_declare():
    tables = [import_module(NODES[node]).PARAMETERS for node in NODES]
    tables += [joint_trajectories.PARAMETERS, tip_motions.PARAMETERS, [action.MONITOR_RATE]]
    names = {parameter.name for table in tables for parameter in table}
    groups = {"".join(name.partition(".")[:2]) for name in names}
    assert groups | PER_JOINT == PARAMETERS


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


def test_names_on_a_command_line():
    words = "--ros-args -p robot:=arm6 --params-file p.yaml -r a:=b --param /a/controller:pd.x:=[1.0] -p url:=x:=y"
    assert names_on_command_line(words.split()) == {"robot", "pd.x", "url"}
    assert names_on_command_line(["--ros-args", "-p"]) == set()


def test_of_several_nodes_in_a_process_all_that_were_given_it_are_named_once():
    warnings = []
    nodes = [SimpleNamespace(
        parameters=SimpleNamespace(names=lambda own=own: [own], unknown=lambda: ["robt"]),
        get_fully_qualified_name=lambda name=name: name,
        log=SimpleNamespace(warning=lambda _, text: warnings.append(text)))
        for name, own in (("/a", "robot"), ("/b", "seed"))]
    check_given(nodes, ["--ros-args", "-p", "robot:=arm6"])
    assert warnings == ["'robt' is given a value, but is no parameter of /a or /b: did you mean 'robot'?"]
    with pytest.raises(InputError, match="'robt' is given a value"):
        check_given(nodes, ["--ros-args", "-p", "robt:=arm6"])


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
