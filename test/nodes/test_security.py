# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The policy of config/security against the running nodes, and a graph with security where the middleware has it."""

import contextlib
import os
import subprocess
import sys
import time
from fnmatch import fnmatchcase
from unittest.mock import patch

import pytest
from controller_rig import START_DEADLINE
from rclpy.node import NodeNameNonExistentError
from ros_process import DEADLINE, RosProcess, RosTest
from sensor_msgs.msg import JointState
from tf2_msgs.msg import TFMessage

from robodyn_ros.commands.keystore import make_keystore, read_policy
from robodyn_ros.commands.simulation_setup import NODES
from robodyn_ros.description.resources import config_file
from robodyn_ros.nodes.controller.command_output import CommandPublisher

VOLTAGES = "volts"
"""Namespace of four nodes with motors that command voltages and publish /clock."""
OUTPUTS = ("effort", "joint_commands", "effort_group")
"""Other outputs of the controller, and namespaces of a controller with each."""
AT_TIMES = {"ros_discovery_info", "rt/clock", *(f"rt/{node}/_own_*" for node in NODES)}
"""DDS topics of every process, of nodes with use_sim_time, and of the start of a node."""
NOT_FOR_OPERATORS = {"rt/joint_commands", "rt/voltage_commands", "rt/hardware/commands", "rt/joint_states",
                     "rt/_display_joint_states", "rt/motor_states", "rt/new_starts", "rt/refused_commands",
                     "rt/driver_profile", "rt/measured_wrench", "rt/force_torque_sensor_broadcaster/wrench", "rt/clock"}
"""Inputs that other nodes alone may use."""


def enclaves(namespace=""):
    return {enclave.path.rpartition("/")[2]: enclave.dds_topics()
            for enclave in read_policy(config_file("security/policy.xml"), f"/{namespace}")}


def dds_topics(node, name, namespace):
    """DDS topics that a node of the graph publishes and subscribes."""
    def names(function):
        return {found for found, _ in function(name, f"/{namespace}")}

    services, clients = names(node.get_service_names_and_types_by_node), names(node.get_client_names_and_types_by_node)
    return {
        "publish": {f"rt{topic}" for topic in names(node.get_publisher_names_and_types_by_node)}
        | {f"rr{service}Reply" for service in services} | {f"rq{service}Request" for service in clients},
        "subscribe": {f"rt{topic}" for topic in names(node.get_subscriber_names_and_types_by_node)}
        | {f"rq{service}Request" for service in services} | {f"rr{service}Reply" for service in clients}}


@pytest.fixture(scope="module")
def seen():
    """DDS topics of the running nodes, by (namespace, node)."""
    nodes = ("-m", "robodyn_ros", "simulate", "--robot", "planar_2r", "--actuators", "hardware_dc_motors",
             "--time-mode", "scaled", "--namespace", VOLTAGES, "--ros-args", "-p", "output:=voltage", "-p",
             "force_torque_sensor.frame:=tip")
    with RosProcess("simulate", command=nodes) as all_nodes, \
            contextlib.ExitStack() as controllers, RosTest() as ros:
        started = [controllers.enter_context(RosProcess("controller", {"robot": "planar_2r", "output": output,
                                                                       "gripper.joints": ["joint2"]}, output))
                   for output in OUTPUTS]
        all_nodes.wait_for_output("[volts.state_publisher]: parameters that differ", START_DEADLINE)
        for controller in started:
            controller.wait_for_output("parameters that differ", START_DEADLINE)

        def found():
            topics = {(VOLTAGES, name): dds_topics(ros.node, name, VOLTAGES) for name in NODES}
            topics |= {(output, "controller"): dds_topics(ros.node, "controller", output) for output in OUTPUTS}
            return topics

        def is_complete():
            with contextlib.suppress(NodeNameNonExistentError):  # not discovered yet
                return all(f"rr/{space}/{name}/list_parametersReply" in topics["publish"]
                           for (space, name), topics in found().items())

        ros.wait_for(is_complete, "all nodes in the graph")
        # State publisher and dynamics subscribe to joint states for who listens.
        heard = [ros.record(message_type, topic) for message_type, topic in (
            (JointState, f"/{VOLTAGES}/joint_states"), (TFMessage, "/tf"),
            (JointState, f"/{VOLTAGES}/dynamics/gravity_effort"))]
        ros.wait_for(lambda: all(len(messages) > 10 for messages in heard), "messages of all nodes")
        yield found()


def relative(topic, namespace):
    """A DDS topic as it would be without the namespace."""
    return topic.replace(f"/{namespace}/", "/", 1)


def allows(patterns, topic):
    return any(fnmatchcase(topic, pattern) for pattern in patterns)


def test_each_node_may_all_that_it_does(seen):
    for (namespace, node), topics in seen.items():
        for role in (node, "simulate"):
            allowed = enclaves(namespace)[role]
            missing = [(role, direction, topic) for direction in topics for topic in topics[direction]
                       if not allows(allowed[direction], topic)]
            assert not missing, f"add them to config/security/profiles/{node}.xml"


