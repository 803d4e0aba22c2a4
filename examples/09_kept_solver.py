# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""A law that keeps a solver of another package, daqp, between its ticks; beside the same law compiled, and their cost.

Needs daqp (pip install daqp). No ROS. A `Controller` runs as Python code; `activate` makes the solver, which begins
each tick where the last one ended. With `qp.solve` the law is a `Law`, and machine code.
"""

from dataclasses import dataclass
from time import perf_counter

import daqp
import numpy as np

from robodyn_ros import Robot, rollout
from robodyn_ros.control import Array, Controller, Dynamics, JointReference, Law, Parameters, State, derived, qp
from robodyn_ros.trajectories import excursion


def wanted(state: State, reference: JointReference) -> Array:
    """The accelerations of computed torque."""
    return reference.a + 40.0 * (reference.v - state.v) + 400.0 * (reference.q - state.q)


class KeptSolver(Controller):
    """The accelerations nearest to the wanted ones whose efforts are within half of the limits, by daqp."""

    def activate(self, state: State) -> None:
        """Begin from scratch."""
        n = self.robot.n
        self.most = 0.5 * self.robot.effort_limit
        self.solver = daqp.Model()
        self.solver.setup(np.eye(n), np.zeros(n), self.dynamics.mass_matrix(state.q), self.most, -self.most)

    def update(self, state: State, reference: JointReference) -> Array:
        """Return the efforts, shape (n,) [N m]."""
        mass, bias = self.dynamics.mass_matrix(state.q), self.dynamics.bias(state.q, state.v)
        self.solver.update(f=-wanted(state, reference), A=mass, bupper=self.most - bias, blower=-self.most - bias)
        a, _, flag, _ = self.solver.solve()
        if flag < 1:  # the safe controller takes over
            raise RuntimeError(f"daqp found no efforts within the limits, flag {flag}")
        return np.clip(mass @ a + bias, -self.most, self.most)


@dataclass(frozen=True, eq=False)
class Limits(Parameters):
    """Half of the effort limits."""

    most: Array = derived(lambda robot, _: 0.5 * robot.effort_limit)


class Compiled(Law[Limits, JointReference, Array]):
    """The same by `qp.solve`; its memory are the multipliers of the last tick."""

    def initial_memory(self, state: State) -> Array:
        """No row holds with equality yet."""
        return np.zeros(2 * self.robot.n)

    @staticmethod
    def law(dynamics: Dynamics, parameters: Limits, state: State, reference: JointReference,
            memory: Array) -> tuple[Array, Array]:
        """Return the efforts, shape (n,) [N m], and the multipliers."""
        mass, bias, most = dynamics.mass_matrix(state.q), dynamics.bias(state.q, state.v), parameters.most
        found = qp.solve(np.eye(len(bias)), -wanted(state, reference), mass, -most - bias, most - bias, warm=memory)
        return np.clip(mass @ found.x + bias, -most, most), found.multipliers


robot = Robot.named("arm6")
motion = excursion(robot)
start = motion.sample(0.0)
efforts = {}
for law in (KeptSolver(robot), Compiled(robot)):
    name = type(law).__name__
    efforts[name] = rollout(robot, law, motion).effort
    state = State(0.0, robot.timing.period, start.q + 0.1, start.v)  # where limits hold some efforts back
    law.activate(state)
    ticks = []
    for _ in range(2000):
        begin = perf_counter()
        law.update(state, start)
        ticks.append(perf_counter() - begin)
    print(f"{name}: {1e6 * np.median(ticks):.1f} us a tick")
difference = np.abs(efforts["KeptSolver"] - efforts["Compiled"]).max()
print(f"greatest difference of their efforts: {difference:.1e} N m")
