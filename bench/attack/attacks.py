"""Attacks on a running graph, one function for each kind; each takes the graph, the report, a seed and a number."""

from __future__ import annotations

import importlib
import random
import resource
import signal
from typing import Any

from control_msgs.action import FollowJointTrajectory
from rcl_interfaces.msg import Parameter, ParameterType
from rcl_interfaces.srv import ListParameters, SetParameters
from rclpy.action import ActionClient
from std_srvs.srv import SetBool, Trigger

from bench.attack.absurd import bytes_of, fill
from bench.attack.graph import NAMESPACE, NODES, AttackedGraph
from bench.attack.report import Report
from robodyn_ros.commands.processes import NodeProcess
from robodyn_ros.nodes.common.topics import LATCHED_QOS

BURST = 50
"""Messages that are sent before the nodes are looked at."""

ANSWER_SECONDS = 10.0
LAWS = ("Slow", "Failing", "NotANumber", "Unstable")


def messages(graph: AttackedGraph, report: Report, seed: int, number: int) -> None:
    """Absurd, cut-off, changed and random bytes on every topic that a node subscribes."""
    chance = random.Random(f"{seed} messages {number}")
    topics = {topic: kinds[0] for name in NODES for topic, kinds in
              graph.node.get_subscriber_names_and_types_by_node(name, f"/{NAMESPACE}")}
    for topic in sorted(topics):
        message_type = _interface(topics[topic])
        publisher = graph.node.create_publisher(message_type, topic, LATCHED_QOS)  # serves any subscription
        graph.wait(publisher.get_subscription_count, 2.0)
        for _ in range(BURST):
            publisher.publish(bytes_of(message_type, chance))
            report.count("messages", "tried")
        graph.spin(0.05)
        graph.node.destroy_publisher(publisher)
        survived = graph.check("messages", number)
        report.count("topics", "survived" if survived else "fell")
    _calm(graph)


def services(graph: AttackedGraph, report: Report, seed: int, number: int) -> None:
    """Absurd requests to every service of the nodes, and absurd goals; each has to be answered."""
    chance = random.Random(f"{seed} services {number}")
    for name in NODES:
        for service, kinds in sorted(graph.node.get_service_names_and_types_by_node(name, f"/{NAMESPACE}")):
            if "/_action/" in service or service.endswith("set_parameters_atomically"):
                continue
            kind = _interface(kinds[0])
            answer = _call(graph, kind, service, fill(kind.Request(), chance))
            report.count("requests", "tried", "not answered" if answer is None else "answered")
            if answer is None:
                report.fail(f"services {service}", number, f"no answer within {ANSWER_SECONDS} s")
            graph.check("services", number)
            _calm(graph)
    client = ActionClient(graph.node, FollowJointTrajectory, "controller/follow_joint_trajectory")
    if graph.wait(client.server_is_ready, 5.0):
        for _ in range(5):
            sent = client.send_goal_async(fill(FollowJointTrajectory.Goal(), chance))
            answered = graph.wait(sent.done, ANSWER_SECONDS)
            report.count("goals", "tried", "answered" if answered else "not answered")
            if not answered:
                report.fail("goals", number, f"no answer within {ANSWER_SECONDS} s")
        graph.check("goals", number)
    client.destroy()


def parameters(graph: AttackedGraph, report: Report, seed: int, number: int) -> None:
    """Absurd values for every parameter of every node; then the nodes are started anew with their own."""
    chance = random.Random(f"{seed} parameters {number}")
    for name in NODES:
        listed = _call(graph, ListParameters, f"{name}/list_parameters", ListParameters.Request())
        for parameter in sorted(listed.result.names) if listed is not None else ():
            value = Parameter(name=parameter)
            fill(value.value, chance)
            value.value.type = chance.choice((ParameterType.PARAMETER_DOUBLE, ParameterType.PARAMETER_INTEGER,
                                              ParameterType.PARAMETER_STRING, chance.randrange(12)))
            answer = _call(graph, SetParameters, f"{name}/set_parameters", SetParameters.Request(parameters=[value]))
            accepted = answer is not None and answer.results and answer.results[0].successful
            report.count("parameters", "tried", "accepted" if accepted else "refused" if answer else "not answered")
        graph.check("parameters", number, fault=False)
    for name in NODES:
        graph.nodes[name].kill()
        graph.start(name)
    if not graph.recover():
        report.fail("parameters", number, "no joint states after the nodes were started anew")
    graph.forget()


