# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Controllers as a user's own package would hold them, sound and unsound, for the tests of the controller node."""

import signal
import time
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from rclpy.action.server import RCLError, ServerGoalHandle

from robodyn_ros.control import (
    STIFFNESS,
    Controller,
    DrawnShape,
    Law,
    Parameters,
    Reading,
    UpdateRate,
    declare_drawing,
    declare_input,
    per_joint,
    scalar,
)


@dataclass(frozen=True, eq=False)
class SpringParameters(Parameters):
    """Of `Spring`."""

    stiffness: np.ndarray = per_joint(50.0, unit=STIFFNESS, minimum=0.0, maximum=1e4, description="Stiffness")
    damping: float = scalar(5.0, unit="N m s/rad", minimum=0.0, description="Damping of all joints")
    rank: int = scalar(2, description="Structure", structural=True)
    side: str = scalar("left", choices=("left", "right"), description="Side")


class Spring(Controller):
    """A user's own controller."""

    Parameters = SpringParameters

    def update(self, state, reference):
        return self.parameters.stiffness * (reference.q - state.q) - self.parameters.damping * state.v


class Branching(Law):
    """Cannot be compiled, since it branches on a value."""

    Parameters = SpringParameters

    @staticmethod
    def law(dynamics, parameters, state, reference, memory):
        if state.q[0] > 10.0:
            return -parameters.damping * state.v
        return parameters.stiffness * (reference.q - state.q) - parameters.damping * state.v


class FailsToConstruct(Spring):
    """Refused when it is asked for."""

    def __init__(self, robot, parameters=None):
        raise RuntimeError("no licence found")


class FailsAtOnce(Spring):
    """Refused at the dry run."""

    def update(self, state, reference):
        raise ZeroDivisionError("at once")


class FailsLater(Spring):
    """Passes the dry run, then raises after some ticks."""

    ticks_left = 20

    def update(self, state, reference):
        self.ticks_left -= 1
        if self.ticks_left == 0:
            raise ZeroDivisionError("later")
        return super().update(state, reference)


class NotANumberLater(FailsLater):
    """Passes the dry run, then returns NaN."""

    def update(self, state, reference):
        self.ticks_left -= 1
        return np.full(2, np.nan) if self.ticks_left < 0 else np.zeros(2)


class TooSlow(Spring):
    """Computes for 50 ms."""

    def update(self, state, reference):
        end = time.thread_time() + 0.05
        while time.thread_time() < end:
            pass
        return self.dynamics.gravity(state.q)


class StopsItself(Spring):
    """Stops its process, as the job control of a shell does, while the first joint moves."""

    def update(self, state, reference):
        if state.v[0]:
            signal.raise_signal(signal.SIGSTOP)
        return super().update(state, reference)


class RunsAway(Spring):
    """Accelerates the last joint without end."""

    def update(self, state, reference):
        return self.dynamics.gravity(state.q) + 0.1 * np.eye(len(state.q))[-1]


class FailingMiddleware(Spring):
    """Where it is put in force, the middleware cannot publish the next two states of goals."""

    def __init__(self, robot, parameters=None):
        super().__init__(robot, parameters)
        original, failures = ServerGoalHandle._update_state, iter(range(2))

        def update_state(self, event):
            original(self, event)
            if next(failures, None) is None:
                ServerGoalHandle._update_state = original
            else:
                raise RCLError("cannot publish data")

        ServerGoalHandle._update_state = update_state


class ShowsWrench(Controller):
    """Exerts the measured force along x and torque about y as efforts; -1 if no wrench is measured."""

    follows = None

    def update(self, state, reference):
        return np.nan_to_num(state.wrench_tip[[0, 4]], nan=-1.0)


class Planner(Law):
    """Has a slow part, of 50 Hz, that finds the time of its update."""

    Parameters = SpringParameters
    rates = {"plan": UpdateRate(50.0)}

    @staticmethod
    def law(dynamics, parameters, state, reference, memory):
        memory = Planner.rates["plan"].update(memory, state, lambda: np.stack([state.time]))
        return dynamics.gravity(state.q) - parameters.damping * state.v, memory

    def initial_memory(self, state):
        return self.rates["plan"].first(np.zeros(1))

    def memory_names(self):
        return "since", "time"


class PlansTooOften(Planner):
    """Asks for more than the controller's rate."""

    rates = {"plan": UpdateRate(5000.0)}


class Seen(NamedTuple):
    """What `Servo` reads."""

    target: Reading = declare_input("camera/target", "geometry_msgs/msg/PointStamped", "point", (3,), greatest_age=0.3)
    gain: Reading = declare_input("gain", "std_msgs/msg/Float64", "data", (), greatest_age=0.5, required=True,
                                  example=1.0)


class Servo(Law):
    """Shows an input, and the motors' side, in its efforts."""

    Parameters = SpringParameters
    senses = ("motor_q", "joint_torque")
    Inputs = Seen

    @staticmethod
    def law(dynamics, parameters, state, reference):
        target = state.inputs.target.value
        seen = np.where(np.isnan(target), -1.0, target)
        return np.stack([state.inputs.gain.value + seen[1], state.motor_q[1] + 0.1 * state.joint_torque[1]])


class Shown(NamedTuple):
    """What `Draws` draws."""

    way: np.ndarray = declare_drawing(DrawnShape.PATH, "A way", (0.0, 1.0, 0.0))
    pushes: np.ndarray = declare_drawing(DrawnShape.ARROWS, "Pushes")
    goals: np.ndarray = declare_drawing(DrawnShape.FRAMES, "Goals")


class Draws(Spring):
    """Draws a line of three points from the first joint's angle on, and a frame."""

    Drawing = Shown

    def draw(self, state):
        return Shown(way=np.array([[state.q[0], 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 2.0, 0.0]]), goals=np.eye(4)[None])


class DrawsNothingElse(Draws):
    """Returns another thing than it has declared."""

    def draw(self, state):
        return Shown(way=np.full((3, 3), np.nan))


class DrawsForEver(Draws):
    """Does not return from `draw`."""

    def draw(self, state):
        while True:
            pass


class NoSuchField(NamedTuple):
    """Of a message that has another one."""

    target: Reading = declare_input("camera/target", "geometry_msgs/msg/PointStamped", "pint.x", (), greatest_age=0.3)


class ReadsNoSuchField(Servo):
    """Refused when it is asked for."""

    Inputs = NoSuchField
