# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Energy and centre of mass of a robot's moving links."""

from __future__ import annotations

import numpy as np

from robodyn_ros.base.errors import InputError
from robodyn_ros.description.model import Array, RobotModel
from robodyn_ros.dynamics.spatial_inertia import SpatialInertia
from robodyn_ros.kinematics.arguments import checks_joint_arrays
from robodyn_ros.kinematics.forward import joint_poses
from robodyn_ros.kinematics.link_motions import link_motions
from robodyn_ros.kinematics.twists import cross


@checks_joint_arrays
def kinetic_energy(model: RobotModel, q: Array, v: Array) -> Array:
    """T = sum over links of m v_c^T v_c / 2 + w^T I w / 2: [LagrangeNotes] (29) to (34).

    [Yamamoto] (3.3), (3.34), (3.35); [ManipulatorNotes] 4.3.2; [LynchPark] (9.10), body by body (9.24).
    Twists are computed from link to link as in [LynchPark] (9.54); the product of M(q) with v, [LagrangeNotes] (36),
    takes more operations. The rotors of ``model.armature`` are included.

    Args:
        model: The robot.
        q: Joint positions, shape (n,) [rad or m].
        v: Joint velocities, shape (n,) [rad/s or m/s].

    Returns:
        A number, shape () [J].

    Raises:
        InputError: An array has another shape.
    """
    energy: Array = np.zeros(())
    for dof, other in np.argwhere(model.rotor_inertia):
        energy = energy + 0.5 * model.rotor_inertia[dof, other] * (v[dof] * v[other])
    motions = link_motions(model, joint_poses(model, q), v, np.zeros(model.n), np.zeros(6))
    for joint, (twist, _) in zip(model.joints, motions, strict=True):
        omega, inertia = twist[:3], joint.inertia
        velocity = twist[3:] + cross(omega, inertia.com)
        energy = energy + 0.5 * (inertia.mass * (velocity @ velocity) + omega @ (inertia.rotational @ omega))
    return energy


def potential_energy(model: RobotModel, q: Array) -> Array:
    """U = -sum of m g^T p_c over the links: [LagrangeNotes] (38), [ManipulatorNotes] 4.3.8.

    [Yamamoto] (3.26); (3.39) and (3.41), whose sign is misprinted. In [LynchPark] (9.9) L subtracts it.

    It is 0 if the centre of mass is at the height of the base's origin.

    Args:
        model: The robot.
        q: Joint positions, shape (n,) [rad or m].

    Returns:
        A number, shape () [J].
    """
    return -(model.gravity @ _first_moment(model, q))


def center_of_mass(model: RobotModel, q: Array) -> Array:
    """Centre of mass of all moving links in the base frame; bodies fixed to the base do not count.

    Args:
        model: The robot.
        q: Joint positions, shape (n,) [rad or m].

    Returns:
        Shape (3,) [m].

    Raises:
        InputError: No moving link has a mass.
    """
    mass = sum(joint.inertia.mass for joint in model.joints)
    if mass == 0.0:
        raise InputError(
            f"robot '{model.name}' has no centre of mass: expected a moving link with a mass, received none among "
            f"{len(model.joints)}; give the links inertias"
        )
    return _first_moment(model, q) / mass


def _first_moment(model: RobotModel, q: Array) -> Array:
    """Sum of m p_c over the moving links, in the base frame, shape (3,) [kg m].

    Computed from the tips inwards, each joint transforms a vector and a mass instead of matrices.
    """
    poses, whole = joint_poses(model, q), SpatialInertia(0.0, np.zeros(3), np.zeros((3, 3)))
    composites = [SpatialInertia.from_inertia(joint.inertia) for joint in model.joints]
    for index in reversed(range(len(composites))):
        parent, body = model.joints[index].parent, composites[index].in_parent(poses[index])
        if parent < 0:
            whole = whole.joined(body)
        else:
            composites[parent] = composites[parent].joined(body)
    return whole.first
