"""Seconds and nanoseconds; the default control period and time step.

A stamp, and a control period that stamps count, is a whole number of nanoseconds and is called ``stamp`` or
``period_ns``. All other times are floats in seconds.
"""

NANOSECONDS_PER_SECOND = 1_000_000_000

DEFAULT_PERIOD = 0.002
"""Control period of nodes and rollouts [s]."""

DEFAULT_STEP = 0.001
"""Time step of the simulated robot [s]."""


def to_seconds(nanoseconds: float) -> float:
    """Convert nanoseconds to seconds, correctly rounded."""
    return nanoseconds / NANOSECONDS_PER_SECOND


def to_nanoseconds(seconds: float) -> int:
    """Convert seconds to the nearest whole number of nanoseconds."""
    return round(seconds * NANOSECONDS_PER_SECOND)
