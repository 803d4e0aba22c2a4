# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The moving joints of a URDF as a tree, with the links behind fixed joints merged into their carriers."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

import numpy as np
from lxml import etree

from robodyn_ros.description.default_tip import MovingJoint, default_tip
from robodyn_ros.description.document import Document
from robodyn_ros.description.joint_and_link_elements import add_inertia, compose_poses, read_inertia, read_origin
from robodyn_ros.description.model import Array, Frame, Inertia
from robodyn_ros.description.report import Report


@dataclass
class Tree:
    """The moving joints, depth first: each after its parent, siblings in document order. Lists have equal lengths.

    Attributes:
        joints: The joint elements.
        parents: Index of the previous moving joint; -1 for the base.
        poses: Pose of the joint's frame in the parent's frame at joint position 0, shape (4, 4).
        inertias: Inertia of the joint's link and of all links fixed to it, in the joint's frame.
        frames: The frames of all links by name.
        tip_link: See `default_tip`.
    """

    joints: list[etree._Element] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    poses: list[Array] = field(default_factory=list)
    inertias: list[Inertia] = field(default_factory=list)
    frames: dict[str, Frame] = field(default_factory=dict)
    tip_link: str = ""


def lay_out(document: Document, report: Report) -> Tree:
    """Sort the joints of a robot into a tree, and merge links behind fixed joints.

    Args:
        document: The checked document of the robot.
        report: Collects errors and warnings.

    Returns:
        The tree.

    Raises:
        DescriptionError: A link has a negative mass or an impossible inertia.
    """
    tree = Tree()
    children: dict[str, list[etree._Element]] = defaultdict(list)
    for joint in document.joints.values():
        children[joint.find("parent").get("link")].append(joint)

    def add_link(link: str, carrier: int, pose: Array) -> None:
        """Add a link whose pose in the frame of the moving joint ``carrier`` is ``pose``."""
        tree.frames[link] = Frame(link, carrier, pose)
        inertia = read_inertia(document.links[link], report, moves=carrier >= 0)
        if carrier >= 0:
            tree.inertias[carrier] = add_inertia(tree.inertias[carrier], inertia, pose)

    add_link(document.base, -1, np.eye(4))
    depths = {document.base: 0}  # joints of any kind before each link
    moving: list[MovingJoint] = []
    pending = list(reversed(children[document.base]))
    while pending:  # a stack instead of recursion: chains may be longer than Python's call stack
        joint = pending.pop()
        child = joint.find("child").get("link")
        parent = tree.frames[joint.find("parent").get("link")]
        depths[child] = depths[parent.name] + 1
        carrier, pose = parent.joint, compose_poses(parent.pose_link_frame, read_origin(joint))
        if joint.get("type") == "fixed":
            add_link(child, carrier, pose)
        else:
            moving.append(MovingJoint(joint.get("name"), parent.name, child, carrier, joint.find("mimic") is not None))
            tree.joints.append(joint)
            tree.parents.append(carrier)
            tree.poses.append(pose)
            tree.inertias.append(Inertia.zero())
            add_link(child, len(tree.joints) - 1, np.eye(4))
        pending += reversed(children[child])
    tree.tip_link = default_tip(moving, {name: frame.joint for name, frame in tree.frames.items()}, depths)
    return tree
