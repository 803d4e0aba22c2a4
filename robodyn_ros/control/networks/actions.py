# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Actions of a learned law: they convert a policy's output to joint efforts or motor voltages.

A policy's numbers are dimensionless and typically between -1 and 1. `ActionLayout` declares their meaning;
`ActionLayout.command` is the formula, on floats or traced scalars.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robodyn_ros.base.checks import ANY_FINITE, NOT_NEGATIVE, POSITIVE, Range, as_joint_array, as_number
from robodyn_ros.base.errors import InputError, unknown
from robodyn_ros.compile import clip, exp
from robodyn_ros.control.contract.state import JointReference, State
from robodyn_ros.control.default_gains import damping, stiffness
from robodyn_ros.description.model import Array
from robodyn_ros.robot import Robot


class ActionKind(StrEnum):
    """Meaning of a policy's numbers; tau is the effort, and a the clipped action."""

    EFFORT = "effort"
    """Efforts: tau = s a."""
    POSITION = "position"
    """Targets of the joints around the default pose: tau = p (q_0 + s a - q) - d v."""
    POSITION_STEP = "position_step"
    """Targets of the joints around their measured positions: tau = p s a - d v."""
    GAINS = "gains"
    """Exponents of stiffness and damping towards the reference: tau = p s^a_p (q_d - q) + d s^a_d (v_d - v)."""
    VOLTAGE = "voltage"
    """Voltages of the motors: u = s a [V]."""


@dataclass(frozen=True, eq=False)
class ActionLayout:
    """The output of a policy.

    Attributes:
        kind: Meaning of the numbers.
        scale: s for each joint, shape (n,): efforts [N m or N], positions [rad or m], factors, or voltages [V].
        default: The default pose q_0, shape (n,) [rad or m].
        p: Stiffness for the kinds with targets or gains, shape (n,) [N m/rad or N/m].
        d: Damping likewise, shape (n,) [N m s/rad or N s/m].
        gravity: Whether the gravity effort of the law's model is added.
        clip: Greatest magnitude of an action's numbers; larger ones are clipped. Infinity: no limit.
    """

    kind: ActionKind
    scale: Array
    default: Array
    p: Array
    d: Array
    gravity: bool = False
    clip: float = np.inf

    @classmethod
    def from_settings(cls, robot: Robot, kind: str = ActionKind.POSITION, scale: ArrayLike | None = None,
                      default: ArrayLike | None = None, p: ArrayLike | None = None, d: ArrayLike | None = None,
                      gravity: bool = False, clip: float = np.inf, where: str = "action") -> ActionLayout:
        """Check and complete the settings of an action for a robot.

        Args:
            robot: The robot.
            kind: One of `ActionKind`.
            scale: As in the class, one number or one for each joint. None: the effort limits; 0.5 rad or m for
                `ActionKind.POSITION`; 0.1 rad or m for `ActionKind.POSITION_STEP`; a factor of 2 for
                `ActionKind.GAINS`. Voltages have no default.
            default: Likewise; None: zeros.
            p: Likewise; None: the default joint stiffness.
            d: Likewise; None: the default joint damping.
            gravity: As in the class.
            clip: As in the class.
            where: Place of the settings, for messages.

        Raises:
            InputError: The kind is unknown, a setting has no effect for it, a number does not fit, or a joint has no
                effort limit that could serve as scale.
        """
        if kind not in list(ActionKind):
            raise InputError(f"{where}: {unknown('kind', kind, list(ActionKind))}")
        chosen, names = ActionKind(kind), robot.joint_names
        springs = chosen in (ActionKind.POSITION, ActionKind.POSITION_STEP, ActionKind.GAINS)
        for name, value, has_effect in (("p", p, springs), ("d", d, springs),
                                        ("gravity", gravity or None, chosen is not ActionKind.VOLTAGE)):
            if value is not None and not has_effect:
                raise InputError(f"{where}: {name} has no effect with kind '{chosen}'; leave it out")
        if scale is None:
            scale = _default_scale(chosen, robot, where)
        return cls(chosen, as_joint_array(scale, robot.n, POSITIVE, f"{where}: scale", names),
                   as_joint_array(0.0 if default is None else default, robot.n, ANY_FINITE, f"{where}: default", names),
                   as_joint_array(stiffness(robot) if p is None else p, robot.n, NOT_NEGATIVE, f"{where}: p", names),
                   as_joint_array(damping(robot) if d is None else d, robot.n, NOT_NEGATIVE, f"{where}: d", names),
                   bool(gravity), as_number(clip, Range(0.0, above=True, or_infinite=True), f"{where}: clip"))

    @property
    def size(self) -> int:
        """Number of elements of an action m: n, or 2 n for `ActionKind.GAINS`."""
        return len(self.scale) * (2 if self.kind is ActionKind.GAINS else 1)

    @property
    def follows(self) -> type | None:
        """Class of the references that the action needs; None: it needs none."""
        return JointReference if self.kind is ActionKind.GAINS else None

    def limited(self, action: NDArray[Any]) -> NDArray[Any]:
        """Clip an action, shape (m,), floats or traced scalars."""
        return action if self.clip == np.inf else clip(action, -self.clip, self.clip)

    def command(self, action: NDArray[Any], dynamics: Any, state: State, reference: Any) -> NDArray[Any]:
        """Return efforts [N m or N], or voltages [V] for `ActionKind.VOLTAGE`, shape (n,), without limits.

        Args:
            action: The policy's action, shape (m,), see `limited`.
            dynamics: The law's model of the robot, a `Dynamics`.
            state: The measured state.
            reference: An instance of `follows`; any value if that is None.
        """
        a, q, v = action, state.q, state.v
        if self.kind is ActionKind.GAINS:
            rate, n = np.log(self.scale), len(self.scale)
            p, d = self.p * exp(rate * a[:n]), self.d * exp(rate * a[n:])
            effort = p * (reference.q - q) + d * (reference.v - v)
        elif self.kind is ActionKind.POSITION:
            effort = self.p * (self.default + self.scale * a - q) - self.d * v
        elif self.kind is ActionKind.POSITION_STEP:
            effort = self.p * (self.scale * a) - self.d * v
        else:
            effort = self.scale * a
        result: NDArray[Any] = effort + dynamics.gravity(q) if self.gravity else effort
        return result


_SCALES = {ActionKind.POSITION: 0.5, ActionKind.POSITION_STEP: 0.1, ActionKind.GAINS: 2.0}


def _default_scale(kind: ActionKind, robot: Robot, where: str) -> ArrayLike:
    if kind in _SCALES:
        return _SCALES[kind]
    if kind is ActionKind.VOLTAGE:
        raise InputError(f"{where}: scale: expected the voltages of the motors at an action of 1 [V], received none")
    limit = robot.model.effort_limit
    if not np.isfinite(limit).all():
        names = [name for name, one in zip(robot.joint_names, limit, strict=True) if not np.isfinite(one)]
        raise InputError(f"{where}: scale: expected the efforts at an action of 1, because {', '.join(names)} have no "
                         "effort limit")
    return limit
