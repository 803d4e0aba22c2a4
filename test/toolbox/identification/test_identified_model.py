# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

from dataclasses import replace

import numpy as np
import pytest

from bench.identification import effort_errors, tracking_ratio, written_robot
from bench.wrong_arm import STRIBECK_VELOCITY, WrongArm, described_arm, sampled, trajectory
from robodyn_ros import InputError, Robot
from robodyn_ros.actuation.friction import Friction
from robodyn_ros.dynamics.pseudo_inertia import pseudo_inertia
from robodyn_ros.dynamics.regressor import inertial_parameters
from robodyn_ros.toolbox.identification.excitation import Task, excite
from robodyn_ros.toolbox.identification.identified_files import urdf_with_inertias
from robodyn_ros.toolbox.identification.identified_model import drive_efforts, identify
from robodyn_ros.toolbox.identification.measured_motion import MeasuredMotion
from robodyn_ros.toolbox.identification.spring_fit import correlated_samples


@pytest.fixture(scope="module")
def arm():
    return WrongArm(described_arm())


@pytest.fixture(scope="module")
def identified(arm):
    motion = trajectory(excite(arm.described, Task(iterations=10)).points)
    return identify(arm.described, arm.measure(motion))


@pytest.fixture(scope="module")
def stiff_arm():
    """planar_2r with dry friction of a quarter of its effort limits; a motion, and the samples of another one."""
    described = described_arm("planar_2r")
    motion, unseen = (trajectory(excite(described, task).points) for task in (
        Task(iterations=10), Task(duration=10.0, iterations=0, seed=7)))
    return described, motion, sampled(unseen)


def test_efforts_of_another_motion_are_predicted_within_two_percent_of_full_scale(arm, identified):
    unseen = sampled(trajectory(excite(arm.described, Task(duration=10.0, iterations=0, seed=7)).points))
    assert effort_errors(arm, identified.predict(*unseen), unseen).max() < 0.01
    described = drive_efforts(arm.described, Friction.from_model(arm.described.model), *unseen)
    assert effort_errors(arm, described, unseen).max() > 0.015


def test_computed_torque_tracks_as_with_the_exact_model(arm, identified):
    assert tracking_ratio(arm, written_robot(arm, identified)) < 1.2


def test_friction_is_found_with_its_stribeck_effect(arm, identified):
    """The wrist's last two joints have less friction than the noise of a sample by a factor of 3 and of 30."""
    large = slice(0, 4)
    np.testing.assert_allclose(identified.friction.viscous[large], arm.friction.viscous[large], rtol=0.05)
    np.testing.assert_allclose(identified.friction.coulomb[large], arm.friction.coulomb[large], rtol=0.05)
    velocity = identified.effort_model.stribeck_velocity
    found = np.isfinite(velocity)
    assert found.sum() >= 2
    assert 0.5 < np.median(velocity[found]) / STRIBECK_VELOCITY < 2.0
    # Without the rise, it would be two thirds.
    assert np.median((identified.friction.static / arm.friction.static)[found]) == pytest.approx(1.0, abs=0.2)


def test_deviations_are_those_of_the_errors(arm, identified):
    base = identified.effort_model.base
    model, true = identified.effort_model, identified.described.copy()
    true[:model.inertial_count] = inertial_parameters(arm.robot.model)
    inertial = base.independent < model.inertial_count
    errors = (identified.base_values - base.values(true))[inertial] / identified.base_deviations[inertial]
    assert 0.3 < np.sqrt(np.mean(errors**2)) < 3.0


def test_every_link_is_a_possible_body(identified):
    count = identified.effort_model.inertial_count
    for row in identified.parameters[:count].reshape(-1, 10):
        assert np.linalg.eigvalsh(pseudo_inertia(row)).min() > 0.0


@pytest.mark.parametrize("seed", [5, 8, 9])
def test_static_friction_is_told_by_the_ends_of_rests(stiff_arm, seed):
    """Without them, the efforts of another motion are predicted to 3 % of full scale with these seeds."""
    described, motion, unseen = stiff_arm
    arm = WrongArm(described, seed=seed)
    model = identify(described, arm.measure(motion, seed))
    assert effort_errors(arm, model.predict(*unseen), unseen).max() < 0.02
    np.testing.assert_allclose(model.friction.static, arm.friction.static, rtol=0.2)
    ratio = model.effort_model.stribeck_velocity / STRIBECK_VELOCITY
    assert (ratio > 0.5).all() and (ratio < 2.0).all()


def test_without_a_rise_at_rest_none_is_found(stiff_arm):
    described, motion, unseen = stiff_arm
    arm = WrongArm(described, static=1.0)
    model = identify(described, arm.measure(motion))
    np.testing.assert_allclose(model.friction.static, arm.friction.coulomb, rtol=0.01)
    assert effort_errors(arm, model.predict(*unseen), unseen).max() < 0.002


def test_it_says_what_a_motion_of_one_joint_cannot_tell(arm):
    points = excite(arm.described, Task(duration=10.0, iterations=0)).points
    still = points.q.copy()
    still[:, :-1] = points.q[0, :-1]
    zeros = np.zeros_like(still)
    zeros[:, -1] = 1.0
    motion = trajectory(type(points)(points.times, still, points.v * zeros, points.a * zeros))
    model = identify(arm.described, arm.measure(motion))
    names = np.array(model.effort_model.names)
    told = dict(zip(names[model.effort_model.base.independent], model.base_identified, strict=True))
    last, first = arm.described.joint_names[-1], arm.described.joint_names[0]
    assert told[f"{last}.coulomb"] and not told[f"{first}.coulomb"]
    np.testing.assert_allclose(model.friction.coulomb[0], arm.described.model.friction[0], rtol=1e-3)


def test_without_motion_it_is_an_error():
    robot = described_arm("planar_2r")
    rest, no = np.zeros((100, 2)), np.zeros((100, 2), dtype=bool)
    motion = MeasuredMotion(np.arange(100.0), rest, rest, rest, rest, no, np.ones(2), ())
    with pytest.raises(InputError, match="no joint moves in this recording: record a motion such as robodyn excite"):
        identify(robot, motion)


def test_alike_errors_count_less():
    random = np.random.default_rng(0)
    white = random.normal(size=10_000)
    assert correlated_samples(white) == pytest.approx(1.0, abs=0.1)
    assert correlated_samples(np.repeat(white, 10)) == pytest.approx(10.0, rel=0.1)


def test_rotors_of_the_description_are_told_from_the_links(stiff_arm):
    """Half of the true rotors are described, and the dynamics of the identified robot have them all."""
    described, motion, unseen = stiff_arm
    joints = tuple(replace(joint, armature=0.5) for joint in described.model.joints)
    true = Robot(replace(described.model, joints=joints))
    halved = Robot(true.model.with_scaled_armature(np.full(2, 0.5)))
    arm = WrongArm(true, share=0.0)
    model = identify(halved, arm.measure(motion))
    assert effort_errors(arm, model.predict(*unseen), unseen).max() < 0.02
    np.testing.assert_allclose(model.robot.model.armature, model.rotor_inertia, rtol=1e-9)
    q = unseen[0][::50]
    masses = (robot.dynamics().batch.mass_matrix(q) for robot in (model.robot, true))
    np.testing.assert_allclose(*masses, atol=0.05 * np.abs(true.dynamics().mass_matrix(q[0])).max())
    written = urdf_with_inertias(halved.model, model.robot.model, *np.zeros((2, 2)))
    np.testing.assert_allclose(Robot.from_urdf_text(written).model.armature, model.rotor_inertia, rtol=1e-6)
