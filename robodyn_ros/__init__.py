"""Robot dynamics from a URDF, a simulated robot, and controllers swapped by a parameter, on ROS 2.

``from robodyn_ros import Robot`` is the door; everything it needs is imported when it is first used.
"""

from typing import TYPE_CHECKING, Any

from robodyn_ros.errors import (
    CompileError,
    DescriptionError,
    DescriptionWarning,
    InputError,
    PluginError,
    RobodynError,
)

if TYPE_CHECKING:
    from robodyn_ros.robot import Robot

__version__ = "0.1.0"

__all__ = [
    "CompileError",
    "DescriptionError",
    "DescriptionWarning",
    "InputError",
    "PluginError",
    "RobodynError",
    "Robot",
    "__version__",
]


def __getattr__(name: str) -> Any:
    if name == "Robot":
        from robodyn_ros.robot import Robot

        return Robot
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
