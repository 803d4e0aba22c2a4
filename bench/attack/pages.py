# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Attacks on the browser view: handshakes of other sites, absurd messages of pages, and mesh files that grow."""

from __future__ import annotations

import contextlib
import itertools
import json
import random
import re
import socket
import struct
import tempfile
import threading
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import msgspec
import rclpy
import viser
import websockets.sync.client
import zstandard
from geometry_msgs.msg import PoseStamped, WrenchStamped
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from trajectory_msgs.msg import JointTrajectory
from websockets.typing import Subprotocol

from bench.attack.report import Report
from bench.attack.xml_faults import mutated_xml
from robodyn_ros.base.errors import RobodynError
from robodyn_ros.commands.processes import NodeProcess
from robodyn_ros.description.mesh_files import MeshReader
from robodyn_ros.description.mesh_formats import FORMATS
from robodyn_ros.description.resources import robot_file
from robodyn_ros.nodes.common.topics import LATCHED_QOS

NAMESPACE = "pages"
START_SECONDS = 240.0
DESCRIPTIONS = 10
"""Of robots, before a good one."""
ATTEMPT = 30
"""Looks at the log until the good one is described again."""
VISUAL = "<visual><geometry>%s</geometry></visual>"

MESSAGES = 100
"""Messages of a page before the view is looked at."""

_ABSURD: tuple[Any, ...] = (float("nan"), float("inf"), -1e308, 1e308, 2**63, None, "", "nan", "a" * 10_000, b"x" * 100,
                            [], [1.0], {}, {"a": 1}, [[]], [1.0] * 1000)
"""No widget can have one of these values."""
_KINDS = ("ViewerCameraMessage", "GuiUpdateMessage", "TransformControlsUpdateMessage", "ShareUrlRequest",
          "FileTransferStartUpload", "GetRenderResponseMessage", "RunJavascriptMessage", "GuiButtonHoldMessage", "")


class AttackedView:
    """A view of a robot that this process plays, and the requests that come from it; a context manager."""

    def __enter__(self) -> Self:
        """Start the view, and wait for the robot's page."""
        self._context = Context()
        rclpy.init(context=self._context)
        self._node = Node("robot", context=self._context, namespace=NAMESPACE, enable_rosout=False)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self._node)
        self.requests: list[str] = []
        for kind, topic in ((JointTrajectory, "controller/joint_trajectory"), (PoseStamped, "controller/pose"),
                            (WrenchStamped, "hardware/external_wrench")):
            self._node.create_subscription(kind, topic, lambda _, topic=topic: self.requests.append(topic), 10)
        urdf = robot_file("planar_2r").read_text()
        self._description = self._node.create_publisher(String, "robot_description", LATCHED_QOS)
        self.describe(urdf)
        states = self._node.create_publisher(JointState, "joint_states", 10)
        state = JointState(name=["joint1", "joint2"], position=[0.1, 0.2])
        self._node.create_timer(0.05, lambda: states.publish(state))
        self._thread = threading.Thread(target=self._executor.spin, daemon=True)
        self._thread.start()
        self.process = NodeProcess("view", namespace=NAMESPACE, command=(
            "-m", "robodyn_ros", "view", "--port", "0", "--namespace", NAMESPACE))
        self.wait_for(lambda: "showing robot" in self.process.output(), "show the robot")
        self.url = re.search(r"http://\S+", self.process.output())[0]  # type: ignore[index]
        return self

    def __exit__(self, *_: object) -> None:
        """End the view."""
        self.process.__exit__()
        self._executor.shutdown()
        self._thread.join()
        self._node.destroy_node()
        self._context.try_shutdown()

    def describe(self, urdf: str) -> None:
        """Publish a description."""
        self._description.publish(String(data=urdf))

    def wait_for(self, condition: Callable[[], bool], what: str) -> None:
        """Wait for something that the view does.

        Raises:
            RobodynError: It does not do it in time, or has ended.
        """
        end = time.monotonic() + START_SECONDS
        while not condition():
            self.process.check()
            if time.monotonic() > end:
                raise RobodynError(f"the view does not {what} within {START_SECONDS:g} s")
            time.sleep(0.1)


