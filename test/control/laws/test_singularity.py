# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Damping at singular positions: bounds and exactness, odd robots, and motions through singular positions."""

from dataclasses import replace
from functools import lru_cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from law_inputs import as_written, random_reference
from plant_motion import BENT, heavier
from random_robots import urdf_robots
from shipped import few
from urdf_parts import joint, link
from urdf_parts import robot as urdf

from robodyn_ros import Robot
from robodyn_ros.control import ForceReference, JointReference, State, TipReference
from robodyn_ros.control.contract.compiled_law import memory_numbers
from robodyn_ros.control.laws.computed_torque import ComputedTorque
from robodyn_ros.control.laws.force import Force
from robodyn_ros.control.laws.impedance import Impedance
from robodyn_ros.control.laws.operational_space import OperationalSpace
from robodyn_ros.control.laws.resolved_acceleration import ResolvedAcceleration
from robodyn_ros.control.laws.singularity import singularity_damping, singularity_thresholds, solve_damped
from robodyn_ros.control.laws.task_space import axis_rows, by_part, task_axes, task_errors, tip_acceleration
from robodyn_ros.control.laws.task_space_pd import TaskSpacePD
from robodyn_ros.control.references.joint_trajectory import JointTrajectory, Points
from robodyn_ros.description.resources import robot_file
from robodyn_ros.dynamics.task_space import task_space_inertia
from robodyn_ros.simulation.plant_model import PlantModel
from robodyn_ros.simulation.rollout import ClosedLoop
from robodyn_ros.simulation.standard_motion import excursion, tip_references

GAIN = 2.0 / np.sqrt(3.0)  # greatest value of x / (x^2 + mu) for mu = max(0, 1 - s)^2 with s <= x^2
FOLLOWING = (TaskSpacePD, Impedance, ResolvedAcceleration, OperationalSpace)


def damping_and_solution(matrix, thresholds, right):
    damping = singularity_damping(matrix, thresholds)
    return damping, solve_damped(matrix, thresholds, damping, right)


@settings(max_examples=100)
@given(st.integers(0, 10**6), st.integers(1, 6), st.integers(0, 3), st.integers(0, 6), st.integers(-12, 2))
def test_the_damped_inverse_is_bounded_and_exact_away_from_singular_positions(seed, m, more, singular, exponent):
    """Whatever rank J has, |J^T (J J^T + mu S)^-1 b| <= 2/sqrt(3) |S^-1/2 b|, and it is J^+ b where mu is 0."""
    rng = np.random.default_rng(seed)
    jacobian, thresholds = rng.normal(size=(m, m + more)), rng.uniform(0.01, 2.0, m)
    u, values, vt = np.linalg.svd(jacobian, full_matrices=False)
    values[: min(singular, m)] *= 10.0**exponent * rng.integers(0, 2)
    jacobian, right = u @ np.diag(values) @ vt, rng.normal(size=m)
    square = jacobian @ jacobian.T
    damping, solution = damping_and_solution(square, thresholds, right)
    scaled_values = np.linalg.eigvalsh(square / np.sqrt(np.outer(thresholds, thresholds)))
    bound = GAIN * np.linalg.norm(right / np.sqrt(thresholds))
    assert np.linalg.norm(jacobian.T @ solution) <= bound * (1.0 + 1e-6)
    assert 0.0 <= damping <= 1.0
    assert (damping == 0.0) == (1.0 <= 1.0 / np.sum(1.0 / (np.maximum(scaled_values, 0.0) + 1e-3)))
    if damping == 0.0:
        np.testing.assert_allclose(jacobian.T @ solution, np.linalg.pinv(jacobian) @ right, atol=1e-8 * bound)
        np.testing.assert_allclose(solution, task_space_inertia(np.eye(m + more), jacobian) @ right, rtol=1e-6)


@settings(max_examples=30)
@given(st.integers(0, 10**6), st.integers(1, 6))
def test_the_damping_begins_with_a_slope_of_zero(seed, m):
    """Along a line of matrices from a singular one to one far away it ends as the square of the distance does."""
    rng = np.random.default_rng(seed)
    start, far = (factor @ factor.T for factor in (rng.normal(size=(m, m - 1)), rng.normal(size=(m, m + 2))))

    def damping(share):
        return singularity_damping(start + share * far, np.ones(m))

    low, high = 0.0, 1e6
    assert damping(low) > 0.99 and damping(high) == 0.0
    while high - low > 1e-9 * high:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if damping(middle) > 0.0 else (low, middle)
    assert damping(0.99 * low) == pytest.approx(100.0 * damping(0.999 * low), rel=0.1)


