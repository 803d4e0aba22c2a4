# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Hostile input to nodes that live through it: messages, requests, goals, parameters and laws that fail."""

from __future__ import annotations

import functools
import math
import random
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from builtin_interfaces.msg import Duration
from control_msgs.action import FollowJointTrajectory
from rcl_interfaces.msg import ParameterType, ParameterValue
from rclpy.action import ActionClient
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from bench.attack.absurd import bytes_of, fill, largest
from bench.attack.calls import (
    ANSWER_SECONDS,
    call,
    calm,
    interface,
    parameters_of,
    restore,
    set_controller,
    set_parameter,
)
from bench.attack.graph import NAMESPACE, NODES, ROBOT_JOINTS, AttackedGraph
from bench.attack.report import Report
from robodyn_ros.nodes.common.topics import LATCHED_QOS, NEWEST_DEPTH

BURST = 250
"""Messages that are sent before the nodes are looked at."""

LARGEST_MESSAGES, LARGEST_REQUESTS = NEWEST_DEPTH + 8, 3
"""Enough of the largest for all that the middleware keeps of a subscription or a service."""

PAYLOADS = 60
"""Enough for the memory in which the hardware compiles a plant for each."""

REST = 0.5
"""Time without an attack, relative to that of the attack before: two graphs share the machine."""

LAWS = {"laws:Slow": True, "laws:Interrupts": True, "laws:Loops": True, "blocking_import:Imported": False,
        "laws:Failing": False, "laws:Sleeps": True, "laws:Reaches": True, "laws:NotANumber": False,
        "laws:LoopsAtOnce": False, "laws:Unstable": True, "laws:Exits": True, "raising_import:Imported": False,
        "laws:Recurses": True, "laws:Keeps": True, "laws:RaisesAtOnce": False, "laws:Activates": False,
        "laws:ActivatesLate": False, "laws:TracesLate": False}
"""The laws, and whether each comes into force before it fails."""

LEAST_ATTACKS = 2
"""Tried even if the start of the nodes took all of the time."""

LONG_TRAJECTORY = 100_000
"""Points."""


def attack_with_input(seed: int, end: float, path: Path, growth: float | None) -> None:
    """Attack a graph of its own until a time; the report is written after each attack.

    Args:
        seed: The seed.
        end: When to end (monotonic clock) [s].
        path: File of the report.
        growth: By how much the memory of a node may grow, relative; None: not judged.
    """
    report = Report(seed)
    with AttackedGraph(report) as graph:
        send_largest(graph)
        if growth is not None:
            compile_for_payloads(graph)
        begin = time.monotonic()
        times = Counter[Callable[..., None]]()
        while times.total() < LEAST_ATTACKS or time.monotonic() < end:
            attack = _CYCLE[times.total() % len(_CYCLE)]
            before = time.monotonic()
            attack(graph, report, seed, times[attack])
            times[attack] += 1
            graph.report_memory(begin, time.monotonic())
            report.write(path)
            graph.spin(min(REST * (time.monotonic() - before), max(0.0, end - time.monotonic())))
        graph.judge_memory(begin, time.monotonic(), growth)
    report.write(path)


def messages(graph: AttackedGraph, report: Report, seed: int, number: int) -> None:
    """Absurd, cut-off, changed and random bytes on every topic that a node subscribes."""
    chance = random.Random(f"{seed} messages {number}")
    for topic, message_type in _topics(graph).items():
        publisher = graph.node.create_publisher(message_type, topic, LATCHED_QOS)  # serves any subscription
        graph.wait(publisher.get_subscription_count, 2.0)
        for _ in range(BURST):
            publisher.publish(bytes_of(message_type, chance))
            graph.spin(0.0005)  # depth 1: a later message would displace one that is not sent yet
            report.count("messages", "tried")
        graph.spin(0.05)
        graph.node.destroy_publisher(publisher)
        survived = graph.check("messages", number)
        report.count("topics", "survived" if survived else "fell")
    calm(graph)


