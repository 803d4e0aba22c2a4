# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Further inputs of a controller: motor-side measurements, and topics that it declares.

A controller names fields of `State` in `senses`, and topics in a named tuple of readings, its class `Inputs`:

    class Seen(NamedTuple):
        target: Reading = declare_input("camera/target", "geometry_msgs/msg/PointStamped", "point", (3,),
                                        greatest_age=0.2, description="Where the camera sees the ball [m]")

    class Servo(Law[Gains, JointReference, None]):
        Inputs = Seen

Its law then finds ``state.inputs.target.value``, shape (3,), and ``state.inputs.target.age`` [s].
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.base.checks import POSITIVE, as_floats, as_number
from robodyn_ros.base.errors import InputError, suggest
from robodyn_ros.base.topic_names import MOTOR_STATES
from robodyn_ros.control.contract.state import MOTOR_SIDE, Shapes, State
from robodyn_ros.description.model import Array, read_only

MAX_NUMBERS = 10_000
"""Limit of the numbers in one input."""

_TOPIC = re.compile(r"(~/|/)?[A-Za-z_]\w*(/[A-Za-z_]\w*)*")
_MESSAGE = re.compile(r"[a-z]\w*/msg/[A-Z]\w*")
_FIELD = re.compile(r"([a-z]\w*(\.[a-z]\w*)*)?")


class Reading(NamedTuple):
    """An input at one tick.

    Attributes:
        value: The newest value, of the declared shape; NaN if none has arrived or the newest one is too old.
        age: Time since it came, in the time of the joint states [s]; infinite where the value is NaN.
    """

    value: Any
    age: Any


@dataclass(frozen=True, eq=False)
class Input:
    """Declaration of an input: see `declare_input`."""

    topic: str
    message: str
    field: str
    shape: tuple[int, ...]
    greatest_age: float
    required: bool
    example: Array
    description: str

    @property
    def size(self) -> int:
        """How many numbers the value has."""
        return math.prod(self.shape)

    @property
    def absent(self) -> Reading:
        """The reading while no value has arrived, or the newest one is too old."""
        return Reading(_absent(self.shape), math.inf)

    def checked(self, value: ArrayLike, where: str) -> Array:
        """Return a value as a read-only array of the declared shape.

        Raises:
            InputError: It has another shape, or is not finite.
        """
        return read_only(as_floats(value, self.shape, where))

    def at(self, value: Array, age: float) -> Reading:
        """Return the reading of a value of this age [s]."""
        return Reading(value, age) if age <= self.greatest_age else self.absent


def declare_input(topic: str, message: str, field: str, shape: tuple[int, ...], *, greatest_age: float,
                  required: bool = False, example: ArrayLike = 0.0, description: str = "") -> Any:
    """Declare an input; used as the default of a named tuple's field of type `Reading`.

    Args:
        topic: Name of the topic; relative names are in the robot's namespace.
        message: Type of its messages, such as ``geometry_msgs/msg/PoseStamped``.
        field: Dotted path of a field of the message, such as ``pose.position``; empty: the whole message. The value
            consists of all its numbers, in the order of the message definition.
        shape: Shape of the value; () for a number.
        greatest_age: Age at which a value is too old [s].
        required: Whether the law runs only while there is a value. While the value is missing or too old, the safe
            controller holds the robot. For an optional input the law gets NaN instead.
        example: A value for the dry run before the law starts: a number, or an array of the shape.
        description: What the input is, with its unit.

    Raises:
        InputError: An argument does not fit.
    """
    where = f"input of topic {topic!r}"
    if not (isinstance(topic, str) and _TOPIC.fullmatch(topic)):
        raise InputError(f"{where}: expected the name of a ROS topic, such as camera/target")
    if not (isinstance(message, str) and _MESSAGE.fullmatch(message)):
        raise InputError(f"{where}: expected a type of message such as geometry_msgs/msg/PoseStamped, received "
                         f"{message!r}")
    if not (isinstance(field, str) and _FIELD.fullmatch(field)):
        raise InputError(f"{where}: expected a field of the message such as pose.position, received {field!r}")
    if not (isinstance(shape, tuple) and all(type(length) is int and length > 0 for length in shape)
            and math.prod(shape) <= MAX_NUMBERS):
        raise InputError(f"{where}: expected a shape such as (3,), of at most {MAX_NUMBERS} numbers, received "
                         f"{shape!r}")
    try:
        typical = np.broadcast_to(np.asarray(example, dtype=np.float64), shape)
    except (TypeError, ValueError):
        raise InputError(f"{where}: expected an example that is a number or has shape {shape}, received {example!r}"
                         ) from None
    as_number(greatest_age, POSITIVE, f"{where}: greatest_age")
    return Input(topic, message, field, shape, float(greatest_age), bool(required), read_only(typical.copy()),
                 description)


