"""Impedance control: the hand gives way to a push as a spring would, damped at the joints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from robodyn_ros.control.controller import Law, State
from robodyn_ros.control.default_gains import task_gains
from robodyn_ros.control.dynamics_like import DynamicsLike
from robodyn_ros.control.laws.gravity_compensation import light_damping
from robodyn_ros.control.laws.singularity import damped_inverse, damping_near_singularity
from robodyn_ros.control.laws.task_space import (
    TaskSpaceParameters,
    by_part,
    singular_manipulability,
    task_errors,
)
from robodyn_ros.control.parameters import DAMPING, per_joint, scalar
from robodyn_ros.control.trajectories.tip_reference import TipReference
from robodyn_ros.description.model import Array
from robodyn_ros.robot import Robot

SOFTNESS = 0.25
"""Default stiffness over that of `TaskSpacePD`."""


def _soft(part: str) -> Any:
    def stiffness(robot: Robot) -> float:
        return SOFTNESS * float(getattr(task_gains(robot), part))

    return stiffness


@dataclass(frozen=True, eq=False)
class ImpedanceParameters(TaskSpaceParameters):
    """What `Impedance` feels like.

    Attributes:
        translation: K of translations [N/m].
        rotation: K of rotations [N m/rad].
        damping_ratio: zeta.
        d: Damping that is always there, shape (n,) [N m s/rad or N s/m].
        singularity: As in `AccelerationParameters`.
        singularity_damping: As in `AccelerationParameters`.
    """

    translation: float = scalar(
        _soft("translation"), unit="N/m", minimum=0.0, description="Force per displacement, K"
    )
    rotation: float = scalar(
        _soft("rotation"), unit="N m/rad", minimum=0.0, description="Torque per rotation, K"
    )
    damping_ratio: float = scalar(
        1.0, minimum=0.0, maximum=2.0, description="Damping ratio of each joint for the stiffness that it feels"
    )
    d: Array = per_joint(
        light_damping, unit=DAMPING, minimum=0.0, description="Effort per velocity error that is always there"
    )
    singularity: float = scalar(
        singular_manipulability, minimum=1e-20,
        description="Manipulability below which the joints' desired velocities are damped",
    )
    singularity_damping: float = scalar(
        0.3, minimum=0.0, description="Damping of these velocities at a singular position"
    )


class Impedance(Law):
    """tau = J^T K (r_d - r) + (D + diag(2 zeta sqrt(M_ii (J^T K J)_ii))) (J^+ r'_d - v) + g(q).

    Impedance control [Hogan] without shaping the inertia, so that no force is measured: a slow push f moves the hand by
    K^-1 f. The damping is at the joints, each damped with the ratio zeta for the stiffness that it feels: a damper
    between hand and world would have to be weak enough for the hand's lightest motion, and then hardly damps its
    heaviest. Springs and dampers alone act on the robot, which is therefore stable against any passive environment
    while the reference rests. The stiffness is along the base's axes, alike for all translations and all rotations.
    """

    Parameters = ImpedanceParameters
    follows = TipReference

    @staticmethod
    def law(
        dynamics: DynamicsLike, parameters: ImpedanceParameters, state: State, reference: TipReference, memory: Array
    ) -> Array:
        """As in `Law`; needs no memory."""
        rows, q = parameters.rows, state.q
        errors = task_errors(dynamics, rows, state, reference)
        jacobian = errors.jacobian
        stiffness = by_part(rows, parameters.translation, parameters.rotation)
        felt = stiffness @ jacobian**2
        damping = parameters.d + 2.0 * parameters.damping_ratio * np.sqrt(dynamics.mass_matrix(q).diagonal() * felt)
        singular = damping_near_singularity(jacobian, parameters.singularity, parameters.singularity_damping)
        v_d = damped_inverse(jacobian, singular) @ reference.twist[rows]
        spring = jacobian.T @ (stiffness * errors.pose)
        return spring + damping * (v_d - state.v) + dynamics.gravity(q)
