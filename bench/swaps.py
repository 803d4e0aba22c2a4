# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Swaps between laws in motion on wrong models: the step of the efforts, and the tracking error beside both laws alone.

Each robot has links that are 20 % heavier and lighter in turn, and a payload that no law knows of. It moves as in the
demo (`excursion_points`, three times slower than they allow; ``--slower``). While all joints move, at the times `AT`,
each law of joints is swapped for each other one. ``python -m bench.swaps`` prints a row for each robot and swap_time:

- *step*: the greatest change of an effort from the last tick of a law to the first one of the next, in shares of the
  effort limits: worst and median pair, and the number of pairs above the aim, 2 %;
- *change*: likewise the greatest change from tick to tick in the 0.3 s after the swap;
- *error*: the greatest tracking error of a joint in the motion, over the greater one of both laws alone in the same
  motion: worst and median pair, and the number of pairs above 1.01;
- *incidents*: how many laws were dropped and robots stopped.

``--pairs`` prints the pairs, too. With ``--tip``, laws of the tip are swapped for each other while the tip moves along
a line, far from singular positions (`tip_start`), and errors are those of its position [m].
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import permutations

import numpy as np

from bench.report import line, machine
from robodyn_ros import Robot
from robodyn_ros.control.contract.controller import Controller, JointReference
from robodyn_ros.control.laws.damping import Damping
from robodyn_ros.control.plugins.plugin import Plugin
from robodyn_ros.control.plugins.registry import law_names, load_controller, make_controller
from robodyn_ros.control.references.joint_trajectory import JointTrajectory, Points
from robodyn_ros.control.references.reference import Trajectory
from robodyn_ros.control.references.tip_reference import TipReference
from robodyn_ros.control.references.tip_trajectory import TipTrajectory
from robodyn_ros.control.runtime.bumpless_transfer import SWAP_TIME
from robodyn_ros.control.runtime.control_loop import ControlLoop
from robodyn_ros.control.runtime.measurement import Measurement
from robodyn_ros.control.runtime.requests import Follow, NewSettings, Swap
from robodyn_ros.control.runtime.tick import Tick
from robodyn_ros.description.resources import shipped_robots
from robodyn_ros.simulation.commands import Drive
from robodyn_ros.simulation.model_perturbations import with_mass_error, with_payload
from robodyn_ros.simulation.plant import Plant, default_position
from robodyn_ros.simulation.standard_motion import excursion_points

PERIOD = 0.002
"""Control period [s]."""
AT = (0.3, 0.5)
"""Times of the swaps, as shares of the motion: at half of it the joints are fastest."""
MASS_ERROR = 20.0
"""Error of the links' masses and inertias, in turn above and below [%]."""
PAYLOAD = 0.1
"""Mass of the payload, as a share of that of the robot's moving links."""
AIM = 0.02
"""Greatest step at a swap, as a share of the effort limits."""
WINDOW = 0.3
"""Time after a swap in which efforts are looked at [s]."""
MORE = 1.01
"""An error counts as greater if it is so by more than this factor."""
LOOKED_AT = 500
"""Positions among which a line of the tip begins at the one farthest from singular ones."""
SLOWER = 3.0
"""Time of the motion, relative to the one that the robot's velocity limits allow."""
UNSEEN = 1e-3
"""Tracking errors below this count as this [rad or m]."""


@dataclass
class Run:
    """What happened in one motion.

    Attributes:
        effort: Shape (K, n) [N m or N].
        error: Tracking errors, shape (K, n) [rad or m].
        incidents: Why laws were dropped, robots stopped, and loops begun anew.
    """

    effort: np.ndarray
    error: np.ndarray
    incidents: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Pair:
    """A swap beside both laws alone.

    Attributes:
        names: The laws.
        step: Of the efforts at the swap, as a share of the limits.
        change: Greatest one from tick to tick afterwards, likewise.
        error: Greatest tracking error of a joint, over that of both laws alone.
        incidents: How many there were.
    """

    names: tuple[str, str]
    step: float
    change: float
    error: float
    incidents: int


