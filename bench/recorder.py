"""Cost of the recorder for the control loop: hardware and controller with and without it."""

from __future__ import annotations

import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from bench.beside_the_nodes import CONDITIONS, HEAD, rows
from bench.report import Section
from robodyn_ros.commands.processes import NodeProcess
from robodyn_ros.commands.record import END_SECONDS
from robodyn_ros.errors import RobodynError

START_SECONDS = 60.0


def recorder(stack: ExitStack) -> NodeProcess:
    """Start ``robodyn record``, as ``simulate --record`` does.

    Raises:
        RobodynError: It does not begin to record in time.
    """
    folder = stack.enter_context(tempfile.TemporaryDirectory())
    process = stack.enter_context(NodeProcess("record", patience=END_SECONDS, command=[
        "-m", "robodyn_ros", "record", f"--output={Path(folder) / 'run'}"]))
    end = time.monotonic() + START_SECONDS
    while "recording to" not in process.output():
        process.check()
        if time.monotonic() > end:
            raise RobodynError(f"bench: the recorder did not begin within {START_SECONDS:g} s")
        time.sleep(0.1)
    return process


RECORDER = Section(
    "Recorder",
    CONDITIONS.format(program="`robodyn record`, which takes every message of every topic and runs with a low "
                              "priority (nice 10)"),
    HEAD,
    lambda: rows(recorder, "with the recorder"),
)
