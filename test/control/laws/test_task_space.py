# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Axes that robots have, pose errors, and joints that do not move the tip link."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plant_motion import BENT, tip_circle
from scipy.spatial.transform import Rotation
from shipped import few
from urdf_parts import joint, link

from robodyn_ros import InputError, Robot
from robodyn_ros.control import JointReference, TipReference
from robodyn_ros.control.laws.task_space import (
    TaskSpaceParameters,
    axis_rows,
    by_part,
    pose_error,
    task_axes,
)
from robodyn_ros.control.plugins.registry import load_controller
from robodyn_ros.control.references.joint_trajectory import JointTrajectory, Points
from robodyn_ros.description.resources import robot_file
from robodyn_ros.simulation.rollout import ClosedLoop

ROBOTS = {name: Robot.from_urdf(robot_file(name)) for name in BENT}
REST = np.zeros(6)

LIGHT = ('<inertial><origin xyz="0 0.02 0.01"/><mass value="0.3"/>'
         '<inertia ixx="2e-3" iyy="2e-3" izz="2e-3" ixy="0" ixz="0" iyz="0"/></inertial>')
SHORT = '<limit lower="0" upper="0.08" velocity="0.2" effort="40"/>'
GRIPPER = "".join([
    joint("left_finger", "wrist_3_link", "left", "prismatic", axis="0 1 0", limit=SHORT), link("left", LIGHT),
    joint("right_finger", "wrist_3_link", "right", "prismatic", axis="0 -1 0", limit=SHORT,
          extra='<mimic joint="left_finger"/>'), link("right", LIGHT)])
WHEELS = "".join(
    joint(f"{side}_wheel", "base_link", f"{side}_tyre", "continuous", axis="0 1 0",
          limit='<limit velocity="30" effort="20"/>') + link(f"{side}_tyre", LIGHT) for side in ("near", "far"))
HEAD = (joint("head_pan", "base_link", "neck", limit='<limit lower="-2" upper="2" velocity="3" effort="20"/>')
        + link("neck", LIGHT)
        + joint("head_tilt", "neck", "face", axis="0 1 0",
                limit='<limit lower="-2" upper="2" velocity="3" effort="20"/>') + link("face", LIGHT))
MOBILE = Robot.from_urdf_text(
    robot_file("arm6").read_text().replace("</robot>", f"{WHEELS}{HEAD}{GRIPPER}</robot>"))
"""An arm on a base with wheels and a head, with a gripper whose second finger follows the first."""

BESIDE = ("near_wheel", "far_wheel", "head_pan", "head_tilt", "left_finger")


def pose(rotation, position=(0.0, 0.0, 0.0)):
    matrix = np.eye(4)
    matrix[:3, :3], matrix[:3, 3] = rotation.as_matrix(), position
    return matrix


@pytest.mark.parametrize(
    ("name", "axes"),
    [("planar_2r", "x z"), ("scara", "x y z rz"), ("arm6", "x y z rx ry rz"), ("arm7", "x y z rx ry rz")],
)
def test_each_robot_has_the_axes_along_which_it_can_move(name, axes):
    robot = ROBOTS[name]
    assert task_axes(robot) == axes and TaskSpaceParameters().for_robot(robot).axes == axes
    jacobian = robot.dynamics().jacobian(np.array(BENT[name]))[axis_rows(axes)]
    assert np.linalg.svd(jacobian, compute_uv=False)[-1] > 0.01


@settings(max_examples=50)
@given(st.integers(0, 10**6), st.floats(0.0, np.pi - 1e-3))
def test_the_rotation_error_is_the_slope_of_a_spring(seed, angle):
    """Of 4 (1 - |w|), by differences as the tip turns; towards the reference by the shorter way."""
    rng = np.random.default_rng(seed)
    tip = Rotation.from_rotvec(rng.normal(size=3))
    axis = rng.normal(size=3)
    turn = Rotation.from_rotvec(angle * axis / np.linalg.norm(axis))
    reference = TipReference(rng.normal(size=3), (turn * tip).as_quat() * rng.choice([-1, 1]), REST, REST)
    error = pose_error(pose(tip, [1.0, 2.0, 3.0]), reference)
    np.testing.assert_allclose(error[:3], reference.position - [1.0, 2.0, 3.0])
    np.testing.assert_allclose(error[3:], 2.0 * np.sin(angle / 2) * axis / np.linalg.norm(axis), atol=1e-9)

    def spring(small):
        return 4.0 * (1.0 - np.cos((turn * Rotation.from_rotvec(small).inv()).magnitude() / 2.0))

    slope = [(spring(h) - spring(-h)) / 2e-6 for h in 1e-6 * np.eye(3)]
    np.testing.assert_allclose(error[3:], -np.array(slope), atol=1e-7)


def test_small_rotation_errors_are_rotation_vectors():
    vector = np.array([1e-4, -2e-4, 3e-4])
    reference = TipReference(np.zeros(3), Rotation.from_rotvec(vector).as_quat(), REST, REST)
    np.testing.assert_allclose(pose_error(np.eye(4), reference)[3:], vector, rtol=1e-6)


def test_gains_go_to_their_axes():
    np.testing.assert_array_equal(by_part(axis_rows("rz x z"), 2.0, 7.0), [2.0, 2.0, 7.0])


@pytest.mark.parametrize("axes", ["", "x x", "w", "x,y", "rx ry rotation"])
def test_unknown_axes_are_refused(axes):
    with pytest.raises(InputError, match="axes: expected some of x y z rx ry rz"):
        TaskSpaceParameters(axes=axes).for_robot(ROBOTS["arm6"])


def test_more_axes_than_joints_are_refused():
    with pytest.raises(InputError, match="at most 2, the number of joints"):
        TaskSpaceParameters(axes="x y z").for_robot(ROBOTS["planar_2r"])


@pytest.mark.parametrize("name", few([
    "operational_space", "task_space_pd", "resolved_acceleration", "impedance", "force"], 1))
def test_joints_beside_the_tips_chain_hold_their_place_or_follow_motions_of_their_own(name):
    """While the tip moves on a circle; and the law is compiled as for an arm alone."""
    assert MOBILE.tip_link == "tool0"
    beside = [MOBILE.joint_names.index(joint) for joint in BESIDE]
    q = np.full(MOBILE.n, 0.01)
    chain = MOBILE.model.moves("tool0")
    q[chain] = BENT["arm6"]
    assert not chain[beside].any() and chain.sum() == 6
    controller = load_controller(name)(MOBILE)
    assert controller.parameters.beside == tuple(sorted(beside))
    rest, loop = np.zeros(MOBILE.n), ClosedLoop(controller)
    for moved in (0.0, 1.0):
        goal = q.copy()
        goal[beside] += moved * np.array([2.0, -1.0, 0.5, 0.3, 0.04])
        own = JointTrajectory(JointReference(q, rest, rest), 0.0, Points.from_arrays([1.0], [goal], [rest], [rest]))
        motion = loop.run(loop.scenario([tip_circle(MOBILE, q), own], 3.0, q=q))
        assert not controller.uncompiled_reason
        error = np.abs(motion.q - np.stack([own.sample(time).q for time in motion.time]))[:, beside]
        springs = name in ("task_space_pd", "impedance")
        assert error.max() < (0.02 * moved + 1e-4 if springs else 1e-3 * moved + 1e-9)
        assert error[-1].max() < 1e-6
