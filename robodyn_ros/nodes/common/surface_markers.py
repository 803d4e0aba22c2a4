# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Topic ``~/surfaces`` of the hardware node: the surfaces of its world as markers, for RViz and the browser view."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from geometry_msgs.msg import Vector3
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker, MarkerArray

from robodyn_ros.base.checks import Range
from robodyn_ros.base.errors import shown
from robodyn_ros.description.model import Array
from robodyn_ros.nodes.common.drawing_markers import replacement
from robodyn_ros.nodes.common.messages import MessageError
from robodyn_ros.nodes.common.poses import read_vector, to_arrays, to_pose
from robodyn_ros.simulation.surface_shapes import ShapeKind, SurfaceShape

COLOR = (0.45, 0.55, 0.70, 0.5)
"""Red, green, blue and opacity, each from 0 to 1."""

MAX_MARKERS = 1000
"""Limit of the markers in one message."""

_TYPES = {ShapeKind.BOX: Marker.CUBE, ShapeKind.SPHERE: Marker.SPHERE, ShapeKind.CYLINDER: Marker.CYLINDER}
_KINDS = {marker: kind for kind, marker in _TYPES.items()}
_COORDINATES = Range(-1e4, 1e4, unit="m")
_SIZES = Range(0.0, 1e4, unit="m", above=True)


def to_markers(shapes: Sequence[SurfaceShape], frame: str) -> MarkerArray:
    """Return markers that replace all previous ones, each in the namespace of its surface's name.

    Args:
        shapes: The shapes.
        frame: tf frame of the base link.
    """
    red, green, blue, opacity = COLOR
    color = ColorRGBA(r=red, g=green, b=blue, a=opacity)
    return replacement(((shape.name, Marker(type=_TYPES[shape.kind], pose=to_pose(shape.pose), color=color,
                                            scale=Vector3(**dict(zip("xyz", shape.size.tolist(), strict=True)))))
                        for shape in shapes), frame)


def from_markers(message: MarkerArray) -> list[SurfaceShape]:
    """Return the shapes of a message of :func:`to_markers`.

    Raises:
        MessageError: There are too many markers, one has another type, or a number that is not finite or too large.
    """
    if len(message.markers) > MAX_MARKERS:
        raise MessageError("too many", f"expected {MAX_MARKERS} markers or fewer, received {len(message.markers)}")
    return [_shape(marker) for marker in message.markers if marker.action == Marker.ADD]


def _shape(marker: Marker) -> SurfaceShape:
    where = f"marker {shown(marker.ns)}"
    if marker.type not in _KINDS:
        raise MessageError("unknown type", f"{where}: type: expected {', '.join(map(str, _KINDS))}, received "
                           f"{marker.type}")
    pose = np.eye(4)
    _, quaternion = to_arrays(marker.pose)
    pose[:3, 3] = read_vector(marker.pose.position, f"{where}: position", _COORDINATES)
    pose[:3, :3] = _rotation(quaternion, where)
    return SurfaceShape(marker.ns, _KINDS[marker.type], read_vector(marker.scale, f"{where}: scale", _SIZES), pose)


def _rotation(quaternion: Array, where: str) -> Array:
    length = float(np.linalg.norm(quaternion))
    if not 0.5 < length < 2.0:  # false for NaN, too
        raise MessageError("no rotation", f"{where}: orientation: expected a unit quaternion, received "
                           f"{quaternion.tolist()}")
    from scipy.spatial.transform import Rotation  # the hardware node only writes markers and should not wait for SciPy

    return np.asarray(Rotation.from_quat(quaternion).as_matrix(), dtype=np.float64)
