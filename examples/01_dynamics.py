# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Dynamics of an arm: torques, accelerations, mass matrix; one sample and a hundred thousand. No ROS."""

import numpy as np

from robodyn_ros import Robot

np.set_printoptions(suppress=True, precision=3)
robot = Robot.named("arm7")  # or the path of your URDF
dynamics = robot.dynamics()                  # each function is compiled at its first call

q = np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785])  # joint positions [rad]
v = np.full(robot.n, 0.1)                                     # [rad/s]
a = np.zeros(robot.n)                                         # [rad/s^2]

tau = dynamics.inverse_dynamics(q, v, a)  # [N m]
print("efforts [N m]:      ", tau)
print("and back [rad/s^2]: ", dynamics.forward_dynamics(q, v, tau))
print("gravity alone [N m]:", dynamics.gravity(q))

Q = q + np.random.default_rng(0).uniform(-0.3, 0.3, (100_000, robot.n))
M = dynamics.batch.mass_matrix(Q)
print("mass matrices:      ", M.shape, "least eigenvalue", np.linalg.eigvalsh(M[:1000]).min().round(4))
