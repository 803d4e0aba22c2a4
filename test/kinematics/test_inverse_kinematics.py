# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

import re

import numpy as np
import pytest
from hypothesis import given, settings
from pin_reference import SHIPPED, PinReference
from random_robots import urdf_robots

from robodyn_ros import Robot
from robodyn_ros.base.errors import InputError
from robodyn_ros.description.denavit_hartenberg import DHRow, DHTable, load_dh
from robodyn_ros.description.model import Frame, Inertia, Limits
from robodyn_ros.description.resources import robot_file
from robodyn_ros.kinematics.inverse_kinematics import POSITION, inverse_kinematics
from robodyn_ros.textbook.homogeneous import translation_transform
from robodyn_ros.textbook.planar_2r import planar_2r_inverse_kinematics

TOLERANCE = 1e-8
BODY = Inertia(1.0, np.zeros(3), 0.01 * np.eye(3))


@pytest.fixture(scope="module")
def robots():
    return {name: Robot.from_urdf(robot_file(name)) for name in ("planar_2r", "scara", "arm6", "arm7")}


def random_positions(robot, count, seed=1):
    lower = np.where(np.isfinite(robot.model.position_lower), robot.model.position_lower, -np.pi)
    upper = np.where(np.isfinite(robot.model.position_upper), robot.model.position_upper, np.pi)
    return np.random.default_rng(seed).uniform(lower, upper, (count, robot.n))


def within_limits(robot, q):
    return (robot.model.position_lower <= q).all() and (q <= robot.model.position_upper).all()


def solve(robot, target, q_start=None, **options):
    return inverse_kinematics(robot.model, robot.dynamics(), target, q_start, **options)


@pytest.mark.parametrize("name", ["arm6", "arm7"])
def test_random_reachable_poses_are_reached_within_the_limits(robots, name):
    robot = robots[name]
    solved = 0
    for q in random_positions(robot, 200):
        target = robot.dynamics().forward_kinematics(q)
        result = solve(robot, target)
        if result.success:
            solved += 1
            assert within_limits(robot, result.q)
            assert (result.position_error, result.orientation_error) <= (TOLERANCE, TOLERANCE)
            np.testing.assert_allclose(robot.dynamics().forward_kinematics(result.q), target, atol=2 * TOLERANCE)
    assert solved >= 0.99 * 200


@SHIPPED
def test_pinocchio_finds_the_hand_of_shipped_robots_there(robots, name):
    """Where each robot can be: at poses of positions within its limits, as Pinocchio computes them."""
    reference, robot = PinReference(name), robots[name]
    for q in random_positions(robot, 5, seed=2):
        target = reference.forward_kinematics(q, robot.tip_link)
        result = solve(robot, target, q + 0.02)
        assert result.success
        reached = reference.forward_kinematics(result.q, robot.tip_link)
        np.testing.assert_allclose(reached, target, atol=2 * TOLERANCE)


@pytest.mark.parametrize(
    ("name", "rows"),
    [
        ("planar_2r", (1, 0, 1, 0, 0, 0)),
        ("scara", (1, 1, 1, 0, 0, 1)),
        ("arm6", POSITION),
        ("arm6", (1, 1, 1, 1, 1, 0)),  # free to turn about the tool's z axis
        ("arm7", (0, 0, 0, 1, 1, 1)),
    ],
)
def test_rows_that_do_not_count_are_left_free(robots, name, rows):
    robot = robots[name]
    for q in random_positions(robot, 20):
        target = robot.dynamics().forward_kinematics(q)
        result = solve(robot, target, rows=rows)
        assert result.success
        reached = robot.dynamics().forward_kinematics(result.q)
        moved = reached[:3, 3] - target[:3, 3]
        assert np.abs(moved[np.array(rows[:3], bool)]).max(initial=0.0) < 2 * TOLERANCE
        if rows == (1, 1, 1, 1, 1, 0):
            np.testing.assert_allclose(reached[:3, 2], target[:3, 2], atol=2 * TOLERANCE)


