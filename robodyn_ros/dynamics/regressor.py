# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Efforts as a linear function of the links' inertial parameters: tau = Y(q, v, a) pi."""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.base.checks import as_floats
from robodyn_ros.base.errors import InputError
from robodyn_ros.description.model import Array, Inertia, RobotModel, skew
from robodyn_ros.dynamics.spatial_inertia import SpatialInertia
from robodyn_ros.kinematics.arguments import checks_joint_arrays
from robodyn_ros.kinematics.forward import joint_poses
from robodyn_ros.kinematics.jacobian import body_jacobians
from robodyn_ros.kinematics.link_motions import link_motions
from robodyn_ros.kinematics.twists import cross

PARAMETERS = ("m", "hx", "hy", "hz", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")
"""Parameters of each moving link, including everything fixed to it, in its own frame. They are the mass [kg], the first
moment of mass h = m c [kg m], and the rotational inertia about the frame's origin (not the centre of mass) [kg m^2]."""

_UPPER = np.triu_indices(3)


def inertial_parameters(model: RobotModel) -> Array:
    """The parameters pi of a robot: ``PARAMETERS`` of each link, in the order of ``model.joints``.

    Args:
        model: The robot.

    Returns:
        Shape (10 * number of moving links,).
    """
    bodies = [SpatialInertia.from_inertia(joint.inertia) for joint in model.joints]
    return np.concatenate([[body.mass, *body.first, *body.rotational[_UPPER]] for body in bodies])


def with_inertial_parameters(model: RobotModel, parameters: ArrayLike) -> RobotModel:
    """The same robot with other inertial parameters, such as identified ones.

    Args:
        model: The robot.
        parameters: Parameters in the order of ``inertial_parameters``, shape (10 * number of moving links,).

    Returns:
        The robot; it may be physically impossible, as identified parameters often are.

    Raises:
        InputError: The shape differs, a number is not finite, or a link without mass has a first moment of mass.
    """
    values = as_floats(parameters, (10 * len(model.joints),), "parameters").reshape(-1, 10)
    joints = []
    for joint, (mass, *rest) in zip(model.joints, values, strict=True):
        first, rotational = np.array(rest[:3]), np.zeros((3, 3))
        rotational[_UPPER] = rest[3:]
        rotational = rotational + np.triu(rotational, 1).T
        if mass == 0.0 and np.any(first):
            raise InputError(
                f"parameters: link '{joint.link}': expected a first moment of 0 where the mass is 0, received "
                f"{first.tolist()} kg m"
            )
        com = first / mass if mass != 0.0 else np.zeros(3)
        rotational = rotational - mass * (skew(com).T @ skew(com))
        joints.append(dataclasses.replace(joint, inertia=Inertia(float(mass), com, rotational)))
    return dataclasses.replace(model, joints=tuple(joints))


@checks_joint_arrays
def regressor(model: RobotModel, q: Array, v: Array, a: Array) -> Array:
    """Y(q, v, a) with Y pi = tau of inverse dynamics: the basis of identification and adaptive control.

    It covers only the links; rotors need ``model.rotor_inertia @ a`` in addition.

    Each link's wrench (9.33) is linear in its parameters; the body Jacobian maps it to the joints, as it does with G in
    [LynchPark] (9.61).

    Args:
        model: The robot.
        q: Joint positions, shape (n,) [rad or m].
        v: Joint velocities, shape (n,) [rad/s or m/s].
        a: Joint accelerations, shape (n,) [rad/s^2 or m/s^2].

    Returns:
        Shape (n, 10 * number of moving links), columns as in ``inertial_parameters``.

    Raises:
        InputError: An array has another shape.
    """
    base_acceleration = np.concatenate([np.zeros(3), -model.gravity])
    motions = link_motions(model, joint_poses(model, q), v, a, base_acceleration)
    blocks = [
        jacobian.T @ body_regressor(motion.twist, motion.acceleration)
        for jacobian, motion in zip(body_jacobians(model, q), motions, strict=True)
    ]
    return np.concatenate(blocks, axis=1)


def body_regressor(twist: Array, acceleration: Array) -> Array:
    """Matrix that maps the ten parameters of a rigid body to the wrench that moves it, [LynchPark] (9.33).

    With h = m c and r'' the acceleration of the frame's origin, the force is m r'' + w' × h + w × (w × h), the moment
    about the origin I w' + w × I w + h × r''.

    Args:
        twist: V = (w, v) of the body's frame, in its own axes, shape (6,).
        acceleration: V', its derivative, shape (6,).

    Returns:
        Shape (6, 10); its product with the parameters is (moment, force).
    """
    omega, omega_dot = twist[:3], acceleration[:3]
    origin = acceleration[3:] + cross(omega, twist[3:])  # r'', acceleration of the frame's origin
    zero = np.zeros((3, 1))
    moment = [zero, -skew(origin), _times_inertia(omega_dot) + skew(omega) @ _times_inertia(omega)]
    force = [origin[:, None], skew(omega_dot) + skew(omega) @ skew(omega), np.zeros((3, 6))]
    return np.concatenate([np.concatenate(moment, axis=1), np.concatenate(force, axis=1)])


def _times_inertia(omega: Array) -> Array:
    """L with I w = L (Ixx, Ixy, Ixz, Iyy, Iyz, Izz), shape (3, 6)."""
    x, y, z = omega
    return np.array([[x, y, z, 0.0, 0.0, 0.0], [0.0, x, 0.0, y, z, 0.0], [0.0, 0.0, x, 0.0, y, z]])
