# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The robot as data: joints, links' inertias and named frames of a kinematic tree.

A fixed joint is merged into its parent and a mimic joint shares a degree of freedom, so ``RobotModel.joints``
holds only joints that move. The frame of joint ``i`` (equally: of its link) is the URDF's child link frame; its
origin lies on the joint's axis.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from numbers import Real
from shlex import quote
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.base.errors import DescriptionError, InputError, list_names, suggest
from robodyn_ros.description.coupling import Coupling, output_shares
from robodyn_ros.description.drivetrain import Drivetrain

Array = NDArray[np.float64]
JointKind = Literal["revolute", "continuous", "prismatic"]

STANDARD_GRAVITY = (0.0, 0.0, -9.81)
"""Gravitational acceleration in base axes [m/s^2], the default of Pinocchio and MuJoCo."""

NO_INERTIA = 1e-12
"""Moments of inertia below this count as zero [kg m^2]: a milligram at a millimetre. Some files have 1e-20 for zero."""


def skew(vector: Array) -> Array:
    """The matrix [x] with ``[x] y = x × y``, shape (3, 3)."""
    x, y, z = vector
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def product(*factors: Array) -> Array:
    """The product of matrices or vectors, with every operation rounded in order.

    BLAS fuses and reorders operations. A constant would then differ in the last bit from the same number computed by
    compiled code.
    """
    result = factors[0].astype(object)
    for factor in factors[1:]:
        result = result @ factor.astype(object)
    return result if any(factor.dtype == object for factor in factors) else result.astype(np.float64)


def _steiner(offset: Array) -> Array:
    """Inertia about the origin of a unit point mass at ``offset``, shape (3, 3)."""
    return product(skew(offset).T, skew(offset))


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

    def __post_init__(self) -> None:
        _protect(self, "com", "rotational")

    @classmethod
    def zero(cls) -> Inertia:
        """Return the inertia of a body without mass."""
        return cls(0.0, np.zeros(3), np.zeros((3, 3)))

    @property
    def is_zero(self) -> bool:
        """Whether the body has neither mass nor rotational inertia; traced values never count as zero."""
        if not all(isinstance(value, Real) for value in (self.mass, *np.ravel(self.rotational))):
            return False
        return self.mass == 0.0 and float(np.max(np.abs(self.rotational))) <= NO_INERTIA

    @property
    def rotational_about_origin(self) -> Array:
        """Rotational inertia about the frame's origin (parallel axes), shape (3, 3) [kg m^2]."""
        return self.rotational + self.mass * _steiner(self.com)

    def spatial(self) -> Array:
        """Spatial inertia about the frame's origin, angular part first, shape (6, 6).

        ``[[I + m [c]^T [c], m [c]], [m [c]^T, m 1]]`` with the rotational inertia I about the centre of mass c. This is
        [LynchPark] (9.23) (for c = 0), moved from the centre of mass to the origin.
        """
        m_c = self.mass * skew(self.com)
        return np.block([[self.rotational_about_origin, m_c], [m_c.T, self.mass * np.eye(3)]])

    def transformed(self, pose: Array) -> Inertia:
        """Express the inertia of this body in another frame.

        Args:
            pose: Pose of this inertia's frame in the other frame, shape (4, 4).

        Returns:
            The inertia in the other frame.
        """
        rotation, position = pose[:3, :3], pose[:3, 3]
        rotational = product(rotation, self.rotational, rotation.T)
        return Inertia(self.mass, product(rotation, self.com) + position, 0.5 * (rotational + rotational.T))

    def __add__(self, other: Inertia) -> Inertia:
        """The inertia of two bodies fixed to each other, both given in the same frame."""
        for one, massless in ((self, other), (other, self)):
            if isinstance(massless.mass, Real) and massless.mass == 0.0:  # a number; a traced value is never zero
                return Inertia(one.mass, one.com, self.rotational + other.rotational)
        mass = self.mass + other.mass
        share = other.mass / mass
        offset = other.com - self.com
        # About the common centre of mass: the two-body form keeps the digits that would be lost
        # by subtracting large moments about the origin.
        rotational = self.rotational + other.rotational + self.mass * share * _steiner(offset)
        return Inertia(mass, self.com + share * offset, rotational)


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

    The joint's own position is ``multiplier * q[dof] + offset``, with 1 and 0 except for mimic
    joints.

    Attributes:
        name: Name of the joint.
        link: Name of the link that the joint moves.
        kind: ``revolute``, ``continuous`` (revolute without position limits) or ``prismatic``.
        parent: Index of the previous joint in ``RobotModel.joints``; -1 for the base.
        pose_parent_link: Pose of the link frame in the parent's link frame at joint position 0, shape (4, 4).
        axis: Unit axis of motion in the link frame, shape (3,).
        inertia: Inertia of the link and of all links fixed to it, in the link frame.
        dof: Index into q, v, a and tau.
        multiplier: Joint position per q[dof].
        offset: Joint position at q[dof] = 0 [rad or m].
        limits: Limits of this joint.
        damping: Viscous friction [N m s/rad or N s/m].
        friction: Coulomb friction [N m or N].
        armature: Inertia of the drive's rotor, reflected to the output of its gear: gear ratio squared times rotor
            inertia [kg m^2 or kg].
        reduction: Gear reduction of the transmission, motor turns per joint turn.
        motor_zero: Position of the joint at which its motor is at 0, from the transmission [rad or m].
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
    armature: float = 0.0
    reduction: float = 1.0
    motor_zero: float = 0.0

    def __post_init__(self) -> None:
        _protect(self, "pose_parent_link", "axis")

    @property
    def unit(self) -> str:
        """Unit of its position, ``rad`` or ``m``."""
        return "m" if self.kind == "prismatic" else "rad"

    @property
    def effort_unit(self) -> str:
        """Unit of its effort, ``N m`` or ``N``."""
        return "N" if self.kind == "prismatic" else "N m"


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

    def __post_init__(self) -> None:
        _protect(self, "pose_link_frame")


