# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The form of each function that ``Dynamics`` compiles; ``textbook.formulas`` has the textbook forms."""

from robodyn_ros.dynamics.coriolis import coriolis_matrix
from robodyn_ros.dynamics.derivatives import forward_dynamics_derivatives, inverse_dynamics_derivatives
from robodyn_ros.dynamics.energy import center_of_mass, kinetic_energy, potential_energy
from robodyn_ros.dynamics.forward_dynamics import forward_dynamics
from robodyn_ros.dynamics.mass_matrix import mass_matrix
from robodyn_ros.dynamics.regressor import regressor
from robodyn_ros.dynamics.second_moment_newton_euler import bias, gravity, inverse_dynamics
from robodyn_ros.dynamics.task_space import dynamically_consistent_inverse, task_space_bias, task_space_inertia
from robodyn_ros.kinematics.forward import forward_kinematics
from robodyn_ros.kinematics.jacobian import twist_jacobian, twist_jacobian_derivative

__all__ = [
    "bias",
    "center_of_mass",
    "coriolis_matrix",
    "dynamically_consistent_inverse",
    "forward_dynamics",
    "forward_dynamics_derivatives",
    "forward_kinematics",
    "gravity",
    "inverse_dynamics",
    "inverse_dynamics_derivatives",
    "kinetic_energy",
    "mass_matrix",
    "potential_energy",
    "regressor",
    "task_space_bias",
    "task_space_inertia",
    "twist_jacobian",
    "twist_jacobian_derivative",
]
