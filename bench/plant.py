# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Steps of the simulated robot, one robot and many, compared with MuJoCo."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

import numpy as np

from bench.mujoco_peer import MujocoRobot
from bench.report import RATIO_HEAD, Section, ratio_cells
from bench.robots import Pair
from bench.timing import Comparison, compare
from robodyn_ros.actuation import MaxwellSlip
from robodyn_ros.compile import compile_function, compile_procedure
from robodyn_ros.compile.program import Repeat
from robodyn_ros.dynamics.forward_dynamics import forward_dynamics
from robodyn_ros.robot import Robot
from robodyn_ros.simulation.commands import Drive
from robodyn_ros.simulation.plant import Plant
from robodyn_ros.simulation.plant_model import PlantModel
from robodyn_ros.simulation.plant_step import step_program

STEP = 0.001
ROBOTS = 10_000
START = np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785])
DAMPING = 2.0


def damped(urdf: str) -> str:
    """Return the description with `DAMPING` as the only friction of each joint."""
    return re.sub("<dynamics [^>]*/>", f"<dynamics damping='{DAMPING}'/>", urdf)


class Batch:
    """Many robots of one kind, stepped together.

    Args:
        robot: The robot.
        steps: Steps in a call.
        model: The simulated model; None: that of the description.
    """

    def __init__(self, robot: Robot, steps: int, model: PlantModel | None = None) -> None:
        self._model, self._steps = PlantModel.from_description(robot.model, STEP) if model is None else model, steps
        step = step_program(self._model, under_efforts=True)
        self.procedure = compile_procedure(step.variables, [Repeat("steps", step.statements)], step.inputs,
                                           ("state.q", "state.v"), name="plant")

    def run(self, q: np.ndarray, v: np.ndarray, effort: np.ndarray, threads: int = 1,
            motor_q: np.ndarray | None = None) -> np.ndarray:
        """Return positions and velocities after the steps under constant efforts: arrays (N, n) in, (N, 2, n) out.

        Motors of elastic joints begin at rest at ``motor_q``, shape (N, m).
        """
        state = self._model.state(q[0], v[0])._replace(q=q, v=v)
        if motor_q is not None:
            state = state._replace(motor_side=state.motor_side._replace(q=motor_q, v=np.zeros_like(motor_q)))
        result = self.procedure.batch(state=state, steps=self._steps, threads=threads, **{"command.effort": effort})
        return np.stack([result["state.q"], result["state.v"]], axis=1)


def one(pair: Pair, steps: int = 1000, repetitions: int = 11) -> Comparison:
    """Check that both sides end in the same state, then compare seconds per step of one robot that falls from rest."""
    plant, peer = Plant(pair.robot, STEP), MujocoRobot(pair, STEP)
    rest, effort = np.zeros(pair.robot.n), pair.robot.dynamics().gravity(START) + 1.0
    drive = Drive(effort, rest, rest)

    def ours(steps: int = steps) -> np.ndarray:
        plant.set_state(START, rest)
        plant.advance(drive, steps)
        return np.array([plant.q, plant.v])

    np.testing.assert_allclose(ours(200), peer.run(START, rest, effort, 200), rtol=0.0, atol=1e-8)
    times = compare(ours, partial(peer.run, START, rest, effort, steps), repetitions)
    return Comparison(times.ours / steps, times.peer / steps)


def bending(pair: Pair, steps: int = 1000, repetitions: int = 11) -> Comparison:
    """Compare seconds per step of a robot whose dry friction bends springs with those of one without dry friction."""
    n = pair.robot.n
    viscous, coulomb, static, stribeck, stiffness, damping = np.outer((DAMPING, 1.0, 1.5, 0.02, 1e5, 100.0), np.ones(n))
    friction = MaxwellSlip(viscous, coulomb, static, stribeck, stiffness, damping)
    plant, peer = Plant(pair.robot, STEP, friction=friction), MujocoRobot(pair, STEP)
    rest, effort = np.zeros(n), pair.robot.dynamics().gravity(START) + 1.0

    def ours() -> None:
        plant.set_state(START, rest)
        plant.advance(Drive(effort, rest, rest), steps)

    times = compare(ours, partial(peer.run, START, rest, effort, steps), repetitions)
    return Comparison(times.ours / steps, times.peer / steps)


