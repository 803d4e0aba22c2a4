# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""A robot under a controller, in the plainest form: explicit gravity, no friction but the description's, no limits."""

import numpy as np

from robodyn_ros.control import JointReference, State


def simulate(robot, controller, q, q_d, duration, v=None, step=1e-3):
    """Times, positions and velocities, shapes (m,), (m, n), (m, n), held at q_d; efforts within the limits."""
    dynamics, model = robot.dynamics(), robot.model
    q, v, rest = q.copy(), np.zeros(robot.n) if v is None else v.copy(), np.zeros(robot.n)
    reference = None if controller.follows is None else JointReference(q_d, rest, rest)
    rows = []
    for k in range(round(duration / step)):
        rows.append((k * step, q.copy(), v.copy()))
        state = State(k * step, step if k else 0.0, q, v)
        if k == 0:
            controller.activate(state)
        effort = np.clip(controller.update(state, reference), -model.effort_limit, model.effort_limit)
        v = v + step * dynamics.forward_dynamics(q, v, effort - model.damping * v)
        q = q + step * v
    times, positions, velocities = zip(*rows, strict=True)
    return np.array(times), np.array(positions), np.array(velocities)
