# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The default tip link: the tool frame of an arm, before the fingers of a gripper."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

TOOL_FRAMES = (r"(^|[_/])(tcp|tool_?cent(er|re)_?point)(_?(link|frame|site))?$",
               r"(^|[_/])grasp(ing)?(_?(cent(er|re)|point|frame|link|site))?$",
               r"(^|[_/])gripper_?(frame|site)(_link)?$", r"(^|[_/])tool0$", r"(^|[_/])tool(_|$|frame)",
               r"(^|[_/])(ee|eef|ee(_gripper)?_(link|frame|site)|end_?effector(_link)?)$", r"(^|[_/])flange$")
"""Patterns for names of tool frames as used by makers and ROS-Industrial, best first."""

_GRIPPER = r"gripper(?!.*(roll|yaw|pitch|rotat|wrist))"
_PART_OF_GRIPPER = re.compile(r"finger|thumb|knuckle|jaw|claw|pincer", re.IGNORECASE)
_FINGER = re.compile(f"{_PART_OF_GRIPPER.pattern}|{_GRIPPER}", re.IGNORECASE)
_MAX_FINGER_JOINTS = 2  # independent joints of a branch that counts as a finger without such a name
_MIN_ARM_JOINTS = 3  # independent joints before it


class MovingJoint(NamedTuple):
    """A joint that is not fixed."""

    name: str
    carrier: str  # name of the link that carries it
    link: str  # name of its own link
    parent: int  # index of the previous moving joint; -1 for the base
    is_mimic: bool  # whether it follows another joint


def default_tip(joints: Sequence[MovingJoint], carriers: Mapping[str, int], depths: Mapping[str, int]) -> str:
    """Return the link at the end of the arm with the most independent joints.

    The arm ends where a gripper begins: at the first joint with a finger's name, or whose link has one; or, after
    three or more joints, where the arm branches into short chains. A link called gripper that carries jaws is a hand
    and belongs to the arm if no other joint moves next to it. If links there are named like a tool frame
    (`TOOL_FRAMES`), the tip is the one with the best name. Otherwise it is the link that carries the first finger, or
    without a gripper the link behind the most joints of any kind. Among equals the first one is taken.

    Args:
        joints: All moving joints, each after its parent.
        carriers: Index of the moving joint in front of each link, by name of the link; -1 for the base.
        depths: Number of joints of any kind before each link.
    """
    before = _independent_joints(joints)
    tip = max(carriers, key=lambda link: (before[carriers[link]], depths[link]))
    end = carriers[tip]
    finger = _first_finger(joints, before, end)
    if finger is not None:
        end, tip = finger.parent, finger.carrier
    links = [link for link, carrier in carriers.items() if carrier == end]
    for pattern in TOOL_FRAMES:
        if named := [link for link in links if re.search(pattern, link, re.IGNORECASE)]:
            return max(named, key=depths.__getitem__)
    return tip


def is_tool_frame(link: str) -> bool:
    """Whether a link is named like a tool frame."""
    return any(re.search(pattern, link, re.IGNORECASE) for pattern in TOOL_FRAMES)


def gripper_joints(joints: Sequence[MovingJoint]) -> list[str]:
    """Return the names of the independent joints of the gripper at the arm with the most independent joints."""
    before = _independent_joints(joints)
    finger = _first_finger(joints, before, max(range(len(joints)), key=before.__getitem__, default=-1))
    if finger is None:
        return []
    behind = _behind(joints, finger.parent)
    return [joint.name for index, joint in enumerate(joints) if index in behind and not joint.is_mimic]


def _independent_joints(joints: Sequence[MovingJoint]) -> dict[int, int]:
    """Independent joints up to each joint, by its index; -1 for the base."""
    before = {-1: 0}
    for index, joint in enumerate(joints):
        before[index] = before[joint.parent] + (not joint.is_mimic)
    return before


def _first_finger(joints: Sequence[MovingJoint], before: Mapping[int, int], end: int) -> MovingJoint | None:
    """The first joint of a gripper on the path to a joint; None without a gripper, or without an arm in front of it."""
    path = []
    while end >= 0:
        path.append(end)
        end = joints[end].parent
    for index in reversed(path):
        joint = joints[index]
        arm = before[joint.parent]
        if (_FINGER.search(joint.name) or _FINGER.search(joint.link)) and not _is_hand(joints, before, index):
            return joint if arm else None
        branches = [_longest(joints, before, each) - arm for each, other in enumerate(joints)
                    if other.parent == joint.parent]
        if arm >= _MIN_ARM_JOINTS and len(branches) > 1 and max(branches) <= _MAX_FINGER_JOINTS:
            return joint
    return None


def _is_hand(joints: Sequence[MovingJoint], before: Mapping[int, int], index: int) -> bool:
    """Whether the link of a joint is the body of a gripper: it has such a name, and carries jaws."""
    joint = joints[index]
    if joint.is_mimic or _PART_OF_GRIPPER.search(joint.name) or _PART_OF_GRIPPER.search(joint.link):
        return False
    jaws = [_longest(joints, before, each) - before[index] for each, other in enumerate(joints)
            if other.parent == index]
    alone = sum(other.parent == joint.parent for other in joints) == 1
    return alone and bool(jaws) and max(jaws) <= _MAX_FINGER_JOINTS


def _longest(joints: Sequence[MovingJoint], before: Mapping[int, int], start: int) -> int:
    """Independent joints from the base to the end of the longest chain that begins with a joint."""
    return max(before[index] for index in (start, *_behind(joints, start)))


def _behind(joints: Sequence[MovingJoint], start: int) -> set[int]:
    """Indices of the joints that a joint moves, without its own; -1: all."""
    inside = {start}
    for index in range(start + 1, len(joints)):
        if joints[index].parent in inside:
            inside.add(index)
    return inside - {start}
