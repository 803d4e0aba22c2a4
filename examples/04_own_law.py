# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""A control law of your own, with a parameter: simulate it with two values. No ROS.

In a graph it is swapped in by `robodyn swap my_module:Critical`, and `rate` is a ROS parameter.
"""

from dataclasses import dataclass, replace

import numpy as np

from robodyn_ros import Robot, rollout
from robodyn_ros.control import Array, Dynamics, JointReference, Law, Parameters, State, per_joint
from robodyn_ros.trajectories import excursion


@dataclass(frozen=True, eq=False)
class Rates(Parameters):
    """ROS parameters `Critical.gains.<joint>.rate`."""

    rate: Array = per_joint(10.0, unit="1/s", minimum=0.0, description="Rate at which the error decays")


class Critical(Law[Rates, JointReference, None]):
    """tau = M(q) (a_d + 2 r (v_d - v) + r^2 (q_d - q)) + g(q): critically damped with the rate r.

    The Coriolis torques are left out; a higher rate suppresses them.
    """

    @staticmethod
    def law(dynamics: Dynamics, parameters: Rates, state: State, reference: JointReference) -> Array:
        """Return the efforts, shape (n,) [N m]."""
        rate = parameters.rate
        a = reference.a + 2.0 * rate * (reference.v - state.v) + rate**2 * (reference.q - state.q)
        return dynamics.mass_matrix(state.q) @ a + dynamics.gravity(state.q)


robot = Robot.named("arm6")
law = Critical(robot)
motion = excursion(robot)
for rate in (5.0, 20.0):
    parameters = replace(law.parameters, rate=np.full(robot.n, rate))
    result = rollout(robot, law, motion, parameters=parameters)
    print(f"rate {rate:4.0f}/s: greatest error {1e3 * np.abs(result.error).max():.2f} mrad")
