# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Springs between gears and links, with backlash, and their impulses in a step.

    T = K g(theta - q) + D (theta' - q')

The motor has the position theta, at the output of its gear; g subtracts a dead zone as wide as the backlash. The spring
transmits nothing across the gap: D acts only while the spring is loaded, and T never has the opposite sign of K g.

A step takes the mean of T by the discrete gradient of the spring's energy between the deflections before and after it
[HairerLubichWanner], so that the spring stores exactly the work done on it, also through the dead zone. Without
backlash, this is the mean of both, the average acceleration method of [Newmark]: stable for any stiffness, without
numerical damping, and with the frequency (2 / h) atan(h omega / 2). The damping uses the mean rate of the step, so that
it never adds energy. The step begins with the deflections in its middle, delta = delta_before + h delta'_before / 2,
since positions drift first, see `semi_implicit_euler`.
"""

from __future__ import annotations

from dataclasses import MISSING, dataclass, fields, replace
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.actuation.joint_values import is_limit, joint_value
from robodyn_ros.base.checks import constants
from robodyn_ros.base.fields import DAMPING, POSITION, STIFFNESS, Unit
from robodyn_ros.compile import by_element, clip, greater, greater_equal, less, maximum, minimum, where
from robodyn_ros.description.model import Array

INERTIA = Unit("kg m^2", "kg")

NEWTON_ROUNDS = 8
"""Full rounds of Newton's method for the impulses of springs with backlash; later rounds take half of its step."""

_TOLERANCE = 1e-10  # relative error of a spring's impulse that counts as solved
_MIN_CHANGE = 1e-150  # smaller changes of a deflection count as 0: their inverse would overflow [rad or m]
_DEFLECTION_TOLERANCE = 1e-15  # error of a deflection that counts as solved [rad or m]
_BENT = 1e-9  # a spring with backlash rests on a face if the load deflects it by more than this [rad or m]


class SpringDeflection(NamedTuple):
    """Deflection of springs at an instant, or amid a step with the rate before it, shape (springs,) each."""

    value: NDArray[Any]  # theta - q [rad or m]
    rate: NDArray[Any]  # theta' - q' [rad/s or m/s]

    def at(self, springs: NDArray[Any]) -> SpringDeflection:
        """Return some of the springs."""
        return SpringDeflection(self.value[springs], self.rate[springs])

    def before(self, step: float) -> NDArray[Any]:
        """Return the deflections before a step [s], from those in its middle, shape (springs,) [rad or m]."""
        return self.value - 0.5 * step * self.rate


class SpringImpulse(NamedTuple):
    """Impulses of springs in a step near a rate of deflection, each array of shape (springs,)."""

    impulse: NDArray[Any]  # impulse of spring and damper [N m s or N s]
    elastic: NDArray[Any]  # its elastic part, without damping [N m s or N s]
    slope: NDArray[Any]  # derivative of ``impulse`` by the rate after the step

    def tangent(self, rate: NDArray[Any]) -> SpringLine:
        """Return the line through the impulses at a rate, shape (springs,) [rad/s or m/s]."""
        return SpringLine(self.impulse - self.slope * rate, self.slope)


class SpringLine(NamedTuple):
    """Impulses of springs that are linear in the rate of deflection after the step, each array of shape (springs,)."""

    at_rest: NDArray[Any]  # impulse at rate 0 [N m s or N s]
    slope: NDArray[Any]  # derivative by the rate


class SpringTorque(NamedTuple):
    """Torque of springs at an instant, each array of shape (springs,)."""

    whole: NDArray[Any]  # T, which torque sensors measure [N m or N]
    loss: NDArray[Any]  # power dissipated by the dampers [W]


