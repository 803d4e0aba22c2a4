"""The exceptions of robodyn_ros, with a common base class.

Every message names the fault and its place, the expected and the received value, and the remedy.
"""


class RobodynError(Exception):
    """Base class of every exception that robodyn_ros raises on purpose."""


class DescriptionError(RobodynError):
    """A robot description (URDF, Denavit-Hartenberg table) cannot be used."""


class InputError(RobodynError, ValueError):
    """An argument, a message field or a parameter has the wrong shape, name or value."""


class PluginError(RobodynError):
    """A controller plugin cannot be found, imported, constructed or run."""


class CompileError(RobodynError):
    """A function cannot be traced or turned into machine code."""


class SimulationError(RobodynError):
    """The simulation cannot continue; the robot keeps its last good state."""


class RecordingError(RobodynError):
    """A recording cannot be read or written."""


class DescriptionWarning(UserWarning):
    """A robot description is physically implausible but can be computed; an error with ``strict=True``."""
