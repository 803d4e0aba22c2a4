# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The shipped robots are the published ones: their URDFs, read by Pinocchio, against the tables of their sources."""

import numpy as np
import pinocchio as pin
import pytest

from robodyn_ros.description.resources import robot_file

rng = np.random.default_rng(3)
QUARTER = np.pi / 2

# theta is the joint angle; rows (a, d, alpha) as the sources have them, see docs/urdf.md
UR5E = [
    (0, 0.1625, QUARTER),
    (-0.425, 0, 0),
    (-0.3922, 0, 0),
    (0, 0.1333, QUARTER),
    (0, 0.0997, -QUARTER),
    (0, 0.0996, 0),
]
UR5E_BODIES = [
    (3.761, (0, -0.02561, 0.00193)),
    (8.058, (0.2125, 0, 0.11336)),
    (2.846, (0.15, 0, 0.0265)),
    (1.37, (0, -0.0018, 0.01634)),
    (1.3, (0, 0.0018, 0.01634)),
    (0.365, (0, 0, -0.001159)),
]
PANDA = [
    (0, 0.333, 0),
    (0, 0, -QUARTER),
    (0, 0.316, QUARTER),
    (0.0825, 0, QUARTER),
    (-0.0825, 0.384, -QUARTER),
    (0, 0, QUARTER),
    (0.088, 0, QUARTER),
]


def load(name: str) -> tuple[pin.Model, pin.Data]:
    model = pin.buildModelFromUrdf(str(robot_file(name)))
    return model, model.createData()


def move(axis: str, *, angle: float = 0.0, distance: float = 0.0) -> np.ndarray:
    """A pose turned about and moved along an axis."""
    index = "xyz".index(axis)
    pose = np.eye(4)
    pose[:3, :3] = pin.AngleAxis(angle, np.eye(3)[index]).toRotationMatrix()
    pose[index, 3] = distance
    return pose


def pose_of(model: pin.Model, data: pin.Data, q: np.ndarray, link: str) -> np.ndarray:
    pin.framesForwardKinematics(model, data, q)
    return data.oMf[model.getFrameId(link, pin.FrameType.BODY)].homogeneous


def test_arm6_has_the_ur5es_kinematics_and_masses():
    model, data = load("arm6")
    q = rng.uniform(-3, 3, 6)
    pose = np.eye(4)
    frames = []
    for angle, (a, d, alpha) in zip(q, UR5E, strict=True):
        pose = pose @ move("z", angle=angle, distance=d) @ move("x", angle=alpha, distance=a)
        frames.append(pose)
    np.testing.assert_allclose(pose_of(model, data, q, "tool0"), pose, atol=1e-14)
    masses = np.array([mass for mass, _ in UR5E_BODIES])
    coms = np.array([(frame @ (*com, 1))[:3] for frame, (_, com) in zip(frames, UR5E_BODIES, strict=True)])
    np.testing.assert_allclose(pin.centerOfMass(model, data, q), masses @ coms / masses.sum(), atol=1e-14)
    np.testing.assert_allclose(data.mass[0], masses.sum())


def test_arm7_has_the_pandas_kinematics():
    model, data = load("arm7")
    q = rng.uniform(-3, 3, 7)
    pose = np.eye(4)
    for angle, (a, d, alpha) in zip(q, PANDA, strict=True):
        pose = pose @ move("x", angle=alpha, distance=a) @ move("z", angle=angle, distance=d)
    np.testing.assert_allclose(pose_of(model, data, q, "tool0"), pose @ move("z", distance=0.107), atol=1e-14)
    np.testing.assert_allclose(pin.computeTotalMass(model), 16.062132)


