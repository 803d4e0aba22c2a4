"""The newest message of a topic, taken when the reader likes; in a node: test_state_publisher."""

from types import SimpleNamespace

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