def test_a_position_alone_may_be_the_target(robots):
    result = solve(robots["arm6"], [0.3, 0.2, 0.5])
    assert result.success
    np.testing.assert_allclose(
        robots["arm6"].dynamics().forward_kinematics(result.q)[:3, 3], [0.3, 0.2, 0.5], atol=TOLERANCE
    )


def test_it_finds_the_elbow_of_the_closed_form_that_is_nearer_to_the_start():  # (1.24)
    rows = (DHRow(0, 0, 0, 0, inertia=BODY), DHRow(0.5, 0, 0, 0, inertia=BODY))
    hand = Frame("hand", 1, translation_transform(0.3, 0, 0))
    robot = Robot(load_dh(DHTable(rows, frames=(hand,), tip_link="hand")))
    position = np.array([0.2, 0.6])
    for elbow in planar_2r_inverse_kinematics(position, 0.5, 0.3):
        result = solve(robot, [*position, 0.0], elbow + 0.2, rows=(1, 1, 0, 0, 0, 0))
        assert result.success
        assert result.attempts == 1
        np.testing.assert_allclose(result.q, elbow, atol=1e-7)


def test_from_nearby_it_converges_as_newton_does(robots):
    robot = robots["arm6"]
    q = np.array([0.3, -1.2, 1.5, 0.4, 0.9, -0.2])
    result = solve(robot, robot.dynamics().forward_kinematics(q), q + 0.05)
    assert result.success
    assert result.iterations <= 5
    np.testing.assert_allclose(result.q, q, atol=1e-7)


@pytest.mark.parametrize("step", [0.5, 0.1])
def test_the_books_k_slows_it_down_to_the_same_solution(robots, step):  # step 3
    robot = robots["arm6"]
    q = np.array([0.3, -1.2, 1.5, 0.4, 0.9, -0.2])
    target = robot.dynamics().forward_kinematics(q)
    whole, part = solve(robot, target, q + 0.05), solve(robot, target, q + 0.05, step=step)
    assert part.success
    assert part.iterations > 2 * whole.iterations
    np.testing.assert_allclose(part.q, q, atol=1e-7)


@pytest.mark.parametrize("name", ["arm6", "arm7"])
def test_singular_targets_and_starts_do_no_harm(robots, name):
    robot = robots[name]
    stretched = np.clip(np.zeros(robot.n), robot.model.position_lower, robot.model.position_upper)
    target = robot.dynamics().forward_kinematics(stretched)
    assert solve(robot, target, stretched + 0.3).success
    elsewhere = robot.dynamics().forward_kinematics(random_positions(robot, 1)[0])
    assert solve(robot, elsewhere, stretched).success


def test_solutions_are_the_turn_nearest_to_the_start(robots):
    robot = robots["planar_2r"]
    q = np.array([7.0, -1.0])
    result = solve(robot, robot.dynamics().forward_kinematics(q), q + 0.1, rows=(1, 0, 1, 0, 0, 0))
    np.testing.assert_allclose(result.q, q, atol=1e-6)


def test_joints_that_do_not_move_the_link_stay(robots):
    robot = robots["arm7"]
    start = np.array([0.5, -0.5, 0.4, -1.5, 0.3, 1.2, 0.7])
    target = robot.dynamics().forward_kinematics(random_positions(robot, 1)[0], "link4")
    result = solve(robot, target[:3, 3], start, link="link4")
    assert result.success
    np.testing.assert_array_equal(result.q[4:], start[4:])
    too_far = solve(robot, [0.0, 0.0, 0.2], start, link="link4", restarts=5)  # starts anew, from other positions
    assert too_far.attempts == 6
    np.testing.assert_array_equal(too_far.q[4:], start[4:])


def test_the_same_seed_gives_the_same_result(robots):
    robot = robots["arm6"]
    target = robot.dynamics().forward_kinematics(random_positions(robot, 1, seed=5)[0])
    first, second = solve(robot, target), solve(robot, target)
    np.testing.assert_array_equal(first.q, second.q)