def test_the_policy_allows_nothing_that_no_node_does(seen):
    for node in NODES:
        for direction, allowed in enclaves()[node].items():
            used = {relative(topic, namespace) for (namespace, name), topics in seen.items() if name == node
                    for topic in topics[direction]}
            # Joint states of other publishers, beside one hardware node alone; motors for laws that read them.
            others = set() if direction == "publish" else {
                "rt/motor_states" if node == "controller" else "rt/joint_states"}
            assert set(allowed) - used - AT_TIMES - others == set(), (node, direction)


def test_a_viewer_reads_all_topics_and_changes_nothing(seen):
    allowed = enclaves(VOLTAGES)["viewer"]
    for (namespace, _), topics in seen.items():
        if namespace == VOLTAGES:
            for topic in topics["publish"]:
                assert not topic.startswith("rt/") or "_own_" in topic or allows(allowed["subscribe"], topic), topic
            for topic in topics["subscribe"]:
                harmless = topic.startswith(f"rq/{VOLTAGES}/dynamics/") or any(
                    topic.endswith(f"/{name}Request") for name in
                    ("describe_parameters", "get_parameter_types", "get_parameters", "get_type_description",
                     "list_parameters", "list_controllers", "list_controller_types", "list_hardware_components",
                     "list_hardware_interfaces"))
                changes = "set_parameters" in topic or not harmless
                assert allows(allowed["publish"], topic) != changes, topic


def test_every_output_of_the_controller_is_seen(seen):
    """Those that its parameter allows, each in a graph of its own; voltages in that of the motors."""
    [output] = [parameter for parameter in CommandPublisher.PARAMETERS if parameter.name == "output"]
    assert {*OUTPUTS, "voltage"} == set(output.choices)
    commands = {space: topics["publish"] for (space, name), topics in seen.items() if name == "controller"}
    for space, topic in (("effort", "joint_commands"), ("joint_commands", "joint_commands"),
                         ("effort_group", "effort_controller/commands"), (VOLTAGES, "voltage_commands")):
        assert f"rt/{space}/{topic}" in commands[space]


def test_a_viewer_reads_the_commands_of_every_output(seen):
    for (namespace, name), topics in seen.items():
        allowed = enclaves(namespace)["viewer"]["subscribe"]
        assert name != "controller" or all(allows(allowed, topic) for topic in topics["publish"]
                                           if topic.startswith("rt/") and "_own_" not in topic)


def test_a_guard_is_a_viewer_that_may_switch_controllers_off():
    found = enclaves()
    guard, viewer = found["guard"], found["viewer"]
    assert set(guard["publish"]) - set(viewer["publish"]) == {"rq/controller_manager/switch_controllerRequest"}
    assert set(guard["subscribe"]) - set(viewer["subscribe"]) == {"rr/controller_manager/switch_controllerReply"}
    assert "rt/effort_controller/commands" in guard["subscribe"]


def test_an_operator_commands_all_but_the_joints(seen):
    allowed = enclaves(VOLTAGES)["operator"]
    for (namespace, _), topics in seen.items():
        if namespace == VOLTAGES:
            for topic in topics["subscribe"]:
                forbidden = relative(topic, VOLTAGES) in NOT_FOR_OPERATORS
                assert allows(allowed["publish"], topic) != forbidden, topic


class Secured(RosProcess):
    """A node that may find that the middleware has no security."""

    def starts(self):
        """Whether it goes on, once it has its parameters or has ended."""
        end = time.monotonic() + DEADLINE
        while self.running() and "parameters that differ" not in self.output():
            assert time.monotonic() < end, self.output()
            time.sleep(0.02)
        return self.running()


def secured(node, *arguments):
    """Arguments of Python that start a command in an enclave."""
    return ["-m", "robodyn_ros", *arguments, "--ros-args", "--enclave", f"/robodyn/{node}"]


def test_a_graph_with_security_keeps_strangers_out(tmp_path):
    make_keystore(tmp_path / "keys", read_policy(config_file("security/policy.xml")))
    security = {"ROS_SECURITY_ENABLE": "true", "ROS_SECURITY_STRATEGY": "Enforce",
                "ROS_SECURITY_KEYSTORE": str(tmp_path / "keys")}
    robot = {"robot": "planar_2r"}
    with patch.dict(os.environ, security):
        hardware = Secured("hardware", robot, command=secured("hardware", "hardware"))
    with hardware:
        if not hardware.starts():
            *_, line = (line for line in hardware.output().splitlines() if line.startswith("robodyn: error: "))
            assert "security libraries" in hardware.output() and "Traceback" not in hardware.output()
            pytest.skip(f"the middleware has no security: {line}")

        def run(role, *arguments):
            with patch.dict(os.environ, security if role else {}):
                return subprocess.run([sys.executable, *secured(role, *arguments)] if role else
                                      [sys.executable, "-m", "robodyn_ros", *arguments], capture_output=True, text=True)

        assert run("viewer", "echo", "joint_states", "--count", "1").returncode == 0
        assert run("viewer", "reset").returncode != 0
        assert run("operator", "reset").returncode == 0
        assert run("", "reset").returncode != 0, "a stranger"
