# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The mass matrix by composite rigid bodies."""

from __future__ import annotations

import numpy as np

from robodyn_ros.description.model import Array, RobotModel
from robodyn_ros.dynamics.base_parameters import regrouped_bodies
from robodyn_ros.kinematics.forward import joint_poses, joint_twist
from robodyn_ros.kinematics.twists import wrench_in_parent


def mass_matrix(model: RobotModel, q: Array) -> Array:
    """M(q) by composite rigid bodies, [Featherstone] 6.2, with ``model.rotor_inertia``.

    Column i holds the joint efforts when joint i alone accelerates by one: all links that it carries are then one rigid
    body, whose wrench every joint towards the base passes on. Bodies are as ``regrouped_bodies`` has them.

    Args:
        model: The robot.
        q: Joint positions, shape (n,) [rad or m].

    Returns:
        Symmetric and positive definite, shape (n, n); exactly 0 where two joints carry no common link and no rotor.
    """
    joints = model.joints
    poses = joint_poses(model, q)
    composites = regrouped_bodies(model)
    matrix = model.rotor_inertia.astype(np.result_type(q, float))
    for index in reversed(range(len(joints))):
        joint = joints[index]
        if joint.parent >= 0:
            composites[joint.parent] = composites[joint.parent].joined(composites[index].in_parent(poses[index]))
        wrench = joint.multiplier * composites[index].momentum(joint_twist(joint))
        matrix[joint.dof, joint.dof] += joint.multiplier * (wrench @ joint_twist(joint))
        child = index
        while (parent := joints[child].parent) >= 0:
            wrench = wrench_in_parent(poses[child], wrench)
            entry = joints[parent].multiplier * (wrench @ joint_twist(joints[parent]))
            matrix[joint.dof, joints[parent].dof] += entry
            matrix[joints[parent].dof, joint.dof] += entry
            child = parent
    return matrix
