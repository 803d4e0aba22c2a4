# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Two publishers whose messages overtake each other, and the memory of a process that subscribes to both."""

import multiprocessing
import os
import time
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess

import rclpy
from rclpy.node import Node
from rclpy.serialization import serialize_message
from std_msgs.msg import ByteMultiArray

from bench.process_trace import ProcessSample
from robodyn_ros.nodes.common.topics import STATE_QOS, take_newest, unserved_subscription

SETTLED, SECONDS = 500, 12.0
"""Messages after which memory is looked at first, and the time until the last look [s]."""
PERIOD = 0.004


def publish(sizes: tuple[int, ...], topic: str) -> None:
    """Publish for ever; the larger a message is, the later it arrives."""
    rclpy.init()
    publisher = Node("publisher").create_publisher(ByteMultiArray, topic, 1)
    messages = [serialize_message(ByteMultiArray(data=[b"\0"] * size)) for size in sizes]
    while True:
        for message in messages:
            publisher.publish(message)
            time.sleep(PERIOD)


def subscribe(topic: str, answer: Connection) -> None:
    """Take the newest messages for some time, and send by how much the memory grew meanwhile [MB]."""
    rclpy.init()
    node = Node("subscriber")
    handle = unserved_subscription(node, ByteMultiArray, topic, STATE_QOS).handle
    taken, before, end = 0, 0.0, float("inf")
    while time.monotonic() < end:
        time.sleep(5 * PERIOD)
        taken += take_newest(handle, ByteMultiArray) is not None
        if taken * 5 >= SETTLED and not before:
            before, end = ProcessSample.of(os.getpid()).memory, time.monotonic() + SECONDS
    answer.send(ProcessSample.of(os.getpid()).memory - before)


def growth(topic: str = "overtaking", patience: float = 120.0) -> float:
    """By how much the memory of a subscriber to both publishers grows [MB].

    Raises:
        TimeoutError: It did not tell in time.
    """
    os.environ.setdefault("FASTDDS_BUILTIN_TRANSPORTS", "UDPv4")
    context = multiprocessing.get_context("spawn")
    answer, other_end = context.Pipe()
    processes: list[BaseProcess] = [
        context.Process(target=publish, args=((100,), topic)),
        context.Process(target=publish, args=((10_000, 20_000, 5_000, 50_000), topic)),
        context.Process(target=subscribe, args=(topic, other_end))]
    try:
        for process in processes:
            process.start()
        if not answer.poll(patience):
            raise TimeoutError(f"no answer within {patience:g} s")
        return float(answer.recv())
    finally:
        for process in processes:
            process.kill()
            process.join()