def test_planar_2r_is_the_books_chain_of_point_masses():
    model, data = load("planar_2r")
    l1, l2, m1, m2, g = 0.5, 0.4, 2.0, 1.0, 9.81
    angle1, angle2 = rng.uniform(-3, 3, 2)
    # [LynchPark], the 2R example: the mass matrix and the gravity term
    coupling = m2 * (l1 * l2 * np.cos(angle2) + l2**2)
    mass = [[(m1 + m2) * l1**2 + m2 * (2 * l1 * l2 * np.cos(angle2) + l2**2), coupling], [coupling, m2 * l2**2]]
    second = m2 * g * l2 * np.cos(angle1 + angle2)
    gravity = [(m1 + m2) * l1 * g * np.cos(angle1) + second, second]
    q = np.array([np.cos(angle1), np.sin(angle1), np.cos(angle2), np.sin(angle2)])  # continuous joints in Pinocchio
    upper = np.triu(pin.crba(model, data, q))
    np.testing.assert_allclose(upper + np.triu(upper, 1).T, mass, rtol=1e-13)
    np.testing.assert_allclose(pin.computeGeneralizedGravity(model, data, q), gravity, rtol=1e-13)
    tip = pose_of(model, data, q, "tip")[:3, 3]
    x = l1 * np.cos(angle1) + l2 * np.cos(angle1 + angle2)
    y = l1 * np.sin(angle1) + l2 * np.sin(angle1 + angle2)
    np.testing.assert_allclose(tip, [x, 0, 1 + y], atol=1e-14)


def test_scara_has_the_published_figures():
    model, data = load("scara")
    q = np.array([0.3, -1.1, 0.2, 0.7])
    a1, a2, l1, l2, m1, m2, m3, i1, i2, i4 = 0.5, 0.5, 0.25, 0.25, 25, 25, 10, 5, 5, 1
    # Planar two-link arm with the quill's mass at its end; everything behind joint 2 turns with joint 1 too.
    cosine = np.cos(q[1])
    behind2 = i2 + i4 + m2 * l2**2 + m3 * a2**2
    coupling = behind2 + (m2 * a1 * l2 + m3 * a1 * a2) * cosine
    whole = i1 + m1 * l1**2 + (m2 + m3) * a1**2 + 2 * coupling - behind2
    # joint 4 turns about the downward z, hence the signs
    mass = [[whole, coupling, 0, -i4], [coupling, behind2, 0, -i4], [0, 0, m3, 0], [-i4, -i4, 0, i4]]
    upper = np.triu(pin.crba(model, data, q))
    np.testing.assert_allclose(upper + np.triu(upper, 1).T, mass, atol=1e-12)
    np.testing.assert_allclose(pin.computeGeneralizedGravity(model, data, q), [0, 0, -m3 * 9.81, 0], atol=1e-12)
    position = [a1 * np.cos(0.3) + a2 * np.cos(0.3 - 1.1), a1 * np.sin(0.3) + a2 * np.sin(0.3 - 1.1), 1 - 0.2 - 0.11]
    np.testing.assert_allclose(pose_of(model, data, q, "tool0")[:3, 3], position, atol=1e-14)


@pytest.mark.parametrize("name", ["planar_2r", "scara", "arm6", "arm7"])
def test_shapes_are_primitives(name):
    text = robot_file(name).read_text()
    assert "<mesh" not in text
    assert text.count("<collision>") >= len(load(name)[0].names) - 1


def test_tx40_has_the_published_kinematics():
    """Modified Denavit-Hartenberg parameters alpha, d, theta - q, r, and the flange 65 mm from the wrist."""
    model, data = load("tx40")
    q = rng.uniform(-2, 2, 6)
    pose = np.eye(4)
    for angle, (alpha, d, theta, r) in zip(q, [
        (0, 0, 0, 0.32), (-QUARTER, 0, -QUARTER, 0), (0, 0.225, QUARTER, 0.035), (QUARTER, 0, 0, 0.225),
        (-QUARTER, 0, 0, 0), (QUARTER, 0, 2 * QUARTER, 0),
    ], strict=True):
        pose = pose @ move("x", angle=alpha, distance=d) @ move("z", angle=angle + theta, distance=r)
    np.testing.assert_allclose(pose_of(model, data, q, "tool0"), pose @ move("z", distance=0.065), atol=1e-12)
    assert pose_of(model, data, np.zeros(6), "tool0")[2, 3] == pytest.approx(0.32 + 0.225 + 0.225 + 0.065)
