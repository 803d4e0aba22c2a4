# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""A client of a graph sends a request for parameters again when the answer was lost; no other."""

import signal
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from rcl_interfaces.srv import GetParameters
from rclpy.context import Context
from rclpy.node import Node
from ros_process import RosTest
from std_msgs.msg import String
from std_srvs.srv import Trigger

from robodyn_ros import InputError, RobodynError
from robodyn_ros.nodes.client import graph, graph_client
from robodyn_ros.nodes.client.controller_client import ControllerClient
from robodyn_ros.nodes.client.graph_client import GraphClient
from robodyn_ros.nodes.client.robot_client import RobotClient
from robodyn_ros.nodes.common import discovery
from robodyn_ros.nodes.common.discovery import participants_here
from robodyn_ros.nodes.controller.plugins import SWAP_TIMEOUT


@pytest.fixture
def ends(monkeypatch):
    """A client, and a node with a parameter and a service that a test serves by hand."""
    monkeypatch.setattr(graph, "ANSWER_SECONDS", 0.3)
    with RosTest(namespace="cell") as ros, GraphClient("client", "cell") as client:
        asked = Node("asked", context=ros.context, namespace="cell", enable_rosout=False)
        asked.declare_parameter("mass", 2.5)
        asked.create_service(Trigger, "~/stride", lambda request, response: response)
        yield client, asked, ros
        asked.destroy_node()


def lose_first(client, asked, kind):
    """Take the first request of a service and give no answer; returns the requests that came, in a list."""
    [service] = [each for each in asked.services if each.srv_type is kind]
    came = []

    def take():
        with service.handle:
            request, _ = service.handle.service_take_request(kind.Request)
        if request is not None:
            came.append(request)
    client.checks.append(take)
    return came


def test_parameters_are_asked_for_again(ends):
    client, asked, ros = ends
    came = lose_first(client, asked, GetParameters)

    def serve_after_the_first():
        if came:
            client.checks[:] = [lambda: ros.executor.spin_once(timeout_sec=0.0)]
            ros.executor.add_node(asked)
    client.checks.append(serve_after_the_first)
    answer = client.call(GetParameters, "asked", "get_parameters", GetParameters.Request(names=["mass"]), 60.0)
    assert answer.values[0].double_value == 2.5 and len(came) == 1


def test_ctrl_c_while_a_message_is_taken_is_a_keyboard_interrupt(monkeypatch):
    """The C++ code that takes a message makes an object of Python for it: an interrupt there became a RuntimeError."""
    with RosTest() as ros, GraphClient("client") as client:
        publisher, message, make = ros.publisher(String, "said", matched=0), String(data="word"), String.__init__

        def interrupted(self, **values):
            signal.raise_signal(signal.SIGINT)
            make(self, **values)

        monkeypatch.setattr(String, "__init__", interrupted)
        client.checks.append(lambda: publisher.publish(message))
        before = signal.signal(signal.SIGINT, signal.default_int_handler)  # workers of pytest-xdist ignore it
        try:
            with pytest.raises(KeyboardInterrupt):
                client.first_message(String, "said", 1, "word", 60.0)
            assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        finally:
            signal.signal(signal.SIGINT, before)


def test_the_answer_to_a_swap_is_waited_for_until_its_node_refuses_it(monkeypatch):
    """Which it does after its parameter swap_timeout; a busy machine compiles a law for longer than 5 s."""
    waits = []

    async def answer(graph, node, values, seconds, answer_seconds):
        waits.append(answer_seconds)
        return SimpleNamespace(successful=True, reason="")

    monkeypatch.setattr(graph.Graph, "set_parameters", answer)
    with ControllerClient("swap") as client:
        client.swap("pd")
    assert waits[0] > SWAP_TIMEOUT.default


def test_nodes_that_start_slowly_are_waited_for():
    with RosTest("hardware", "cell") as ros, GraphClient("client", "cell") as client:
        client.wait_for(lambda: ("hardware", "/cell") in client.node.get_node_names_and_namespaces(), "it", 60.0)
        publisher, begin = ros.node.create_publisher(String, "slow", 1), time.monotonic()
        client.checks.append(lambda: time.monotonic() - begin > 0.5 and publisher.publish(String(data="late")))
        assert client.first_message(String, "slow", 1, "message", 0.2).data == "late"
    with GraphClient("client", "nowhere") as client, pytest.raises(RobodynError, match="no message within 0.2 s: "):
        client.first_message(String, "slow", 1, "message", 0.2)


