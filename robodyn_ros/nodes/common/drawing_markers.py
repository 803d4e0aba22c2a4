# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Converts a controller's drawing to markers, and back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import numpy as np
from geometry_msgs.msg import Point, Vector3
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker, MarkerArray

from robodyn_ros.base.errors import shown
from robodyn_ros.control.contract.law_drawings import COORDINATES, MAX_ITEMS, Drawn, DrawnShape
from robodyn_ros.description.model import Array
from robodyn_ros.nodes.common.messages import MessageError

MAX_MARKERS, MAX_POINTS = 2 * MAX_ITEMS, 10 * MAX_ITEMS
"""Limits of markers and points in one message."""

LINE_WIDTH, AXIS_LENGTH = 0.006, 0.1
"""[m]"""
_AXES = ((0.9, 0.1, 0.1), (0.1, 0.7, 0.1), (0.1, 0.3, 0.9))


class Strokes(NamedTuple):
    """Lines and arrows in the base frame.

    Attributes:
        lines: Ends of lines, shape (k, 2, 3) [m].
        line_colors: Shape (k, 3), from 0 to 1.
        arrows: From the first point to the second, shape (m, 2, 3) [m].
        arrow_colors: Shape (m, 3), from 0 to 1.
    """

    lines: Array
    line_colors: Array
    arrows: Array
    arrow_colors: Array


def to_markers(fields: Mapping[str, Drawn], arrays: Mapping[str, Array], frame: str) -> MarkerArray:
    """Return markers that replace all previous ones, each field in the namespace of its name.

    Args:
        fields: The declarations.
        arrays: Array of each field.
        frame: tf frame of the base link.
    """
    return replacement(((name, marker) for name, declared in fields.items()
                        for marker in _markers(declared, arrays[name])), frame)


def replacement(named: Iterable[tuple[str, Marker]], frame: str) -> MarkerArray:
    """Return markers that replace all previous ones.

    Args:
        named: Namespace of each marker, and the marker.
        frame: tf frame of the base link.
    """
    # Without a stamp, a display takes the newest transform; locked, it does so for each picture.
    markers = [Marker(action=Marker.DELETEALL)]
    for number, (name, marker) in enumerate(named):
        marker.header.frame_id, marker.ns, marker.id, marker.frame_locked = frame, name, number, True
        markers.append(marker)
    return MarkerArray(markers=markers)


def _markers(declared: Drawn, array: Array) -> Iterator[Marker]:
    color = _color(declared.color)
    if declared.shape is DrawnShape.PATH and len(array) > 1:
        yield Marker(type=Marker.LINE_STRIP, scale=Vector3(x=LINE_WIDTH), color=color, points=_points(array))
    elif declared.shape is DrawnShape.ARROWS:
        for arrow in array:
            yield Marker(type=Marker.ARROW, scale=Vector3(x=2 * LINE_WIDTH, y=5 * LINE_WIDTH), color=color,
                         points=_points(arrow))
    elif declared.shape is DrawnShape.FRAMES:
        for pose in array:
            ends = [end for axis in range(3) for end in (pose[:3, 3], pose[:3, 3] + AXIS_LENGTH * pose[:3, axis])]
            yield Marker(type=Marker.LINE_LIST, scale=Vector3(x=LINE_WIDTH), color=color, points=_points(ends),
                         colors=[_color(axis) for axis in _AXES for _ in range(2)])


def _points(points: Array | list[Array]) -> list[Point]:
    return [Point(x=float(x), y=float(y), z=float(z)) for x, y, z in points]


def _color(color: tuple[float, float, float]) -> ColorRGBA:
    return ColorRGBA(r=color[0], g=color[1], b=color[2], a=1.0)


def from_markers(message: MarkerArray) -> Strokes:
    """Read the strokes from a message of `to_markers`.

    Raises:
        MessageError: There are too many markers or points, one has another type, or a number that is not finite or too
            large.
    """
    count = sum(len(marker.points) for marker in message.markers)
    if len(message.markers) > MAX_MARKERS or count > MAX_POINTS:
        raise MessageError("too many", f"expected {MAX_MARKERS} markers with {MAX_POINTS} points or fewer, received "
                           f"{len(message.markers)} with {count}")
    found: dict[bool, tuple[list[Array], list[Array]]] = {True: ([], []), False: ([], [])}
    for marker in message.markers:
        if marker.action != Marker.ADD:
            continue
        segments, colors = _segments(marker)
        lines = found[marker.type == Marker.ARROW]
        lines[0].append(segments)
        lines[1].append(colors)

    def joined(parts: list[Array], *item: int) -> Array:
        return np.concatenate(parts) if parts else np.zeros((0, *item))

    return Strokes(joined(found[False][0], 2, 3), joined(found[False][1], 3), joined(found[True][0], 2, 3),
                   joined(found[True][1], 3))


def _segments(marker: Marker) -> tuple[Array, Array]:
    """Lines of a marker, shape (k, 2, 3), and their colors, shape (k, 3)."""
    where = f"marker {shown(marker.ns)}"
    points = np.array([(point.x, point.y, point.z) for point in marker.points]).reshape(-1, 3)
    if not COORDINATES.holds(points).all():
        raise MessageError("coordinates", f"{where}: expected coordinates {COORDINATES}")
    if marker.type == Marker.LINE_STRIP:
        segments = np.stack([points[:-1], points[1:]], axis=1)
    elif marker.type in (Marker.LINE_LIST, Marker.ARROW) and len(points) % 2 == 0:
        segments = points.reshape(-1, 2, 3)
    else:
        raise MessageError("unknown type", f"{where}: expected lines and arrows, received type {marker.type} with "
                           f"{len(points)} points")
    given = marker.colors if len(marker.colors) == len(points) else [marker.color] * len(points)
    step = 1 if marker.type == Marker.LINE_STRIP else 2  # a line has the color of its first point
    colors = np.array([(color.r, color.g, color.b) for color in given[::step][:len(segments)]]).reshape(-1, 3)
    return segments, np.clip(np.nan_to_num(colors), 0.0, 1.0)
