# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Inertias in other frames and together; the arrays per degree of freedom; look-ups by name."""

import copy
import pickle

import numpy as np
import pytest
from urdf_parts import joint, link, robot

from robodyn_ros.base.errors import InputError, suggest
from robodyn_ros.description.model import Inertia, skew
from robodyn_ros.description.urdf import load_urdf_text

rng = np.random.default_rng(7)


def random_points(count: int = 20):
    """Point masses, of which every inertia can be summed up directly."""
    return rng.uniform(0.1, 1.0, count), rng.normal(size=(count, 3))


def inertia_of(masses, points) -> Inertia:
    mass = masses.sum()
    com = masses @ points / mass
    offsets = points - com
    rotational = sum(m * (c @ c * np.eye(3) - np.outer(c, c)) for m, c in zip(masses, offsets, strict=True))
    return Inertia(mass, com, rotational)


def assert_same(first: Inertia, second: Inertia) -> None:
    np.testing.assert_allclose(first.mass, second.mass, rtol=1e-14)
    np.testing.assert_allclose(first.com, second.com, atol=1e-14)
    np.testing.assert_allclose(first.rotational, second.rotational, atol=1e-12)


def test_skew_is_the_cross_product():
    x, y = rng.normal(size=(2, 3))
    np.testing.assert_allclose(skew(x) @ y, np.cross(x, y), rtol=1e-14)


def test_two_bodies_fixed_to_each_other():
    masses, points = random_points()
    together = inertia_of(masses[:5], points[:5]) + inertia_of(masses[5:], points[5:])
    assert_same(together, inertia_of(masses, points))


def test_nothing_added_changes_nothing():
    body = inertia_of(*random_points())
    assert_same(body + Inertia.zero(), body)
    assert_same(Inertia.zero() + body, body)
    empty = Inertia.zero() + Inertia.zero()
    assert empty.mass == 0.0 and not np.any(empty.com) and not np.any(empty.rotational)


def test_a_body_in_another_frame():
    masses, points = random_points()
    rotation = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    pose = np.block([[rotation, rng.normal(size=(3, 1))], [np.zeros((1, 3)), 1.0]])
    assert_same(inertia_of(masses, points).transformed(pose), inertia_of(masses, points @ rotation.T + pose[:3, 3]))


def test_the_spatial_inertia_gives_the_kinetic_energy_of_the_points():
    masses, points = random_points()
    omega, v = rng.normal(size=(2, 3))
    energy = 0.5 * sum(m * np.sum((v + np.cross(omega, p)) ** 2) for m, p in zip(masses, points, strict=True))
    twist = np.concatenate([omega, v])
    np.testing.assert_allclose(0.5 * twist @ inertia_of(masses, points).spatial() @ twist, energy, rtol=1e-13)


def gripper():
    """Joint j1 with the followers j2 at -2 q + 0.5 and j3 at 0.5 q, then an independent j4."""
    return load_urdf_text(
        robot(
            *(link(name) for name in "abcde"),
            joint("j1", "a", "b", limit='<limit lower="-1" upper="2" velocity="3" effort="4"/>',
                  extra='<dynamics damping="1" friction="2"/>'),
            joint("j2", "b", "c", limit='<limit lower="-2.5" upper="1.5" velocity="4" effort="1"/>',
                  extra='<mimic joint="j1" multiplier="-2" offset="0.5"/><dynamics damping="0.25" friction="0.5"/>'),
            joint("j3", "b", "d", limit='<limit lower="-0.2" upper="9" velocity="9" effort="1"/>',
                  extra='<mimic joint="j1" multiplier="0.5"/><dynamics damping="4" friction="1"/>'),
            joint("j4", "b", "e", "continuous", limit=""),
            '<transmission name="t"><joint name="j1"/><mechanicalReduction>30</mechanicalReduction></transmission>',
        )
    )  # fmt: skip


def test_arrays_per_degree_of_freedom_fold_in_the_joints_that_mimic():
    model = gripper()
    assert model.n == 2
    # j1: -1 to 2; j2: -2.5 <= -2 q + 0.5 <= 1.5, so -0.5 <= q <= 1.5; j3: -0.4 <= q <= 18
    np.testing.assert_allclose(model.position_lower, [-0.4, -np.inf])
    np.testing.assert_allclose(model.position_upper, [1.5, np.inf])
    np.testing.assert_allclose(model.velocity_limit, [2.0, np.inf])
    np.testing.assert_allclose(model.effort_limit, [4.0, np.inf])
    np.testing.assert_allclose(model.damping, [1 + 4 * 0.25 + 0.25 * 4, 0])
    np.testing.assert_allclose(model.friction, [2 + 2 * 0.5 + 0.5 * 1, 0])
    np.testing.assert_allclose(model.reduction, [30, 1])


def test_the_arrays_are_read_only_and_kept():
    model = gripper()
    for name in ("position_lower", "position_upper", "velocity_limit", "effort_limit", "damping", "friction"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(model, name)[0] = 1.0
        assert getattr(model, name) is getattr(model, name)


def test_nobody_changes_the_arrays_of_the_model():
    """A law that wrote to them would change the robot of every law, thread and supervisor in its process."""
    model = gripper()
    joint = model.joints[0]
    for array in (model.gravity, joint.axis, joint.pose_parent_link, joint.inertia.com, joint.inertia.rotational,
                  next(iter(model.frames.values())).pose_link_frame):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0
        with pytest.raises(ValueError, match="cannot set WRITEABLE"):
            array.setflags(write=True)


def test_a_joint_by_name():
    model = gripper()
    assert model.joint_index("j4") == 1
    with pytest.raises(InputError, match="joint 'j2' of robot 'test' mimics 'j1' .* name 'j1' instead"):
        model.joint_index("j2")
    with pytest.raises(InputError, match="robot 'test' has no moving joint 'j44': did you mean 'j4'"):
        model.joint_index("j44")


def test_a_frame_by_name():
    model = gripper()
    assert model.frame("c").joint == 1
    with pytest.raises(InputError, match="robot 'test' has no link 'tool0': known are 'a', 'b', 'c', 'd', 'e'"):
        model.frame("tool0")


def test_suggestions_stay_short():
    names = [f"x{index}" for index in range(40)]
    assert suggest("qqqq", names).endswith("'x11' and 28 more")
    assert suggest("x7", ["xx7", "y"]) == "did you mean 'xx7'?"
    assert suggest("x", []) == "known are none"


def test_a_model_can_be_copied_and_pickled():
    model = gripper()
    for again in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert again.joint_names == model.joint_names
        np.testing.assert_array_equal(again.position_upper, model.position_upper)
