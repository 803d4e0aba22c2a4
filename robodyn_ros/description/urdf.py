# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""From a URDF to a ``RobotModel``.

The steps: ``document`` reads and checks the XML; ``lay_out`` builds the kinematic tree; ``mimic`` and
``joint_and_link_elements`` read the values of links and joints. Shapes, meshes and materials are not read.
"""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Unpack

import numpy as np
from lxml import etree

from robodyn_ros.base.checks import as_floats
from robodyn_ros.base.errors import InputError
from robodyn_ros.description.default_tip import MovingJoint, default_tip
from robodyn_ros.description.document import MOVING_KINDS, Document, read_document, read_document_text
from robodyn_ros.description.held_joints import hold_massless_joints
from robodyn_ros.description.joint_and_link_elements import (
    read_armature,
    read_axis,
    read_friction,
    read_inertia,
    read_limits,
    read_origin,
    snap,
    snap_pose,
)
from robodyn_ros.description.load_options import LoadOptions
from robodyn_ros.description.model import (
    STANDARD_GRAVITY,
    Array,
    Frame,
    Inertia,
    Joint,
    RobotModel,
    position_range_of_dof,
)
from robodyn_ros.description.ranges import GRAVITY, LENGTH, MAX_JOINTS, MULTIPLIER
from robodyn_ros.description.report import Report
from robodyn_ros.description.transmissions import read_transmissions

Relation = tuple[str, float, float]
"""Leader, multiplier and offset [rad or m]: position = multiplier * position of the leader + offset."""


def load_urdf(path: str | Path, **options: Unpack[LoadOptions]) -> RobotModel:
    """Load a robot from a URDF file that a user named.

    Joints come depth first: each after its parent, siblings in the order of their ``<joint>`` elements. Fixed joints
    are merged into their parents.

    Args:
        path: Path of a URDF file, or of a xacro file, which is expanded (xacro evaluates Python).
        **options: See `LoadOptions`.

    Returns:
        The robot.

    Raises:
        DescriptionError: The description is unusable; or it has warnings, and ``strict`` is set.
        InputError: ``gravity`` is not three numbers of at most 1e6, or no link is called ``tip_link``.

    Warns:
        DescriptionWarning: A value is physically implausible but can be computed; docs/urdf.md lists the cases.
    """
    return _load(*read_document(path), **options)


def load_urdf_text(text: str, **options: Unpack[LoadOptions]) -> RobotModel:
    """Load a robot from a URDF given as text: no file is opened, and nothing in the text is run.

    Args:
        text: The XML.
        **options: See `LoadOptions`; errors and warnings are those of `load_urdf`.

    Returns:
        The robot.
    """
    return _load(*read_document_text(text), **options)


def _load(document: Document, report: Report, *, strict: bool = False,
          gravity: Sequence[float] | Array = STANDARD_GRAVITY, tip_link: str | None = None, hold_massless: bool = True
          ) -> RobotModel:
    model = _build_model(document, report, check_gravity(gravity), hold_massless)
    if tip_link is not None:
        model = dataclasses.replace(model, tip_link=model.frame(tip_link).name)
    report.close(strict=strict)
    return model


def check_gravity(gravity: Sequence[float] | Array) -> Array:
    """The gravitational acceleration as an array of shape (3,) [m/s^2].

    Args:
        gravity: Argument of a loader.

    Returns:
        A copy.

    Raises:
        InputError: It is not three numbers in the range `GRAVITY`.
    """
    found = as_floats(gravity, (3,), "gravity, in base axes").copy()
    if not GRAVITY.holds(found).all():
        raise InputError(f"gravity, in base axes: expected three times {GRAVITY}, received {found.tolist()}")
    return found


def _build_model(document: Document, report: Report, gravity: Array, hold_massless: bool) -> RobotModel:
    moving = sum(joint.get("type") in MOVING_KINDS for joint in document.joints.values())
    if moving > MAX_JOINTS:
        raise report.error(document.root, f"it has {moving} moving joints",
                           f"a robot has at most {MAX_JOINTS} here: make some of them fixed")
    tree = lay_out(document, report)
    joint_names = tuple(joint.get("name") for joint in tree.joints if joint.find("mimic") is None)
    relations = resolve_mimics(tree.joints, report)
    if not joint_names:
        report.warn(document.root, "nothing moves: no joint is revolute, continuous or prismatic",
                    "it is read as a rigid body, for transforms and views")
    transmissions = read_transmissions(document.root, document.joints, joint_names, report)
    joints: list[Joint] = []
    for element, parent, pose, inertia in zip(tree.joints, tree.parents, tree.poses, tree.inertias, strict=True):
        name = element.get("name")
        leader, multiplier, offset = relations[name]
        damping, friction = read_friction(element, report)
        joints.append(
            Joint(
                name=name,
                link=element.find("child").get("link"),
                kind=element.get("type"),
                parent=parent,
                pose_parent_link=pose,
                axis=read_axis(element, report),
                inertia=inertia,
                dof=joint_names.index(leader),
                multiplier=multiplier,
                offset=offset,
                limits=read_limits(element, report),
                damping=damping,
                friction=friction,
                armature=read_armature(element, report),
                reduction=transmissions.reductions.get(name, 1.0),
                motor_zero=transmissions.zeros.get(name, 0.0),
            )
        )
    model = RobotModel(
        name=document.root.get("name"),
        joints=tuple(_without_impossible_limits(joints, joint_names, document, report)),
        joint_names=joint_names,
        frames=tree.frames,
        base_link=document.base,
        tip_link=tree.tip_link,
        gravity=gravity,
        description=document.text,
        source=report.file,
        couplings=tuple(transmissions.couplings),
    )
    return hold_massless_joints(model, report, document.joints) if hold_massless else model


def _without_impossible_limits(
    joints: Sequence[Joint], joint_names: Sequence[str], document: Document, report: Report
) -> list[Joint]:
    """Remove position limits of mimic joints that exclude those of their leader, with a warning."""
    leaders = {joint.dof: joint for joint in joints if joint.name == joint_names[joint.dof]}
    kept = []
    for joint in joints:
        leader = leaders[joint.dof].limits
        lower, upper = position_range_of_dof(joint)
        if max(lower, leader.lower) >= min(upper, leader.upper):
            report.warn(
                document.joints[joint.name],
                f"its position limits allow no position within those of '{joint_names[joint.dof]}', which it mimics",
                "they are ignored; correct limits, multiplier or offset",
            )
            joint = dataclasses.replace(joint, limits=dataclasses.replace(joint.limits, lower=-np.inf, upper=np.inf))
        kept.append(joint)
    return kept


def resolve_mimics(joints: Sequence[etree._Element], report: Report) -> dict[str, Relation]:
    """Relate every moving joint to an independent joint; an independent joint relates to itself, with factor 1.

    Args:
        joints: The checked elements of all moving joints.
        report: Collects errors and warnings.

    Returns:
        The relations by joint name.

    Raises:
        DescriptionError: A joint follows itself, directly or through other joints, or with an immense multiplier or
            offset.
    """
    by_name = {joint.get("name"): joint for joint in joints}
    relations: dict[str, Relation] = {}
    for name, element in by_name.items():
        followed = [name]
        multiplier, offset = 1.0, 0.0
        while (mimic := by_name[followed[-1]].find("mimic")) is not None:
            target = mimic.get("joint")
            offset += multiplier * float(mimic.get("offset", 0.0))
            multiplier *= float(mimic.get("multiplier", 1.0))
            if target in followed:
                cycle = " -> ".join((*followed[followed.index(target) :], target))
                raise report.error(element, f"it mimics itself: {cycle}", "make one of these joints independent")
            followed.append(target)
        for quantity, value, allowed in (("multiplier", multiplier, MULTIPLIER), ("offset", offset, LENGTH)):
            if not allowed.holds(value):
                raise report.error(element, f"{' -> '.join(followed)}: the {quantity} is {value:g} in all",
                                   f"expected {allowed}: correct the mimic elements")
        if multiplier == 0.0:
            report.warn(element, "it mimics with multiplier 0 and never moves", "make it a fixed joint")
        relations[name] = (followed[-1], multiplier, offset)
    return relations


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
        if carrier >= 0 and not inertia.is_zero:
            tree.inertias[carrier] = _snap_inertia(tree.inertias[carrier] + inertia.transformed(pose))

    add_link(document.base, -1, np.eye(4))
    depths = {document.base: 0}  # joints of any kind before each link
    moving: list[MovingJoint] = []
    pending = list(reversed(children[document.base]))
    while pending:  # a stack instead of recursion: chains may be longer than Python's call stack
        joint = pending.pop()
        child = joint.find("child").get("link")
        parent = tree.frames[joint.find("parent").get("link")]
        depths[child] = depths[parent.name] + 1
        carrier, pose = parent.joint, _compose(parent.pose_link_frame, read_origin(joint))
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


def _compose(first: Array, second: Array) -> Array:
    """``first @ second`` for poses, without rounding noise where the result is exact."""
    return snap_pose(first @ second, float(max(np.max(np.abs(first[:3, 3])), np.max(np.abs(second[:3, 3])))))


def _snap_inertia(inertia: Inertia) -> Inertia:
    rotational = snap(inertia.rotational, float(np.max(np.abs(inertia.rotational))))
    return Inertia(inertia.mass, snap(inertia.com, float(np.max(np.abs(inertia.com)))), rotational)
