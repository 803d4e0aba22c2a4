# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Model predictive control: efforts and states bounded over a horizon, the model linearised along the last plan."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from robodyn_ros.checks import LARGEST
from robodyn_ros.control import default_gains
from robodyn_ros.control.admm import BoundedProgram
from robodyn_ros.control.controller import Controller, JointReference, State
from robodyn_ros.control.law_drawings import DrawnShape, declare_drawing
from robodyn_ros.control.laws.computed_torque import ComputedTorque, ComputedTorqueParameters
from robodyn_ros.control.laws.lqr import default_effort_weight
from robodyn_ros.control.laws.pid import default_limit
from robodyn_ros.control.parameters import DAMPING, EFFORT, POSITION, VELOCITY, Parameters, per_joint, scalar
from robodyn_ros.control.update_rate import UpdateRate
from robodyn_ros.description.model import Array
from robodyn_ros.errors import InputError
from robodyn_ros.robot import Robot

FINAL_WEIGHT = 10.0
"""Weight of the last state of the horizon, over that of the others."""

VIOLATION_WEIGHT = 1e4
"""Cost of a state beyond its bounds by one tolerance, over that of an error by one tolerance."""


def _velocity_bound(robot: Robot) -> Array:
    return np.minimum(robot.model.velocity_limit, LARGEST)


def _default_rate(robot: Robot) -> float:
    """100, or the controller's rate where that is less."""
    return min(100.0, 1.0 / robot.timing.period)


@dataclass(frozen=True, eq=False)
class MPCParameters(Parameters):
    """Horizon, weights and bounds of `MPC`; bounds of positions are those of the robot.

    Attributes:
        horizon: Number of steps of the plan.
        step: Length of a step [s].
        rate: Plans per second [Hz].
        iterations: Iterations of the solver for a plan.
        q_tolerance: Position error that costs 1, shape (n,) [rad or m].
        v_tolerance: Velocity error that costs 1, shape (n,) [rad/s or m/s].
        effort_tolerance: Difference from the effort of the reference that costs 1, shape (n,) [N m or N].
        effort_limit: Bound of the efforts, shape (n,) [N m or N].
        velocity_limit: Bound of the velocities, shape (n,) [rad/s or m/s].
        friction: D, viscous friction of the model, shape (n,) [N m s/rad or N s/m].
    """

    horizon: int = scalar(20, minimum=2, maximum=100, structural=True, description="Number of steps of the plan")
    step: float = scalar(0.02, unit="s", minimum=1e-3, maximum=1.0, structural=True, description="Length of a step")
    rate: float = scalar(_default_rate, unit="Hz", minimum=1.0, maximum=1e4, structural=True,
                         description="Plans per second; one in each whole number of ticks that is nearest")
    iterations: int = scalar(60, minimum=1, maximum=10_000, structural=True,
                             description="Iterations of the solver for a plan")
    q_tolerance: Array = per_joint(
        0.1, unit=POSITION, minimum=1e-4, maximum=1e4, description="Position error that costs 1")
    v_tolerance: Array = per_joint(
        3.0, unit=VELOCITY, minimum=1e-4, maximum=1e4, description="Velocity error that costs 1")
    effort_tolerance: Array = per_joint(
        default_effort_weight, unit=EFFORT, minimum=1e-6, maximum=LARGEST,
        description="Difference from the effort of the reference that costs 1")
    effort_limit: Array = per_joint(
        default_limit, unit=EFFORT, minimum=1e-9, maximum=LARGEST, description="Bound of the efforts")
    velocity_limit: Array = per_joint(
        _velocity_bound, unit=VELOCITY, minimum=1e-9, maximum=LARGEST, description="Bound of the velocities")
    friction: Array = per_joint(
        default_gains.viscous_friction, unit=DAMPING, minimum=0.0, description="Viscous friction of the model, D")


class Plan(NamedTuple):
    """Motion over the horizon of N steps, of constant accelerations.

    Attributes:
        start: When it begins [s].
        step: Length of a step [s].
        q: Positions at the steps, shape (N + 1, n) [rad or m].
        v: Velocities, shape (N + 1, n) [rad/s or m/s].
        a: Accelerations in the steps, shape (N, n) [rad/s^2 or m/s^2].
    """

    start: float
    step: float
    q: Array
    v: Array
    a: Array

    @classmethod
    def from_accelerations(cls, start: float, step: float, q: Array, v: Array, a: Array) -> Plan:
        """The plan from a state, shape (n,) each, with accelerations, shape (N, n)."""
        velocities = np.vstack([v, v + step * np.cumsum(a, axis=0)])
        positions = np.vstack([q, q + step * np.cumsum(velocities[:-1] + 0.5 * step * a, axis=0)])
        return cls(start, step, positions, velocities, a)

    def at(self, time: float) -> JointReference:
        """The planned state at a time [s]; at rest after the end."""
        place = max((time - self.start) / self.step, 0.0)
        k = int(place)
        if k >= len(self.a):
            return JointReference(self.q[-1], np.zeros_like(self.q[-1]), np.zeros_like(self.q[-1]))
        since = (place - k) * self.step
        return JointReference(self.q[k] + since * (self.v[k] + 0.5 * since * self.a[k]), self.v[k] + since * self.a[k],
                              self.a[k])


