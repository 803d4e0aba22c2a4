# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.


"""Whether default gains hold robots where efforts come late: ``python -m bench.default_gains ROBOT_OR_FOLDER ...``.

For each robot, control period and delay, the eigenvalues of the sampled loop of the whole arm in random postures say
whether a motion grows under a law with its default parameters: at rest, by any motion; with a payload of which the law
knows nothing, and under which the arm may sag, by an oscillation. A URDF says nothing of a rated payload. Taken is half
of the greatest point mass at the tip link that the effort limits hold in all these postures, or half of the mass of the
moving links if that is less.

A cell has two numbers of robots: those whose law evaluates its model ahead, and those of which a motion grows even so.
"""

from __future__ import annotations

import argparse
import hashlib
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from robodyn_ros import Robot
from robodyn_ros.base.errors import DescriptionWarning, RobodynError
from robodyn_ros.control.default_gains import Postures, late_feedback, sampled_positions
from robodyn_ros.control.gains.sampled_loop import delayed_loop, differences, sampled_arm
from robodyn_ros.control.laws.computed_torque import ComputedTorqueParameters
from robodyn_ros.control.laws.joint_impedance import JointImpedanceParameters
from robodyn_ros.control.laws.pd_gravity import PDGravityParameters
from robodyn_ros.description.model import Array
from robodyn_ros.description.resources import robot_file

PERIODS = (0.001, 0.002, 0.005, 0.01, 0.02)
DELAYS = (0, 1, 2, 3)
LAWS = ("pd_gravity", "joint_impedance", "computed_torque")
LOAD_SHARE = 0.5
GROWTH = 0.01
"""Rate from which a motion counts as growing [1/s]."""
POSTURES = 16
MOST_JOINTS = 20


def robots(sources: Iterable[Path]) -> Iterator[Robot]:
    """Return the robots with accelerations and at most `MOST_JOINTS` joints, each content once."""
    found: dict[bytes, Path] = {}
    for source in sources:
        for path in sorted(source.rglob("*.urdf")) if source.is_dir() else [robot_file(source)]:
            found.setdefault(hashlib.sha256(path.read_bytes()).digest(), path)
    for path in found.values():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DescriptionWarning)
            try:
                robot = Robot.from_urdf(path)
                robot.check_accelerations()
            except RobodynError:
                continue
        if 0 < robot.n <= MOST_JOINTS:
            yield robot


class Arm(NamedTuple):
    """A robot in postures, and what a payload adds; each of shape (S, n, n)."""

    inertia: Array
    slope: Array
    load_inertia: Array
    load_slope: Array

    @classmethod
    def of_robot(cls, robot: Robot) -> Arm:
        """Return the robot in random postures."""
        q, batch = sampled_positions(robot)[:POSTURES], robot.dynamics().batch

        def weight(q: Array) -> Array:
            """Gravity efforts of a point mass at the tip, per mass."""
            return -np.einsum("sij,i->sj", batch.jacobian(q)[:, :3], robot.model.gravity)

        lever, room = np.abs(weight(q)), robot.model.effort_limit - np.abs(batch.gravity(q))
        held = (np.maximum(room, 0.0)[lever > 1e-9] / lever[lever > 1e-9]).min(initial=np.inf)
        mass = LOAD_SHARE * min(float(held), sum(joint.inertia.mass for joint in robot.model.joints))
        translation = batch.jacobian(q)[:, :3]
        return cls(batch.mass_matrix(q), differences(batch.gravity, q),
                   mass * np.swapaxes(translation, 1, 2) @ translation, mass * differences(weight, q))


def feedback(law: str, robot: Robot, arm: Arm, lead: float | None = None) -> Array:
    """Return the efforts of a law at rest by positions and velocities, shape (S, n, 2n).

    Args:
        law: One of `LAWS`.
        robot: The robot with its timing.
        arm: The robot in postures.
        lead: Instead of the default one [s].
    """
    friction = None
    if law == "computed_torque":
        own = ComputedTorqueParameters().for_robot(robot)
        p, d, friction, default = own.p, own.d, own.friction, own.lead
    elif law == "pd_gravity":
        gains = PDGravityParameters().for_robot(robot)
        p, d, default = gains.p, gains.d, gains.lead
    else:
        soft = JointImpedanceParameters().for_robot(robot)
        p, d, default = soft.stiffness, soft.damping, soft.lead
    return late_feedback(Postures(arm.inertia, arm.slope), p, d, friction, default if lead is None else lead)


def growth(robot: Robot, arm: Arm, efforts: Array, is_loaded: bool) -> float:
    """Return the greatest rate at which a motion grows [1/s].

    Args:
        robot: The robot with its timing.
        arm: The robot in postures.
        efforts: Of the law, see `feedback`.
        is_loaded: Whether it carries the payload; then only oscillations count.
    """
    period, delay = robot.timing
    inertia, slope = arm.inertia + is_loaded * arm.load_inertia, arm.slope + is_loaded * arm.load_slope
    sampled = sampled_arm(inertia, slope, robot.model.damping, period)
    z = np.linalg.eigvals(delayed_loop(*sampled, efforts, delay)).ravel()
    if is_loaded:
        z = z[(np.abs(z.imag) > 1e-9) | (z.real < 0.0)]
    return float(np.log(np.abs(z).max(initial=1e-300)) / period)


def main() -> None:
    """Print the table for the robots given."""
    parser = argparse.ArgumentParser(prog="python -m bench.default_gains", description=__doc__)
    parser.add_argument("sources", nargs="+", type=Path, metavar="ROBOT_OR_FOLDER", help="URDF file, name or folder")
    count, led, grows, late = 0, Counter[tuple[str, float, int]](), Counter[tuple[str, float, int]](), Counter[str]()
    least = np.inf
    for robot in robots(parser.parse_args().sources):
        arm, count = Arm.of_robot(robot), count + 1
        falls = np.sqrt(max(0.0, -np.linalg.eigvals(np.linalg.solve(arm.inertia, arm.slope)).real.min()))
        for period in PERIODS:
            for delay in DELAYS:
                timed = robot.with_timing(period, delay)
                for law in LAWS:
                    efforts, unled = feedback(law, timed, arm), feedback(law, timed, arm, 0.0)
                    place = law, period, delay
                    led[place] += not np.array_equal(efforts, unled)
                    if any(growth(timed, arm, efforts, loaded) > GROWTH for loaded in (False, True)):
                        grows[place], least = grows[place] + 1, min(least, falls * timed.timing.latency)
                    late[law] += any(growth(timed, arm, unled, loaded) > GROWTH for loaded in (False, True))
    every = count * len(PERIODS) * len(DELAYS)
    print(f"{count} robots, {every} loops of each law")
    print("| law | period | " + " | ".join(f"delay {delay}" for delay in DELAYS) + " |\n" + "| --- " * 6 + "|")
    for law in LAWS:
        for period in PERIODS:
            cells = (f"{led[law, period, delay]}, {grows[law, period, delay]}" for delay in DELAYS)
            print(f"| `{law}` | {1e3 * period:g} ms | {' | '.join(cells)} |")
    for law in LAWS:
        total = sum(grows[law, period, delay] for period in PERIODS for delay in DELAYS)
        print(f"{law}: a motion grows in {late[law]} loops without a lead, in {total} with it")
    print(f"where a motion grows with it, the arm falls at a rate omega with omega (N + 1/2) T of at least {least:.2g}")


if __name__ == "__main__":
    main()
