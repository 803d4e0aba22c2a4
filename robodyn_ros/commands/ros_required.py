"""Imports of ROS 2 when a command needs them: all other commands work without it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from robodyn_ros.errors import RobodynError


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
