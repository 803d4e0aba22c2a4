"""What a controller must return, and a tick run beforehand to see whether it does."""

from __future__ import annotations

import math

import numpy as np

from robodyn_ros.control.controller import Controller, State
from robodyn_ros.control.trajectories.reference import SOURCES
from robodyn_ros.description.model import Array
from robodyn_ros.errors import InputError, PluginError

FAULTS = (Exception, SystemExit)
"""What a plugin, which may run any code, can raise; a script without a main guard leaves with SystemExit."""


def rehearse(name: str, controller: Controller, q: Array, v: Array) -> None:
    """Run one tick that holds a state, so that a fault shows (and what is compiled on first use is) beforehand.

    Args:
        name: Name for messages.
        controller: Activated and updated once; to be activated again before it is used.
        q: Joint positions, shape (n,) [rad or m].
        v: Joint velocities, shape (n,) [rad/s or m/s].

    Raises:
        PluginError: It raised, or its answer cannot be used.
    """
    state = State(0.0, 0.0, q.copy(), v.copy())
    kind = controller.follows
    try:
        reference = None if kind is None else SOURCES[kind](controller.robot, q).sample(0.0)
        controller.activate(state)
        check_effort(controller.update(state, reference), len(q))
    except FAULTS as error:
        raise PluginError(f"controller '{name}' fails: {describe(error)}") from error


def check_effort(effort: Array, n: int) -> list[float]:
    """Check what a controller returned; cheap if it is right.

    Returns:
        The efforts as a list.

    Raises:
        InputError: It is no float64 array of shape (n,), or not finite.
    """
    if not isinstance(effort, np.ndarray) or effort.shape != (n,) or effort.dtype != np.float64:
        received = f"{effort.dtype} {effort.shape}" if isinstance(effort, np.ndarray) else repr(effort)
        raise InputError(f"update returned {received}, expected a float64 array of shape ({n},)")
    # A sum that is not finite may be an overflow of finite values: only then looked at one by one.
    values: list[float] = effort.tolist()
    if not math.isfinite(sum(values)) and not np.isfinite(effort).all():
        raise InputError(f"update returned efforts that are not finite: {effort}")
    return values


def describe(error: BaseException) -> str:
    """An exception that a plugin raised, with the place where it did; our own speak for themselves."""
    if isinstance(error, InputError):
        return str(error)
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    place = f" ({trace.tb_frame.f_code.co_filename}, line {trace.tb_lineno})" if trace is not None else ""
    return f"{type(error).__name__}: {error}{place}"