def kills(graph: AttackedGraph, report: Report, seed: int, number: int) -> None:
    """Each node is killed and started anew; the others have to survive."""
    name = list(NODES)[number % len(NODES)]
    graph.nodes[name].kill()
    graph.spin(0.3)
    _after_fault(graph, report, f"kill of {name}", number, restarted=name)


def stops(graph: AttackedGraph, report: Report, seed: int, number: int) -> None:
    """Each node is stopped for 0.05 to 0.5 s and continued."""
    name = list(NODES)[number % len(NODES)]
    graph.send(name, signal.SIGSTOP)
    graph.spin(random.Random(f"{seed} stops {number}").uniform(0.05, 0.5))
    graph.send(name, signal.SIGCONT)
    graph.spin(0.3)
    _after_fault(graph, report, f"stop of {name}", number)


def conflicts(graph: AttackedGraph, report: Report, seed: int, number: int) -> None:
    """A second node of the same name in the same namespace, and its end."""
    name = ("controller", "hardware")[number % 2]
    with NodeProcess(name, NODES[name], NAMESPACE) as second:
        graph.spin(4.0)
        second.kill()
    _after_fault(graph, report, f"second {name}", number)


def full_disk(graph: AttackedGraph, report: Report, seed: int, number: int) -> None:
    """The controller may write no further byte to any file, and has to compile another law."""
    resource.prlimit(graph.nodes["controller"].pid, resource.RLIMIT_FSIZE, (0, 0))
    _set_controller(graph, ("computed_torque", "lqr", "pid")[number % 3])
    graph.spin(1.0)
    graph.check("full disk", number)
    graph.nodes["controller"].kill()
    _after_fault(graph, report, "full disk", number, restarted="controller")


def laws(graph: AttackedGraph, report: Report, seed: int, number: int) -> None:
    """A law that is slow, fails, returns NaN or is unstable; then a sound one."""
    name = LAWS[number % len(LAWS)]
    accepted = _set_controller(graph, f"bench.attack.laws:{name}")
    report.count("laws", "tried", "accepted" if accepted else "refused")
    graph.spin(1.0)
    graph.check(f"law {name}", number)
    if not _set_controller(graph, "pd_gravity"):
        report.fail(f"law {name}", number, "no sound law can be set afterwards")
    _calm(graph)
    _after_fault(graph, report, f"law {name}", number)


def _after_fault(graph: AttackedGraph, report: Report, kind: str, number: int, restarted: str = "") -> None:
    graph.check(kind, number, fault=bool(restarted))
    survived = graph.recover()
    report.count(kind, "tried", "survived" if survived else "fell")
    if not survived:
        report.fail(kind, number, "no joint states, or a node is missing, afterwards")


def _calm(graph: AttackedGraph) -> None:
    """Let the hardware run, without the motion that an attack left."""
    _call(graph, SetBool, "hardware/pause", SetBool.Request(data=False))
    _call(graph, Trigger, "hardware/reset", Trigger.Request())


def _set_controller(graph: AttackedGraph, name: str) -> bool:
    value = Parameter(name="controller")
    value.value.type, value.value.string_value = ParameterType.PARAMETER_STRING, name
    answer = _call(graph, SetParameters, "controller/set_parameters", SetParameters.Request(parameters=[value]))
    return answer is not None and bool(answer.results[0].successful)


def _call(graph: AttackedGraph, kind: Any, name: str, request: Any) -> Any:
    """Answer of a service, or None."""
    client = graph.node.create_client(kind, name)
    try:
        if not graph.wait(client.service_is_ready, ANSWER_SECONDS):
            return None
        future = client.call_async(request)
        return future.result() if graph.wait(future.done, ANSWER_SECONDS) else None
    finally:
        graph.node.destroy_client(client)


def _interface(name: str) -> Any:
    package, folder, kind = name.split("/")
    return getattr(importlib.import_module(f"{package}.{folder}"), kind)