def send_largest(graph: AttackedGraph) -> None:
    """Send the largest message to every topic, service and action, so that none later needs more memory."""
    for topic, message_type in _topics(graph).items():
        publisher = graph.node.create_publisher(message_type, topic, LATCHED_QOS)
        graph.wait(publisher.get_subscription_count, 2.0)
        data = bytes(serialize_message(largest(message_type)))
        for _ in range(LARGEST_MESSAGES):
            publisher.publish(data)
            graph.spin(0.05)
        graph.node.destroy_publisher(publisher)
    long_trajectories(graph, graph.report, 0, 0)
    graph.check("largest messages", 0)
    for service, kind in _services(graph).items():
        for _ in range(LARGEST_REQUESTS):
            call(graph, kind, service, largest(kind.Request))
    client = ActionClient(graph.node, FollowJointTrajectory, "controller/follow_joint_trajectory")
    if graph.wait(client.server_is_ready, 5.0):
        for _ in range(LARGEST_REQUESTS):
            graph.wait(client.send_goal_async(largest(FollowJointTrajectory.Goal)).done, ANSWER_SECONDS)
    client.destroy()
    calm(graph)  # one of the requests is to pause
    graph.spin(0.2)
    graph.check("largest requests", 0, gap=None)


def compile_for_payloads(graph: AttackedGraph) -> None:
    """Let the hardware compile for many payloads, so that none later needs more memory."""
    for mass in [*np.linspace(0.1, 1.0, PAYLOADS), 0.0]:
        set_parameter(graph, "hardware", "payload.mass", ParameterValue(
            type=ParameterType.PARAMETER_DOUBLE, double_value=float(mass)))
    graph.check("payloads", 0, gap=None)


def _topics(graph: AttackedGraph) -> dict[str, Any]:
    """Return the topics that the nodes subscribe, with the classes of their messages."""
    found = {topic: kinds[0] for name in NODES for topic, kinds in
             graph.node.get_subscriber_names_and_types_by_node(name, f"/{NAMESPACE}")}
    return {topic: interface(found[topic]) for topic in sorted(found)}


def _services(graph: AttackedGraph) -> dict[str, Any]:
    """Return the services of the nodes, with the classes of their requests and answers."""
    return {service: interface(kinds[0]) for name in NODES for service, kinds in
            sorted(graph.node.get_service_names_and_types_by_node(name, f"/{NAMESPACE}"))
            if "/_action/" not in service and not service.endswith("set_parameters_atomically")}


def services(graph: AttackedGraph, report: Report, seed: int, number: int) -> None:
    """Absurd requests to every service of the nodes, and absurd goals; each has to be answered."""
    chance = random.Random(f"{seed} services {number}")
    for service, kind in _services(graph).items():
        answer = call(graph, kind, service, fill(kind.Request(), chance))
        report.count("requests", "tried", "not answered" if answer is None else "answered")
        if answer is None:
            report.fail(f"services {service}", number, f"no answer within {ANSWER_SECONDS} s")
        graph.check("services", number, gap=None)
        calm(graph)
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
    """Absurd values for every parameter of every node; then their own values."""
    chance = random.Random(f"{seed} parameters {number}")
    for node in NODES:
        before = parameters_of(graph, node)
        for name in before:
            value = fill(ParameterValue(), chance)
            value.type = chance.choice((ParameterType.PARAMETER_DOUBLE, ParameterType.PARAMETER_INTEGER,
                                        ParameterType.PARAMETER_STRING, chance.randrange(12)))
            taken = set_parameter(graph, node, name, value)
            report.count("parameters", "tried", {True: "accepted", False: "refused", None: "not answered"}[taken])
        wrong = restore(graph, node, before)
        if wrong:
            report.fail("parameters", number, f"'{node}' does not take the former values of {', '.join(wrong)}")
        graph.check("parameters", number, gap=None, own_law=False)
    calm(graph)
    graph.spin(0.2)
    graph.check("parameters", number, gap=None, own_law=False)