@pytest.mark.parametrize("with_inertia", [False, True])
@pytest.mark.parametrize("name", BENT)
def test_shipped_robots_are_not_damped_where_they_can_move_in_all_directions(name, with_inertia):
    robot, rows = Robot.from_urdf(robot_file(name)), axis_rows(task_axes(Robot.from_urdf(robot_file(name))))
    for q, is_singular in ((np.array(BENT[name]), False), (np.zeros(robot.n), True)):
        jacobian = robot.dynamics().jacobian(q)[rows]
        inertia = robot.dynamics().mass_matrix(q) if with_inertia else np.eye(robot.n)
        thresholds = singularity_thresholds(robot, rows, 0.5, with_inertia)
        damping = singularity_damping(jacobian @ np.linalg.solve(inertia, jacobian.T), thresholds)
        assert (damping > 0.5) == is_singular and (damping == 0.0) != is_singular


def test_thresholds_are_those_of_translations_and_of_rotations():
    robot = Robot.named("arm6")
    found = singularity_thresholds(robot, [0, 1, 2, 3, 4, 5], 0.5, False)
    assert len(set(found[:3])) == len(set(found[3:])) == 1 and found[0] != found[3]
    reordered = singularity_thresholds(robot, [3, 0, 1, 2, 4, 5], 0.5, False)
    np.testing.assert_allclose(reordered, found[[3, 0, 1, 2, 4, 5]], rtol=1e-9)


def chain(*kinds_and_axes, length="0.4 0 0.1"):
    """A robot of joints in a row, each given as kind and axis."""
    parts = [link("link0", "")]
    for k, (kind, axis) in enumerate(kinds_and_axes):
        limit = '<limit lower="-3" upper="3" velocity="3" effort="100"/>'
        origin = '<origin xyz="0 0 0.3"/>' if k == 0 else f'<origin xyz="{length}"/>'
        parts += [joint(f"joint{k + 1}", f"link{k}", f"link{k + 1}", kind, axis=axis, limit=limit, origin=origin),
                  link(f"link{k + 1}")]
    tip = joint("at_tip", f"link{len(kinds_and_axes)}", "tip", "fixed", limit="", origin=f'<origin xyz="{length}"/>')
    return Robot.from_urdf_text(urdf(*parts, tip, link("tip", "")))


YAW, PITCH, ROLL = ("revolute", "0 0 1"), ("revolute", "0 1 0"), ("revolute", "1 0 0")
SLIDE_X, SLIDE_Y, SLIDE_Z = ("prismatic", "1 0 0"), ("prismatic", "0 1 0"), ("prismatic", "0 0 1")
ODD_ROBOTS = {
    "yaw and three pitches": (YAW, PITCH, PITCH, PITCH),
    "one joint": (PITCH,),
    "one slide": (SLIDE_Y,),
    "two pitches": (PITCH, PITCH),
    "five joints": (YAW, PITCH, PITCH, PITCH, ROLL),
    "three parallel joints": (YAW, YAW, YAW),
    "five parallel joints": (PITCH,) * 5,
    "gantry": (SLIDE_X, SLIDE_Y, SLIDE_Z),
    "parallel slides": (SLIDE_X, SLIDE_X, PITCH),
    "slide and wrist": (SLIDE_Z, YAW, PITCH, ROLL),
}


@lru_cache
def odd_robot(name):
    return chain(*ODD_ROBOTS[name])


