# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""From a URDF to a ``RobotModel``.

The steps, each from the value that the one before returned: ``robot_sources`` reads the text; ``document`` checks its
XML; ``kinematic_tree`` sorts joints and links; ``mimic``, ``transmissions`` and ``joint_and_link_elements`` read their
values. A report collects the warnings on the way. Shapes, meshes and materials are not read.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Unpack

from robodyn_ros.base.checks import as_floats
from robodyn_ros.base.errors import InputError
from robodyn_ros.description.document import MOVING_KINDS, Document, read_document
from robodyn_ros.description.held_joints import hold_massless_joints
from robodyn_ros.description.joint_and_link_elements import read_armature, read_axis, read_friction, read_limits
from robodyn_ros.description.kinematic_tree import lay_out
from robodyn_ros.description.load_options import LoadOptions
from robodyn_ros.description.mimic import resolve_mimics, without_impossible_limits
from robodyn_ros.description.model import STANDARD_GRAVITY, Array, Joint, RobotModel
from robodyn_ros.description.ranges import GRAVITY, MAX_JOINTS
from robodyn_ros.description.report import Report
from robodyn_ros.description.robot_sources import UrdfSource, read_source, text_source
from robodyn_ros.description.transmissions import read_transmissions


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
    return _load(read_source(path), **options)


def load_urdf_text(text: str, **options: Unpack[LoadOptions]) -> RobotModel:
    """Load a robot from a URDF given as text: no file is opened, and nothing in the text is run.

    Args:
        text: The XML.
        **options: See `LoadOptions`; errors and warnings are those of `load_urdf`.

    Returns:
        The robot.
    """
    return _load(text_source(text), **options)


def _load(source: UrdfSource, *, strict: bool = False, gravity: Sequence[float] | Array = STANDARD_GRAVITY,
          tip_link: str | None = None, hold_massless: bool = True) -> RobotModel:
    document, report = read_document(source)
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
        joints=tuple(without_impossible_limits(joints, joint_names, document, report)),
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
