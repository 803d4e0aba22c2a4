# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Forward dynamics by articulated bodies: joint accelerations one by one, without a mass matrix."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import NamedTuple

import numpy as np

from robodyn_ros.base.errors import InputError
from robodyn_ros.description.model import Array, Inertia, Joint, RobotModel, skew
from robodyn_ros.dynamics.base_parameters import regrouped_bodies
from robodyn_ros.dynamics.coriolis import common_frame
from robodyn_ros.dynamics.link_wrenches import add_exerted_wrenches
from robodyn_ros.dynamics.spatial_inertia import SpatialInertia, mirrored
from robodyn_ros.kinematics.arguments import checks_joint_arrays
from robodyn_ros.kinematics.forward import joint_poses, joint_twist, path_to
from robodyn_ros.kinematics.twists import cross, lie_bracket, twist_in_child, twist_in_parent, wrench_in_parent

MEAN_SQUARE_DEPTH = 50.0
"""Mean square of the joint depths above which articulated bodies are faster than the mass matrix: long chains.

Compiled, both took the same time for a chain of about 12 joints; for 6 or 7, as for bushy trees, the mass matrix takes
a fifth less.
"""


def is_faster(model: RobotModel) -> bool:
    """Whether articulated bodies are faster than the mass matrix for this robot."""
    squares = [len(path_to(model, index)) ** 2 for index in range(len(model.joints))]
    return model.has_tree_mass_matrix and sum(squares) > MEAN_SQUARE_DEPTH * model.n


class ArticulatedInertia(NamedTuple):
    """Inertia of a link with free joints behind it: [[I, H], [H^T, M]] in the link's frame.

    Unlike a rigid body's, its mass M depends on the direction.
    """

    rotational: Array  # I, symmetric, shape (3, 3) [kg m^2]
    coupling: Array  # H, shape (3, 3) [kg m]
    mass: Array  # M, symmetric, shape (3, 3) [kg]

    @classmethod
    def from_body(cls, body: SpatialInertia) -> ArticulatedInertia:
        """The articulated inertia of a rigid body."""
        return cls(body.rotational, skew(body.first), body.mass * np.eye(3))

    def joined(self, other: ArticulatedInertia) -> ArticulatedInertia:
        """Sum with another inertia in the same frame: both bodies joined to one."""
        return ArticulatedInertia(
            self.rotational + other.rotational, self.coupling + other.coupling, self.mass + other.mass
        )

    def wrench(self, acceleration: Array) -> Array:
        """Wrench for an acceleration, shape (6,)."""
        angular, linear = acceleration[:3], acceleration[3:]
        return np.concatenate(
            [self.rotational @ angular + self.coupling @ linear, self.coupling.T @ angular + self.mass @ linear]
        )

    def freed(self, axis: Array, wrench: Array, inverse: Array, armature: float = 0.0) -> ArticulatedInertia:
        """The inertia that a free joint passes on to its parent: this less ``wrench wrench^T * inverse``.

        Args:
            axis: The joint's twist S, shape (6,).
            wrench: I S, shape (6,).
            inverse: 1 / (S^T I S + armature).
            armature: Rotor inertia of the joint.
        """
        moment, force = wrench[:3], wrench[3:]
        rotational = self.rotational - mirrored(np.outer(moment, moment * inverse))
        coupling = self.coupling - np.outer(moment, force * inverse)
        mass = self.mass - mirrored(np.outer(force, force * inverse))
        # Without a rotor, a joint passes on no inertia along its axis: zeros if that is a coordinate axis.
        if armature == 0.0 and axis.dtype != object and np.count_nonzero(axis) == 1:
            angular, linear = np.flatnonzero(axis[:3]), np.flatnonzero(axis[3:])
            rotational[angular, :] = rotational[:, angular] = 0.0
            coupling[angular, :] = coupling[:, linear] = 0.0
            mass[linear, :] = mass[:, linear] = 0.0
        return ArticulatedInertia(rotational, coupling, mass)

    def in_parent(self, pose_parent_child: Array) -> ArticulatedInertia:
        """The same inertia in the parent's frame: Ad_{T^-1}^T I Ad_{T^-1}."""
        rotation, bracket = pose_parent_child[:3, :3], skew(pose_parent_child[:3, 3])
        mass = mirrored(rotation @ self.mass @ rotation.T)
        coupling = rotation @ self.coupling @ rotation.T
        moved = coupling + bracket @ mass
        rotational = rotation @ self.rotational @ rotation.T - coupling @ bracket + bracket @ moved.T
        return ArticulatedInertia(mirrored(rotational), moved, mass)


