# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Model predictive control: each tick plans over a horizon, within bounds of efforts, positions and velocities.

A plan has constant accelerations u_k in N steps. The first is as long as `MPCParameters.step`, and each further one is
longer by the same factor. Positions and velocities follow from them exactly. The reference continues with its present
acceleration. With the error e = q - r and the excess acceleration u - r'', a plan minimises

    integral over the horizon of  e^T Q e + e'^T V e' + (u - r'')^T A (u - r'')   +   (e, e')_N^T P (e, e')_N ,

with diagonal weights Q, V and A by Bryson's rule; A weighs the efforts of the joints' own inertias, (M_jj /
tolerance)^2. P is the least cost after the horizon without bounds ([RawlingsMayneDiehl] 2.5.4, `final_weight`), so that
a plan without an active bound equals that of an infinite horizon. Bounds hold at the end of each step, and for the
efforts

    M u + h(q, v) + g(q) + D v ,

with M, h and g at the present state, since they determine the efforts of this tick, and the next tick plans anew. (With
M, h and g along the last plan, plans alternated from tick to tick on arms with light wrists.)
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from robodyn_ros.base.checks import MAX_MAGNITUDE
from robodyn_ros.base.errors import InputError
from robodyn_ros.control import default_gains
from robodyn_ros.control.contract.controller import JointReference, Law, State
from robodyn_ros.control.contract.law_drawings import DrawnShape, declare_drawing
from robodyn_ros.control.contract.parameters import DAMPING, EFFORT, POSITION, VELOCITY, derived, per_joint, scalar
from robodyn_ros.control.contract.terms import Terms
from robodyn_ros.control.laws.lqr import default_effort_weight, period_with_delay
from robodyn_ros.control.laws.pid import default_limit
from robodyn_ros.control.optimisation import qp
from robodyn_ros.control.optimisation.safety_filter import (
    FilterMemory,
    check_start,
    filter_memory,
    filter_memory_names,
    filtered_effort,
    filtered_terms,
    within_positions,
)
from robodyn_ros.control.optimisation.safety_limits import ExpectedMotion, expected_motion
from robodyn_ros.control.optimisation.safety_parameters import SafetyParameters, velocity_limits
from robodyn_ros.description.model import Array, read_only
from robodyn_ros.dynamics.robot_dynamics import Dynamics
from robodyn_ros.robot import Robot

_YIELDING = 1e-8
"""Softness of the bounds of states if not all bounds can hold, in squared tolerances; bounds of efforts give way
less."""


