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

from robodyn_ros.base.common_fields import DEFAULT_ROBOT, PORT
from robodyn_ros.base.errors import InputError
from robodyn_ros.commands.supervision import RESTARTS

SIMULATION = {
    "robot": (DEFAULT_ROBOT, "Robot that comes with the package, or path of a URDF file."),
    "complete": ("", "Estimate missing inertias, as robodyn complete does: mass=KG or density=KG_PER_M3, and repair, "
                 "with commas; auto: no number."),
    "tip_link": ("", "Link that laws and commands of the tip move; empty: the tool frame of the longest arm."),
    "controller": ("", "Controller plugin, such as pd or computed_torque; empty: as in the parameter files."),
    "time_mode": ("", "Pace of the simulation: lockstep, real_time or scaled; empty: as in the parameter files, which "
                  "is lockstep."),
    "real_time_factor": ("", "Simulated seconds per second, for time_mode:=scaled; empty: as in the parameter files."),
    "speed_limit": ("", "Greatest number of simulated seconds per second, for time_mode:=lockstep; 0: none; empty: as "
                    "in the parameter files, which is 1."),
    "actuators": ("", "YAML file of actuators and friction, or its name in config/; empty: as in the parameter files."),
    "driver": ("", "Driver of the arm that the hardware plays, such as ur or franka, or its file; empty: as in the "
               "parameter files."),
    "world": ("", "YAML file of surfaces that the robot can touch, or its name in config/; empty: as in the parameter "
              "files."),
    "engine": ("", "Simulator of the bodies: robodyn, or mujoco (MuJoCo); empty: as in the parameter files."),
    "mujoco_scene": ("", "MJCF file, for engine:=mujoco; empty: as in the parameter files."),
    "params_file": ("", "YAML file of further ROS parameters, which win over config/simulation.yaml."),
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