@checks_joint_arrays
def articulated_body_forward_dynamics(
    model: RobotModel,
    q: Array,
    v: Array,
    tau: Array,
    exerted: Mapping[str, Array] | None = None,
) -> Array:
    """The acceleration a of M(q) a = tau - b(q, v) - J^T F_tip, in O(n): [Featherstone] 7.3.

    The pass from the leaves to the base computes the articulated inertia of each link and its wrench at zero
    acceleration. The pass from the base to the leaves computes the joint accelerations.

    Args:
        model: The robot; each joint must have a degree of freedom of its own.
        q: Joint positions, shape (n,) [rad or m].
        v: Joint velocities, shape (n,) [rad/s or m/s].
        tau: Joint efforts, shape (n,) [N m or N].
        exerted: (moment, force) that links exert on the environment, by the link's name, each in its link's frame,
            shape (6,) [N m, N]; None for none.

    Returns:
        Joint accelerations, shape (n,) [rad/s^2 or m/s^2].

    Raises:
        InputError: An array has another shape; joints share a degree of freedom (mimic joints); a joint moves
            no inertia; or no link has a name of ``exerted``.
    """
    _check_tree(model)
    joints, rotors = model.joints, np.diag(model.rotor_inertia).tolist()
    poses = joint_poses(model, q)
    twists: list[Array] = []
    drifts: list[Array] = []  # c, acceleration of the link relative to its parent at constant joint velocity
    inertias: list[ArticulatedInertia] = []
    needed: list[Array] = []  # p, wrench of the articulated body at zero acceleration
    for joint, pose in zip(joints, poses, strict=True):
        axis = joint_twist(joint)
        relative = axis * v[joint.dof]
        twist = relative if joint.parent < 0 else twist_in_child(pose, twists[joint.parent]) + relative
        twists.append(twist)
        drifts.append(lie_bracket(twist, relative))
        inertias.append(ArticulatedInertia.from_body(SpatialInertia.from_inertia(joint.inertia)))
        needed.append(_wrench_of_velocity(joint.inertia, twist))
    add_exerted_wrenches(model, needed, exerted)

    handles: list[Array] = [np.zeros(6)] * len(joints)  # U, the wrench that moves the joint
    inverses: list[Array] = [np.zeros(())] * len(joints)  # 1 / d, with the inertia d that the joint moves
    surpluses: list[Array] = [np.zeros(())] * len(joints)  # u, effort that remains for acceleration
    for index in reversed(range(len(joints))):
        joint = joints[index]
        axis = joint_twist(joint)
        handle = inertias[index].wrench(axis)
        inverse = 1.0 / _moved(joint, axis @ handle, rotors[joint.dof])
        surplus = tau[joint.dof] - axis @ needed[index]
        handles[index], inverses[index], surpluses[index] = handle, inverse, surplus
        if joint.parent >= 0:
            left = inertias[index].freed(axis, handle, inverse, rotors[joint.dof])
            wrench = needed[index] + left.wrench(drifts[index]) + handle * (inverse * surplus)
            inertias[joint.parent] = inertias[joint.parent].joined(left.in_parent(poses[index]))
            needed[joint.parent] = needed[joint.parent] + wrench_in_parent(poses[index], wrench)

    base_acceleration = np.concatenate([np.zeros(3), -model.gravity])
    accelerations: list[Array] = []
    result = np.zeros(model.n, dtype=np.result_type(q, v, tau, float))
    for index, (joint, pose) in enumerate(zip(joints, poses, strict=True)):
        before = base_acceleration if joint.parent < 0 else accelerations[joint.parent]
        carried = twist_in_child(pose, before) + drifts[index]
        rate_dot = inverses[index] * (surpluses[index] - handles[index] @ carried)
        result[joint.dof] = rate_dot
        accelerations.append(carried + joint_twist(joint) * rate_dot)
    return result


