# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Closed loops under computed torque, one robot and many, compared with Python loops over MuJoCo and Pinocchio."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import ClassVar

import numpy as np

from bench.mujoco_peer import MujocoRobot
from bench.plant import START, STEP, damped
from bench.report import RATIO_HEAD, Section, ratio_cells
from bench.robots import Pair
from bench.timing import Comparison, compare
from robodyn_ros.control.contract.controller import JointReference
from robodyn_ros.control.laws.computed_torque import ComputedTorque, ComputedTorqueParameters
from robodyn_ros.simulation.plant_model import PlantModel
from robodyn_ros.simulation.rollout import ClosedLoop
from robodyn_ros.simulation.scenario import Scenario

ROBOTS = 10_000
DURATION = 10.0
P, D = 400.0, 40.0
"""Gains [1/s^2, 1/s]."""


class Swing:
    """Reference that swings all joints to and fro, from rest.

    Attributes:
        kind: Class of the references.
        start_time: Time at which it begins [s].
        end_time: Time at which it ends [s].
    """

    kind: ClassVar[type] = JointReference
    start_time, end_time = 0.0, np.inf
    _amplitude, _rate = 0.2, 2.0

    def sample(self, time: float) -> JointReference:
        """Return the reference at a time [s]."""
        phase, one = self._rate * time, np.ones(len(START))
        return JointReference(START + self._amplitude * (1.0 - np.cos(phase)) * one,
                              self._amplitude * self._rate * np.sin(phase) * one,
                              self._amplitude * self._rate**2 * np.cos(phase) * one)

    def delayed(self, delay: float) -> Swing:
        """Not needed here."""
        raise NotImplementedError

    def joined(self, start: JointReference, start_time: float) -> Swing:
        """Not needed here."""
        raise NotImplementedError


class PeerLoop:
    """The same closed loop in plain Python: Pinocchio computes the law, MuJoCo moves the robot.

    Args:
        pair: The robot.
        scenario: Start and references. The loop reads the references and does not compute them, in the peers' favour.
    """

    def __init__(self, pair: Pair, scenario: Scenario) -> None:
        self._pair, self._robot = pair, MujocoRobot(pair, STEP)
        self._rows = list(zip(*scenario.references, strict=True))
        self._start = scenario.q
        self._friction, self._limit = pair.robot.model.damping, pair.robot.model.effort_limit

    def run(self, p: float = P, d: float = D) -> np.ndarray:
        """Return positions and velocities at the end, shape (2, n)."""
        import mujoco
        import pinocchio as pin

        pin_model, pin_data, model, data = self._pair.model, self._pair.data, self._robot.model, self._robot.data
        friction, limit = self._friction, self._limit
        data.qpos[:], data.qvel[:] = self._start, 0.0
        for q_d, v_d, a_d in self._rows:
            q, v = data.qpos, data.qvel
            a = a_d + d * (v_d - v) + p * (q_d - q)
            effort = pin.rnea(pin_model, pin_data, q, v, a) + friction * v
            data.qfrc_applied[:] = np.clip(effort, -limit, limit)
            mujoco.mj_step(model, data)
        return np.array([data.qpos, data.qvel])


def prepared(duration: float) -> tuple[Pair, ClosedLoop, Scenario]:
    """Return the robot, our compiled loop, and its scenario."""
    pair = Pair(damped(Pair.shipped("arm7").urdf))
    law = ComputedTorque(pair.robot, ComputedTorqueParameters(p=np.full(7, P), d=np.full(7, D)).for_robot(pair.robot))
    loop = ClosedLoop(law, PlantModel.from_description(pair.robot.model, STEP), STEP)
    return pair, loop, loop.scenario([Swing()], duration, q=START)


def one(duration: float = DURATION, repetitions: int = 7) -> Comparison:
    """Check that both loops end in the same state, then compare the seconds of one rollout."""
    pair, loop, scenario = prepared(duration)
    peer = PeerLoop(pair, scenario)
    score = loop.run(scenario).score
    np.testing.assert_allclose([score.q, score.v], peer.run(), rtol=0.0, atol=1e-8)
    gains = loop.packed()[None]
    found = loop.scores(scenario, gains)
    np.testing.assert_allclose([found.q[0], found.v[0]], [score.q, score.v], rtol=0.0, atol=1e-8)
    return compare(partial(loop.scores, scenario, gains), peer.run, repetitions)


def many(threads: int, duration: float = DURATION, robots: int = ROBOTS, repetitions: int = 3) -> Comparison:
    """Compare the seconds per robot of a batch with different gains with the seconds of the peers' loop."""
    pair, loop, scenario = prepared(duration)
    peer = PeerLoop(pair, scenario)
    p = np.geomspace(100.0, 1600.0, robots)
    gains = np.array([loop.packed()] * robots)
    gains[:, :7], gains[:, 7:14] = p[:, None], 2.0 * np.sqrt(p)[:, None]
    found = loop.scores(loop.scenario([Swing()], 0.1, q=START), gains)
    short = PeerLoop(pair, loop.scenario([Swing()], 0.1, q=START))
    for number in (0, robots // 2, robots - 1):
        expected = short.run(p[number], 2.0 * np.sqrt(p[number]))
        np.testing.assert_allclose([found.q[number], found.v[number]], expected, rtol=0.0, atol=1e-8)
    times = compare(partial(loop.scores, scenario, gains, threads=threads), peer.run, repetitions)
    return Comparison(times.ours / robots, times.peer)


def rows() -> Iterator[list[str]]:
    """One row for one robot, then rows for batches."""
    for what, result, aim in (("one robot", one(), 1 / 20),
                              (f"{ROBOTS:,} robots with different gains, one core", many(1), 1 / 100),
                              (f"{ROBOTS:,} robots with different gains, two cores", many(2), 1 / 100)):
        ours, theirs = (np.median(times) * 1e3 for times in (result.ours, result.peer))
        yield [what, f"{ours:.3g}", f"{theirs:.3g}", *ratio_cells(result, aim)]


def limits() -> str:
    """Return the number of operations of a tick."""
    _, loop, _ = prepared(0.01)
    tapes = loop.procedure(recorded=False, noisy=False).traced.tapes
    attempt, *_, commit = tapes.values()  # the others run at limits only
    operations = attempt.operation_count + commit.operation_count
    return (f"Arithmetic limits these times, as for the plant's steps: a tick of law and plant has {operations:,} "
            "operations on floating-point numbers.")


CLOSED_LOOP = Section(
    "Closed loops",
    f"arm7 under computed torque, {DURATION:g} s simulated with steps and control periods of 1 ms, compared with a "
    "Python loop over `pin.rnea` and `mujoco.mj_step`; time per robot. Our loop also sums errors and efforts; neither "
    "loop records the motion.",
    ("", "ours [ms]", "Python loop [ms]", *RATIO_HEAD),
    rows,
    limits=limits,
)
