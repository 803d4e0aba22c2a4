# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Time of a tick of the law ``mpc``, compiled: from scratch, and along a motion."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

from bench.report import Section
from robodyn_ros import Robot
from robodyn_ros.control import JointReference, State
from robodyn_ros.control.laws.mpc import MPC, MPCParameters
from robodyn_ros.description.resources import robot_file

TICKS = 500


def rows() -> Iterator[list[str]]:
    """A row for each robot and horizon."""
    for name in ("arm6", "arm7"):
        robot, rng = Robot.from_urdf(robot_file(name)), np.random.default_rng(0)
        for horizon in (3, 5, 8):
            law, rest = MPC(robot, MPCParameters(horizon=horizon)), np.zeros(robot.n)
            q = np.clip(rest, robot.position_lower, robot.position_upper)
            law.update(State(0.0, 0.0, q, rest), JointReference(q, rest, rest))
            times = np.zeros((2, TICKS))
            for k in range(TICKS):
                state = State(0.0, 0.002, q + rng.normal(0.0, 0.01, robot.n), rng.normal(0.0, 0.1, robot.n))
                for kind in range(2):  # the second begins with the bounds that were active
                    if kind == 0:
                        law.activate(state)
                    begin = time.perf_counter()
                    law.update(state, JointReference(q + 0.5, rest, rest))
                    times[kind, k] = time.perf_counter() - begin
            yield [name, str(horizon), *(f"{1e6 * np.median(each):.0f}" for each in times),
                   f"{1e6 * np.quantile(times, 0.99):.0f}"]


PREDICTIVE_CONTROL = Section(
    "Ticks of the law mpc",
    "500 random states beside a goal that jumped by 0.5 rad: the median from scratch and with the bounds of the last "
    "tick, and the 99th percentile of both.",
    ("robot", "steps", "from scratch [us]", "again [us]", "99th percentile [us]"),
    rows,
)
