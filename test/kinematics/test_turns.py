# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.
"""Positions of continuous joints as angles."""

from math import pi, tau

import numpy as np
import pytest
from urdf_parts import joint, link, robot

from robodyn_ros.description.urdf import load_urdf_text
from robodyn_ros.kinematics.turns import short_way, shortest, unwrapped

ANGLES = np.array([True, False])


def test_an_angle_goes_the_short_way_and_another_joint_as_it_is():
    difference = np.array([[6.0, 6.0], [-tau, tau], [3 * tau + 0.1, 0.1], [3.1, -9.0]])
    np.testing.assert_allclose(shortest(difference, ANGLES), [[6.0 - tau, 6.0], [0.0, tau], [0.1, 0.1], [3.1, -9.0]],
                               atol=1e-12)


@pytest.mark.parametrize("low", [-pi, 0.0])
def test_wrapped_positions_are_unwrapped_whatever_the_range(low):
    turned = np.stack([np.linspace(1.0, 20.0, 200), np.linspace(0.0, 1.0, 200)], axis=1)
    wrapped = turned.copy()
    wrapped[:, 0] = low + (turned[:, 0] - low) % tau
    np.testing.assert_allclose(unwrapped(wrapped, ANGLES), turned, atol=1e-12)
    assert unwrapped(turned[:1], ANGLES) is not None and unwrapped(turned, ~ANGLES & ANGLES) is turned


@pytest.mark.parametrize(("points", "start", "expected"), [
    ([[3.3 - tau], [-2.5]], 3.3, [[3.3], [tau - 2.5]]),       # a normalized plan begins where the robot is
    ([[-2.5]], 3.3, [[tau - 2.5]]),                           # one point
    ([[3.0], [-3.1]], 3.0, [[3.0], [tau - 3.1]]),             # two points, across pi
    ([[3.0], [-3.1], [-2.9]], 3.0, [[3.0], [tau - 3.1], [tau - 2.9]]),
    ([[pi], [-3.0]], 3.0, [[pi], [tau - 3.0]]),               # pi itself is normalized
    ([[0.0], [4.0], [8.0]], tau, [[tau], [tau + 4.0], [tau + 8.0]]),  # turns that are asked for stay
    ([[100.0], [101.0]], 0.0, [[100.0 - 16 * tau], [101.0 - 16 * tau]]),
])
def test_a_motion_begins_the_short_way(points, start, expected):
    def both(rows):
        return np.hstack([np.array(rows), np.full((len(rows), 1), 9.0)])

    found = short_way(both(points), np.array([start, 0.0]), ANGLES)
    np.testing.assert_allclose(found, both(expected), atol=1e-12)


@pytest.mark.parametrize(("kind", "follower", "multiplier", "is_angle"), [
    ("continuous", "continuous", 2, True),
    ("continuous", "continuous", 0.5, False),   # a turn of the leader is half a turn of the follower
    ("continuous", "revolute", 1, False),       # which has limits
    ("continuous", "prismatic", 1, False),      # a screw
    ("revolute", "continuous", 1, False),
])
def test_a_mimic_joint_decides_whether_its_leader_is_an_angle(kind, follower, multiplier, is_angle):
    mimic = f'<mimic joint="j1" multiplier="{multiplier}"/>'
    free = {"limit": '<limit velocity="3" effort="4"/>'}
    model = load_urdf_text(robot(
        link("l0"), link("l1"), link("l2"), joint("j1", "l0", "l1", kind, **free if kind == "continuous" else {}),
        joint("j2", "l1", "l2", follower, extra=mimic, **free if follower == "continuous" else {})))
    assert model.angles.tolist() == [is_angle] and model.continuous.tolist() == [kind == "continuous"]
