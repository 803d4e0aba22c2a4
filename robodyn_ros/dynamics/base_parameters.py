"""Bodies of the links regrouped, so that as few numbers as possible say what the joints feel.

A mass that a joint does not move relative to its parent may as well be fixed to the parent: one on the axis of a
revolute joint; of a prismatic joint's link, whatever makes it resist turning alone. Taking it from the link and giving
it to the parent, from the leaves to the root, leaves the robot's kinetic energy what it was, and the potential energy
but for a constant; and with them all that follows: the joints' efforts, M, C, g and their derivatives. What arrives at
the base is felt by no joint.

A revolute link whose axis is one of its frame's keeps seven numbers of ten, a prismatic one four [GautierKhalil]; a
traced formula does nothing with the zeros, and so becomes shorter. These bodies are no longer the links: a revolute
one's mass is 0, and what its joint's bearings feel is another.
"""

from __future__ import annotations

import numpy as np

from robodyn_ros.description.model import Array, Joint, RobotModel
from robodyn_ros.dynamics.moments import SpatialInertia


def regrouped_bodies(model: RobotModel) -> list[SpatialInertia]:
    """Bodies of which the joints feel the same as of the links'.

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
            # The joint's own displacement does not matter, which is what makes it the unmoved part.
            unmoved = SpatialInertia.from_moments(mass, first, second).in_parent(joint.pose_parent_link)
            bodies[joint.parent] = bodies[joint.parent].joined(unmoved)
    return bodies


def _unmoved(joint: Joint, body: SpatialInertia) -> tuple[float, Array, Array]:
    """Mass, first and second moments of the part of a body that stays in the parent's frame when the joint moves."""
    if joint.kind == "prismatic":
        return 0.0, np.zeros(3), body.second
    along = np.outer(joint.axis, joint.axis)
    return body.mass, along @ body.first, along @ body.second @ along
