# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Camera and grid for robots of any size."""

import numpy as np
import pytest

pytest.importorskip("yourdfpy", reason="yourdfpy is not installed: make setup")

import trimesh  # noqa: E402

from robodyn_ros.toolbox.view.framing import FIELD_OF_VIEW, Framing  # noqa: E402
from robodyn_ros.toolbox.view.link_meshes import LinkMesh  # noqa: E402


def framing(extents, center=(0.0, 0.0, 0.0)):
    pose = np.eye(4)
    pose[:3, 3] = center
    return Framing.from_shapes([LinkMesh("link", trimesh.creation.box(extents), None)], {"link": pose})


@pytest.mark.parametrize("size", [0.02, 0.2, 1.0, 1.8, 30.0])
@pytest.mark.parametrize("aspect", [0.5, 1.0, 2.0])
def test_the_camera_sees_the_whole_robot_and_not_much_more(size, aspect):
    box = framing([0.3 * size, 0.3 * size, size], (1.0, 2.0, 3.0))
    forward = box.center - box.camera_position(aspect)
    distance = np.linalg.norm(forward)
    forward /= distance
    right = np.cross(forward, [0, 0, 1])
    right /= np.linalg.norm(right)
    axes = np.stack([right, np.cross(right, forward), forward])
    corners = box.center + np.array(np.meshgrid(*[[-0.5, 0.5]] * 3)).reshape(3, 8).T * [0.3 * size, 0.3 * size, size]
    seen = (corners - box.camera_position(aspect)) @ axes.T
    half = np.tan(FIELD_OF_VIEW / 2.0)
    across, up = np.abs(seen[:, :2] / seen[:, 2:]).max(axis=0) / [half * aspect, half]
    assert max(across, up) < 1.0
    assert max(across, up) > 0.3


@pytest.mark.parametrize(("size", "cell"), [(0.2, 0.02), (1.0, 0.1), (1.8, 0.2), (30.0, 2.0)])
def test_the_grid_has_round_cells(size, cell):
    assert framing([size, 0.1 * size, 0.1 * size]).cell == pytest.approx(cell)


def test_the_floor_is_the_lowest_point():
    assert framing([1, 1, 1], (0, 0, -2)).floor == pytest.approx(-2.5)
