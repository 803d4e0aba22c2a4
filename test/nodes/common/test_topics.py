# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The newest message of a topic, taken when the reader likes; in a node: test_state_publisher."""

import threading
from types import SimpleNamespace

import overtaking
import pytest
import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.serialization import deserialize_message
from std_msgs.msg import Int32

from robodyn_ros.nodes.common import topics
from robodyn_ros.nodes.common.topics import LATCHED_QOS, LatestMessage

GOOD = SimpleNamespace(deserialize=lambda data, kind, _: deserialize_message(data, kind))


def test_messages_are_taken_once_the_newest_last(ros):
    latest = LatestMessage(ros.node, GOOD, Int32, "fast")
    assert latest.take() is None
    publisher = ros.publisher(Int32, "fast")
    for number in range(1, 21):
        publisher.publish(Int32(data=number))
    taken = []

    def newest_is_there():
        message = latest.take()
        taken.extend([] if message is None else [message.data])
        return 20 in taken

    ros.wait_for(newest_is_there, "the newest message")
    assert taken == sorted(set(taken))
    assert latest.take() is None


def test_a_malformed_message_is_counted_and_the_next_one_taken(ros):
    rejected = []
    diagnostics = SimpleNamespace(deserialize=lambda data, kind, topic: rejected.append((data, kind, topic)))
    latest = LatestMessage(ros.node, diagnostics, Int32, "bent")
    publisher = ros.publisher(Int32, "bent")
    publisher.publish(b"\0\1\0\0\7")

    def taken():
        assert latest.take() is None
        return rejected

    ros.wait_for(taken, "the message")
    assert rejected == [(b"\0\1\0\0\7", Int32, "bent")]


def test_an_executor_on_another_thread_never_serves_it_and_goes_on(ros, monkeypatch):
    """Not even while the subscription is made, when a message may have come: it would leave all services unserved."""
    ros.node.create_publisher(Int32, "early", LATCHED_QOS).publish(Int32(data=7))
    node, executor = rclpy.create_node("on_another_thread", context=ros.node.context), SingleThreadedExecutor(
        context=ros.node.context)
    executor.add_node(node)
    served, made, ended, turns = threading.Event(), threading.Event(), threading.Event(), threading.Event()

    def spin():
        while not ended.is_set():
            executor.spin_once(timeout_sec=0.05)

    def serve(_):
        served.set()
        made.wait(10.0)

    wake = node._wake_executor
    monkeypatch.setattr(topics, "_ignore_message", serve)
    monkeypatch.setattr(node, "_wake_executor", lambda: (wake(), served.wait(1.0)))
    thread = threading.Thread(target=spin)
    thread.start()
    try:
        subscription = topics.unserved_subscription(node, Int32, "early", LATCHED_QOS)
        made.set()
        monkeypatch.setattr(node, "_wake_executor", wake)
        node.create_timer(0.01, turns.set)
        assert turns.wait(10.0), "the executor serves nothing any more"
        assert not served.is_set()
        ros.wait_for(lambda: subscription.handle.take_message(Int32, False), "the message")
    finally:
        made.set()
        ended.set()
        thread.join()
        executor.shutdown()
        node.destroy_node()


@pytest.mark.long
def test_messages_that_overtake_each_other_are_freed():
    assert overtaking.growth() < 2.0, "8 MB if the subscription keeps one message"
