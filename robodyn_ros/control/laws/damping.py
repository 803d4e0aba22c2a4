"""Damping: the safe controller, which only takes energy out of the robot."""

from __future__ import annotations

from dataclasses import dataclass

from robodyn_ros.control import default_gains
from robodyn_ros.control.controller import Law, State
from robodyn_ros.control.dynamics_like import DynamicsLike
from robodyn_ros.control.parameters import DAMPING, Parameters, per_joint
from robodyn_ros.description.model import Array


@dataclass(frozen=True, eq=False)
class DampingParameters(Parameters):
    """Gains of `Damping`; by default those of `PD`.

    Attributes:
        d: Shape (n,) [N m s/rad or N s/m].
    """

    d: Array = per_joint(
        default_gains.damping, unit=DAMPING, minimum=0.0, description="Braking effort per velocity"
    )


class Damping(Law):
    """tau = -D v: the joints sink slowly under gravity, whatever the model, the reference and the past.

    It can do no work on the robot (tau . v <= 0), needs no model, has no memory, follows no reference and cannot
    fail: that makes it the controller to fall back to.
    """

    Parameters = DampingParameters
    follows = None

    @staticmethod
    def law(
        dynamics: DynamicsLike, parameters: DampingParameters, state: State, reference: None, memory: Array
    ) -> Array:
        """As in `Law`; needs neither dynamics nor reference nor memory."""
        return -parameters.d * state.v
