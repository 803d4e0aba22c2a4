# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Task-space PD: springs at the tip, stability, offsets, lag."""

import numpy as np
import pytest
from law_inputs import random_reference, random_state
from plant_motion import BENT, follow, tip_circle, tip_errors
from scipy.spatial.transform import Rotation
from shipped import REDUNDANT, few

from robodyn_ros import InputError, Robot
from robodyn_ros.control import TipReference
from robodyn_ros.control.laws.task_space import task_axes
from robodyn_ros.control.laws.task_space_pd import TaskSpacePD, TaskSpacePDParameters
from robodyn_ros.control.references.reference import SOURCES
from robodyn_ros.description.resources import robot_file

ROBOTS = {name: Robot.from_urdf(robot_file(name)) for name in BENT}
SIX = "x y z rx ry rz"


def springs(robot, parameters, q, reference):
    """Energy of springs between tip and reference, along all six axes."""
    pose = robot.dynamics().forward_kinematics(q)
    turn = Rotation.from_quat(reference.quaternion) * Rotation.from_matrix(pose[:3, :3]).inv()
    distance = pose[:3, 3] - reference.position
    return (0.5 * parameters.translation * distance @ distance
            + parameters.rotation * 4.0 * (1.0 - np.cos(turn.magnitude() / 2.0)))


@pytest.mark.parametrize("name", ["arm6", "arm7"])
def test_it_is_6_47_the_slope_of_springs_at_the_tip(name):
    robot = ROBOTS[name]
    controller = TaskSpacePD(robot, TaskSpacePDParameters(translation=300.0, rotation=20.0))
    state = random_state(robot)
    reference = random_reference(robot, TipReference, state)
    parameters, h = controller.parameters, 1e-6
    slope = [(springs(robot, parameters, state.q + step, reference)
              - springs(robot, parameters, state.q - step, reference))
             / (2 * h) for step in h * np.eye(robot.n)]
    expected = -np.array(slope) - parameters.d * state.v + robot.dynamics().gravity(state.q)
    np.testing.assert_allclose(controller.update(state, reference), expected, atol=1e-5)


@pytest.mark.parametrize("name", few(ROBOTS, REDUNDANT))
def test_axes_that_are_left_out_feel_nothing(name):
    robot = ROBOTS[name]
    state = random_state(robot)
    reference = random_reference(robot, TipReference, state)
    first = task_axes(robot).split()[0]
    whole, part = (TaskSpacePD(robot, TaskSpacePDParameters(axes=axes, gravity=False, d=0.0, rotation=0.0))
                   for axes in (task_axes(robot), first))
    error = reference.position - robot.dynamics().forward_kinematics(state.q)[:3, 3]
    jacobian = robot.dynamics().jacobian(state.q)
    np.testing.assert_allclose(part.update(state, reference), part.parameters.translation * error[0] * jacobian[0])
    assert not np.allclose(whole.update(state, reference), part.update(state, reference))


@pytest.mark.parametrize("name", few(ROBOTS, ("arm7",)))
def test_it_reaches_its_goal_and_its_lyapunov_function_falls(name):
    robot = ROBOTS[name]
    q, controller = np.array(BENT[name]), TaskSpacePD(ROBOTS[name])
    goal = SOURCES[TipReference](robot, q).sample(0.0)
    start = q + 0.1 * np.where(np.arange(robot.n) % 2, -1.0, 1.0)
    motion = follow(robot, controller, lambda _: goal, 6.0, start)
    errors = np.abs(tip_errors(robot, motion)[-1])
    held = robot.model.friction.max() / min(controller.parameters.translation, controller.parameters.rotation)
    assert errors[: 3 if robot.n > 2 else 2].max() < 0.01 + 3.0 * held and errors.max() < 0.1 + 3.0 * held
    if robot.n >= 6:
        energy = [springs(robot, controller.parameters, at, goal) + robot.dynamics().kinetic_energy(at, v)
                  for at, v in zip(motion.q[::50], motion.v[::50], strict=True)]
        assert (np.diff(energy) < 1e-9 + 1e-3 * energy[0]).all() and energy[-1] < 0.02 * energy[0]


def test_without_gravity_compensation_the_springs_are_stretched_by_the_weight():
    robot = ROBOTS["planar_2r"]
    q = np.array(BENT["planar_2r"])
    goal = SOURCES[TipReference](robot, q).sample(0.0)
    controller = TaskSpacePD(robot, TaskSpacePDParameters(gravity=False, translation=3000.0))
    motion = follow(robot, controller, lambda _: goal, 4.0, q)
    at_rest, error = motion.q[-1], tip_errors(robot, motion)[-1]
    np.testing.assert_allclose(robot.dynamics().jacobian(at_rest)[[0, 2]].T @ (3000.0 * error),
                               robot.dynamics().gravity(at_rest), atol=0.02)


@pytest.mark.parametrize("name", few(ROBOTS, ("scara",)))
def test_on_a_circle_it_lags_but_comes_back(name):
    robot = ROBOTS[name]
    q = np.array(BENT[name])
    motion = follow(robot, TaskSpacePD(robot), tip_circle(robot, q).sample, 3.5, q)
    errors = np.linalg.norm(tip_errors(robot, motion)[:, : 3 if robot.n > 2 else 2], axis=1)
    assert errors.max() < 0.16 and errors[-1] < 0.02


@pytest.mark.parametrize("wrong", [{"translation": -1.0}, {"rotation": np.nan}, {"d": -1.0}, {"gravity": 1},
                                   {"axes": "x y q"}])
def test_wrong_parameters_are_refused(wrong):
    with pytest.raises(InputError, match=next(iter(wrong))):
        TaskSpacePD(ROBOTS["scara"], TaskSpacePDParameters(**wrong))
