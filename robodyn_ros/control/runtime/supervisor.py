# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The supervisor between a controller and the drives: what states and efforts have to keep to, whatever the law does.

It has three answers, from mild to strong:

- It *limits* efforts: to the limits of the joints, in their rate, and after a start.
- It calls a controller *at fault*, under which a joint runs away; the control loop then drops it for the safe one, like
  one that raises, returns NaN or is too slow.
- It *stops* the robot at a bound that somebody set: a margin of the position limits, the speed of the tip link, a box
  that the tip link must not leave. The stop lasts until a person releases it.

It also tells which joint states no motion explains. With the default settings, it changes no sound law's efforts.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from math import dist
from typing import Any, NamedTuple

import numpy as np

from robodyn_ros.base.errors import InputError
from robodyn_ros.base.fields import Field
from robodyn_ros.compile import minimum
from robodyn_ros.control.contract.state import State
from robodyn_ros.control.runtime.modes import Reason
from robodyn_ros.description.model import Array
from robodyn_ros.kinematics.forward import forward_kinematics
from robodyn_ros.robot import Robot

JUMP = 0.05
"""A position change that exceeds the one explained by the velocities by more than this is a jump [rad or m]."""

RUNAWAY_FACTOR = 20.0
"""A joint that moves faster than its velocity limit times this ran away; the default.

Light wrists reach ten times the limit where a law saturates, and come back.
"""

OUTWARD_SPEED = 0.01
"""Speed from which a joint or the tip link beyond a bound counts as leaving, not as standing still [rad/s or m/s]."""


@dataclass(frozen=True)
class SupervisorSettings:
    """Bounds; 0 or an empty box switches one off.

    Attributes:
        runaway_factor: Speed at which a joint ran away, relative to its velocity limit.
        effort_rate: Greatest change of a joint's effort per second, relative to its effort limit [1/s].
        position_margin: Distance from a position limit within which a joint must not move on towards it [rad or m].
        tip_speed: Greatest speed of the tip link's origin [m/s].
        workspace: Lowest x, y, z and highest x, y, z of the tip link's origin in base axes [m], six numbers.
        soft_start: Time after a start in which the efforts go from those against gravity to the controller's [s].
    """

    runaway_factor: float = RUNAWAY_FACTOR
    effort_rate: float = 0.0
    position_margin: float = 0.0
    tip_speed: float = 0.0
    workspace: tuple[float, ...] = ()
    soft_start: float = 0.0


def check_workspace(box: Any) -> None:
    """Check a box for the tip link.

    Args:
        box: Six numbers, see `SupervisorSettings`; six zeros: none.

    Raises:
        InputError: A lowest number is not below the highest.
    """
    if any(box) and not all(low < high for low, high in zip(box[:3], box[3:], strict=True)):
        raise InputError(f"expected lowest x, y, z below highest x, y, z, received {list(box)}")


PARAMETERS = (
    Field("runaway_factor", RUNAWAY_FACTOR, "Speed at which a joint ran away and the controller is dropped for the "
          "safe one, relative to the joint's velocity limit; 0: never", minimum=0.0, maximum=1000.0),
    Field("speed_scaling", 1.0, "Speed of all trajectories, relative to the one asked for; 0: they stand still",
          minimum=0.0, maximum=1.0),
    Field("supervisor.effort_rate", 0.0, "Greatest change of a joint's effort per second, relative to its effort "
          "limit; 0: any", unit="1/s", minimum=0.0, maximum=1e6),
    Field("supervisor.position_margin", 0.0, "Distance from a position limit within which the robot is stopped if the "
          "joint moves on towards it; 0: none", unit="rad or m", minimum=0.0, maximum=10.0),
    Field("supervisor.tip_speed", 0.0, "Speed of the tip link above which the robot is stopped; 0: any", unit="m/s",
          minimum=0.0, maximum=100.0),
    Field("supervisor.workspace", [0.0] * 6, "Box that the tip link's origin must not leave, or the robot is stopped: "
          "lowest x, y, z and highest x, y, z in base axes; six zeros: none", length=6, unit="m", minimum=-1000.0,
          maximum=1000.0, check=check_workspace),
    Field("supervisor.soft_start", 0.0, "Time after a start or a release in which the efforts go from those against "
          "gravity to those of the controller; 0: none", unit="s", minimum=0.0, maximum=60.0),
)
"""What people set of the supervisor, and the speed of motions."""


