# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Regrouped inertias of the links: the same joint efforts from fewer nonzero inertial parameters.

Mass that a joint does not move relative to its parent can be counted with the parent. For a revolute joint that is the
mass on its axis, for a prismatic joint the rotational inertia of its link. Moving it from each link to its parent, from
the leaves to the base, keeps the kinetic energy, and the potential energy up to a constant. Hence it keeps joint
efforts, M, C, g and their derivatives. The mass that reaches the base has no effect on any joint.

A revolute link whose axis is an axis of its frame keeps seven of ten parameters, a prismatic one four [GautierKhalil].
The zeros shorten a traced formula. Regrouped bodies are not the real links: the mass of a revolute link becomes 0, and
forces in the bearings are not those of the robot.
"""

from __future__ import annotations

import numpy as np

from robodyn_ros.description.model import Array, Joint, RobotModel, product
from robodyn_ros.dynamics.spatial_inertia import SpatialInertia


def regrouped_bodies(model: RobotModel) -> list[SpatialInertia]:
    """Regrouped inertias, which need the same joint efforts as the links.

    Args:
        model: The robot.

    Returns:
        Each in its link's frame, in the order of ``model.joints``.
    """
    bodies = [SpatialInertia.from_inertia(joint.inertia) for joint in model.joints]
    for index in reversed(range(len(bodies))):
        joint, body = model.joints[index], bodies[index]
        mass, first, second = _unmoved(joint, body)
        bodies[index] = SpatialInertia.from_moments(body.mass - mass, body.first - first, body.second - second)
        if joint.parent >= 0:
            # The joint does not move this part relative to the parent, so the pose at position 0 applies.
            unmoved = SpatialInertia.from_moments(mass, first, second).in_parent(joint.pose_parent_link)
            bodies[joint.parent] = bodies[joint.parent].joined(unmoved)
    return bodies


def _unmoved(joint: Joint, body: SpatialInertia) -> tuple[float, Array, Array]:
    """Mass, first and second moments of the part of a body that stays in the parent's frame when the joint moves."""
    if joint.kind == "prismatic":
        return 0.0, np.zeros(3), body.second
    along = np.outer(joint.axis, joint.axis)
    return body.mass, product(along, body.first), product(along, body.second, along)
