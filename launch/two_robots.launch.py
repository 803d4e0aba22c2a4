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
from robodyn_ros.base.common_fields import PORT
from robodyn_ros.commands.launch_arguments import PER_ROBOT, SIMULATION, refuse_unknown

ARGUMENTS = {
    "left": ("arm6", "Robot in the namespace left: one that comes with the package, or path of a URDF file."),
    "right": ("arm7", "Robot in the namespace right."),
    **{name: argument for name, argument in SIMULATION.items() if name not in PER_ROBOT},
}
"""Launch arguments: default and description; those of simulation.launch.py count for both robots."""

OF_SIDE = {"left": {}, "right": {"clock_rate": "0", "view_port": str(PORT.default + 1)}}
"""What is not the same for both; the left robot publishes /clock for both, where time is simulated."""


def generate_launch_description() -> LaunchDescription:
    """Return the launch description, as ``ros2 launch`` asks for it."""
    arguments = [DeclareLaunchArgument(name, default_value=default, description=description)
                 for name, (default, description) in ARGUMENTS.items()]
    check = OpaqueFunction(function=lambda context: refuse_unknown(__file__, sys.argv, ARGUMENTS))
    return LaunchDescription([*arguments, check, *map(robot, OF_SIDE)])


def robot(side: str) -> GroupAction:
    """Return the nodes of one robot; the group keeps its launch arguments from the other one."""
    file = Path(__file__).with_name("simulation.launch.py")
    given = {"robot": LaunchConfiguration(side), "namespace": side, "frame_prefix": f"{side}/", **OF_SIDE[side]}
    return GroupAction([IncludeLaunchDescription(PythonLaunchDescriptionSource(str(file)),
                                                 launch_arguments=given.items())])
