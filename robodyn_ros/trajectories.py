# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Motions to follow: of the joints, of the tip link, and an excursion that any robot can make."""

from robodyn_ros.control.references.joint_trajectory import JointTrajectory, Points
from robodyn_ros.control.references.quintic import rest_to_rest_duration
from robodyn_ros.control.references.tip_trajectory import TipTrajectory
from robodyn_ros.simulation.standard_motion import excursion, excursion_points, offset_start

__all__ = ["JointTrajectory", "Points", "TipTrajectory", "excursion", "excursion_points", "offset_start",
           "rest_to_rest_duration"]
