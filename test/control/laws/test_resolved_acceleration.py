# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Resolved acceleration: the tip's acceleration is the one chosen, postures, singular positions."""

import numpy as np
import pytest
from law_inputs import random_reference
from plant_motion import BENT, follow, heavier, tip_circle, tip_errors
from shipped import REDUNDANT, few

from robodyn_ros import InputError, Robot
from robodyn_ros.control import State, TipReference
from robodyn_ros.control.laws.operational_space import OperationalSpace
from robodyn_ros.control.laws.resolved_acceleration import ResolvedAcceleration
from robodyn_ros.control.laws.task_space import AccelerationParameters, axis_rows, pose_error, task_axes
from robodyn_ros.control.references.reference import SOURCES
from robodyn_ros.control.references.tip_trajectory import TipTrajectory
from robodyn_ros.description.resources import robot_file

ROBOTS = {name: Robot.from_urdf(robot_file(name)) for name in BENT}
LAWS = [ResolvedAcceleration, OperationalSpace]


def wanted(robot, parameters, state, reference):
    """r''* of (6.49) along the robot's axes, and J, J'v there."""
    rows, dynamics = axis_rows(task_axes(robot)), robot.dynamics(False, "textbook")
    jacobian = dynamics.jacobian(state.q)
    error = pose_error(dynamics.forward_kinematics(state.q), reference)
    asked = reference.acceleration + parameters.d * (reference.twist - jacobian @ state.v) + parameters.p * error
    return asked[rows], jacobian[rows], (dynamics.jacobian_derivative(state.q, state.v) @ state.v)[rows]


def bent_state(robot, name):
    return State(0.0, 0.0, np.array(BENT[name]), np.random.default_rng(0).normal(size=robot.n))


@pytest.mark.parametrize("name", few(ROBOTS, REDUNDANT))
@pytest.mark.parametrize("law", LAWS)
def test_the_tip_accelerates_as_chosen(law, name):
    """J a + J' v = r''*, a being what the robot with its friction does under the efforts."""
    robot = ROBOTS[name]
    state, controller = bent_state(robot, name), law(ROBOTS[name], law.Parameters(error_limit=1e6))
    reference = random_reference(robot, TipReference, state)
    controller.activate(state._replace(q=state.q + 0.3))
    effort = controller.update(state, reference)
    a = robot.dynamics().forward_dynamics(state.q, state.v, effort - robot.model.damping * state.v)
    asked, jacobian, drift = wanted(robot, controller.parameters, state, reference)
    np.testing.assert_allclose(jacobian @ a + drift, asked, atol=1e-7 * np.abs(asked).max())


@pytest.mark.parametrize("name", ["planar_2r", "scara", "arm6"])
def test_as_many_joints_as_axes_it_is_6_48(name):
    robot = ROBOTS[name]
    state, controller = bent_state(robot, name), ResolvedAcceleration(robot, AccelerationParameters(error_limit=1e6))
    reference = random_reference(robot, TipReference, state)
    controller.activate(state)
    asked, jacobian, drift = wanted(robot, controller.parameters, state, reference)
    book = robot.dynamics(False, "textbook")
    expected = (book.mass_matrix(state.q) @ np.linalg.inv(jacobian) @ (asked - drift)
                + book.bias(state.q, state.v) + robot.model.damping * state.v)
    np.testing.assert_allclose(controller.update(state, reference), expected, rtol=1e-8, atol=1e-7)


@pytest.mark.parametrize("law", LAWS)
def test_errors_along_every_axis_decay_as_chosen(law):
    """(6.46) for the tip of the six-axis arm: poles at -5 and -12 /s."""
    robot, q = ROBOTS["arm6"], np.array(BENT["arm6"])
    goal = SOURCES[TipReference](robot, q).sample(0.0)
    controller = law(robot, law.Parameters(p=60.0, d=17.0))
    start = q + 1e-3 * np.array([1.0, -1.0, 1.0, 2.0, -1.0, 1.0])
    motion = follow(robot, controller, lambda _: goal, 0.8, start, step=1e-3)
    errors = tip_errors(robot, motion)
    decay = (12.0 * np.exp(-5.0 * motion.time) - 5.0 * np.exp(-12.0 * motion.time)) / 7.0
    np.testing.assert_allclose(errors, decay[:, None] * errors[0], atol=0.01 * np.abs(errors[0]).max())


@pytest.mark.parametrize("name", few(ROBOTS, ("scara",)))
@pytest.mark.parametrize("law", few(LAWS, 1))
def test_it_follows_a_circle(law, name):
    robot, q = ROBOTS[name], np.array(BENT[name])
    for plant, bound in ((robot, 5e-4), (heavier(robot), 0.02)):
        motion = follow(plant, law(robot), tip_circle(robot, q).sample, 2.2, q)
        assert np.abs(tip_errors(robot, motion)).max() < bound


