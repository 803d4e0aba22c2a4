# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.
"""Private parts of viser, in the installed release and in one without them."""

from types import SimpleNamespace

import pytest

pytest.importorskip("viser")

from robodyn_ros import InputError  # noqa: E402
from robodyn_ros.toolbox.view.viser_parts import send_again, serving_with, widget  # noqa: E402


def test_the_installed_release_has_them(server, monkeypatch):
    slider = server.gui.add_slider("speed", min=0.0, max=1.0, step=0.1, initial_value=0.5)
    assert widget(server, slider._impl.uuid) is slider and widget(server, "nobody") is None
    sent = []
    monkeypatch.setattr(slider._impl.gui_api._websock_interface, "queue_message", sent.append)
    send_again(slider)
    assert [(message.uuid, message.updates) for message in sent] == [(slider._impl.uuid, {"value": 0.5})]
    slider.remove()
    assert widget(server, slider._impl.uuid) is None


def test_a_release_without_them_refuses_messages_and_sends_nothing():
    with pytest.raises(InputError, match="this release of viser is not known"):
        widget(SimpleNamespace(gui=SimpleNamespace()), "slider")
    send_again(SimpleNamespace(value=1.0))


def test_a_server_that_starts_in_another_way_is_known():
    with serving_with(dict) as used:
        pass
    assert used == []
