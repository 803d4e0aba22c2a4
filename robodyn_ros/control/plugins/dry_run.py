# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""A controller's answer to a state, the checks of its efforts, and one trial tick before it is put in force."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.base.errors import InputError
from robodyn_ros.control.contract.controller import Controller, Law, State
from robodyn_ros.control.contract.law_inputs import state_form
from robodyn_ros.control.contract.state import own_inputs
from robodyn_ros.control.plugins.plugin_errors import FAULTS, describe, plugin_error
from robodyn_ros.control.references.reference import SOURCES
from robodyn_ros.description.model import Array


def dry_run(name: str, controller: Controller, q: Array, v: Array) -> None:
    """Run one tick that holds a state, so that errors show, and code is compiled, before the controller is in force.

    Args:
        name: Name for messages.
        controller: The controller; it is activated and updated, a second time to measure its time if it runs as Python
            code, and must be activated again before it is used.
        q: Joint positions, shape (n,) [rad or m].
        v: Joint velocities, shape (n,) [rad/s or m/s].

    Raises:
        PluginError: The controller raised, or returned something else than finite efforts.
    """
    kind = controller.follows
    try:
        state = state_form(type(controller), len(q)).completed(State(0.0, 0.0, q, v))
        reference = None if kind is None else SOURCES[kind](controller.robot, q).sample(0.0)
        activate(controller, state)
        checked_effort(answer(controller, state, reference), len(q))
        if controller.uncompiled_reason:
            begin = time.thread_time()  # another process may have the processor meanwhile
            checked_effort(answer(controller, state, reference), len(q))
            controller.tick_seconds = time.thread_time() - begin
    except NotFiniteError as error:
        raise plugin_error(f"controller '{name}' fails", _with_line(error, controller, state, reference)) from error
    except FAULTS as error:
        raise plugin_error(f"controller '{name}' fails", error) from error


class NotFiniteError(InputError):
    """A controller answered with NaN or infinity."""


def _with_line(error: BaseException, controller: Controller, state: State, reference: Any) -> BaseException:
    """The error of a law's Python code at the line where it computes the first number that is not finite, if any."""
    if isinstance(controller, Law):
        try:
            with np.errstate(divide="raise", invalid="raise", over="raise"):
                controller.call_as_written(state, reference)
        except (ArithmeticError, np.linalg.LinAlgError) as cause:
            return InputError(f"{error}: {describe(cause)}; look for a division by 0, a root or logarithm of a "
                              "negative number, or a singular matrix")
        except FAULTS:
            pass
    return error


def uncompiled(controller: Controller) -> str:
    """Why a controller runs as Python code, and the processor time of a tick in its dry run; empty: it is compiled."""
    reason = controller.uncompiled_reason
    if not (reason and controller.tick_seconds):
        return reason
    return f"{1e3 * controller.tick_seconds:.2g} of {1e3 * controller.robot.timing.period:g} ms a tick: {reason}"


def activate(controller: Controller, state: State) -> None:
    """Activate a controller at a state that it cannot alter; NumPy's error state stays as it was."""
    with np.errstate():
        controller.activate(own_inputs(state, None)[0])


def answer(controller: Controller, state: State, reference: Any) -> ArrayLike:
    """Ask a controller for efforts.

    It can alter neither its inputs, nor later the efforts that it returned, nor NumPy's error state, by which the loop
    and later controllers would raise where a joint comes to rest.

    Args:
        controller: The controller.
        state: The state.
        reference: The reference, of the class that the controller follows.
    """
    if type(controller).update is Law.update:  # which shares nothing with the code of a law
        return controller.update(state, reference)
    with np.errstate():
        effort = controller.update(*own_inputs(state, reference))
    return np.array(effort) if isinstance(effort, np.ndarray) else effort


def checked_effort(effort: ArrayLike, n: int) -> tuple[Array, list[float]]:
    """Check the efforts that a controller returned; cheap for a float64 array.

    Args:
        effort: Array-like of real numbers, shape (n,) [N m or N].
        n: Number of joints.

    Returns:
        The efforts as a float64 array, shape (n,), and as a list.

    Raises:
        InputError: The shape is another one, an element is no real number, or it is not finite.
    """
    array = as_efforts(effort, n)
    values: list[float] = array.tolist()
    # The sum of finite values may overflow: only then are they checked one by one.
    if not math.isfinite(sum(values)) and not np.isfinite(array).all():
        raise NotFiniteError(f"update: expected finite efforts, received {values}")
    return array, values


def as_efforts(effort: ArrayLike, n: int) -> Array:
    """The efforts that a controller returned, as a float64 array of shape (n,) [N m or N].

    Raises:
        InputError: The shape is another one, or an element is no real number.
    """
    array = effort if isinstance(effort, np.ndarray) and effort.dtype == np.float64 else _as_float64(effort)
    if array.shape != (n,):
        raise InputError(f"update: expected efforts of shape ({n},), received {_short(effort)} of shape {array.shape}")
    return array


def _as_float64(effort: Any) -> Array:
    try:
        array = np.asarray(effort)
    except ValueError:  # nested sequences of different lengths
        array = np.array(None)
    if array.dtype.kind not in "fiu":
        raise InputError(f"update: expected efforts as an array of real numbers, received {_short(effort)}")
    return array.astype(np.float64)


def _short(value: object) -> str:
    text = repr(value)
    return f"{type(value).__name__} {text[:80]}{'...' if len(text) > 80 else ''}"
