# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Arguments of the launch files, and a check for unknown ones, which launch itself ignores."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Sequence
from pathlib import Path

from robodyn_ros.base.common_fields import PORT
from robodyn_ros.base.errors import InputError
from robodyn_ros.base.fields import Field, declared
from robodyn_ros.commands.simulation_setup import SimulationSettings
from robodyn_ros.commands.supervision import RESTARTS


def _description(field: Field) -> str:
    choices = f"; one of {', '.join(field.choices)}" if field.choices else ""
    empty = "; empty: not given" if field.default is None else ""
    return f"{field.text.removesuffix('.')}{choices}{empty}."


SIMULATION = {
    **{name: (field.default or "", _description(field)) for name, field in declared(SimulationSettings).items()},
    "namespace": ("", "Namespace of all nodes and their topics; /tf, /tf_static and /clock stay global."),
    "frame_prefix": ("", "Prefix of the name of every tf frame, to distinguish several robots."),
    "rviz": ("false", "Whether to open RViz, set up for the robot: true or false."),
    "clock_rate": ("", "Messages on /clock per simulated second; 0 for all robots but one; empty: as in the files."),
    "restarts": (str(RESTARTS), "Greatest number of restarts of each node after failures."),
    "view": ("false", "Whether to show the graph in a browser, at http://127.0.0.1:8080: true or false."),
    "view_port": ("", f"Port of the page, for view:=true; empty: {PORT.default}."),
}
"""Arguments of simulation.launch.py: default and description."""

PER_ROBOT = ("robot", "namespace", "frame_prefix", "clock_rate", "view_port")
"""The arguments that differ between two robots of one graph."""

LAUNCH_ARGUMENTS_OF_ROS = ("launch-prefix", "launch-prefix-filter", "emulate_tty", "sigterm_timeout",
                           "sigkill_timeout", "log_level")
"""Arguments that launch and launch_ros read themselves."""


def refuse_unknown(file: str | Path, command_line: Sequence[str], known: Collection[str]) -> None:
    """Refuse unknown arguments if the command line launches this file directly.

    A file that includes it may have its own arguments.

    Args:
        file: The launch file.
        command_line: Arguments of the process: name or path of the launched file, then ``name:=value``.
        known: Names of the file's arguments.

    Raises:
        InputError: There are unknown arguments; the message names the closest known ones.
    """
    words = [word for word in command_line if ":=" not in word]
    if Path(file).name not in {Path(word).name for word in words}:
        return
    for name in (word.partition(":=")[0] for word in command_line if ":=" in word):
        if name not in known and name not in LAUNCH_ARGUMENTS_OF_ROS:
            near = difflib.get_close_matches(name, known, n=2)
            advice = f"did you mean {' or '.join(map(repr, near))}?" if near else f"it has {', '.join(known)}"
            raise InputError(f"launch argument '{name}': {Path(file).name} has no such argument; {advice}")
