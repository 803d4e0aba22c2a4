# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Environments for learned laws, compared with MuJoCo's rollouts and Gymnasium's vector environments of MuJoCo."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from bench.mujoco_peer import MujocoRobot
from bench.report import RATIO_HEAD, Section, ratio_cells
from bench.robots import Pair
from bench.timing import Comparison, compare
from robodyn_ros.simulation.plant import default_position

STEP = 1e-3
"""Step of both simulations, and our control period [s]."""

ROBOTS, PEERS = 2048, 8
"""Robots of our environment and of MuJoCo's rollout; environments of Gymnasium, whose time per step hardly depends on
their number."""

CORES = 2
AIM_GYMNASIUM, AIM_ROLLOUT = 1 / 30, 1 / 4
PUSH = 0.2
"""Effort of each joint at an action of 1 [N m]."""

LONG = 1e9
"""Duration of an episode: none ends while the time is taken [s]."""


def weightless(pair: Pair) -> MujocoRobot:
    """Return the robot in MuJoCo without gravity, so that it stays away from its stops under small efforts."""
    robot = MujocoRobot(pair, STEP)
    robot.model.opt.gravity[:] = 0.0
    return robot


def gymnasium_env(urdf: str, steps: int) -> Any:
    """Return the robot as one of Gymnasium's environments of MuJoCo: efforts in, positions and velocities out.

    Args:
        urdf: The robot.
        steps: MuJoCo's steps for each action.
    """
    import mujoco
    from gymnasium.envs.mujoco import MujocoEnv
    from gymnasium.spaces import Box

    pair = Pair(urdf)
    robot, start = weightless(pair), default_position(pair.robot)

    class Arm(MujocoEnv):  # type: ignore[misc]
        metadata = {"render_modes": ["human", "rgb_array", "depth_array", "rgbd_tuple"]}  # which MujocoEnv asks for

        def __init__(self, file: str) -> None:
            n = robot.model.nv
            super().__init__(file, steps, Box(-np.inf, np.inf, (2 * n,), np.float64))
            self.model, self.data = robot.model, robot.data
            self.action_space = Box(-1.0, 1.0, (n,), np.float32)

        def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
            self.data.qfrc_applied[:] = PUSH * action
            mujoco.mj_step(self.model, self.data, nstep=self.frame_skip)
            mujoco.mj_rnePostConstraint(self.model, self.data)  # as MujocoEnv does for its own simulation
            return self._observed(), -float(np.linalg.norm(self.data.qpos)), False, False, {}

        def reset_model(self) -> np.ndarray:
            self.data.qpos[:], self.data.qvel[:] = start, 0.0
            return self._observed()

        def _observed(self) -> np.ndarray:
            return np.concatenate([self.data.qpos, self.data.qvel])

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "arm.xml"
        file.write_text(robot.spec.to_xml())
        return Arm(str(file))


def ours(pair: Pair, steps: int, robots: int = ROBOTS) -> Any:
    """Return our environment of the same robot, with the same action, observation and reward."""
    from robodyn_ros.learn import RobotEnv

    env = RobotEnv(pair.robot, robots, observations=["q", "v"], action={"kind": "effort", "scale": PUSH},
                   reward=lambda step: -np.sqrt((step.q * step.q).sum(axis=1)), period=STEP, action_period=STEP * steps,
                   quantities={"gravity": [0.0, 0.0, 0.0]}, episode=LONG, threads=CORES)
    env.reset(seed=0)
    return env


def check(pair: Pair, steps: int, peer: Any) -> None:
    """Make sure that both environments see the same after the same actions."""
    env, actions = ours(pair, steps, 1), np.random.default_rng(3).uniform(-1.0, 1.0, (5, 1, pair.robot.n))
    peer.reset(seed=0)
    for action in actions:
        seen, mine = env.step(action), peer.step(np.repeat(action, peer.num_envs, axis=0))
    np.testing.assert_allclose(seen[0][0], mine[0][0], rtol=1e-4, atol=1e-6)  # ours are float32
    np.testing.assert_allclose(seen[1][0], mine[1][0], rtol=1e-6)


