# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""A program that speaks the page's protocol, as a browser does, and may be as slow as a bad link."""

import contextlib
import threading
import time

import msgspec
import viser
import websockets.sync.client
import zstandard

from robodyn_ros.toolbox.view.server import address

CAMERA = {"type": "ViewerCameraMessage", "wxyz": [1.0, 0, 0, 0], "position": [1.0, 1, 1], "fov": 1.0, "near": 0.1,
          "far": 10.0, "image_height": 10, "image_width": 10, "look_at": [0.0, 0, 0], "up_direction": [0.0, 0, 1]}


class PageClient:
    """A page that is connected; use :func:`open_client`."""

    def __init__(self, socket):
        self._socket, self._messages = socket, []
        threading.Thread(target=self._receive, daemon=True).start()
        self.send(CAMERA)

    def _receive(self):
        with contextlib.suppress(websockets.ConnectionClosed):
            while True:
                data = self._socket.recv()
                size = int.from_bytes(data[8:16], "little")
                self._messages += msgspec.msgpack.decode(zstandard.decompress(data[16:16 + size]))["messages"]

    def send(self, message):
        self._socket.send(msgspec.msgpack.encode(message))

    def give(self, handle, value):
        """Give a value to a widget, and wait until the server holds it."""
        self.send({"type": "GuiUpdateMessage", "uuid": handle._impl.uuid, "updates": {"value": value}})
        wait_for(lambda: handle.value == value or value != value, f"the value {value}")

    def drag(self, phase, gizmo, position=(0.0, 0.0, 0.0)):
        """Send a phase of a drag: Start, Update or End."""
        pose = {"wxyz": [1.0, 0.0, 0.0, 0.0], "position": list(position)} if phase == "Update" else {}
        kind = "TransformControls" + ("" if phase == "Update" else "Drag") + f"{phase}Message"
        self.send({"type": kind, "name": gizmo.name, "owner": "", **pose})

    def received(self, handle):
        """Values of a widget that the page has got."""
        return [message["updates"]["value"] for message in list(self._messages)
                if message["type"] == "GuiUpdateMessage" and message["uuid"] == handle._impl.uuid
                and "value" in message["updates"]]

    def widget(self, label):
        """Identifier of the newest widget with a label; None if there is none."""
        return next((message["uuid"] for message in reversed(list(self._messages))
                     if isinstance(message.get("props"), dict) and message["props"].get("label") == label), None)

    def use(self, label, value):
        """Give a value to a widget of another process by its label; True clicks a button."""
        self.send({"type": "GuiUpdateMessage", "uuid": wait_for(lambda: self.widget(label), f"the widget {label}"),
                   "updates": {"value": value}})

    def shows(self, text):
        """Whether the last text that the page got for one of its elements contains a text."""
        contents = {}
        for message in list(self._messages):
            if "uuid" in message:
                for fields in (message.get("props"), message.get("updates")):
                    if isinstance(fields, dict) and "content" in fields:
                        contents[message["uuid"]] = fields["content"]
        return any(text in content for content in contents.values() if isinstance(content, str))

    def state(self, label, field):
        """The last value of a widget's field that the page got: ``value``, ``disabled``."""
        uuid, found = self.widget(label), None
        for message in list(self._messages):
            if message.get("uuid") == uuid:
                for fields in (message, message.get("props"), message.get("updates")):
                    if isinstance(fields, dict) and field in fields:
                        found = fields[field]
        return found

    def scene_node(self, name):
        """The message that created a node of the scene; None if there is none."""
        return next((message for message in list(self._messages) if message.get("name") == name and "props" in message),
                    None)

    def scene_updates(self, name):
        """Changes of a node of the scene since it was created, by property; a dictionary for each message."""
        return [message["updates"] for message in list(self._messages)
                if message.get("name") == name and "updates" in message]

    def close(self):
        self._socket.close()


class Asked(list):
    """Takes the place of the graph: records the requests in order."""

    def __getattr__(self, name):
        return lambda *arguments: self.append((name, *arguments))


@contextlib.contextmanager
def open_client(server):
    """A page that the server knows."""
    before = set(server.get_clients())
    with open_page_of(address(server)) as client:
        wait_for(lambda: set(server.get_clients()) - before, "the client")
        yield client


@contextlib.contextmanager
def open_page_of(url):
    """A page of a server in another process."""
    with websockets.sync.client.connect(url.replace("http", "ws"), subprotocols=[f"viser-v{viser.__version__}"],
                                        max_size=None) as socket:
        yield PageClient(socket)


def wait_for(condition, what, timeout=20.0):
    """Value of a condition, once it is true."""
    end = time.monotonic() + timeout
    while not (value := condition()):
        assert time.monotonic() < end, f"waited {timeout} s for {what}"
        time.sleep(0.005)
    return value
