# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robodyn_ros.base.errors import InputError
from robodyn_ros.description.resources import robot_file
from robodyn_ros.description.urdf import load_urdf
from robodyn_ros.kinematics.forward import forward_kinematics
from robodyn_ros.textbook.planar_2r_kinematics import planar_2r_inverse_kinematics, planar_2r_position

lengths = st.floats(0.05, 5.0)
angles = st.floats(-3.1, 3.1)


@settings(deadline=None)
@given(angles, angles, lengths, lengths)
def test_both_elbows_reach_the_position_and_one_is_the_arm(q1, q2, l1, l2):
    position = planar_2r_position([q1, q2], l1, l2)
    solutions = planar_2r_inverse_kinematics(position, l1, l2)
    for solution in solutions:
        np.testing.assert_allclose(planar_2r_position(solution, l1, l2), position, atol=1e-9 * (l1 + l2))
    assert solutions[0, 1] >= 0.0 >= solutions[1, 1]
    assert (np.abs(solutions) <= np.pi).all()
    if np.hypot(*position) > 1e-3 and abs(q2) > 1e-3:
        differences = (solutions - [q1, q2] + np.pi) % (2 * np.pi) - np.pi
        assert np.abs(differences).max(axis=1).min() < 1e-6


@settings(deadline=None)
@given(angles, angles, lengths, lengths)
def test_k_is_the_books(q1, q2, l1, l2):
    """Heron's product is the k of (1.24): 2 l1 l2 |sin q2|."""
    x, y = planar_2r_position([q1, q2], l1, l2)
    square = (x**2 + y**2 + l1**2 + l2**2) ** 2 - 2 * ((x**2 + y**2) ** 2 + l1**4 + l2**4)
    elbow = planar_2r_inverse_kinematics([x, y], l1, l2)[0, 1]
    assert (2 * l1 * l2 * np.sin(elbow)) ** 2 == pytest.approx(square, abs=1e-10 * (l1 + l2) ** 4)


def test_right_angles():  # links of 1 m, hand at (1, 1): along x then up, or up then along x
    np.testing.assert_allclose(
        planar_2r_inverse_kinematics([1, 1], 1, 1), [[0, np.pi / 2], [np.pi / 2, -np.pi / 2]], atol=1e-15
    )


def test_stretched_folded_and_with_the_hand_in_the_shoulder():
    np.testing.assert_allclose(planar_2r_inverse_kinematics([0.0, 1.5], 1.0, 0.5), [[np.pi / 2, 0]] * 2, atol=1e-15)
    folded = planar_2r_inverse_kinematics([0.5, 0.0], 1.0, 0.5)
    np.testing.assert_allclose(folded, [[0, np.pi], [0, -np.pi]], atol=1e-15)
    np.testing.assert_allclose(planar_2r_inverse_kinematics([0, 0], 0.7, 0.7), [[0, np.pi], [0, -np.pi]])


@pytest.mark.parametrize("position", [[1.6, 0.0], [0.0, 0.4], [0.0, 0.0]])
def test_out_of_reach_says_the_reach(position):
    with pytest.raises(InputError, match="between 0.5 m and 1.5 m .*, received"):
        planar_2r_inverse_kinematics(position, 1.0, 0.5)


def test_lengths_must_be_positive():
    with pytest.raises(InputError, match="lengths: expected positive ones, received 0 m and 0.5 m"):
        planar_2r_inverse_kinematics([0.5, 0.0], 0.0, 0.5)


def test_it_solves_the_shipped_arm():
    """The shipped arm swings in the plane through x and z of its base."""
    model = load_urdf(robot_file("planar_2r"))
    shoulder = forward_kinematics(model, np.zeros(2), "link1")
    elbow = np.linalg.inv(shoulder) @ forward_kinematics(model, np.zeros(2), "link2")
    tip = np.linalg.inv(forward_kinematics(model, np.zeros(2), "link2")) @ forward_kinematics(model, np.zeros(2))
    l1, l2 = np.linalg.norm(elbow[:3, 3]), np.linalg.norm(tip[:3, 3])
    q = np.array([0.4, 0.9])
    from_shoulder = np.linalg.inv(shoulder) @ forward_kinematics(model, q)
    axis = model.joints[0].axis
    along, across = elbow[:3, 3] / l1, np.cross(axis, elbow[:3, 3] / l1)
    position = np.array([along @ from_shoulder[:3, 3], across @ from_shoulder[:3, 3]])
    np.testing.assert_allclose(position, planar_2r_position(q, l1, l2), atol=1e-12)
    np.testing.assert_allclose(planar_2r_inverse_kinematics(position, l1, l2)[0], q, atol=1e-12)
