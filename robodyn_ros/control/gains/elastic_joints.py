# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Parameters of laws for elastic joints, and the check that an arm comes to rest under their sampled gains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.base.errors import InputError
from robodyn_ros.control.contract.parameters import DAMPING, STIFFNESS, Parameters, Unit, per_joint
from robodyn_ros.control.default_gains import Postures, largest_inertia, sampled_postures
from robodyn_ros.control.gains.elastic_arm import ElasticArm, MotorFeedback, rounded
from robodyn_ros.control.gains.sampled_loop import CHECKED_CONFIGURATIONS, MIN_GROWTH
from robodyn_ros.description.drivetrain import JointSprings
from robodyn_ros.description.model import Array
from robodyn_ros.robot import Robot

RIGID = 1e9
"""A joint of this stiffness or more counts as rigid [N m/rad or N/m]."""

_SHARES = (0.9, 0.75, 0.55, 0.4, 0.25, 0.15, 0.08, 0.04, 0.02, 0.01)
"""Shares of the gains tried for an error message, which then searches between two of them."""

_USUAL_DAMPING = 0.01  # damping ratio of motors on springs of steel
_ASSUMED_INERTIA = 0.1  # of motors without data [kg m^2 or kg]


def spring_stiffness(robot: Robot) -> Array:
    """Stiffness of the robot's springs, 10⁹ of rigid joints; shape (n,) [N m/rad or N/m]."""
    return np.full(robot.n, RIGID) if robot.springs is None else np.minimum(robot.springs.stiffness, RIGID)


def described_inertia(robot: Robot) -> Array:
    """Inertia of the motor behind the robot's spring, or else `armature`, or else 0.1; shape (n,) [kg m^2 or kg]."""
    known = robot.model.armature if robot.springs is None else robot.springs.motor_inertia
    return np.where(known > 0.0, known, _ASSUMED_INERTIA)


def known_damping(robot: Robot) -> Array:
    """Damping beside the robot's springs, 0 where it is not known; shape (n,) [N m s/rad or N s/m]."""
    return np.zeros(robot.n) if robot.springs is None else robot.springs.damping


def inertia_of_links(robot: Robot) -> Array:
    """Largest inertia at each link, without a motor behind a spring; shape (n,) [kg m^2 or kg]."""
    behind = np.ones(robot.n, dtype=bool) if robot.springs is None else robot.springs.is_elastic
    return largest_inertia(robot) - np.where(behind, robot.model.armature, 0.0)


