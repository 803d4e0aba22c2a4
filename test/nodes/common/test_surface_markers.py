# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Markers of surfaces: the same shapes on the other side, and refusals of foreign markers."""

import math

import numpy as np
import pytest
from visualization_msgs.msg import Marker, MarkerArray

from robodyn_ros.nodes.common.messages import MessageError
from robodyn_ros.nodes.common.surface_markers import MAX_MARKERS, from_markers, to_markers
from robodyn_ros.simulation.surface_shapes import ShapeKind, SurfaceShape

TURNED = np.array([[0.0, 0.0, 1.0, 0.1], [1.0, 0.0, 0.0, 0.2], [0.0, 1.0, 0.0, 0.3], [0.0, 0.0, 0.0, 1.0]])
SHAPES = [SurfaceShape(f"the {kind}", kind, np.array([0.2, 0.2, 0.5]), TURNED) for kind in ShapeKind]


def test_shapes_arrive_as_they_were():
    message = to_markers(SHAPES, "a/base_link")
    for sent, got in zip(SHAPES, from_markers(message), strict=True):
        assert (got.name, got.kind) == (sent.name, sent.kind)
        np.testing.assert_allclose(got.size, sent.size)
        np.testing.assert_allclose(got.pose, sent.pose, atol=1e-12)


def test_rviz_replaces_former_markers_and_keeps_them_in_the_frame_of_the_base_link():
    first, *markers = to_markers(SHAPES, "a/base_link").markers
    assert first.action == Marker.DELETEALL and [marker.action for marker in markers] == [Marker.ADD] * 3
    assert len({(marker.ns, marker.id) for marker in markers}) == 3
    for marker in markers:
        assert marker.header.frame_id == "a/base_link" and marker.frame_locked
        assert marker.header.stamp.sec == marker.header.stamp.nanosec == 0 and marker.color.a > 0.0
        assert marker.lifetime.sec == marker.lifetime.nanosec == 0
    assert from_markers(to_markers([], "base_link")) == []


@pytest.mark.parametrize(("change", "reason"), [
    (lambda marker: setattr(marker, "type", Marker.MESH_RESOURCE), "unknown type"),
    (lambda marker: setattr(marker.pose.position, "x", math.nan), "not finite"),
    (lambda marker: setattr(marker.pose.position, "x", 1e9), "out of range"),
    (lambda marker: setattr(marker.scale, "z", 0.0), "out of range"),
    (lambda marker: setattr(marker.scale, "z", math.inf), "not finite"),
    (lambda marker: setattr(marker.pose.orientation, "w", math.nan), "no rotation"),
    (lambda marker: setattr(marker.pose, "orientation", type(marker.pose.orientation)(w=0.0)), "no rotation"),
])
def test_other_markers_are_refused(change, reason):
    message = to_markers(SHAPES, "base_link")
    change(message.markers[-1])
    with pytest.raises(MessageError) as caught:
        from_markers(message)
    assert caught.value.reason == reason and "marker 'the cylinder'" in str(caught.value)


def test_too_many_markers_are_refused():
    with pytest.raises(MessageError, match=f"expected {MAX_MARKERS} markers or fewer"):
        from_markers(MarkerArray(markers=[Marker() for _ in range(MAX_MARKERS + 1)]))
