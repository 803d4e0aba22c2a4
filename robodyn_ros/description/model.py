"""The robot as data: joints, links' inertias and named frames of a kinematic tree.

A fixed joint is merged into its parent and a mimic joint shares a degree of freedom, so ``RobotModel.joints``
holds only joints that move. The frame of joint ``i`` (equally: of its link) is the URDF's child link frame; its
origin lies on the joint's axis.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
JointKind = Literal["revolute", "continuous", "prismatic"]

STANDARD_GRAVITY = (0.0, 0.0, -9.81)
"""Gravitational acceleration in base axes [m/s^2], as Pinocchio and MuJoCo have it."""


@dataclass(frozen=True, eq=False)
class Inertia:
    """Mass distribution of a rigid body, given in a frame fixed to it.

    Attributes:
        mass: Mass [kg].
        com: Centre of mass in the frame, shape (3,) [m].
        rotational: Rotational inertia about the centre of mass, in the frame's axes, shape (3, 3) [kg m^2].
    """

    mass: float
    com: Array
    rotational: Array


@dataclass(frozen=True)
class Limits:
    """Limits of a joint; infinite where the description gives none.

    Attributes:
        lower: Lowest position [rad or m].
        upper: Highest position [rad or m].
        velocity: Greatest speed [rad/s or m/s].
        effort: Greatest torque or force [N m or N].
    """

    lower: float = -np.inf
    upper: float = np.inf
    velocity: float = np.inf
    effort: float = np.inf


@dataclass(frozen=True, eq=False)
class Joint:
    """A moving joint together with the link that it carries.

    The joint's own position is ``multiplier * q[dof] + offset``: 1 and 0 but for mimic joints.

    Attributes:
        name: Name of the joint.
        link: Name of the link that the joint moves.
        kind: ``revolute``, ``continuous`` (revolute without position limits) or ``prismatic``.
        parent: Index in ``RobotModel.joints`` of the joint before this one; -1 for the base.
        pose_parent_link: Pose of the link frame in the parent's link frame at joint position 0, shape (4, 4).
        axis: Unit axis of motion in the link frame, shape (3,).
        inertia: Of the link and all that is fixed to it, in the link frame.
        dof: Index into q, v, a and tau.
        multiplier: Joint position per q[dof].
        offset: Joint position at q[dof] = 0 [rad or m].
        limits: Limits of this joint.
        damping: Viscous friction [N m s/rad or N s/m].
        friction: Coulomb friction [N m or N].
        reduction: Gear reduction of the transmission, motor turns per joint turn.
    """

    name: str
    link: str
    kind: JointKind
    parent: int
    pose_parent_link: Array
    axis: Array
    inertia: Inertia
    dof: int
    multiplier: float = 1.0
    offset: float = 0.0
    limits: Limits = field(default_factory=Limits)
    damping: float = 0.0
    friction: float = 0.0
    reduction: float = 1.0


@dataclass(frozen=True, eq=False)
class Frame:
    """A named frame (every link of the description has one), fixed to a moving link or to the base.

    Attributes:
        name: Name of the link in the description.
        joint: Index in ``RobotModel.joints`` of the joint that carries the frame; -1 for the base.
        pose_link_frame: Pose of the frame in that joint's link frame (or in the base frame), shape (4, 4).
    """

    name: str
    joint: int
    pose_link_frame: Array


@dataclass(frozen=True, eq=False)
class RobotModel:
    """A kinematic tree of rigid links, parents before children.

    Attributes:
        name: Name of the robot.
        joints: The moving joints, mimic joints included, each after its parent.
        joint_names: Names of the independent joints, in the order of q, v, a and tau.
        frames: Every link of the description by name.
        base_link: Name of the root link; its frame is the base frame.
        tip_link: Name of the link meant where none is named.
        gravity: Gravitational acceleration in base axes, shape (3,) [m/s^2].
    """

    name: str
    joints: tuple[Joint, ...]
    joint_names: tuple[str, ...]
    frames: Mapping[str, Frame]
    base_link: str
    tip_link: str
    gravity: Array = field(default_factory=lambda: np.array(STANDARD_GRAVITY))

    @property
    def n(self) -> int:
        """Number of independent joints, the length of q."""
        return len(self.joint_names)