@dataclass(frozen=True, eq=False)
class ElasticJoints(Parameters):
    """Data of the elastic joints that a law controls.

    Attributes:
        joint_stiffness: K of the springs between motors and links, shape (n,) [N m/rad or N/m].
        motor_inertia: B of the motors at the outputs of their gears, shape (n,) [kg m^2 or kg].
        joint_damping: D beside the springs, shape (n,) [N m s/rad or N s/m].
    """

    joint_stiffness: Array = per_joint(spring_stiffness, unit=STIFFNESS, minimum=1e-6, maximum=RIGID, structural=True,
                                       description="Stiffness between motor and link")
    motor_inertia: Array = per_joint(described_inertia, unit=Unit("kg m^2", "kg"), minimum=1e-9, structural=True,
                                     description="Inertia of the motor at the output of its gear")
    joint_damping: Array = per_joint(known_damping, unit=DAMPING, minimum=0.0, structural=True,
                                     description="Damping between motor and link")

    @property
    def is_rigid(self) -> NDArray[np.bool_]:
        """Which joints have no spring, shape (n,)."""
        return self.joint_stiffness >= RIGID

    @property
    def springs(self) -> JointSprings:
        """The springs; the stiffness of rigid joints is infinite."""
        return JointSprings(np.where(self.is_rigid, np.inf, self.joint_stiffness),
                            np.where(self.is_rigid, 0.0, self.motor_inertia),
                            np.where(self.is_rigid, 0.0, self.joint_damping))

    gains: ClassVar[tuple[tuple[str, ...], ...]] = ()
    """Names of the gains, in groups that are reduced together if they are too high."""

    def feedback(self, robot: Robot, postures: Postures) -> MotorFeedback:
        """Return the law's linear feedback in postures, affine in the gains.

        Args:
            robot: The robot.
            postures: S of them; matrices of the feedback have shape (n, n) or (S, n, n).
        """
        raise NotImplementedError

    def least_gains(self, robot: Robot) -> Mapping[str, Array]:
        """Return lower bounds of gains, shape (n,) each; a missing name means 0."""
        return {}

    def fault(self, robot: Robot) -> str:
        """Return why the robot does not come to rest under these gains; empty if it does."""
        growth = self.arm(robot).growth(self.feedback(robot, _checked_postures(robot)))
        if growth <= MIN_GROWTH:
            return ""
        factor = np.exp(robot.timing.period * growth)
        return (f"it swings on its springs: in some postures by a factor of {factor:.4g} from one control period to "
                "the next")

    def arm(self, robot: Robot) -> ElasticArm:
        """Return the sampled arm with these springs and the robot's loop timing."""
        springs = self.springs
        return _arm(robot, *(tuple(values.tolist()) for values in springs))

    def without_derived(self, robot: Robot) -> Self:
        """As in `Parameters`; default gains become the nearest gains under which the robot comes to rest."""
        complete = super().without_derived(robot)
        defaults = tuple(name for group in self.gains for name in group if callable(getattr(self, name)))
        if not defaults or complete.is_rigid.all():
            return complete
        values = tuple((name, tuple(getattr(complete, name).tolist()))
                       for name, own in self.declarations().items() if own.per_joint)
        found = _nearest(robot, type(self), defaults, values)  # type: ignore[arg-type]  # classes are hashable
        return complete if found is None else replace(complete, **found)

    def for_robot(self, robot: Robot) -> Self:
        """As in `Parameters`.

        Raises:
            InputError: As there, all joints are rigid, or the arm does not come to rest; the message suggests gains.
        """
        complete = super().for_robot(robot)
        if complete.is_rigid.all():
            raise InputError(f"joint_stiffness: expected elastic joints, received '{robot.name}', all of whose joints "
                             "are rigid as far as is known; give the file that has their springs (--actuators, or the "
                             "parameter actuators of the node controller), or joint_stiffness")
        complete.check_springs(robot)
        fault = complete.fault(robot)
        if fault:
            raise InputError(complete.advice(robot, fault))
        return complete

    def check_springs(self, robot: Robot) -> None:
        """Check the springs: faults that no gains can cure.

        Raises:
            InputError: No gains of the law hold the arm on these springs, or the parameters contradict each other.
        """

    def advice(self, robot: Robot, fault: str) -> str:
        """Return an error message that suggests gains under which the arm comes to rest.

        Args:
            robot: The robot.
            fault: Of these gains.
        """
        for group in self.gains:
            found = self.weaker(robot, group)
            if found is not None:
                most = " and ".join(f"a {name} below {values_text(getattr(found, name))}" for name in group)
                return (f"{' and '.join(group)}: expected {most}, with which '{robot.name}' comes to rest with "
                        f"{robot.timing}; received {self.text(group)}, with which {fault}")
        names = [name for group in self.gains for name in group]
        goal = f"gains with which '{robot.name}' comes to rest with {robot.timing}"
        end = f"; received {self.text(names)}, with which {fault}"
        found = self.nearest(robot, names)
        if found is not None:
            return f"{' and '.join(names)}: expected {goal}, such as {found.text(names)}{end}"
        usual = 2.0 * _USUAL_DAMPING * np.sqrt(self.joint_stiffness * self.motor_inertia)
        damped = replace(self, joint_damping=rounded(np.where(self.is_rigid, self.joint_damping,
                                                              np.maximum(self.joint_damping, usual))))
        found = damped.nearest(robot, names)
        if found is not None:
            return (f"joint_damping: expected springs with damping, as real ones have it, such as "
                    f"{found.text(['joint_damping', *names])}; without, there are no {goal}; received "
                    f"{self.text(['joint_damping'])}")
        for share in (0.5, 0.25, 0.125):
            faster = robot.with_timing(share * robot.timing.period, robot.timing.delay)
            found = self.nearest(faster, names)
            if found is not None:
                return (f"{' and '.join(names)}: expected a period of at most {faster.timing.period:g} s, with "
                        f"{found.text(names)}: there are no {goal}{end}")
        return f"{' and '.join(names)}: found no {goal}; shorten the period and the delay, or use stiffer springs{end}"

    def weaker(self, robot: Robot, group: Sequence[str]) -> ElasticJoints | None:
        """Return the greatest share of a group of gains under which the arm comes to rest; None: there is none."""
        least = {name: own.range.minimum for name, own in self.declarations().items()}

        def shared(share: float) -> ElasticJoints:
            return replace(self, **{name: np.maximum(rounded(share * getattr(self, name)), least[name])
                                    for name in group})

        def rests(share: float) -> bool:
            return not shared(share).fault(robot)

        low = next((share for share in _SHARES if rests(share)), 0.0)
        if not low:
            return None
        high = ((1.0, *_SHARES))[_SHARES.index(low)]
        for _ in range(8):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if rests(middle) else (low, middle)
        return shared(low)

    def nearest(self, robot: Robot, names: Sequence[str]) -> ElasticJoints | None:
        """Return the nearest gains under which the arm comes to rest, see `ElasticArm.holding_gains`.

        The search starts from these gains, then from the default gains, then from the share of the default gains with
        the least growth.

        Args:
            robot: The robot.
            names: Of the gains that may change.
        """
        n, postures, least = robot.n, _checked_postures(robot), self.least_gains(robot)
        suggested = super(ElasticJoints, type(self)()).without_derived(robot)

        def changed(gains: Array) -> ElasticJoints:
            return replace(self, **dict(zip(names, gains.reshape(-1, n), strict=True)))

        arm, lowest = self.arm(robot), np.concatenate([least.get(name, np.zeros(n)) for name in names])
        own, others = (np.concatenate([getattr(one, name) for name in names]) for one in (self, suggested))

        def law(gains: Array) -> MotorFeedback:
            return changed(gains).feedback(robot, postures)

        found = arm.holding_gains(law, own, lowest)
        if found is None:
            found = arm.holding_gains(law, others, lowest)
        if found is None:
            shares = [np.maximum(share * others, lowest) for share in _SHARES]
            found = arm.holding_gains(law, min(shares, key=lambda gains: arm.growth(law(gains))), lowest)
        return None if found is None else changed(found)

    def text(self, names: Sequence[str]) -> str:
        """Return parameters as text for messages."""
        return " and ".join(f"{name}: {values_text(getattr(self, name))}" for name in names)


