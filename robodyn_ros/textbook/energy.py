# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Kinetic energy, potential energy and centre of mass, from the Jacobians of the links' centres of mass."""

from __future__ import annotations

from typing import Any

import numpy as np

from robodyn_ros.base.checks import as_array
from robodyn_ros.base.errors import InputError
from robodyn_ros.description.model import Array, RobotModel
from robodyn_ros.textbook.center_of_mass_jacobians import link_jacobians


def kinetic_energy(model: RobotModel, q: Array, v: Array) -> Any:
    """Kinetic energy T = sum of m (J_P v)^T (J_P v) / 2 + (J_O v)^T R I R^T (J_O v) / 2 over the links, a number [J].

    [LagrangeNotes] (34), (36); [Yamamoto] (3.34), (3.35); [ManipulatorNotes] 4.3.4.

    Args:
        model: The robot.
        q: Joint positions, shape (n,) [rad or m].
        v: Joint velocities, shape (n,) [rad/s or m/s].

    Raises:
        InputError: An array has another shape.
    """
    v = as_array(v, (model.n,), "v")
    energy: Any = 0.5 * (v @ (model.rotor_inertia @ v))  # of the rotors
    for link in link_jacobians(model, q):
        velocity, omega = link.linear @ v, link.angular @ v
        energy = energy + 0.5 * (link.mass * (velocity @ velocity) + omega @ (link.inertia @ omega))
    return energy


def potential_energy(model: RobotModel, q: Array) -> Any:
    """Potential energy U = -sum of m g^T p_l over the links, a number [J].

    U is 0 if the robot's centre of mass has the height of the base's origin. [LagrangeNotes] (38); [Yamamoto] (3.41),
    whose sign is misprinted; [ManipulatorNotes] 4.3.8.

    Args:
        model: The robot.
        q: Joint positions, shape (n,) [rad or m].

    Raises:
        InputError: q has another shape.
    """
    energy: Any = np.float64(0.0)
    for link in link_jacobians(model, q):
        energy = energy - link.mass * (model.gravity @ link.position)
    return energy


def center_of_mass(model: RobotModel, q: Array) -> Array:
    """Centre of mass of all moving links in the base frame, sum of m p_l over sum of m, shape (3,) [m].

    Args:
        model: The robot.
        q: Joint positions, shape (n,) [rad or m].

    Raises:
        InputError: q has another shape; or all moving links have mass 0.
    """
    links = link_jacobians(model, q)
    mass = sum(link.mass for link in links)
    if mass == 0.0:
        raise InputError(
            f"robot '{model.name}' has no centre of mass: expected a moving link with a mass, received none among "
            f"{len(links)}; give the links inertias"
        )
    return np.sum([link.mass * link.position for link in links], axis=0) / mass
