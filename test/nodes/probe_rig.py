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
