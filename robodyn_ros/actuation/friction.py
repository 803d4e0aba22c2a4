# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Friction in the joints: the interface of a model, and the model with viscous, Coulomb and Stribeck friction."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robodyn_ros.base.checks import NOT_NEGATIVE, Range, as_joint_array, as_joint_arrays, constants, for_all_joints
from robodyn_ros.base.errors import InputError, unknown
from robodyn_ros.base.fields import DAMPING, EFFORT, VELOCITY, declare, declared, section
from robodyn_ros.compile import less, minimum, where
from robodyn_ros.description.model import Array, RobotModel


class Bristles(NamedTuple):
    """Springs that dry friction bends before the joint slides, N in parallel at each of some joints.

    A spring with deflection z and a parallel damper exert k z + c z', at most their share of the level of the dry
    friction; then the spring slips.

    Attributes:
        joints: Indices of the joints with bristles, shape (m,).
        stiffness: k, shape (N, m) [N m/rad or N/m].
        damping: c, shape (N, m) [N m s/rad or N s/m].
        share: Share of the level, shape (N, m); the shares of a joint add up to 1.
    """

    joints: NDArray[np.intp]
    stiffness: NDArray[Any]
    damping: NDArray[Any]
    share: NDArray[Any]


NO_BRISTLES = Bristles(np.zeros(0, dtype=np.intp), *np.zeros((3, 0, 0)))
"""Bristles of friction that holds a resting joint without bending."""


class FrictionModel(ABC):
    """Interface of the friction of all joints; a model is a frozen dataclass of arrays with this base.

    A sliding joint has viscous friction, and dry friction with a level that depends on its velocity. Dry friction up to
    the level holds a resting joint, either rigidly or by `bristles`, which bend; the plant keeps their deflections.

    Attributes:
        name: Name of the model in YAML files; `friction_models` finds the class by it.
        Settings: Dataclass of a joint's numbers in such a file, see `fields.declare`.
        viscous: D, shape (n,) [N m s/rad or N s/m].
    """

    name: ClassVar[str]
    Settings: ClassVar[type]
    viscous: Array

    def __init_subclass__(cls, **options: Any) -> None:
        """Register the model by its name."""
        super().__init_subclass__(**options)
        if "name" in cls.__dict__:
            _MODELS[cls.name] = cls

    @classmethod
    @abstractmethod
    def from_settings(cls, model: RobotModel, settings: Sequence[Any], where: str) -> Self:
        """Return the friction of a robot.

        Args:
            model: The robot.
            settings: An instance of `Settings` for each joint, in the order of q.
            where: Source of the settings, for messages.
        """

    @abstractmethod
    def level(self, v: NDArray[Any]) -> NDArray[Any]:
        """Return the greatest dry friction, shape (n,) [N m or N]; v may be traced, shape (n,) [rad/s or m/s]."""

    @property
    @abstractmethod
    def has_dry(self) -> NDArray[np.bool_]:
        """Which joints can have dry friction at any velocity, shape (n,)."""

    @abstractmethod
    def scaled(self, factor: ArrayLike) -> Self:
        """Return all friction times a factor: a number, or one for each joint, shape (n,)."""

    @property
    def bristles(self) -> Bristles:
        """The springs that the dry friction bends; default: none."""
        return NO_BRISTLES

    @property
    def n(self) -> int:
        """Number of joints."""
        return len(self.viscous)


_MODELS: dict[str, type[FrictionModel]] = {}


def friction_models() -> dict[str, type[FrictionModel]]:
    """The imported models by name."""
    return dict(_MODELS)


def friction_settings(where: str, values: Any) -> Any:
    """Return the settings of the model that a section of a YAML file names; default: ``stribeck``.

    Args:
        where: Place of the section, for messages.
        values: Its content.

    Raises:
        InputError: The model is unknown, or a value does not fit it.
    """
    values = dict(values) if isinstance(values, Mapping) else values
    name = values.pop("model", "stribeck") if isinstance(values, dict) else "stribeck"
    models = friction_models()
    if not isinstance(name, str) or name not in models:
        raise InputError(f"{where}: {unknown('model', name, models)}")
    return section(models[name].Settings, where, values)


_NO_RISE = 500.0  # the decay is 0 beyond this exponent; above 512, exp is a special case of the C library


def stribeck_decay(v: NDArray[Any], velocity: Array) -> NDArray[Any]:
    """e^(-(v / v_s)^2): share of the rise at rest that is left at a velocity, shape (n,).

    Args:
        v: Velocities, shape (n,), may be traced [rad/s or m/s].
        velocity: v_s, shape (n,), may be traced [rad/s or m/s].
    """
    square = (v / velocity) ** 2
    left: NDArray[Any] = where(less(square, _NO_RISE), np.exp(-minimum(square, _NO_RISE)), 0.0)
    return left


