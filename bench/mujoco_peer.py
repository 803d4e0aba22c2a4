# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The peer MuJoCo: the same robot from the same description, without contacts and joint limits."""

from __future__ import annotations

from typing import Any

import numpy as np

from bench.robots import Pair


class MujocoRobot:
    """A robot in MuJoCo, stepped by its semi-implicit Euler method, which is implicit in damping, as ours is.

    Args:
        pair: The robot.
        step: Time step [s].

    Attributes:
        spec: MuJoCo's specification of the robot.
        model: MuJoCo's model.
        data: Its state and working memory.
    """

    def __init__(self, pair: Pair, step: float) -> None:
        import mujoco

        self.spec: Any = mujoco.MjSpec.from_string(pair.urdf)
        self.edit(self.spec, pair.robot.joint_names)
        self.model: Any = self.spec.compile()
        self.model.opt.timestep = step
        self.model.opt.integrator = mujoco.mjtIntegrator.mjINT_EULER
        for flag in (mujoco.mjtDisableBit.mjDSBL_CONTACT, mujoco.mjtDisableBit.mjDSBL_LIMIT):
            self.model.opt.disableflags |= flag
        self.data: Any = mujoco.MjData(self.model)
        names = [self.model.joint(number).name for number in range(self.model.njnt)]
        names = [name for name in names if name in pair.robot.joint_names]
        if names != list(pair.robot.joint_names):
            raise SystemExit(f"bench: MuJoCo has another order of the joints of '{pair.robot.name}': {names}")

    def edit(self, spec: Any, names: tuple[str, ...]) -> None:
        """Change MuJoCo's specification of the robot, which has joints of these names, before it is compiled."""

    def run(self, q: np.ndarray, v: np.ndarray, effort: np.ndarray, steps: int) -> np.ndarray:
        """Return positions and velocities after the steps under constant efforts, shape (2, n)."""
        import mujoco

        data = self.data
        data.qpos[:], data.qvel[:], data.qfrc_applied[:] = q, v, effort
        mujoco.mj_step(self.model, data, nstep=steps)
        return np.array([data.qpos, data.qvel])