@dataclass(frozen=True, eq=False)
class RobotModel:
    """A kinematic tree of rigid links, parents before children.

    Attributes:
        name: Name of the robot.
        joints: The moving joints, mimic joints included, each after its parent.
        joint_names: Names of the independent joints, in the order of q, v, a and tau.
        frames: Every link of the description by name.
        base_link: Name of the root link; its frame is the base frame.
        tip_link: Name of the default link.
        gravity: Gravitational acceleration in base axes, shape (3,) [m/s^2].
        description: XML of the URDF; empty for a model that was not read from a URDF.
        source: Origin of the model, for messages: the path of a file; empty if there is none.
        held: Positions of joints that move in the description but are fixed in this model, by name; see
            ``held_joints`` [rad or m].
        couplings: Joints that several motors drive together; the armature of such a joint moves as its motor does.
        drivetrain: Replaces armature, coupling, damping and friction of the description, see `Robot.with_actuators`;
            None: those of the description apply.

    All arrays are read-only. Those per degree of freedom (``position_lower`` and so on) have shape (n,) and include
    the mimic joints. A mimic joint at ``m q + o`` narrows the position range to values at which both joints stay within
    their limits, and lowers the speed limit to ``velocity / |m|``. ``m^2`` times its damping and armature and ``|m|``
    times its Coulomb friction are added. Effort limit and reduction are those of the independent joint, because its
    actuator moves all of them.
    """

    name: str
    joints: tuple[Joint, ...]
    joint_names: tuple[str, ...]
    frames: Mapping[str, Frame]
    base_link: str
    tip_link: str
    gravity: Array = field(default_factory=lambda: np.array(STANDARD_GRAVITY))
    description: str = field(default="", repr=False)
    source: str = field(default="", repr=False)
    held: Mapping[str, float] = field(default_factory=dict, repr=False)
    couplings: tuple[Coupling, ...] = ()
    drivetrain: Drivetrain | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        _protect(self, "gravity")

    @property
    def n(self) -> int:
        """Number of independent joints, the length of q."""
        return len(self.joint_names)

    @cached_property
    def leaders(self) -> tuple[Joint, ...]:
        """The independent joints, in the order of ``joint_names``."""
        by_name = {joint.name: joint for joint in self.joints}
        return tuple(by_name[name] for name in self.joint_names)

    @cached_property
    def position_lower(self) -> Array:
        """Lowest position per degree of freedom [rad or m], -inf without a limit."""
        return self._position_range[0]

    @cached_property
    def position_upper(self) -> Array:
        """Highest position per degree of freedom [rad or m], inf without a limit."""
        return self._position_range[1]

    @cached_property
    def continuous(self) -> NDArray[np.bool_]:
        """Whether each independent joint is continuous (drivers may wrap its position), shape (n,)."""
        mask = np.array([joint.kind == "continuous" for joint in self.leaders], dtype=bool)
        mask.flags.writeable = False
        return mask

    @cached_property
    def angles(self) -> NDArray[np.bool_]:
        """Whether a full turn of a joint leads to the same pose of the robot, shape (n,).

        True for continuous joints, unless a mimic joint that follows is prismatic, has limits, or does not make whole
        turns.
        """
        whole = np.ones(self.n, dtype=bool)
        for joint in self.joints:
            whole[joint.dof] &= joint.kind == "continuous" and float(joint.multiplier).is_integer()
        whole.flags.writeable = False
        return whole

    @cached_property
    def velocity_limit(self) -> Array:
        """Greatest speed per degree of freedom [rad/s or m/s], inf without a limit."""
        limit = np.full(self.n, np.inf)
        for joint in self.joints:
            if joint.multiplier != 0.0:
                limit[joint.dof] = min(limit[joint.dof], joint.limits.velocity / abs(joint.multiplier))
        return read_only(limit)

    @cached_property
    def effort_limit(self) -> Array:
        """Greatest effort per degree of freedom [N m or N], inf without a limit."""
        return read_only(np.array([joint.limits.effort for joint in self.leaders]))

    @cached_property
    def damping(self) -> Array:
        """Viscous friction per degree of freedom [N m s/rad or N s/m]."""
        if self.drivetrain is not None:
            return read_only(self.drivetrain.viscous)
        return self._sum_per_dof(lambda joint: joint.multiplier**2 * joint.damping)

    @cached_property
    def friction(self) -> Array:
        """Coulomb friction per degree of freedom; with a drivetrain, the dry friction at rest [N m or N]."""
        if self.drivetrain is not None:
            return read_only(self.drivetrain.dry)
        return self._sum_per_dof(lambda joint: abs(joint.multiplier) * joint.friction)

    @cached_property
    def armature(self) -> Array:
        """Rotor inertia at the output of each gear; see ``rotor_inertia`` [kg m^2 or kg]."""
        if self.drivetrain is not None:
            return read_only(self.drivetrain.rotor_inertia)
        return self._sum_per_dof(lambda joint: joint.multiplier**2 * joint.armature)

    @cached_property
    def coupling(self) -> Array | None:
        """B, positions of the gears' outputs per joint position, shape (n, n); None for the unit matrix."""
        shares = (output_shares(self.couplings, self.joint_names) if self.drivetrain is None else
                  self.drivetrain.coupling)
        return None if shares is None else read_only(shares)

    @cached_property
    def rotor_inertia(self) -> Array:
        """B^T J B, contribution of the rotors (``armature``) to the mass matrix, shape (n, n) [kg m^2, kg m or kg]."""
        return joint_matrix(self.coupling, self.armature)

    @cached_property
    def has_tree_mass_matrix(self) -> bool:
        """Whether two joints share an inertia only if one carries the other, each with its own degree of freedom."""
        return len(self.joints) == self.n and self.has_diagonal_rotors

    @property
    def has_diagonal_rotors(self) -> bool:
        """Whether each rotor of ``armature`` is turned by a single joint."""
        return self.coupling is None or not np.any(self.rotor_inertia - np.diag(np.diag(self.rotor_inertia)))

    @cached_property
    def reduction(self) -> Array:
        """Gear reduction per degree of freedom, motor turns per turn of the gear's output."""
        return read_only(np.array([joint.reduction for joint in self.leaders]))

    @cached_property
    def motor_zero(self) -> Array:
        """Joint positions at which the motors are at 0, shape (n,) [rad or m]."""
        return read_only(np.array([joint.motor_zero for joint in self.leaders]))

    @property
    def described(self) -> RobotModel:
        """The robot with the drivetrain from its description."""
        return self if self.drivetrain is None else replace(self, drivetrain=None)

    def with_scaled_armature(self, factors: Array) -> RobotModel:
        """Return the robot with the described armature of each joint multiplied by a factor.

        Args:
            factors: Per degree of freedom, shape (n,).
        """
        joints = tuple(replace(joint, armature=joint.armature * float(factors[joint.dof])) for joint in self.joints)
        return replace(self, joints=joints)

    @cached_property
    def links_without_inertia(self) -> tuple[str, ...]:
        """Moving links without inertia, whose fixed links have none either."""
        return tuple(joint.link for joint in self.joints if joint.inertia.is_zero)

    @cached_property
    def joints_without_inertia(self) -> tuple[str, ...]:
        """Independent joints that move no inertia, neither directly nor by the joints that mimic them."""
        carries = [not joint.inertia.is_zero for joint in self.joints]
        moved = [bool(armature) for armature in self.armature]
        for index in reversed(range(len(self.joints))):
            joint = self.joints[index]
            if carries[index]:
                moved[joint.dof] |= bool(joint.multiplier != 0.0)
                if joint.parent >= 0:
                    carries[joint.parent] = True
        return tuple(name for name, has_inertia in zip(self.joint_names, moved, strict=True) if not has_inertia)

    @property
    def has_inertia(self) -> bool:
        """Whether some joint moves an inertia; kinematics needs none."""
        return len(self.joints_without_inertia) < self.n

    def check_inertia(self) -> None:
        """Check that some joint moves an inertia.

        Raises:
            DescriptionError: No joint does; the message names the links and the command that completes the file.
        """
        if self.n == 0:
            raise DescriptionError(f"robot '{self.name}': nothing moves; dynamics, simulation and control need a joint "
                                   "that is revolute, continuous or prismatic")
        if not self.has_inertia:
            raise DescriptionError(
                f"robot '{self.name}': dynamics, simulation and control need inertias, which no moving link has "
                f"({list_names(self.links_without_inertia)}); {self.completion}")

    @property
    def completion(self) -> str:
        """End of a message about missing inertias: how to get them."""
        if not (self.description or self.source):
            return "give inertias"
        return f"give <inertial>, or estimate it: robodyn complete {quote(self.source) if self.source else 'FILE'}"

    def frame(self, name: str) -> Frame:
        """Return the frame of a link.

        Args:
            name: Name of any link of the description.

        Returns:
            The frame.

        Raises:
            InputError: No link has this name; the message lists the nearest names.
        """
        if name not in self.frames:
            raise InputError(f"robot '{self.name}' has no link '{name}': {suggest(name, self.frames)}")
        return self.frames[name]

    def moves(self, link: str) -> NDArray[np.bool_]:
        """Whether each degree of freedom moves a link, shape (n,).

        Raises:
            InputError: No link has this name.
        """
        found, joint = np.zeros(self.n, dtype=bool), self.frame(link).joint
        while joint >= 0:
            found[self.joints[joint].dof] = True
            joint = self.joints[joint].parent
        return found

    def joint_index(self, name: str) -> int:
        """Return the index of an independent joint into q, v, a and tau.

        Args:
            name: Name of an independent joint.

        Returns:
            The index.

        Raises:
            InputError: No independent joint has this name; the message lists the nearest names.
        """
        if name in self._dof_by_name:
            return self._dof_by_name[name]
        if name in self.held:
            raise InputError(f"joint '{name}' of robot '{self.name}' moves no inertia and is held at "
                             f"{self.held[name]:g} as if fixed; {self.completion}")
        for joint in self.joints:
            if joint.name == name:
                raise InputError(
                    f"joint '{name}' of robot '{self.name}' mimics '{self.joint_names[joint.dof]}' and has no "
                    f"position of its own: name '{self.joint_names[joint.dof]}' instead"
                )
        raise InputError(f"robot '{self.name}' has no moving joint '{name}': {suggest(name, self.joint_names)}")

    @cached_property
    def _dof_by_name(self) -> dict[str, int]:
        return {name: index for index, name in enumerate(self.joint_names)}

    @cached_property
    def _position_range(self) -> tuple[Array, Array]:
        lower, upper = np.full(self.n, -np.inf), np.full(self.n, np.inf)
        for joint in self.joints:
            low, high = position_range_of_dof(joint)
            lower[joint.dof], upper[joint.dof] = max(lower[joint.dof], low), min(upper[joint.dof], high)
        return read_only(lower), read_only(upper)

    def _sum_per_dof(self, value: Callable[[Joint], float]) -> Array:
        total = np.zeros(self.n)
        for joint in self.joints:
            total[joint.dof] += value(joint)
        return read_only(total)


