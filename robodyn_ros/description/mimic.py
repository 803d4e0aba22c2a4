# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Joints that mimic others: each is related to the independent joint that it follows in the end."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
from lxml import etree

from robodyn_ros.description.document import Document
from robodyn_ros.description.model import Joint, position_range_of_dof
from robodyn_ros.description.ranges import LENGTH, MULTIPLIER
from robodyn_ros.description.report import Report

Relation = tuple[str, float, float]
"""Leader, multiplier and offset [rad or m]: position = multiplier * position of the leader + offset."""


def without_impossible_limits(
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
