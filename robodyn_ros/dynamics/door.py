"""The dynamics as the door of the library speaks of them: the one place where conventions change.

Inside, twists and wrenches have their angular part first and F_tip is what the robot exerts on the environment, in
tip axes, as [LynchPark] has it. At the door, as at the ROS boundary (geometry_msgs), the linear part comes first, and
``wrench_tip`` is what the environment exerts on the robot, in base axes, about the tip link's origin. The effort it
causes is ``jacobian(q).T @ wrench_tip``.
"""

from __future__ import annotations

import numpy as np

from robodyn_ros.description.model import Array, RobotModel
from robodyn_ros.dynamics import forward_dynamics as joint_acceleration
from robodyn_ros.dynamics import newton_euler
from robodyn_ros.kinematics.forward import forward_kinematics
from robodyn_ros.kinematics.jacobian import geometric_jacobian


def inverse_dynamics(model: RobotModel, q: Array, v: Array, a: Array, wrench_tip: Array | None = None) -> Array:
    """``newton_euler.inverse_dynamics`` with the door's ``wrench_tip``: tau = M a + c + g - J^T wrench_tip."""
    return newton_euler.inverse_dynamics(model, q, v, a, _tip_wrench(model, q, wrench_tip))


def forward_dynamics(model: RobotModel, q: Array, v: Array, tau: Array, wrench_tip: Array | None = None) -> Array:
    """``forward_dynamics`` with the door's ``wrench_tip``: M a = tau + J^T wrench_tip - c - g."""
    return joint_acceleration.forward_dynamics(model, q, v, tau, _tip_wrench(model, q, wrench_tip))


def jacobian(model: RobotModel, q: Array, link: str | None = None) -> Array:
    """``geometric_jacobian`` with its linear rows first."""
    return _other_part_first(geometric_jacobian(model, q, link))


def _other_part_first(rows: Array) -> Array:
    """(angular, linear) from (linear, angular), and back."""
    return np.concatenate([rows[3:], rows[:3]])


def _tip_wrench(model: RobotModel, q: Array, wrench_tip: Array | None) -> Array | None:
    """The book's F_tip of the door's ``wrench_tip``."""
    if wrench_tip is None:
        return None
    rotation = forward_kinematics(model, q)[:3, :3]
    moment_force = _other_part_first(wrench_tip)
    return -np.concatenate([rotation.T @ moment_force[:3], rotation.T @ moment_force[3:]])
