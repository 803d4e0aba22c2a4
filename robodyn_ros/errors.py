"""The exceptions of robodyn_ros: one small family with a common root.

Every message says what was wrong, where, what was expected and what was received, and what to do about it.
"""


class RobodynError(Exception):
    """Root of every exception that robodyn_ros raises on purpose."""


class DescriptionError(RobodynError):
    """A robot description (URDF, Denavit-Hartenberg table) cannot be used."""


class InputError(RobodynError, ValueError):
    """An argument, a message field or a parameter has the wrong shape, name or value."""


class PluginError(RobodynError):
    """A controller plugin cannot be found, imported, constructed or run."""


class CompileError(RobodynError):
    """A function cannot be traced or turned into machine code."""


class SimulationError(RobodynError):
    """The simulated robot cannot go on; its last good state is kept."""


class DescriptionWarning(UserWarning):
    """A robot description is physically odd but computable; an error with ``strict=True``."""