def joint_matrix(coupling: Array | None, diagonal: NDArray[Any]) -> NDArray[Any]:
    """Return B^T X B: a diagonal matrix X at the outputs of the gears, seen from the joints.

    Args:
        coupling: B, shape (n, n); None for the unit matrix.
        diagonal: Diagonal of X, shape (n,), may be traced.

    Returns:
        Shape (n, n).
    """
    return np.diag(diagonal) if coupling is None else coupling.T @ (diagonal[:, None] * coupling)


def position_range_of_dof(joint: Joint) -> tuple[float, float]:
    """Return the range of q[joint.dof] in which a joint stays within its own limits."""
    if joint.multiplier == 0.0:
        return -np.inf, np.inf
    ends = [(end - joint.offset) / joint.multiplier for end in (joint.limits.lower, joint.limits.upper)]
    return min(ends), max(ends)


def _protect(record: Any, *fields: str) -> None:
    """Make the arrays of a record read-only (not traced ones): all laws and nodes of a process share one model."""
    for name in fields:
        array = np.asarray(getattr(record, name))
        if array.dtype != object:
            object.__setattr__(record, name, read_only(array))


def read_only(array: Array) -> Array:
    """Return a read-only copy that nobody can make writable again: its memory belongs to an immutable object."""
    if array.dtype == object:  # traced scalars
        array.setflags(write=False)
        return array
    return np.frombuffer(array.tobytes(), array.dtype).reshape(array.shape)
