# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Wrenches of the links: those exerted on the environment, and the joint efforts for all of them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import DTypeLike

from robodyn_ros.description.model import Array, RobotModel
from robodyn_ros.kinematics.forward import joint_twist
from robodyn_ros.kinematics.twists import wrench_in_parent


def add_exerted_wrenches(model: RobotModel, totals: list[Array], exerted: Mapping[str, Array] | None) -> None:
    """Add the wrenches that links exert on the environment to the wrenches of the moving links.

    Args:
        model: The robot.
        totals: Wrench of every moving link, in its frame; changed in place.
        exerted: (moment, force) that each link exerts, by the link's name, in the link's frame, shape (6,) each. Links
            fixed to the base load no joint.

    Raises:
        InputError: No link has that name.
    """
    for link, wrench in (exerted or {}).items():
        frame = model.frame(link)
        if frame.joint >= 0:
            totals[frame.joint] = totals[frame.joint] + wrench_in_parent(frame.pose_link_frame, wrench)


def joint_efforts(model: RobotModel, poses: list[Array], wrenches: list[Array], a: Array, kind: DTypeLike = float
                  ) -> Array:
    """Joint efforts that give each link its wrench: sums from the leaves to the base, projected on the joint axes.

    The efforts that accelerate the rotors of ``model.armature`` are added.

    Args:
        model: The robot.
        poses: T_{parent,i} of every joint, from ``joint_poses``.
        wrenches: (moment, force) needed by each moving link alone, in its frame, shape (6,) each.
        a: Joint accelerations, shape (n,) [rad/s^2 or m/s^2].
        kind: dtype of the result.

    Returns:
        Joint efforts, shape (n,) [N m or N].
    """
    passed_on = list(wrenches)
    tau = np.zeros(model.n, dtype=kind)
    for dof, other in np.argwhere(model.rotor_inertia):
        tau[dof] = tau[dof] + model.rotor_inertia[dof, other] * a[other]
    for index in reversed(range(len(model.joints))):
        joint = model.joints[index]
        tau[joint.dof] += joint.multiplier * (passed_on[index] @ joint_twist(joint))
        if joint.parent >= 0:
            passed_on[joint.parent] = passed_on[joint.parent] + wrench_in_parent(poses[index], passed_on[index])
    return tau
