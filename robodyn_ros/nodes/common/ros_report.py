# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Release, middleware and discovery of ROS 2, for ``robodyn doctor``."""

from __future__ import annotations

import os

import rclpy
from rclpy.utilities import get_rmw_implementation_identifier

import robodyn_interfaces.msg  # noqa: F401  (a workspace that is not sourced lacks it)
from robodyn_ros.nodes.common.discovery import described, participants_here, stay_on_this_machine
from robodyn_ros.nodes.common.transport import init_ros


def ros_report() -> list[tuple[str, str]]:
    """Return names and values of the report's lines; commands search for nodes accordingly.

    Raises:
        RobodynError: ROS refuses the environment.
    """
    stay_on_this_machine()
    init_ros()
    try:
        domain = rclpy.get_default_context().get_domain_id()
        release = os.environ.get("ROS_DISTRO") or f"{os.environ.get('ROBODYN_DISTRO', 'unknown')}, from wheels"
        return [("ROS 2", f"{release}, {get_rmw_implementation_identifier()}, ROS_DOMAIN_ID {domain}"),
                ("discovery", described().removeprefix("discovery: ")),
                ("participants", f"{participants_here(domain)} others of this domain on this computer")]
    finally:
        rclpy.try_shutdown()
