# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Surfaces in the scene, without a browser."""

import numpy as np
import pytest

pytest.importorskip("viser", reason="viser is not installed: make setup")

from robodyn_ros.simulation.surface_shapes import ShapeKind, SurfaceShape  # noqa: E402
from robodyn_ros.toolbox.view.robot_figure import to_pose  # noqa: E402
from robodyn_ros.toolbox.view.surface_figures import SurfaceFigures  # noqa: E402

TURNED = np.array([[0.0, 0.0, 1.0, 0.1], [1.0, 0.0, 0.0, 0.2], [0.0, 1.0, 0.0, 0.3], [0.0, 0.0, 0.0, 1.0]])
SIZE = np.array([0.2, 0.3, 0.5])


def extents(figure):
    """Extents of a drawn shape along its axes, shape (3,) [m]."""
    if hasattr(figure, "dimensions"):
        return np.array(figure.dimensions)
    diameter = 2.0 * figure.radius
    return np.array(figure.scale) * [diameter, diameter, getattr(figure, "height", diameter)]


def test_shapes_are_drawn_where_they_are_in_place_of_the_former_ones(server):
    server.scene.reset()
    figures = SurfaceFigures(server.scene)
    figures.show([SurfaceShape(kind.value, kind, SIZE, TURNED) for kind in ShapeKind])
    nodes = server.scene._handle_from_node_name
    drawn = [nodes[f"/surfaces/{number}"] for number in range(3)]
    for figure in drawn:
        np.testing.assert_allclose(extents(figure), SIZE)
        np.testing.assert_allclose(to_pose(figure.position, figure.wxyz), TURNED, atol=1e-12)
    figures.show([SurfaceShape("ball", ShapeKind.SPHERE, 2.0 * SIZE, np.eye(4))])
    assert [name for name in nodes if name.startswith("/surfaces/")] == ["/surfaces/0"]
    np.testing.assert_allclose(extents(nodes["/surfaces/0"]), 2.0 * SIZE)
    figures.show([])
    assert not any(name.startswith("/surfaces/") for name in nodes)