def _default_horizon(robot: Robot) -> int:
    """5, or as many as a program has room for."""
    return max(1, min(5, qp.LARGEST[0] // robot.n))


def _default_step(robot: Robot) -> float:
    """0.02, or the control period where that is longer, times 2 N + 1 for a delay of N periods."""
    return max(0.02, period_with_delay(robot))


def _default_duration(robot: Robot) -> float:
    """30 times the default step."""
    return 30.0 * _default_step(robot)


def _velocity_bound(robot: Robot) -> Array:
    return np.minimum(robot.model.velocity_limit, MAX_MAGNITUDE)


class PlanMatrices(NamedTuple):
    """Motion of a joint over the steps, as a linear function of its accelerations.

    Attributes:
        lengths: Lengths of the steps, shape (N,) [s].
        ends: When they end, shape (N,) [s].
        q: Positions at the ends by accelerations, shape (N, N) [s^2]; without the motion at constant velocity.
        v: Velocities at the ends by accelerations, shape (N, N) [s].
        cost_q: Cost of squared position errors over the horizon: matrix of the accelerations and of the initial
            position and velocity errors, shape (N, N + 2).
        cost_v: Likewise for velocity errors.
    """

    lengths: Array
    ends: Array
    q: Array
    v: Array
    cost_q: Array
    cost_v: Array


@lru_cache(maxsize=8)
def plan_matrices(step_lengths: tuple[float, ...]) -> PlanMatrices:
    """Compute `PlanMatrices`.

    Args:
        step_lengths: Lengths of the N steps [s].
    """
    lengths = np.array(step_lengths)
    starts = np.concatenate([[0.0], np.cumsum(lengths)])

    def motion(t: Array) -> tuple[Array, Array]:
        since = np.clip(t[:, None] - starts[:-1], 0.0, lengths)
        return since * (t[:, None] - starts[:-1] - 0.5 * since), since

    nodes, weights = np.polynomial.legendre.leggauss(3)  # exact, since squared positions are of the fourth order
    t = (starts[:-1, None] + 0.5 * (1.0 + nodes) * lengths[:, None]).reshape(-1)
    weights = (0.5 * lengths[:, None] * weights).reshape(-1)
    q, v = motion(t)
    begin = np.stack([np.ones_like(t), t], axis=1), np.stack([np.zeros_like(t), np.ones_like(t)], axis=1)
    costs = [np.hstack([by.T * weights @ by, by.T * weights @ free]) for by, free in zip((q, v), begin, strict=True)]
    return PlanMatrices(*map(read_only, (lengths, starts[1:], *motion(starts[1:]), *costs)))


def _step_lengths(robot: Robot, complete: Any) -> tuple[float, ...]:
    """Return step lengths in a geometric series; its ratio is found by bisection."""
    powers, share = np.arange(complete.horizon), complete.duration / complete.step
    low, high = 0.0, max(1.0, share)
    for _ in range(100):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if (middle**powers).sum() < share else (low, middle)
    return tuple((complete.step * high**powers).tolist())


def final_weight(q_weight: Any, v_weight: Any, a_weight: Any) -> tuple[Any, Any, Any]:
    """Return P_11, P_12, P_22 of the least infinite integral of q_weight e^2 + v_weight e'^2 + a_weight e''^2.

    The solution of the algebraic Riccati equation of a double integrator, in closed form.

    Args:
        q_weight: Weight of each joint, shape (n,).
        v_weight: Likewise.
        a_weight: Likewise.
    """
    both = np.sqrt(q_weight * a_weight)
    of_v = np.sqrt(a_weight * (v_weight + 2.0 * both))
    return both * of_v / a_weight, both, of_v


@dataclass(frozen=True, eq=False)
class MPCParameters(SafetyParameters):
    """Horizon, weights and bounds of `MPC`; further limits are those of the safety filter.

    Attributes:
        horizon: N, number of steps of the plan.
        step: Length of the first step [s].
        duration: Length of the horizon [s].
        q_tolerance: Position error that costs 1, shape (n,) [rad or m].
        v_tolerance: Velocity error that costs 1, shape (n,) [rad/s or m/s].
        effort_tolerance: Effort in excess of the reference's that costs 1, shape (n,) [N m or N].
        effort_limit: Bound of the planned efforts, shape (n,) [N m or N].
        velocity_limit: Bound of the velocities, shape (n,) [rad/s or m/s].
        friction: D, viscous friction of the model, shape (n,) [N m s/rad or N s/m].
        step_lengths: Lengths of the steps [s].
        safety_friction: `friction`.
        safety_velocities: As in the safety filter, or `velocity_limit`.
    """

    horizon: int = scalar(_default_horizon, minimum=1, maximum=qp.LARGEST[0], structural=True,
                          description="Number of steps of the plan")
    step: float = scalar(_default_step, unit="s", minimum=1e-4, maximum=1.0, structural=True,
                         description="Length of the first step")
    duration: float = scalar(_default_duration, unit="s", minimum=1e-3, maximum=100.0, structural=True,
                             description="Length of the horizon; each step is longer than the one before by the same "
                             "factor")
    q_tolerance: Array = per_joint(
        0.1, unit=POSITION, minimum=1e-4, maximum=1e4, description="Position error that costs 1")
    v_tolerance: Array = per_joint(
        3.0, unit=VELOCITY, minimum=1e-4, maximum=1e4, description="Velocity error that costs 1")
    effort_tolerance: Array = per_joint(
        default_effort_weight, unit=EFFORT, minimum=1e-6, maximum=MAX_MAGNITUDE,
        description="Effort beyond that of the reference that costs 1")
    effort_limit: Array = per_joint(
        default_limit, unit=EFFORT, minimum=1e-9, maximum=MAX_MAGNITUDE, description="Bound of the planned efforts")
    velocity_limit: Array = per_joint(
        _velocity_bound, unit=VELOCITY, minimum=1e-9, maximum=MAX_MAGNITUDE, description="Bound of the velocities")
    friction: Array = per_joint(
        default_gains.viscous_friction, unit=DAMPING, minimum=0.0, description="Viscous friction of the model, D")
    step_lengths: tuple[float, ...] = derived(_step_lengths, structural=True)
    safety_friction: Array = derived(lambda _, complete: complete.friction)
    safety_velocities: Array = derived(
        lambda robot, complete: np.minimum(velocity_limits(robot, complete), complete.velocity_limit))

    def for_robot(self, robot: Robot) -> MPCParameters:
        """As in `Parameters`.

        Raises:
            InputError: As there; the program is too large for so many steps; or the horizon is too short for them.
        """
        complete = super().for_robot(robot)
        most = qp.LARGEST[0] // robot.n
        if complete.horizon > most:
            raise InputError(f"mpc.horizon: expected at most {most} steps for {robot.n} joints, received "
                             f"{complete.horizon}")
        if complete.duration < complete.horizon * complete.step * (1.0 - 1e-9):
            raise InputError(f"mpc.duration: expected at least {complete.horizon * complete.step:g} s, which is "
                             f"mpc.horizon times mpc.step, received {complete.duration:g}")
        return complete


class PlanMemory(NamedTuple):
    """Last plan of `MPC`.

    Attributes:
        a: Accelerations in the steps, shape (N, n) [rad/s^2 or m/s^2].
        multipliers: Multipliers of the rows of `PlanProgram` and of its variables, shape (4 N n,); nonzero for active
            bounds.
        status: Status of the program, see `robodyn_ros.control.optimisation.qp`, shape (1,).
    """

    a: Array
    multipliers: Array
    status: Array


class PlannedPath(NamedTuple):
    """Drawing of `MPC`."""

    plan: Array = declare_drawing(DrawnShape.PATH, "Where the tip will be at the steps of the plan")


class PlanProgram(NamedTuple):
    """Quadratic program of a plan.

    Attributes:
        h: As for `qp.solve`, like the next fields; the variables are (u - r'') / ``scale``.
        g: Shape (N n,).
        matrix: Rows of velocities and positions at the ends of the steps, and of efforts in them, shape (3 N n, N n).
        lower: Shape (3 N n,).
        upper: Likewise.
        yielding: Likewise.
        scale: Shape (N n,) [rad/s^2 or m/s^2].
    """

    h: Array
    g: Array
    matrix: Array
    lower: Array
    upper: Array
    yielding: Array
    scale: Array


def plan_program(dynamics: Any, parameters: MPCParameters, motion: ExpectedMotion, reference: JointReference
                 ) -> PlanProgram:
    """Return the quadratic program of the plan.

    Args:
        dynamics: Of the robot.
        parameters: In force.
        motion: Prediction at the start of the plan.
        reference: Reference at that time.
    """
    q, v, n, steps = motion.state.q, motion.state.v, len(motion.state.q), parameters.horizon
    by, mass = plan_matrices(parameters.step_lengths), dynamics.mass_matrix(q)
    of_q, of_v = parameters.q_tolerance**-2.0, parameters.v_tolerance**-2.0
    of_a = (np.diagonal(mass) / parameters.effort_tolerance) ** 2
    final = final_weight(of_q, of_v, of_a)
    ends = np.stack([by.q[-1], by.v[-1]])  # of the horizon, by accelerations and by the initial state
    ends = np.hstack([ends, [[1.0, by.ends[-1]], [0.0, 1.0]]])
    of_lengths = np.hstack([np.diag(by.lengths), np.zeros((steps, 2))])
    weights = [(of_q, by.cost_q), (of_v, by.cost_v), (of_a, of_lengths), (final[0], np.outer(ends[0, :-2], ends[0])),
               (final[1], np.outer(ends[0, :-2], ends[1]) + np.outer(ends[1, :-2], ends[0])),
               (final[2], np.outer(ends[1, :-2], ends[1]))]
    joints = [sum(weight[j] * cost for weight, cost in weights) for j in range(n)]
    h, g = np.zeros((steps, n, steps, n), mass.dtype), np.zeros((steps, n), mass.dtype)
    matrix = np.zeros((3, steps, n, steps, n), mass.dtype)
    for j, cost in enumerate(joints):
        h[:, j, :, j] = cost[:, :steps]
        g[:, j] = cost[:, steps] * (q - reference.q)[j] + cost[:, steps + 1] * (v - reference.v)[j]
        matrix[:, :, j, :, j] = by.v, by.q, parameters.friction[j] * by.v
    for k in range(steps):
        matrix[2, k, :, k] += mass
    size = steps * n
    h, matrix = h.reshape(size, size), matrix.reshape(3 * size, size)
    scale = 1.0 / np.sqrt(np.diagonal(h))
    by_reference = (matrix.reshape(3 * size, steps, n).sum(axis=1)) @ reference.a
    free = np.concatenate([np.tile(v, steps), (q + by.ends[:, None] * v).reshape(-1), np.tile(motion.bias, steps)])
    free = free + by_reference
    least, most = parameters.safety_positions
    limits = parameters.safety_velocities, most, np.minimum(parameters.effort_limit, parameters.safety_efforts)
    lower = np.concatenate([np.tile(each, steps) for each in (-limits[0], least, -limits[2])]) - free
    upper = np.concatenate([np.tile(each, steps) for each in limits]) - free
    yielding = [parameters.v_tolerance**2, parameters.q_tolerance**2, np.zeros(n)]
    return PlanProgram(h * np.multiply.outer(scale, scale), g.reshape(-1) * scale, matrix * scale, lower, upper,
                       _YIELDING * np.concatenate([np.tile(each, steps) for each in yielding]), scale)


class MPC(Law[MPCParameters, JointReference, FilterMemory]):
    """A quadratic program of N steps determines the accelerations at each tick, see `robodyn_ros.control.laws.mpc`.

    It is solved exactly, in a bounded number of iterations. The efforts then pass the safety filter, which keeps the
    bounds of positions and velocities between the steps and beyond the horizon, accounts for the delay of the loop, and
    estimates the model error. If no plan is found, the robot brakes within the same filter, and ``status`` in the
    memory says so.
    """

    Drawing = PlannedPath

    @staticmethod
    def law(
        dynamics: Dynamics, parameters: MPCParameters, state: State, reference: JointReference, memory: FilterMemory,
    ) -> tuple[Terms, FilterMemory]:
        """As in `Law`."""
        motion, last = expected_motion(dynamics, parameters, state, memory), memory.law
        reference, ahead = within_positions(parameters, reference), parameters.safety_delay * parameters.safety_period
        if parameters.safety_delay:
            reference = JointReference(reference.q + ahead * (reference.v + 0.5 * ahead * reference.a),
                                       reference.v + ahead * reference.a, reference.a)
        plan = plan_program(dynamics, parameters, motion, reference)
        found = qp.solve(plan.h, plan.g, plan.matrix, plan.lower, plan.upper, yielding=plan.yielding,
                         warm=last.multipliers)
        a = (found.x * plan.scale).reshape(last.a.shape) + reference.a
        braking = np.clip(-parameters.safety_rate * motion.state.v, -parameters.safety_braking,
                          parameters.safety_braking)
        planned = found.status <= qp.INFEASIBLE

        def bias() -> dict[str, Array]:
            gravity, friction = dynamics.gravity(motion.state.q), parameters.safety_friction * motion.state.v
            return {"coriolis": motion.bias - gravity - friction, "gravity": gravity, "friction": friction}

        wanted = (Terms(plan=motion.mass_matrix @ np.where(planned, a[0], braking))
                  + Terms.split(motion.bias, bias))
        safe, kept = filtered_effort(dynamics, parameters, state, wanted.effort, memory)
        own = PlanMemory(np.where(planned, a, 0.0), np.where(planned, found.multipliers, 0.0), np.stack([found.status]))
        return filtered_terms(parameters, state, wanted, safe, memory, kept), kept._replace(law=own)

    def initial_memory(self, state: State) -> FilterMemory:
        """The plan to stay at rest."""
        size = self.parameters.horizon * self.robot.n
        plan = PlanMemory(np.zeros((self.parameters.horizon, self.robot.n)), np.zeros(4 * size), np.zeros(1))
        return filter_memory(self.robot, self.parameters, state, plan)

    def memory_names(self) -> tuple[str, ...]:
        """As in `Law`."""
        joints, steps = self.robot.joint_names, range(1, self.parameters.horizon + 1)
        bounds = [f"{joint}.{kind}{k}" for kind in ("velocity", "position", "effort", "acceleration") for k in steps
                  for joint in joints]
        return (*(f"{joint}.planned{k}" for k in steps for joint in joints), *bounds, "status",
                *filter_memory_names(self.robot, self.parameters))

    def check_start(self, state: State) -> None:
        """As in the safety filter."""
        check_start(self.robot, self.parameters, state)

    def draw(self, state: State) -> PlannedPath:
        """As in `Controller`."""
        own, last = self.parameters, self.memory.law.a
        by = plan_matrices(own.step_lengths)
        q = np.vstack([state.q, state.q + by.ends[:, None] * state.v + by.q @ last])
        return PlannedPath(np.array([self.dynamics.forward_kinematics(each)[:3, 3] for each in q]))
