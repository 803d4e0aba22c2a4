# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Exports control laws and dynamics to C, for micro-controllers and real-time loops."""

from robodyn_ros.toolbox.export.c_delay import delay_source
from robodyn_ros.toolbox.export.c_law import law_source
from robodyn_ros.toolbox.export.c_motion import motion_source
from robodyn_ros.toolbox.export.c_plant import plant_source
from robodyn_ros.toolbox.export.c_source import CSource, dynamics_source, write_new
from robodyn_ros.toolbox.export.ros2_control import ros2_control_package

__all__ = ["CSource", "delay_source", "dynamics_source", "law_source", "motion_source", "plant_source",
           "ros2_control_package", "write_new"]
