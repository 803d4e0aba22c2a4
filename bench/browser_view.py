# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Cost of the browser view for the control loop: hardware and controller with and without it.

``python -m bench.browser_view page URL`` opens the page as a browser does and takes its messages until it is stopped.
It draws nothing: a browser on this machine would use the same processors, whatever page it shows.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from contextlib import ExitStack

from bench.beside_the_nodes import CONDITIONS, HEAD, rows, wait_for_output
from bench.report import Section
from robodyn_ros.commands.processes import NodeProcess


def take_page(url: str) -> None:
    """Take the messages of a page until the process is stopped."""
    import msgspec
    import viser
    import websockets.sync.client
    import websockets.typing

    camera = {"type": "ViewerCameraMessage", "wxyz": [1.0, 0.0, 0.0, 0.0], "position": [1.0, 1.0, 1.0], "fov": 1.0,
              "near": 0.1, "far": 10.0, "image_height": 600, "image_width": 800, "look_at": [0.0, 0.0, 0.0],
              "up_direction": [0.0, 0.0, 1.0]}
    protocol = websockets.typing.Subprotocol(f"viser-v{viser.__version__}")
    with websockets.sync.client.connect(url.replace("http", "ws"), subprotocols=[protocol], max_size=None) as page:
        page.send(msgspec.msgpack.encode(camera))
        while True:
            page.recv()


def view_and_page(stack: ExitStack) -> NodeProcess:
    """Start a view, and a program that takes the messages of its page."""
    view = stack.enter_context(NodeProcess("view", {"port": 0}))
    wait_for_output(view, "showing robot")
    address = wait_for_output(view, r"http://\S+")[0]
    page = stack.enter_context(subprocess.Popen(["nice", "-n", "19", sys.executable, "-m", "bench.browser_view",
                                                 "page", address]))
    stack.callback(page.send_signal, signal.SIGTERM)
    return view


BROWSER_VIEW = Section(
    "Browser view",
    CONDITIONS.format(program="`robodyn view` and a program of low priority that takes the messages of one page"),
    HEAD,
    lambda: rows(view_and_page, "with the view and a page"),
)

if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    take_page(sys.argv[2])
