# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Reports a missing ROS 2 before a command begins its work."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from robodyn_ros.base.errors import RobodynError


@contextlib.contextmanager
def ros_required() -> Iterator[None]:
    """Turn a failed import of ROS 2 in this context into an error that says what to do.

    Raises:
        RobodynError: ROS 2 or the generated interfaces cannot be imported.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "robodyn_ros":
            raise
        raise RobodynError(f"{error}: this command needs ROS 2 and this workspace's interfaces; source a ROS 2 "
                           "installation if there is one, run 'make setup', then source install/setup.bash") from error
