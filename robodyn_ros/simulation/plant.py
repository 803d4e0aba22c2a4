"""The simulated robot: its state, and one fixed time step after another."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.compile import compile_function
from robodyn_ros.description.model import Array
from robodyn_ros.errors import InputError, SimulationError
from robodyn_ros.simulation.commands import Drive
from robodyn_ros.simulation.joint_constraints import JointConstraints
from robodyn_ros.simulation.semi_implicit_euler import state_step

if TYPE_CHECKING:
    from robodyn_ros.robot import Robot


class Plant:
    """Rigid bodies with viscous and dry friction, effort limits and stops at the position limits.

    Stops and dry friction (see :mod:`robodyn_ros.simulation.joint_constraints`) take energy and never give any: a stop
    is inelastic, a joint below its breakaway effort does not creep.

    Args:
        robot: The robot.
        step: Time step [s].
        position: Positions at the start and after :meth:`reset`, shape (n,) [rad or m]; None: see
            :func:`default_position`.
        compiled: Compile the step for this robot; False: run it as it stands in the book.

    Attributes:
        q: Joint positions, shape (n,) [rad or m]; never altered, only replaced.
        v: Joint velocities, shape (n,) [rad/s or m/s]; likewise.
        effort: Effort that the drives exerted in the last step, shape (n,) [N m or N]; likewise.
        steps: Steps taken since the start.

    Raises:
        InputError: The step is not positive or the position is not one of the robot.
    """

    def __init__(self, robot: Robot, step: float = 0.001, position: ArrayLike | None = None,
                 compiled: bool = True) -> None:
        if not 0.0 < step < np.inf:
            raise InputError(f"step of the plant: expected a positive time [s], received {step}")
        model = robot.model
        self.robot = robot
        self.step = step
        self.joint_names = robot.joint_names
        self.steps = 0
        self.set_wrench_tip(np.zeros(6))
        self._dynamics = robot.dynamics()
        self._lower, self._upper = model.position_lower, model.position_upper
        self._effort_limit, self._least_effort = model.effort_limit, -model.effort_limit
        self._joint_damping, self._joint_friction = model.damping, model.friction
        function, n = partial(state_step, model, step), model.n
        self._step_state = function if not compiled else compile_function(
            function, {"q": (n,), "v": (n,), "tau": (n,), "damping": (n,), "constraints": (3, n)},
            name="semi_implicit_euler")
        self._take_over(Drive(np.zeros(n), np.zeros(n), np.zeros(n)))
        self._constraints = JointConstraints(self._lower, self._upper, step)
        self.initial_position = default_position(robot) if position is None else self._position(position)
        self.reset()

    @property
    def time(self) -> float:
        """Simulated time since the start [s]."""
        return self.steps * self.step

    def joint_inertia(self) -> Array:
        """Inertia that each joint feels when it moves alone, the diagonal of M(q), shape (n,) [kg m^2 or kg]."""
        return self._dynamics.mass_matrix(self.q).diagonal()

    def reset(self) -> None:
        """Go back to the initial position, at rest; time goes on."""
        self.q = self.initial_position
        self.v = np.zeros(len(self.q))
        self.effort = np.zeros(len(self.q))

    def set_wrench_tip(self, wrench: ArrayLike) -> None:
        """Let the environment push the tip from now on.

        Args:
            wrench: (force, torque) on the tip link, about its origin in base axes, shape (6,) [N, N m].

        Raises:
            InputError: The shape is wrong or a value not finite.
        """
        array = self._vector(wrench, "wrench on the tip", 6)
        self._wrench_tip = array if array.any() else None

    def set_state(self, q: ArrayLike | None = None, v: ArrayLike | None = None) -> None:
        """Put the robot into a state.

        Args:
            q: Joint positions, shape (n,) [rad or m]; None: kept.
            v: Joint velocities, shape (n,) [rad/s or m/s]; None: zeros.

        Raises:
            InputError: A shape is wrong, a value not finite, or a position beyond its limits; nothing changes then.
        """
        position = self.q if q is None else self._position(q)
        self.v = np.zeros(len(self.q)) if v is None else self._vector(v, "velocities", self.robot.n)
        self.q = position
        self.effort = np.zeros(len(self.q))

    def advance(self, drive: Drive, steps: int = 1) -> None:
        """Take steps under the same drive.

        Args:
            drive: What the drives do; its effort is cut off at the effort limits.
            steps: Number of steps.

        Raises:
            SimulationError: The state is no longer finite; the state before that step is kept.
        """
        if drive.damping is not self._drive_damping or drive.brake is not self._drive_brake:
            self._take_over(drive)
        effort = np.minimum(np.maximum(drive.effort, self._least_effort), self._effort_limit)
        for _ in range(steps):
            self._take_step(effort)
        self.effort = effort - drive.damping * self.v if self._damps else effort

    def _take_over(self, drive: Drive) -> None:
        """Work out what stays the same as long as damping and brakes do."""
        self._drive_damping, self._drive_brake = drive.damping, drive.brake
        self._damps = bool(drive.damping.any())
        self._damping = self._joint_damping + drive.damping
        self._friction = (self.step * (self._joint_friction + drive.brake)).tolist()

    def _take_step(self, effort: Array) -> None:
        q, v, damping = self.q, self.v, self._damping
        tau = effort
        if self._wrench_tip is not None:
            tau = effort + self._dynamics.jacobian(q).T @ self._wrench_tip

        def evaluate(constraints: Array) -> Array:
            return self._step_state(q, v, tau, damping, constraints)

        try:
            state = self._constraints.solve(evaluate, q, self._friction)
        except FloatingPointError as error:
            raise SimulationError(
                f"the simulation of '{self.robot.name}' diverged at {self.time:.6g} s: {error} from {v.tolist()} "
                f"under efforts {effort.tolist()}; use a smaller step (now {self.step} s) or reset") from None
        self.q, self.v = state[0], state[1]
        self.steps += 1

    def _position(self, values: ArrayLike) -> Array:
        q = self._vector(values, "positions", self.robot.n)
        for name, value, low, high in zip(self.joint_names, q, self._lower, self._upper, strict=True):
            if not low <= value <= high:
                raise InputError(f"position of joint '{name}': expected {low:g} to {high:g}, its limits, "
                                 f"received {value:g}")
        return q

    def _vector(self, values: ArrayLike, what: str, length: int) -> Array:
        array = np.array(values, dtype=np.float64)
        if array.shape != (length,):
            raise InputError(f"{what} of '{self.robot.name}': expected shape ({length},), received {array.shape}")
        if not np.isfinite(array).all():
            raise InputError(f"{what} of '{self.robot.name}': expected finite numbers, received {array.tolist()}")
        return array


def default_position(robot: Robot) -> Array:
    """Where a robot stands if nobody says otherwise, shape (n,) [rad or m].

    Zero where a joint's limits allow it, else the middle between them, or the only limit there is.
    """
    lower, upper = robot.model.position_lower, robot.model.position_upper
    bounded = np.isfinite(lower) & np.isfinite(upper)
    middle = 0.5 * (np.where(bounded, lower, 0.0) + np.where(bounded, upper, 0.0))
    within = (lower <= 0.0) & (upper >= 0.0)
    return np.where(within, 0.0, np.where(bounded, middle, np.clip(0.0, lower, upper)))
