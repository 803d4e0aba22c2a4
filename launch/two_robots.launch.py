# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Launch two simulated robots side by side, each in a namespace and with tf frames of its own, and with one /clock.

``ros2 launch robodyn_ros two_robots.launch.py left:=arm6 right:=arm7 time_mode:=scaled``. The same in XML and in YAML:
two_robots.launch.xml, two_robots.launch.yaml.
"""

from __future__ import annotations

import sys
from pathlib import Path

from launch.actions import DeclareLaunchArgument, GroupAction, IncludeLaunchDescription, OpaqueFunction
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration

from launch import LaunchDescription
from robodyn_ros.commands.launch_arguments import refuse_unknown

ARGUMENTS = {
    "left": ("arm6", "Robot in the namespace left: one that comes with the package, or path of a URDF file."),
    "right": ("arm7", "Robot in the namespace right."),
    "controller": ("", "Controller plugin of both; empty: as in the parameter files."),
    "engine": ("", "Simulator of the bodies of both: robodyn or mujoco; empty: as in the parameter files."),
    "world": ("", "YAML file of surfaces that either robot can touch, in the frame of its own base link; empty: none."),
    "time_mode": ("", "Pace of both simulations: real_time, scaled or lockstep; empty: as in the parameter files."),
}
"""Launch arguments: default and description."""

CLOCK_RATE = {"left": "", "right": "0"}
"""The left robot publishes /clock for both, where time is simulated."""


def generate_launch_description() -> LaunchDescription:
    """Return the launch description, as ``ros2 launch`` asks for it."""
    arguments = [DeclareLaunchArgument(name, default_value=default, description=description)
                 for name, (default, description) in ARGUMENTS.items()]
    check = OpaqueFunction(function=lambda context: refuse_unknown(__file__, sys.argv, ARGUMENTS))
    return LaunchDescription([*arguments, check, *map(robot, CLOCK_RATE)])


def robot(side: str) -> GroupAction:
    """Return the nodes of one robot; the group keeps its launch arguments from the other one."""
    file = Path(__file__).with_name("simulation.launch.py")
    given = {"robot": LaunchConfiguration(side), "namespace": side, "frame_prefix": f"{side}/",
             "clock_rate": CLOCK_RATE[side]}
    return GroupAction([IncludeLaunchDescription(PythonLaunchDescriptionSource(str(file)),
                                                 launch_arguments=given.items())])