class HasInputs(Protocol):
    """The attributes of a controller class that declare its inputs."""

    senses: ClassVar[tuple[str, ...]]
    Inputs: ClassVar[Any]


class StateForm:
    """The fields of `State` that a controller reads in addition to joints and wrench.

    Attributes:
        senses: Names of motor-side fields.
        inputs: The declared inputs by name.
        shapes: Shape of each array, by its path in `State`, in the order of `arrays`; empty for most controllers.
    """

    def __init__(self, senses: tuple[str, ...], record: Any, n: int) -> None:
        self.senses, self._record, self._n = senses, record, n
        self.inputs = {} if record is None else _declarations(record)
        self.shapes: Shapes = dict.fromkeys(senses, (n,))
        for name, declared in self.inputs.items():
            self.shapes |= {f"inputs.{name}.value": declared.shape, f"inputs.{name}.age": ()}

    @property
    def required(self) -> dict[str, Input]:
        """The required inputs."""
        return {name: declared for name, declared in self.inputs.items() if declared.required}

    def completed(self, state: State) -> State:
        """Fill missing fields of a state: a rigid robot at rest, and examples of required inputs."""
        if self.senses and len(state.motor_q) != self._n:
            state = state._replace(motor_q=state.q, motor_v=state.v, joint_torque=np.zeros(self._n))
        if self.inputs and state.inputs is None:
            state = state._replace(inputs=self.record({}))
        return state

    def record(self, readings: Mapping[str, Reading]) -> Any:
        """Return the record of all inputs; missing ones are absent, or their examples if required."""
        return self._record(**{name: readings[name] if name in readings else
                               Reading(declared.example, 0.0) if declared.required else declared.absent
                               for name, declared in self.inputs.items()})

    def arrays(self, state: State) -> Iterator[Any]:
        """Yield the arrays of a state in the order of `shapes`."""
        state = self.completed(state)
        yield from (getattr(state, name) for name in self.senses)
        for reading in state.inputs or ():
            yield from reading

    def with_arrays(self, state: State, arrays: Iterator[Any]) -> State:
        """Return a state with these arrays, in the order of `arrays`."""
        own = {name: next(arrays) for name in self.senses}
        state = state._replace(**own)
        if not self.inputs:
            return state
        return state._replace(inputs=self._record(*(Reading(next(arrays), next(arrays)) for _ in self.inputs)))

    def missing(self, state: State) -> str:
        """Return which required input is missing from a state, and why; empty: none is missing."""
        for name in self.senses:
            if not np.isfinite(getattr(state, name)).all():
                return f"nothing measures '{name}' on {MOTOR_STATES}"
        for name, declared in self.required.items():
            if not math.isfinite(getattr(state.inputs, name).age):
                return f"input '{name}': nothing on {declared.topic} for {declared.greatest_age:g} s"
        return ""


def state_form(kind: type[HasInputs], n: int) -> StateForm:
    """Return the further inputs of a controller class.

    Args:
        kind: Class of the controller.
        n: Number of joints.

    Raises:
        InputError: `senses` or `Inputs` are not as `Controller` says.
    """
    if not isinstance(kind.senses, tuple):
        raise InputError(f"senses: expected a tuple of some of {', '.join(MOTOR_SIDE)}, received {kind.senses!r}")
    if kind.Inputs is not None and not isinstance(kind.Inputs, type):
        raise InputError(f"Inputs: expected a class of named tuples, received {kind.Inputs!r}")
    return _state_form(kind.senses, kind.Inputs, n)


@lru_cache(maxsize=256)
def _state_form(senses: tuple[Any, ...], record: Any, n: int) -> StateForm:
    for name in senses:
        if name not in MOTOR_SIDE:
            raise InputError(f"senses: expected some of {', '.join(MOTOR_SIDE)}, received {name!r}: "
                             f"{suggest(str(name), MOTOR_SIDE)}")
    return StateForm(senses, record, n)


def _declarations(record: Any) -> dict[str, Input]:
    names = getattr(record, "_fields", None)
    if not names:
        raise InputError(f"Inputs: expected a class of named tuples, received {record!r}")
    declared = record._field_defaults
    for name in names:
        if not isinstance(declared.get(name), Input):
            raise InputError(f"Inputs: {record.__name__}.{name}: expected '{name}: Reading = declare_input(...)', "
                             f"received {declared.get(name)!r}")
    return dict(declared)


@lru_cache(maxsize=256)
def _absent(shape: tuple[int, ...]) -> Array:
    return read_only(np.full(shape, np.nan))