def laws(graph: AttackedGraph, report: Report, seed: int, number: int) -> None:
    """A law that is slow, fails, blocks, writes to its inputs, returns NaN or is unstable; then a sound one."""
    module, comes_into_force = list(LAWS.items())[number % len(LAWS)]
    name = module.partition(":")[2]
    accepted = set_controller(graph, f"bench.attack.{module}")
    report.count("laws", "tried", "accepted" if accepted else "refused")
    if accepted is not comes_into_force:
        report.fail(f"law {name}", number, "accepted" if accepted else "refused, so that it attacks nothing")
    graph.spin(1.0)
    graph.check(f"law {name}", number)
    if not set_controller(graph, "pd_gravity"):
        report.fail(f"law {name}", number, "no sound law can be set afterwards")
    calm(graph)
    survived = graph.recover()
    graph.check(f"law {name}", number)
    report.count(f"law {name}", "tried", "survived" if survived else "fell")
    if not survived:
        report.fail(f"law {name}", number, f"not all nodes publish afterwards: {graph.silent()}")


def drivers(graph: AttackedGraph, report: Report, seed: int, number: int) -> None:
    """A driver of a gripper, or a second one of the same joints, publishes on the robot's topic as fast as it can."""
    chance = random.Random(f"{seed} drivers {number}")
    kind = ("driver of a gripper", "driver of the same joints")[number % 2]
    fingers = [f"finger{chance.randrange(3)}" for _ in range(chance.randint(1, 4))]
    names = fingers if number % 2 == 0 else [*ROBOT_JOINTS[:chance.randint(1, 2)], *fingers[:chance.randrange(2)]]
    publisher = graph.node.create_publisher(JointState, "joint_states", LATCHED_QOS)
    graph.wait(publisher.get_subscription_count, 2.0)
    end, has_clock = time.monotonic() + 2.0, chance.random() < 0.5
    message = JointState(name=names, velocity=[0.0] * len(names))
    while time.monotonic() < end:
        if has_clock:  # otherwise, the stamp is 0 for ever
            message.header.stamp = graph.node.get_clock().now().to_msg()
        message.position = [chance.choice((0.0, 1.0, 1e308, math.nan)) for _ in names]
        publisher.publish(message)
        graph.spin(0.0005)
    graph.node.destroy_publisher(publisher)
    survived = graph.check(kind, number)
    report.count(kind, "tried", "survived" if survived else "fell")


def long_trajectories(graph: AttackedGraph, report: Report, seed: int, number: int) -> None:
    """A trajectory of immensely many points: refused, or followed, and the states are answered meanwhile."""
    publisher = graph.node.create_publisher(JointTrajectory, "controller/joint_trajectory", LATCHED_QOS)
    graph.wait(publisher.get_subscription_count, 2.0)
    publisher.publish(_long_trajectory())
    graph.spin(1.0)
    graph.node.destroy_publisher(publisher)
    survived = graph.check("long trajectories", number)
    report.count("long trajectories", "tried", "survived" if survived else "fell")


@functools.cache
def _long_trajectory() -> bytes:
    """Serialized."""
    points = [JointTrajectoryPoint(positions=[0.1] * len(ROBOT_JOINTS), time_from_start=Duration(sec=point // 100,
              nanosec=point % 100 * 10**7)) for point in range(1, LONG_TRAJECTORY + 1)]
    return bytes(serialize_message(JointTrajectory(joint_names=ROBOT_JOINTS, points=points)))


_CYCLE: tuple[Callable[[AttackedGraph, Report, int, int], None], ...] = (
    laws, messages, services, drivers, messages, long_trajectories, messages, parameters, drivers, messages, laws)
