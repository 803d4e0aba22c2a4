# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Closed loops of arm6 with a wrong model, a hasty law, and goals beyond the limits: how many pass a limit.

``python -m bench.safety`` runs 10,000 loops with the safety filter and 1,000 without it, ``--loops 1000000`` a million.
Every loop starts at rest at a random place within the limits, and is sent to two random goals, up to 0.5 rad beyond
the limits of the joints. Its robot differs from the law's model in the mass of each link, in a payload and in friction;
the measurements have noise. The filter keeps `MARGINS` from the limits.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from bench.report import line, machine
from robodyn_ros import Robot
from robodyn_ros.common_fields import POSITION_NOISE, VELOCITY_NOISE
from robodyn_ros.control.controller import JointReference, State
from robodyn_ros.control.registry import load_controller
from robodyn_ros.control.safety_filter import SUFFIX, SafetyParameters, manipulability
from robodyn_ros.simulation.closed_loop import TickInput
from robodyn_ros.simulation.quantities import NOISES
from robodyn_ros.simulation.rollout import ClosedLoop

ROBOT = Robot.named("arm6")
LAW = "computed_torque"

RANGE, TABLE, TIP_SPEED, SINGULARITY = 2.0, 0.1, 1.0, 0.08
"""Limits: joint positions of at most 2 rad, tip above 0.1 m, slower than 1 m/s, and manipulability above 8 % of the
greatest."""

SPHERE = (0.45, 0.1, 0.4, 0.15)
"""Sphere that the tip stays out of: centre and radius [m]."""

MARGINS = {"safety_margin": ROBOT.position_upper - RANGE + 0.05, "safety_speed": 0.6, "safety_tip_speed": TIP_SPEED,
           "safety_singularity": SINGULARITY + 0.02, "safety_tip_margin": 0.01,
           "safety_planes": f"0 0 1 {TABLE}", "safety_spheres": " ".join(map(str, SPHERE))}
"""Of the filter: 0.05 rad, 0.4 of the speeds, 0.01 m, and 2 % of the greatest manipulability from the limits."""

GREATEST = float(SafetyParameters(safety_singularity=SINGULARITY).for_robot(ROBOT).safety_manipulability)
"""Manipulability."""

HASTY = {"p": np.full(ROBOT.n, 400.0), "d": np.full(ROBOT.n, 5.0)}
"""Gains that overshoot by two thirds."""

TICKS, BLOCK = 400, 1000
"""Ticks of a loop, 0.8 s, and loops that are computed at once."""


def wrong_models(rng: np.random.Generator, count: int) -> dict[str, Any]:
    """Draw what the robots have and the law does not know."""
    links, n = len(ROBOT.model.joints), ROBOT.n
    return {"link.mass_scale": rng.uniform(0.8, 1.2, (count, links)), "payload.mass": rng.uniform(0.0, 0.2, count),
            "friction.viscous": rng.uniform(0.0, 0.1, (count, n))}


def starts(rng: np.random.Generator, count: int) -> np.ndarray:
    """Draw positions from which the tip need not return, 0.05 rad (m) and more within the filter's limits."""
    found = np.zeros((0, ROBOT.n))
    while len(found) < count:
        q = rng.uniform(0.1 - RANGE, RANGE - 0.1, (8 * count, ROBOT.n))
        within = [left > 0.05 for left in tip_room(q).values()]
        found = np.concatenate([found, q[np.logical_and.reduce(within)]])
    return found[:count]


def tip_room(q: np.ndarray) -> dict[str, np.ndarray]:
    """How far the tip is from its limits, by limit, each of shape (N,); negative beyond."""
    dynamics, joints = ROBOT.dynamics().batch, tuple(range(ROBOT.n))
    tip, jacobians = dynamics.forward_kinematics(q)[:, :3, 3], dynamics.jacobian(q)
    shares = np.sqrt(np.maximum(np.linalg.det(jacobians @ np.swapaxes(jacobians, 1, 2)), 0.0)) / GREATEST
    assert np.isclose(shares[0], manipulability(jacobians[0], joints) / GREATEST)
    return {"table [m]": tip[:, 2] - TABLE,
            "sphere [m]": np.linalg.norm(tip - SPHERE[:3], axis=1) - SPHERE[3],
            "singularity [share]": shares - SINGULARITY}