@pytest.mark.parametrize("law", few(LAWS, 1))
def test_joints_that_the_tip_leaves_free_keep_their_posture(law):
    """The seven-axis arm comes back to where it was, and its elbow stays when the tip stays."""
    robot, q = ROBOTS["arm7"], np.array(BENT["arm7"])
    motion = follow(robot, law(robot), tip_circle(robot, q).sample, 4.0, q)
    np.testing.assert_allclose(motion.q[-1], q, atol=1e-3)
    pushed = follow(robot, law(robot), tip_circle(robot, q, duration=1e6).sample, 3.0, q,
                    v=np.linalg.svd(robot.dynamics().jacobian(q))[2][-1])
    assert np.abs(pushed.q - q).max() > 0.01  # the elbow swings
    assert np.abs(tip_errors(robot, pushed)).max() < 1e-3  # the tip stays
    np.testing.assert_allclose(pushed.q[-1], q, atol=2e-3)


@pytest.mark.parametrize("law", few(LAWS, 1))
@pytest.mark.parametrize("name", few(ROBOTS, ("arm7",)))
def test_a_goal_out_of_reach_stretches_the_arm_without_a_blow_up(law, name):
    """Into a singular position and held against it: nothing diverges, and it comes back."""
    robot, q = ROBOTS[name], np.array(BENT[name])
    start = SOURCES[TipReference](robot, q).sample(0.0)
    outwards = start.position * [1.0, 1.0, float("y" not in task_axes(robot))]
    there = TipTrajectory.line(start, 0.0, 3.0, start.position + 1.0 * outwards / np.linalg.norm(outwards))
    back = TipTrajectory.line(there.sample(3.0), 5.0, 3.0, start.position)
    motion = follow(robot, law(robot), lambda t: (there if t < 5.0 else back).sample(t), 10.0, q, step=2e-3)
    assert np.isfinite(motion.q).all()
    errors, distance = tip_errors(robot, motion), slice(2 if robot.n == 2 else 3)
    assert np.linalg.norm(errors[2450, distance]) > 0.1
    assert np.abs(motion.v).max() < 100.0
    assert np.linalg.norm(errors[-1, distance]) < 0.02


@pytest.mark.parametrize("law", few(LAWS, 1))
def test_it_starts_from_an_arm_stretched_out_in_a_line(law):
    """At zero the six-axis arm cannot turn about x at all: a row of J is 0."""
    robot, q = ROBOTS["arm6"], np.zeros(6)
    assert not robot.dynamics().jacobian(q)[3].any()
    goal = SOURCES[TipReference](robot, q).sample(0.0)
    motion = follow(robot, law(robot), lambda _: goal, 0.5, q, step=2e-3)
    np.testing.assert_allclose(motion.q[-1], q, atol=1e-4)
    away = goal._replace(position=goal.position + [-0.05, 0.02, 0.03])
    motion = follow(robot, law(robot), lambda _: away, 3.0, q, step=2e-3)
    assert np.isfinite(motion.q).all() and np.abs(motion.v).max() < 40.0
    assert np.linalg.norm(tip_errors(robot, motion)[-1, :3]) < 0.05  # inwards it finds its way slowly, from 0.062


def test_far_from_its_goal_the_tip_keeps_to_a_speed():
    robot, q = ROBOTS["scara"], np.array(BENT["scara"])
    goal = SOURCES[TipReference](robot, q).sample(0.0)
    controller = ResolvedAcceleration(robot, AccelerationParameters(error_limit=0.02))  # 0.2 m/s
    motion = follow(robot, controller, lambda _: goal, 4.0, q + [0.5, -0.3, 0.0, 0.4])
    speed = [np.linalg.norm((robot.dynamics().jacobian(at) @ v)[:3])
             for at, v in zip(motion.q[::10], motion.v[::10], strict=True)]
    assert 0.19 < max(speed) < 0.205
    assert np.abs(tip_errors(robot, motion)[-1]).max() < 1e-3


@pytest.mark.parametrize("wrong", [{"p": -1.0}, {"d": "1"}, {"error_limit": 0.0}, {"posture_p": np.inf},
                                   {"singularity": 0.0}, {"friction": -1.0},
                                   {"axes": "all"}])
def test_wrong_parameters_are_refused(wrong):
    with pytest.raises(InputError, match=next(iter(wrong))):
        ResolvedAcceleration(ROBOTS["scara"], AccelerationParameters(**wrong))