class LimitedEffort(NamedTuple):
    """Efforts for the drives.

    Attributes:
        effort: Shape (n,) [N m or N].
        saturated: Whether the controller asked for efforts beyond the limits of the joints.
        intervention: What was done to the controller's efforts; empty if nothing was.
    """

    effort: Array
    saturated: bool
    intervention: str


class Supervisor:
    """Watches one robot; it belongs to the thread of the control loop.

    Args:
        robot: The robot.

    Attributes:
        inconspicuous: Norm of the velocities up to which neither `runaway` nor `violation` finds anything; the norm
            exceeds a limit before any joint does.
    """

    def __init__(self, robot: Robot) -> None:
        self._model = model = robot.model
        self._dynamics = robot.dynamics()
        self._joint_names = robot.joint_names
        self._velocity_limit = np.where(model.velocity_limit > 0.0, model.velocity_limit, np.inf)
        self._least_velocity_limit = float(self._velocity_limit.min(initial=np.inf))
        self._position_lower, self._position_upper = model.position_lower, model.position_upper
        self.limit(np.inf)
        self._rated = np.minimum(model.effort_limit, 1e300)  # finite, as infinity times a period of 0 is not
        self._last: Array | None = None  # efforts
        self._since_start = 0.0
        self.settings = SupervisorSettings()

    @property
    def settings(self) -> SupervisorSettings:
        """The bounds."""
        return self._settings

    @settings.setter
    def settings(self, settings: SupervisorSettings) -> None:
        bounded = settings.position_margin or settings.tip_speed or settings.workspace
        self.inconspicuous = -1.0 if bounded else settings.runaway_factor * self._least_velocity_limit
        self._shapes_efforts = bool(settings.effort_rate or settings.soft_start)
        self._settings = settings

    def limit(self, efforts: float | Array) -> None:
        """Keep efforts within some below those of the joints, shape (n,) [N m or N]; infinity: within those."""
        self._limits = np.minimum(self._model.effort_limit, efforts)
        self._limit_list: list[float] = self._limits.tolist()

    def restart(self) -> None:
        """Begin the soft start at the next efforts."""
        self._since_start = 0.0

    def runaway(self, v: Array, v_reference: Array | None) -> Reason | None:
        """Say which joint ran away; None if none did.

        Args:
            v: Joint velocities, shape (n,) [rad/s or m/s].
            v_reference: Those that a trajectory asks for: one beyond the limits was warned of, and is followed; None:
                there is none.
        """
        factor = self.settings.runaway_factor
        if not factor:
            return None
        limit = self._velocity_limit if v_reference is None else np.maximum(self._velocity_limit, np.abs(v_reference))
        excess = np.abs(v) - factor * limit
        joint = int(excess.argmax())
        if excess[joint] <= 0.0:
            return None
        name = self._joint_names[joint]
        return Reason("runaway", f"joint '{name}' ran away: {abs(v[joint]):.3g}, limit {limit[joint]:.3g}", (name,))

    def discontinuity(self, last: State, period: float, q: Array, v: Array, longest_gap: float) -> str:
        """Say why no motion leads from the last state to this one; empty if one does.

        Args:
            last: The last state.
            period: Time since then [s].
            q: Joint positions, shape (n,) [rad or m].
            v: Joint velocities, shape (n,) [rad/s or m/s].
            longest_gap: Longest time between two states [s].
        """
        if period < 0.0 or period > longest_gap:
            return f"time went {'back' if period < 0.0 else 'on'} by {abs(period):.6g} s between two joint states"
        if dist(q.tolist(), last.q.tolist()) > JUMP:  # seldom so: only then looked at joint by joint
            change = q - last.q
            excess = np.abs(change) - period * (np.abs(v) + np.abs(last.v))
            joint = int(excess.argmax())
            if excess[joint] > JUMP:
                name = self._joint_names[joint]
                return f"joint '{name}' jumped by {change[joint]:.4g} within {period:.4g} s, which no motion explains"
        return ""

    def violation(self, q: Array, v: Array) -> Reason | None:
        """Say which bound a state passes on its way outward; None if it keeps to all. The way back is free.

        Args:
            q: Joint positions, shape (n,) [rad or m].
            v: Joint velocities, shape (n,) [rad/s or m/s].
        """
        settings = self.settings
        if settings.position_margin and (reason := self._beyond_margin(q, v, settings.position_margin)):
            return reason
        if settings.tip_speed or settings.workspace:
            velocity = (self._dynamics.jacobian(q) @ v)[:3]
            speed = float(np.sqrt(velocity.dot(velocity)))
            if settings.tip_speed and speed > settings.tip_speed:
                return Reason("tip speed", f"the tip link moves at {speed:.3g} m/s, limit {settings.tip_speed:.3g} m/s")
            if settings.workspace:
                return self._beyond_box(q, velocity, settings.workspace)
        return None

    def misplaced(self, q: Array) -> str:
        """Say along which axis the tip link is outside the workspace, moving or not; empty if it is inside.

        Args:
            q: Joint positions, shape (n,) [rad or m].
        """
        box = self.settings.workspace
        if not box:
            return ""
        position = forward_kinematics(self._model, q)[:3, 3]
        for axis in np.flatnonzero((position < box[:3]) | (position > box[3:]))[:1]:
            return (f"the tip link is outside the workspace: {'xyz'[axis]} = {position[axis]:.4g} m, allowed "
                    f"{box[axis]:.4g} to {box[axis + 3]:.4g} m; a motion further out stops the robot")
        return ""

    def _beyond_margin(self, q: Array, v: Array, margin: float) -> Reason | None:
        below = (q < self._position_lower + margin) & (v < -OUTWARD_SPEED)
        above = (q > self._position_upper - margin) & (v > OUTWARD_SPEED)
        for joint in np.flatnonzero(below | above)[:1]:
            limit = self._position_lower[joint] if below[joint] else self._position_upper[joint]
            name = self._joint_names[joint]
            return Reason("position margin", f"joint '{name}' moves towards its limit, {limit:.4g}, at {q[joint]:.4g}, "
                          f"within the margin of {margin:.3g}", (name,))
        return None

    def _beyond_box(self, q: Array, velocity: Array, box: tuple[float, ...]) -> Reason | None:
        position = self._dynamics.forward_kinematics(q)[:3, 3]
        below = (position < box[:3]) & (velocity < -OUTWARD_SPEED)
        above = (position > box[3:]) & (velocity > OUTWARD_SPEED)
        for axis in np.flatnonzero(below | above)[:1]:
            return Reason("workspace", f"the tip link leaves the workspace: {'xyz'[axis]} = {position[axis]:.4g} m, "
                          f"allowed {box[axis]:.4g} to {box[axis + 3]:.4g} m")
        return None

    def limited(self, asked: Array, values: list[float], state: State, gently: bool) -> LimitedEffort | None:
        """Return efforts for the drives; None: the controller's, as they are.

        Args:
            asked: The controller's efforts, finite, shape (n,) [N m or N].
            values: The same as a list.
            state: The state that they answer.
            gently: Whether the soft start applies; the safe controller brakes at once.
        """
        if not self._shapes_efforts and all(map(operator.le, map(abs, values), self._limit_list)):
            self._last = asked  # the comparison costs less than np.clip
            return None
        settings, done = self._settings, ""
        if settings.soft_start and self._since_start < settings.soft_start:
            self._since_start += state.period
            if gently:
                asked, done = self._softened(asked, state.q, settings.soft_start), "soft start"
                values = asked.tolist()
        saturated = not all(map(operator.le, map(abs, values), self._limit_list))
        if saturated:
            asked = np.clip(asked, -self._limits, self._limits)
            done += ", effort limit" if done else "effort limit"
        if settings.effort_rate:
            last = self._last
            if last is None:
                last = np.clip(self._dynamics.gravity(state.q), -self._limits, self._limits)
            step = settings.effort_rate * state.period * self._rated
            slowed = np.clip(asked, last - step, last + step)
            if (slowed != asked).any():
                done += ", effort rate" if done else "effort rate"
            asked = slowed
        self._last = asked
        return LimitedEffort(asked, saturated, done)

    def _softened(self, asked: Array, q: Array, duration: float) -> Array:
        gravity = self._dynamics.gravity(q)
        softened: Array = gravity + soft_share(self._since_start / duration) * (asked - gravity)
        return softened


def soft_share(share: Any) -> Any:
    """Share of the controller's efforts at a share of the soft start, both from 0 to 1; can be traced."""
    share = minimum(1.0, share)
    return share * (share * (3.0 - 2.0 * share))
