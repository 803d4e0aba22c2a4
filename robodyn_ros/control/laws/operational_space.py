"""Control in operational space: the dynamics as the hand feels them, decoupled there."""

from __future__ import annotations

from typing import Any, NamedTuple

from robodyn_ros.control.controller import Law, State
from robodyn_ros.control.dynamics_like import DynamicsLike
from robodyn_ros.control.laws.singularity import damped_task_inertia, damping_near_singularity
from robodyn_ros.control.laws.task_space import (
    AccelerationParameters,
    task_errors,
    tip_acceleration,
)
from robodyn_ros.control.trajectories.tip_reference import TipReference
from robodyn_ros.description.model import Array
from robodyn_ros.dynamics.factorization import solve_mass
from robodyn_ros.dynamics.task_space import dynamically_consistent_inverse, task_space_bias


class OperationalSpace(Law):
    """tau = J^T F + (1 - J^T J^+T) tau_0, F = Lambda r''* + eta, r''* = r''_d + K_v (r'_d - r') + K_p (r_d - r).

    [LynchPark] 9.6, (9.97) to (9.99), for any number of joints [Khatib]: Lambda = (J M^-1 J^T)^-1 and eta are the
    inertia and the bias that the hand feels, J^+ = M^-1 J^T Lambda is the dynamically consistent inverse, through which
    tau_0 = M (K_pp (q_0 - q) - K_pv v) + h + g + D v keeps the posture q_0 without accelerating the hand. Near singular
    positions Lambda is damped as the inverse in `ResolvedAcceleration` is.

    The memory is the posture at the activation, q_0, shape (n,).
    """

    Parameters = AccelerationParameters
    follows = TipReference

    @staticmethod
    def law(
        dynamics: DynamicsLike, parameters: AccelerationParameters, state: State, reference: TipReference, memory: Array
    ) -> tuple[Array, Array]:
        """As in `Law`."""
        errors = task_errors(dynamics, parameters.rows, state, reference)
        space = OperationalSpaceTerms.of(dynamics, parameters, state, errors.jacobian, memory)
        wanted = tip_acceleration(parameters, errors, reference)
        return space.effort(space.inertia @ wanted), memory

    def initial_memory(self, state: State) -> Array:
        """The posture to keep is the present one."""
        return state.q.copy()


class OperationalSpaceTerms(NamedTuple):
    """What a wrench at the hand and a posture of the joints amount to.

    Attributes:
        jacobian: J, shape (m, n).
        inertia: Lambda, shape (m, m).
        bias: eta, shape (m,).
        posture: Efforts that do not accelerate the hand, (1 - J^T J^+T) tau_0, shape (n,).
    """

    jacobian: Array
    inertia: Array
    bias: Array
    posture: Array

    @classmethod
    def of(
        cls, dynamics: Any, parameters: AccelerationParameters, state: State, jacobian: Array, posture: Array
    ) -> OperationalSpaceTerms:
        """In a state, for a posture q_0 of shape (n,)."""
        q, v, rows = state.q, state.v, parameters.rows
        mass_matrix = dynamics.mass_matrix(q)
        bias = dynamics.bias(q, v) + parameters.friction * v
        drift = dynamics.jacobian_derivative(q, v)[rows] @ v
        damping = damping_near_singularity(jacobian, parameters.singularity, parameters.singularity_damping)
        inertia = damped_task_inertia(jacobian @ solve_mass(mass_matrix, jacobian.T), jacobian, rows, damping)
        inverse = dynamically_consistent_inverse(inertia, mass_matrix, jacobian)
        free = mass_matrix @ (parameters.posture_p * (posture - q) - parameters.posture_d * v) + bias
        at_tip = task_space_bias(inertia, mass_matrix, jacobian, drift, bias)
        return cls(jacobian, inertia, at_tip, free - jacobian.T @ (inverse.T @ free))

    def effort(self, wrench: Array) -> Array:
        """Efforts that add a wrench, shape (m,), to what the bias needs, shape (n,) [N m or N]."""
        return self.jacobian.T @ (wrench + self.bias) + self.posture
