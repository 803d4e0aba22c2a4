# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Impedance: what a push does, damping, and that energy only falls."""

import numpy as np
import pytest
from law_inputs import random_reference, random_state
from plant_motion import BENT, follow, heavier, tip_circle, tip_errors
from shipped import few
from test_task_space_pd import springs

from robodyn_ros import InputError, Robot
from robodyn_ros.control import TipReference
from robodyn_ros.control.laws.impedance import Impedance, ImpedanceParameters
from robodyn_ros.control.laws.task_space_pd import TaskSpacePD, TaskSpacePDParameters
from robodyn_ros.control.references.reference import SOURCES
from robodyn_ros.description.resources import robot_file

ROBOTS = {name: Robot.from_urdf(robot_file(name)) for name in BENT}


@pytest.mark.parametrize("name", ["arm6", "arm7"])
def test_it_is_springs_at_the_tip_and_dampers_at_the_joints(name):
    robot = ROBOTS[name]
    controller = Impedance(robot)
    parameters, dynamics = controller.parameters, robot.dynamics()
    state = random_state(robot)._replace(q=np.array(BENT[name]))
    reference = random_reference(robot, TipReference, state)
    resting = TaskSpacePD(robot, TaskSpacePDParameters(
        translation=parameters.translation, rotation=parameters.rotation, d=0.0)).update(state, reference)
    jacobian = dynamics.jacobian(state.q)
    stiffness = np.diag(3 * [parameters.translation] + 3 * [parameters.rotation])
    felt = np.diag(jacobian.T @ stiffness @ jacobian)
    wanted = 2.0 * np.sqrt(np.diag(dynamics.mass_matrix(state.q)) * felt)
    dampers = parameters.d + np.minimum(wanted, parameters.most_damping)
    expected = resting + dampers * (np.linalg.pinv(jacobian) @ reference.twist - state.v)
    np.testing.assert_allclose(controller.update(state, reference), expected, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("name", few(ROBOTS, ("scara",)))
def test_a_steady_push_moves_the_tip_by_force_over_stiffness(name):
    robot, q = ROBOTS[name], np.array(BENT[name])
    goal = SOURCES[TipReference](robot, q).sample(0.0)
    controller = Impedance(robot)
    along = (0, 2) if robot.n == 2 else (0, 1, 2)
    force = np.zeros(6)
    force[list(along)] = 0.02 * controller.parameters.translation * np.array([1.0, -0.5, 0.7])[: len(along)]
    motion = follow(robot, controller, lambda _: goal, 8.0, q, push=lambda *_: force, step=2e-3)
    moved = -tip_errors(robot, motion)[-1][: len(along)]
    stuck = 4.0 * robot.model.friction.max() / controller.parameters.translation
    np.testing.assert_allclose(moved, force[list(along)] / controller.parameters.translation, atol=1e-3 + stuck)


@pytest.mark.parametrize("name", ["arm6", "arm7"])
def test_energy_only_falls_towards_a_resting_goal(name):
    robot, q = ROBOTS[name], np.array(BENT[name])
    goal, controller = SOURCES[TipReference](robot, q).sample(0.0), Impedance(robot)
    motion = follow(robot, controller, lambda _: goal, 4.0, q + 0.1)
    energy = [springs(robot, controller.parameters, at, goal) + robot.dynamics().kinetic_energy(at, v)
              for at, v in zip(motion.q[::20], motion.v[::20], strict=True)]
    assert (np.diff(energy) < 1e-9 + 1e-3 * energy[0]).all() and energy[-1] < 0.02 * energy[0]


@pytest.mark.parametrize("name", few(ROBOTS, ("arm7",)))
def test_it_follows_a_circle_within_its_stiffness(name):
    robot, q = ROBOTS[name], np.array(BENT[name])
    for plant, bound in ((robot, 0.08), (heavier(robot), 0.12)):
        errors = tip_errors(plant, follow(plant, Impedance(robot), tip_circle(robot, q).sample, 4.0, q, step=2e-3))
        assert np.abs(errors[:, : 2 if robot.n == 2 else 3]).max() < bound


@pytest.mark.parametrize("wrong", [{"translation": -1.0}, {"damping_ratio": 3.0}, {"d": np.nan}, {"axes": ""}])
def test_wrong_parameters_are_refused(wrong):
    with pytest.raises(InputError, match=next(iter(wrong))):
        Impedance(ROBOTS["scara"], ImpedanceParameters(**wrong))
