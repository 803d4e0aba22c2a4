# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Each message comes with the GID that the graph shows for its publisher, and with its number, on every release."""

from sensor_msgs.msg import JointState

from robodyn_ros.nodes.common.participants import publishers, sender
from robodyn_ros.nodes.common.topics import CONTROL_QOS, unserved_subscription
from robodyn_ros.nodes.internals.rcl import take_serialized


def test_messages_come_with_their_publisher_and_number(ros):
    topic = "/who_sent_it"
    subscription = unserved_subscription(ros.node, JointState, topic, CONTROL_QOS)
    senders = [ros.publisher(JointState, topic, CONTROL_QOS) for _ in range(2)]
    taken = []

    def take(count):
        while (one := take_serialized(subscription.handle, JointState)) is not None:
            taken.append(one)
        return len(taken) == count

    with subscription.handle:
        assert take_serialized(subscription.handle, JointState) is None
        for number in range(3):
            for place, publisher in enumerate(senders):
                publisher.publish(JointState(name=["joint"] * (100 if number == 1 else 1), position=[float(place)]))
                ros.wait_for(lambda count=2 * number + place + 1: take(count), "the message")
    shown = publishers(ros.node, [topic])
    gids = [sender(info) for _, info in taken]
    assert set(gids) == set(shown) and len(set(gids)) == 2 and gids == gids[:2] * 3
    assert [info["publication_sequence_number"] for _, info in taken] == [1, 1, 2, 2, 3, 3]
    assert [len(data) > 1000 for data, _ in taken] == [False, False, True, True, False, False]
    assert all(info["source_timestamp"] <= info["received_timestamp"] for _, info in taken)
