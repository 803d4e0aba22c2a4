# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""What the transport gives a process that listens: room in its sockets, and back the memory of messages that waited."""

import ctypes
import multiprocessing
import os
import socket
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing.synchronize import Event
from typing import TypeVar

import rclpy
from std_msgs.msg import String

from robodyn_ros.nodes.common.topics import STATE_QOS, unserved_subscription
from robodyn_ros.nodes.common.transport import init_ros

FIRST_PORT, SENDERS = 7400, 32768
"""First port on which a process listens for Fast DDS, and a port below those from which one sends."""

LENGTH, WAITING_BYTES = 200_000, 5_000_000
"""Length of a message, and memory that the waiting ones take at least before they are taken [bytes]."""

DEADLINE = 60.0
TOPIC = "large"

T = TypeVar("T")


class Mallinfo2(ctypes.Structure):
    """What glibc knows of its memory, as <malloc.h> declares it."""

    _fields_ = tuple((name, ctypes.c_size_t) for name in (
        "arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost"))


def in_new_process(function: Callable[[], T]) -> T:
    """Return what a function returns in a process with the present environment."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(function).result()


def room_of_listeners() -> list[int]:
    """Room for messages that wait in each socket on which this process listens as a node [bytes]."""
    init_ros()
    node = rclpy.create_node("listener")
    room = []
    for number in map(int, os.listdir("/proc/self/fd")):
        try:
            listener = socket.socket(fileno=os.dup(number))
        except OSError:  # a file, or the folder itself
            continue
        with listener:
            if listener.family == socket.AF_INET and FIRST_PORT <= listener.getsockname()[1] < SENDERS:
                room.append(listener.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF))
    node.destroy_node()
    rclpy.shutdown()
    return room


def memory_of_messages() -> tuple[int, int, int]:
    """Memory in use before large messages wait in a subscription, while they wait, and after they are taken [bytes].

    Raises:
        AssertionError: No message came in time.
    """
    init_ros()
    context = multiprocessing.get_context("spawn")
    ended = context.Event()
    sender = context.Process(target=send, args=(ended,), daemon=True)
    sender.start()
    handle = unserved_subscription(rclpy.create_node("listener"), String, TOPIC, STATE_QOS).handle
    end = time.monotonic() + DEADLINE
    with handle:
        while not handle.take_message(String, True):
            assert time.monotonic() < end, f"no message in {DEADLINE} s"
            time.sleep(0.01)
        while handle.take_message(String, True):  # those that came meanwhile, on a busy machine
            pass
        before = memory_in_use()
        while (waiting := memory_in_use()) < before + WAITING_BYTES and time.monotonic() < end:
            time.sleep(0.1)
        ended.set()
        sender.join()
        while handle.take_message(String, True):
            pass
    rclpy.shutdown()
    return before, waiting, memory_in_use()


def send(ended: Event) -> None:
    """Publish large messages until an event."""
    init_ros()
    publisher = rclpy.create_node("sender").create_publisher(String, TOPIC, STATE_QOS)
    while not ended.wait(0.05):
        if publisher.get_subscription_count():
            publisher.publish(String(data="x" * LENGTH))
    rclpy.shutdown()


def memory_in_use() -> int:
    """Memory that this process has asked for and not given back [bytes]; what is free may stay with the process."""
    told = ctypes.CDLL(None).mallinfo2
    told.restype = Mallinfo2
    found = told()
    return int(found.uordblks + found.hblkhd)