def against_gymnasium(vector: str, steps: int, repetitions: int, robots: int = ROBOTS) -> Comparison:
    """Compare the seconds of a step of one robot with those of Gymnasium's ``SyncVectorEnv`` or ``AsyncVectorEnv``."""
    from gymnasium import vector as vectors

    pair = Pair.shipped("arm7")
    count = PEERS if vector == "SyncVectorEnv" else CORES
    peer = getattr(vectors, vector)([partial(gymnasium_env, pair.urdf, steps)] * count)
    try:
        check(pair, steps, peer)
        env, rng = ours(pair, steps, robots), np.random.default_rng(1)
        mine, theirs = (rng.uniform(-1.0, 1.0, (number, pair.robot.n)).astype(np.float32) for number in (robots, count))
        times = compare(_steps(env, mine), _steps(peer, theirs), repetitions)
    finally:
        peer.close()
    return Comparison(times.ours / robots, times.peer / count)


def against_rollout(steps: int, repetitions: int, robots: int = ROBOTS) -> Comparison:
    """Compare with ``mujoco.rollout`` under the same efforts, which makes neither observations nor rewards."""
    import mujoco
    from mujoco import rollout

    pair = Pair.shipped("arm7")
    env, actions = ours(pair, steps, robots), np.random.default_rng(1).uniform(-1.0, 1.0, (robots, pair.robot.n))
    peer = weightless(pair)
    workers = [mujoco.MjData(peer.model) for _ in range(CORES)]
    kind = mujoco.mjtState.mjSTATE_FULLPHYSICS
    states = np.zeros((robots, mujoco.mj_stateSize(peer.model, kind)))
    states[:, 1:8] = default_position(pair.robot)
    control = np.repeat(PUSH * actions[:, None], steps, axis=1)
    with rollout.Rollout(nthread=CORES) as pool:
        def run() -> None:
            after, _ = pool.rollout(peer.model, workers, states, control, nstep=steps,
                                    control_spec=int(mujoco.mjtState.mjSTATE_QFRC_APPLIED))
            states[:] = after[:, -1]

        seen = env.step(actions)[0]
        run()
        np.testing.assert_allclose(states[:, 1:15], seen, rtol=1e-4, atol=1e-6)
        times = compare(_steps(env, actions.astype(np.float32)), run, repetitions)
    return Comparison(times.ours / robots, times.peer / robots)


def _steps(env: Any, actions: np.ndarray) -> Callable[[], object]:
    """Step an environment, back and forth so that no robot becomes fast."""
    signs = iter(np.resize([1.0, -1.0, -1.0, 1.0], 10_000_000).astype(np.float32))
    return lambda: env.step(next(signs) * actions)


def rows(repetitions: int = 11) -> Iterator[list[str]]:
    """Rows for each number of steps of an action, and for each peer."""
    for steps in (1, 20):
        for name, result, aim in (
            ("SyncVectorEnv, one core", against_gymnasium("SyncVectorEnv", steps, repetitions), AIM_GYMNASIUM),
            ("AsyncVectorEnv, two cores", against_gymnasium("AsyncVectorEnv", steps, repetitions), AIM_GYMNASIUM),
            ("mujoco.rollout, two cores", against_rollout(steps, repetitions), AIM_ROLLOUT),
        ):
            rates = [1.0 / np.median(times) for times in (result.ours, result.peer)]
            yield [str(steps), name, *(f"{rate:,.0f}" for rate in rates), *ratio_cells(result, aim)]


LEARN = Section(
    "Environments for learned laws",
    f"`RobotEnv` of {ROBOTS:,} arm7 on two cores, efforts in, positions and velocities out, steps of 1 ms without "
    "gravity; 1 or 20 of them for each action. The peers are the same arm in Gymnasium's `MujocoEnv`, in its "
    f"vector environments of {PEERS} on one core and of {CORES} processes on two, and `mujoco.rollout`, which makes "
    "neither observations nor rewards. Steps of one robot in a second.",
    ("steps of an action", "peer", "ours [1/s]", "peer [1/s]", *RATIO_HEAD),
    rows,
)
