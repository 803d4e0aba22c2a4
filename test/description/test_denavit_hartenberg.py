# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

import numpy as np
import pytest

from robodyn_ros.base.errors import DescriptionError, DescriptionWarning, InputError
from robodyn_ros.description.denavit_hartenberg import DHRow, DHTable, dh_transform, load_dh
from robodyn_ros.description.model import Frame, Inertia, Limits
from robodyn_ros.description.resources import robot_file
from robodyn_ros.description.urdf import load_urdf
from robodyn_ros.kinematics.forward import forward_kinematics, link_poses
from robodyn_ros.textbook.homogeneous import rotation_transform, transform_point, translation_transform

BODY = Inertia(1.0, np.zeros(3), 0.01 * np.eye(3))
# Franka Robotics, documentation of the Panda: modified Denavit-Hartenberg a, alpha, d, theta.
PANDA = [
    (0.0, 0.0, 0.333, 0.0),
    (0.0, -np.pi / 2, 0.0, 0.0),
    (0.0, np.pi / 2, 0.316, 0.0),
    (0.0825, np.pi / 2, 0.0, 0.0),
    (-0.0825, -np.pi / 2, 0.384, 0.0),
    (0.0, np.pi / 2, 0.0, 0.0),
    (0.088, np.pi / 2, 0.0, 0.0),
]


def with_bodies(rows):
    return [DHRow(*row, inertia=BODY) for row in rows]


def test_transform_is_the_product_of_its_four_steps():  # 1.6.2, below step 12
    a, alpha, d, theta = 0.3, -0.7, 0.2, 1.1
    steps = (
        translation_transform(a, 0, 0)
        @ rotation_transform("x", alpha)
        @ translation_transform(0, 0, d)
        @ rotation_transform("z", theta)
    )
    np.testing.assert_allclose(dh_transform(a, alpha, d, theta), steps, atol=1e-15)


def test_published_parameters_of_the_panda_are_the_shipped_seven_axis_arm():
    arm = load_urdf(robot_file("arm7"))
    flange = Frame("flange", 6, translation_transform(0, 0, 0.107))
    table = load_dh(DHTable(tuple(with_bodies(PANDA)), frames=(flange,), tip_link="flange"))
    for q in np.random.default_rng(1).uniform(-2, 2, (10, 7)):
        np.testing.assert_allclose(
            forward_kinematics(table, q, "link7"), forward_kinematics(arm, q, "link7"), atol=1e-12
        )
        np.testing.assert_allclose(forward_kinematics(table, q)[:3, 3], forward_kinematics(arm, q)[:3, 3], atol=1e-12)


def test_joint_positions_add_to_the_offsets():  # 1.6.3, 1.6.4, (1.18)
    rows = [
        DHRow(0.1, 0.2, 0.3, 0.4, inertia=BODY),
        DHRow(0.5, 0.6, 0.7, 0.8, kind="prismatic", inertia=BODY),
        DHRow(0.9, 1.0, 1.1, 1.2, kind="continuous", inertia=BODY),
    ]
    q = np.array([0.3, -0.2, 2.5])
    expected = dh_transform(0.1, 0.2, 0.3, 0.4 + q[0])
    expected = expected @ dh_transform(0.5, 0.6, 0.7 + q[1], 0.8)
    expected = expected @ dh_transform(0.9, 1.0, 1.1, 1.2 + q[2])
    np.testing.assert_allclose(forward_kinematics(load_dh(rows), q), expected, atol=1e-15)


def test_any_point_of_any_link():  # (1.19): planar 2R with links of 0.3 m and 0.2 m, both elbows bent by a right angle
    robot = load_dh(with_bodies([(0, 0, 0, 0), (0.3, 0, 0, 0)]))
    poses = link_poses(robot, np.array([np.pi / 2, np.pi / 2]))
    np.testing.assert_allclose(transform_point(poses[0], [0.1, 0, 0]), [0, 0.1, 0], atol=1e-16)
    np.testing.assert_allclose(transform_point(poses[1], [0.2, 0, 0]), [-0.2, 0.3, 0], atol=1e-16)


def test_a_table_carries_all_that_a_joint_has():
    limits = Limits(-1.0, 2.0, 3.0, 4.0)
    row = DHRow(0, 0, 0, 0, "revolute", "waist", "trunk", BODY, limits, 0.1, 0.2, 50.0)
    base = translation_transform(0, 0, 1)
    table = DHTable((row,), base, (Frame("tool", 0, base), Frame("eye", -1, base)), "floor", "tool")
    robot = load_dh(table, name="one", gravity=(0, 0, -1.62))
    (joint,) = robot.joints
    assert (robot.name, robot.joint_names, robot.base_link, robot.tip_link) == ("one", ("waist",), "floor", "tool")
    assert (joint.limits, joint.damping, joint.friction, joint.reduction) == (limits, 0.1, 0.2, 50.0)
    assert joint.inertia is BODY
    assert list(robot.frames) == ["floor", "trunk", "tool", "eye"]
    np.testing.assert_array_equal(robot.gravity, [0, 0, -1.62])
    np.testing.assert_array_equal(forward_kinematics(robot, np.zeros(1))[:3, 3], [0, 0, 2])


