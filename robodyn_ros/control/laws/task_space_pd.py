# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""PD control in task space with gravity compensation."""

from __future__ import annotations

from dataclasses import dataclass

from robodyn_ros.control.contract.controller import Law, State
from robodyn_ros.control.contract.parameters import DAMPING, per_joint, scalar
from robodyn_ros.control.contract.terms import Terms
from robodyn_ros.control.default_gains import model_lead, task_gains, tip_stiffness
from robodyn_ros.control.laws.task_space import SpringParameters, by_part, effort_beside, task_errors
from robodyn_ros.control.references.tip_reference import TipReference
from robodyn_ros.description.model import Array
from robodyn_ros.dynamics.robot_dynamics import Dynamics
from robodyn_ros.robot import Robot


def _gains(robot: Robot) -> tuple[Array, Array]:
    translation, rotation, damping = task_gains(robot)
    return tip_stiffness(robot, translation, rotation), damping


@dataclass(frozen=True, eq=False)
class TaskSpacePDParameters(SpringParameters):
    """Gains of `TaskSpacePD`; by default from the robot's inertias, see `default_gains.task_gains`.

    Attributes:
        translation: K_p of translations [N/m].
        rotation: K_p of rotations [N m/rad].
        d: K_v, shape (n,) [N m s/rad or N s/m].
        gravity: Whether gravity is compensated.
        lead: See `default_gains.model_lead` [s].
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
    lead: float = model_lead(_gains)


class TaskSpacePD(Law[TaskSpacePDParameters, TipReference, None]):
    """tau = J^T K_p (r_d - r) - K_v v + g(q + lead v).

    [Yamamoto] (6.47). r is the pose of the tip link with the quaternion rotation error (`task_space.pose_error`), and J
    the geometric Jacobian. If the axes determine the joints, the function of (6.36) with the energy of the springs at
    the tip shows stability for a constant r_d. The robot may also come to rest at a singular position, where J^T K_p
    loses the error. As in the book, K_v brakes the joints themselves, so that the tip lags behind a moving reference.
    The law needs no inverse, and only gravity from the model. Joints outside the tip link's chain, such as those of a
    gripper, have their own springs and dampers.
    """

    @staticmethod
    def law(
        dynamics: Dynamics, parameters: TaskSpacePDParameters, state: State, reference: TipReference
    ) -> Terms:
        """As in `Law`; needs no memory."""
        rows = parameters.rows
        errors = task_errors(dynamics, rows, state, reference)
        stiffness = by_part(rows, parameters.translation, parameters.rotation)
        effort = errors.jacobian.T @ (stiffness * errors.pose) - parameters.d * state.v
        feedback = Terms(feedback=effort + effort_beside(parameters, state, reference))
        ahead = state.q + parameters.lead * state.v
        return feedback + Terms(gravity=dynamics.gravity(ahead)) if parameters.gravity else feedback