def _check_tree(model: RobotModel) -> None:
    mimics = ", ".join(f"'{joint.name}'" for joint in model.joints if joint.name not in model.joint_names)
    if mimics:
        raise InputError(
            f"articulated bodies: each joint must be independent, but {mimics} of robot '{model.name}' mimic "
            "other joints; use forward_dynamics"
        )
    if not model.has_tree_mass_matrix:
        raise InputError(f"articulated bodies: robot '{model.name}' has rotors that several joints turn; "
                         "use forward_dynamics")


def mass_matrix_tree_factors(model: RobotModel, q: Array) -> Array:
    """The factors of M = L^T D L for `TreeSystem`, in O(n); with them a column of M^-1 B costs O(n).

    When joint i is freed, articulated bodies pass the wrench U_i / d_i per effort on to all joints j that carry it. So
    L_ij = (U_i / d_i)^T S_j, with all twists and wrenches in the frame of ``common_frame``, and D_i = d_i = S_i^T U_i.

    Args:
        model: The robot; each joint must have a degree of freedom of its own.
        q: Joint positions, shape (n,) [rad or m].

    Returns:
        (S_i, U_i / d_i, 1 / d_i) in the row of joint i's degree of freedom, shape (n, 13).

    Raises:
        InputError: A joint moves no inertia, or shares a degree of freedom or a rotor with another joint.
    """
    _check_tree(model)
    joints, rotors, poses = model.joints, np.diag(model.rotor_inertia).tolist(), common_frame(model, q).poses
    inertias = [
        ArticulatedInertia.from_body(body.in_parent(pose))
        for body, pose in zip(regrouped_bodies(model), poses, strict=True)
    ]
    result = np.zeros((model.n, 13), dtype=np.result_type(q, float))
    for index in reversed(range(len(joints))):
        joint = joints[index]
        axis = twist_in_parent(poses[index], joint_twist(joint))
        handle = inertias[index].wrench(axis)
        inverse = 1.0 / _moved(joint, axis @ handle, rotors[joint.dof])
        result[joint.dof] = np.concatenate([axis, handle * inverse, [inverse]])
        if joint.parent >= 0:
            left = inertias[index].freed(axis, handle, inverse, rotors[joint.dof])
            inertias[joint.parent] = inertias[joint.parent].joined(left)
    return result


def _wrench_of_velocity(inertia: Inertia, twist: Array) -> Array:
    """(moment, force) that keeps a body at constant twist, about its frame's origin, shape (6,)."""
    omega = twist[:3]
    force = inertia.mass * cross(omega, twist[3:] + cross(omega, inertia.com))
    moment = cross(omega, inertia.rotational @ omega)
    return np.concatenate([moment + cross(inertia.com, force), force])


def _moved(joint: Joint, inertia: Array, rotor: float) -> Array:
    """The inertia that a joint moves, including its rotor; raises an error if there is none."""
    if rotor:
        return inertia + rotor
    if isinstance(inertia, Real) and inertia == 0.0:  # a number, not a traced value
        raise InputError(
            f"joint '{joint.name}' moves no inertia while the joints after it are free, so that no effort determines "
            "its acceleration; give the links it carries an inertia"
        )
    return inertia
