"""The contract between a control law and whatever runs it: the node, a textbook run, a compiled rollout.

There are two ways to write a controller:

- `Controller`: any object that answers a state and a reference with efforts. Free to keep what it likes.
- `Law`: a pure function of (state, reference, parameters, memory). Written like this, one source serves the node,
  runs in plain Python and can be traced and compiled, memory and gains included. All built-in controllers are laws.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from robodyn_ros.control.compiled_law import PackedParameters, compile_law
from robodyn_ros.control.parameters import Parameters as AnyParameters
from robodyn_ros.description.model import Array
from robodyn_ros.errors import InputError

if TYPE_CHECKING:
    from robodyn_ros.robot import Robot


UNMEASURED: Array = np.full(6, np.nan)
"""The wrench on the tip where no sensor measures it."""


class State(NamedTuple):
    """What a controller sees of the robot at one tick.

    Attributes:
        time: Time of the measurement, on the robot's clock [s].
        period: Time since the measurement before; 0 at the first tick [s].
        q: Joint positions, shape (n,) [rad or m].
        v: Joint velocities, shape (n,) [rad/s or m/s].
        wrench_tip: (force, torque) that the environment exerts on the tip link, about its origin in base axes, shape
            (6,) [N, N m]; NaN where it is not measured.
    """

    time: float
    period: float
    q: Array
    v: Array
    wrench_tip: Array = UNMEASURED


class JointReference(NamedTuple):
    """Where the joints should be at one tick.

    Attributes:
        q: Desired joint positions, shape (n,) [rad or m].
        v: Desired joint velocities, shape (n,) [rad/s or m/s].
        a: Desired joint accelerations, shape (n,) [rad/s^2 or m/s^2].
    """

    q: Array
    v: Array
    a: Array


class Controller(ABC):
    """Answers what the robot does with the efforts that its joints shall exert.

    One instance serves one robot. Whoever runs it calls `activate` once and then `update` at every tick, always
    from the same thread; between two ticks it may replace `parameters` by others of the same class.

    Attributes:
        Parameters: Class of the parameters.
        follows: Class of the reference that `update` expects; None if the controller follows none (and is given
            None). A change to a controller that follows the same class leaves a motion under way untouched.
        robot: The robot.
        dynamics: Its compiled dynamics.
        parameters: The parameters in force, complete and within their ranges. Never altered, only replaced.
    """

    Parameters: ClassVar[type[AnyParameters]] = AnyParameters
    follows: ClassVar[type | None] = JointReference

    def __init__(self, robot: Robot, parameters: AnyParameters | None = None) -> None:
        """Prepare for a robot; the place for all that takes time.

        Args:
            robot: The robot.
            parameters: The parameters; None means the defaults.

        Raises:
            InputError: The parameters are of another class, or a value does not fit.
        """
        if parameters is None:
            parameters = self.Parameters()
        if not isinstance(parameters, self.Parameters):
            raise InputError(
                f"{type(self).__name__}: expected parameters of class {self.Parameters.__name__}, "
                f"received {type(parameters).__name__}"
            )
        self.robot = robot
        self.dynamics = robot.dynamics()
        self.parameters: Any = parameters.for_robot(robot)

    def activate(self, state: State) -> None:  # noqa: B027  (most controllers have nothing to do here)
        """Forget the past: the next update is the first one, from this state."""

    @abstractmethod
    def update(self, state: State, reference: Any) -> Array:
        """Return the joint efforts, shape (n,) [N m or N].

        An exception, a wrong shape or a value that is not finite ends the controller: the declared safe one takes
        over.

        Args:
            state: What the robot does now.
            reference: What it should do, an instance of `follows`.
        """


class Law(Controller):
    """A controller that is a pure function, and therefore can be compiled with the robot it controls.

    `update` compiles the law with the robot's dynamics at its first call, and again when a parameter changes that is
    no float. A law that cannot be compiled runs as it is written, at the cost of Python.

    Attributes:
        memory: What the law returned last, shape (m,).
        obstacle: Why the law runs as it is written; empty if it is compiled.
    """

    def __init__(self, robot: Robot, parameters: AnyParameters | None = None) -> None:
        """As in `Controller`."""
        super().__init__(robot, parameters)
        self.memory: Array = np.zeros(0)
        self.obstacle = ""
        self._clock = np.zeros(2)
        self._kernels: dict[Any, Callable[..., Array] | None] = {}
        self._kernel: Callable[..., Array] | None = None
        self._in_kernel: AnyParameters | None = None  # the parameters that these are for
        self._packed: PackedParameters

    @staticmethod
    @abstractmethod
    def law(dynamics: Any, parameters: Any, state: State, reference: Any, memory: Array) -> tuple[Array, Array]:
        """Return the joint efforts, shape (n,) [N m or N], and the memory for the next tick.

        All arrays, `state.time` and `state.period` hold floats or traced scalars: NumPy arithmetic only, no branch
        on a value.

        Args:
            dynamics: The robot's dynamics, compiled or textbook.
            parameters: The parameters in force.
            state: What the robot does now.
            reference: What it should do, an instance of `follows`.
            memory: What the law returned at the tick before, shape (m,); at the first, `initial_memory`.
        """

    def initial_memory(self, state: State) -> Array:
        """The memory before the first tick, shape (m,); empty for a law that remembers nothing."""
        return np.zeros(0)

    def memory_names(self) -> tuple[str, ...]:
        """Names of the memory's elements where they are worth showing, such as estimates; otherwise empty."""
        return ()

    def activate(self, state: State) -> None:
        """Start over with the initial memory."""
        self.memory = self.initial_memory(state)

    def update(self, state: State, reference: Any) -> Array:
        """Evaluate the law and keep its memory."""
        if self.parameters is not self._in_kernel:
            self._packed = self.prepare(self.parameters, state, reference)
            self._kernel = self._kernels[self._packed.fixed]
            self._in_kernel = self.parameters
        if self._kernel is None:
            effort, self.memory = self.law(self.dynamics, self.parameters, state, reference, self.memory)
            return effort
        clock = self._clock
        clock[0], clock[1] = state.time, state.period
        if reference is None:
            result = self._kernel(clock, *state[2:], self._packed.values, self.memory)
        else:
            result = self._kernel(clock, *state[2:], *reference, self._packed.values, self.memory)
        if self.memory.size == 0:
            return result
        n = self.robot.n
        self.memory = result[n:]
        return result[:n]

    def prepare(self, parameters: AnyParameters, state: State, reference: Any) -> PackedParameters:
        """Have a kernel for these parameters, so that the first tick with them takes no longer than others.

        Args:
            parameters: Complete for the robot.
            state: Any state, for the shapes of its arrays.
            reference: Any reference, likewise.
        """
        packed = PackedParameters(parameters)
        if packed.fixed not in self._kernels:
            try:
                self._kernels[packed.fixed] = compile_law(self, packed, state, reference, self.memory)
            except Exception as error:  # whatever a law that is not meant to be traced does then
                self.obstacle = f"{type(error).__name__}: {error}"
                self._kernels[packed.fixed] = None
        return packed
