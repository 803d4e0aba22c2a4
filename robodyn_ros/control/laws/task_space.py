# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Controlled axes, errors and parameters shared by the task-space laws."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple, Self

import numpy as np

from robodyn_ros.base.errors import InputError, shown
from robodyn_ros.control.contract.controller import State
from robodyn_ros.control.contract.parameters import DAMPING, Parameters, derived, per_joint, scalar
from robodyn_ros.control.default_gains import (
    damping,
    model_lead,
    sampled_positions,
    slowed,
    slowed_gains,
    stiffness,
    viscous_friction,
)
from robodyn_ros.control.laws.singularity import DEFAULT_SHARE, singularity_thresholds
from robodyn_ros.control.references.tip_reference import ForceReference, TipReference
from robodyn_ros.description.model import Array
from robodyn_ros.kinematics.quaternions import (
    quaternion_by_largest_element,
    quaternion_conjugate,
    quaternion_product,
)
from robodyn_ros.robot import Robot

AXES = ("x", "y", "z", "rx", "ry", "rz")
"""Translations along and rotations about the base axes, in the order of the Jacobian's rows."""

_SINGULAR_PULL = 0.3  # share of the pull towards the posture that remains at a singular position
_INDEPENDENT = 1e-3  # least independent share of a direction that is worth controlling
_TINY = 1e-300


@lru_cache(maxsize=8)
def task_axes(robot: Robot) -> str:
    """The axes along and about which the robot can move its tip link independently, such as ``"x y z rz"``.

    They are chosen in the order of `AXES`: all six for most arms of six joints and more.
    """
    jacobians, chosen = _jacobians(robot), list[int]()
    for row in range(6):
        if len(chosen) < robot.n:
            values = np.linalg.svd(jacobians[:, [*chosen, row]], compute_uv=False)
            if np.median(values[:, -1]) > _INDEPENDENT:
                chosen.append(row)
    return " ".join(AXES[row] for row in chosen)


def axis_rows(axes: str, given: str | None = None) -> list[int]:
    """Return the rows of the Jacobian for named axes, in the order of the Jacobian.

    Args:
        axes: Names separated by spaces.
        given: The full text, for messages; None: `axes`.

    Raises:
        InputError: No axis is named, or one is unknown or named twice.
    """
    named = axes.split()
    if not named or len(set(named)) < len(named) or not set(named) <= set(AXES):
        raise InputError(f"axes: expected some of {' '.join(AXES)}, each once, with spaces between, received "
                         f"{shown(axes if given is None else given)}")
    return [row for row, axis in enumerate(AXES) if axis in named]


class Posture(NamedTuple):
    """Memory of laws that keep the posture at activation.

    Attributes:
        q: q_0, shape (n,) [rad or m].
    """

    q: Array


def joints_beside(robot: Robot) -> tuple[int, ...]:
    """Return the indices of the joints that do not move the tip link: of a gripper, of wheels, of a head."""
    return tuple(np.flatnonzero(~robot.model.moves(robot.tip_link)).tolist())


@dataclass(frozen=True, eq=False)
class TaskSpaceParameters(Parameters):
    """Parameters that choose the controlled axes.

    Attributes:
        axes: Some of `AXES`, separated by spaces.
        beside: `joints_beside`, which follow the joint positions of the reference.
    """

    axes: str = scalar(
        task_axes, structural=True, description="Axes of the base that are controlled, some of x y z rx ry rz"
    )
    beside: tuple[int, ...] = derived(lambda robot, _: joints_beside(robot), structural=True)

    def for_robot(self, robot: Robot) -> Self:
        """As in `Parameters`.

        Raises:
            InputError: As there, or axes are unknown or more than the joints.
        """
        complete = super().for_robot(robot)
        if len(complete.rows) > robot.n:
            raise InputError(f"axes: expected at most {robot.n}, the number of joints of '{robot.name}', received "
                             f"{complete.axes!r}")
        return complete

    @property
    def rows(self) -> list[int]:
        """Controlled rows of the Jacobian."""
        return axis_rows(self.axes)


@dataclass(frozen=True, eq=False)
class SpringParameters(TaskSpaceParameters):
    """Parameters of laws that pull the tip link with springs.

    Attributes:
        beside_p: Stiffness of the joints outside the tip link's chain, shape (n,) [N m/rad or N/m]; other elements are
            ignored.
        beside_d: Likewise damping, shape (n,) [N m s/rad or N s/m].
    """

    beside_p: Array = derived(lambda robot, _: stiffness(robot))
    beside_d: Array = derived(lambda robot, _: damping(robot))