def assert_bounded(robot, law, q, seed=0, **parameters):
    """Efforts are finite; what they ask of the chain is bounded by what the tip is asked, over the thresholds."""
    controller = law(robot, law.Parameters(**parameters))
    state = State(0.3, 0.002, q, np.random.default_rng(seed).normal(size=robot.n))
    reference = random_reference(robot, law.follows, state, seed)
    if law is Force:
        reference = reference._replace(wrench=np.zeros(6))
    controller.activate(state)
    effort, memory = as_written(controller, state, reference, controller.memory)
    assert np.isfinite(effort).all() and np.isfinite(memory_numbers(memory)).all()
    if law is TaskSpacePD:
        return
    given, rows, dynamics = controller.parameters, controller.parameters.rows, robot.dynamics()
    errors = task_errors(dynamics, rows, state, reference)
    jacobian, mass_matrix = errors.jacobian, dynamics.mass_matrix(q)
    chain = ~np.isin(np.arange(robot.n), given.beside)  # the others follow their own reference
    if law is Impedance:
        stiffness = by_part(rows, given.translation, given.rotation)
        damping = given.d + 2.0 * np.sqrt(mass_matrix.diagonal() * (stiffness @ jacobian**2))
        v_d = state.v + (effort - dynamics.gravity(q) - jacobian.T @ (stiffness * errors.pose)) / damping
        size, asked = np.linalg.norm(v_d[chain]), reference.twist[rows]
    else:
        free = -given.posture_d * state.v  # the posture is where the robot is
        a = dynamics.forward_dynamics(q, state.v, effort - given.friction * state.v) - free
        wanted = tip_acceleration(given, errors, reference)
        if law is Force:
            pushes = np.isin(rows, axis_rows(given.force_axes))
            wanted = np.where(pushes, -given.force_d * (jacobian @ state.v), wanted)
        asked = wanted - dynamics.jacobian_derivative(q, state.v)[rows] @ state.v - jacobian @ free
        a *= chain
        size = np.linalg.norm(a) if law is ResolvedAcceleration else np.sqrt(a @ mass_matrix @ a)
    assert size <= GAIN * np.linalg.norm(asked / np.sqrt(given.thresholds)) * (1.0 + 1e-6) + 1e-6


@pytest.mark.parametrize("law", [OperationalSpace, Force])
def test_a_yaw_and_three_pitches_move_at_zero(law):
    """Its default axes are x y z rx, about the last of which it cannot turn at q1 = 0: a row of J is 0."""
    robot = odd_robot("yaw and three pitches")
    controller = law(robot)
    assert controller.parameters.axes == "x y z rx" and not robot.dynamics().jacobian(np.zeros(4))[3].any()
    state = State(0.0, 0.0, np.zeros(4), np.zeros(4))
    reference = random_reference(robot, law.follows, state)
    controller.activate(state)
    effort = controller.update(state, reference)
    assert np.isfinite(effort).all() and np.abs(effort).max() < 1e4
    assert not controller.uncompiled_reason


@pytest.mark.parametrize("law", [*FOLLOWING, Force])
@pytest.mark.parametrize("name", few(ODD_ROBOTS, 4))
def test_odd_robots_at_any_posture(name, law):
    robot = odd_robot(name)
    rng = np.random.default_rng(0)
    for seed in range(12):
        q = rng.uniform(-3.0, 3.0, robot.n)
        assert_bounded(robot, law, rng.choice([0.0, 0.5 * np.pi, -0.5 * np.pi], robot.n) if seed % 2 else q, seed)
    assert_bounded(robot, law, np.zeros(robot.n))
    assert_bounded(robot, law, rng.uniform(-1e-9, 1e-9, robot.n))


@pytest.mark.long
@settings(max_examples=15)
@given(urdf_robots(max_joints=5), st.integers(0, 10**6), st.sampled_from([0.0, 1e-9, 1e-4, 1.0]))
def test_random_trees_at_any_posture(xml, seed, scale):
    robot = Robot.from_urdf_text(xml)
    if not robot.dynamics().jacobian(np.full(robot.n, 0.1)).any():
        return  # no joint moves the tip link, so that no law of the tip accepts this robot
    q = scale * np.random.default_rng(seed).uniform(-3.0, 3.0, robot.n)
    for law in (*FOLLOWING, Force):
        assert_bounded(robot, law, q, seed)


@pytest.mark.parametrize("law", [Impedance, ResolvedAcceleration, OperationalSpace, Force])
def test_axes_that_the_robot_cannot_move_along_give_finite_efforts(law):
    """Of a planar arm, of a gantry's rotations; the default axes leave them out."""
    for robot, axes in ((odd_robot("two pitches"), "x y"), (odd_robot("gantry"), "x y rx")):
        parameters = {"axes": axes} | ({"force_axes": "x"} if law is Force else {})
        for seed in range(5):
            assert_bounded(robot, law, np.random.default_rng(seed).uniform(-2.0, 2.0, robot.n), seed, **parameters)