def room(q: np.ndarray, v: np.ndarray, effort: np.ndarray) -> dict[str, np.ndarray]:
    """The least distance of loops from each limit, each of shape (N,); negative beyond.

    Args:
        q: Positions at the ticks, shape (N, K, n) [rad].
        v: Velocities, likewise [rad/s].
        effort: Efforts, likewise [N m].
    """
    flat, speeds = q.reshape(-1, ROBOT.n), v.reshape(-1, ROBOT.n)
    tip_speed = np.linalg.norm(np.einsum("kij,kj->ki", ROBOT.dynamics().batch.jacobian(flat)[:, :3], speeds), axis=1)
    of_tip = tip_room(flat) | {"tip speed [m/s]": TIP_SPEED - tip_speed}
    return {"joint positions [rad]": (RANGE - np.abs(q)).min(axis=(1, 2)),
            "joint velocities [share]": (1.0 - np.abs(v) / ROBOT.velocity_limit).min(axis=(1, 2)),
            "efforts [share]": (1.0 - np.abs(effort) / ROBOT.effort_limit).min(axis=(1, 2)),
            **{name: left.reshape(q.shape[:2]).min(axis=1) for name, left in of_tip.items()}}


def closed_loops(count: int, is_filtered: bool, seed: int = 0) -> Iterator[dict[str, np.ndarray]]:
    """Simulate closed loops; yields `room` of one block after the other.

    Args:
        count: Number of loops.
        is_filtered: Whether the law has the filter.
        seed: Of the first block; each block has its own.
    """
    name = LAW + SUFFIX * is_filtered
    made = load_controller(name)
    own: Mapping[str, Any] = HASTY | (MARGINS if is_filtered else {})
    law: Any = made(ROBOT, made.Parameters(**own))
    loop = ClosedLoop(law, varied=tuple(wrong_models(np.random.default_rng(0), 1)))
    rest = np.zeros(ROBOT.n)
    memory: dict[str, Any] = {"carry.memory": law.initial_memory(State(0.0, 0.0, rest, rest))} if is_filtered else {}
    for block, begin in enumerate(range(0, count, BLOCK)):
        size, rng = min(BLOCK, count - begin), np.random.default_rng((seed, block))
        start, beyond = starts(rng, size), RANGE + 0.5
        goals = np.repeat(rng.uniform(-beyond, beyond, (size, 2, ROBOT.n)), TICKS // 2, axis=1)
        scenario = loop.scenario(duration=TICKS * loop.period, q=start[0], seed=block,
                                 position_noise=POSITION_NOISE.default, velocity_noise=VELOCITY_NOISE.default)
        still = np.zeros_like(goals)
        given = TickInput(scenario.clocks, JointReference(goals, still, still), scenario.normals)
        noise: dict[str, Any] = dict(zip(NOISES, scenario.deviation, strict=True))
        motions = loop.procedure(recorded=True, noisy=True).batch(
            state=loop.plant.state(start[0], rest)._replace(q=start), ticks=TICKS, inputs=given,
            parameters=loop.packed(), **memory, **wrong_models(rng, size), **noise)["motions"]
        yield room(motions.q, motions.v, motions.effort)


def table(count: int, is_filtered: bool, seed: int = 0) -> Iterator[list[str]]:
    """Rows of the limits: how many loops passed one, and the least distance from it."""
    blocks = list(closed_loops(count, is_filtered, seed))
    for name in blocks[0]:
        left = np.concatenate([block[name] for block in blocks])
        yield [name, f"{np.count_nonzero(left < 0.0):,} of {len(left):,}", f"{left.min():.4f}"]


def main() -> None:
    """Print the table with the filter, and without it."""
    parser = argparse.ArgumentParser(prog="python -m bench.safety", description=__doc__)
    parser.add_argument("--loops", type=int, default=10_000, help="closed loops with the filter")
    parser.add_argument("--seed", type=int, default=0, help="of the robots, starts and goals")
    options = parser.parse_args()
    print(machine())
    for count, is_filtered in ((options.loops, True), (min(options.loops, 1000), False)):
        began = time.monotonic()
        print(f"\n{LAW + SUFFIX * is_filtered}, {count:,} closed loops of {TICKS} ticks:\n")
        print(line(["limit", "loops that passed it", "least distance"]))
        print(line(["---"] * 3))
        for row in table(count, is_filtered, options.seed):
            print(line(row), flush=True)
        print(f"\n{time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
