"""The newest message of a topic, taken when the reader likes; in a node: test_state_publisher."""

from std_msgs.msg import Int32

from robodyn_ros.nodes.common.topics import LatestMessage


def test_messages_are_taken_once_the_newest_last(ros):
    latest = LatestMessage(ros.node, Int32, "fast")
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
