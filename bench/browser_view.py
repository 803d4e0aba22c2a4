"""Cost of the browser view for the control loop: hardware and controller with and without it.

``python -m bench.browser_view page URL`` opens the page as a browser does and takes its messages until it is stopped.
It draws nothing, and has the lowest priority: a browser on this machine would use the same processors, whatever page it
shows.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import rclpy

from bench.hardware_reports import HardwareReports
from bench.report import Section
from robodyn_ros.commands.processes import NodeProcess
from robodyn_ros.errors import RobodynError

ROBOT, CONTROLLER = "arm7", "computed_torque"
REAL_TIME = {"time_mode": "real_time", "update_rate": 500}
LOCKSTEP = {"time_mode": "lockstep", "update_rate": 1000, "clock_rate": 10}
START_SECONDS = 60.0


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


def measure(mode: dict[str, object], viewed: bool, seconds: float) -> tuple[float, int, int, float]:
    """Run hardware and controller for some seconds.

    Args:
        mode: Time mode of the hardware, as parameters.
        viewed: Whether a view and an open page run too.
        seconds: Duration [s].

    Returns:
        Control periods per second, missed periods, periods without a new command, processor time of hardware and
        controller in a period [µs].
    """
    hardware = {"robot": ROBOT, **mode}
    controller = {"robot": ROBOT, "controller": CONTROLLER}
    with ExitStack() as stack:
        nodes = [stack.enter_context(NodeProcess(name, parameters)) for name, parameters in (
            ("hardware", hardware), ("controller", controller), ("state_publisher", {"robot": ROBOT}))]
        if viewed:
            nodes.append(view := stack.enter_context(NodeProcess("view", {"port": 0})))
            page = stack.enter_context(subprocess.Popen(["nice", "-n", "19", sys.executable, "-m", "bench.browser_view",
                                                         "page", wait_for_address(view)]))
            stack.callback(page.send_signal, signal.SIGTERM)
        reports = HardwareReports()
        stack.callback(reports.close)
        _, first = reports.listen(5.0, nodes)[-1]  # until all have started and compiled
        used = sum(processor_time(node.pid) for node in nodes[:2])
        received = reports.listen(seconds, nodes)
        used = sum(processor_time(node.pid) for node in nodes[:2]) - used
    (begin, before), (end, after) = received[0], received[-1]
    periods, missed, unanswered = (int(after[name]) - int(before[name]) for name in (
        "periods", "missed periods", "periods without a new command"))
    return periods / (end - begin), missed, unanswered, 1e6 * used / (int(after["periods"]) - int(first["periods"]))


def processor_time(pid: int) -> float:
    """Processor time that a process has used [s]."""
    user, system = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def wait_for_address(view: NodeProcess) -> str:
    """Return the address of the page, once the view shows a robot.

    Raises:
        RobodynError: The view shows no robot in time.
    """
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end:
        view.check()
        if "showing robot" in (text := view.output()) and (found := re.search(r"http://\S+", text)):
            return found[0]
        time.sleep(0.1)
    raise RobodynError(f"bench: the view showed no robot within {START_SECONDS:g} s")


def rows(repetitions: int = 3, seconds: float = 15.0) -> Iterator[list[str]]:
    """Both modes, without and with the view, alternately."""
    os.environ.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    rclpy.init()
    try:
        for name, mode in (("real time, 500 Hz", REAL_TIME), ("lockstep", LOCKSTEP)):
            pairs = [(measure(mode, False, seconds), measure(mode, True, seconds)) for _ in range(repetitions)]
            for what, runs in zip(("without", "with the view and a page"), zip(*pairs, strict=True), strict=True):
                rates, missed, unanswered, used = np.array(runs).T
                yield [name, what, f"{np.median(rates):.1f}", f"{missed.sum():.0f}", f"{unanswered.sum():.0f}",
                       f"{np.median(used):.0f}"]
    finally:
        rclpy.try_shutdown()


BROWSER_VIEW = Section(
    "Browser view",
    f"The nodes `hardware` ({ROBOT}), `controller` ({CONTROLLER}) and `state_publisher`, each a process, without and "
    "with `robodyn view` and a program of low priority that takes the messages of one page; three times 15 s each, "
    "alternately. Rates are medians of control periods per second; periods that were missed, and those without a new "
    "command, are sums; processor time is the median of hardware and controller together.",
    ("time", "", "periods [1/s]", "missed", "without a new command", "processor time [µs per period]"),
    rows,
)

if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    take_page(sys.argv[2])
