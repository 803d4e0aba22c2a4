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
from pin_reference import pin
from scipy.linalg import expm

from robodyn_ros.compile import trace
from robodyn_ros.kinematics.twists import (
    ad,
    ad_transpose,
    adjoint,
    cross,
    exponential,
    homogeneous,
    inverse_pose,
    lie_bracket,
    skew,
    twist_in_child,
    twist_in_parent,
    wrench_in_parent,
)

SEEDS = st.integers(0, 2**32 - 1)


def bracket(twist):
    """[V] of shape (4, 4)."""
    matrix = np.zeros((4, 4))
    matrix[:3, :3], matrix[:3, 3] = skew(twist[:3]), twist[3:]
    return matrix


def random_pose(rng):
    return expm(bracket(rng.normal(size=6)))


def swapped(twist):
    """Angular first from linear first, and back."""
    return np.roll(twist, 3)


@settings(deadline=None)
@given(SEEDS)
def test_against_pinocchio(seed):
    rng = np.random.default_rng(seed)
    pose, first, second, theta = random_pose(rng), *rng.normal(size=(2, 6)), rng.normal()
    motion, other, force = pin.Motion(swapped(first)), pin.Motion(swapped(second)), pin.Force(swapped(second))
    np.testing.assert_allclose(lie_bracket(first, second), swapped(motion.cross(other).vector), atol=1e-12)
    np.testing.assert_allclose(ad(first) @ second, swapped(motion.cross(other).vector), atol=1e-12)
    np.testing.assert_allclose(-ad_transpose(first, second), swapped(motion.cross(force).vector), atol=1e-12)
    place = pin.SE3(pose)
    np.testing.assert_allclose(twist_in_parent(pose, first), swapped(place.act(motion).vector), atol=1e-12)
    np.testing.assert_allclose(twist_in_child(pose, first), swapped(place.actInv(motion).vector), atol=1e-12)
    np.testing.assert_allclose(wrench_in_parent(pose, second), swapped(place.act(force).vector), atol=1e-12)
    axis = first[:3] / np.linalg.norm(first[:3])  # a screw of unit angular velocity
    expected = pin.exp6(pin.Motion(swapped(np.concatenate([axis, first[3:]])) * theta)).homogeneous
    np.testing.assert_allclose(exponential(np.concatenate([axis, first[3:]]), theta), expected, atol=1e-12)


@settings(deadline=None)
@given(SEEDS)
def test_changes_of_frame_are_the_adjoint_matrix(seed):
    rng = np.random.default_rng(seed)
    pose, twist, wrench = random_pose(rng), rng.normal(size=6), rng.normal(size=6)
    inverse = np.linalg.inv(pose)
    np.testing.assert_allclose(inverse_pose(pose), inverse, atol=1e-12)
    # Ad_T V is defined by [Ad_T V] = T [V] T^-1.
    np.testing.assert_allclose(bracket(twist_in_parent(pose, twist)), pose @ bracket(twist) @ inverse, atol=1e-12)
    np.testing.assert_allclose(adjoint(pose) @ twist, twist_in_parent(pose, twist), atol=1e-12)
    np.testing.assert_allclose(adjoint(inverse) @ twist, twist_in_child(pose, twist), atol=1e-12)
    np.testing.assert_allclose(adjoint(inverse).T @ wrench, wrench_in_parent(pose, wrench), atol=1e-12)


@settings(deadline=None)
@given(SEEDS)
def test_power_is_the_same_in_every_frame(seed):
    rng = np.random.default_rng(seed)
    pose, twist_parent, wrench_child = random_pose(rng), rng.normal(size=6), rng.normal(size=6)
    power = wrench_child @ twist_in_child(pose, twist_parent)
    assert wrench_in_parent(pose, wrench_child) @ twist_parent == pytest.approx(power, abs=1e-12)


@settings(deadline=None)
@given(SEEDS)
def test_lie_bracket_is_the_commutator(seed):
    first, second = np.random.default_rng(seed).normal(size=(2, 6))
    commutator = bracket(first) @ bracket(second) - bracket(second) @ bracket(first)
    np.testing.assert_allclose(bracket(lie_bracket(first, second)), commutator, atol=1e-12)
    np.testing.assert_allclose(ad(first) @ second, lie_bracket(first, second), atol=1e-12)
    np.testing.assert_allclose(ad(first).T @ second, ad_transpose(first, second), atol=1e-12)
    np.testing.assert_allclose(cross(first[:3], second[:3]), np.cross(first[:3], second[:3]), atol=1e-12)


@settings(deadline=None)
@given(SEEDS, st.sampled_from(["revolute", "screw", "prismatic"]))
def test_exponential_is_the_matrix_exponential(seed, kind):
    rng = np.random.default_rng(seed)
    axis = rng.normal(size=3)
    axis /= np.linalg.norm(axis)
    linear = {"revolute": np.zeros(3), "screw": rng.normal(size=3), "prismatic": axis}[kind]
    twist = np.concatenate([np.zeros(3) if kind == "prismatic" else axis, linear])
    theta = rng.uniform(-7, 7)
    np.testing.assert_allclose(exponential(twist, theta), expm(bracket(twist) * theta), atol=1e-12)


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("axis", np.eye(3), ids=["x", "y", "z"])
def test_turning_about_a_coordinate_axis_takes_a_fraction_of_the_operations(axis, sign):
    twist = np.concatenate([sign * axis, np.zeros(3)])
    tape = trace(lambda theta: exponential(twist, theta[0]), {"theta": (1,)})
    oblique = np.concatenate([sign * np.array([1.0, 2.0, 3.0]) / np.sqrt(14.0), np.zeros(3)])
    general = trace(lambda theta: exponential(oblique, theta[0]), {"theta": (1,)})
    assert tape.operation_count < general.operation_count / 3
    np.testing.assert_allclose(tape(np.array([0.7])), exponential(twist, 0.7), atol=1e-15)


def test_nan_passes_through():
    pose = exponential(np.array([0.0, 0.0, 1.0, 0.0, 0.0, 0.0]), np.nan)
    assert np.isnan(pose[0, 0])
    assert np.isnan(inverse_pose(pose)[0, 0])
    assert np.isnan(homogeneous(np.eye(3), np.array([np.nan, 0.0, 0.0]))[0, 3])
