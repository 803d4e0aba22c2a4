# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Serialized transforms are those that rclpy serializes."""

import numpy as np
import pytest
from rclpy.serialization import deserialize_message, serialize_message
from tf2_msgs.msg import TFMessage

from robodyn_ros.nodes.common.transform_wire import TransformWire, transforms_message


@pytest.mark.parametrize("links", [1, 2, 9])
def test_messages_are_those_of_the_middleware(links):
    parents = {f"{'x' * child}/link": f"{'y' * (3 * child % 7)}" for child in range(links)}  # any alignment
    wire, random = TransformWire(parents), np.random.default_rng(links)
    for stamp in (0, 12_000_000_034, 2**31 * 10**9 - 1):
        values = random.normal(size=(links, 7))
        message = transforms_message(parents, stamp, values)
        data = wire.encode(stamp, values)
        assert len(data) == len(serialize_message(message)) and deserialize_message(data, TFMessage) == message
    first = message.transforms[0]
    assert (first.header.stamp.sec, first.header.stamp.nanosec) == (2**31 - 1, 999_999_999)
    assert first.transform.translation.y == values[0, 1] and first.transform.rotation.w == values[0, 6]