@settings(deadline=None, max_examples=7)
@given(urdf_robots(max_joints=6))
def test_random_robots_reach_where_they_have_been(xml):
    robot = Robot.from_urdf_text(xml)
    textbook = robot.dynamics(False, "textbook")
    target = textbook.forward_kinematics(random_positions(robot, 1)[0])
    result = inverse_kinematics(robot.model, textbook, target, position_tolerance=1e-6, orientation_tolerance=1e-6)
    assert result.success, result.reason
    assert within_limits(robot, result.q)


class TestFailure:
    """For an unreachable target the result says so and why."""

    def test_too_far(self, robots):
        result = solve(robots["arm6"], [3.0, 0.0, 0.0])
        assert not result.success
        assert result.attempts == 1
        assert result.reason.startswith("out of reach: the target is 3 m from joint 'shoulder_pan_joint'")

    def test_a_little_too_far(self, robots):
        robot = robots["arm6"]
        target = robot.dynamics().forward_kinematics(np.zeros(6))
        target[:3, 3] *= 1.05
        result = solve(robot, target, restarts=5)
        assert not result.success
        assert "at the edge of the reach" in result.reason
        assert 0.0 < result.position_error < 0.1

    def test_beyond_the_limits(self):
        limits = Limits(-0.5, 0.5)
        rows = [DHRow(a, 0, 0, 0, limits=limits, inertia=BODY) for a in (0.0, 0.5, 0.3)]
        robot = Robot(load_dh(rows))
        target = robot.dynamics().forward_kinematics([0.0, 1.0, 0.0])
        result = solve(robot, target[:3, 3], rows=(1, 1, 0, 0, 0, 0), restarts=10)
        assert not result.success
        assert re.match("joint limits: the way to the target leads beyond those of .*joint2", result.reason)
        assert within_limits(robot, result.q)
        assert solve(robot, target[:3, 3], rows=(1, 1, 0, 0, 0, 0), respect_limits=False).success

    def test_too_few_joints(self, robots):
        target = np.eye(4)
        target[:3, 3] = [0.3, 0.1, 1.2]
        result = solve(robots["planar_2r"], target, restarts=3)
        assert not result.success
        assert result.reason.startswith("too few joints: 6 rows are asked for and 2 joints move the link")

    def test_too_few_iterations(self, robots):
        robot = robots["arm6"]
        target = robot.dynamics().forward_kinematics(random_positions(robot, 1)[0])
        result = solve(robot, target, max_iterations=2, restarts=0)
        assert not result.success
        assert result.reason.startswith("the iterations ran out")

    def test_links_that_stand_still(self, robots):
        result = solve(robots["arm6"], [0.1, 0.0, 0.0], link="base_link")
        assert result.reason == "no joint moves the link 'base_link'"


@pytest.mark.parametrize(
    ("target", "options", "message"),
    [
        (np.eye(3), {}, r"target: expected an array of shape \(4, 4\), received shape \(3, 3\)"),
        (np.diag([1, 1, -1, 1]), {}, "target's rotation: expected a rotation matrix"),
        ([0.1, np.nan, 0.0], {}, "target: expected finite numbers"),
        (np.eye(4), {"rows": (1, 1, 1)}, "rows: expected six booleans"),
        (np.eye(4), {"rows": (0,) * 6}, "rows: expected six booleans with one or more true"),
        ([0.1, 0.2, 0.3], {"rows": (1,) * 6}, "rows: expected no rotation for a target"),
        (np.eye(4), {"q_start": [0.0]}, r"q_start: expected an array of shape \(6,\), received shape \(1,\)"),
        (np.eye(4), {"step": 0.0}, "step: expected more than 0 and at most 1, received 0.0"),
        (np.eye(4), {"position_tolerance": -1.0}, "position_tolerance: expected more than 0"),
        (np.eye(4), {"orientation_tolerance": float("nan")}, "orientation_tolerance: expected more than 0"),
        (np.eye(4), {"max_iterations": 0}, "max_iterations: expected 1 or more"),
        (np.eye(4), {"restarts": -1}, "restarts: expected 0 or more"),
        (np.eye(4), {"link": "hand"}, "no link 'hand'"),
    ],
)
def test_bad_arguments_say_what_was_expected(robots, target, options, message):
    with pytest.raises(InputError, match=message):
        solve(robots["arm6"], target, **options)