@pytest.mark.parametrize(("options", "text"), [
    *(({"controller": name}, "no name of a node") for name in ("the controller", "", "a//b", "/a/")),
    *(({"namespace": name}, "cannot be a namespace") for name in ("the cell", "a//b", "~x")),
])
def test_a_name_that_cannot_be_one_is_refused_before_the_graph_is_joined(monkeypatch, options, text):
    monkeypatch.setattr(graph_client, "init_ros", lambda **_: pytest.fail("joined"))
    with pytest.raises(InputError, match=text):
        RobotClient("client", **options)


def test_another_request_is_sent_once(ends):
    client, asked, _ = ends
    came = lose_first(client, asked, Trigger)
    with pytest.raises(RobodynError, match="no answer of node 'asked' within 1.5 s"):
        client.call(Trigger, "asked", "stride", Trigger.Request(), 1.5)
    assert len(came) == 1


def test_a_stop_reaches_all_nodes_of_a_name_other_requests_none(ends):
    client, asked, ros = ends
    second = Node("asked", context=ros.context, namespace="cell", enable_rosout=False)
    second.create_service(Trigger, "~/stride", lambda request, response: response)
    came = [lose_first(client, node, Trigger) for node in (asked, second)]
    client.wait_for(lambda: client.node.get_node_names().count("asked") == 2
                    and client.node.count_services("/cell/asked/stride") == 2, "both", 60.0)
    with pytest.raises(RobodynError, match="2 nodes are named /cell/asked"):
        client.call(Trigger, "asked", "stride", Trigger.Request(), 1.0)
    assert came == [[], []]
    with pytest.raises(RobodynError, match="no answer of node 'asked' within 1 s"):
        client.run(client.graph.call(Trigger, "asked", "stride", Trigger.Request(), 1.0, all_of_name=True))
    assert [len(each) for each in came] == [1, 1]
    second.destroy_node()


def test_a_node_whose_topics_are_known_before_its_name_is_waited_for(monkeypatch):
    """The graph is a stand-in: when the middleware loses a node's name cannot be told."""
    monkeypatch.setattr(graph, "is_this_machine_alone", lambda: False)
    with GraphClient("client", "cell") as client:
        begin = time.monotonic()

        def nodes():
            return [("hardware", "/cell")] * (1 if time.monotonic() < begin + 1.5 else 2)

        def publishers(topic):
            named = len(nodes())
            return [SimpleNamespace(node_name="hardware" if place < named else graph.UNNAMED)
                    for place in range(2)]

        monkeypatch.setattr(client.node, "get_node_names_and_namespaces", nodes)
        monkeypatch.setattr(client.node, "get_publishers_info_by_topic", publishers)
        with pytest.raises(RobodynError, match="2 nodes are named /cell/hardware"):
            client.run(client.graph.check_only_one("hardware"))


def test_the_graph_is_known_once_all_participants_of_the_machine_have_told_their_nodes(monkeypatch):
    """Discovery by time alone would take longer than the test waits."""
    monkeypatch.setattr(graph, "ANNOUNCED_SECONDS", 3600.0)
    monkeypatch.setattr(graph, "LONGEST_DISCOVERY_SECONDS", 1800.0)
    with RosTest("hardware", "cell") as ros, GraphClient("client", "cell") as client:
        domain = client.node.context.get_domain_id()
        assert participants_here(domain) == 2
        client.run(client.graph.wait_until_known())
        assert ("hardware", "/cell") in client.node.get_node_names_and_namespaces()
        second = Context()
        second.init()
        namesake = Node("hardware", context=second, namespace="cell")
        assert participants_here(domain) == 3
        with pytest.raises(RobodynError, match="2 nodes are named /cell/hardware"):
            client.run(client.graph.check_only_one("hardware"))
        namesake.destroy_node()
        second.shutdown()
        assert ros.context.ok()


def test_a_command_says_soon_that_there_is_no_graph_on_this_machine(monkeypatch):
    with GraphClient("client", "cell") as client:
        client.graph.waits_for_start = False
        with pytest.raises(RobodynError, match="no it: are the nodes running, with the same ROS_DOMAIN_ID .* on this"):
            client.wait_for(lambda: False, "it", 3600.0)
        monkeypatch.setattr(discovery, "_SOCKETS", Path("/nowhere"))  # as on a system that does not list them
        with pytest.raises(RobodynError, match="no it within 0.1 s: "):
            client.wait_for(lambda: False, "it", 0.1)


def test_a_name_that_never_comes_delays_a_request_for_some_seconds_only(monkeypatch):
    monkeypatch.setattr(graph, "is_this_machine_alone", lambda: False)
    monkeypatch.setattr(graph, "LONGEST_DISCOVERY_SECONDS", 0.6)
    with GraphClient("client", "cell") as client:
        monkeypatch.setattr(client.node, "get_publishers_info_by_topic",
                            lambda topic: [SimpleNamespace(node_name=graph.UNNAMED)])
        client.run(client.graph.check_only_one("hardware"))
