# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The newest message of a topic, taken when the reader likes; in a node: test_state_publisher."""

from types import SimpleNamespace

import overtaking
import pytest
from rclpy.serialization import deserialize_message
from std_msgs.msg import Int32

from robodyn_ros.nodes.common.topics import LatestMessage

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


@pytest.mark.long
def test_messages_that_overtake_each_other_are_freed():
    assert overtaking.growth() < 2.0, "8 MB if the subscription keeps one message"