@dataclass(frozen=True)
class FrictionSettings:
    """Friction of a joint; None: the value of the robot description."""

    viscous: float | None = declare(None, unit=DAMPING, minimum=0.0, description="Viscous friction")
    coulomb: float | None = declare(None, unit=EFFORT, minimum=0.0, description="Coulomb friction")
    static: float | None = declare(None, unit=EFFORT, minimum=0.0, description="Breakaway friction, not below the "
                                   "Coulomb friction; none: the Coulomb friction")
    stribeck_velocity: float = declare(0.01, unit=VELOCITY, minimum=0.0, above=True, description="Velocity at which "
                                       "the rise from Coulomb to breakaway friction has fallen to 1/e")


@dataclass(frozen=True, eq=False)
class Friction(FrictionModel):
    """Friction of every joint: the viscous part D dq/dt, and a level of dry friction.

        level(v) = F_c + (F_s - F_c) exp(-(v / v_s)^2)

    with the Coulomb friction F_c and Stribeck's rise to the breakaway friction F_s at rest [Armstrong]. The dry
    friction of a sliding joint has this level and opposes the motion; the dry friction of a resting joint holds it up
    to this level. Each value is one number for all joints, or has shape (n,); in the instance all have shape (n,).

    Attributes:
        viscous: D [N m s/rad or N s/m].
        coulomb: F_c [N m or N].
        static: F_s, not below F_c; None: F_c, without Stribeck effect [N m or N].
        stribeck_velocity: v_s, at which the rise has fallen to 1/e [rad/s or m/s].

    Raises:
        InputError: A value is negative (or zero, for v_s), not finite, F_s is below F_c, or the lengths differ.
    """

    name: ClassVar[str] = "stribeck"
    Settings: ClassVar[type] = FrictionSettings

    viscous: Array
    coulomb: Array
    static: Array = for_all_joints(None)
    stribeck_velocity: Array = for_all_joints(0.01)

    def __post_init__(self) -> None:
        """Check the values and give all of them one shape."""
        values = dict(vars(self))
        if self.static is None:
            values["static"] = self.coulomb
        owner = type(self).__name__
        for name, array in as_joint_arrays(owner, values, self._ranges()).items():
            object.__setattr__(self, name, array)
        if (constants(self.rise, traced=0.0) < 0.0).any():
            raise InputError(f"{owner}.static: expected breakaway friction not below the Coulomb friction "
                             f"{self.coulomb.tolist()}, received {self.static.tolist()}")

    @classmethod
    def from_model(cls, model: RobotModel) -> Self:
        """Return the viscous and Coulomb friction of a robot description."""
        return cls(model.described.damping, model.described.friction)

    @classmethod
    def from_settings(cls, model: RobotModel, settings: Sequence[FrictionSettings], where: str) -> Self:
        """As in `FrictionModel`; the description replaces values that are None.

        Raises:
            InputError: A breakaway friction is below the Coulomb friction.
        """
        return cls(*cls._levels(model, settings, where))

    @staticmethod
    def _levels(model: RobotModel, settings: Sequence[FrictionSettings], where: str) -> Array:
        """Return viscous, Coulomb and breakaway friction and Stribeck's velocity of the joints, shape (4, n)."""
        rows = []
        for joint, viscous, coulomb, found in zip(model.joint_names, model.damping, model.friction, settings,
                                                  strict=True):
            level = coulomb if found.coulomb is None else found.coulomb
            static = level if found.static is None else found.static
            if static < level:
                raise InputError(f"{where}: joint '{joint}': friction: static: expected a number not below the "
                                 f"Coulomb friction {level:g}, received {static:g}")
            rows.append((viscous if found.viscous is None else found.viscous, level, static, found.stribeck_velocity))
        return np.array(rows).reshape(-1, 4).T

    @property
    def has_dry(self) -> NDArray[np.bool_]:
        """As in `FrictionModel`."""
        return constants(self.static, traced=1.0) > 0.0

    @property
    def rise(self) -> Array:
        """F_s - F_c, shape (n,) [N m or N]."""
        return self.static - self.coulomb

    def level(self, v: NDArray[Any]) -> NDArray[Any]:
        """Return the greatest dry friction, shape (n,) [N m or N].

        Args:
            v: Joint velocities, shape (n,), may be traced [rad/s or m/s].
        """
        rise = self.rise * stribeck_decay(v, self.stribeck_velocity)
        return np.where(constants(self.rise, traced=1.0) > 0.0, self.coulomb + rise, self.coulomb)

    def scaled(self, factor: ArrayLike) -> Self:
        """Return all friction times a factor.

        Args:
            factor: A number, or one for each joint, shape (n,).

        Raises:
            InputError: A factor is negative or not finite, or the shape differs.
        """
        factors = as_joint_array(factor, self.n, NOT_NEGATIVE, "Friction.scaled: factor")
        return replace(self, viscous=factors * self.viscous, coulomb=factors * self.coulomb,
                       static=factors * self.static)

    @classmethod
    def _ranges(cls) -> dict[str, Range]:
        return {name: own.range for name, own in declared(cls.Settings).items()}