def attack_pages(seed: int, end: float, report_path: Path) -> None:
    """Attack a view until a time; the report is written after each attack.

    Args:
        seed: The seed.
        end: When to end (monotonic clock) [s].
        report_path: File of the report.
    """
    report, number = Report(seed), 0
    with AttackedView() as view, tempfile.TemporaryDirectory() as folder:
        while number == 0 or time.monotonic() < end:
            chance = random.Random(f"{seed} pages {number}")
            _other_site(view, report, chance, number)
            _page(view, report, chance, number)
            _mesh(report, chance, number, Path(folder))
            _descriptions(view, report, chance, number)
            output = view.process.output()
            if not view.process.running() or "Traceback" in output or view.requests:
                report.fail("pages", number, f"the view sent {view.requests}, or ended, or printed: {output[-3000:]}")
                break
            report.write(report_path)
            number += 1
    report.write(report_path)


def _other_site(view: AttackedView, report: Report, chance: random.Random, number: int) -> None:
    """Open a WebSocket as the page of another site, and send at once."""
    host = view.url.removeprefix("http://").rstrip("/")
    origin = chance.choice(("http://evil.example", "null", "http://[", f"http://{host}.evil.example", "file://",
                            f"http://evil.example@{host}", f"https://{chance.randbytes(8).hex()}.example"))
    drag = msgspec.msgpack.encode({"type": "TransformControlsUpdateMessage", "name": "/tip handle", "owner": "",
                                   "wxyz": [1.0, 0.0, 0.0, 0.0], "position": [0.1, 0.0, 0.0]})
    lines = ("GET / HTTP/1.1", f"Host: {host}", f"Origin: {origin}", "Connection: Upgrade", "Upgrade: websocket",
             "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: MDAwMDAwMDAwMDAwMDAwMA==",
             f"Sec-WebSocket-Protocol: viser-v{viser.__version__}", "", "")
    address, _, port = host.rpartition(":")
    with socket.create_connection((address, int(port)), timeout=30.0) as raw:
        raw.sendall("\r\n".join(lines).encode() + bytes([0x82, 0xFE]) + len(drag).to_bytes(2, "big") + bytes(4) + drag)
        status = raw.recv(100).split(b"\r\n")[0].decode(errors="replace")
    report.count("other sites", "tried", "refused" if " 403 " in status else "let in")
    if " 403 " not in status:
        report.fail("other sites", number, f"the origin {origin!r} was answered {status!r}")


def _page(view: AttackedView, report: Report, chance: random.Random, number: int) -> None:
    """Send absurd messages for the widgets and the tip handle of a page that was let in."""
    try:
        with websockets.sync.client.connect(view.url.replace("http", "ws"), max_size=None,
                                            subprotocols=[Subprotocol(f"viser-v{viser.__version__}")]) as page:
            data = page.recv(timeout=30.0, decode=False)
            size = int.from_bytes(data[8:16], "little")
            known = msgspec.msgpack.decode(zstandard.decompress(data[16:16 + size]))["messages"]
            widgets = [message["uuid"] for message in known if "uuid" in message] or [""]
            names = [message["name"] for message in known if "name" in message] or [""]
            for _ in range(MESSAGES):
                page.send(_message(chance, widgets, names))
                report.count("page messages", "tried")
            page.ping().wait(30.0)
    except (OSError, TimeoutError, websockets.WebSocketException) as error:
        report.fail("page messages", number, f"the page was cut off: {error}")


def _message(chance: random.Random, widgets: list[str], names: list[str]) -> bytes | str:
    way = chance.randrange(8)
    if way == 0:
        return chance.randbytes(chance.randrange(200))
    if way == 1:
        return "text" * chance.randrange(20)
    fields: dict[str, Any] = {"type": chance.choice(_KINDS), "name": chance.choice(names), "owner": "",
                              "uuid": chance.choice(widgets)}
    for field in ("updates", "wxyz", "position", "fov", "image_width", "mime_type"):
        if chance.random() < 0.5:
            fields[field] = chance.choice(_ABSURD)
    if way > 4:
        fields = {"type": "GuiUpdateMessage", "uuid": chance.choice(widgets), "updates": {
            chance.choice(("value", "value", "update_cb", "removed", "props")): chance.choice(_ABSURD)}}
    return msgspec.msgpack.encode(fields)


