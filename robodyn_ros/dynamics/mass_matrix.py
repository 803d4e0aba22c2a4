# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The mass matrix by composite rigid bodies, and the check that it is positive definite."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.base.checks import is_traced
from robodyn_ros.base.errors import DescriptionError
from robodyn_ros.description.model import Array, RobotModel
from robodyn_ros.dynamics.base_parameters import regrouped_bodies
from robodyn_ros.kinematics.forward import joint_poses, joint_twist
from robodyn_ros.kinematics.twists import wrench_in_parent


def mass_matrix(model: RobotModel, q: Array) -> Array:
    """M(q) by composite rigid bodies, [Featherstone] 6.2, with ``model.rotor_inertia``.

    Column i holds the joint efforts for a unit acceleration of joint i alone: all links that it carries then form one
    rigid body, and every joint towards the base passes its wrench on. The bodies are those of ``regrouped_bodies``.

    Args:
        model: The robot.
        q: Joint positions, shape (n,) [rad or m].

    Returns:
        Symmetric and positive definite, shape (n, n); exactly 0 if two joints carry no common link and no rotor.
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


_MIN_INERTIA = 1e-15
"""Least inertia of a joint with the other joints held [kg m^2 or kg]: a microgram at a micrometre."""

_MIN_FREE_SHARE = 1e-12
"""Least inertia of a joint with the joints behind it free, relative to them held; rounding turns 0 into 1e-15."""

_MIN_EIGENVALUE = -1e-9
"""Least eigenvalue of a mass matrix scaled to a unit diagonal; rounding does not move 0 that far."""

_CONFIGURATIONS = 3


def check_mass_matrix(model: RobotModel, rotors: ArrayLike = 0.0) -> None:
    """Raise an error if the mass matrix is singular or not finite at all tested configurations, or indefinite at one.

    A robot may be singular at single configurations, such as a point mass on two crossed axes; elsewhere its mass
    matrix is positive definite. No real body makes it indefinite. A robot with traced inertias passes unchecked.

    Args:
        model: The robot.
        rotors: Inertia of motors to add, shape (n, n) or () [kg m^2 or kg].

    Raises:
        DescriptionError: The robot has no inertia at all; or the message names the joint and its inertia.
    """
    model.check_inertia()
    inertias = [joint.inertia for joint in model.joints]
    if is_traced(np.asarray(rotors), *(np.asarray(value) for each in inertias for value in vars(each).values())):
        return
    added = np.broadcast_to(np.asarray(rotors, dtype=np.float64), (model.n, model.n))
    if problem := _problem_of(model, tuple(map(tuple, added))):
        raise DescriptionError(f"robot '{model.name}': {problem}; correct the masses, inertias and lengths of the "
                               "links that this joint moves, or make the joint fixed")


@lru_cache(maxsize=8)
def _problem_of(model: RobotModel, rotors: tuple[tuple[float, ...], ...]) -> str:
    """Reason why the mass matrix is indefinite at a tested configuration or singular at all of them; else empty."""
    problems = []
    for q in np.random.default_rng(0).uniform(-1.0, 1.0, (_CONFIGURATIONS, model.n)):
        with np.errstate(all="ignore"):
            matrix = mass_matrix(model, q) + np.array(rotors)
            problem = _problem(matrix, model)
            scale = np.sqrt(np.abs(matrix.diagonal()))
            scaled = matrix / scale / scale[:, None]
        if problem and np.isfinite(scaled).all() and np.linalg.eigvalsh(scaled)[0] < _MIN_EIGENVALUE:
            return problem
        problems.append(problem)
    return "" if "" in problems else problems[-1]


def _problem(matrix: Array, model: RobotModel) -> str:
    """Reason why a mass matrix is not positive definite; empty if it is."""
    held = matrix.diagonal()
    for name, link, inertia, row in zip(model.joint_names, model.leaders, held, matrix, strict=True):
        if not np.isfinite(row).all():
            return f"joint '{name}': its row of the mass matrix, {row.tolist()}, is not finite"
        if inertia < _MIN_INERTIA:
            return (f"joint '{name}': it moves link '{link.link}' and all behind it with an inertia of {inertia:g} "
                    f"about its axis, expected {_MIN_INERTIA:g} kg m^2 (revolute) or kg (prismatic) at least")
    scale = np.sqrt(held)
    rest = matrix / scale / scale[:, None]
    for index in reversed(range(model.n)):  # eliminating from the tip leaves each joint's articulated inertia
        free = rest[index, index]
        if not free > _MIN_FREE_SHARE:
            name, inertia = model.joint_names[index], held[index]
            return (f"joint '{name}': its inertia is {inertia:g} with the joints behind it held, and "
                    f"{free * inertia:g} with them free, so efforts do not determine its acceleration")
        rest[:index, :index] -= np.outer(rest[:index, index], rest[index, :index]) / free
    return ""