@dataclass(frozen=True, eq=False)
class Transmission:
    """Springs of n joints; every array has shape (n,). docs/plant.md has the model."""

    stiffness: Array = joint_value(
        np.inf, yaml=MISSING, unit=STIFFNESS, minimum=0.0, above=True, maximum=1e12, quantity="transmission.stiffness",
        only="is_elastic", description="Stiffness between the output of the gear and the link")
    spring_damping: Array = joint_value(
        0.0, unit=DAMPING, minimum=0.0, quantity="transmission.damping", only="is_elastic",
        description="Damping of this spring")
    backlash: Array = joint_value(
        0.0, unit=POSITION, minimum=0.0, maximum=1.0, quantity="transmission.backlash", only="is_elastic",
        description="Total width of the dead zone, at the link")
    motor_encoder: NDArray[np.bool_] = joint_value(
        False,
        description="Whether the joint is measured on the motor's side of this spring, at the output of the gear")
    source_inertia: Array = joint_value(
        0.0, yaml=None, unit=INERTIA, minimum=0.0, above=True, quantity="transmission.inertia",
        only="is_elastic",
        description="Inertia on the motor's side, at the output of the gear, of a joint without an actuator; none: "
        "`armature` of the robot's description")

    @property
    def is_elastic(self) -> NDArray[np.bool_]:
        """Whether there is a spring, shape (n,)."""
        return is_limit(self.stiffness)

    @property
    def has_backlash(self) -> NDArray[np.bool_]:
        """Whether the spring has a dead zone, shape (n,)."""
        return self.is_elastic & (constants(self.backlash, traced=1.0) > 0.0)

    def at(self, joints: NDArray[Any]) -> Self:
        """Return the springs of some joints."""
        return replace(self, **{entry.name: getattr(self, entry.name)[joints] for entry in fields(self)})

    @property
    def _is_loaded(self) -> NDArray[np.bool_]:
        """Whether springs have no dead zone; a traced backlash counts as one."""
        always: NDArray[np.bool_] = constants(self.backlash, traced=1.0) == 0.0
        return always

    def beyond_dead_zone(self, deflection: NDArray[Any]) -> NDArray[Any]:
        """g: deflections beyond the dead zones, shape (n,) [rad or m]."""
        half = 0.5 * self.backlash
        return np.where(self._is_loaded, deflection, maximum(deflection - half, 0.0) + minimum(deflection + half, 0.0))

    def motors_at_rest(self, q: NDArray[Any], load: NDArray[Any]) -> NDArray[Any]:
        """Return the motor positions at which the springs bear loads; without load, in the middle of the backlash.

        Args:
            q: Positions of the links, shape (n,), may be traced [rad or m].
            load: Efforts on the links, shape (n,), may be traced [N m or N].
        """
        bent = load / self.stiffness
        side = clip(bent / _BENT, -1.0, 1.0)  # 0 without load: no sign of a rounding error
        rest: NDArray[Any] = q + bent + 0.5 * self.backlash * side
        return rest

    def torque(self, deflection: SpringDeflection) -> SpringTorque:
        """Return T at an instant."""
        elastic = self.stiffness * self.beyond_dead_zone(deflection.value)
        dashpot = self.spring_damping * deflection.rate
        whole = elastic + dashpot
        torque = np.where(self._is_loaded, whole, where(greater(elastic * whole, 0.0), whole, 0.0))
        return SpringTorque(torque, (torque - elastic) * deflection.rate)

    def energy(self, deflection: NDArray[Any]) -> NDArray[Any]:
        """Return the energy of the springs at deflections, shape (n,) [J]."""
        beyond = self.beyond_dead_zone(deflection)
        return 0.5 * self.stiffness * beyond * beyond

    def impulse(self, h: float, start: SpringDeflection, rate: NDArray[Any]) -> SpringImpulse:
        """Return the impulses in a step that ends with given rates of deflection, and their slopes.

        Args:
            h: The step [s].
            start: Deflection in the middle of the step, with the rate before it.
            rate: Rate at the end of the step, shape (n,) [rad/s or m/s].
        """
        linear = h * self.stiffness * (start.value + 0.25 * h * (rate - start.rate))
        firm = SpringImpulse(linear + 0.5 * h * self.spring_damping * (start.rate + rate), linear,
                             0.25 * h * h * self.stiffness + 0.5 * h * self.spring_damping)
        if self._is_loaded.all():
            return firm
        slack = by_element(partial(_slack_impulse, h), self.stiffness, self.spring_damping, 0.5 * self.backlash,
                           start.before(h), start.value + 0.5 * h * rate)
        return SpringImpulse(*(np.where(self._is_loaded, one, other) for one, other in zip(firm, slack, strict=True)))

    def _face(self, h: float, start: SpringDeflection) -> NDArray[Any]:
        """Face on which each spring starts: 1 or -1, or 0 in the dead zone, shape (n,)."""
        before, half = start.before(h), 0.5 * self.backlash
        side: NDArray[Any] = where(greater(before, half), 1.0, where(greater(-half, before), -1.0, 0.0))
        return side

    def loaded_line(self, h: float, start: SpringDeflection) -> SpringLine:
        """Return the impulses if each spring stays on its face, or in the dead zone; arguments as for `impulse`."""
        before, side = start.before(h), self._face(h, start)
        pressed = side * side
        mean = 0.5 * (before + start.value) - side * (0.5 * self.backlash)
        at_rest = h * self.stiffness * mean + 0.5 * h * self.spring_damping * start.rate
        return SpringLine(pressed * at_rest, pressed * (0.25 * h * h * self.stiffness + 0.5 * h * self.spring_damping))

    def leaves_face(self, h: float, start: SpringDeflection, line: SpringLine, rate: NDArray[Any]) -> Any:
        """Return a positive number if a spring leaves the face, or the dead zone, that `loaded_line` assumes; else 0.

        Args:
            h: The step [s].
            start: Deflection in the middle of the step.
            line: Result of `loaded_line`.
            rate: Rate at the end of the step, shape (n,) [rad/s or m/s].
        """
        half = 0.5 * self.backlash
        side, after = self._face(h, start), start.value + 0.5 * h * rate
        pushes = greater_equal(side * (line.at_rest + line.slope * rate), 0.0)
        stays = where(side, greater(side * after, half) * pushes, greater_equal(half, abs(after)))
        return sum(1.0 - stays, np.float64(0.0))

    def next_line(self, h: float, start: SpringDeflection, guess: SpringLine, rate: NDArray[Any], rounds: Any
                  ) -> tuple[SpringLine, Any]:
        """Compare guessed impulses with those at the resulting rates.

        Args:
            h: The step [s].
            start: Deflection in the middle of the step.
            guess: Guessed impulses.
            rate: Rate at the end of the step under this guess, shape (n,) [rad/s or m/s].
            rounds: Number of rounds before this one.

        Returns:
            The next guess; and a number that is positive if it differs.
        """
        found = self.impulse(h, start, rate)
        error = abs(found.impulse - guess.at_rest - guess.slope * rate)
        least = h * self.stiffness * _DEFLECTION_TOLERANCE
        # Newton's method can jump back and forth across a dead zone that a step crosses at once.
        late, tangent = greater(rounds, NEWTON_ROUNDS - 0.5), found.tangent(rate)
        after = SpringLine(*(where(late, 0.5 * (old + new), new) for old, new in zip(guess, tangent, strict=True)))
        return after, sum(greater(error, _TOLERANCE * abs(found.impulse) + least), np.float64(0.0))


