# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The textbook form of each function of ``Dynamics``; ``robot.dynamics(formulas="textbook")`` runs these.

``dynamics.compiled_formulas`` holds the compiled form of each function under the same name. The table in
docs/dynamics.md pairs the two forms.
"""

from robodyn_ros.textbook.christoffel import robot_coriolis_matrix as coriolis_matrix
from robodyn_ros.textbook.derivatives import forward_dynamics_derivatives, inverse_dynamics_derivatives
from robodyn_ros.textbook.energy import center_of_mass, kinetic_energy, potential_energy
from robodyn_ros.textbook.newton_euler import bias, forward_dynamics, gravity, inverse_dynamics, mass_matrix
from robodyn_ros.textbook.product_of_exponentials import product_of_exponentials as forward_kinematics
from robodyn_ros.textbook.regressor import regressor
from robodyn_ros.textbook.task_space import dynamically_consistent_inverse, task_space_bias, task_space_inertia
from robodyn_ros.textbook.twist_jacobian import twist_jacobian, twist_jacobian_derivative

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
