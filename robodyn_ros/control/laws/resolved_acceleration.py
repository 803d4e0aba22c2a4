"""Resolved acceleration: the hand's acceleration is chosen, the joints' follows, the model finds the efforts."""

from __future__ import annotations

from robodyn_ros.control.controller import Law, State
from robodyn_ros.control.dynamics_like import DynamicsLike
from robodyn_ros.control.laws.singularity import damped_inverse, damping_near_singularity
from robodyn_ros.control.laws.task_space import (
    AccelerationParameters,
    task_errors,
    tip_acceleration,
)
from robodyn_ros.control.trajectories.tip_reference import TipReference
from robodyn_ros.description.model import Array


class ResolvedAcceleration(Law):
    """tau = M(q) a* + h(q, v) + g(q) + D v, a* = J^+ (r''* - J' v) + (1 - J^+ J) a_posture.

    [Yamamoto] (6.48) with r''* = r''_d + K_v (r'_d - r') + K_p (r_d - r), (6.49). Away from singular positions the
    book's J^-1, for more joints than axes the pseudo-inverse: the error obeys (6.46) along every axis (that of rotation
    as far as it is small). Near singular ones J^+ is damped [NakamuraHanafusa], so that efforts stay bounded at the
    cost of accuracy. What the axes leave free goes back to the posture at the activation, with
    a_posture = K_pp (q_0 - q) - K_pv v.

    The memory is that posture q_0, shape (n,).
    """

    Parameters = AccelerationParameters
    follows = TipReference

    @staticmethod
    def law(
        dynamics: DynamicsLike, parameters: AccelerationParameters, state: State, reference: TipReference, memory: Array
    ) -> tuple[Array, Array]:
        """As in `Law`."""
        rows, q, v = parameters.rows, state.q, state.v
        errors = task_errors(dynamics, rows, state, reference)
        jacobian = errors.jacobian
        wanted = tip_acceleration(parameters, errors, reference)
        drift = dynamics.jacobian_derivative(q, v)[rows] @ v
        damping = damping_near_singularity(jacobian, parameters.singularity, parameters.singularity_damping)
        posture = parameters.posture_p * (memory - q) - parameters.posture_d * v
        a = posture + damped_inverse(jacobian, damping) @ (wanted - drift - jacobian @ posture)
        return dynamics.inverse_dynamics(q, v, a) + parameters.friction * v, memory

    def initial_memory(self, state: State) -> Array:
        """The posture to keep is the present one."""
        return state.q.copy()
