# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Robots for the benchmarks, the same for both sides: shipped ones, and random trees and chains from a seed."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from robodyn_ros import Robot
from robodyn_ros.description.resources import robot_file

HUMANOID = (("left_leg", "base", 6), ("right_leg", "base", 6), ("waist", "base", 3), ("neck", "waist", 3),
            ("left_arm", "waist", 7), ("right_arm", "waist", 7))
"""Limbs of a humanoid with 32 joints: name, the limb that carries it, number of joints."""

HANDS = (("left_hand", "left_arm", 6), ("right_hand", "right_arm", 6))
"""With these the humanoid has 44 joints."""


def tree(limbs: Sequence[tuple[str, str, int]], seed: int = 0) -> str:
    """Return the URDF of limbs of random links with random axes, each at the end of another limb, or at ``base``."""
    rng = np.random.default_rng(seed)
    parts, ends = ["<link name='base'/>"], {"base": "base"}
    for limb, root, joints in limbs:
        parent = ends[root]
        for number in range(joints):
            child = f"{limb}_{number}"
            parts.append(_link(child, parent, rng))
            parent = child
        ends[limb] = parent
    return f"<robot name='generated'>{''.join(parts)}</robot>"


def chain(joints: int) -> str:
    """Return the URDF of one limb."""
    return tree([("link", "base", joints)])


def _link(child: str, parent: str, rng: np.random.Generator) -> str:
    """Return the XML of a link and of the joint that carries it."""
    x, y, z, cx, cy, cz = rng.uniform(-0.15, 0.15, 6)
    roll, pitch, yaw = rng.uniform(-1.5, 1.5, 3)
    mass, (ixx, iyy, izz) = rng.uniform(0.5, 2.0), rng.uniform(0.02, 0.03, 3)
    axis = np.eye(3, dtype=int)[rng.integers(3)]
    return (f"<link name='{child}'><inertial><origin xyz='{cx} {cy} {cz}'/><mass value='{mass}'/>"
            f"<inertia ixx='{ixx}' iyy='{iyy}' izz='{izz}' ixy='0.001' ixz='-0.002' iyz='0.003'/></inertial></link>"
            f"<joint name='to_{child}' type='revolute'><parent link='{parent}'/><child link='{child}'/>"
            f"<origin xyz='{x} {y} {z}' rpy='{roll} {pitch} {yaw}'/><axis xyz='{axis[0]} {axis[1]} {axis[2]}'/>"
            "<limit lower='-3.1' upper='3.1' effort='200' velocity='10'/></joint>")


class Pair:
    """A robot in robodyn_ros and in Pinocchio.

    Args:
        urdf: URDF of the robot as XML.

    Attributes:
        urdf: As given.
        robot: The robot in robodyn_ros.
        model: The robot in Pinocchio.
        data: Pinocchio's working memory.
        to_pin: Our index of each joint of Pinocchio: ``q[to_pin]`` is Pinocchio's q.
        from_pin: Pinocchio's index of each of our joints.
    """

    def __init__(self, urdf: str) -> None:
        import pinocchio as pin

        self.urdf = urdf
        self.robot = Robot.from_urdf_text(urdf)
        self.model: Any = pin.buildModelFromXML(urdf)
        self.data: Any = self.model.createData()
        names = list(self.robot.joint_names)
        self.to_pin = np.array([names.index(name) for name in list(self.model.names)[1:]])
        self.from_pin = np.argsort(self.to_pin)
        if self.model.nq != self.robot.n:
            raise SystemExit(f"bench: '{self.robot.name}' has {self.robot.n} coordinates, in Pinocchio {self.model.nq}")

    @classmethod
    def shipped(cls, name: str) -> Pair:
        """Load a shipped robot."""
        return cls(robot_file(name).read_text())

    @cached_property
    def tip(self) -> int:
        """Index of the tip link's frame in Pinocchio."""
        return int(self.model.getFrameId(self.robot.tip_link))
