# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from pin_reference import SEEDS, PinReference, random_state

from robodyn_ros.compile import trace
from robodyn_ros.dynamics.spatial_inertia import SpatialInertia, mirrored, trace_minus
from robodyn_ros.kinematics.forward import joint_poses
from robodyn_ros.kinematics.twists import adjoint, inverse_pose
from robodyn_ros.textbook.lagrange_traces import pseudo_inertia_matrix

ARM6 = PinReference("arm6").robot
BODIES = [SpatialInertia.from_inertia(joint.inertia) for joint in ARM6.joints]


def test_moments_in_the_parents_frame_are_the_spatial_inertia_there():
    robot = PinReference("arm6").robot
    (q,) = random_state(robot, 5, 1)
    for joint, pose in zip(robot.joints, joint_poses(robot, q), strict=True):
        change = adjoint(inverse_pose(pose))
        expected = change.T @ joint.inertia.spatial() @ change
        moved = SpatialInertia.from_inertia(joint.inertia).in_parent(pose)
        columns = [moved.momentum(unit) for unit in np.eye(6)]
        np.testing.assert_allclose(np.transpose(columns), expected, atol=1e-12)


def test_second_moments_are_those_of_the_pseudo_inertia_matrix():
    for joint, body in zip(ARM6.joints, BODIES, strict=True):
        pseudo = pseudo_inertia_matrix(joint.inertia)
        np.testing.assert_allclose(body.second, pseudo[:3, :3], atol=1e-15)
        np.testing.assert_allclose(body.first, pseudo[:3, 3])
        assert body.mass == pseudo[3, 3]


@settings(deadline=None)
@given(SEEDS, st.permutations(range(3)))
def test_moments_that_are_zero_are_so_without_rounding(seed, order):
    first, *rows = np.random.default_rng(seed).normal(size=(4, 3))
    second = np.array(rows) + np.transpose(rows)
    second[order[0], order[0]] = second[order[1], order[2]] = second[order[2], order[1]] = 0.0
    body = SpatialInertia.from_moments(2.0, first, second)
    np.testing.assert_allclose(body.second, second, rtol=1e-12, atol=1e-14)
    np.testing.assert_array_equal(body.second == 0.0, second == 0.0)


@settings(deadline=None)
@given(SEEDS)
def test_trace_minus_sums_double_cross_products(seed):
    r, s, x = np.random.default_rng(seed).normal(size=(3, 5, 3))
    expected = sum(np.cross(np.cross(s_k, x[0]), r_k) for r_k, s_k in zip(r, s, strict=True))  # [r]^T [s] x
    np.testing.assert_allclose(trace_minus(s.T @ r) @ x[0], expected, rtol=1e-12, atol=1e-12)


def test_mirrored_computes_one_triangle():
    tape = trace(lambda a, b: mirrored(np.outer(a, b) + np.outer(b, a)), {"a": (3,), "b": (3,)})
    np.testing.assert_array_equal(tape.outputs.reshape(3, 3), tape.outputs.reshape(3, 3).T)
