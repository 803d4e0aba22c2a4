# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Closed loops behind the safety filter under a law that tries to break every limit: how many pass one.

`Adversary` reverses full efforts, exerts random ones, drives two joints into a corner of their limits, pushes along the
motion, or uses the model that the filter has. ``python -m bench.safety`` prints a table with the least distance from
each limit, and in brackets the number of loops that passed it. It runs ``--loops`` loops for each of these rows:

- *exact*: each robot of ``--robot`` as its model has it, with each ``--period``; the first one without the filter, too.
- *wrong*: TX40, an arm with the friction and the rotors of real gears. Each one differs from its model in the mass of
  each link, in a payload and in friction, as far as the filter is told (`DECLARED`), and the measurements have noise.
  The loops are spread over `TIMINGS`.

Every loop starts at rest at a random place within the limits; the limits are within those of the robot.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, product
from typing import Any

import numpy as np

from bench.report import line, machine
from robodyn_ros import Robot
from robodyn_ros.base.common_fields import POSITION_NOISE, VELOCITY_NOISE
from robodyn_ros.base.timing import LoopTiming
from robodyn_ros.control.contract.controller import JointReference, Law, State
from robodyn_ros.control.contract.parameters import Parameters
from robodyn_ros.control.default_gains import sampled_positions
from robodyn_ros.control.optimisation.safety_filter import filtered
from robodyn_ros.control.optimisation.safety_limits import manipulability
from robodyn_ros.control.optimisation.safety_parameters import SafetyParameters
from robodyn_ros.simulation.closed_loop import TickInput
from robodyn_ros.simulation.quantities import DELAY, NOISES
from robodyn_ros.simulation.rollout import ClosedLoop

DECLARED = {"safety_mass_error": 0.2, "safety_payload": 2.0, "safety_friction_error": 0.5}
"""What the filter is told of wrong robots: 20 % of each link's mass, the 2 kg that TX40 carries, and half of the effort
limits as friction at full speed."""

TIMINGS = (LoopTiming(0.001, 3), LoopTiming(0.002, 0), LoopTiming(0.002, 1), LoopTiming(0.005, 0), LoopTiming(0.005, 1),
           LoopTiming(0.01, 0))
"""Periods and delays of the loops."""

LIMITS = ("joint positions [rad or m]", "joint velocities [share]", "efforts [share]", "table [m]", "sphere [m]",
          "singularity [share]", "tip speed [share]")
"""Names of the limits of `Limits.room`."""

DURATION, BLOCK = 0.8, 500
"""Length of a loop [s], and loops that are computed at once."""