def _descriptions(view: AttackedView, report: Report, chance: random.Random, number: int) -> None:
    """Describe robots with faults and with absurd shapes, and then a good one, which is shown."""
    good = robot_file("planar_2r").read_text()
    for _ in range(DESCRIPTIONS):
        text = mutated_xml(good.encode(), chance).decode("utf-8", "replace")
        if chance.random() < 0.5:
            size = chance.choice(("nan nan nan", "1e300 1 1", "-1 1 1", "0 0 0", "1 1", "", "inf 1 1"))
            shape = chance.choice((f'<box size="{size}"/>', '<sphere radius="1e9"/>', '<sphere radius="nan"/>',
                                   '<cylinder radius="-1" length="1e300"/>', '<mesh filename="/dev/zero"/>',
                                   f'<mesh filename="package://none/a.stl" scale="{size}"/>'))
            shapes = VISUAL % shape * chance.choice((1, 3000))
            text = good.replace('<link name="link1">', f'<link name="link1">{shapes}')
        view.describe(text)
        report.count("shown descriptions", "tried")
        time.sleep(0.05)  # the view keeps one description; a later one would displace it unread
    name, attempts = f"good{number}", itertools.count()
    robot = good.replace('<robot name="planar_2r"', f'<robot name="{name}"')

    def is_shown() -> bool:
        if next(attempts) % ATTEMPT == 0:  # the log passes over lines that come soon after another
            view.describe(f"{robot}<!-- {next(attempts)} -->")
        return f"showing robot '{name}'" in view.process.output()

    try:
        view.wait_for(is_shown, f"show the good robot '{name}'")
    except RobodynError as error:
        report.fail("shown descriptions", number, str(error))


def _mesh(report: Report, chance: random.Random, number: int, folder: Path) -> None:
    """Read a mesh file that is absurd."""
    path = folder / f"mesh{number}{chance.choice(FORMATS)}"
    path.write_bytes(_content(path.suffix, chance))
    begin = time.monotonic()
    with contextlib.closing(MeshReader()) as reader:
        try:
            reader.read(path)
            report.count("meshes", "tried", "accepted")
        except ValueError:
            report.count("meshes", "tried", "refused")
    report.measure("meshes", "time [s]", time.monotonic() - begin)
    path.unlink()


def _content(suffix: str, chance: random.Random) -> bytes:
    count = chance.choice((0, 1, 10**6, 4 * 10**9))
    if chance.random() < 0.2:
        return chance.randbytes(chance.randrange(1000))
    if suffix == ".stl":
        numbers = [chance.choice((0.0, 1e30, float("nan")))] * 12
        return bytes(80) + struct.pack("<I", count) + struct.pack("<12f", *numbers)
    if suffix in (".3mf", ".zae"):
        with tempfile.TemporaryFile() as file:
            with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
                archive.writestr("3D/3dmodel.model" if suffix == ".3mf" else "a.dae", bytes(chance.choice((10, 2**26))))
            file.seek(0)
            return file.read()
    if suffix in (".glb", ".gltf"):
        return json.dumps({
            "asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0]}],
            "nodes": [{"mesh": 0, "children": chance.choice(([], [0]))}],
            "meshes": [{"primitives": [{"attributes": {"POSITION": 0}}]}],
            "accessors": [{"componentType": 5126, "count": count, "type": "VEC3"}]}).encode()
    texts = {".obj": "v nan 0 0\nv 1 0 0\nv 0 1e300 0\nf 1 2 %d\n", ".off": "OFF\n%d 1 0\n0 0 0\n",
             ".ply": "ply\nformat ascii 1.0\nelement vertex %d\nproperty float x\nend_header\n0\n",
             ".dae": "<COLLADA><library_geometries count='%d'/></COLLADA>"}
    return (texts[suffix] % count).encode()
