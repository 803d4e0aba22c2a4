# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

import numpy as np
import pytest

from bench.wrong_arm import WrongArm, described_arm
from robodyn_ros import InputError, Robot
from robodyn_ros.control.contract.state import State
from robodyn_ros.control.laws.adaptive import nominal_parameters, parameter_names
from robodyn_ros.control.plugins.registry import make_controller
from robodyn_ros.dynamics.pseudo_inertia import pseudo_inertia
from robodyn_ros.dynamics.regressor import with_inertial_parameters
from robodyn_ros.toolbox.identification.adaptive_estimates import consistent_estimates
from robodyn_ros.toolbox.identification.effort_model import random_motions
from robodyn_ros.toolbox.identification.identified_files import urdf_with_inertias

ROBOT = described_arm("planar_2r")


def written(robot, parameters, model):
    """The robot of the URDF that `robodyn identify --adaptive` writes."""
    inertial = with_inertial_parameters(robot.model, parameters[:model.inertial_count])
    return Robot.from_urdf_text(urdf_with_inertias(robot.model, inertial, parameters[model.slots("viscous")],
                                              robot.model.friction))


def test_the_law_starts_from_what_it_had_learnt():
    """Estimates of a law become a URDF, from which the law begins with estimates that need the same efforts."""
    true = WrongArm(ROBOT).robot
    estimates = nominal_parameters(true)
    model, parameters = consistent_estimates(ROBOT, parameter_names(ROBOT), estimates)
    robot = written(ROBOT, parameters, model)
    law = make_controller("adaptive", robot)
    memory = law.initial_memory(State(0.0, 0.002, np.zeros(2), np.zeros(2))).pi
    motions = random_motions(ROBOT, 100)
    rows = ROBOT.dynamics().batch.regressor(*motions)
    wanted = rows @ estimates[:20]
    np.testing.assert_allclose(rows @ memory[:20], wanted, atol=2e-3 * np.abs(wanted).max())
    np.testing.assert_allclose(memory[20:], estimates[20:], rtol=1e-3)


def test_estimates_of_impossible_bodies_become_possible():
    estimates = nominal_parameters(ROBOT)
    estimates[19] *= 0.5  # Izz of the last link, less than its first moment needs
    _, parameters = consistent_estimates(ROBOT, parameter_names(ROBOT), estimates)
    for row in parameters[:20].reshape(-1, 10):
        assert np.linalg.eigvalsh(pseudo_inertia(row)).min() > 0.0


def test_estimates_of_another_robot():
    other = described_arm("scara")
    with pytest.raises(InputError, match="adaptive: expected the 22 estimates of robot 'planar_2r', received 44, among "
                                         "them"):
        consistent_estimates(ROBOT, parameter_names(other), nominal_parameters(other))
    with pytest.raises(InputError, match="adaptive: estimates"):
        consistent_estimates(ROBOT, parameter_names(ROBOT), np.full(22, np.nan))