@dataclass(frozen=True)
class Limits:
    """Limits within those of a robot.

    Attributes:
        robot: The robot.
        positions: Lower and upper, shape (2, n); infinite for a joint without any.
        tip_speed: [m/s].
        table: Least height of the tip [m]; -infinite: any.
        sphere: Centre and radius of a sphere that the tip stays out of [m]; empty: none.
        singularity: Least share of the greatest manipulability; 0: any.
    """

    robot: Robot
    positions: np.ndarray
    tip_speed: float
    table: float = -np.inf
    sphere: tuple[float, ...] = ()
    singularity: float = 0.0

    @classmethod
    def within(cls, robot: Robot) -> Limits:
        """A tenth of the ranges within the limits of the robot, and a third of the speed that its tip can have.

        Where the tip moves up and down, a table is above a tenth of the heights.
        """
        tenth = 0.1 * np.minimum(robot.position_upper - robot.position_lower, 3.0)
        speeds = np.abs(robot.dynamics().batch.jacobian(sampled_positions(robot))[:, :3]) @ robot.velocity_limit
        heights = robot.dynamics().batch.forward_kinematics(sampled_positions(robot))[:, 2, 3]
        table = float(np.quantile(heights, 0.1)) if np.ptp(heights) > 0.3 else -np.inf
        return cls(robot, np.array([robot.position_lower + tenth, robot.position_upper - tenth]),
                   float(np.linalg.norm(speeds, axis=1).max()) / 3.0, table)

    @property
    def parameters(self) -> dict[str, Any]:
        """Of the filter: margins of 1 % of the range, 5 % of the speeds, 0.01 m and 2 % of the manipulability."""
        robot, bounded = self.robot, np.isfinite(self.robot.position_upper - self.robot.position_lower)
        inside = np.where(bounded, self.positions[0] - robot.position_lower, 0.0)
        inside = inside + np.where(bounded, np.minimum(0.01 * (robot.position_upper - robot.position_lower), 0.05), 0.0)
        own: dict[str, Any] = {"safety_margin": inside, "safety_tip_speed": self.tip_speed}
        if np.isfinite(self.table):
            own["safety_planes"] = f"0 0 1 {self.table}"
        if self.sphere:
            own["safety_spheres"] = " ".join(map(str, self.sphere))
        if self.singularity:
            own["safety_singularity"] = self.singularity + 0.02
        return own

    def room_of_tip(self, q: np.ndarray) -> dict[str, np.ndarray]:
        """How far the tip is from its limits, by limit, each of shape (N,); negative beyond."""
        dynamics, found = self.robot.dynamics().batch, dict[str, np.ndarray]()
        tip = dynamics.forward_kinematics(q)[:, :3, 3]
        if np.isfinite(self.table):
            found["table [m]"] = tip[:, 2] - self.table
        if self.sphere:
            found["sphere [m]"] = np.linalg.norm(tip - self.sphere[:3], axis=1) - self.sphere[3]
        if self.singularity:
            jacobians, greatest = dynamics.jacobian(q), _greatest(self.robot)
            shares = np.sqrt(np.maximum(np.linalg.det(jacobians @ np.swapaxes(jacobians, 1, 2)), 0.0)) / greatest
            assert np.isclose(shares[0], manipulability(jacobians[0], tuple(range(self.robot.n))) / greatest)
            found["singularity [share]"] = shares - self.singularity
        return found

    def room(self, q: np.ndarray, v: np.ndarray, effort: np.ndarray) -> dict[str, np.ndarray]:
        """The least distance of loops from each limit, each of shape (N,); negative beyond.

        Args:
            q: Positions at the ticks, shape (N, K, n) [rad or m].
            v: Velocities, likewise [rad/s or m/s].
            effort: Efforts, likewise [N m or N].
        """
        flat, speeds, robot = q.reshape(-1, self.robot.n), v.reshape(-1, self.robot.n), self.robot
        tip = np.linalg.norm(np.einsum("kij,kj->ki", robot.dynamics().batch.jacobian(flat)[:, :3], speeds), axis=1)
        of_tip = self.room_of_tip(flat) | {"tip speed [share]": 1.0 - tip / self.tip_speed}
        return {"joint positions [rad or m]": np.minimum(q - self.positions[0], self.positions[1] - q).min(axis=(1, 2)),
                "joint velocities [share]": (1.0 - np.abs(v) / robot.velocity_limit).min(axis=(1, 2)),
                "efforts [share]": (1.0 - np.abs(effort) / robot.effort_limit).min(axis=(1, 2)),
                **{name: left.reshape(q.shape[:2]).min(axis=1) for name, left in of_tip.items()}}

    def starts(self, rng: np.random.Generator, count: int) -> np.ndarray:
        """Draw positions from which the tip need not return, a twentieth of the ranges within the filter's limits."""
        lower, upper = np.maximum(self.positions[0], -2.0), np.minimum(self.positions[1], 2.0)
        found = np.zeros((0, self.robot.n))
        while len(found) < count:
            q = rng.uniform(lower + 0.05 * (upper - lower), upper - 0.05 * (upper - lower), (8 * count, self.robot.n))
            within = [np.ones(len(q), bool), *(left > 0.05 for left in self.room_of_tip(q).values())]
            found = np.concatenate([found, q[np.logical_and.reduce(within)]])
        return found[:count]


def _greatest(robot: Robot) -> float:
    """The greatest manipulability."""
    return float(SafetyParameters(safety_singularity=0.1).for_robot(robot).safety_manipulability)


def arm6() -> Limits:
    """Limits of arm6 with a table, a sphere, and singular positions."""
    robot = Robot.named("arm6")
    return Limits(robot, np.array([np.full(6, -2.0), np.full(6, 2.0)]), 1.0, 0.1, (0.45, 0.1, 0.4, 0.15), 0.08)


