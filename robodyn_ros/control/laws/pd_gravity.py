"""PD control of independent joints with gravity compensation."""

from __future__ import annotations

from robodyn_ros.control.controller import JointReference, Law, State
from robodyn_ros.control.dynamics_like import DynamicsLike
from robodyn_ros.control.laws.pd import PD, PDParameters
from robodyn_ros.description.model import Array


class PDGravity(Law):
    """tau = K_p (q_d - q) + K_v (v_d - v) + g(q).

    [Yamamoto] (6.34), as a torque. With an exact model there is no offset, and towards a resting q_d the robot is
    stable from any state, for any positive gains: ``robodyn_ros.textbook.lyapunov`` has the Lyapunov function.
    """

    Parameters = PDParameters

    @staticmethod
    def law(
        dynamics: DynamicsLike, parameters: PDParameters, state: State, reference: JointReference, memory: Array
    ) -> Array:
        """As in `Law`; uses no memory."""
        return PD.law(dynamics, parameters, state, reference, memory) + dynamics.gravity(state.q)