@dataclass(frozen=True, eq=False)
class AccelerationParameters(TaskSpaceParameters):
    """Parameters of laws that choose the acceleration of the tip link and compute the efforts from the model.

    Attributes:
        p: K_p [1/s^2].
        d: K_v [1/s].
        error_limit: Limit of the pose error, for translation and rotation each [m or rad].
        posture_p: Acceleration per posture error, as far as the axes leave the joints free [1/s^2].
        posture_d: Likewise per velocity [1/s].
        singularity: Distance from singular positions, relative to its median, below which the inverse is damped.
        friction: D, shape (n,) [N m s/rad or N s/m].
        lead: See `default_gains.model_lead` [s].
        thresholds: Diagonal of S of `singularity_damping` for J J^T, shape (m,).
    """

    p: float = scalar(slowed(400.0, 2, 40.0), unit="1/s^2", minimum=0.0, description="Acceleration per pose error, K_p")
    d: float = scalar(
        slowed(40.0, 1, 40.0), unit="1/s", minimum=0.0, description="Acceleration per velocity error, K_v"
    )
    error_limit: float = scalar(
        0.1, unit="m or rad", minimum=1e-6, description="Greatest error of position, and of rotation, answered in full"
    )
    posture_p: float = scalar(
        slowed(100.0, 2, 40.0), unit="1/s^2", minimum=0.0,
        description="Acceleration towards the posture, where the axes leave joints free",
    )
    posture_d: float = scalar(
        slowed(40.0, 1, 40.0), unit="1/s", minimum=0.0,
        description="Braking acceleration per velocity, where the axes leave joints free"
    )
    singularity: float = scalar(
        DEFAULT_SHARE, minimum=1e-6,
        description="Distance from singular positions, over its median, below which the inverse is damped",
    )
    friction: Array = per_joint(
        viscous_friction, unit=DAMPING, minimum=0.0, description="Viscous friction of the model, D"
    )
    lead: float = model_lead(slowed_gains(400.0, 40.0), by_mass=True)
    thresholds: Array = derived(
        lambda robot, complete: singularity_thresholds(robot, complete.rows, complete.singularity, with_inertia=False)
    )

    def posture_acceleration(
        self, state: State, posture: Array, damping: Any, reference: TipReference | ForceReference
    ) -> Array:
        """Return (1 - 0.7 mu) K_pp (q_0 - q) - K_pv v, the acceleration of joints that the axes leave free, shape (n,).

        Joints outside the tip link's chain follow the reference: q'' = q''_d + K_v (q'_d - q') + K_p (q_d - q).

        Near a singular position the damped inverse frees joints of every robot. There the full pull towards a distant
        posture would slide the robot along its singular positions instead of letting it pass through them. Without any
        pull a stretched arm might bend to the wrong side.

        Args:
            state: The measured state.
            posture: q_0, shape (n,) [rad or m].
            damping: mu of `singularity_damping`.
            reference: The reference.
        """
        pull = 1.0 - (1.0 - _SINGULAR_PULL) * damping
        a = pull * self.posture_p * (posture - state.q) - self.posture_d * state.v
        for k in self.beside:
            a[k] = reference.a[k] + self.d * (reference.v[k] - state.v[k]) + self.p * (reference.q[k] - state.q[k])
        return a


class TaskErrors(NamedTuple):
    """Jacobian and errors along the m controlled axes.

    Attributes:
        jacobian: J, shape (m, n).
        pose: Pose error, see `pose_error`, shape (m,) [m, rad].
        twist: Twist error, twist_d - J v, shape (m,) [m/s, rad/s].
    """

    jacobian: Array
    pose: Array
    twist: Array


def task_errors(
    dynamics: Any, rows: list[int], state: State, reference: TipReference | ForceReference
) -> TaskErrors:
    """Compute the errors along the controlled rows of the Jacobian."""
    jacobian = dynamics.jacobian(state.q)[rows]
    error = pose_error(dynamics.forward_kinematics(state.q), reference)
    return TaskErrors(jacobian, error[rows], reference.twist[rows] - jacobian @ state.v)


def pose_error(pose: Array, reference: TipReference | ForceReference) -> Array:
    """Return r_d - r: translation, and rotation as the quaternion error, shape (6,) [m, rad].

    The rotation from R to R_d has the quaternion Q = Q_d Q_R^-1, in base axes; its error is twice Q's vector part, with
    the sign of the shorter way. For small errors it equals the rotation vector; at half a turn its length is 2. It is
    the gradient of 4 (1 - |w|), with Q's scalar part w, and so acts as a spring.

    Args:
        pose: Pose of the tip link, shape (4, 4).
        reference: Desired pose.
    """
    present = quaternion_by_largest_element(pose[:3, :3])
    missing = quaternion_product(reference.quaternion, quaternion_conjugate(present))
    sign = np.where(missing[3] < 0.0, -2.0, 2.0)
    return np.concatenate([reference.position - pose[:3, 3], sign * missing[:3]])


def effort_beside(parameters: SpringParameters, state: State, reference: TipReference) -> Array:
    """Return K_b (q_d - q) + D_b (q'_d - q') for joints outside the tip link's chain, 0 for the others, shape (n,)."""
    effort = np.zeros(len(state.q))
    for k in parameters.beside:
        effort[k] = parameters.beside_p[k] * (reference.q[k] - state.q[k]) + parameters.beside_d[k] * reference.v[k]
        effort[k] -= parameters.beside_d[k] * state.v[k]
    return effort


def tip_acceleration(
    parameters: AccelerationParameters, errors: TaskErrors, reference: TipReference | ForceReference
) -> Array:
    """Return r''* = r''_d + K_v (r'_d - r') + K_p (r_d - r), [Yamamoto] (6.49), along the controlled axes, shape (m,).

    A pose error beyond its limit is shortened to the limit in its direction. Hence the tip moves far from its goal at a
    bounded speed, K_p / K_v times the limit, and a goal out of reach does not pull without bound.
    """
    rows = parameters.rows
    error = shortened(errors.pose, rows, parameters.error_limit)
    return reference.acceleration[rows] + parameters.d * errors.twist + parameters.p * error


def shortened(error: Array, rows: list[int], limit: Any) -> Array:
    """Limit the lengths of a pose error's translation and rotation, shape (m,)."""
    squares = by_part(rows, 1.0, 0.0), by_part(rows, 0.0, 1.0)
    translation, rotation = (
        np.minimum(1.0, limit / np.sqrt(np.maximum(part @ error**2, _TINY))) for part in squares
    )
    return error * by_part(rows, translation, rotation)


def by_part(rows: list[int], translation: Any, rotation: Any) -> Array:
    """Return a gain for each controlled axis, shape (m,)."""
    return np.array([translation if row < 3 else rotation for row in rows])


def _jacobians(robot: Robot) -> Array:
    return robot.dynamics().batch.jacobian(sampled_positions(robot))