def values_text(values: Array) -> str:
    """Return joint values as text: one number if they are equal."""
    texts = [f"{value:.4g}" for value in values]
    return texts[0] if len(set(texts)) == 1 else f"[{', '.join(texts)}]"


def _checked_postures(robot: Robot) -> Postures:
    return Postures(*(matrices[:CHECKED_CONFIGURATIONS] for matrices in sampled_postures(robot)))


@lru_cache(maxsize=8)
def _arm(robot: Robot, stiffness: tuple[float, ...], motor_inertia: tuple[float, ...], damping: tuple[float, ...]
         ) -> ElasticArm:
    springs = JointSprings(*map(np.array, (stiffness, motor_inertia, damping)))
    return ElasticArm.from_robot(robot.model, *robot.timing, springs, *_checked_postures(robot))


@lru_cache(maxsize=8)
def _nearest(robot: Robot, kind: type[ElasticJoints], names: tuple[str, ...], values: tuple[
        tuple[str, tuple[float, ...]], ...]) -> Mapping[str, Array] | None:
    """Return gains with which an arm comes to rest, nearest to those of `values`, if these need a change.

    Args:
        robot: The robot.
        kind: Class of the parameters.
        names: Of the gains that may change.
        values: Of all parameters of the joints, by name.
    """
    given = kind(**{name: np.array(value) for name, value in values})
    found = given.nearest(robot, names) if given.fault(robot) else None
    return None if found is None else {name: getattr(found, name) for name in names}
