# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""References of controllers in the task space: a pose with its rates, and a wrench.

Conventions of the ROS boundary: motion of the tip link's frame in base axes, linear part first, quaternions x, y, z, w.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robodyn_ros.control.contract.state import JointReference, Shapes
from robodyn_ros.description.model import Array, read_only

NO_JOINTS: Array = read_only(np.zeros(0))
"""Joint values of a pure tip motion; the reference source fills them in."""

NO_WRENCH: Array = read_only(np.zeros(6))


class TipReference(NamedTuple):
    """Desired motion of the tip link at one tick.

    Attributes:
        position: Of its origin, shape (3,) [m].
        quaternion: Its orientation, unit quaternion x, y, z, w, shape (4,).
        twist: (velocity of its origin, angular velocity), shape (6,) [m/s, rad/s].
        acceleration: Derivative of the twist, shape (6,) [m/s^2, rad/s^2].
        q: Positions of joints outside the tip link's chain, such as a gripper, wheels or a head, shape (n,) [rad or m];
            elements of the chain's joints are ignored.
        v: Likewise velocities [rad/s or m/s].
        a: Likewise accelerations [rad/s^2 or m/s^2].
    """

    position: Array
    quaternion: Array
    twist: Array
    acceleration: Array
    q: Array = NO_JOINTS
    v: Array = NO_JOINTS
    a: Array = NO_JOINTS

    @staticmethod
    def shapes(n: int) -> Shapes:
        """As in `Reference`."""
        return {"position": (3,), "quaternion": (4,), "twist": (6,), "acceleration": (6,)} | JointReference.shapes(n)


class ForceReference(NamedTuple):
    """Desired motion of the tip link, and the wrench that it should exert, at one tick.

    Attributes:
        position: As in `TipReference`.
        quaternion: As in `TipReference`.
        twist: As in `TipReference`.
        acceleration: As in `TipReference`.
        q: As in `TipReference`.
        v: As in `TipReference`.
        a: As in `TipReference`.
        wrench: (force, torque) that the tip link should exert on the environment, about its origin, shape (6,)
            [N, N m].
    """

    position: Array
    quaternion: Array
    twist: Array
    acceleration: Array
    q: Array = NO_JOINTS
    v: Array = NO_JOINTS
    a: Array = NO_JOINTS
    wrench: Array = NO_WRENCH

    @staticmethod
    def shapes(n: int) -> Shapes:
        """As in `Reference`."""
        return TipReference.shapes(n) | {"wrench": (6,)}