def _slack_impulse(h: float, stiffness: Any, damping: Any, half: Any, before: Any, after: Any) -> tuple[Any, Any, Any]:
    """Impulse of a spring with backlash, its elastic part, and its slope by the rate after the step.

    A face of the dead zone pushes and never pulls. A step that stays on one face takes the mean of both deflections.
    In other steps, the faces that the spring leaves and enters push for the share of the way on which they are pressed.
    ``h`` is the step [s], ``half`` the half backlash, ``before`` and ``after`` are the deflections.
    """
    start, end = (where(greater(x, half), x - half, where(less(x, -half), x + half, 0.0)) for x in (before, after))
    apart, weight = after - before, 0.5 * h * stiffness
    inverse = 1.0 / where(less(abs(apart), _MIN_CHANGE), 1.0, apart)
    left, entered = clip(-start * inverse, 0.0, 1.0), clip(end * inverse, 0.0, 1.0)  # shares of the way
    pushes = greater(weight * left, damping)
    impulse = where(pushes, start * (weight * left - damping), 0.0) + end * (weight * entered + damping)
    slope = where(pushes, weight * left * left, 0.0) + where(end, weight * entered * (2.0 - entered) + damping, 0.0)
    on_one = weight * (start + end) + damping * (end - start)
    held = greater(on_one * start, 0.0)
    stays = greater(start * end, 0.0)
    return (where(stays, where(held, on_one, 0.0), impulse),
            weight * where(stays, start + end, start * left + end * entered),
            0.5 * h * where(stays, where(held, weight + damping, 0.0), slope))
