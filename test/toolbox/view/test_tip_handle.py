# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Drags of the handle at the tip: what they ask for, and that a push ends with the page that it came from."""

from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("viser", reason="viser is not installed: make setup")

from page_client import Asked, open_client, wait_for  # noqa: E402

from robodyn_ros.toolbox.view import tip_handle  # noqa: E402
from robodyn_ros.toolbox.view.tip_handle import MOVE, PUSH, TipHandle  # noqa: E402

TIP, FORCE_SCALE = np.eye(4), 0.01


@pytest.fixture
def rig(server, monkeypatch):
    monkeypatch.setattr(tip_handle, "time", SimpleNamespace(monotonic=lambda: 1000.0))  # hands stay where they are
    asked = Asked()
    handle = TipHandle(server.scene, asked, 1.0, FORCE_SCALE, turns=True)
    handle.follow(TIP, TIP)
    return server, handle, asked


def forces(asked):
    return [request[1] for request in asked if request[0] == "push"]


def test_a_drag_moves_the_tip(rig):
    server, handle, asked = rig
    with open_client(server) as page:
        page.drag("Start", handle._gizmo)
        for position in ((0.1, 0.0, 0.0), (float("nan"), 0.0, 0.0), (0.2, 0.0, 0.3)):
            page.drag("Update", handle._gizmo, position)
        page.drag("End", handle._gizmo)
        wait_for(lambda: len(asked) >= 3, "targets")
        assert {name for name, _ in asked} == {"move_tip"}
        np.testing.assert_allclose([pose[:3, 3] for _, pose in asked][-1], [0.2, 0.0, 0.3])
    handle.follow(TIP, TIP)
    assert handle._gizmo.position[0] == 0.2, "the handle leaves a hand that has just let it go"


def test_a_push_grows_with_the_distance_also_while_the_tip_gives_way(rig):
    server, handle, asked = rig
    handle.set_mode(PUSH)
    with open_client(server) as page:
        page.drag("Start", handle._gizmo)
        page.drag("Update", handle._gizmo, (0.0, 0.0, 0.2))
        wait_for(lambda: np.any(forces(asked)[-1:]), "a force before the next picture")
        np.testing.assert_allclose(forces(asked)[-1], [0.0, 0.0, 20.0])
        tip = np.eye(4)
        tip[2, 3] = 0.05
        handle.follow(tip, tip)
        np.testing.assert_allclose(forces(asked)[-1], [0.0, 0.0, 15.0])
        page.drag("Update", handle._gizmo, (0.0, 0.0, float("inf")))
        page.drag("End", handle._gizmo)
        wait_for(lambda: not np.any(forces(asked)[-1]), "the end of the push")
    assert np.isfinite(forces(asked)).all()


@pytest.mark.parametrize("end", ["the tab is closed", "another mode is chosen"])
def test_a_push_ends_when(rig, end):
    server, handle, asked = rig
    handle.set_mode(PUSH)
    with open_client(server) as page:
        page.drag("Start", handle._gizmo)
        page.drag("Update", handle._gizmo, (0.0, 0.0, 0.2))
        wait_for(lambda: np.any(forces(asked)[-1:]), "a force")
        if end == "the tab is closed":
            page.close()
        else:
            handle.set_mode(MOVE)
        wait_for(lambda: not np.any(forces(asked)[-1]), "the end of the push")
        pushed = len(forces(asked))
        handle.follow(TIP, TIP)
        assert len(forces(asked)) == pushed
