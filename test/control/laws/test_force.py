# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Hybrid position and force control: decoupled axes, a wall pressed, measured and not."""

import numpy as np
import pytest
from law_inputs import random_reference
from plant_motion import BENT, follow, heavier
from shipped import REDUNDANT, few

from robodyn_ros import InputError, Robot
from robodyn_ros.control import ForceReference, State
from robodyn_ros.control.laws.force import Force, ForceParameters, last_translation
from robodyn_ros.control.laws.task_space import AXES, axis_rows, pose_error, task_axes
from robodyn_ros.control.references.reference import SOURCES
from robodyn_ros.description.resources import robot_file

ROBOTS = {name: Robot.from_urdf(robot_file(name)) for name in BENT}
WALL = 2e4  # stiffness [N/m]


@pytest.mark.parametrize(("name", "axis"), [("planar_2r", "z"), ("scara", "z"), ("arm6", "z"), ("arm7", "z")])
def test_by_default_it_pushes_along_the_last_translation(name, axis):
    assert last_translation(ROBOTS[name]) == axis
    assert Force(ROBOTS[name]).parameters.force_axes == axis


@pytest.mark.parametrize("name", few(ROBOTS, REDUNDANT))
def test_the_tip_accelerates_as_chosen_and_by_the_wrench(name):
    """J a + J' v = r''* + Lambda^-1 S f: the motion's axes by (6.49), those of force by brakes and the wrench."""
    robot = ROBOTS[name]
    controller = Force(robot, ForceParameters(error_limit=1e6))
    state = State(0.0, 0.0, np.array(BENT[name]), np.random.default_rng(0).normal(size=robot.n))
    reference = random_reference(robot, ForceReference, state)
    controller.activate(state)
    parameters, rows, dynamics = controller.parameters, axis_rows(task_axes(robot)), robot.dynamics()
    jacobian = dynamics.jacobian(state.q)
    twist, error = jacobian @ state.v, pose_error(dynamics.forward_kinematics(state.q), reference)
    asked = reference.acceleration + parameters.d * (reference.twist - twist) + parameters.p * error
    pushed = AXES.index(parameters.force_axes)
    asked[pushed] = -parameters.force_d * twist[pushed]
    wrench = np.eye(6)[pushed] * reference.wrench[pushed]
    mobility = jacobian @ np.linalg.solve(dynamics.mass_matrix(state.q), jacobian.T)
    expected = (asked + mobility @ wrench)[rows]
    effort = controller.update(state, reference)
    a = dynamics.forward_dynamics(state.q, state.v, effort - robot.model.damping * state.v)
    found = (jacobian @ a + dynamics.jacobian_derivative(state.q, state.v) @ state.v)[rows]
    np.testing.assert_allclose(found, expected, atol=1e-6 * np.abs(expected).max())


def press(robot, plant, name, force, measured, duration=3.0):
    """Pushes down (or along its last axis) on a wall at the start, while the first axis goes along it by 3 cm."""
    q = np.array(BENT[name])
    start, pose = SOURCES[ForceReference](robot, q).sample(0.0), plant.dynamics().forward_kinematics
    axis = AXES.index(last_translation(robot))
    goal = start._replace(position=start.position + 0.03 * np.eye(3)[0], wrench=-force * np.eye(6)[axis])
    controller = Force(robot)
    exerted = []

    def wall(time, at, v):
        depth = start.position[axis] - pose(at)[axis, 3]
        rate = -(plant.dynamics().jacobian(at) @ v)[axis]
        exerted.append(max(WALL * depth + 200.0 * rate, 0.0) if depth > 0.0 else 0.0)
        return exerted[-1] * np.eye(6)[axis]

    if not measured:
        update = controller.update
        controller.update = lambda state, reference: update(
            state._replace(wrench_tip=np.full(6, np.nan)), reference)
    motion = follow(plant, controller, lambda _: goal, duration, q, push=wall)
    return np.array(exerted), motion, goal, axis


@pytest.mark.parametrize("name", few(ROBOTS, ("scara",)))
def test_with_an_exact_model_the_force_needs_no_sensor(name):
    robot = ROBOTS[name]
    exerted, motion, goal, _ = press(robot, robot, name, 10.0, measured=False)
    friction = robot.model.friction.max()
    assert np.abs(exerted[-500:] - 10.0).max() < 0.2 + 4.0 * friction
    position = robot.dynamics().forward_kinematics(motion.q[-1])[:3, 3]
    assert abs(position[0] - goal.position[0]) < 1e-3 + 2e-3 * friction


@pytest.mark.parametrize("name", few(ROBOTS, ("scara",)))
def test_where_it_is_measured_the_integral_removes_what_the_model_has_wrong(name):
    robot = ROBOTS[name]
    plant = heavier(robot, 0.05)
    without, with_sensor = (press(robot, plant, name, 10.0, measured)[0] for measured in (False, True))
    assert np.abs(with_sensor[-500:] - 10.0).max() < 0.2
    assert np.abs(without[-1] - 10.0) > 2.0 * np.abs(with_sensor[-1] - 10.0)


def test_without_contact_it_moves_at_a_bounded_speed():
    robot, q = ROBOTS["arm7"], np.array(BENT["arm7"])
    goal = SOURCES[ForceReference](robot, q).sample(0.0)._replace(wrench=np.array([0.0, 0.0, 5.0, 0.0, 0.0, 0.0]))
    motion = follow(robot, Force(robot), lambda _: goal, 1.0, q)
    speed = np.array([(robot.dynamics().jacobian(at) @ v)[2] for at, v in zip(motion.q, motion.v, strict=True)])
    assert 0.005 < speed[-1] < 0.1 and (speed > -1e-6).all()


@pytest.mark.parametrize("wrong", [{"force_i": -1.0}, {"force_axes": "rx"}, {"force_axes": "up"}, {"force_d": np.nan},
                                   {"force_i_clamp": "much"}])
def test_wrong_parameters_are_refused(wrong):
    with pytest.raises(InputError, match=r"axes|" + next(iter(wrong))):
        Force(ROBOTS["scara"], ForceParameters(**wrong))