def test_rows_may_be_mappings():
    rows = [
        {"a": 0, "alpha": 0, "d": 0, "theta": 0, "inertia": BODY},
        {"a": 0.3, "alpha": 0, "d": 0, "theta": 0, "kind": "prismatic", "name": "slide", "inertia": BODY},
    ]
    assert load_dh(rows).joint_names == ("joint1", "slide")


def test_right_angles_leave_no_rounding_noise():
    poses = [joint.pose_parent_link for joint in load_dh(with_bodies(PANDA)).joints]
    entries = np.abs(np.concatenate([pose[:3, :3].ravel() for pose in poses]))
    assert set(entries) == {0.0, 1.0}


def test_a_table_without_inertias_does_for_kinematics_with_a_warning():
    with pytest.warns(DescriptionWarning, match="no moving link has an inertia"):
        assert load_dh(PANDA).n == 7
    with pytest.raises(DescriptionError, match="(?s)no moving link has an inertia.*strict=True"):
        load_dh(PANDA, strict=True)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "it has no rows"),
        (7, "it is int; give a DHTable or a sequence of rows"),
        ([(0, 0, 1j, 0)], "row 1: d = 1j is not a finite number"),
        ([DHRow(0, 0, 0, 0, limits=Limits(1.0, -1.0))], r"row 1: limits = Limits\(lower=1.0"),
        ([DHRow(0, 0, 0, 0, limits=(-1.0, 1.0))], "row 1: limits = "),
        ([DHRow(0, 0, 0, 0, inertia=1.0)], "row 1: inertia = 1.0 is not an Inertia"),
        (
            [DHRow(0, 0, 0, 0, inertia=Inertia(1.0, np.zeros(2), np.eye(3)))],
            r"row 1: expected finite numbers of shapes \(\), \(3,\), \(3, 3\), received Inertia\(mass=1.0",
        ),
        (
            [DHRow(0, 0, 0, 0, inertia=Inertia(np.nan, np.zeros(3), np.eye(3)))],
            r"row 1: expected finite numbers of .* received Inertia\(mass=nan",
        ),
        ([(0, 0, 0)], r"row 1 is \(0, 0, 0\); give a, alpha, d, theta"),
        (["0000"], "row 1 is '0000'"),
        ([(0, 0, 0, 0), (0, np.nan, 0, 0)], "row 2: alpha = nan is not a finite number"),
        ([(0, 0, "0.1", 0)], "row 1: d = '0.1' is not a finite number"),
        (
            [DHRow(0, 0, 0, 0, kind="planar")],
            "row 1: unknown kind 'planar'; use one of revolute, continuous, prismatic",
        ),
        ([{"a": 0, "alpha": 0, "d": 0}], "row 1 has no 'theta'"),
        ([{"a": 0, "alpha": 0, "d": 0, "theta": 0, "aplha": 1}], "row 1 has unknown 'aplha'"),
        ([DHRow(0, 0, 0, 0, name="x", inertia=BODY)] * 2, "two joints are called 'x'"),
        ([DHRow(0, 0, 0, 0, link="x", inertia=BODY)] * 2, "two links are called 'x'"),
        ([DHRow(0, 0, 0, 0, inertia=Inertia(-1.0, np.zeros(3), np.eye(3)))], "row 1: mass -1 kg"),
        (DHTable((DHRow(0, 0, 0, 0),), pose_base_0=2 * np.eye(4)), "pose_base_0 is not a pose"),
        (DHTable((DHRow(0, 0, 0, 0),), pose_base_0=np.diag([1.0, 1.0, -1.0, 1.0])), "pose_base_0 is not a pose"),
        (DHTable((DHRow(0, 0, 0, 0),), frames=(Frame("f", 1, np.eye(4)),)), "frame 'f' is on row 1; rows count from 0"),
        (DHTable((DHRow(0, 0, 0, 0),), tip_link="hand"), "no link is called 'hand'"),
    ],
)
@pytest.mark.filterwarnings("ignore::robodyn_ros.base.errors.DescriptionWarning")
def test_bad_tables_say_what_is_wrong(rows, message):
    with pytest.raises(DescriptionError, match=f"(?s){message}"):
        load_dh(rows)


def test_bad_gravity_is_refused():
    with pytest.raises(InputError, match="gravity"):
        load_dh(with_bodies(PANDA), gravity=(0, 0))
