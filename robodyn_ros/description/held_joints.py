# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Joints that move no inertia, in a robot that has some: they are held in place, as if fixed.

No effort gives such a joint a finite acceleration. An example are the massless fingers of a gripper.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import numpy as np
from lxml import etree

from robodyn_ros.base.errors import list_names
from robodyn_ros.description.model import Array, Frame, Joint, RobotModel, skew
from robodyn_ros.description.report import Report


def hold_massless_joints(model: RobotModel, report: Report, elements: Mapping[str, etree._Element]) -> RobotModel:
    """Hold joints that move no inertia, with one warning. A robot without any inertia keeps them, for kinematics.

    Args:
        model: A robot whose joints all move.
        report: Collects the warning.
        elements: The joints of its URDF by name; empty for a robot from a table.
    """
    positions = held_positions(model)
    if positions:
        report.warn(elements.get(next(iter(positions))), f"no inertia moves with the joints {list_names(positions)}",
                    "they are held at 0 or the limit next to it, as if fixed; give their drives' rotors (<dynamics "
                    f"armature=.../>), or {model.completion}")
        return with_joints_held(model, positions)
    if model.n and not model.has_inertia:
        report.warn(None, f"no moving link has an inertia: {list_names(model.links_without_inertia)}",
                    f"kinematics works, dynamics does not; {model.completion}")
    return model


def held_positions(model: RobotModel) -> dict[str, float]:
    """Return the positions at which to hold independent joints, by name: the one nearest to 0 within the limits.

    The result is empty if no joint moves an inertia: such a robot has kinematics only.

    Args:
        model: A robot whose joints all move.

    Returns:
        [rad or m].
    """
    if not model.has_inertia:
        return {}
    index = model.joint_index
    return {name: float(np.clip(0.0, model.position_lower[index(name)], model.position_upper[index(name)]))
            for name in model.joints_without_inertia}


def with_joints_held(model: RobotModel, positions: dict[str, float]) -> RobotModel:
    """Return a robot with some joints fixed, together with the joints that mimic them.

    Args:
        model: The robot.
        positions: Positions of independent joints, by name [rad or m].

    Returns:
        The robot with fewer joints and the same frames; ``held`` has the fixed joints.
    """
    held = dict(model.held)
    names = tuple(name for name in model.joint_names if name not in positions)
    joints: list[Joint] = []
    places: list[tuple[int, Array]] = []  # for each joint's link: the joint that carries it, and its pose in that frame
    for joint in model.joints:
        carrier, pose = (-1, np.eye(4)) if joint.parent < 0 else places[joint.parent]
        pose = pose @ joint.pose_parent_link
        leader = model.joint_names[joint.dof]
        if leader in positions:
            held[joint.name] = joint.multiplier * positions[leader] + joint.offset
            pose = pose @ _motion(joint, held[joint.name])
            if carrier >= 0 and not joint.inertia.is_zero:
                joints[carrier] = dataclasses.replace(
                    joints[carrier], inertia=joints[carrier].inertia + joint.inertia.transformed(pose))
            places.append((carrier, pose))
        else:
            places.append((len(joints), np.eye(4)))
            joints.append(dataclasses.replace(joint, parent=carrier, pose_parent_link=pose, dof=names.index(leader)))
    frames = {name: _moved(frame, places) for name, frame in model.frames.items()}
    couplings = tuple(kept for each in model.couplings if (kept := each.among(names)) is not None)
    return dataclasses.replace(model, joints=tuple(joints), joint_names=names, frames=frames, held=held,
                               couplings=couplings)


def _moved(frame: Frame, places: list[tuple[int, Array]]) -> Frame:
    if frame.joint < 0:
        return frame
    carrier, pose = places[frame.joint]
    return Frame(frame.name, carrier, pose @ frame.pose_link_frame)


def _motion(joint: Joint, position: float) -> Array:
    """Pose of a joint's link frame relative to its pose at position 0, shape (4, 4)."""
    pose = np.eye(4)
    if joint.kind == "prismatic":
        pose[:3, 3] = position * joint.axis
    else:
        cross = skew(joint.axis)
        pose[:3, :3] += np.sin(position) * cross + (1.0 - np.cos(position)) * cross @ cross
    return pose
