# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""``Robot``: a robot description and its actuators, with their dynamics and inverse kinematics."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, Unpack, get_args

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.actuation.friction import Friction, FrictionModel
from robodyn_ros.actuation.joint_actuators import JointActuators
from robodyn_ros.actuation.known_drivetrain import known_drivetrain
from robodyn_ros.actuation.known_friction import KnownFriction
from robodyn_ros.base.checks import Range, as_number
from robodyn_ros.base.errors import DescriptionError, DescriptionRemark, DescriptionWarning, InputError, unknown
from robodyn_ros.base.timing import LoopTiming
from robodyn_ros.description.denavit_hartenberg import DHRow, DHTable, load_dh
from robodyn_ros.description.drivetrain import JointSprings
from robodyn_ros.description.load_options import LoadOptions
from robodyn_ros.description.model import STANDARD_GRAVITY, Array, RobotModel
from robodyn_ros.dynamics import compiled_formulas
from robodyn_ros.dynamics.mass_matrix import check_mass_matrix
from robodyn_ros.dynamics.robot_dynamics import Dynamics, FormulaModule
from robodyn_ros.kinematics.inverse_kinematics import InverseKinematicsResult, inverse_kinematics

Formulas = Literal["efficient", "textbook"]


class Robot:
    """A robot: its description and actuators (``model``) and its dynamics (``dynamics()``).

    It can be pickled and copied, and so can its dynamics: functions are compiled again in the process that uses them.

    Args:
        model: The robot as data.

    Attributes:
        model: The robot as data: joints, limits, links, and the rotors and friction that dynamics and laws use.
        timing: Timing of its control loop; default gains are computed for it.
        formulas: Formulas used by `dynamics` and by laws in rollouts; see `with_formulas`.
        actuators: Actuators of its joints, see `with_actuators`; None: unknown.
        friction: Friction of its joints, see `with_actuators`; None: unknown.
        ignored: Parts of the drivetrain that dynamics and laws ignore, see `ignoring`.
        known_friction: Friction of joints and drives, of the actuators or else of the description; None: none, or it
            is ignored.
    """

    def __init__(self, model: RobotModel) -> None:
        self.model = model
        self.timing = LoopTiming()
        self.formulas: Formulas = "efficient"
        self.actuators: JointActuators | None = None
        self.friction: FrictionModel | None = None
        self.ignored: tuple[str, ...] = ()
        self.known_friction = KnownFriction.from_robot(self)
        self._dynamics: dict[tuple[bool, Formulas], Dynamics] = {}

    @classmethod
    def named(cls, name: str, tip_link: str | None = None) -> Robot:
        """A robot by its name on the command line: a shipped one, or one of the package robot_descriptions.

        Args:
            name: A name such as ``"arm6"`` or ``"ur5e"``; the path of a file works too.
            tip_link: As for `from_urdf`.

        Returns:
            The robot.

        Raises:
            DescriptionError: As for `from_urdf`.
            InputError: There is no such robot, or as for `from_urdf`.
        """
        from robodyn_ros.description.resources import robot_file

        return cls.from_urdf(robot_file(name), tip_link=tip_link)

    @classmethod
    def from_urdf(cls, path: str | Path, **options: Unpack[LoadOptions]) -> Robot:
        """The robot of a URDF file that a user named; `from_urdf_text` is for descriptions received as data.

        Args:
            path: Path of a URDF file, or of a xacro file, which is expanded (xacro evaluates Python).
            **options: ``strict``, ``gravity``, ``tip_link`` and ``hold_massless``, see `LoadOptions`.

        Returns:
            The robot.

        Raises:
            DescriptionError: The description is unusable; or it has warnings, and ``strict`` is set.
            InputError: ``gravity`` is not three finite numbers, or no link is called ``tip_link``.

        Warns:
            DescriptionWarning: A value is physically implausible but can be computed.
        """
        from robodyn_ros.description.urdf import load_urdf  # the XML libraries take a third of a second to import

        return cls(load_urdf(path, **options))

    @classmethod
    def from_urdf_text(cls, text: str, **options: Unpack[LoadOptions]) -> Robot:
        """The robot of a URDF given as text, such as from a topic: no file is opened, and nothing in the text is run.

        Args:
            text: The XML of the URDF.
            **options: See `LoadOptions`; errors and warnings are those of `from_urdf`.

        Returns:
            The robot.
        """
        from robodyn_ros.description.urdf import load_urdf_text

        return cls(load_urdf_text(text, **options))

    @classmethod
    def from_mjcf(
        cls,
        path: str | Path,
        strict: bool = False,
        gravity: Sequence[float] | Array | None = None,
        tip_link: str | None = None,
    ) -> Robot:
        """The robot of an MJCF file of MuJoCo, read by MuJoCo itself (extra ``mujoco``).

        The robot must be a tree of hinges and slides on a fixed base. Links are the bodies and named sites, the root
        link is ``world``, joints come in MuJoCo's order. ``model.description`` is the generated URDF.

        Args:
            path: Path of the file.
            strict: Whether parts missing in the URDF, and implausible values, are errors instead of warnings.
            gravity: Gravitational acceleration in axes of the world, shape (3,) [m/s^2]; None for that of the file.
            tip_link: Name of the default link of all functions; None for the link at the end of the longest chain.

        Returns:
            The robot.

        Raises:
            DescriptionError: MuJoCo cannot read the file; or the robot has a part that a URDF cannot describe (free and
                ball joints, closed loops); or ``strict`` is set and the robot has warnings or parts that are left out.
            InputError: MuJoCo is not installed, there is no such file, or as for `from_urdf`.

        Warns:
            DescriptionWarning: As for `from_urdf`; or a part of the file is left out, such as springs and tendons.
            DescriptionRemark: The file lifts bodies against gravity.
        """
        from robodyn_ros.base.bounded_files import expand_user
        from robodyn_ros.description.robot_sources import convert_mjcf_file

        converted = convert_mjcf_file(expand_user(path))
        if converted is None:
            raise DescriptionError(f"{path}: expected an MJCF file, called .xml or .mjcf, with an element <mujoco>; "
                                   "Robot.from_urdf reads URDF and xacro files")
        if strict and converted.notes:
            raise DescriptionError("\n".join([*converted.notes, "(an error because strict=True)"]))
        for kind, messages in ((DescriptionWarning, converted.notes), (DescriptionRemark, converted.remarks)):
            for message in messages:
                warnings.warn(message, kind, stacklevel=2)
        return cls.from_urdf(converted.file, strict=strict, tip_link=tip_link,
                             gravity=converted.gravity if gravity is None else gravity)

    @classmethod
    def from_dh(
        cls,
        table: DHTable | Sequence[DHRow | Mapping[str, Any] | Sequence[float]],
        name: str = "robot",
        strict: bool = False,
        gravity: Sequence[float] | Array = STANDARD_GRAVITY,
    ) -> Robot:
        """The robot of a table of modified Denavit-Hartenberg parameters, [Yamamoto] (1.17), (1.18).

        Args:
            table: A ``DHTable``; or only its rows, each a ``DHRow``, a mapping of its attributes, or a, alpha, d,
                theta of a revolute joint.
            name: Name of the robot.
            strict: Whether physically implausible values that can be computed are errors instead of warnings.
            gravity: Gravitational acceleration in base axes, shape (3,) [m/s^2].

        Returns:
            The robot.

        Raises:
            DescriptionError: The table is unusable; or it has warnings, and ``strict`` is set.
            InputError: ``gravity`` is not three finite numbers.

        Warns:
            DescriptionWarning: No row has an inertia, so that kinematics works and dynamics does not; or the last rows
                have none, and their joints are held as if fixed.
        """
        return cls(load_dh(table, name=name, strict=strict, gravity=gravity))

    def denavit_hartenberg(self) -> DHTable:
        """The table of modified Denavit-Hartenberg parameters, by the book's steps; `from_dh` is the inverse.

        Raises:
            DescriptionError: The robot is no chain, or as in `description.find_denavit_hartenberg`.
        """
        from robodyn_ros.description.find_denavit_hartenberg import find_denavit_hartenberg

        return find_denavit_hartenberg(self.model)

    def with_timing(self, period: float, delay: int = 0) -> Robot:
        """The same robot, with its compiled dynamics, in a control loop with another timing.

        Args:
            period: Control period [s].
            delay: Time from a measurement to the beginning of its effect [control periods].

        Raises:
            InputError: The period is not positive, or the delay is negative or not a whole number.
        """
        as_number(period, Range(0.0, above=True, unit="s"), "timing: period")
        if as_number(delay, Range(0.0, unit="control periods"), "timing: delay") != int(delay):
            raise InputError(f"timing: delay: expected a whole number of control periods, received {delay}")
        timed = copy(self)
        timed.timing = LoopTiming(float(period), int(delay))
        return timed

    def with_formulas(self, formulas: Formulas) -> Robot:
        """The same robot with dynamics by other formulas: in `dynamics()`, and in laws in rollouts.

        Args:
            formulas: ``"efficient"``, those of ``robodyn_ros.dynamics``, which need the fewest operations; or
                ``"textbook"``, those of ``robodyn_ros.textbook``, in the form of the books.

        Raises:
            InputError: There are no such formulas.
        """
        if formulas not in get_args(Formulas):
            raise InputError(unknown("formulas", formulas, get_args(Formulas)))
        other = copy(self)
        other.formulas = formulas
        return other

    def with_actuators(self, actuators: str | Path | JointActuators | None, friction: FrictionModel | None = None
                       ) -> Robot:
        """The same robot with its motors, gears and friction.

        Dynamics and laws then use the rotors (in the mass matrix), the viscous friction (if they use that of the
        description) and the springs instead of the description's values. Rollouts simulate the actuators. `ignoring`
        makes dynamics and laws ignore parts of them.

        Args:
            actuators: YAML file of actuators and friction, or its name in config/; or the actuators; None: ideal
                sources of effort.
            friction: Friction of the joints, if the actuators are not a file; None: that of the description.

        Raises:
            InputError: The file cannot be read, or does not fit the robot; or friction is given in addition to a file.
        """
        other = copy(self)
        if isinstance(actuators, str | Path):
            from robodyn_ros.actuation.configuration import HardwareSettings  # nodes without a file start sooner

            if friction is not None:
                raise InputError(f"actuators: expected no friction besides the file '{actuators}', which defines it")
            settings = HardwareSettings.named(actuators)
            other.actuators = settings.joint_actuators(self.model)
            other.friction = settings.joint_friction(self.model)
        else:
            other.actuators = JointActuators.ideal_sources(self.n) if actuators is None else actuators
            other.friction = Friction.from_model(self.model) if friction is None else friction
        return other._with_known_drivetrain()

    def ignoring(self, *parts: str) -> Robot:
        """The same robot with parts of its drivetrain ignored by dynamics and laws; rollouts still simulate them.

        Args:
            *parts: Any of ``"rotors"``, ``"friction"`` and ``"springs"``, of actuators and description; all three leave
                only the rigid links; without arguments nothing is ignored.

        Raises:
            InputError: There is no such part.
        """
        if parts == self.ignored:
            return self
        other = copy(self)
        other.ignored = parts
        return other._with_known_drivetrain()

    def _with_known_drivetrain(self) -> Robot:
        """This robot with the model for its actuators and ignored parts, after either of them was set in a copy."""
        described = self.model.described
        found = known_drivetrain(described, self.actuators, self.friction, self.ignored)
        if found is not None or self.model is not described:
            self.model = described if found is None else replace(described, drivetrain=found)
            self._dynamics = {}
        self.known_friction = KnownFriction.from_robot(self)
        return self

    @property
    def springs(self) -> JointSprings | None:
        """Springs of its elastic joints; None: all joints are rigid, or the springs are unknown."""
        return None if self.model.drivetrain is None else self.model.drivetrain.springs

    @property
    def formula_module(self) -> FormulaModule:
        """The module with the formulas."""
        if self.formulas == "efficient":
            return compiled_formulas
        from robodyn_ros.textbook import formulas  # 13 modules, which nodes start without

        return formulas

    @property
    def name(self) -> str:
        """Name of the robot."""
        return self.model.name

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the independent joints, in the order of q, v, a and tau."""
        return self.model.joint_names

    @property
    def n(self) -> int:
        """Number of independent joints."""
        return self.model.n

    @property
    def position_lower(self) -> Array:
        """Lowest positions, shape (n,) [rad or m]; -inf without a limit. All limits are read-only."""
        return self.model.position_lower

    @property
    def position_upper(self) -> Array:
        """Highest positions, shape (n,) [rad or m]; inf without a limit."""
        return self.model.position_upper

    @property
    def velocity_limit(self) -> Array:
        """Greatest speeds, shape (n,) [rad/s or m/s]; inf without a limit."""
        return self.model.velocity_limit

    @property
    def effort_limit(self) -> Array:
        """Greatest efforts, shape (n,) [N m or N]; inf without a limit."""
        return self.model.effort_limit

    @property
    def tip_link(self) -> str:
        """Name of the link used where none is named."""
        return self.model.tip_link

    def dynamics(self, compiled: bool = True, formulas: Formulas | None = None) -> Dynamics:
        """The robot's dynamics; the same object at every call, so that nothing is compiled twice.

        Args:
            compiled: True to compile each function when it is first used; False to run it on floats, for reading and
                debugging.
            formulas: ``"efficient"`` or ``"textbook"``, see `with_formulas`; None: those of the robot.

        Returns:
            The dynamics. Without inertia only kinematics works; all other functions raise a `DescriptionError` that
            names the links.

        Raises:
            InputError: There are no such formulas.
        """
        chosen = self if formulas is None else self.with_formulas(formulas)
        key = (compiled, chosen.formulas)
        if key not in self._dynamics:  # if several threads arrive here at once, all use the first one's
            self._dynamics.setdefault(key, Dynamics(self.model, formulas=chosen.formula_module, compiled=compiled))
        return self._dynamics[key]

    def drive_effort(self, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> Array:
        """Efforts that the drives exert in a motion: inverse dynamics, friction, and the losses of the gears.

        The rotors are part of `dynamics`, unless they are ignored. A joint at rest has no friction.

        Args:
            q: Joint positions, shape (n,) [rad or m].
            v: Joint velocities, shape (n,) [rad/s or m/s].
            a: Joint accelerations, shape (n,) [rad/s^2 or m/s^2].

        Returns:
            Efforts before the gears' losses, shape (n,) [N m or N].

        Raises:
            InputError: An array has another shape.
        """
        effort = self.dynamics().inverse_dynamics(q, v, a)
        speed = np.asarray(v, dtype=np.float64)
        if (known := self.known_friction) is None:
            return effort
        outputs = np.sign(known.gear.output_motion(speed))
        return known.drive_effort(effort + known.viscous @ speed, speed, np.sign(speed), outputs)

    def check_accelerations(self) -> None:
        """Check that efforts determine the robot's accelerations, as simulation and model-based laws need.

        Raises:
            DescriptionError: The robot has no inertia; or its mass matrix is singular or indefinite.
        """
        check_mass_matrix(self.model)

    def inverse_kinematics(
        self, target: ArrayLike, q_start: ArrayLike | None = None, **options: Any
    ) -> InverseKinematicsResult:
        """Joint positions that bring a link to a pose, by Newton's method, [Yamamoto] (1.21) to (1.23).

        Args:
            target: Target pose in the base frame, shape (4, 4) [m]; or only a position, shape (3,) [m].
            q_start: Start of the search, shape (n,) [rad or m]; None for the middle of the range.
            **options: As for :func:`robodyn_ros.kinematics.inverse_kinematics.inverse_kinematics`: ``link``,
                ``rows``, tolerances, limits, restarts.

        Returns:
            Joint positions, whether they reach the target, and if not, why.

        Raises:
            InputError: An argument has the wrong shape, is not a pose or is out of range; or no link has that name.
        """
        return inverse_kinematics(self.model, self.dynamics(), target, q_start, **options)

    def __repr__(self) -> str:
        return f"<Robot {self.name!r}: {self.n} joints, tip {self.tip_link!r}>"
