# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""References that bring a moving robot to rest, for a controller that starts while the robot moves.

A reference at rest would make a stiff law brake a moving robot with its greatest effort. Instead, the speed falls from
the measured velocity as (1 - t/T)^2 within a time T.
"""

from __future__ import annotations

from typing import Any, ClassVar

from robodyn_ros.compile import clip
from robodyn_ros.control.contract.controller import JointReference
from robodyn_ros.control.references.tip_reference import ForceReference, TipReference
from robodyn_ros.description.model import Array
from robodyn_ros.kinematics.quaternions import quaternion_by_largest_element, quaternion_product
from robodyn_ros.kinematics.rotation_vector import quaternion_from_rotation_vector
from robodyn_ros.robot import Robot

DURATION = 0.3
"""Time to come to rest [s]; the greatest deceleration is twice the speed divided by it."""


class JointsToRest:
    """Brings all joints to rest.

    Args:
        q: Joint positions, shape (n,) [rad or m].
        v: Joint velocities, shape (n,) [rad/s or m/s].
        start_time: Time of this state [s].

    Attributes:
        start_time: Time at which the motion begins [s].
        end_time: Time at which it ends [s].
        kind: Class of the references.
    """

    kind: ClassVar[type] = JointReference

    def __init__(self, q: Array, v: Array, start_time: float) -> None:
        self.start_time, self.end_time = start_time, start_time + DURATION
        self._q, self._v = q.copy(), v.copy()

    def sample(self, time: float) -> JointReference:
        """The reference at a time [s]."""
        way, speed, deceleration = progress(time - self.start_time)
        return JointReference(self._q + way * self._v, speed * self._v, deceleration * self._v)


class TipToRest:
    """Brings the tip link to rest; attributes as in `JointsToRest`.

    Args:
        pose: Pose of the tip link, shape (4, 4).
        twist: Its (linear, angular) velocity in base axes, shape (6,) [m/s, rad/s].
        start_time: Time of this state [s].
    """

    kind: ClassVar[type] = TipReference

    def __init__(self, pose: Array, twist: Array, start_time: float) -> None:
        self.start_time, self.end_time = start_time, start_time + DURATION
        self._position, self._twist = pose[:3, 3].copy(), twist.copy()
        self._quaternion = quaternion_by_largest_element(pose[:3, :3])

    def sample(self, time: float) -> TipReference:
        """The reference at a time [s]."""
        way, speed, deceleration = progress(time - self.start_time)
        quaternion = quaternion_product(quaternion_from_rotation_vector(way * self._twist[3:]), self._quaternion)
        return TipReference(self._position + way * self._twist[:3], quaternion, speed * self._twist,
                            deceleration * self._twist)


def coming_to_rest(robot: Robot, kind: type, q: Array, v: Array, start_time: float) -> Any:
    """Return a trajectory that brings a robot to rest.

    Args:
        robot: The robot.
        kind: Class of the references that the controller follows.
        q: Joint positions, shape (n,) [rad or m].
        v: Joint velocities, shape (n,) [rad/s or m/s].
        start_time: Time of this state [s].
    """
    if kind in (TipReference, ForceReference):
        dynamics = robot.dynamics()
        return TipToRest(dynamics.forward_kinematics(q), dynamics.jacobian(q) @ v, start_time)
    return JointsToRest(q, v, start_time)


def progress(time: Any) -> tuple[Any, Any, Any]:
    """Return position [s], speed and acceleration [1/s] at a time [s], each per unit of the initial velocity.

    The time may be traced.
    """
    left = clip(1.0 - time / DURATION, 0.0, 1.0)
    return DURATION / 3.0 * (1.0 - left**3), left**2, -2.0 / DURATION * left
