# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Time of a plan of the law ``mpc``, and of its longest part, which has to fit into a tick."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

from bench.report import Section
from robodyn_ros import Robot
from robodyn_ros.control import JointReference, State
from robodyn_ros.control.laws.mpc import MPC, MPCParameters
from robodyn_ros.resources import robot_file

PLANS = 200


def rows() -> Iterator[list[str]]:
    """A row for each robot and horizon."""
    for name in ("arm6", "arm7"):
        robot, rng = Robot.from_urdf(robot_file(name)), np.random.default_rng(0)
        for horizon in (10, 20, 40):
            law = MPC(robot.with_timing(0.01), MPCParameters(horizon=horizon, rate=20.0))  # five parts
            times = []
            for _ in range(PLANS):
                state = State(0.0, 0.0, rng.normal(0.0, 0.3, robot.n), rng.normal(0.0, 0.3, robot.n))
                law.activate(state)
                reference = JointReference(*rng.normal(0.0, 0.3, (3, robot.n)))
                begin, parts = time.perf_counter(), []
                for _ in law._planning(state, reference):
                    parts.append(time.perf_counter() - begin)
                    begin = time.perf_counter()
                times.append(parts)
            median = np.median(times, axis=0)
            yield [name, str(horizon), f"{1e3 * median.sum():.2f}", f"{1e3 * median.max():.2f}",
                   f"{1.0 / median.sum():.0f}"]


PREDICTIVE_CONTROL = Section(
    "Plans of the law mpc",
    "Medians of 200 plans from random states, in five parts of which each has to fit into a tick; 60 iterations.",
    ("robot", "steps", "plan [ms]", "longest part [ms]", "plans per second"),
    rows,
)
