# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""``robodyn record`` records a running graph; ``simulate --record`` starts it beside the simulation."""

from __future__ import annotations

import time
from argparse import Namespace
from pathlib import Path

from robodyn_ros.base.bounded_files import expand_user
from robodyn_ros.base.errors import InputError, RecordingError
from robodyn_ros.base.optional_packages import require
from robodyn_ros.commands.options import Subparsers
from robodyn_ros.commands.processes import ros_arguments
from robodyn_ros.commands.required import ros_required
from robodyn_ros.nodes.common.signals import hold_stop_signals

END_SECONDS = 20.0
"""Longest wait for a recorder to finish writing [s]."""


def add_commands(commands: Subparsers) -> None:
    """Add ``record``."""
    record = commands.add_parser(
        "record",
        help="record a running graph: a rosbag2 folder with MCAP",
        description="Record all topics of a running graph, and the parameters of its nodes, until Ctrl-C.",
    )
    record.add_argument("--output", default="", help="folder to make (default: run_ and the date and time)")
    record.add_argument("--namespace", default="", help="record this namespace only (default: everything)")
    record.set_defaults(run=run_record, takes_ros_arguments=True)


def run_record(options: Namespace) -> int:
    """Record until SIGINT or SIGTERM.

    Raises:
        RecordingError: The folder exists.
        RobodynError: mcap or ROS 2 is not installed.
    """
    require("mcap_ros2")
    folder = new_folder(options.output or time.strftime("run_%Y-%m-%d_%H-%M-%S"))
    hold_stop_signals()
    with ros_required():
        from robodyn_ros.nodes.recorder.node import main
    return main([*ros_arguments({"output": str(folder)}, options.namespace), *options.ros_arguments])


def new_folder(path: str) -> Path:
    """Return the path of a new recording.

    Raises:
        RecordingError: It exists, or its ``~`` names no user.
    """
    try:
        folder = expand_user(path)
    except InputError as error:
        raise RecordingError(f"--output: {error}") from None
    if folder.exists():
        raise RecordingError(f"'{folder}' exists already, and recordings are never overwritten: give another name")
    return folder