def wrong(robot: Robot) -> Robot:
    """The robot itself, which no law knows."""
    signs = {joint.name: MASS_ERROR * (1.0 if place % 2 else -1.0) for place, joint in enumerate(robot.model.joints)}
    mass = sum(joint.inertia.mass for joint in robot.model.joints)
    return Robot(with_payload(with_mass_error(robot.model, signs), PAYLOAD * mass))


def tip_start(robot: Robot) -> np.ndarray:
    """Of random positions in the middle half of the limits, that with the greatest least singular value of J."""
    lower, upper = robot.position_lower, robot.position_upper
    bounded = np.isfinite(upper - lower)
    lower, upper = np.where(bounded, lower, -np.pi), np.where(bounded, upper, np.pi)
    middle, half = 0.5 * (lower + upper), 0.25 * (upper - lower)
    found = np.random.default_rng(0).uniform(middle - half, middle + half, (LOOKED_AT, robot.n))
    return found[np.linalg.svd(robot.dynamics().batch.jacobian(found), compute_uv=False).min(axis=1).argmax()]


class Rig:
    """A robot whose model is wrong, and the laws that know the model.

    Args:
        robot: The robot as its description has it.
        slower: See `excursion_points`.
        tip: Whether the tip is moved along a line, instead of the joints.
    """

    def __init__(self, robot: Robot, slower: float = SLOWER, tip: bool = False) -> None:
        self.robot, self._tip, rest = robot, tip, np.zeros(robot.n)
        points = excursion_points(robot, slower)
        self.start = tip_start(robot) if tip else default_position(robot)
        if tip:
            points = Points.from_arrays(points.times[:1], self.start + 0.5 * (points.q[:1] - default_position(robot)))
        self._motion = JointTrajectory(JointReference(self.start, rest, rest), 0.0, points)
        self._alone: dict[str, Run] = {}
        self._plant = Plant(wrong(robot), PERIOD)
        follows = TipReference if tip else JointReference
        self.laws: dict[str, Controller] = {}
        for name in law_names():
            law = load_controller(name)
            if law.follows is follows and not law.for_elastic_joints and law.__module__.startswith("robodyn_ros."):
                self.laws[name] = make_controller(name, robot)

    @property
    def duration(self) -> float:
        """Length of a motion [s]."""
        return self._motion.end_time + WINDOW

    def run(self, laws: Sequence[str], at: float = 0.0, swap_time: float = 0.0) -> Run:
        """Move under a law, which another one replaces after a time; see `SWAP_TIME`, both [s]."""
        robot, plant, incidents = self.robot, self._plant, list[str]()
        plant.set_state(self.start)
        loop = ControlLoop(robot, Plugin(laws[0], self.laws[laws[0]]), Plugin("safe", Damping(robot)), 0.5)
        loop.request(NewSettings(swap_time=swap_time))
        ticks, rest, swap = list[Tick](), np.zeros(robot.n), round(at / PERIOD)
        for count in range(round(self.duration / PERIOD)):
            if count == swap and len(laws) > 1:
                loop.request(Swap(Plugin(laws[1], self.laws[laws[1]])))
            tick = loop.tick(Measurement(round(1e9 * PERIOD * count) + 1, plant.q, plant.v))
            incidents += [str(event) for event in tick.events if count]
            if count == 0:
                loop.request(Follow(self.motion(loop), on_arrival=True))
            ticks.append(tick)
            plant.advance(Drive(tick.effort, rest, rest))
        return Run(np.array([tick.effort for tick in ticks]), self._errors(ticks), incidents)

    def motion(self, loop: ControlLoop) -> Trajectory:
        """What the robot is to follow from the first tick of a loop on."""
        if not self._tip:
            return self._motion
        begin, goal = loop.trajectory_start(None, TipReference), self._motion.sample(self._motion.end_time).q
        there = self.robot.dynamics().forward_kinematics(goal)[:3, 3]
        return TipTrajectory.line(begin.reference, begin.start_time, self._motion.end_time, there,
                                  begin.reference.quaternion)

    def _errors(self, ticks: Sequence[Tick]) -> np.ndarray:
        ticks = [tick for tick in ticks if tick.reference is not None]  # up to the drop of a law, which is an incident
        if not self._tip:
            return np.array([tick.reference.q - tick.state.q for tick in ticks])
        positions = self.robot.dynamics().batch.forward_kinematics(np.array([tick.state.q for tick in ticks]))[:, :3, 3]
        return np.linalg.norm(np.array([tick.reference.position for tick in ticks]) - positions, axis=1)[:, None]

    def alone(self, name: str) -> Run:
        """The motion under one law."""
        if name not in self._alone:
            self._alone[name] = self.run([name])
        return self._alone[name]

    def pairs(self, swap_time: float) -> Iterator[Pair]:
        """Swap each law for each other one, with a `SWAP_TIME` [s]."""
        limit = self.robot.effort_limit
        for names in permutations(self.laws, 2):
            greatest = np.maximum(*(np.abs(self.alone(name).error).max(axis=0) for name in names))
            found = []
            for share in AT:
                at = round(share * self._motion.end_time / PERIOD) * PERIOD
                run, count = self.run(names, at, swap_time), round(at / PERIOD)
                changes = np.abs(np.diff(run.effort[count - 1:count + round(WINDOW / PERIOD)], axis=0)) / limit
                error = np.abs(run.error).max(axis=0) / np.maximum(greatest, UNSEEN)
                found.append((changes[0].max(), changes[1:].max(), error.max(), len(run.incidents)))
            step, change, more, _ = np.max(found, axis=0).tolist()
            yield Pair(names, step, change, more, sum(count for *_, count in found))


