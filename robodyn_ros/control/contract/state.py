# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Inputs of a controller at each tick: the measured state and the reference."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np

from robodyn_ros.description.model import Array, read_only

Shapes = dict[str, tuple[int, ...]]
"""Shape of each array by name."""

_FLOAT = np.dtype(np.float64)

UNMEASURED: Array = read_only(np.full(6, np.nan))
"""Value of the tip wrench if no sensor measures it."""

MOTOR_SIDE = ("motor_q", "motor_v", "joint_torque")
"""Fields of `State` that a controller gets only if it names them in `senses`."""

NOT_SENSED: Array = read_only(np.zeros(0))
"""Value of the `MOTOR_SIDE` fields that a controller does not sense."""


class State(NamedTuple):
    """Measured state of the robot at one tick.

    Attributes:
        time: Time of the measurement, from the start or the last new start, such as a reset [s].
        period: Time since the measurement before; 0 at the first tick and at a new start [s].
        q: Joint positions, shape (n,) [rad or m].
        v: Joint velocities, shape (n,) [rad/s or m/s].
        wrench_tip: (force, torque) that the environment exerts on the tip link, about its origin in base axes, shape
            (6,) [N, N m]; NaN where it is not measured.
        motor_q: Positions of the motors, reflected to the joints: divided by the gear ratios, shape (n,) [rad or m].
        motor_v: Velocities of the motors, likewise reflected, shape (n,) [rad/s or m/s].
        joint_torque: Efforts of the gears on the links, measured by joint torque sensors, shape (n,) [N m or N].
        inputs: The controller's `Inputs`, each as a `Reading`; None: it declares none.

    A controller gets the `MOTOR_SIDE` fields that it names in `senses`; the remaining ones have shape (0,).
    """

    time: float
    period: float
    q: Array
    v: Array
    wrench_tip: Array = UNMEASURED
    motor_q: Array = NOT_SENSED
    motor_v: Array = NOT_SENSED
    joint_torque: Array = NOT_SENSED
    inputs: Any = None


class Reference(Protocol):
    """A class of references: a named tuple of arrays that a controller can follow."""

    @staticmethod
    def shapes(n: int) -> Shapes:
        """Shape of each field for a robot of n joints, in the order of the fields."""


def example_reference(follows: Any, n: int) -> Any:
    """Return a reference of zeros for a robot of n joints, to be traced; None for a law without a reference.

    Args:
        follows: Class of the references; None: the law follows none.
        n: Number of joints.
    """
    return None if follows is None else follows(*map(np.zeros, follows.shapes(n).values()))


class JointReference(NamedTuple):
    """Desired motion of the joints at one tick.

    Attributes:
        q: Desired joint positions, shape (n,) [rad or m].
        v: Desired joint velocities, shape (n,) [rad/s or m/s].
        a: Desired joint accelerations, shape (n,) [rad/s^2 or m/s^2].
    """

    q: Array
    v: Array
    a: Array

    @staticmethod
    def shapes(n: int) -> Shapes:
        """As in `Reference`."""
        return dict.fromkeys(("q", "v", "a"), (n,))


def own_inputs(state: State, reference: Any) -> tuple[State, Any]:
    """Return read-only copies of the inputs, for code that may try to alter them.

    Args:
        state: The state.
        reference: A named tuple of arrays, or None.
    """
    own = State(state.time, state.period, *map(_own, state[2:5]))
    if state.motor_q is not NOT_SENSED or state.inputs is not None:
        own = own._replace(motor_q=_own(state.motor_q), motor_v=_own(state.motor_v),
                           joint_torque=_own(state.joint_torque), inputs=_own_readings(state.inputs))
    return own, None if reference is None else type(reference)(*map(_own, reference))


def _own_readings(inputs: Any) -> Any:
    if inputs is None:
        return None
    return type(inputs)(*(reading._replace(value=_own(np.asarray(reading.value))) for reading in inputs))


def _own(array: Array) -> Array:
    """As `read_only`, faster for the usual arrays: this runs several times in each tick of an uncompiled law."""
    if isinstance(array.base, bytes):
        return array
    if array.dtype is _FLOAT and array.ndim == 1:
        return np.frombuffer(array.tobytes())
    return read_only(array)
