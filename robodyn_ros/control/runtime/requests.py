# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.


"""What can be asked of the control loop."""

from __future__ import annotations

from math import inf
from typing import Any, NamedTuple

from numpy import bool_
from numpy.typing import NDArray

from robodyn_ros.control.contract.controller import State
from robodyn_ros.control.contract.parameters import Parameters
from robodyn_ros.control.plugins.plugin import Plugin
from robodyn_ros.control.references.joint_trajectory import JointTrajectory
from robodyn_ros.control.references.reference import Trajectory
from robodyn_ros.control.runtime.loop_events import Event
from robodyn_ros.control.runtime.modes import Reason
from robodyn_ros.control.runtime.supervisor import SupervisorSettings
from robodyn_ros.description.model import Array
from robodyn_ros.robot import Robot

ON_REQUEST = Reason("request", "on request")


class Swap(NamedTuple):
    """Choose another law; it runs from the next tick on, or after the release."""

    plugin: Plugin


class Stop(NamedTuple):
    """Let the safe law hold the robot until a `Release`."""

    reason: Reason = ON_REQUEST


class Release(NamedTuple):
    """End a stop: the chosen law begins at the current state."""


class Drop(NamedTuple):
    """Choose the safe law instead of the present one, which did not do."""

    reason: Reason


class Replace(NamedTuple):
    """Go on after a call that did not return, without its law; made by `ControlLoop.take_over`."""

    plugin: Plugin
    state: State
    text: str = ""  # why, for the report


class Suspend(NamedTuple):
    """Nothing is commanded now, so that no motion can begin; the same again changes nothing."""

    reason: Reason


class Resume(NamedTuple):
    """The commands count again."""


class Follow(NamedTuple):
    """Follow a trajectory from its start on; the result is the trajectory with its final times.

    Raises:
        InputError: The running law follows none of this kind, no motion can begin now, or all points have passed.
    """

    trajectory: Trajectory  # prepared from `ControlLoop.trajectory_start`; its times count since the start of the loop
    on_arrival: bool  # delay it by the time that its preparation took; otherwise its points keep their times
    joints: tuple[str, ...] = ()  # those that it names, which no gripper's motion moves any more


class Grip(NamedTuple):
    """Move the joints of a gripper beside the motion of the others, with limited efforts.

    Both last until another such request, or until the robot comes to rest, as after a stop or a new start; the motion
    also until a trajectory begins that names one of the joints. The result is the request in force; while it is,
    `ControlLoop.grip` is this object.

    Raises:
        InputError: The running law follows no joints, or no motion can begin now.
    """

    joints: NDArray[bool_]  # which ones, shape (n,)
    trajectory: JointTrajectory  # it begins on arrival where it says; its values of other joints are ignored
    effort_limit: Array  # of all joints, shape (n,); infinite: that of the joint [N m or N]
    end_time: float = inf  # when a trajectory moves them instead [s]


class Exert(NamedTuple):
    """Exert a wrench with the tip link from the next tick on, until another wrench, a stop or a new start.

    Raises:
        InputError: The running law follows no wrench, or the robot is stopped.
    """

    wrench: Array  # (force, torque) on the environment, about the tip's origin in base axes, shape (6,) [N, N m]


class HoldStill(NamedTuple):
    """Drop all trajectories and hold the current state."""


class Configure(NamedTuple):
    """Replace the parameters of a law by name, if it is the chosen or the safe one.

    A law whose class has other parameters, because its file was edited and imported anew, keeps its own.
    """

    name: str
    parameters: Parameters


class NewSettings(NamedTuple):
    """Replace what people set of the loop itself; None: as it is."""

    supervisor: SupervisorSettings | None = None
    speed_scaling: float | None = None  # of trajectories, 0 to 1
    delay: float | None = None  # time over which states are predicted [s]
    swap_time: float | None = None  # see `bumpless_transfer.SWAP_TIME` [s]


class BeginWith(NamedTuple):
    """Replace both laws before the first tick, because the timing of the loop is another one."""

    robot: Robot  # the same robot with this timing
    chosen: Plugin
    fallback: Plugin


Request = (Swap | Stop | Release | Drop | Replace | Suspend | Resume | Follow | Grip | Exert | HoldStill | Configure
           | NewSettings | BeginWith)


class Answer(NamedTuple):
    """The answer to a request."""

    result: Any = None  # see the request
    events: tuple[Event, ...] = ()
