# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""For tests of what all nodes share: runtime_probe.py as a process of its own, and a question to it."""

from pathlib import Path

from ros_process import RosProcess
from sensor_msgs.msg import JointState

from robodyn_ros.nodes.common.topics import CONTROL_QOS

PROBE = str(Path(__file__).with_name("runtime_probe.py"))


def start(parameters=None, *arguments, namespace=""):
    return RosProcess("probe", parameters, namespace, command=(PROBE, *arguments))


def echo(ros, values):
    replies = ros.record(JointState, "out", CONTROL_QOS)
    publisher = ros.publisher(JointState, "in", CONTROL_QOS)
    ros.wait_for(lambda: ros.node.count_publishers("out"), "the probe's publisher")
    message = JointState(position=values)

    def answered():
        publisher.publish(message)
        return [reply for reply in replies if reply.position]  # answers to other topics have none

    return list(ros.wait_for(answered, "an answer")[-1].position)
