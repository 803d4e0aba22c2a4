# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Calls a controller, checks its efforts, and runs one trial tick before it takes over."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.base.errors import InputError, shown
from robodyn_ros.control.contract.controller import Controller, Law, State
from robodyn_ros.control.contract.law_inputs import state_form
from robodyn_ros.control.contract.state import own_inputs
from robodyn_ros.control.plugins.plugin_errors import FAULTS, describe, plugin_error
from robodyn_ros.control.plugins.pure_law import place_of_function
from robodyn_ros.control.references.reference import SOURCES
from robodyn_ros.description.model import Array


def dry_run(name: str, controller: Controller, q: Array, v: Array) -> None:
    """Run one tick that holds a state, to find errors and compile code before the controller takes over.

    Args:
        name: Name for messages.
        controller: The controller. It is activated and updated; Python code is updated a second time to measure its
            time. It must be activated again before use.
        q: Joint positions, shape (n,) [rad or m].
        v: Joint velocities, shape (n,) [rad/s or m/s].

    Raises:
        PluginError: The controller raised, or did not return finite efforts.
    """
    kind = controller.follows
    try:
        state = state_form(type(controller), len(q)).completed(State(0.0, 0.0, q, v))
        reference = None if kind is None else SOURCES[kind](controller.robot, q).sample(0.0)
        activate(controller, state)
        checked_effort(answer(controller, state, reference), len(q))
        if controller.uncompiled_reason:
            begin = time.thread_time()  # not wall time: other processes may run meanwhile
            checked_effort(answer(controller, state, reference), len(q))
            controller.tick_seconds = time.thread_time() - begin
    except NotFiniteError as error:
        raise plugin_error(f"controller '{name}' fails", _with_line(error, controller, state, reference)) from error
    except FAULTS as error:
        raise plugin_error(f"controller '{name}' fails", error) from error


class NotFiniteError(InputError):
    """A controller answered with NaN or infinity."""


def _with_line(error: BaseException, controller: Controller, state: State, reference: Any) -> BaseException:
    """Return the error with the line of the law's Python code that first computes a non-finite number, if any."""
    if isinstance(controller, Law):
        try:
            with np.errstate(divide="raise", invalid="raise", over="raise"):
                terms: dict[str, Array] = {}
                controller.call_as_written(state, reference, terms)
            wrong = [name for name, term in terms.items() if not np.isfinite(term).all()]
            return InputError(f"{error}; not finite: {', '.join(wrong)}{place_of_function(controller.law)}")
        except (ArithmeticError, np.linalg.LinAlgError) as cause:
            return InputError(f"{error}: {describe(cause)}; look for a division by 0, a root or logarithm of a "
                              "negative number, or a singular matrix")
        except FAULTS:
            pass
    return error


def uncompiled(controller: Controller) -> str:
    """Return why a controller runs as Python code, with its time per tick; empty: it is compiled."""
    reason = controller.uncompiled_reason
    if not (reason and controller.tick_seconds):
        return reason
    return f"{1e3 * controller.tick_seconds:.2g} of {1e3 * controller.robot.timing.period:g} ms a tick: {reason}"


def activate(controller: Controller, state: State) -> None:
    """Activate a controller with a read-only state; restore NumPy's error state."""
    with np.errstate():
        controller.activate(own_inputs(state, None)[0])


def answer(controller: Controller, state: State, reference: Any) -> ArrayLike:
    """Call a controller's `update`.

    The controller can alter neither its inputs, nor later the efforts that it returned, nor NumPy's error state. With
    an altered error state, the loop and later controllers might raise when a joint comes to rest.

    Args:
        controller: The controller.
        state: The state.
        reference: The reference, of the class that the controller follows.
    """
    if type(controller).update is Law.update:  # it shares no arrays with the code of a law
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
        InputError: The shape is wrong, or an element is not a finite real number.
    """
    array = (effort if isinstance(effort, np.ndarray) and effort.dtype == np.float64 and effort.shape == (n,)
             else as_efforts(effort, n))
    values: list[float] = array.tolist()
    # The sum of finite values may overflow; then each one is checked.
    if not math.isfinite(sum(values)) and not np.isfinite(array).all():
        raise NotFiniteError(f"update: expected finite efforts, received {values}")
    return array, values


def as_efforts(effort: ArrayLike, n: int) -> Array:
    """Convert the efforts that a controller returned to a float64 array of shape (n,) [N m or N].

    Raises:
        InputError: The shape is wrong, or an element is not a real number.
    """
    array = effort if isinstance(effort, np.ndarray) and effort.dtype == np.float64 else _as_float64(effort)
    if array.shape != (n,):
        raise InputError(f"update: expected efforts of shape ({n},), received {type(effort).__name__} "
                         f"{shown(effort)} of shape {array.shape}")
    return array


def _as_float64(effort: Any) -> Array:
    try:
        array = np.asarray(effort)
    except ValueError:  # nested sequences of different lengths
        array = np.array(None)
    if array.dtype.kind not in "fiu":
        raise InputError(f"update: expected efforts as an array of real numbers, received "
                         f"{type(effort).__name__} {shown(effort)}")
    return array.astype(np.float64)


