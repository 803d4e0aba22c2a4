# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.
"""Private interfaces of ROS 2's client libraries, one file a library; only they import these.

Each says what it uses, why the public interface does not do, and what happens in a release that lacks it.
`rclpy_parts.missing` lists what the installed rclpy lacks; nodes log it once at their start.
"""