def many(pair: Pair, threads: int, robots: int = ROBOTS, steps: int = 500, repetitions: int = 5) -> Comparison:
    """Compare seconds per robot and step of a batch with those of one robot in MuJoCo."""
    batch, peer = Batch(pair.robot, steps), MujocoRobot(pair, STEP)
    rng = np.random.default_rng(0)
    q, v = START + rng.uniform(-0.1, 0.1, (robots, pair.robot.n)), rng.uniform(-0.1, 0.1, (robots, pair.robot.n))
    effort = pair.robot.dynamics().batch.gravity(q)
    found = batch.run(q, v, effort, threads)
    for number in (0, robots // 2, robots - 1):
        np.testing.assert_allclose(found[number], peer.run(q[number], v[number], effort[number], steps), atol=1e-8)
    times = compare(partial(batch.run, q, v, effort, threads), partial(peer.run, q[0], v[0], effort[0], steps),
                    repetitions)
    return Comparison(times.ours / (robots * steps), times.peer / steps)


def rollout(pair: Pair, threads: int, robots: int = 1000, steps: int = 100, repetitions: int = 5) -> Comparison:
    """Compare seconds per robot and step of a batch and of `mujoco.rollout` with equally many threads."""
    from mujoco.rollout import Rollout

    batch, peer = Batch(pair.robot, steps), MujocoRobot(pair, STEP)
    rng, rest = np.random.default_rng(0), np.zeros((robots, pair.robot.n))
    q = START + rng.uniform(-0.1, 0.1, (robots, pair.robot.n))
    import mujoco

    states = []
    for position in q:
        peer.data.qpos[:], peer.data.qvel[:] = position, 0.0
        state = np.zeros(mujoco.mj_stateSize(peer.model, mujoco.mjtState.mjSTATE_FULLPHYSICS))
        mujoco.mj_getState(peer.model, peer.data, state, mujoco.mjtState.mjSTATE_FULLPHYSICS)
        states.append(state)
    data = [mujoco.MjData(peer.model) for _ in range(threads)]
    with Rollout(nthread=threads) as pool:

        def theirs() -> np.ndarray:
            trajectory, _ = pool.rollout(peer.model, data, np.array(states), nstep=steps)
            return trajectory[:, -1]

        found, expected = batch.run(q, rest, rest, threads), theirs()
        np.testing.assert_allclose(found.reshape(robots, -1), expected[:, 1:], atol=1e-8)
        times = compare(partial(batch.run, q, rest, rest, threads), theirs, repetitions)
    return Comparison(times.ours / (robots * steps), times.peer / (robots * steps))


def rows() -> Iterator[list[str]]:
    """One row for one robot, then rows for batches."""
    pair = Pair(damped(Pair.shipped("arm7").urdf))
    single = "`mj_step(nstep=…)`, one robot"
    for what, peer, result, aim in (
            ("one robot", single, one(pair), 1 / 5),
            ("one robot, presliding with four springs a joint", f"{single} without dry friction", bending(pair), 1 / 2),
            (f"{ROBOTS:,} robots, one core", single, many(pair, 1), 1 / 100),
            (f"{ROBOTS:,} robots, two cores", single, many(pair, 2), 1 / 100),
            ("1,000 robots, two cores", "`mujoco.rollout`, 1,000 robots, two threads", rollout(pair, 2), 1 / 5)):
        ours, theirs = (np.median(times) * 1e9 for times in (result.ours, result.peer))
        yield [what, peer, f"{ours:.0f}", f"{theirs:.0f}", *ratio_cells(result, aim)]


def limits() -> str:
    """Return operations of a step, and the time of forward dynamics alone, which every simulation needs."""
    pair = Pair(damped(Pair.shipped("arm7").urdf))
    robot, states = pair.robot, np.random.default_rng(0).uniform(-1.0, 1.0, (3, 1000, pair.robot.n))
    kernel = compile_function(partial(forward_dynamics, robot.model), dict.fromkeys(("q", "v", "tau"), (robot.n,)))
    out = kernel.batch(*states)
    rest, steps = np.zeros(robot.n), 100
    peer_steps = partial(MujocoRobot(pair, STEP).run, START, rest, rest, steps)
    times = compare(partial(kernel.batch, *states, out=out), peer_steps)
    ours, peer = np.median(times.ours) * 1e9 / len(out), np.median(times.peer) * 1e9 / steps
    attempt, *_, commit = Batch(robot, 1).procedure.traced.tapes.values()  # the others run at limits only
    operations = attempt.operation_count + commit.operation_count
    return (f"Arithmetic limits a batch: a step has {operations:,} operations on floating-point numbers. Forward "
            f"dynamics alone has {kernel.tape.operation_count:,} operations and takes {ours:.0f} ns per robot on one "
            f"core, with results in the cache: {kernel.tape.operation_count / ours:.0f} operations per ns. A hundredth "
            f"of a step of MuJoCo is {peer / 100:.0f} ns.")


PLANT = Section(
    "Steps of the simulated robot",
    "arm7 with viscous friction under constant efforts, in a compiled loop: semi-implicit Euler method, implicit in "
    "damping, steps of 1 ms; time per robot and step. Our steps check the limits of positions and efforts; MuJoCo's "
    "have no contacts and no limits to check. \"One robot\" is a `Plant`, which also has brakes and dry friction, "
    "takes voltages and sums energies. A batch runs the step of rollouts, without these.",
    ("ours", "MuJoCo", "ours [ns]", "MuJoCo [ns]", *RATIO_HEAD),
    rows,
    limits=limits,
)