class PlannedPath(NamedTuple):
    """What `MPC` draws."""

    plan: Array = declare_drawing(DrawnShape.PATH, "Where the tip will be at the steps of the plan")


class MPC(Controller):
    """A quadratic program over N steps plans accelerations u; `ComputedTorque` follows the plan.

    Minimises the sum over steps of (x - r)^T Q (x - r) + (tau - tau_r)^T R (tau - tau_r), x = (q, v), with x' = (v, u),
    u held over a step, |tau| <= limit, and bounds of positions and velocities; all bounds have a high price, as they
    may be beyond reach ([RawlingsMayneDiehl] 1.3, 8.8). The efforts tau = M u + h + g + D v are linearised along the
    last plan by ``dynamics.inverse_dynamics_derivatives``: one step of sequential quadratic programming for each plan,
    with a model of the states that is exact for steps of any length. The reference goes on with its acceleration, as a
    law does not know its future.

    A plan takes the whole number of ticks that is nearest to its `UpdateRate`. Planning is spread over them, always the
    same work at the same tick, so that a rollout equals itself. A plan starts at the state predicted for the tick at
    which it is complete: it acts one planning period late.
    """

    Parameters = MPCParameters
    Drawing = PlannedPath

    def __init__(self, robot: Robot, parameters: MPCParameters | None = None) -> None:
        """As in `Controller`.

        Raises:
            InputError: As in `Controller`, or a part of the planning takes longer than a tick on this machine.
        """
        super().__init__(robot, parameters)
        own, timing, model, n = self.parameters, robot.timing, robot.model, robot.n
        steps = own.horizon
        self._parts = self.rates["mpc.rate"].ticks(timing.period)
        self._inner = ComputedTorque(robot, ComputedTorqueParameters(friction=own.friction))
        # The states at the steps 1 to N are free + S u: S for one joint, and then for all of them.
        since = own.step * np.subtract.outer(np.arange(1, steps + 1), np.arange(steps))
        reached = since > 0.0
        by_a = np.where(reached, own.step * (since - 0.5 * own.step), 0.0), np.where(reached, own.step, 0.0)
        self._by_acceleration = [np.kron(each, np.eye(n)).reshape(steps, n, steps * n) for each in by_a]
        before = [np.concatenate([np.zeros((1, n, steps * n)), each[:-1]]) for each in self._by_acceleration]
        self._by_acceleration_before = before
        self._state_scale = 1.0 / np.concatenate([own.q_tolerance, own.v_tolerance])
        states = np.concatenate(self._by_acceleration, axis=1) * self._state_scale[:, None]
        self._states = states.reshape(-1, steps * n)
        weights = np.ones(self._states.shape[0])
        weights[-2 * n:] = FINAL_WEIGHT
        self._weights, self._weighted = weights, self._states.T * weights
        self._hessian = self._weighted @ self._states
        upper = np.concatenate([np.minimum(model.position_upper, LARGEST), own.velocity_limit])
        lower = np.concatenate([np.maximum(model.position_lower, -LARGEST), -own.velocity_limit])
        self._bounds = np.tile(lower, steps), np.tile(upper, steps)
        slowest = self._longest_part()
        if slowest > timing.period:
            raise InputError(f"mpc: a part of the planning over {steps} steps takes {1e3 * slowest:.2g} ms, and a tick "
                             f"has {1e3 * timing.period:.3g} ms; lower mpc.horizon, mpc.iterations or mpc.rate")

    @property
    def rates(self) -> dict[str, UpdateRate]:
        """As in `Controller`."""
        return {"mpc.rate": UpdateRate(self.parameters.rate)}

    def activate(self, state: State) -> None:
        """Go on at the present velocity until the first plan is complete."""
        n, own = self.robot.n, self.parameters
        self._plan = Plan.from_accelerations(state.time, own.step, state.q, state.v, np.zeros((own.horizon, n)))
        self._program = BoundedProgram(own.horizon * n, 3 * own.horizon * n)
        self._work: Iterator[Plan | None] | None = None
        self._inner.activate(state)

    def update(self, state: State, reference: JointReference) -> Array:
        """As in `Controller`."""
        plan = None if self._work is None else next(self._work)
        self._plan = self._plan if plan is None else plan
        if plan is not None or self._work is None:
            self._work = self._planning(state, reference)
            next(self._work)
        limit = self.parameters.effort_limit
        return np.clip(self._inner.update(state, self._plan.at(state.time)), -limit, limit)

    def draw(self, state: State) -> PlannedPath:
        """As in `Controller`."""
        tip = self.dynamics.forward_kinematics
        return PlannedPath(np.array([tip(q)[:3, 3] for q in self._plan.q]))

    def _planning(self, state: State, reference: JointReference) -> Iterator[Plan | None]:
        """Plan in as many parts as there are ticks between two plans; what follows the last part is the plan."""
        own, parts = self.parameters, self._parts
        start = state.time + parts * self.robot.timing.period
        begin, now = self._plan.at(start), self._plan.at(state.time)
        q, v = begin.q + (state.q - now.q), begin.v + (state.v - now.v)
        self._set_program(start, q, v, reference, start - state.time)
        if parts > 1:
            yield None
        self._program.factorise()
        if parts > 2:
            yield None
        left = max(parts - 2, 1)
        for count in np.diff(np.linspace(0, own.iterations, left + 1).round().astype(int)):
            self._program.iterate(int(count))
            yield None
        a = (self._program.x * self._scale).reshape(own.horizon, -1)
        yield Plan.from_accelerations(start, own.step, q, v, a)

    def _wanted(self, reference: JointReference, ahead: float) -> tuple[Array, Array]:
        """Positions and velocities of the reference at the steps, shape (N, n) each."""
        t = (ahead + self.parameters.step * np.arange(1, self.parameters.horizon + 1))[:, None]
        return reference.q + t * (reference.v + 0.5 * t * reference.a), reference.v + t * reference.a

    def _set_program(self, start: float, q: Array, v: Array, reference: JointReference, ahead: float) -> None:
        """Make the program in accelerations; [RawlingsMayneDiehl] 8.8.1 eliminates the states."""
        own, n, steps = self.parameters, self.robot.n, self.parameters.horizon
        times = own.step * np.arange(1, steps + 1)[:, None]
        free = np.hstack([q + times * v, np.tile(v, (steps, 1))])
        last = [self._plan.at(start + k * own.step) for k in range(steps)]
        q_last, v_last, a_last = (np.array([each[part] for each in last]) for part in range(3))
        by_q, by_v, by_a = np.moveaxis(self.dynamics.batch.inverse_dynamics_derivatives(q_last, v_last, a_last), 1, 0)
        by_v = by_v + np.diag(own.friction)
        offset = (self.dynamics.batch.inverse_dynamics(q_last, v_last, a_last) + own.friction * v_last
                  - np.einsum("kij,kj->ki", by_a, a_last))
        free_before = np.vstack([np.concatenate([q, v]), free[:-1]])
        offset += np.einsum("kij,kj->ki", by_q, free_before[:, :n] - q_last)
        offset += np.einsum("kij,kj->ki", by_v, free_before[:, n:] - v_last)
        self._scale = np.tile(own.effort_tolerance / np.diagonal(by_a, axis1=1, axis2=2).mean(axis=0), steps)
        efforts = by_q @ self._by_acceleration_before[0] + by_v @ self._by_acceleration_before[1]
        for k in range(steps):
            efforts[k, :, k * n:(k + 1) * n] += by_a[k]
        efforts = (efforts / own.effort_tolerance[:, None]).reshape(steps * n, -1)
        q_wanted, v_wanted = self._wanted(reference, ahead)
        a_wanted = np.tile(reference.a, (steps, 1))
        wanted = self.dynamics.batch.inverse_dynamics(q_wanted, v_wanted, a_wanted) + own.friction * v_wanted
        missing = ((free - np.hstack([q_wanted, v_wanted])) * self._state_scale).reshape(-1)
        excess = ((offset - np.clip(wanted, -own.effort_limit, own.effort_limit)) / own.effort_tolerance).reshape(-1)
        hessian = (self._hessian + efforts.T @ efforts) * np.multiply.outer(self._scale, self._scale)
        gradient = (self._weighted @ missing + efforts.T @ excess) * self._scale
        limit, scale = np.tile(own.effort_limit / own.effort_tolerance, steps), np.tile(self._state_scale, steps)
        flat = (offset / own.effort_tolerance).reshape(-1)
        lower, upper = ((bound - free.reshape(-1)) * scale for bound in self._bounds)
        self._program.set(hessian, gradient, np.vstack([efforts, self._states]) * self._scale,
                          np.concatenate([-limit - flat, lower]), np.concatenate([limit - flat, upper]),
                          np.full(3 * steps * n, VIOLATION_WEIGHT))

    def _longest_part(self) -> float:
        """Processor time of the longest part of the planning, at the best of a few plans [s]."""
        model = self.robot.model
        q = np.clip(np.zeros(model.n), model.position_lower, model.position_upper)
        state, rest = State(0.0, 0.0, q, np.zeros(model.n)), np.zeros(model.n)
        self.activate(state)
        best, longest = np.full(self._parts + 1, np.inf), np.inf
        for _ in range(_TRIALS):
            begin, times = time.thread_time(), []
            for _ in self._planning(state, JointReference(q, rest, rest)):
                times.append(time.thread_time() - begin)
                begin = time.thread_time()
            best = np.minimum(best, times)
            longest = float(best.max())
            if longest <= 0.5 * self.robot.timing.period:
                break
        return longest


_TRIALS = 30
