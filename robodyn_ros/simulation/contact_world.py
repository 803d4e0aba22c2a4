# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Surroundings of a simulated robot: surfaces, and spheres on its links that can touch them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.base.errors import InputError
from robodyn_ros.description.model import Array, RobotModel
from robodyn_ros.kinematics.forward import forward_kinematics
from robodyn_ros.simulation.surfaces import Surface

MAX_PAIRS = 64
"""Greatest number of contact points times surfaces; each pair is compiled into the step."""


@dataclass(frozen=True, eq=False)
class ContactPoint:
    """A sphere on a link that can touch surfaces."""

    link: str  # name of the link
    position: Array  # centre of the sphere in the frame of the link, shape (3,) [m]
    radius: float  # radius; 0: a point [m]


@dataclass(frozen=True, eq=False)
class World:
    """Surfaces fixed to the base, and contact points of the robot.

    Raises:
        InputError: There are more than `MAX_PAIRS` pairs.
    """

    surfaces: tuple[Surface, ...]
    points: tuple[ContactPoint, ...]
    where: str = "world"  # source of the world, named in messages

    def __post_init__(self) -> None:
        """Check the number of pairs."""
        if self.pairs > MAX_PAIRS:
            raise InputError(f"{self.where}: expected at most {MAX_PAIRS} pairs of a contact point and a surface, "
                             f"received {len(self.points)} contact points times {len(self.surfaces)} surfaces; leave "
                             "out those that never touch")

    @property
    def pairs(self) -> int:
        """Number of pairs of a contact point and a surface."""
        return len(self.points) * len(self.surfaces)

    @cached_property
    def friction(self) -> Array:
        """Coulomb coefficient of each pair, point by point, shape (pairs,)."""
        return np.array([surface.material.friction for _ in self.points for surface in self.surfaces])

    def check(self, model: RobotModel) -> None:
        """Check that every contact point is on a moving link of a robot.

        Raises:
            InputError: A link does not exist, or does not move.
        """
        for number, point in enumerate(self.points, 1):
            try:
                frame = model.frame(point.link)
            except InputError as error:
                raise InputError(f"{self.where}: contact point {number}: {error}") from None
            if frame.joint < 0:
                raise InputError(f"{self.where}: contact point {number}: link '{point.link}' of '{model.name}' does "
                                 "not move, so a contact point on it has no effect; name another link")

    def check_start(self, model: RobotModel, q: Array) -> None:
        """Check that no contact point starts deep inside a surface.

        Args:
            model: The robot.
            q: Joint positions, shape (n,) [rad or m].

        Raises:
            InputError: A contact point does.
        """
        for number, point in enumerate(self.points, 1):
            centre = centre_in_base(model, q, point)
            for surface in self.surfaces:
                depth = point.radius - float(surface.distance(centre)[0])
                if depth * surface.material.stiffness > MAX_RESTING_FORCE:
                    raise InputError(
                        f"{self.where}: contact point {number} on link '{point.link}' starts {depth:.3g} m inside "
                        f"surface '{surface.name}' at joint positions {np.round(q, 4).tolist()}: expected a start "
                        "outside; move the surface, or choose other initial positions")


MAX_RESTING_FORCE = 50.0
"""Greatest contact force at the start, which lets a robot begin at rest on a surface [N]."""


def centre_in_base(model: RobotModel, q: NDArray[np.float64], point: ContactPoint) -> Array:
    """Return the centre of a contact point in the base frame, shape (3,) [m]."""
    pose = forward_kinematics(model, q, point.link)
    return pose[:3, :3] @ point.position + pose[:3, 3]
