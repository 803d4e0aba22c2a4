"""PD control in the hand's coordinates, with compensation of gravity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from robodyn_ros.control.controller import Law, State
from robodyn_ros.control.default_gains import task_gains
from robodyn_ros.control.laws.task_space import WorkspaceParameters, by_part, task_errors
from robodyn_ros.control.parameters import DAMPING, per_joint, scalar
from robodyn_ros.control.trajectories.tip_reference import CartesianReference
from robodyn_ros.description.model import Array


@dataclass(frozen=True, eq=False)
class WorkspacePDParameters(WorkspaceParameters):
    """Gains of `WorkspacePD`; by default from the robot's inertias, see `default_gains.task_gains`.

    Attributes:
        translation: K_p of translations [N/m].
        rotation: K_p of rotations [N m/rad].
        d: K_v, shape (n,) [N m s/rad or N s/m].
        gravity: Whether gravity is compensated.
    """

    translation: float = scalar(
        lambda robot: task_gains(robot).translation, unit="N/m", minimum=0.0,
        description="Force per position error, K_p",
    )
    rotation: float = scalar(
        lambda robot: task_gains(robot).rotation, unit="N m/rad", minimum=0.0,
        description="Torque per rotation error, K_p",
    )
    d: Array = per_joint(
        lambda robot: task_gains(robot).damping, unit=DAMPING, minimum=0.0,
        description="Braking effort per velocity, K_v",
    )
    gravity: bool = scalar(True, description="Whether gravity is compensated")


class WorkspacePD(Law):
    """tau = J^T K_p (r_d - r) - K_v v + g(q).

    [Yamamoto] (6.47), r being position and orientation, the error of the latter that of quaternions
    (`workspace.pose_error`), J the geometric Jacobian. Where the axes determine the joints, the robot is stable towards
    a resting r_d by the function of (6.36) with the springs' energy at the hand; it may also rest where J^T K_p loses
    the error, at a singular position. As in the book K_v brakes the joints themselves, so that the hand lags behind a
    moving reference. Needs no inverse, and of the model only gravity.
    """

    Parameters = WorkspacePDParameters
    follows = CartesianReference

    @staticmethod
    def law(
        dynamics: Any, parameters: WorkspacePDParameters, state: State, reference: CartesianReference, memory: Array
    ) -> tuple[Array, Array]:
        """As in `Law`; needs no memory."""
        rows = parameters.rows
        errors = task_errors(dynamics, rows, state, reference)
        stiffness = by_part(rows, parameters.translation, parameters.rotation)
        effort = errors.jacobian.T @ (stiffness * errors.pose) - parameters.d * state.v
        return effort + dynamics.gravity(state.q) if parameters.gravity else effort, memory