def cells(pairs: Sequence[Pair]) -> list[str]:
    """Cells of a robot."""
    step, change, error = (np.array([getattr(pair, name) for pair in pairs]) for name in ("step", "change", "error"))
    return [f"{len(pairs)}", f"{100.0 * step.max():.2f}", f"{100.0 * np.median(step):.2f}", f"{(step > AIM).sum()}",
            f"{100.0 * change.max():.2f}", f"{100.0 * np.median(change):.2f}",
            f"{error.max():.3f}", f"{np.median(error):.3f}", f"{(error > MORE).sum()}",
            f"{sum(pair.incidents for pair in pairs)}"]


def main() -> None:
    """Print a row for each robot."""
    parser = argparse.ArgumentParser(prog="python -m bench.swaps", description=__doc__)
    parser.add_argument("--robot", nargs="+", default=sorted(shipped_robots()))
    parser.add_argument("--swap-time", nargs="+", type=float, default=[0.0, SWAP_TIME.default], help="[s]")
    parser.add_argument("--slower", type=float, default=SLOWER, help="time of the motion, in that of `excursion`")
    parser.add_argument("--laws", nargs="+", help="these only")
    parser.add_argument("--tip", action="store_true", help="swap laws of the tip link")
    parser.add_argument("--pairs", action="store_true", help="print each pair")
    options = parser.parse_args()
    head = ["robot, swap_time [s]", "pairs", "step [%]: worst", "median", f"above {100.0 * AIM:g}",
            "change [%]: worst", "median", "error: worst", "median", f"above {MORE:g}", "incidents"]
    print(f"{machine()}\n\n{line(head)}\n{line(['---'] * len(head))}")
    for name in options.robot:
        rig = Rig(Robot.named(name), options.slower, options.tip)
        rig.laws = {name: law for name, law in rig.laws.items() if name in (options.laws or rig.laws)}
        for swap_time in options.swap_time:
            pairs = list(rig.pairs(swap_time))
            for pair in sorted(pairs, key=lambda pair: pair.error) if options.pairs else ():
                shares = f"{100.0 * pair.step:.2f}", "", "", f"{100.0 * pair.change:.2f}", ""
                print(line([" -> ".join(pair.names), "", *shares, f"{pair.error:.3f}", "", "", f"{pair.incidents}"]))
            print(line([f"{rig.robot.name}, {swap_time:g}", *cells(pairs)]), flush=True)


if __name__ == "__main__":
    main()
