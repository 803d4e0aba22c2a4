# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The recorder asks each node for its parameters until it has an answer."""

import pytest
import yaml
from rcl_interfaces.srv import ListParameters
from rclpy.node import Node
from ros_process import RosTest

from robodyn_ros.nodes.recorder.node import ParameterSnapshots


@pytest.fixture
def graph():
    """A node that asks, and one with parameters that is served by hand."""
    with RosTest(namespace="cell") as ros:
        asked = Node("asked", context=ros.context, namespace="cell", enable_rosout=False)
        asked.declare_parameter("mass", 2.5)
        yield ros, asked
        asked.destroy_node()


def test_a_node_whose_first_answer_was_lost_is_asked_again(graph, monkeypatch):
    monkeypatch.setattr("robodyn_ros.nodes.recorder.node.ANSWER_SECONDS", 0.3)
    ros, asked = graph
    found = []
    snapshots = ParameterSnapshots(ros.node, lambda name, values: found.append((name, yaml.safe_load(values))))
    [service] = [each for each in asked.services if each.srv_type is ListParameters]

    def request():
        snapshots.look()
        with service.handle:
            return service.handle.service_take_request(ListParameters.Request) != (None, None)

    ros.wait_for(request, "the first request, which gets no answer")
    ros.executor.add_node(asked)
    ros.wait_for(lambda: snapshots.look() or found, "an answer")
    assert [name for name, _ in found] == ["/cell/asked"] and found[0][1]["mass"] == 2.5
    ros.spin(0.7)
    snapshots.look()
    assert len(found) == 1