def tx40() -> Limits:
    """Limits of TX40 with a table."""
    return Limits.within(Robot.named("tx40"))


class Adversary(Law[Parameters, JointReference, None]):
    """Full efforts: shares of the limits in ``v``; what else it does with a joint is in ``a``.

    2: the effort acts along the motion of the joint. 1 or -1: all efforts accelerate this joint, by the model, so that
    they come to its limit as fast as the filter lets them and all turn around at once when the sign changes.
    """

    @staticmethod
    def law(dynamics: Any, parameters: Parameters, state: State, reference: JointReference) -> Any:
        """As in `Law`."""
        limit = dynamics.model.effort_limit
        along = reference.a > 1.5
        push = np.where(along, np.sign(state.v) + reference.v, reference.v)
        together = np.linalg.inv(dynamics.mass_matrix(state.q)) @ np.where(along, 0.0, reference.a)
        return np.clip(push + 1e3 * together, -1.0, 1.0) * np.where(np.isfinite(limit), limit, 1e3)


def attacks(rng: np.random.Generator, count: int, ticks: int, period: float, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw ``v`` and ``a`` of the references of `Adversary`, each of shape (count, ticks, n)."""
    kind = rng.integers(5, size=count)
    changes = np.maximum(1, (rng.uniform(0.002, 0.3, count) / period).astype(int))
    pieces = np.arange(ticks) // changes[:, None]
    signs = rng.choice([-1.0, 1.0], (count, ticks, n))
    first = rng.choice([-1.0, 1.0], (count, n))
    v, a = np.zeros((count, ticks, n)), np.zeros((count, ticks, n))
    for place in range(count):
        steps = pieces[place]
        alternating = np.where(steps % 2 == 0, 1.0, -1.0)[:, None] * first[place]
        joints = rng.choice(n, min(n, 2), replace=False)
        match kind[place]:
            case 0:                                             # full efforts reversed
                v[place] = alternating
            case 1:                                             # random
                v[place] = rng.uniform(-1.0, 1.0, (ticks, n))[steps]
            case 2:                                             # corners: two joints to their limits, the others random
                v[place] = signs[place, steps]
                v[place][:, joints] = first[place, joints]
            case 3:                                             # along the motion
                v[place], a[place] = 0.3 * signs[place, steps], 2.0
            case 4:                                             # knows the filter
                a[place][:, joints[0]] = alternating[:, joints[0]]
    return v, a


def wrong_models(limits: Limits, rng: np.random.Generator, count: int) -> dict[str, Any]:
    """Draw what the robots have and the law does not know: friction is Coulomb's and viscous, in any shares."""
    robot, links, n = limits.robot, len(limits.robot.model.joints), limits.robot.n
    mass, most = DECLARED["safety_mass_error"], DECLARED["safety_friction_error"]
    friction, dry = rng.uniform(0.0, most, (count, n)) * robot.effort_limit, rng.uniform(0.0, 1.0, (count, n))
    return {"link.mass_scale": rng.uniform(1.0 - mass, 1.0 + mass, (count, links)),
            "payload.mass": rng.uniform(0.0, DECLARED["safety_payload"], count),
            "friction.coulomb": dry * friction, "friction.viscous": (1.0 - dry) * friction / robot.velocity_limit}


def closed_loops(limits: Limits, count: int, *, is_filtered: bool = True, seed: int = 0, wrong: bool = False
                 ) -> Iterator[dict[str, np.ndarray]]:
    """Simulate closed loops; yields `Limits.room` of one block after the other.

    Args:
        limits: Of the robots, with the timing of their loops.
        count: Number of loops.
        is_filtered: Whether the law has the filter.
        seed: Of the first block; each block has its own.
        wrong: Whether robots differ from the model as declared, and the measurements have noise.
    """
    robot, (period, delay) = limits.robot, limits.robot.timing
    made: Any = filtered(Adversary) if is_filtered else Adversary
    values: Mapping[str, Any] = limits.parameters | (DECLARED if wrong else {}) if is_filtered else {}
    controller: Any = made(robot, made.Parameters(**values))
    varied = tuple(wrong_models(limits, np.random.default_rng(0), 1)) if wrong else ()
    loop = ClosedLoop(controller, None, period, varied=(*varied, *[DELAY] * bool(delay)))
    rest, ticks = np.zeros(robot.n), round(DURATION / period)
    memory = {"loop_state.memory": controller.initial_memory(State(0.0, 0.0, rest, rest))} if is_filtered else {}
    noise = {"position_noise": POSITION_NOISE.default, "velocity_noise": VELOCITY_NOISE.default} if wrong else {}
    procedure = loop.procedure(recorded=True, noisy=wrong, longest_delay=4 * bool(delay))
    middle = 0.5 * (np.maximum(limits.positions[0], -2.0) + np.minimum(limits.positions[1], 2.0))
    for block, begin in enumerate(range(0, count, BLOCK)):
        size, rng = min(BLOCK, count - begin), np.random.default_rng((seed, block))
        start = limits.starts(rng, size)
        references = JointReference(np.tile(middle, (size, ticks, 1)), *attacks(rng, size, ticks, period, robot.n))
        scenario = loop.scenario(duration=ticks * period, q=start[0], seed=block, **noise)
        given: dict[str, Any] = wrong_models(limits, rng, size) if wrong else {}
        given |= dict(zip(NOISES, scenario.deviation, strict=True)) if wrong else {}
        given |= {DELAY: np.full(size, float(delay))} if delay else {}
        motions = procedure.batch(
            state=loop.plant.state(start[0], rest)._replace(q=start), ticks=ticks,
            inputs=TickInput(scenario.clocks, references, scenario.normals if wrong else None),
            parameters=loop.packed(), **memory, **given)["motions"]
        yield limits.room(motions.q, motions.v, motions.effort)


def timed(limits: Limits, timing: LoopTiming) -> Limits:
    """The limits of a robot with another timing of its loop."""
    return Limits(**vars(limits) | {"robot": limits.robot.with_timing(*timing)})


def main() -> None:
    """Print a row for each robot and period: the least distances from the limits, and how many loops passed them."""
    parser = argparse.ArgumentParser(prog="python -m bench.safety", description=__doc__)
    parser.add_argument("--loops", type=int, default=6_000, help="closed loops of each row with the filter")
    parser.add_argument("--seed", type=int, default=0, help="of the robots, starts and attacks")
    parser.add_argument("--only", choices=["exact", "wrong"], help="leave the other kind out")
    parser.add_argument("--robot", nargs="+", default=["arm6"], help="the exact ones: names or URDF files")
    parser.add_argument("--period", nargs="+", type=float, default=[0.002], help="of the exact ones [s]")
    options = parser.parse_args()
    print(f"{machine()}\n\n{line(['loops', *LIMITS])}\n{line(['---'] * (1 + len(LIMITS)))}")
    exact = [] if options.only == "wrong" else options.robot
    for place, (name, period) in enumerate(product(exact, options.period)):
        limits = timed(arm6() if name == "arm6" else Limits.within(Robot.named(name)), LoopTiming(period))
        for is_filtered in (True, False)[: 1 + (place == 0)]:
            count = options.loops if is_filtered else min(options.loops, 500)
            blocks = closed_loops(limits, count, is_filtered=is_filtered, seed=options.seed)
            _print(f"{limits.robot.name}{', no filter' * (not is_filtered)}, {1e3 * period:g} ms", blocks)
    if options.only != "exact":
        _print("wrong TX40", chain.from_iterable(
            closed_loops(timed(tx40(), timing), options.loops // len(TIMINGS), seed=options.seed, wrong=True)
            for timing in TIMINGS))


def _print(name: str, blocks: Iterable[dict[str, np.ndarray]]) -> None:
    rooms = list(blocks)
    distances = {limit: np.concatenate([room[limit] for room in rooms]) for limit in rooms[0]}
    cells = {limit: f"{left.min():.4f}" + f" ({np.count_nonzero(left < 0.0):,})" * bool((left < 0.0).any())
             for limit, left in distances.items()}
    count = len(next(iter(distances.values())))
    print(line([f"{name}: {count:,}", *(cells.get(limit, "") for limit in LIMITS)]), flush=True)


if __name__ == "__main__":
    main()