ARM6 = Robot.from_urdf(robot_file("arm6"))
PASSES = {
    "wrist": ((0.3, -1.0, 1.2, 0.2, 0.0, 0.1), (0.1, 0.1, 0.1, 0.2, 0.4, 0.3)),
    "elbow": ((0.0, -1.0, 0.0, 0.2, 0.9, 0.1), (0.0, 0.1, 0.4, 0.2, 0.0, 0.0)),  # in the plane y = constant
    "shoulder": ((0.3, -2.2550839293549405, 1.2, 0.2, 0.9, 0.1), (0.2, 0.4, 0.1, 0.1, 0.1, 0.1)),
}
"""Singular positions of the six-axis arm, and how far a motion goes through them to either side [rad]."""


def through(name):
    """Slowly through a singular position and back."""
    (middle, reach), rest = np.array(PASSES[name]), np.zeros(6)
    points = Points.from_arrays(np.array([4.0, 8.0]), np.array([middle + reach, middle - reach]))
    return JointTrajectory(JointReference(middle - reach, rest, rest), 0.0, points)


@lru_cache
def closed_loop(law, is_heavier, **parameters):
    robot = heavier(ARM6) if is_heavier else ARM6
    return ClosedLoop(law(ARM6, law.Parameters(**parameters)), PlantModel.from_description(robot.model))


def rolled_out(law, motion, is_heavier, **parameters):
    """Efforts over their limits, shape (ticks, 6), and pose errors along all axes, shape (ticks, 6)."""
    loop = closed_loop(law, is_heavier, **parameters)
    scenario = loop.scenario([motion] if law.follows is JointReference else [], motion.end_time + 0.3,
                             q=motion.sample(0.0).q)
    poses = tip_references(ARM6, motion, scenario.clocks[:, 0])
    if law.follows is TipReference:
        scenario = replace(scenario, references=poses)
    elif law.follows is ForceReference:
        scenario = replace(scenario, references=ForceReference(*poses, np.zeros((len(poses.twist), 6))))
    done = loop.run(scenario)
    tip = ARM6.dynamics().batch.forward_kinematics(done.q)[:, :3, 3]
    return done.effort / ARM6.model.effort_limit, poses.position - tip


@pytest.mark.parametrize("name", PASSES)
def test_the_positions_are_singular(name):
    for share, is_singular in ((0.0, True), (1.0, False)):
        q = np.array(PASSES[name][0]) + share * np.array(PASSES[name][1])
        assert (np.linalg.svd(ARM6.dynamics().jacobian(q), compute_uv=False)[-1] < 1e-9) == is_singular


MOTIONS = [
    *((law, name, is_heavier) for is_heavier in (False, True) for law in FOLLOWING for name in ("comparison", *PASSES)),
    *((Force, name, False) for name in PASSES),  # a wrong weight would carry the tip away along that axis
]


def is_quick(law, name, is_heavier):
    """One law passes the wrist's singular position, another one the elbow's."""
    return not is_heavier and (law, name) in ((OperationalSpace, "wrist"), (ResolvedAcceleration, "elbow"))


@pytest.mark.parametrize(("law", "name", "is_heavier"), [
    pytest.param(*motion, marks=() if is_quick(*motion) else pytest.mark.long) for motion in MOTIONS])
def test_efforts_through_singular_positions_are_those_of_a_joint_law(law, name, is_heavier):
    """At most 1.3 of computed torque's greatest, without steps, and within 15 mm of the path where J is inverted."""
    motion = excursion(ARM6) if name == "comparison" else through(name)
    least = np.abs(rolled_out(ComputedTorque, motion, is_heavier)[0]).max()
    parameters = {"force_axes": "y"} if law is Force and name == "elbow" else {}  # the tip does not move along y
    share, error = rolled_out(law, motion, is_heavier, **parameters)
    assert np.abs(share).max() < 1.3 * least
    assert np.abs(np.diff(share, axis=0)).max() < 0.02
    if law in (ResolvedAcceleration, OperationalSpace):
        assert np.linalg.norm(error, axis=1).max() < 0.015
